//! No room, and media that fail.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, BlockSpaceError, volume::VolumeFiles};
use ciphermill_device::{
    SpaceLimits, StoreFiles,
    storage::{Fault, SimulatedDisk, Storage},
};
use ciphermill_nvme::Status;
use std::sync::Arc;

#[test]
fn a_full_namespace_says_so_and_keeps_what_it_has() {
    let bench = Bench::with(BlockSpaceConfig { capacity: 4, ..BlockSpaceConfig::new(LOG2) });
    bench.write(100, pattern(4 * BLOCK, 1));
    let error = bench.try_write(104, pattern(BLOCK, 2)).expect_err("full");
    assert!(error.status.is(Status::CAPACITY_EXCEEDED) && error.status.is_final(), "{error}");
    bench.write(103, pattern(BLOCK, 3));
    bench.declare(200, metadata("1:0:1", 2 * BLOCK));
    let error = bench.try_write(200, pattern(BLOCK, 2)).expect_err("full");
    assert!(error.status.is(Status::CAPACITY_EXCEEDED), "{error}");
    // What need not be stored as blocks finds room.
    bench.write(200, pattern(2 * BLOCK, 2));
    assert_eq!(bench.stored("1:0:1"), Some(pattern(2 * BLOCK, 2)));
    bench.deallocate(100..101).expect("given up");
    bench.write(104, pattern(BLOCK, 2));
}

#[test]
fn quotas_of_the_device_are_told_when_an_object_is_declared_or_completed() {
    let bench = Bench::new();
    bench.device.create_space(NAMESPACE, SpaceLimits { bytes: 3 * BLOCK as u64, objects: 3 }).expect("limits");
    bench.put(0, metadata("1:0:1", 2 * BLOCK), &pattern(2 * BLOCK, 1));
    let error = bench.try_declare(20, metadata("1:0:4", 2 * BLOCK)).expect_err("no quota");
    assert!(error.status.is(Status::CAPACITY_EXCEEDED) && error.detail.contains("bytes free"), "{error}");
    // There is room for one of these, which is not kept for it.
    bench.declare(10, metadata("1:0:2", BLOCK));
    bench.declare(11, metadata("1:0:3", BLOCK));
    bench.write(11, pattern(BLOCK, 3));
    let error = bench.try_write(10, pattern(BLOCK, 2)).expect_err("no quota");
    assert!(error.status.is(Status::CAPACITY_EXCEEDED) && error.detail.contains("bytes free"), "{error}");
    bench.deallocate(HALF..HALF + 1).expect("given up");
    bench.write(10, pattern(BLOCK, 2));
    assert_eq!(bench.stored("1:0:2"), Some(pattern(BLOCK, 2)));
}

#[test]
fn a_full_disk_is_told_and_everything_stored_is_still_read() {
    let (disk, runtime) = (SimulatedDisk::new(), runtime());
    let bench = Bench::on(&disk, &runtime).expect("a namespace");
    bench.put(0, metadata("1:0:1", 300_000), &pattern(300_000, 1));
    bench.write(1000, pattern(64 * BLOCK, 2));
    let used: u64 = ["data", "objects.redb", "log", "swap", "blocks", "blocks.redb"]
        .iter()
        .map(|name| disk.file(name).len().expect("len"))
        .sum();
    disk.inject(Fault::Capacity(used));
    let mut refused = 0;
    for index in 0..400 {
        let plain = bench.try_write(2000 + 64 * index, pattern(64 * BLOCK, 3));
        let object = bench.try_put(100 + 80 * index, metadata(&format!("1:1:{index}"), 200_000), &pattern(200_000, 3));
        for error in [plain, object].into_iter().filter_map(Result::err) {
            refused += 1;
            let expected = error.status.is(Status::CAPACITY_EXCEEDED) || error.status.is(Status::WRITE_FAULT);
            assert!(expected || error.status.is(Status::INTERNAL_ERROR), "{error}");
        }
        if refused > 6 {
            break;
        }
    }
    assert!(refused > 0, "there was room for everything");
    assert_eq!(bench.read(0, 74), padded(&pattern(300_000, 1)));
    assert_eq!(bench.read(1000, 64), pattern(64 * BLOCK, 2));
    disk.clear_faults();
    drop(bench);
    let bench = Bench::on(&disk, &runtime).expect("a namespace");
    assert_eq!((bench.read(0, 74), bench.read(1000, 64)), (padded(&pattern(300_000, 1)), pattern(64 * BLOCK, 2)));
}

