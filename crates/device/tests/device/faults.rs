//! Full disks, I/O errors, and bits that flip.

use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ReadMode, Space, SpaceId, SpaceLimits, StorageError, StoreError,
    StoreFiles, WriteMode, WriteOptions,
    storage::{Fault, MemoryStorage, SimulatedDisk, Storage},
    store::{ObjectKey, Store},
};
use ciphermill_program::Instruction;
use std::{collections::BTreeMap, sync::Arc};

fn device_on(files: StoreFiles) -> Result<(Device, Space), DeviceError> {
    let device = Device::open(DeviceConfig::in_files(files), vec![Arc::new(Toy::default())])?;
    let space = device.space(SpaceId::EMBEDDED)?;
    Ok((device, space))
}

fn check_all(space: &Space, expected: &BTreeMap<u32, Vec<u8>>) {
    assert_eq!(space.list().len(), expected.len());
    for (data, bytes) in expected {
        assert!(space.read_bytes(vr(1, 0, *data), ReadMode::Stored).expect("intact") == *bytes, "object {data}");
    }
}

fn no_space(error: &DeviceError) -> bool {
    let text = error.to_string();
    match error {
        DeviceError::Store(StoreError::NoSpace { .. } | StoreError::Storage(StorageError::NoSpace { .. })) => true,
        DeviceError::Store(StoreError::Table { .. }) => text.contains("no space left"),
        _ => false,
    }
}

