//! Owners of objects: who has them, which copies keep them, and the reach of programs.

use crate::support::code::add;
use crate::support::*;
use ciphermill_device::{
    DeviceConfig, DeviceError, ObjectFlags, ReadMode, ReadOptions, RunError, Space, SpaceId, StoreFiles, WriteOptions,
    storage::MemoryStorage,
    store::{ObjectKey, Owner, Salvage, SalvageState, Store, StoreCopy},
};
use ciphermill_program::{Instruction, VrId};
use std::sync::Arc;

fn owner(name: &str) -> Option<Owner> {
    Owner::new(name.as_bytes())
}

fn put_for(space: &Space, id: VrId, bytes: &[u8], name: &str) {
    let options = WriteOptions { owner: owner(name), ..WriteOptions::default() };
    space.write_bytes(id, bytes, options).expect("stored");
}

/// The names of the owners of the objects of a store, by Data ID.
fn owners(store: &Store) -> Vec<(u32, Option<Owner>)> {
    let objects = store.list(SpaceId::EMBEDDED);
    objects.iter().map(|object| (object.key().id.data_id.0, object.owner().cloned())).collect()
}

#[test]
fn the_first_owner_keeps_an_object_until_it_is_deleted() {
    let files = StoreFiles::in_memory();
    let (device, space) = open(DeviceConfig::in_files(files.clone()));
    // A small object, a large one, and one without an owner at first.
    for (data, words) in [(1, 3), (2, 300_000), (3, 3)] {
        put_for(&space, vr(1, 0, data), &value(1, words), if data == 3 { "" } else { "alice" });
    }
    for (data, expected) in [(1, "alice"), (2, "alice"), (3, "bob")] {
        put_for(&space, vr(1, 0, data), &value(2, 5), "bob");
        assert_eq!(space.stat(vr(1, 0, data)).expect("stored").owner, owner(expected), "{data}");
    }
    space.set_flags(vr(1, 0, 2), ObjectFlags::ARMED).expect("flags");
    put(&space, vr(1, 0, 1), &value(3, 4));
    drop((device, space));
    let (_device, space) = open(DeviceConfig::in_files(files));
    let names: Vec<_> = space.list().into_iter().map(|stat| stat.owner).collect();
    assert_eq!(names, [owner("alice"), owner("alice"), owner("bob")], "after a restart");
    space.delete(vr(1, 0, 1)).expect("deleted");
    put_for(&space, vr(1, 0, 1), &value(4, 4), "bob");
    assert_eq!(space.stat(vr(1, 0, 1)).expect("stored").owner, owner("bob"));
}

