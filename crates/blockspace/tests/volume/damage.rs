//! Records that rot before the map holds their contents.

use crate::{
    faults::{content, write},
    support::*,
};
use ciphermill_blockspace::volume::{BLOCK_BYTES, Volume, VolumeError};
use ciphermill_storage::SimulatedDisk;

const RECORDS: u64 = 10;

/// A disk with a volume of one record for each block 1 to [`RECORDS`], stopped or killed; and where the blocks stand.
fn ended(clean: bool) -> (SimulatedDisk, impl Fn(u64) -> u64) {
    let mut disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    for lba in 1..=RECORDS {
        write(&volume, 1, lba, &[lba]).expect("write");
    }
    if !clean {
        disk = disk.crash(5);
    }
    drop(volume);
    let bytes = content(&disk, "blocks");
    let at = move |lba| bytes.chunks(BLOCK_BYTES).position(|stored| stored == block(lba)).expect("stored") as u64;
    (disk, at)
}

fn flip(disk: &SimulatedDisk, block: u64) {
    disk.file("blocks").flip_bit((block * BLOCK_BYTES as u64 + 40) * 8 + 3);
}

fn shows(volume: &Volume, sound: impl Fn(u64) -> bool) {
    let mut out = vec![0; BLOCK_BYTES];
    for lba in 1..=RECORDS {
        match volume.read(1, lba, &mut out) {
            Ok(()) => assert!(sound(lba) && out == block(lba), "block {lba}"),
            Err(VolumeError::Damaged { space: 1, lba: damaged }) => assert!(!sound(lba) && damaged == lba),
            Err(error) => panic!("block {lba}: {error}"),
        }
    }
}

#[test]
fn damaged_content_of_a_record_costs_its_own_block_only() {
    for clean in [true, false] {
        let (disk, at) = ended(clean);
        flip(&disk, at(5));
        for _ in 0..2 {
            shows(&open_on(&disk).expect("open"), |lba| lba != 5);
        }
        write(&open_on(&disk).expect("open"), 1, 5, &[5]).expect("written again, it is sound");
        shows(&open_on(&disk).expect("open"), |_| true);
    }
}

#[test]
fn a_damaged_header_among_others_is_refused_and_nothing_changed() {
    for clean in [true, false] {
        for damaged in [1, 5, RECORDS - 1] {
            let (disk, at) = ended(clean);
            flip(&disk, at(damaged) - 1);
            let before = [content(&disk, "blocks"), content(&disk, "blocks.redb")];
            let refused = open_on(&disk);
            assert!(
                matches!(&refused, Err(VolumeError::Corrupt { what }) if what.contains("acknowledged")),
                "{refused:?}"
            );
            assert_eq!([content(&disk, "blocks"), content(&disk, "blocks.redb")], before);
            flip(&disk, at(damaged) - 1);
            shows(&open_on(&disk).expect("sound again"), |_| true);
        }
    }
}

/// The last record of a volume that was killed may be torn: then it was not acknowledged. One that was stopped has none.
#[test]
fn after_a_clean_stop_damage_in_the_last_record_is_noticed_too() {
    let (disk, at) = ended(true);
    flip(&disk, at(RECORDS) - 1);
    assert!(matches!(open_on(&disk), Err(VolumeError::Corrupt { .. })));
    let (disk, at) = ended(true);
    flip(&disk, at(RECORDS));
    shows(&open_on(&disk).expect("open"), |lba| lba != RECORDS);

    let (disk, at) = ended(false);
    flip(&disk, at(RECORDS));
    let volume = open_on(&disk).expect("open");
    assert_eq!(volume.mapped(1, 0, 100), RECORDS - 1);
}

/// Records in two segments: damage in the first is noticed by the contents of the second.
#[test]
fn damage_is_noticed_across_segments() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    let mut seen = 0;
    for round in 0..40 {
        write(&volume, 1, round, &[round + 1]).expect("write");
        let killed = disk.crash(round);
        let bytes = content(&killed, "blocks");
        let blocks = bytes.chunks(BLOCK_BYTES).enumerate();
        let headers = blocks.filter(|(_, block)| block.starts_with(b"CMVOREC")).map(|(at, _)| at as u64);
        for header in headers.collect::<Vec<_>>() {
            let damaged = disk.crash(round);
            flip(&damaged, header);
            match open_on(&damaged) {
                Err(VolumeError::Corrupt { .. }) => seen += 1,
                Err(error) => panic!("{error}"),
                // Of a segment that the map holds already, or the last one.
                Ok(volume) => assert!(volume.mapped(1, 0, 100) >= round, "round {round}, header {header}"),
            }
        }
    }
    assert!(seen > 200, "{seen}");
}
