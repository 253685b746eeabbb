//! What is backed up comes back, and nothing else passes for a backup.

use crate::support::*;
use ciphermill_blockspace::{
    backup::{self, BackupError, BackupRecord, Origin, Progress},
    volume::{Change, Operation},
};
use ciphermill_device::{
    StoreError,
    store::{ObjectFlags, SpaceId, SpaceLimits, Store, StoreFiles},
};
use ciphermill_storage::{Fault, SimulatedDisk};
use std::{fs, path::PathBuf};

/// A directory with a store `s` of version 1.
fn bench() -> (tempfile::TempDir, PathBuf, Stored) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("s");
    let stored = Stored::open(&place);
    stored.write(1);
    fs::write(place.join("server.json"), "{\"serial\":\"1\"}").expect("room");
    (directory, place, stored)
}

#[test]
fn a_restored_store_has_everything_and_its_own_identity() {
    let (directory, place, stored) = bench();
    let [target, same, other] = ["b", "same", "other"].map(|name| directory.path().join(name));
    let record = stored.back_up(&place, &target).expect("a backup");
    assert!(record.complete && record.damaged.is_empty() && record.volume);
    assert_eq!(record.objects, SIZES.len() as u64);
    assert_eq!(
        (record.written_bytes, record.written_blocks),
        (SIZES.iter().sum::<usize>() as u64, BLOCKS.len() as u64)
    );
    assert_private(&target);
    let expected = stored.listing();
    restore(&target, &same, true).expect("restored");
    restore(&target, &other, false).expect("restored");
    assert_private(&same);
    assert_private(&other);
    for (path, is_the_same) in [(&same, true), (&other, false)] {
        let restored = Stored::open(path);
        assert_eq!(restored.listing(), expected);
        assert_eq!(restored.store.id() == stored.store.id(), is_the_same);
        assert_eq!(path.join("server.json").exists(), is_the_same);
        put(&restored.store, 50, &[1]);
        let generation = restored.store.get(key(50)).expect("stored").generation();
        assert!(!expected.iter().any(|line| line.split(' ').nth(5) == Some(&generation.to_string())));
    }
    assert!(matches!(restore(&target, &same, true), Err(BackupError::Exists { .. })));
}

#[test]
fn a_second_backup_writes_what_changed() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    put(&stored.store, 1, &content(2, 1, 5000));
    stored.store.delete(key(2)).expect("stored");
    let operations = vec![
        Operation::Write { lba: 1, data: content(2, 1, 4096) },
        Operation::Zero { lba: 2, blocks: 1 },
        Operation::Unmap { lba: 77, blocks: 1 },
        Operation::ClearLabel { lba: 77 },
        Operation::SetLabel { lba: 5, label: b"new".to_vec() },
    ];
    stored.volume.commit(Change { space: 1, operations }).expect("room");
    let record = stored.back_up(&place, &target).expect("a backup");
    assert_eq!((record.written_bytes, record.written_blocks), (5000, 1));
    let restored = directory.path().join("r");
    restore(&target, &restored, true).expect("restored");
    assert_eq!(Stored::open(&restored).listing(), stored.listing());
}

#[test]
fn an_interrupted_backup_says_so_and_the_next_one_uses_it() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    let stopped = |after: u64| {
        let mut objects = 0;
        let origin = Origin::Store(&stored.store);
        backup::create(origin, Some(&stored.volume), &place, &target, BUDGET, &mut |step| {
            objects += u64::from(matches!(step, Progress::Objects(..)));
            objects < after
        })
    };
    assert!(matches!(stopped(3), Err(BackupError::Stopped)));
    assert!(!BackupRecord::load(&target).expect("a record").complete);
    let error = restore(&target, &directory.path().join("r"), false).expect_err("incomplete");
    assert!(matches!(error, BackupError::Incomplete { .. }), "{error}");
    assert!(!directory.path().join("r").exists());
    stored.back_up(&place, &target).expect("a backup");
    // A later interruption takes the word back: the store in the backup is being changed.
    assert!(matches!(stopped(1), Err(BackupError::Stopped)));
    assert!(!BackupRecord::load(&target).expect("a record").complete);
    let record = stored.back_up(&place, &target).expect("a backup");
    assert_eq!((record.written_bytes, record.written_blocks), (0, 0), "all is there");
    restore(&target, &directory.path().join("r"), false).expect("restored");
}

