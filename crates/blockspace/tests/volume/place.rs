//! A volume whose files are deleted, moved or replaced under it stops acknowledging for good; rights and links of its files.

use crate::place_support::{Displacement, displacements, link_is_refused};
use crate::{faults::write, support::*};
use ciphermill_blockspace::volume::{BLOCK_BYTES, Volume, VolumeError};
use ciphermill_storage::StorageError;
use std::{fs, os::unix::fs::PermissionsExt};

const FILES: [&str; 2] = ["blocks", "blocks.redb"];

/// Writes two blocks, does something to the files, and checks that no later change is acknowledged, even when all is put
/// back.
fn stops_for_good(Displacement { what, make, undo }: &Displacement) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    fs::create_dir(&place).expect("room");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).expect("ours");
    let volume = Volume::open_directory(&place, tiny()).expect("a volume");
    write(&volume, 1, 10, &[1, 2]).expect("durable");
    make(&place);
    let error = write(&volume, 1, 20, &[3]).expect_err(what);
    assert!(matches!(error, VolumeError::Storage(StorageError::Gone { .. })), "{what}: {error}");
    assert!(error.to_string().contains("put it back"), "{error}");
    assert!(volume.is_failed(), "{what}");
    undo(&place);
    for step in [Step::Write(10, vec![4]), Step::Unmap(10, 1), Step::SetLabel(10, vec![1])] {
        let outcome = volume.commit(change(1, &[step]));
        assert!(matches!(outcome, Err(VolumeError::Failed)), "{what}: {outcome:?}");
    }
    let mut out = vec![0; 2 * BLOCK_BYTES];
    volume.read(1, 10, &mut out).expect("reads go on");
    assert!(out == blocks(&[1, 2]), "{what}");
}

#[test]
fn a_volume_that_is_no_longer_in_its_place_stops_acknowledging() {
    displacements(&FILES).iter().for_each(stops_for_good);
}

#[test]
fn a_second_name_of_a_file_does_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    let volume = Volume::open_directory(directory.path(), tiny()).expect("a volume");
    for name in FILES {
        fs::hard_link(directory.path().join(name), directory.path().join(format!("{name}-2"))).expect("a name");
    }
    write(&volume, 1, 10, &[1]).expect("durable");
}

#[test]
fn files_that_others_may_read_are_tightened_and_links_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path();
    drop(Volume::open_directory(place, tiny()).expect("a volume"));
    for name in FILES {
        let file = place.join(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).expect("ours");
        drop(Volume::open_directory(place, tiny()).expect("a volume"));
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600, "{name}");
        link_is_refused(&file, &place.join("aside"), || {
            Volume::open_directory(place, tiny()).expect_err("a link").to_string()
        });
    }
}