#[test]
fn copies_and_repaired_stores_keep_the_owners() {
    let files = StoreFiles::in_memory();
    let (device, space) = open(DeviceConfig::in_files(files.clone()));
    put_for(&space, vr(1, 0, 1), &value(1, 300), &"a".repeat(Owner::MAX_BYTES));
    put_for(&space, vr(1, 0, 2), &value(2, 30_000), "bob");
    put(&space, vr(1, 0, 3), &value(3, 30));
    let expected = [(1, owner(&"a".repeat(Owner::MAX_BYTES))), (2, owner("bob")), (3, None)];
    let copy = |device: &ciphermill_device::Device, target: Store| {
        let (snapshot, ()) = device.snapshot(1 << 30, || ()).expect("a snapshot");
        let mut copy = StoreCopy::new(target).expect("a copy");
        while snapshot.copy_next(&mut copy).expect("copied").is_some() {}
        snapshot.finish(copy).expect("a store")
    };
    let target = copy(&device, Store::open(StoreFiles::in_memory()).expect("a store"));
    assert_eq!(owners(&target), expected);
    // In a copy that exists, the object has the owner of the original, not of the object that it replaces.
    space.delete(vr(1, 0, 2)).expect("deleted");
    put_for(&space, vr(1, 0, 2), &value(2, 30_000), "carol");
    let target = copy(&device, target);
    assert_eq!(owners(&target)[1], (2, owner("carol")));
    drop((device, space, target));

    let log = Salvage::scan(files.clone(), &mut |_, _| ()).expect("a report");
    let whole = log.write(Store::open(StoreFiles::in_memory()).expect("a store")).expect("written");
    assert_eq!(owners(&whole), [expected[0].clone(), (2, owner("carol")), (3, None)]);
    let recovered = log.versions().iter().filter(|version| version.state == SalvageState::Recovered);
    let recovered: Vec<_> = recovered.map(|version| (version.object.id.data_id.0, version.owner())).collect();
    assert_eq!(recovered, owners(&whole));
    // Without the table, the log has the owner of the object in the data file.
    let lost = StoreFiles { objects: Arc::new(MemoryStorage::new()), ..files.clone() };
    let repaired = Salvage::scan(lost, &mut |_, _| ()).expect("a report");
    let repaired = repaired.write(Store::open(StoreFiles::in_memory()).expect("a store")).expect("written");
    assert_eq!(owners(&repaired), [(2, owner("carol"))]);
    // Without the log, the records in the bytes of the damaged table have them all.
    let mut table = vec![0; files.objects.len().expect("a length") as usize];
    files.objects.read_at(0, &mut table).expect("bytes");
    table[..64].fill(0xff);
    let lost = StoreFiles {
        objects: Arc::new(MemoryStorage::from_bytes(table)),
        log: Arc::new(MemoryStorage::new()),
        ..files
    };
    let repaired = Salvage::scan(lost, &mut |_, _| ()).expect("a report");
    let repaired = repaired.write(Store::open(StoreFiles::in_memory()).expect("a store")).expect("written");
    assert_eq!(owners(&repaired), owners(&whole));
}

#[test]
fn equal_copies_of_other_owners_have_other_summaries() {
    let summary = |name: &str| {
        let store = Store::open(StoreFiles::in_memory()).expect("a store");
        let mut writer = store.write(ObjectKey { space: SpaceId::EMBEDDED, id: vr(1, 0, 1) }, 3).expect("room");
        writer.push(b"abc").expect("bytes");
        writer.belongs_to(owner(name));
        writer.commit(ObjectFlags::NONE).expect("durable");
        store.summary().checksum
    };
    assert!(summary("alice") == summary("alice") && summary("alice") != summary("bob"));
}

/// Space 0 with the object 9 of alice, the object 8 and a program of bob, and a key of nobody.
fn shared(code: Vec<Instruction>) -> (ciphermill_device::Device, Space) {
    let (device, space) = open(DeviceConfig::in_memory());
    put(&space, vr(2, 0, 1), &toy_key(1, 3, 0));
    put(&space, vr(2, 0, 2), &toy_key(2, 3, 0));
    put_for(&space, vr(4, 0, 9), &value(9, 3), "alice");
    put_for(&space, vr(4, 0, 8), &value(8, 3), "bob");
    put_for(&space, vr(0, 0, 0), &program(code), "bob");
    (device, space)
}

fn for_bob() -> WriteOptions {
    WriteOptions { owner: owner("bob"), reach: owner("bob"), ..WriteOptions::default() }
}

