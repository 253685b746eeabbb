//! A store whose files are deleted, moved or replaced under it stops acknowledging for good; rights and links of its files.

use crate::place_support::{Displacement, displacements, link_is_refused};
use crate::support::*;
use ciphermill_device::{
    ObjectFlags, SpaceId, StoreError,
    storage::StorageError,
    store::{ObjectKey, Store},
};
use std::{fs, os::unix::fs::PermissionsExt};

fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SpaceId::EMBEDDED, id: vr(1, 0, data) }
}

fn write(store: &Store, data: u32, words: u64) -> Result<(), StoreError> {
    let bytes = value(u64::from(data), words);
    let mut writer = store.write(key(data), bytes.len() as u64)?;
    writer.push(&bytes)?;
    writer.commit(ObjectFlags::NONE).map(drop)
}

fn read(store: &Store, data: u32) -> Vec<u8> {
    store.read(store.get(key(data)).expect("stored")).pull_all().expect("whole")
}

/// Stores two objects, does something to the files, and checks that no later change is acknowledged, even when all is put
/// back.
fn stops_for_good(Displacement { what, make, undo }: &Displacement) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    let (store, _swap) = Store::open_directory(&place).expect("a store");
    write(&store, 1, 10).expect("durable");
    write(&store, 2, 5000).expect("durable");
    make(&place);
    let error = write(&store, 3, 10).expect_err(what);
    assert!(matches!(error, StoreError::Storage(StorageError::Gone { .. })), "{what}: {error}");
    assert!(error.to_string().contains("put it back"), "{error}");
    assert!(store.has_failed(), "{what}");
    undo(&place);
    for outcome in [write(&store, 1, 10), store.delete(key(1)), store.set_flags(key(1), ObjectFlags::ARMED)] {
        assert!(matches!(outcome, Err(StoreError::Failed)), "{what}: {outcome:?}");
    }
    assert_eq!((read(&store, 1), read(&store, 2)), (value(1, 10), value(2, 5000)), "{what}: reads go on");
}

#[test]
fn a_store_that_is_no_longer_in_its_place_stops_acknowledging() {
    displacements(&["data", "objects.redb", "log"]).iter().for_each(stops_for_good);
}

#[test]
fn a_second_name_of_a_file_does_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, _swap) = Store::open_directory(directory.path()).expect("a store");
    fs::hard_link(directory.path().join("data"), directory.path().join("second")).expect("a name");
    write(&store, 1, 5000).expect("durable");
}

#[test]
fn files_that_others_may_read_are_tightened_and_links_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    drop(Store::open_directory(&place).expect("a store"));
    let mode = |name: &str| fs::metadata(place.join(name)).expect("a file").permissions().mode() & 0o777;
    let names = ["data", "objects.redb", "log", "swap", "lock"];
    for name in names {
        assert_eq!(mode(name), 0o600, "{name}");
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o664)).expect("ours");
    }
    assert_eq!(fs::metadata(&place).expect("a directory").permissions().mode() & 0o777, 0o700);
    drop(Store::open_directory(&place).expect("a store"));
    names.into_iter().for_each(|name| assert_eq!(mode(name), 0o600, "{name}"));

    for name in names {
        link_is_refused(&place.join(name), &directory.path().join("aside"), || {
            Store::open_directory(&place).expect_err("a link").to_string()
        });
    }
    drop(Store::open_directory(&place).expect("a store"));
}

#[test]
fn a_directory_that_others_may_change_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    drop(Store::open_directory(&place).expect("a store"));
    for mode in [0o770, 0o702, 0o777] {
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("ours");
        let error = Store::open_directory(&place).expect_err("others may replace files").to_string();
        assert!(error.contains("chmod go-w"), "{error}");
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("ours");
    drop(Store::open_directory(&place).expect("a store"));
}
