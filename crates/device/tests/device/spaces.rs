//! Spaces, quotas, and what outlives the process.

use crate::support::code::add;
use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ReadMode, SpaceId, SpaceLimits, StoreError, WriteOptions,
};
use ciphermill_program::Instruction;
use std::{fs, sync::Arc};

#[test]
fn everything_acknowledged_is_there_after_reopening() {
    let directory = tempfile::tempdir().expect("directory");
    let config = || DeviceConfig::in_directory(directory.path());
    let y = vr(4, 0, 1);
    let stats = {
        let (device, space) = open(config());
        put(&space, vr(2, 0, 1), &toy_key(1, 2, 5 << 20));
        put(&space, vr(0, 0, 0), &program(vec![add(y, y), Instruction::ret(y)]));
        put(&space, y, &bytes(&[1, 2]));
        put(&space, vr(3, 0, 1), &bytes(&[3, 4]));
        put(&space, vr(3, 0, 2), &bytes(&[5, 6]));
        space.set_flags(vr(3, 0, 1), ObjectFlags::ARMED).expect("arm");
        space.delete(vr(3, 0, 2)).expect("delete");
        let other = device.create_space(SpaceId(5), SpaceLimits { bytes: 100, objects: 3 }).expect("space");
        put(&other, y, &bytes(&[8]));
        let again = Device::open(config(), vec![]);
        let error = again.map(drop).expect_err("open twice");
        assert!(matches!(error, DeviceError::Store(StoreError::AlreadyOpen { .. })), "{error}");
        space.list()
    };
    let (device, space) = open(config());
    let comparable = |stats: Vec<ciphermill_device::ObjectStat>| {
        stats.into_iter().map(|stat| (stat.id, stat.size, stat.flags)).collect::<Vec<_>>()
    };
    assert_eq!(comparable(space.list()), comparable(stats));
    assert_eq!(to_words(&space.read_bytes(y, ReadMode::Stored).expect("result")), [2, 4]);
    assert_eq!(space.read_bytes(vr(2, 0, 1), ReadMode::Stored).expect("key"), toy_key(1, 2, 5 << 20));
    assert!(put(&space, y, &bytes(&[10, 20])), "the program is there too");
    let short = space.write_bytes(y, &bytes(&[1]), WriteOptions::default());
    assert!(short.is_err(), "and so is the parameter set of the key");
    assert_eq!(device.spaces(), [SpaceId(0), SpaceId(5)]);
    let other = device.space(SpaceId(5)).expect("space 5");
    let limits = SpaceLimits { bytes: 100, objects: 3 };
    assert_eq!(other.usage(), (limits, SpaceLimits { bytes: 8, objects: 1 }));
    assert!(matches!(device.space(SpaceId(6)), Err(DeviceError::Store(StoreError::NoSuchSpace { .. }))));
}

#[test]
fn spaces_do_not_see_each_other_and_keep_their_quotas() {
    let (device, zero) = open(DeviceConfig::in_memory());
    let one = device.create_space(SpaceId(1), SpaceLimits { bytes: 100, objects: 3 }).expect("space");
    let y = vr(4, 0, 1);
    put(&zero, vr(0, 0, 0), &program(vec![add(y, y), Instruction::ret(y)]));
    assert!(put(&zero, y, &bytes(&[4])));
    assert!(!put(&one, y, &bytes(&[4])), "the program belongs to space 0");
    put(&one, vr(3, 0, 1), &[0; 64]);
    let write = |id, len: usize| one.write_bytes(id, &vec![0; len], WriteOptions::default());
    let quota = write(vr(3, 0, 2), 32).expect_err("bytes");
    let DeviceError::Store(StoreError::Quota { needed: 32, free: 28, limit: 100, .. }) = quota else {
        panic!("{quota}")
    };
    write(vr(3, 0, 1), 88).expect("replacing counts what it frees");
    one.delete(vr(3, 0, 1)).expect("delete");
    write(vr(3, 0, 2), 8).expect("room again");
    write(vr(3, 0, 3), 8).expect("third");
    let quota = write(vr(3, 0, 4), 8).expect_err("objects");
    assert!(matches!(quota, DeviceError::Store(StoreError::Quota { resource: "objects", free: 0, .. })), "{quota}");
    assert_eq!(one.usage().1, SpaceLimits { bytes: 24, objects: 3 });
    device.create_space(SpaceId(1), SpaceLimits { bytes: 10, objects: 1 }).expect("lower");
    write(vr(3, 0, 3), 8).expect("no growth");
    assert!(write(vr(3, 0, 3), 16).is_err());
    one.delete(vr(3, 0, 3)).expect("shrinking stays possible");
    assert_eq!(zero.list().len(), 2);
}

#[test]
fn foreign_files_and_other_versions_are_refused_untouched() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("data");
    let open = || Device::open(DeviceConfig::in_directory(directory.path()), vec![Arc::new(Toy::default())]);
    fs::write(&path, b"somebody's precious notes").expect("write");
    let error = open().map(drop).expect_err("foreign");
    assert!(matches!(error, DeviceError::Store(StoreError::Corrupt { .. } | StoreError::NotAStore)), "{error}");
    assert_eq!(fs::read(&path).expect("read"), b"somebody's precious notes");
    fs::remove_file(&path).expect("remove");
    drop(open().expect("new store"));
    let mut data = fs::read(&path).expect("read");
    data[8] = 3;
    fs::write(&path, &data).expect("write");
    let error = open().map(drop).expect_err("version");
    assert!(matches!(error, DeviceError::Store(StoreError::Version { given: 3, supported: 2 })), "{error}");
    assert_eq!(fs::read(&path).expect("read"), data);
}
