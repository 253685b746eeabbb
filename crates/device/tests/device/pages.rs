//! Reads at any offset, and scrubbing.

use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ScrubEvent, Space, SpaceId, SpaceLimits, StorageError, StoreError,
    StoreFiles, WriteOptions,
    storage::{MemoryStorage, SimulatedDisk, Storage},
    store::CHUNK_BYTES,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// Counts the bytes that are read.
#[derive(Debug)]
struct Metered(MemoryStorage, AtomicU64);

impl Storage for Metered {
    fn len(&self) -> Result<u64, StorageError> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.1.fetch_add(out.len() as u64, Ordering::SeqCst);
        self.0.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.0.set_len(len)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.0.sync()
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.0.free_space()
    }
}

#[test]
fn any_range_of_any_object_is_read_as_it_is() {
    let (_device, space) = open(DeviceConfig::in_memory());
    let mut dice = Dice(77);
    for (data, words) in [1, 511, 512, 513, 2000, 2001, 131_072, 131_073, 400_001].into_iter().enumerate() {
        let (id, content) = (vr(1, 0, data as u32), value(data as u64, words));
        put(&space, id, &content);
        let pages = space.open_object(id).expect("open");
        assert_eq!(pages.stat(), space.stat(id).expect("stat"));
        let size = content.len() as u64;
        let mut out = vec![0; 3 << 20];
        for _ in 0..300 {
            let offset = dice.below(size + 10);
            let len = match dice.below(4) {
                0 => dice.below(3 << 20),
                1 => 4096,
                _ => dice.below(10_000),
            };
            let offset = if dice.below(2) == 0 { offset & !4095 } else { offset };
            let count = pages.read_at(offset, &mut out[..len as usize]).expect("sound");
            let expected = &content[offset.min(size) as usize..(offset + len).min(size) as usize];
            assert!(out[..count] == *expected, "{len} bytes at {offset} of {size}");
        }
        assert_eq!(pages.read_at(u64::MAX, &mut out[..8]).expect("behind the end"), 0);
        assert_eq!(pages.read_at(0, &mut []).expect("nothing"), 0);
    }
}

#[test]
fn small_reads_cost_their_blocks_and_reads_in_a_row_one_pass() {
    let data = Arc::new(Metered(MemoryStorage::new(), AtomicU64::new(0)));
    let files = StoreFiles { data: data.clone(), ..StoreFiles::in_memory() };
    let (_device, space) = open(DeviceConfig::in_files(files));
    let content = value(5, 4 << 17);
    put(&space, vr(1, 0, 0), &content);
    let pages = space.open_object(vr(1, 0, 0)).expect("open");
    data.1.store(0, Ordering::SeqCst);
    let mut out = vec![0; 128 << 10];
    for offset in (0..content.len()).step_by(out.len()) {
        pages.read_at(offset as u64, &mut out).expect("read");
        assert!(out == content[offset..offset + out.len()]);
    }
    assert_eq!(data.1.swap(0, Ordering::SeqCst), 4 << 20, "in a row: each byte once");
    let mut dice = Dice(3);
    for _ in 0..500 {
        let offset = dice.below(3 * 256) * 4096;
        pages.read_at(offset, &mut out[..4096]).expect("read");
        assert!(out[..4096] == content[offset as usize..offset as usize + 4096]);
    }
    assert_eq!(data.1.load(Ordering::SeqCst), 500 * 4096, "here and there: the blocks that are asked for");
}

#[test]
fn a_read_that_must_not_wait_gives_what_is_at_hand() {
    for files in
        [StoreFiles::in_memory(), StoreFiles { data: Arc::new(Slow(MemoryStorage::new())), ..StoreFiles::in_memory() }]
    {
        let slow = format!("{files:?}").contains("Slow");
        let (_device, space) = open(DeviceConfig::in_files(files));
        let (small, large) = (value(1, 400), value(2, 300_000));
        put(&space, vr(1, 0, 0), &small);
        put(&space, vr(1, 0, 1), &large);
        let mut out = vec![0; 9000];
        let pages = space.open_object(vr(1, 0, 0)).expect("open");
        assert_eq!(pages.try_read_at(3000, &mut out).expect("in memory"), Some(200));
        assert!(out[..200] == small[3000..]);
        let pages = space.open_object(vr(1, 0, 1)).expect("open");
        assert_eq!(pages.try_read_at(0, &mut out).expect("not tried"), None, "the chunk must be checked first");
        pages.read_at(0, &mut out).expect("checked");
        out.fill(0);
        assert_eq!(pages.try_read_at(77_777, &mut out).expect("held"), Some(9000));
        assert!(out == large[77_777..86_777]);
        pages.read_at(CHUNK_BYTES, &mut out).expect("another chunk is held now");
        let expected = if slow { None } else { Some(9000) };
        assert_eq!(pages.try_read_at(4_000, &mut out).expect("from the medium"), expected);
        assert!(slow || out == large[4_000..13_000]);
        assert_eq!(pages.try_read_at(8_192, &mut out[..4096]).expect("whole blocks"), expected.map(|_| 4096));
        assert!(slow || out[..4096] == large[8_192..12_288]);
        assert_eq!(pages.try_read_at(u64::MAX, &mut out).expect("behind the end"), Some(0));
    }
}

