//! Media that rot, fill up, fail to write and fail to sync.

use crate::support::*;
use ciphermill_blockspace::volume::{
    BLOCK_BYTES, BlockState, Change, Operation, ScrubEvent, Volume, VolumeConfig, VolumeError, VolumeFiles,
};
use ciphermill_storage::{Fault, FileStorage, MemoryStorage, SimulatedDisk, Storage, StorageError};
use std::{ops::ControlFlow, sync::Arc};

pub(crate) fn write(volume: &Volume, space: u32, lba: u64, tags: &[u64]) -> Result<(), VolumeError> {
    volume.commit(change(space, &[Step::Write(lba, tags.to_vec())]))
}

pub(crate) fn content(disk: &SimulatedDisk, name: &str) -> Vec<u8> {
    let file = disk.file(name);
    let mut bytes = vec![0; file.len().expect("len") as usize];
    file.read_at(0, &mut bytes).expect("read");
    bytes
}

#[test]
fn a_flipped_bit_is_found_by_readers_and_by_the_scrub() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    write(&volume, 1, 10, &[1, 2, 3, 4]).expect("write");
    write(&volume, 2, 5, &[5]).expect("write");
    let bytes = content(&disk, "blocks");
    let at = bytes.windows(BLOCK_BYTES).step_by(BLOCK_BYTES).position(|window| window == block(3)).expect("stored");
    disk.file("blocks").flip_bit((at * BLOCK_BYTES + 1234) as u64 * 8 + 3);

    let mut out = vec![0; 4 * BLOCK_BYTES];
    let damaged = |result| matches!(result, Err(VolumeError::Damaged { space: 1, lba: 12 }));
    assert!(damaged(volume.read(1, 10, &mut out)));
    assert!(damaged(volume.try_read(1, 12, &mut out[..BLOCK_BYTES]).map(drop)));
    volume.read(1, 10, &mut out[..2 * BLOCK_BYTES]).expect("its neighbours are sound");
    let mut events = Vec::new();
    let mut note = |event| {
        events.push(event);
        ControlFlow::Continue(())
    };
    let report = volume.scrub(&mut note).expect("scrub");
    assert_eq!((report.blocks, report.damaged, report.complete), (5, 1, true));
    assert!(events.contains(&ScrubEvent::Damaged { space: 1, lba: 12 }));
    assert!(events.contains(&ScrubEvent::Progress { done: 5, total: 5 }));
    let report = volume.scrub(&mut |_| ControlFlow::Break(())).expect("scrub");
    assert!(!report.complete);
    write(&volume, 1, 12, &[9]).expect("written again, it is sound");
    assert_eq!(volume.scrub(&mut |_| ControlFlow::Continue(())).expect("scrub").damaged, 0);
}

#[test]
fn a_full_medium_refuses_data_and_lets_room_be_made() {
    let disk = SimulatedDisk::new();
    disk.inject(Fault::Capacity(4 << 20));
    let mut volume = open_on(&disk).expect("open");
    let mut model = Model::default();
    for round in 0..6 {
        let mut lba = 0;
        let error = loop {
            let tags: Vec<u64> = (0..8).map(|i| 1 + lba + i + round * 10_000).collect();
            match write(&volume, 1, lba, &tags) {
                Ok(()) => model.apply(1, &[Step::Write(lba, tags)]),
                Err(error) => break error,
            }
            lba += 8;
            assert!(lba < 2000, "the medium has 4 MiB");
        };
        assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
        // It stays so, also for a single block; what makes room still works, and many times over.
        for _ in 0..30 {
            assert!(matches!(write(&volume, 1, 3000, &[7; 20]), Err(VolumeError::NoSpace { .. })));
        }
        for i in 0..60 {
            let steps = [Step::SetLabel(i % 7, vec![round as u8; 40]), Step::ClearLabel(i % 5)];
            volume.commit(change(1, &steps)).unwrap_or_else(|error| panic!("round {round}, label {i}: {error}"));
            model.apply(1, &steps);
        }
        if round % 2 == 0 {
            drop(volume);
            volume = open_on(&disk).expect("reopen the full volume");
        }
        model.check(&volume, "full");
        let steps = [Step::Unmap(round * 40, 200)];
        volume.commit(change(1, &steps)).expect("unmap");
        model.apply(1, &steps);
        let tags: Vec<u64> = (1..=20).map(|i| i + round * 777).collect();
        write(&volume, 2, round * 20, &tags).expect("what was unmapped is room again");
        model.apply(2, &[Step::Write(round * 20, tags)]);
        model.check(&volume, "after unmapping");
    }
}