/// The register that a refused run was about to read.
fn out_of_reach<T: std::fmt::Debug>(outcome: Result<T, DeviceError>) -> (usize, VrId) {
    match outcome {
        Err(DeviceError::ProgramFailed { cause, .. }) => match *cause {
            RunError::OutOfReach { index, register } => (index, register),
            cause => panic!("{cause}"),
        },
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_program_reads_no_object_beyond_the_reach_of_its_caller() {
    let (mine, other, own, temporary) = (vr(4, 0, 3), vr(4, 0, 9), vr(4, 0, 8), vr(4, 0, 7));
    let (mov, ret) = (Instruction::mov, Instruction::ret);
    let attempts = [
        (vec![mov(mine, other), ret(mine)], 0),
        (vec![mov(temporary, own), mov(temporary, other), mov(mine, temporary), ret(mine)], 1),
        (vec![Instruction::push(other), Instruction::pop(mine), ret(mine)], 0),
        (vec![add(mine, own), add(mine, other), ret(mine)], 1),
        (vec![add(mine, own), add(other, mine), ret(mine)], 1),
    ];
    for (code, index) in attempts {
        let (device, space) = shared(code);
        assert_eq!(out_of_reach(space.write_bytes(mine, &value(1, 3), for_bob())), (index, other));
        assert!(space.stat(mine).is_err(), "nothing is stored");
        assert_eq!(device.metrics().programs_failed, 1);
        // The same program for a caller with all rights.
        space.write_bytes(mine, &value(1, 3), WriteOptions::default()).expect("computed");
    }
}

#[test]
fn keys_own_objects_and_own_temporaries_are_within_reach() {
    let (mine, other, own) = (vr(4, 0, 3), vr(4, 0, 9), vr(4, 0, 8));
    let code = vec![
        // Written before it is read: the run's own, whatever the store holds there.
        Instruction::mov(other, own),
        add(mine, other),
        add(mine, own),
        Instruction::ret(mine),
    ];
    let (_device, space) = shared(code);
    assert!(space.write_bytes(mine, &bytes(&[1, 1, 1]), for_bob()).expect("computed").computed);
    let expected: Vec<u64> = to_words(&value(8, 3)).iter().map(|word| word.wrapping_mul(2).wrapping_add(1)).collect();
    assert_eq!(space.read_bytes(mine, ReadMode::Stored).expect("stored"), bytes(&expected));
    assert_eq!(space.read_bytes(other, ReadMode::Stored).expect("stored"), value(9, 3), "hers is as it was");
}

#[test]
fn a_computed_read_has_the_reach_of_its_caller() {
    let (x, other) = (vr(3, 0, 1), vr(3, 0, 9));
    let (_device, space) = shared(vec![add(x, other), Instruction::ret(x)]);
    put_for(&space, other, &value(9, 3), "alice");
    let flags = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
    space.write_bytes(x, &value(1, 3), WriteOptions { flags, ..for_bob() }).expect("stored");
    for mode in [ReadMode::Armed, ReadMode::Compute] {
        let read = space.read_with(x, ReadOptions { reach: owner("bob"), ..ReadOptions::new(mode) });
        assert_eq!(out_of_reach(read), (0, other), "{mode:?}");
        // The object that is read must be the caller's too.
        let read = space.read_with(x, ReadOptions { reach: owner("alice"), ..ReadOptions::new(mode) });
        assert_eq!(out_of_reach(read), (0, x), "{mode:?}");
    }
    assert_eq!(space.stat(x).expect("stored").flags, flags, "a refused read disarms nothing");
    space.read_with(x, ReadOptions::new(ReadMode::Armed)).expect("computed");
    assert_eq!(space.stat(x).expect("stored").flags, ObjectFlags::ONE_SHOT);
}

#[test]
fn a_caller_that_may_not_change_an_object_does_not_disarm_it() {
    let x = vr(3, 0, 1);
    let (device, space) = shared(vec![add(x, x), Instruction::ret(x)]);
    let flags = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
    space.write_bytes(x, &value(1, 3), WriteOptions { flags, ..for_bob() }).expect("stored");
    let read = |mode| space.read_with(x, ReadOptions { keep_armed: true, ..ReadOptions::new(mode) });
    assert!(matches!(read(ReadMode::Armed), Err(DeviceError::WouldDisarm { id }) if id == x));
    assert_eq!(device.metrics().programs_run, 0);
    assert!(read(ReadMode::Compute).expect("by request").computed());
    assert!(!read(ReadMode::Stored).expect("as it is").computed());
    assert_eq!(space.stat(x).expect("stored").flags, flags);
    space.set_flags(x, ObjectFlags::ARMED).expect("armed for good");
    assert!(read(ReadMode::Armed).expect("nothing to disarm").computed());
}
