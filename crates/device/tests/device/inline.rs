//! Small objects, whose bytes are in the object table.

use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ReadMode, Space, SpaceId, SpaceLimits, StorageError, StoreError,
    StoreFiles, WriteOptions,
    storage::{Fault, MemoryStorage, SimulatedDisk, Storage},
    store::INLINE_BYTES,
};
use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

fn device_on(files: StoreFiles) -> (Device, Space) {
    open(DeviceConfig::in_files(files))
}

fn read(space: &Space, data: u32) -> Vec<u8> {
    space.read_bytes(vr(1, 0, data), ReadMode::Stored).expect("read")
}

/// Counts syncs, writes, and how often it grew by a change of its length.
#[derive(Debug)]
struct Counting {
    inner: MemoryStorage,
    syncs: AtomicU64,
    writes: AtomicU64,
    growths: AtomicU64,
}

impl Counting {
    fn new() -> Arc<Self> {
        let count = AtomicU64::default;
        Arc::new(Self { inner: MemoryStorage::new(), syncs: count(), writes: count(), growths: count() })
    }

    /// Syncs, writes and growths since the last call.
    fn take(&self) -> [u64; 3] {
        [&self.syncs, &self.writes, &self.growths].map(|count| count.swap(0, Ordering::SeqCst))
    }
}

impl Storage for Counting {
    fn len(&self) -> Result<u64, StorageError> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.inner.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        if len > self.inner.len()? {
            self.growths.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.set_len(len)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.inner.sync()
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.inner.free_space()
    }
}

#[test]
fn a_small_object_costs_one_sync_and_a_large_one_two() {
    let (data, objects) = (Counting::new(), Counting::new());
    let files = StoreFiles { data: data.clone(), objects: objects.clone(), ..StoreFiles::in_memory() };
    let (_device, space) = device_on(files);
    let (mut writes, mut growths) = (0, 0);
    for (size, syncs) in [(8, 0), (3_208, 0), (INLINE_BYTES, 0), (INLINE_BYTES + 8, 1), (2 << 20, 1)] {
        for round in 0..20 {
            let _before = (data.take(), objects.take());
            put(&space, vr(1, 0, round as u32 % 7), &value(round, size / 8));
            let [data_syncs, data_writes, _] = data.take();
            assert_eq!((data_syncs, data_writes > 0), (syncs, syncs > 0), "data file, {size} bytes");
            let [table_syncs, _, grown] = objects.take();
            assert_eq!(table_syncs, 1 + grown, "object table, {size} bytes: one more where the table itself grows");
            (writes, growths) = (writes + 1, growths + grown);
        }
    }
    // The table doubles when it grows.
    assert!(writes == 100 && growths < 10, "{growths} growths");
    space.set_flags(vr(1, 0, 0), ObjectFlags::ARMED).expect("flags");
    space.delete(vr(1, 0, 0)).expect("delete");
    assert_eq!((data.take(), objects.take()[0]), ([0; 3], 2));
}

#[test]
fn objects_around_the_border_come_back_after_flags_and_reopening() {
    let files = StoreFiles::in_memory();
    let sizes = [1u64, 2, 410, 500, 1999, 2000, 2001, 2002, 131_072, 131_073];
    {
        let (_device, space) = device_on(files.clone());
        for (data, words) in sizes.into_iter().enumerate() {
            put(&space, vr(1, 0, data as u32), &value(words, words));
            space.set_flags(vr(1, 0, data as u32), ObjectFlags::ONE_SHOT).expect("flags");
        }
        put(&space, vr(1, 0, 0), &value(7, 5000));
        put(&space, vr(1, 0, 9), &value(7, 5));
    }
    let (device, space) = device_on(files);
    assert_eq!(read(&space, 0), value(7, 5000), "small became large");
    assert_eq!(read(&space, 9), value(7, 5), "large became small");
    for (data, words) in sizes.into_iter().enumerate().take(9).skip(1) {
        assert_eq!(read(&space, data as u32), value(words, words), "{words} words");
        assert_eq!(space.stat(vr(1, 0, data as u32)).expect("stat").flags, ObjectFlags::ONE_SHOT);
    }
    let bytes = (sizes[1..9].iter().sum::<u64>() + 5005) * 8;
    assert_eq!(space.usage().1, SpaceLimits { bytes, objects: 10 });
    assert_eq!((device.metrics().store.object_bytes, device.metrics().store.objects), (bytes, 10));
}