/// Another user takes the rest of the medium, including the space that the volume had left free for its map.
#[test]
fn a_medium_that_somebody_else_fills_costs_no_acknowledged_change() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    let mut model = Model::default();
    let mut dice = Dice(3);
    let mut refused = 0;
    for round in 0..5 {
        let total: u64 = ["blocks", "blocks.redb"].iter().map(|name| disk.file(name).len().expect("len")).sum();
        disk.inject(Fault::Capacity(total));
        for step in 0..150 {
            let lba = dice.below(2000);
            let steps = match step % 5 {
                0 => [Step::Unmap(lba, 1 + dice.below(100))],
                1 => [Step::SetLabel(lba, vec![1; 100])],
                _ => [Step::Write(lba, vec![1 + dice.below(1 << 40); 3])],
            };
            match volume.commit(change(1, &steps)) {
                Ok(()) => model.apply(1, &steps),
                Err(VolumeError::NoSpace { .. } | VolumeError::Map { .. }) => refused += 1,
                Err(error) => panic!("round {round}: {error}"),
            }
        }
        model.check(&volume, "full");
        assert!(!volume.is_failed());
        disk.clear_faults();
        // A checkpoint that failed is tried again after a moment.
        std::thread::sleep(std::time::Duration::from_millis(210));
        for lba in 0..40 {
            let steps = [Step::Write(3000 + lba * 20, vec![lba + 1 + round; 20])];
            volume.commit(change(1, &steps)).expect("there is room again");
            model.apply(1, &steps);
        }
        model.check(&volume, "room again");
    }
    assert!(refused > 0, "the medium was never full");
    drop(volume);
    model.check(&open_on(&disk).expect("reopen"), "reopened");
}

/// Fills the volume, then unmaps every other block: the free space then consists of single blocks.
#[test]
fn fragmented_room_is_used() {
    let disk = SimulatedDisk::new();
    disk.inject(Fault::Capacity(6 << 20));
    let volume = open_on(&disk).expect("open");
    let mut model = Model::default();
    let mut lba = 0;
    while write(&volume, 1, lba, &[lba + 1, lba + 2, lba + 3, lba + 4]).is_ok() {
        model.apply(1, &[Step::Write(lba, (lba + 1..lba + 5).collect())]);
        lba += 4;
    }
    for at in (0..lba).step_by(2) {
        volume.commit(change(1, &[Step::Unmap(at, 1)])).expect("unmap");
        model.apply(1, &[Step::Unmap(at, 1)]);
    }
    let mut written = 0;
    for at in (0..lba / 2 - 150).step_by(10) {
        let tags: Vec<u64> = (at..at + 10).map(|tag| tag + 1_000_000).collect();
        write(&volume, 2, at, &tags).unwrap_or_else(|error| panic!("{at} of {lba}: {error}"));
        model.apply(2, &[Step::Write(at, tags)]);
        written += 10;
    }
    assert!(written > 300, "{written} of {lba}");
    model.check(&volume, "fragmented");
    drop(volume);
    model.check(&open_on(&disk).expect("reopen"), "fragmented and reopened");
}

#[test]
fn a_failed_write_refuses_its_group_only() {
    for operation in 0..60 {
        let disk = SimulatedDisk::new();
        let volume = open_on(&disk).expect("open");
        let mut model = Model::default();
        disk.inject(Fault::FailAt(disk.operations() + operation));
        let mut failures = 0;
        for step in 0..40 {
            let steps = [Step::Write(step * 3, vec![step + 1, step + 2])];
            match volume.commit(change(1, &steps)) {
                Ok(()) => model.apply(1, &steps),
                Err(VolumeError::Storage(StorageError::Sync { .. }) | VolumeError::Failed) => {
                    // Whether it is there is unknown; the volume must only read from now on.
                    assert!(volume.is_failed());
                    assert!(matches!(write(&volume, 1, 900, &[1]), Err(VolumeError::Failed)));
                    failures += 1;
                    break;
                }
                Err(_) => failures += 1,
            }
        }
        assert!(failures <= 1, "operation {operation}: {failures} changes failed");
        model.check(&volume, &format!("operation {operation} failed"));
        if volume.is_failed() {
            continue;
        }
        drop(volume);
        // Power goes right away: a change that was refused must not come back.
        let volume = open_on(&disk.crash(operation)).expect("reopen");
        model.check(&volume, &format!("operation {operation} failed, reopened"));
    }
}