/// Has to be waited for.
#[derive(Debug)]
struct Slow(MemoryStorage);

impl Storage for Slow {
    fn len(&self) -> Result<u64, StorageError> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.0.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.0.set_len(len)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.0.sync()
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.0.free_space()
    }
}

#[test]
fn one_version_is_read_whatever_is_written_meanwhile() {
    let (_device, space) = open(DeviceConfig::in_memory());
    let id = vr(1, 0, 0);
    put(&space, id, &value(1, 300_000));
    let pages = space.open_object(id).expect("open");
    space.set_flags(id, ObjectFlags::ARMED).expect("flags");
    assert!(pages.is_current(), "flags are no content");
    let (mut begin, mut rest) = (vec![0; 100_000], vec![0; 2_300_000]);
    pages.read_at(0, &mut begin).expect("read");
    put(&space, id, &value(2, 300_000));
    put(&space, vr(1, 0, 1), &value(3, 300_000));
    assert!(!pages.is_current());
    assert_eq!(pages.read_at(100_000, &mut rest).expect("read"), 2_300_000);
    assert!([begin, rest].concat() == value(1, 300_000));
    assert_ne!(pages.stat().generation, space.stat(id).expect("stat").generation);
    space.delete(id).expect("delete");
    assert!(matches!(space.open_object(id), Err(DeviceError::Store(StoreError::NotFound { .. }))));
}

#[test]
fn many_threads_read_one_object() {
    let (_device, space) = open(DeviceConfig::in_memory());
    let content = value(9, 700_000);
    put(&space, vr(1, 0, 0), &content);
    let pages = space.open_object(vr(1, 0, 0)).expect("open");
    thread::scope(|scope| {
        for seed in 1..=6 {
            let (pages, content) = (&pages, &content);
            scope.spawn(move || {
                let (mut dice, mut out) = (Dice(seed), vec![0; 200_000]);
                for _ in 0..100 {
                    let (offset, len) = (dice.below(content.len() as u64), dice.below(200_000) as usize);
                    let count = pages.read_at(offset, &mut out[..len]).expect("read");
                    assert!(out[..count] == content[offset as usize..offset as usize + count]);
                }
            });
        }
    });
}

#[test]
fn a_flipped_bit_is_found_before_and_after_its_chunk_was_checked() {
    let disk = SimulatedDisk::new();
    let (_device, space) = open(DeviceConfig::in_files(StoreFiles::on_simulated_disk(&disk)));
    put(&space, vr(1, 0, 0), &value(1, 300_000));
    let mut out = vec![0; 4096];
    let early = space.open_object(vr(1, 0, 0)).expect("open");
    early.read_at(CHUNK_BYTES, &mut out).expect("sound");
    early.read_at(0, &mut out).expect("sound");
    // Block 3 of chunk 1, which is no longer the chunk read last; the extent begins at block 1 of the file.
    disk.file("data").flip_bit((4096 + CHUNK_BYTES + 3 * 4096) * 8 + 5);
    let damaged = |outcome| matches!(outcome, Err(StoreError::DamagedObject { chunk: 1, .. }));
    assert!(damaged(early.read_at(CHUNK_BYTES + 3 * 4096, &mut out)));
    assert!(damaged(early.read_at(CHUNK_BYTES + 4 * 4096 - 1, &mut out)), "touched by a byte");
    early.read_at(CHUNK_BYTES + 4 * 4096, &mut out).expect("the next block is sound");
    let late = space.open_object(vr(1, 0, 0)).expect("open");
    assert!(damaged(late.read_at(CHUNK_BYTES, &mut out)), "the chunk as a whole is not");
    late.read_at(0, &mut out).expect("another chunk is");
}

fn scrubbed(device: &Device) -> (ciphermill_device::ScrubReport, Vec<ScrubEvent>) {
    let mut events = Vec::new();
    let report = device.scrub(&mut |event| events.push(event)).expect("scrub");
    (report, events)
}

fn filled(files: StoreFiles) -> (Device, Space) {
    let (device, space) = open(DeviceConfig::in_files(files));
    let other = device.create_space(SpaceId(3), SpaceLimits::UNLIMITED).expect("space");
    for data in 0..10 {
        put(&space, vr(1, 0, data), &value(u64::from(data), 300 + u64::from(data) * 400));
        put(&other, vr(1, 0, data), &value(u64::from(data), 100_000 * u64::from(data % 3) + 1));
    }
    (device, space)
}