/// The device fails while the volume goes on: a deletion that is not done is not answered as if it were, however often it
/// is asked for, and is done when the namespace is opened again.
#[test]
fn a_deletion_that_the_device_did_not_do_is_not_forgotten() {
    let (disk, other, runtime) = (SimulatedDisk::new(), SimulatedDisk::new(), runtime());
    let on = |disk: &SimulatedDisk, other: &SimulatedDisk| {
        let (store, volume) = (StoreFiles::on_simulated_disk(disk), VolumeFiles::on_simulated_disk(other));
        Bench::open(store, volume, BlockSpaceConfig::new(LOG2), Arc::clone(&runtime)).expect("a namespace")
    };
    let bench = on(&disk, &other);
    bench.put(0, checked("1:0:1", &pattern(10_000, 1)), &pattern(10_000, 1));
    bench.put(10, checked("1:0:2", &pattern(10_000, 2)), &pattern(10_000, 2));
    disk.inject(Fault::PowerLossAt(disk.operations()));
    for _ in 0..3 {
        bench.deallocate(HALF..HALF + 1).expect_err("not deleted");
        bench.zero(HALF, 20).expect_err("not deleted");
        bench.try_write(HALF + 10, pattern(BLOCK, 1)).expect_err("not deleted");
        bench.try_declare(0, metadata("1:0:3", 1)).expect_err("not deleted");
    }
    drop(bench);
    let bench = on(&disk.crash(1), &other);
    assert_eq!((bench.stored("1:0:1"), bench.stored("1:0:2")), (None, None));
    assert_eq!(bench.space.metrics().bound, 0);
    assert!(bench.volume.labels(1).is_empty(), "{:?}", bench.volume.labels(1));
}

/// An object that the device has is in its place when the namespace is opened again, though the volume failed before it knew
/// the place. It was acknowledged where only labels were missing: the first version and another one; not so one whose
/// blocks were stored as blocks before, nor one that moved.
#[test]
fn what_the_device_took_is_in_its_place_though_the_volume_never_knew() {
    let (disk, runtime) = (SimulatedDisk::new(), runtime());
    let on = |other: &SimulatedDisk| {
        let (store, volume) = (StoreFiles::on_simulated_disk(&disk), VolumeFiles::on_simulated_disk(other));
        Bench::open(store, volume, BlockSpaceConfig::new(LOG2), Arc::clone(&runtime)).expect("a namespace")
    };
    let mut other = SimulatedDisk::new();
    let mut expected = Vec::new();
    let steps = [(0, "1:0:1", 2, 0), (0, "1:0:1", 1, 0), (40, "1:0:1", 1, 0), (40, "1:0:1", 3, 2), (80, "1:0:2", 3, 1)];
    for (step, (first, object, blocks, staged)) in steps.into_iter().enumerate() {
        let content = pattern(blocks * BLOCK, step as u64);
        let moved = expected.iter().any(|(other, known, _)| *known == object && *other != first);
        let bench = on(&other);
        bench.declare(first, metadata(object, content.len()));
        if staged > 0 {
            bench.write(first, content[..staged * BLOCK].to_vec());
        }
        other.inject(Fault::PowerLossAt(other.operations()));
        let outcome = bench.try_write(first + staged as u64, content[staged * BLOCK..].to_vec());
        assert_eq!(outcome.is_ok(), staged == 0 && !moved, "step {step}");
        assert_eq!(bench.stored(object), Some(content.clone()), "step {step}");
        if outcome.is_ok() {
            assert_eq!(bench.read(first, blocks as u32), content, "step {step}");
        }
        drop(bench);
        other = other.crash(step as u64);
        expected.retain(|(_, known, _)| *known != object);
        expected.push((first, object, content));
        for _ in 0..2 {
            let bench = on(&other);
            for (first, object, content) in &expected {
                let entry = bench.space.directory(register(object), 1).entries[0];
                assert_eq!((entry.lba, entry.declared), (Some(*first), false), "step {step}");
                assert_eq!(&bench.read(*first, (content.len() / BLOCK) as u32), content, "step {step}");
            }
            assert_eq!(bench.space.metrics().bound, expected.len() as u64);
            assert_eq!(bench.volume.labels(1).len(), expected.len(), "step {step}");
            assert_eq!(bench.volume.space_usage(1).mapped, 0, "step {step}");
        }
    }
    // A write behind the answer is above the object, and both exist.
    let bench = on(&other);
    bench.declare(0, metadata("1:0:3", 2 * BLOCK));
    bench.write(0, pattern(2 * BLOCK, 9));
    bench.write(1, pattern(BLOCK, 10));
    drop(bench);
    let bench = on(&other);
    assert_eq!(bench.read(0, 2), [pattern(2 * BLOCK, 9)[..BLOCK].to_vec(), pattern(BLOCK, 10)].concat());
    assert_eq!(bench.stored("1:0:3"), Some(pattern(2 * BLOCK, 9)));
}

