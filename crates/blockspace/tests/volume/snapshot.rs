//! Snapshots: the content of one moment while blocks are written again and again, within a budget.

use crate::{
    faults,
    support::{block, open_on},
};
use ciphermill_blockspace::volume::{
    BLOCK_BYTES, Change, Operation, Volume, VolumeConfig, VolumeError, VolumeFiles, VolumeSnapshot,
};
use ciphermill_storage::{Fault, SimulatedDisk};
use std::ops::ControlFlow;

const SPACE: u32 = 3;
const BLOCKS: u64 = 300;

fn volume() -> Volume {
    let config = VolumeConfig { segment_blocks: 64, ..VolumeConfig::default() };
    Volume::open(VolumeFiles::in_memory(), config).expect("a new volume")
}

/// The content of a block in a version.
fn content(lba: u64, version: u64) -> Vec<u8> {
    let word = (lba << 32 | version) | 1;
    word.to_le_bytes().repeat(BLOCK_BYTES / 8)
}

fn write(volume: &Volume, lba: u64, version: u64) {
    let write = Operation::Write { lba, data: content(lba, version) };
    let label = Operation::SetLabel { lba, label: version.to_le_bytes().to_vec() };
    volume.commit(Change { space: SPACE, operations: vec![write, label] }).expect("room");
}

fn copy(snapshot: VolumeSnapshot, target: &Volume) -> Result<(u64, u64), VolumeError> {
    let copied = snapshot.copy_to(target, &mut |_, _| ControlFlow::Continue(()))?;
    assert_eq!((&copied.damaged, &copied.kept), (&vec![], &vec![]));
    Ok((copied.written, copied.reused))
}

#[test]
fn a_snapshot_keeps_its_blocks_while_they_are_written_again() {
    let volume = volume();
    (0..BLOCKS).for_each(|lba| write(&volume, lba, 1));
    volume.commit(Change { space: SPACE, operations: vec![Operation::Zero { lba: 1000, blocks: 3 }] }).expect("room");
    let snapshot = volume.snapshot(1 << 30);
    let summary = volume.summary();
    assert_eq!(snapshot.summary(), summary);
    // Ten times as many writes as the snapshot has blocks: without it, its blocks would be used again.
    for version in 2..12 {
        (0..BLOCKS).for_each(|lba| write(&volume, lba, version));
    }
    // Only its own blocks are kept, not the 3000 that were written since, each with a header.
    assert!(volume.usage().file_bytes < 5 * BLOCKS * BLOCK_BYTES as u64, "{:?}", volume.usage());
    volume.drop_space(SPACE).expect("durable");
    assert_ne!(volume.summary(), summary);
    let target = self::volume();
    assert_eq!(copy(snapshot, &target).expect("whole"), (BLOCKS, 0));
    assert_eq!(target.summary(), summary);
    for lba in 0..BLOCKS {
        let mut out = vec![0; BLOCK_BYTES];
        target.read(SPACE, lba, &mut out).expect("whole");
        assert!(out == content(lba, 1), "block {lba}");
    }
    // Afterwards the file does not grow any more.
    (0..4).for_each(|version| (0..BLOCKS).for_each(|lba| write(&volume, lba, version)));
    let before = volume.usage().file_bytes;
    (0..20).for_each(|version| (0..BLOCKS).for_each(|lba| write(&volume, lba, version)));
    assert!(volume.usage().file_bytes <= before + (64 * BLOCK_BYTES as u64) * 4, "{:?} {before}", volume.usage());
}

#[test]
fn a_copy_makes_the_target_equal_and_writes_only_what_differs() {
    let volume = volume();
    (0..BLOCKS).for_each(|lba| write(&volume, lba, 1));
    let target = self::volume();
    copy(volume.snapshot(1 << 30), &target).expect("whole");
    write(&volume, 7, 2);
    let operations = vec![
        Operation::Zero { lba: 8, blocks: 1 },
        Operation::Unmap { lba: 9, blocks: 2 },
        Operation::ClearLabel { lba: 9 },
        Operation::Write { lba: 5000, data: content(5000, 1) },
    ];
    volume.commit(Change { space: SPACE, operations }).expect("room");
    write(&target, 4000, 5);
    let other = Change { space: 9, operations: vec![Operation::Zero { lba: 0, blocks: 1 }] };
    target.commit(other).expect("room");
    assert_eq!(copy(volume.snapshot(1 << 30), &target).expect("whole"), (2, BLOCKS - 4));
    assert_eq!(target.summary(), volume.summary());
    assert_eq!(target.spaces(), [SPACE]);
}

