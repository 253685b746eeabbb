//! A volume whose files are deleted, moved or replaced under it stops acknowledging for good; rights and links of its files.

use crate::{faults::write, support::*};
use ciphermill_blockspace::volume::{BLOCK_BYTES, Volume, VolumeError};
use ciphermill_storage::StorageError;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

const FILES: [&str; 2] = ["blocks", "blocks.redb"];

/// Writes two blocks, does something to the files, and checks that no later change is acknowledged, even when all is put
/// back.
fn stops_for_good(what: &str, change_files: impl Fn(&Path), back: impl Fn(&Path)) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    fs::create_dir(&place).expect("room");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).expect("ours");
    let volume = Volume::open_directory(&place, tiny()).expect("a volume");
    write(&volume, 1, 10, &[1, 2]).expect("durable");
    change_files(&place);
    let error = write(&volume, 1, 20, &[3]).expect_err(what);
    assert!(matches!(error, VolumeError::Storage(StorageError::Gone { .. })), "{what}: {error}");
    assert!(error.to_string().contains("put it back"), "{error}");
    assert!(volume.is_failed(), "{what}");
    back(&place);
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
    let aside = |place: &Path| place.with_file_name("aside");
    stops_for_good(
        "the directory is moved",
        |place| fs::rename(place, aside(place)).expect("moved"),
        |place| fs::rename(aside(place), place).expect("moved back"),
    );
    stops_for_good("the directory is deleted", |place| fs::remove_dir_all(place).expect("deleted"), |_| ());
    for name in FILES {
        let file = move |place: &Path| place.join(name);
        stops_for_good(
            name,
            |place| fs::rename(file(place), aside(place)).expect("moved"),
            |place| fs::rename(aside(place), file(place)).expect("moved back"),
        );
        stops_for_good(name, |place| fs::remove_file(file(place)).expect("deleted"), |_| ());
        stops_for_good(
            name,
            |place| {
                fs::copy(file(place), aside(place)).expect("a copy");
                fs::rename(aside(place), file(place)).expect("replaced by an equal file");
            },
            |_| (),
        );
        stops_for_good(
            name,
            |place| {
                fs::rename(file(place), aside(place)).expect("moved");
                symlink(aside(place), file(place)).expect("a link to it");
            },
            |_| (),
        );
    }
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
        let (file, aside) = (place.join(name), place.join("aside"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).expect("ours");
        drop(Volume::open_directory(place, tiny()).expect("a volume"));
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600, "{name}");
        fs::rename(&file, &aside).expect("moved");
        let before = fs::read(&aside).expect("a file");
        symlink(&aside, &file).expect("a link");
        let error = Volume::open_directory(place, tiny()).expect_err("a link").to_string();
        assert!(error.contains("symbolic link"), "{name}: {error}");
        assert!(fs::read(&aside).expect("a file") == before, "{name}");
        fs::remove_file(&file).expect("removed");
        fs::rename(&aside, &file).expect("moved back");
    }
}
