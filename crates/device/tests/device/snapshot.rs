//! Snapshots and copies: one moment, within a budget, and nothing written twice.

use crate::support::*;
use ciphermill_device::{
    ObjectFlags, SpaceId, StoreError, StoreFiles,
    store::{Copied, ObjectKey, Snapshot, SpaceLimits, Store, StoreCopy},
};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SpaceId(3), id: vr(1, 0, data) }
}

fn write(store: &Store, data: u32, bytes: &[u8]) {
    let mut writer = store.write(key(data), bytes.len() as u64).expect("room");
    writer.push(bytes).expect("its bytes");
    writer.commit(ObjectFlags::NONE).expect("durable");
}

fn store() -> Store {
    let store = Store::open(StoreFiles::in_memory()).expect("a new store");
    store.set_space(SpaceId(3), SpaceLimits { bytes: 1 << 30, objects: 500 }).expect("a space");
    store
}

fn copy_all(snapshot: &Snapshot, target: Store) -> Result<(Store, [u64; 2]), StoreError> {
    let mut copy = StoreCopy::new(target)?;
    copy.retain(&snapshot.remaining()?.into_iter().collect())?;
    let mut bytes = [0; 2];
    while let Some(copied) = snapshot.copy_next(&mut copy)? {
        match copied {
            Copied::Written(count) => bytes[0] += count,
            Copied::Reused(count) => bytes[1] += count,
        }
    }
    Ok((snapshot.finish(copy)?, bytes))
}

/// All objects with everything that a copy keeps.
fn listing(store: &Store) -> Vec<(ObjectKey, u64, u64, u32, ObjectFlags, Vec<u8>)> {
    let objects = store.spaces().into_iter().flat_map(|space| store.list(space));
    let line = |object: std::sync::Arc<ciphermill_device::store::StoredObject>| {
        let bytes = store.read(object.clone()).pull_all().expect("whole");
        (object.key(), object.generation(), object.origin(), object.checksum(), object.flags(), bytes)
    };
    objects.map(line).collect()
}