#[test]
fn other_directories_and_other_stores_are_refused() {
    let (directory, place, stored) = bench();
    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).expect("room");
    fs::write(foreign.join("letter"), "text").expect("room");
    let error = stored.back_up(&place, &foreign).expect_err("something else");
    assert!(matches!(error, BackupError::Target { .. }), "{error}");
    assert_eq!(fs::read_dir(&foreign).expect("a directory").count(), 1);
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let before = BackupRecord::load(&target).expect("a record");
    let second = directory.path().join("s2");
    let other = Stored::open(&second);
    assert!(matches!(other.back_up(&second, &target), Err(BackupError::Target { .. })));
    assert_eq!(BackupRecord::load(&target).expect("a record"), before);
    assert!(matches!(BackupRecord::load(&second), Err(BackupError::NoBackup { .. })));
}

#[test]
fn a_changed_or_damaged_backup_is_not_restored_as_whole() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let out = directory.path().join("r");
    let store = target.join("store");

    let text = fs::read_to_string(target.join("backup.json")).expect("a record");
    fs::write(target.join("backup.json"), text.replace("\"objects\": 6", "\"objects\": 7")).expect("room");
    assert!(matches!(restore(&target, &out, false), Err(BackupError::Record { .. })));
    fs::write(target.join("backup.json"), text).expect("room");

    let data = fs::read(store.join("data")).expect("a file");
    let mut damaged = data.clone();
    let last = damaged.len() - 1_000_000;
    damaged[last] ^= 1;
    fs::write(store.join("data"), damaged).expect("room");
    let report = restore(&target, &out, false).expect("the rest");
    assert_eq!(report.damaged.len(), 1, "{:?}", report.damaged);
    assert_eq!(Stored::open(&out).store.usage().objects, SIZES.len() as u64 - 1);
    fs::write(store.join("data"), data).expect("room");

    let (opened, _) = Store::open_directory(&store).expect("a store");
    put(&opened, 1, &[1]);
    drop(opened);
    let error = restore(&target, &directory.path().join("r2"), false).expect_err("changed");
    assert!(matches!(error, BackupError::Changed { .. }), "{error}");
    assert!(!directory.path().join("r2").exists());
}

#[test]
fn a_damaged_object_is_left_out_and_listed() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let wanted = content(1, 4, 90_000);
    let mut data = fs::read(place.join("data")).expect("a file");
    let at = data.windows(32).position(|window| window == &wanted[..32]).expect("its bytes");
    data[at + 100] ^= 1;
    fs::write(place.join("data"), data).expect("room");
    put(&stored.store, 0, &[9]);
    let record = stored.back_up(&place, &target).expect("a backup of the rest");
    assert!(record.complete);
    // The earlier backup still has this version, whole; it is a good copy of a damaged object.
    assert_eq!(record.damaged.len(), 0, "{:?}", record.damaged);
    let fresh = directory.path().join("fresh");
    let record = stored.back_up(&place, &fresh).expect("a backup of the rest");
    assert_eq!(record.damaged, [key(4).to_string()]);
    let restored = directory.path().join("r");
    restore(&fresh, &restored, false).expect("restored");
    assert_eq!(Stored::open(&restored).store.usage().objects, SIZES.len() as u64 - 1);
}

/// A store whose power is gone: neither reads nor a snapshot work.
fn dead_store() -> Store {
    let disk = SimulatedDisk::new();
    let store = Store::open(StoreFiles::on_simulated_disk(&disk)).expect("a store");
    store.set_space(SpaceId(1), SpaceLimits::UNLIMITED).expect("a space");
    disk.inject(Fault::PowerLossAt(disk.operations()));
    let mut writer = store.write(key(0), 1).expect("a writer");
    writer.push(&[1]).expect("a byte");
    writer.commit(ObjectFlags::NONE).expect_err("no power");
    store
}