#[test]
fn after_a_failed_sync_the_volume_reads_only_and_opens_again() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    write(&volume, 1, 0, &[1]).expect("write");
    disk.inject(Fault::FailAt(disk.operations() + 1));
    assert!(matches!(write(&volume, 1, 0, &[2]), Err(VolumeError::Storage(StorageError::Sync { .. }))));
    assert!(volume.is_failed());
    assert!(matches!(write(&volume, 1, 1, &[3]), Err(VolumeError::Failed)));
    let mut out = vec![0; BLOCK_BYTES];
    volume.read(1, 0, &mut out).expect("reads go on");
    assert_eq!(out, block(1));
    drop(volume);
    let volume = open_on(&disk.crash(3)).expect("reopen");
    volume.read(1, 0, &mut out).expect("read");
    assert!(out == block(1) || out == block(2), "either version, whole");
    write(&volume, 1, 0, &[4]).expect("and writes again");
}

#[test]
fn foreign_and_damaged_files_are_refused_unchanged() {
    let foreign =
        VolumeFiles { blocks: Arc::new(MemoryStorage::from_bytes(vec![7; 8192])), map: Arc::new(MemoryStorage::new()) };
    assert!(matches!(Volume::open(foreign, tiny()), Err(VolumeError::NotAVolume)));

    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    for lba in 0..200 {
        write(&volume, 1, lba, &[lba + 1]).expect("write");
    }
    drop(volume);
    let (blocks, map) = (content(&disk, "blocks"), content(&disk, "blocks.redb"));
    let open = |blocks: &[u8], map: &[u8]| {
        let files = [blocks, map].map(|bytes| Arc::new(MemoryStorage::from_bytes(bytes.to_vec())));
        let opened = Volume::open(VolumeFiles { blocks: files[0].clone(), map: files[1].clone() }, tiny());
        let unchanged = files[0].to_bytes() == blocks && files[1].to_bytes() == map;
        (opened, unchanged)
    };
    assert!(open(&blocks, &map).0.is_ok());
    assert!(matches!(open(&[], &map), (Err(VolumeError::Corrupt { .. }), true)));
    assert!(matches!(open(&blocks, &[]), (Err(VolumeError::Corrupt { .. }), true)));
    assert!(matches!(open(&blocks[..40 * BLOCK_BYTES], &map), (Err(VolumeError::Corrupt { .. }), true)));
    let mut version = blocks.clone();
    version[8] = 9;
    assert!(matches!(open(&version, &map), (Err(VolumeError::Version { given: 9, .. }), true)));
    let other = SimulatedDisk::new();
    drop(open_on(&other).expect("another volume"));
    assert!(matches!(open(&content(&other, "blocks"), &map), (Err(VolumeError::Corrupt { .. }), true)));

    // No flipped bit of the map may show as other content: it is noticed, or it was of no meaning.
    let mut dice = Dice(11);
    let mut noticed = 0;
    for _ in 0..60 {
        let mut damaged = map.clone();
        let bit = dice.below(map.len() as u64 * 8) as usize;
        damaged[bit / 8] ^= 1 << (bit % 8);
        match open(&blocks, &damaged) {
            (Ok(volume), _) => {
                for lba in 0..200 {
                    let mut out = vec![0; BLOCK_BYTES];
                    volume.read(1, lba, &mut out).expect("read");
                    assert_eq!(out, block(lba + 1), "bit {bit}");
                }
            }
            (Err(_), unchanged) => {
                assert!(unchanged, "bit {bit}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 0);
}

/// A host that writes what looks like a record finds it never taken for one.
#[test]
fn a_block_that_looks_like_a_record_is_none() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    write(&volume, 1, 0, &[1]).expect("write");
    let bytes = content(&disk, "blocks");
    let record = bytes.chunks(BLOCK_BYTES).find(|block| block.starts_with(b"CMVOREC")).expect("a record").to_vec();
    for lba in 1..300 {
        let write = Operation::Write { lba: 50 + lba % 40, data: record.clone() };
        volume.commit(Change { space: 1, operations: vec![write] }).expect("write");
        if lba % 70 == 0 {
            volume.commit(change(1, &[Step::Unmap(50, 40)])).expect("unmap");
        }
    }
    let (count, states) = (volume.mapped(1, 0, 1000), volume.states(1, 0, 200));
    for seed in 0..10 {
        let volume = open_on(&disk.crash(seed)).expect("reopen");
        assert_eq!((volume.mapped(1, 0, 1000), volume.states(1, 0, 200)), (count, states.clone()));
    }
}

#[test]
fn a_directory_is_opened_once_and_keeps_its_blocks() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("server");
    let open = || Volume::open_directory(&path, VolumeConfig { headroom_bytes: 0, ..VolumeConfig::default() });
    let volume = open().expect("open");
    assert!(matches!(open(), Err(VolumeError::AlreadyOpen { .. })));
    let tags: Vec<u64> = (1..600).collect();
    write(&volume, 3, 7, &tags).expect("write");
    let again = volume.clone();
    drop(volume);
    assert!(matches!(open(), Err(VolumeError::AlreadyOpen { .. })), "a clone is still there");
    drop(again);
    let volume = open().expect("open again");
    let mut out = vec![0; tags.len() * BLOCK_BYTES];
    assert!(volume.try_read(3, 7, &mut out).is_ok());
    volume.read(3, 7, &mut out).expect("read");
    assert_eq!(out, blocks(&tags));
    assert_eq!(volume.states(3, 7, 599)[0].state, BlockState::Data);
}

#[test]
fn a_path_that_is_no_directory_and_a_file_cut_short_are_refused() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("file");
    std::fs::write(&file, b"x").expect("write");
    assert!(matches!(Volume::open_directory(&file, tiny()), Err(VolumeError::Directory { .. })));
    let storage = FileStorage::open(&file).expect("open");
    assert!(matches!(storage.try_read_at(0, &mut [0; 2]), Err(StorageError::OutOfRange { .. }) | Ok(false)));
    storage.reserve_len(100_000).expect("reserve");
    assert_eq!(storage.len().expect("len"), 100_000);
    storage.reserve_len(5).expect("nothing to do");
    let mut out = [9; 3];
    storage.read_at(0, &mut out).expect("read");
    assert_eq!((out, storage.len().expect("len")), ([b'x', 0, 0], 100_000));
}

/// A medium that takes no change at all, as a file of a read-only file system.
#[derive(Debug)]
struct ReadOnly(MemoryStorage);

impl Storage for ReadOnly {
    fn len(&self) -> Result<u64, StorageError> {
        self.0.len()
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.0.read_at(offset, out)
    }
    fn write_at(&self, _: u64, _: &[u8]) -> Result<(), StorageError> {
        Err(refused())
    }
    fn set_len(&self, _: u64) -> Result<(), StorageError> {
        Err(refused())
    }
    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }
    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        Ok(None)
    }
}

fn refused() -> StorageError {
    StorageError::Io { operation: "write", source: Arc::new(std::io::ErrorKind::ReadOnlyFilesystem.into()) }
}

#[test]
fn a_read_only_medium_is_an_error_and_no_panic() {
    let empty = || Arc::new(ReadOnly(MemoryStorage::new()));
    let files = VolumeFiles { blocks: empty(), map: empty() };
    assert!(matches!(Volume::open(files, tiny()), Err(VolumeError::Storage(StorageError::Io { .. }))));
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    write(&volume, 1, 0, &[1]).expect("write");
    drop(volume);
    let file = |name| Arc::new(ReadOnly(MemoryStorage::from_bytes(content(&disk, name))));
    let files = VolumeFiles { blocks: file("blocks"), map: file("blocks.redb") };
    let error = Volume::open(files, tiny()).expect_err("a volume must be able to write");
    assert!(matches!(error, VolumeError::Storage(_) | VolumeError::Map { .. }), "{error:?}");
}