#[test]
fn a_copy_has_the_objects_of_one_moment_while_writers_go_on() {
    let store = store();
    // Every writer writes its number to all its objects in turn; at one moment they differ by at most one.
    const OBJECTS: u32 = 6;
    for data in 0..2 * OBJECTS {
        write(&store, data, &value(1, if data < OBJECTS { 20 } else { 3000 }));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 2.. {
                for data in 0..2 * OBJECTS {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut words = to_words(&value(n, if data < OBJECTS { 20 } else { 3000 }));
                    words[0] = n;
                    write(&store, data, &bytes(&words));
                }
            }
        });
        for _ in 0..20 {
            let (snapshot, usage) = store.snapshot(1 << 30, || store.usage().object_bytes).expect("a snapshot");
            assert_eq!(snapshot.bytes(), usage);
            let (copied, written) =
                copy_all(&snapshot, Store::open(StoreFiles::in_memory()).expect("new")).expect("copied");
            assert_eq!(written, [usage, 0]);
            let numbers: Vec<u64> = (0..2 * OBJECTS)
                .map(|data| {
                    to_words(&copied.read(copied.get(key(data)).expect("copied")).pull_all().expect("whole"))[0]
                })
                .collect();
            let first = numbers[0];
            let turn = numbers.iter().position(|n| *n != first).unwrap_or(numbers.len());
            assert!(
                first == value_head() || numbers[turn..].iter().all(|n| *n + 1 == first || *n == value_head()),
                "{numbers:?}"
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The first word of the first content.
fn value_head() -> u64 {
    to_words(&value(1, 20))[0]
}

#[test]
fn what_the_target_has_is_not_written_again() {
    let store = store();
    (0..30).for_each(|data| write(&store, data, &value(u64::from(data), 1 + u64::from(data) * 300)));
    let files = StoreFiles::in_memory();
    let take = || store.snapshot(1 << 30, || ()).expect("a snapshot").0;
    let (target, [written, reused]) = copy_all(&take(), Store::open(files.clone()).expect("new")).expect("copied");
    assert_eq!((written, reused), (store.usage().object_bytes, 0));
    assert_eq!(listing(&target), listing(&store));
    assert_eq!(target.space(SpaceId(3)), store.space(SpaceId(3)));
    drop(target);
    write(&store, 4, &value(99, 77));
    store.set_flags(key(5), ObjectFlags::ARMED).expect("stored");
    store.delete(key(6)).expect("stored");
    let (target, [written, reused]) = copy_all(&take(), Store::open(files).expect("opens")).expect("copied");
    assert_eq!((written, reused), (77 * 8, store.usage().object_bytes - 77 * 8));
    assert_eq!(listing(&target), listing(&store));
    let next = |store: &Store| {
        write(store, 100, &[1]);
        store.get(key(100)).expect("stored").generation()
    };
    let generation = next(&target);
    assert!(!listing(&store).iter().any(|line| line.1 == generation), "a generation of the original");
}

/// The database keeps every page that was freed since the snapshot was taken, whatever object it held.
#[test]
fn a_snapshot_ends_when_the_table_grows_beyond_its_budget() {
    let store = store();
    write(&store, 0, &value(0, 100));
    let budget = 4 << 20;
    let (snapshot, ()) = store.snapshot(budget, || ()).expect("a snapshot");
    let before = store.usage().table_bytes;
    let hot = |rounds: u64| (0..rounds).for_each(|round| write(&store, 1, &value(round, 1900)));
    // Each round frees 16 KiB or more: sixteen times the budget.
    hot(4000);
    let error = snapshot.remaining().expect_err("the table has grown");
    assert!(matches!(error, StoreError::SnapshotOver { limit } if limit == budget), "{error}");
    // Each step at most doubles the table. The first one does not count, and the last one may pass the budget.
    let after = store.usage().table_bytes;
    assert!(after <= 2 * (2 * before + budget), "{before} before, {after} after");
    // Its pages are free although the snapshot still exists.
    hot(1000);
    assert_eq!(store.usage().table_bytes, after);
}

#[test]
fn a_snapshot_that_costs_more_than_its_budget_ends() {
    let store = store();
    (0..10).for_each(|data| write(&store, data, &value(u64::from(data), 5000)));
    (10..40).for_each(|data| write(&store, data, &value(u64::from(data), 500)));
    let (snapshot, ()) = store.snapshot(100_000, || ()).expect("a snapshot");
    let before = store.usage();
    write(&store, 0, &value(1, 5000));
    write(&store, 10, &value(1, 500));
    assert_eq!(snapshot.remaining().expect("within the budget").len(), 40);
    assert!(store.usage().data_bytes > before.data_bytes, "the replaced bytes stay");
    // Objects that the snapshot does not have, or has passed, cost nothing.
    (50..60).for_each(|data| write(&store, data, &value(1, 5000)));
    (50..60).for_each(|data| store.delete(key(data)).expect("stored"));
    assert!(snapshot.remaining().is_ok());
    (1..3).for_each(|data| write(&store, data, &value(2, 5000)));
    let error = snapshot.remaining().expect_err("three objects of 45,056 bytes");
    assert!(matches!(error, StoreError::SnapshotOver { limit: 100_000 }), "{error}");
    let mut copy = StoreCopy::new(Store::open(StoreFiles::in_memory()).expect("new")).expect("new");
    assert!(matches!(snapshot.copy_next(&mut copy), Err(StoreError::SnapshotOver { .. })));
    let free = store.usage().free_bytes;
    assert!(free >= 3 * 40_000, "the replaced extents are free: {free}");
    write(&store, 3, &value(7, 5000));
}

#[test]
fn objects_of_a_snapshot_are_those_of_its_names() {
    let store = store();
    (0..5).for_each(|data| write(&store, data, &value(3, 10)));
    let (snapshot, ()) = store.snapshot(1 << 20, || ()).expect("a snapshot");
    store.delete(key(2)).expect("stored");
    write(&store, 9, &[1]);
    assert_eq!(snapshot.objects(), 5);
    let names: BTreeSet<_> = snapshot.remaining().expect("names").into_iter().collect();
    assert_eq!(names, (0..5).map(key).collect());
}

/// Sealed objects of one size have one CRC-32C, so only the digest shows that a place holds another one's bytes.
#[test]
fn a_copy_refuses_the_bytes_of_another_object() {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SpaceId(3), SpaceLimits { bytes: 1 << 30, objects: 500 }).expect("a space");
    let [own, other] = [1, 2].map(|seed| {
        let mut bytes = value(seed, 2600);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    });
    write(&store, 1, &own);
    write(&store, 2, &other);
    let mut data = vec![0; files.data.len().expect("len") as usize];
    files.data.read_at(0, &mut data).expect("read");
    let place = data.windows(64).position(|window| *window == own[..64]).expect("its bytes");
    files.data.write_at(place as u64, &other).expect("room");
    let (snapshot, ()) = store.snapshot(1 << 30, || ()).expect("a snapshot");
    let mut copy = StoreCopy::new(Store::open(StoreFiles::in_memory()).expect("a new store")).expect("a copy");
    let first = snapshot.copy_next(&mut copy);
    assert!(matches!(first, Err(StoreError::OtherContent { object }) if object == key(1)), "{first:?}");
    assert_eq!(snapshot.copy_next(&mut copy).expect("the other one"), Some(Copied::Written(other.len() as u64)));
    let copied = snapshot.finish(copy).expect("a store");
    assert_eq!(listing(&copied), listing(&store)[1..]);
}