#[test]
fn an_attempt_without_a_snapshot_leaves_the_earlier_backup_whole() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let before = fs::read(target.join("backup.json")).expect("a record");
    // Another process has the store in the backup open.
    let (open, _) = Store::open_directory(&target.join("store")).expect("a store");
    let error = stored.back_up(&place, &target).expect_err("it is open");
    assert!(matches!(error, BackupError::Store(StoreError::AlreadyOpen { .. })), "{error}");
    drop(open);
    assert!(fs::read(target.join("backup.json")).expect("a record") == before);
    restore(&target, &directory.path().join("r"), false).expect("restored");

    // The store that is backed up has failed.
    let dead = dead_store();
    let second = directory.path().join("b2");
    let id = dead.id();
    let copy = Store::open_directory_as(&directory.path().join("s2"), id).expect("a store");
    let back_up = |store: &Store| backup::create(Origin::Store(store), None, &place, &second, BUDGET, &mut |_| true);
    back_up(&copy).expect("a backup");
    let before = fs::read(second.join("backup.json")).expect("a record");
    back_up(&dead).expect_err("no snapshot");
    assert!(fs::read(second.join("backup.json")).expect("a record") == before);
    restore(&second, &directory.path().join("r2"), false).expect("restored");
}

#[test]
fn a_record_of_a_later_version_is_called_newer_and_its_backup_stays() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let text = fs::read_to_string(target.join("backup.json")).expect("a record");
    let later = text.replacen("\"version\": 1,", "\"version\": 2, \"colour\": \"green\",", 1);
    assert_ne!(later, text);
    fs::write(target.join("backup.json"), &later).expect("room");
    let newer = |error: BackupError| matches!(error, BackupError::Newer { given: 2, supported: 1, .. });
    assert!(newer(stored.back_up(&place, &target).expect_err("newer")));
    assert!(newer(restore(&target, &directory.path().join("r"), false).expect_err("newer")));
    assert_eq!(fs::read_to_string(target.join("backup.json")).expect("a record"), later);
    assert!(target.join("store/data").exists());
}

#[test]
fn a_backup_of_another_store_is_not_replaced_when_its_record_is_damaged() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let second = directory.path().join("s2");
    let other = Stored::open(&second);
    fs::write(target.join("backup.json"), "{").expect("room");
    let files = ["data", "objects.redb"].map(|name| target.join("store").join(name));
    let content = || files.each_ref().map(|path| fs::read(path).expect("a file"));
    let refused = |what: &str| {
        let before = content();
        let error = other.back_up(&second, &target).expect_err(what);
        assert!(matches!(error, BackupError::Target { .. }), "{what}: {error}");
        assert!(content() == before, "{what}");
    };
    refused("the store in it is of another store");
    let table = fs::read(&files[1]).expect("a file");
    fs::write(&files[1], "damaged").expect("room");
    refused("and it is damaged");
    let data = fs::read(&files[0]).expect("a file");
    fs::write(&files[0], "damaged").expect("room");
    refused("and nobody knows whose it is");
    // The own store is replaced when its superblock says so.
    fs::write(&files[0], data).expect("room");
    stored.back_up(&place, &target).expect("a backup");
    fs::write(&files[1], table).expect("room");
    // Or when the record does.
    fs::write(&files[0], "damaged").expect("room");
    stored.back_up(&place, &target).expect("a backup");
    restore(&target, &directory.path().join("r"), false).expect("restored");
}

#[test]
fn the_whole_copy_of_a_rotten_block_is_kept() {
    let (directory, place, stored) = bench();
    let target = directory.path().join("b");
    stored.back_up(&place, &target).expect("a backup");
    let expected = content(1, 77, 4096);
    let mut data = fs::read(place.join("blocks")).expect("a file");
    let at = data.chunks(4096).position(|block| block == expected).expect("its block") * 4096;
    data[at + 7] ^= 1;
    fs::write(place.join("blocks"), data).expect("room");
    let record = stored.back_up(&place, &target).expect("a backup");
    assert_eq!(record.damaged, ["block 77 of space 1 (an earlier copy is kept)"]);
    let restored = directory.path().join("r");
    restore(&target, &restored, false).expect("restored");
    let mut out = vec![0; 4096];
    Stored::open(&restored).volume.read(1, 77, &mut out).expect("whole");
    assert!(out == expected);
}