/// Fills a device until it is full, replacing objects now and then; everything acknowledged must stay.
fn fill(files: &StoreFiles, make_room: impl FnOnce()) {
    let (device, space) = device_on(files.clone()).expect("open");
    let mut expected = BTreeMap::new();
    let mut refused = 0;
    for n in 0..400u64 {
        let (data, bytes) = ((n % 150) as u32, value(n, 200 + n * 97 % 9000));
        match space.write_bytes(vr(1, 0, data), &bytes, WriteOptions::default()) {
            Ok(_) => drop(expected.insert(data, bytes)),
            Err(error) => {
                assert!(no_space(&error), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20 && expected.len() > 5, "refused {refused}, kept {}", expected.len());
    check_all(&space, &expected);
    drop((device, space));
    let (_device, space) = device_on(files.clone()).expect("a full store opens");
    check_all(&space, &expected);
    make_room();
    put(&space, vr(1, 0, 500), &value(1, 50_000));
    let (first, _) = expected.pop_first().expect("some");
    space.delete(vr(1, 0, first)).expect("delete");
    expected.insert(500, value(1, 50_000));
    check_all(&space, &expected);
}

#[test]
fn a_full_disk_loses_nothing() {
    let disk = SimulatedDisk::new();
    disk.inject(Fault::Capacity(5 << 20));
    fill(&StoreFiles::on_simulated_disk(&disk), || disk.clear_faults());
}

#[test]
fn a_full_data_file_loses_nothing() {
    let mut files = StoreFiles::in_memory();
    files.data = Arc::new(MemoryStorage::with_capacity_limit(2 << 20));
    let (device, space) = device_on(files.clone()).expect("open");
    put(&space, vr(1, 0, 0), &value(0, 2500));
    let error = space.write(vr(1, 0, 1), 3 << 20, WriteOptions::default()).map(drop).expect_err("too large");
    let DeviceError::Store(StoreError::NoSpace { needed, free }) = error else { panic!("{error}") };
    assert_eq!((needed, free), (3 << 20, (2 << 20) - 4096 - 20_480));
    put(&space, vr(1, 0, 1), &value(1, free / 8));
    assert!(space.write_bytes(vr(1, 0, 2), &[0; 20_000], WriteOptions::default()).is_err());
    space.delete(vr(1, 0, 1)).expect("delete");
    put(&space, vr(1, 0, 2), &value(2, free / 8));
    drop((device, space));
    let (_device, space) = device_on(files).expect("open");
    check_all(&space, &BTreeMap::from([(0, value(0, 2500)), (2, value(2, free / 8))]));
}

#[test]
fn an_io_error_at_any_operation_loses_nothing_acknowledged() {
    let (mut failures, mut stopped) = (0, 0);
    for at in 0..160 {
        let disk = SimulatedDisk::new();
        disk.inject(Fault::FailAt(at));
        let files = StoreFiles::on_simulated_disk(&disk);
        let mut expected: BTreeMap<u32, Vec<Option<Vec<u8>>>> = BTreeMap::new();
        if let Ok((_device, space)) = device_on(files.clone()) {
            for n in 0..12u64 {
                let (data, bytes) = ((n % 4) as u32, value(n, 1 + n * 100));
                match space.write_bytes(vr(1, 0, data), &bytes, WriteOptions::default()) {
                    Ok(_) => drop(expected.insert(data, vec![Some(bytes)])),
                    Err(error) => {
                        failures += 1;
                        stopped += u64::from(matches!(error, DeviceError::Store(StoreError::Failed)));
                        expected.entry(data).or_insert_with(|| vec![None]).push(Some(bytes));
                    }
                }
            }
            for (data, states) in &expected {
                let now = space.read_bytes(vr(1, 0, *data), ReadMode::Stored).ok();
                assert!(now == states[0] || states.contains(&now), "fault at {at}: object {data}");
            }
        }
        let files = StoreFiles::on_simulated_disk(&disk.crash(at));
        let (_device, space) = device_on(files).unwrap_or_else(|error| panic!("fault at {at}: {error}"));
        for (data, states) in &expected {
            let now = space.read_bytes(vr(1, 0, *data), ReadMode::Stored).ok();
            assert!(states.contains(&now), "fault at {at}, reopened: object {data}");
        }
    }
    assert!(failures > 20 && stopped > 0, "failures {failures}, stopped {stopped}");
}

#[test]
fn a_failed_sync_also_stops_writes_whose_bytes_it_may_have_dropped() {
    let disk = SimulatedDisk::new();
    let store = Store::open(StoreFiles::on_simulated_disk(&disk)).expect("open");
    let key = |data| ObjectKey { space: SpaceId::EMBEDDED, id: vr(1, 0, data) };
    let written = |data: u32| {
        let bytes = value(u64::from(data), 3000);
        let mut writer = store.write(key(data), bytes.len() as u64).expect("writer");
        writer.push(&bytes).expect("push");
        writer.finish(ObjectFlags::NONE).expect("complete")
    };
    let (before, unlucky, bystander) = (written(0), written(1), written(2));
    before.commit().expect("the medium is sound");
    disk.inject(Fault::FailAt(disk.operations()));
    let bytes = value(9, 3000);
    let mut late = store.write(key(9), bytes.len() as u64).expect("writer");
    late.push(&bytes).expect_err("the fault strikes a write first");
    disk.inject(Fault::FailAt(disk.operations()));
    assert!(matches!(unlucky.commit(), Err(StoreError::Storage(StorageError::Sync { .. }))));
    let usage = store.usage();
    assert_eq!(
        (usage.free_bytes, usage.data_bytes),
        (0, 4096 * 25),
        "the failed commit may be on the medium after all"
    );
    assert!(matches!(bystander.commit(), Err(StoreError::Failed)), "its bytes may be among those dropped");
    assert!(matches!(store.write(key(3), 8), Err(StoreError::Failed)));
    let object = store.get(key(0)).expect("reads go on");
    assert!(store.read(object).pull_all().expect("read") == value(0, 3000));
    drop(store);
    let store = Store::open(StoreFiles::on_simulated_disk(&disk.crash(1))).expect("open");
    assert_eq!(store.list(SpaceId::EMBEDDED).len(), 1);
}

fn image(storage: &dyn Storage) -> Vec<u8> {
    let mut bytes = vec![0; storage.len().expect("len") as usize];
    storage.read_at(0, &mut bytes).expect("read");
    bytes
}

fn store_with_objects() -> (StoreFiles, BTreeMap<u32, Vec<u8>>) {
    let files = StoreFiles::in_memory();
    let (_device, space) = device_on(files.clone()).expect("open");
    let expected: BTreeMap<u32, Vec<u8>> =
        (0..30u32).map(|data| (data, value(u64::from(data), 1 + u64::from(data) * 9001 % 7000))).collect();
    for (data, bytes) in &expected {
        put(&space, vr(1, 0, *data), bytes);
    }
    put(&space, vr(1, 0, 3), &expected[&3]);
    (files, expected)
}

fn damaged(files: &StoreFiles, data: Vec<u8>, objects: Vec<u8>) -> StoreFiles {
    let storage = |bytes| Arc::new(MemoryStorage::from_bytes(bytes)) as Arc<dyn Storage>;
    StoreFiles {
        data: storage(data),
        objects: storage(objects),
        log: storage(image(&*files.log)),
        ..StoreFiles::in_memory()
    }
}

#[test]
fn a_flipped_bit_of_an_object_is_an_error_and_never_wrong_data() {
    let (files, expected) = store_with_objects();
    let (data, objects) = (image(&*files.data), image(&*files.objects));
    let (mut dice, mut noticed) = (Dice(4), 0);
    for _ in 0..60 {
        let mut flipped = data.clone();
        let bit = 4096 * 8 + dice.below((data.len() as u64 - 4096) * 8);
        flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        let (_device, space) = device_on(damaged(&files, flipped, objects.clone())).expect("opens");
        for (id, bytes) in &expected {
            match space.read_bytes(vr(1, 0, *id), ReadMode::Stored) {
                Ok(read) => assert!(read == *bytes, "bit {bit}"),
                Err(DeviceError::Store(StoreError::DamagedObject { object, .. })) => {
                    assert_eq!(object.id, vr(1, 0, *id));
                    noticed += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(noticed > 10, "{noticed}");
}

#[test]
fn a_flipped_bit_of_the_object_table_is_an_error_that_changes_nothing() {
    let (files, expected) = store_with_objects();
    let (data, objects) = (image(&*files.data), image(&*files.objects));
    let (mut dice, mut refused) = (Dice(9), 0);
    // The first pages hold header and trees of so small a table; flip there more often than in free pages.
    for round in 0..600u64 {
        let span = if round % 2 == 0 { 4096.min(objects.len() as u64) } else { objects.len() as u64 };
        let bit = dice.below(span * 8);
        let mut flipped = objects.clone();
        flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        let files = damaged(&files, data.clone(), flipped.clone());
        match device_on(files.clone()) {
            Ok((_device, space)) => check_all(&space, &expected),
            Err(DeviceError::Store(error @ (StoreError::Corrupt { .. } | StoreError::Version { .. }))) => {
                assert!(image(&*files.objects) == flipped && image(&*files.data) == data, "bit {bit}: {error}");
                refused += 1;
            }
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn files_of_two_stores_cannot_be_mixed() {
    let (one, _) = store_with_objects();
    let (other, _) = store_with_objects();
    let mixed = damaged(&one, image(&*one.data), image(&*other.objects));
    assert!(matches!(device_on(mixed), Err(DeviceError::Store(StoreError::Corrupt { .. }))));
    let short = damaged(&one, image(&*one.data)[..8192].to_vec(), image(&*one.objects));
    assert!(matches!(device_on(short), Err(DeviceError::Store(StoreError::Corrupt { .. }))));
    let empty = damaged(&one, Vec::new(), image(&*one.objects));
    assert!(matches!(device_on(empty), Err(DeviceError::Store(StoreError::Corrupt { .. }))));
}

#[test]
fn no_program_is_larger_than_the_longest_one() {
    let config = DeviceConfig { max_program_instructions: 3, ..DeviceConfig::in_memory() };
    let (_device, space) = open(config);
    let y = vr(4, 0, 1);
    let of = |n| program(vec![Instruction::ret(y); n]);
    put(&space, vr(0, 0, 0), &of(3));
    let longest = of(3).len() as u64;
    for size in [of(4).len() as u64, longest + 1, 8 << 30] {
        let error = space.write(vr(0, 0, 0), size, WriteOptions::default()).map(drop).expect_err("too long");
        assert!(matches!(error, DeviceError::TooLarge { limit, .. } if limit == longest), "{error}");
    }
}

#[test]
fn no_generation_is_given_out_twice() {
    let files = StoreFiles::in_memory();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let (_device, space) = device_on(files.clone()).expect("open");
        let stat = space.write_bytes(vr(1, 0, 1), &[7; 8], WriteOptions::default()).expect("write").stat;
        assert!(seen.insert(stat.generation), "generation {} again", stat.generation);
        space.delete(vr(1, 0, 1)).expect("the newest of all goes");
    }
}

#[test]
fn a_check_judges_as_a_write_would_and_takes_nothing() {
    let mut files = StoreFiles::in_memory();
    files.data = Arc::new(MemoryStorage::with_capacity_limit(2 << 20));
    let (device, space) = device_on(files).expect("open");
    put(&space, vr(1, 0, 0), &value(0, 2500));
    let before = device.metrics().store;
    let (free, options) = ((2 << 20) - 4096 - 20_480, WriteOptions::default());
    let check = |type_code, data, size| space.check_write(vr(type_code, 0, data), size, &options);
    for _ in 0..100 {
        check(1, 1, free).expect("all that is free");
    }
    let error = check(1, 1, 3 << 20).expect_err("more than the disk has");
    assert!(
        matches!(error, DeviceError::Store(StoreError::NoSpace { needed, free: told }) if (needed, told) == (3 << 20, free)),
        "{error}"
    );
    assert!(matches!(check(99, 1, 8), Err(DeviceError::UnknownType { .. })));
    assert!(matches!(check(0, 1, 8), Err(DeviceError::NotAProgramRegister { .. })));
    assert!(matches!(check(1, 1, 0), Err(DeviceError::Store(StoreError::EmptyObject))));
    assert!(matches!(check(1, 1, 7), Err(DeviceError::Handler(_))));
    assert!(matches!(check(1, 1, u64::MAX), Err(DeviceError::TooLarge { .. })));
    assert_eq!(device.metrics().store, before, "nothing is reserved");
    put(&space, vr(1, 0, 1), &value(1, free / 8));
    device.create_space(SpaceId::EMBEDDED, SpaceLimits { bytes: 3 << 20, objects: 2 }).expect("quota");
    check(1, 1, 8).expect("replacing adds no object");
    assert!(matches!(check(1, 2, 8), Err(DeviceError::Store(StoreError::Quota { resource: "objects", .. }))));
}

#[test]
fn a_write_that_runs_a_program_is_checked_without_the_room_of_its_operand() {
    let (device, space) = open(DeviceConfig::in_memory());
    let y = vr(4, 0, 1);
    put(&space, vr(0, 0, 0), &program(vec![Instruction::ret(y)]));
    device.create_space(SpaceId::EMBEDDED, SpaceLimits { bytes: 1000, objects: 2 }).expect("quota");
    let check = |size, mode| space.check_write(y, size, &WriteOptions { mode, ..WriteOptions::default() });
    check(8000, WriteMode::Compute).expect("its result decides");
    for (size, mode) in [(8000, WriteMode::Stored), (8 << 20, WriteMode::Compute)] {
        assert!(matches!(check(size, mode), Err(DeviceError::Store(StoreError::Quota { resource: "bytes", .. }))));
    }
}