/// A host chooses the content of its blocks, so it can write two blocks of one checksum.
#[test]
fn blocks_of_one_checksum_are_told_apart() {
    // CRC-32C is linear: the same difference that leaves the checksum of one message leaves it of every message.
    let first = vec![0x55; BLOCK_BYTES];
    let mut second = first.clone();
    // The generator polynomial of CRC-32C, 0x11EDC6F41, as the difference, in the bit order of the checksum.
    let difference = (0x1_1EDC_6F41_u64.reverse_bits() >> 31).to_le_bytes();
    second.iter_mut().zip(difference).for_each(|(byte, other)| *byte ^= other);
    assert_eq!(crc32c::crc32c(&first), crc32c::crc32c(&second));
    let (volume, target) = (volume(), self::volume());
    let put = |volume: &Volume, data: &[u8]| {
        let operations = vec![Operation::Write { lba: 0, data: data.to_vec() }];
        volume.commit(Change { space: SPACE, operations }).expect("room");
    };
    put(&volume, &first);
    copy(volume.snapshot(1 << 30), &target).expect("whole");
    put(&volume, &second);
    assert_eq!(copy(volume.snapshot(1 << 30), &target).expect("whole"), (1, 0));
    let mut out = vec![0; BLOCK_BYTES];
    target.read(SPACE, 0, &mut out).expect("whole");
    assert!(out == second);
}

#[test]
fn a_snapshot_above_its_budget_ends_and_the_volume_goes_on() {
    let volume = volume();
    (0..BLOCKS).for_each(|lba| write(&volume, lba, 1));
    let snapshot = volume.snapshot(50 * BLOCK_BYTES as u64);
    for version in 2..12 {
        (0..BLOCKS).for_each(|lba| write(&volume, lba, version));
    }
    // Its blocks are free, although it still exists.
    let before = volume.usage().file_bytes;
    (0..10).for_each(|version| (0..BLOCKS).for_each(|lba| write(&volume, lba, version)));
    assert!(volume.usage().file_bytes <= before + (64 * BLOCK_BYTES as u64) * 4, "{:?} {before}", volume.usage());
    let error = copy(snapshot, &self::volume()).expect_err("300 blocks would have to be kept");
    assert!(matches!(error, VolumeError::SnapshotOver { limit } if limit == 50 * BLOCK_BYTES as u64), "{error}");
    assert_eq!(volume.label(SPACE, 0), Some(9u64.to_le_bytes().to_vec()));
}

/// The blocks that a checkpoint kept for a snapshot are room again once it is dropped, also on a medium that is full.
#[test]
fn a_full_medium_has_room_again_when_its_last_snapshot_is_dropped() {
    let disk = SimulatedDisk::new();
    disk.inject(Fault::Capacity(6 << 20));
    let volume = open_on(&disk).expect("a new volume");
    let tags = |version: u64| (1..=8).map(|tag| version << 8 | tag).collect::<Vec<_>>();
    // More than half of the medium.
    const RUNS: u64 = 100;
    (0..RUNS).for_each(|run| faults::write(&volume, SPACE, run * 8, &tags(run)).expect("room"));
    let snapshot = volume.snapshot(1 << 30);
    let mut version = RUNS;
    let error = loop {
        match faults::write(&volume, SPACE, version % RUNS * 8, &tags(version)) {
            Ok(()) => version += 1,
            Err(error) => break error,
        }
        assert!(version < 10_000, "the medium has 6 MiB");
    };
    assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
    let again = |version: u64| faults::write(&volume, SPACE, (version + 50) % RUNS * 8, &tags(version));
    assert!(
        (version..version + 30).all(|version| matches!(again(version), Err(VolumeError::NoSpace { .. }))),
        "the snapshot has it all"
    );
    // A part of it is room again when that is copied, and all when the snapshot is dropped.
    let mut stripes = 0;
    let copied = snapshot.copy_to(&self::volume(), &mut |_, _| {
        stripes += 1;
        if stripes == 20 {
            assert!((0..30).all(|version| again(version).is_ok()), "20 stripes were copied");
        }
        ControlFlow::Continue(())
    });
    assert_eq!(copied.expect("whole").written, 8 * RUNS);
    (0..200).for_each(|version| again(version).unwrap_or_else(|error| panic!("version {version}: {error}")));
}

/// The copy of an earlier backup may be the last whole one of a block that rots.
#[test]
fn the_copy_of_a_block_that_rotted_is_kept_and_listed() {
    let disk = SimulatedDisk::new();
    let (volume, target) = (open_on(&disk).expect("a new volume"), self::volume());
    let tags = [1, 2, 3, 4];
    faults::write(&volume, SPACE, 0, &tags).expect("room");
    copy(volume.snapshot(1 << 30), &target).expect("whole");
    // One that the target has, and one of which the target has an earlier version.
    faults::write(&volume, SPACE, 2, &[9]).expect("room");
    let bytes = faults::content(&disk, "blocks");
    for tag in [2, 9] {
        let at = bytes.chunks(BLOCK_BYTES).position(|stored| stored == block(tag)).expect("stored");
        disk.file("blocks").flip_bit((at * BLOCK_BYTES + 99) as u64 * 8);
    }
    let copied = volume.snapshot(1 << 30).copy_to(&target, &mut |_, _| ControlFlow::Continue(())).expect("the rest");
    assert_eq!((copied.damaged, copied.kept, copied.reused), (vec![(SPACE, 2)], vec![(SPACE, 1)], 2));
    let mut out = vec![0; BLOCK_BYTES];
    target.read(SPACE, 1, &mut out).expect("whole");
    assert!(out == block(2));
    assert_eq!(target.mapped(SPACE, 2, 1), 0);
}