/// The deletion concerns one version: another that took its register by other means meanwhile stays.
#[test]
fn a_deletion_that_was_cut_off_spares_a_later_version() {
    let (disk, other, runtime) = (SimulatedDisk::new(), SimulatedDisk::new(), runtime());
    let on = |disk: &SimulatedDisk, other: &SimulatedDisk| {
        let (store, volume) = (StoreFiles::on_simulated_disk(disk), VolumeFiles::on_simulated_disk(other));
        Bench::open(store, volume, BlockSpaceConfig::new(LOG2), Arc::clone(&runtime)).expect("a namespace")
    };
    let bench = on(&disk, &other);
    bench.put(0, metadata("1:0:1", 5000), &pattern(5000, 1));
    disk.inject(Fault::PowerLossAt(disk.operations()));
    bench.deallocate(HALF..HALF + 1).expect_err("not deleted");
    drop(bench);
    let disk = disk.crash(1);
    // The same device next to an empty volume.
    for newer in [false, true] {
        let offline = on(&disk, &SimulatedDisk::new());
        match newer {
            false => offline.registers().delete(register("1:0:1")).expect("deleted"),
            true => {
                let written = offline.registers().write_bytes(register("1:0:1"), &pattern(5000, 2), Default::default());
                written.map(drop).expect("stored");
            }
        }
    }
    let bench = on(&disk, &other);
    assert_eq!(bench.stored("1:0:1"), Some(pattern(5000, 2)));
    assert!(bench.volume.labels(1).is_empty());
}

/// A label that marks an object for deletion does not outlive the answer.
#[test]
fn an_answered_deletion_leaves_no_label() {
    let bench = Bench::new();
    for object in 0..20 {
        bench.put(10 * object, metadata(&format!("1:0:{object}"), 5000), &pattern(5000, object));
    }
    bench.deallocate(HALF..HALF + 191).expect("deleted");
    assert!(bench.volume.labels(1).is_empty());
    assert_eq!(bench.registers().list().len(), 0);
}

/// Each operation on the disk fails once, in turn: the command says so or succeeds, and afterwards every object is whole.
#[test]
fn any_single_failure_of_the_disk_leaves_old_or_new() {
    let runtime = runtime();
    let (old, new) = (pattern(20 * BLOCK, 1), pattern(20 * BLOCK, 2));
    let mut failed = 0;
    for step in 0.. {
        let disk = SimulatedDisk::new();
        let bench = Bench::on(&disk, &runtime).expect("a namespace");
        bench.put(0, metadata("1:0:1", old.len()), &old);
        let from = disk.operations();
        disk.inject(Fault::FailAt(from + step));
        let first = bench.try_declare(0, checked("1:0:1", &new));
        let rest = first.is_ok().then(|| {
            let head = bench.try_write(0, new[..BLOCK].to_vec());
            head.and_then(|()| bench.try_write(1, new[BLOCK..].to_vec()))
        });
        let done = matches!(rest, Some(Ok(())));
        failed += u64::from(!done);
        let ended = disk.operations() <= from + step;
        disk.clear_faults();
        let now = bench.stored("1:0:1").expect("an object");
        drop(bench);
        let bench = Bench::on(&disk, &runtime).unwrap_or_else(|error| panic!("step {step}: {error:?}"));
        let stored = bench.stored("1:0:1").expect("an object");
        assert!(stored == new || (stored == old && !done), "step {step}");
        assert!(now == new || now == old);
        if ended {
            assert!(done);
            break;
        }
    }
    assert!(failed >= 3, "{failed}");
}