#[test]
fn a_scrub_of_a_sound_store_reads_everything_and_finds_nothing() {
    let (device, _space) = filled(StoreFiles::in_memory());
    let (report, events) = scrubbed(&device);
    let usage = device.metrics().store;
    assert_eq!((report.objects, report.bytes), (20, usage.object_bytes));
    assert_eq!((report.is_sound(), report.table_sound, report.damaged_chunks), (true, Some(true), 0));
    assert!(events.iter().all(|event| matches!(event, ScrubEvent::Progress { of: 20, .. })) && events.len() == 20);
    let metrics = device.metrics();
    assert_eq!((metrics.scrubs, metrics.scrubbed_bytes, metrics.damaged_chunks), (1, report.bytes, 0));
}

#[test]
fn a_scrub_names_each_object_that_a_flipped_bit_damaged() {
    let disk = SimulatedDisk::new();
    let (device, space) = filled(StoreFiles::on_simulated_disk(&disk));
    let blocks = disk.file("data").len().expect("len") / 4096;
    let (mut dice, mut found) = (Dice(6), 0);
    for _ in 0..12 {
        let bit = (1 + dice.below(blocks - 1)) * 4096 * 8 + dice.below(4096 * 8);
        disk.file("data").flip_bit(bit);
        let (report, events) = scrubbed(&device);
        let named: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ScrubEvent::Damaged { object, chunk } => Some((*object, *chunk)),
                _ => None,
            })
            .collect();
        // A bit behind the end of an object, in its last block, has no owner.
        assert!(named.len() <= 1 && report.damaged_chunks == named.len() as u64);
        assert_eq!((report.damaged_objects, report.is_sound()), (report.damaged_chunks, named.is_empty()));
        assert_eq!(report.objects, 20, "it goes on after damage");
        for (object, chunk) in named {
            let space = device.space(object.space).expect("space");
            let read = space.read_bytes(object.id, ciphermill_device::ReadMode::Stored);
            let is_it = |error: &StoreError| matches!(error, StoreError::DamagedObject { object: o, chunk: c } if (*o, *c) == (object, chunk));
            assert!(matches!(&read, Err(DeviceError::Store(error)) if is_it(error)), "{read:?}");
            found += 1;
        }
        disk.file("data").flip_bit(bit);
    }
    assert!(found > 5, "{found}");
    drop(space);
    assert!(scrubbed(&device).0.is_sound());
}

#[test]
fn a_scrub_finds_flipped_bits_of_the_object_table() {
    let disk = SimulatedDisk::new();
    let (device, _space) = filled(StoreFiles::on_simulated_disk(&disk));
    let table = disk.file("objects.redb");
    let mut image = vec![0; table.len().expect("len") as usize];
    table.read_at(0, &mut image).expect("read");
    // The bytes of a small object stand in the table as they are.
    let content = value(2, 300 + 2 * 400);
    let at: BTreeSet<usize> =
        image.windows(64).enumerate().filter(|(_, w)| *w == &content[..64]).map(|p| p.0).collect();
    assert!(!at.is_empty());
    let (mut damaged, mut dice) = (0, Dice(1));
    for at in at {
        let bit = (at as u64 + dice.below(64)) * 8;
        table.flip_bit(bit);
        let (report, events) = scrubbed(&device);
        let told = events.iter().any(|event| matches!(event, ScrubEvent::Table { .. } | ScrubEvent::Damaged { .. }));
        assert_eq!(told, !report.is_sound());
        damaged += u64::from(told);
        table.flip_bit(bit);
    }
    assert_eq!(damaged, 1, "one copy is the current one; others are in free pages");
}

#[test]
fn a_scrub_runs_beside_traffic() {
    let (device, space) = filled(StoreFiles::in_memory());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2u32 {
            let (space, done) = (&space, &done);
            scope.spawn(move || {
                let mut n = 0;
                while !done.load(Ordering::SeqCst) {
                    let id = vr(1, 0, writer * 5 + n % 5);
                    if n % 7 == 3 {
                        space.delete(id).expect("its own");
                    }
                    put(space, id, &value(u64::from(n), 1 + u64::from(n) * 37 % 3000));
                    let _ = space.write_bytes(id, &value(3, 10), WriteOptions::default());
                    n += 1;
                }
            });
        }
        for _ in 0..3 {
            let (report, events) = scrubbed(&device);
            let wrong: Vec<_> = events.iter().filter(|e| !matches!(e, ScrubEvent::Progress { .. })).collect();
            if !report.is_sound() {
                done.store(true, Ordering::SeqCst);
            }
            assert!(report.is_sound() && wrong.is_empty(), "{wrong:?}");
            assert!(report.objects >= 18);
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(scrubbed(&device).0.table_sound, Some(true));
}