#[test]
fn a_version_that_is_replaced_or_deleted_stays_readable_for_those_who_hold_it() {
    let (_device, space) = device_on(StoreFiles::in_memory());
    put(&space, vr(1, 0, 0), &value(1, 400));
    let mut first = space.read(vr(1, 0, 0), ReadMode::Stored).expect("source");
    let pages = space.open_object(vr(1, 0, 0)).expect("pages");
    assert!(pages.is_current());
    put(&space, vr(1, 0, 0), &value(2, 410));
    assert!(!pages.is_current());
    let mut second = space.read(vr(1, 0, 0), ReadMode::Stored).expect("source");
    space.set_flags(vr(1, 0, 0), ObjectFlags::ARMED).expect("flags");
    space.delete(vr(1, 0, 0)).expect("delete");
    assert!(matches!(space.stat(vr(1, 0, 0)), Err(DeviceError::Store(StoreError::NotFound { .. }))));
    let all = |source: &mut dyn Read| {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map(|_| bytes).expect("readable")
    };
    assert_eq!(all(&mut first), value(1, 400));
    assert_eq!(all(&mut second), value(2, 410));
    let mut tail = [0; 80];
    assert_eq!(pages.read_at(3_160, &mut tail).expect("readable"), 40);
    assert_eq!(tail[..40], value(1, 400)[3_160..]);
}

#[test]
fn readers_beside_writers_of_one_register_see_whole_versions() {
    let (_device, space) = device_on(StoreFiles::in_memory());
    put(&space, vr(1, 0, 0), &value(0, 100));
    thread::scope(|scope| {
        for writer in 0..3u64 {
            let space = &space;
            scope.spawn(move || {
                for round in 0..150u64 {
                    let seed = writer * 1000 + round;
                    if round % 10 == 9 {
                        // Another writer may have deleted it.
                        let _ = space.set_flags(vr(1, 0, 0), ObjectFlags::ARMED);
                    }
                    put(space, vr(1, 0, 0), &value(seed, 100 + seed % 50));
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..600 {
                    let source = space.read(vr(1, 0, 0), ReadMode::Stored).expect("there");
                    let (stat, bytes) = (source.stat(), source.into_bytes().expect("readable"));
                    assert_eq!(crc32c::crc32c(&bytes), stat.checksum);
                    assert_eq!(bytes.len() as u64, stat.size);
                }
            });
        }
    });
}

#[test]
fn small_objects_stay_readable_after_a_failed_write_or_sync_of_the_table() {
    let mut stopped = 0;
    for at in 0..16 {
        let disk = SimulatedDisk::new();
        let (_device, space) = device_on(StoreFiles::on_simulated_disk(&disk));
        for data in 0..5 {
            put(&space, vr(1, 0, data), &value(u64::from(data), 400));
        }
        disk.inject(Fault::FailAt(disk.operations() + at));
        let (mut states, mut failures) = (vec![value(0, 400)], 0);
        for seed in 51..55 {
            match space.write_bytes(vr(1, 0, 0), &value(seed, 400), WriteOptions::default()) {
                Ok(_) => states.clear(),
                Err(DeviceError::Store(StoreError::Failed)) => stopped += 1,
                Err(DeviceError::Store(StoreError::Table { .. })) => failures += 1,
                Err(error) => panic!("{error}"),
            }
            states.push(value(seed, 400));
        }
        assert!(failures <= 1, "one fault");
        assert!(states.contains(&read(&space, 0)), "fault at {at}");
        for data in 1..5 {
            assert_eq!(read(&space, data), value(u64::from(data), 400), "fault at {at}");
        }
    }
    assert!(stopped > 0, "one of the faults struck a sync");
}

#[test]
fn where_the_table_has_no_room_extents_take_small_objects_too() {
    let disk = SimulatedDisk::new();
    let (device, space) = device_on(StoreFiles::on_simulated_disk(&disk));
    put(&space, vr(1, 0, 0), &value(1, 30_000));
    space.delete(vr(1, 0, 0)).expect("delete");
    put(&space, vr(1, 0, 1), &value(2, 30_000));
    space.delete(vr(1, 0, 1)).expect("delete");
    // Less than an inline object asks for, and enough for a commit. The table's file may have become shorter just now.
    let files = ["data", "objects.redb", "log", "swap"].map(|name| disk.file(name).len().expect("len"));
    disk.inject(Fault::Capacity(files.iter().sum::<u64>() + (64 << 10)));
    put(&space, vr(1, 0, 2), &value(3, 100));
    assert_eq!(read(&space, 2), value(3, 100));
    let (device, space) = {
        drop((device, space));
        device_on(StoreFiles::on_simulated_disk(&disk))
    };
    assert_eq!(read(&space, 2), value(3, 100));
    assert!(device.metrics().store.data_bytes > 4096, "it is in an extent");
}

#[test]
fn spaces_keep_their_small_objects_apart() {
    let (device, space) = device_on(StoreFiles::in_memory());
    let other = device.create_space(SpaceId(4), SpaceLimits { bytes: 3_300, objects: 2 }).expect("space");
    put(&space, vr(1, 0, 0), &value(1, 400));
    put(&other, vr(1, 0, 0), &value(2, 400));
    let full = other.write_bytes(vr(1, 0, 1), &value(3, 400), WriteOptions::default());
    assert!(matches!(full, Err(DeviceError::Store(StoreError::Quota { resource: "bytes", .. }))), "{full:?}");
    assert_eq!((read(&space, 0), read(&other, 0)), (value(1, 400), value(2, 400)));
}