#[test]
fn a_damaged_block_and_a_damaged_object_are_read_errors() {
    let (disk, runtime) = (SimulatedDisk::new(), runtime());
    let bench = Bench::on(&disk, &runtime).expect("a namespace");
    bench.put(0, metadata("1:0:1", 300_000), &[0xee; 300_000]);
    bench.write(500, vec![0xdd; BLOCK]);
    for (name, byte) in [("data", 0xee), ("blocks", 0xdd)] {
        let file = disk.file(name);
        let mut image = vec![0; file.len().expect("len") as usize];
        file.read_at(0, &mut image).expect("read");
        let at = image.windows(BLOCK).position(|window| window.iter().all(|other| *other == byte)).expect("there");
        file.flip_bit(8 * (at as u64 + 100));
    }
    for (lba, word) in [(0, "object 1:0:1"), (500, "block 500")] {
        let error = bench.try_read(lba, 1).expect_err("damaged");
        assert!(error.status.is(Status::UNRECOVERED_READ_ERROR) && error.detail.contains(word), "{error}");
        assert_eq!(error.lba, Some(lba));
    }
    bench.write(500, pattern(BLOCK, 1));
    assert_eq!(bench.read(500, 1), pattern(BLOCK, 1));
}

/// The metadata half moves with the size; no existing object may vanish by it.
#[test]
fn another_size_neither_loses_nor_hides() {
    let (store, volume) = (StoreFiles::in_memory(), VolumeFiles::in_memory());
    let runtime = runtime();
    let open = |log2| Bench::open(store.clone(), volume.clone(), BlockSpaceConfig::new(log2), Arc::clone(&runtime));
    let bench = open(LOG2).expect("a namespace");
    bench.put(3, metadata("1:0:1", 1), &[1]);
    drop(bench);
    // The object has its place in either; its metadata block is in the half of the size.
    for log2 in [LOG2 - 1, LOG2 + 1, LOG2] {
        let bench = open(log2).expect("another size");
        assert_eq!(bench.read(3, 1)[0], 1);
        // All but the checksum, which the device knows.
        assert_eq!(bench.read((1 << (log2 - 1)) + 3, 1)[..32], metadata("1:0:1", 1).encode()[..32]);
    }
    // A block that no object has, in the upper half.
    let bench = open(LOG2).expect("a namespace");
    bench.write(HALF + 9, pattern(BLOCK, 1));
    drop(bench);
    match open(LOG2 - 1) {
        Err(OpenError::Space(error @ BlockSpaceError::Size { lba, .. })) => {
            assert_eq!(lba, HALF + 9);
            assert!(error.to_string().contains("give it that again"), "{error}");
        }
        other => panic!("{:?}", other.map(drop)),
    }
    // An object that awaits blocks is declared in the half of its size.
    let bench = open(LOG2).expect("a namespace");
    bench.write(HALF + 20, metadata("1:0:2", 2 * BLOCK).encode().to_vec());
    drop(bench);
    assert!(matches!(open(LOG2 + 1), Err(OpenError::Space(BlockSpaceError::Size { .. }))));
    assert_eq!(open(LOG2).expect("as before").read(HALF + 9, 1), pattern(BLOCK, 1));
}

#[test]
fn a_volume_of_another_device_is_refused() {
    let (store, volume) = (StoreFiles::in_memory(), VolumeFiles::in_memory());
    let runtime = runtime();
    let config = || BlockSpaceConfig::new(LOG2);
    let bench = Bench::open(store.clone(), volume.clone(), config(), Arc::clone(&runtime)).expect("a namespace");
    bench.put(HALF - 1, metadata("1:0:1", 1), &[1]);
    drop(bench);
    // Another size would put the halves elsewhere.
    let smaller = Bench::open(store.clone(), volume.clone(), BlockSpaceConfig::new(LOG2 - 1), Arc::clone(&runtime));
    assert!(matches!(smaller, Err(OpenError::Space(BlockSpaceError::Size { lba, .. })) if lba == HALF - 1));
    assert!(Bench::open(store, volume, config(), Arc::clone(&runtime)).is_ok());
    for config in [BlockSpaceConfig::new(1), BlockSpaceConfig::new(53), BlockSpaceConfig { device_jobs: 0, ..config() }]
    {
        let refused = Bench::open(StoreFiles::in_memory(), VolumeFiles::in_memory(), config, Arc::clone(&runtime));
        assert!(matches!(refused, Err(OpenError::Space(_))));
    }
}
