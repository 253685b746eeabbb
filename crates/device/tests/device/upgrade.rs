//! Stores of format version 1 become stores of this version when they are opened, whatever interrupts that.

#[allow(dead_code)]
#[path = "../support/image.rs"]
mod image;

use crate::salvage::Images;
use ciphermill_device::{
    ObjectFlags, StoreFiles,
    storage::{Fault, SimulatedDisk, Storage},
    store::{EARLIER_STORE_VERSION, INLINE_BYTES, ObjectKey, STORE_VERSION, Salvage, SpaceLimits, Store},
};
use std::{fs, path::Path};

const FILES: [&str; 3] = ["data", "objects.redb", "swap"];

/// A disk with the store that the code of commit 2dbc0c0 wrote.
fn disk() -> SimulatedDisk {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store");
    let directory = tempfile::tempdir().expect("a directory");
    image::unpack(&fixture, &FILES, directory.path());
    let disk = SimulatedDisk::new();
    for name in FILES {
        let bytes = fs::read(directory.path().join(name)).expect("a file");
        let file = disk.file(name);
        file.write_at(0, &bytes).expect("room");
        file.sync().expect("durable");
    }
    disk
}

fn version(disk: &SimulatedDisk) -> u16 {
    let mut bytes = [0; 2];
    disk.file("data").read_at(8, &mut bytes).expect("a superblock");
    u16::from_le_bytes(bytes)
}

/// Every object with its bytes.
fn listing(store: &Store) -> Vec<String> {
    let objects = store.spaces().into_iter().flat_map(|space| store.list(space));
    let line = |object: std::sync::Arc<ciphermill_device::store::StoredObject>| {
        let bytes = store.read(object.clone()).pull_all().expect("whole");
        let (key, generation, origin) = (object.key(), object.generation(), object.origin());
        format!("{key} {generation} {origin} {:?} {} {:08x}", object.flags(), object.computed(), crc32c::crc32c(&bytes))
    };
    objects.map(line).collect()
}

#[test]
fn an_earlier_store_is_upgraded_once_and_keeps_everything() {
    let disk = disk();
    assert_eq!(version(&disk), EARLIER_STORE_VERSION);
    let store = Store::open(StoreFiles::on_simulated_disk(&disk)).expect("opens");
    let expected = listing(&store);
    assert!(expected.len() > 20, "{}", expected.len());
    drop(store);
    assert_eq!(version(&disk), STORE_VERSION);
    let (operations, log) = (disk.operations(), disk.file("log").len().expect("a log"));
    assert!(log > 1000, "the log has the records: {log}");
    let store = Store::open(StoreFiles::on_simulated_disk(&disk)).expect("opens again");
    assert_eq!(listing(&store), expected);
    assert!(store.scrub(&mut |_| ()).is_sound());
    drop(store);
    assert_eq!(disk.file("log").len().expect("a log"), log, "nothing is rewritten");
    assert!(disk.operations() - operations < 20, "the second opening has nothing to upgrade");
}

#[test]
fn an_upgrade_survives_a_power_cut_at_every_operation() {
    let whole = disk();
    let expected = listing(&Store::open(StoreFiles::on_simulated_disk(&whole)).expect("opens"));
    let operations = whole.operations();
    let mut interrupted = 0;
    for (seed, at) in (0..operations).enumerate() {
        let disk = disk();
        disk.inject(Fault::PowerLossAt(at));
        let failed = Store::open(StoreFiles::on_simulated_disk(&disk)).is_err();
        interrupted += u64::from(failed);
        let after = disk.crash(seed as u64);
        let store = Store::open(StoreFiles::on_simulated_disk(&after));
        let store = store.unwrap_or_else(|error| panic!("power lost at operation {at}: {error}"));
        assert_eq!(listing(&store), expected, "power lost at operation {at}");
        drop(store);
        assert_eq!(version(&after), STORE_VERSION);
    }
    assert!(interrupted > 10, "{interrupted} of {operations}");
}

fn write(store: &Store, key: ObjectKey, bytes: &[u8]) {
    let mut writer = store.write(key, bytes.len() as u64).expect("room");
    writer.push(bytes).expect("its bytes");
    writer.commit(ObjectFlags::NONE).expect("durable");
}

/// Objects of an earlier store have no digest, so their places must tell whose bytes they hold.
#[test]
fn a_place_that_another_object_took_is_no_older_version_of_an_earlier_object() {
    let disk = disk();
    let files = StoreFiles::on_simulated_disk(&disk);
    let store = Store::open(files.clone()).expect("opens");
    let mut objects = store.spaces().into_iter().flat_map(|space| store.list(space));
    let object = objects.find(|object| object.size() > INLINE_BYTES).expect("a large object");
    let key = object.key();
    assert_eq!(object.digest(), None);
    let old = store.read(object).pull_all().expect("whole");
    // Other objects of its kind and size: another body, and its checksum.
    let resealed = |mark: u8| {
        let mut bytes = old.clone();
        let end = bytes.len() - 4;
        bytes[40] ^= mark;
        let crc = crc32c::crc32c(&bytes[24..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(crc32c::crc32c(&bytes), crc32c::crc32c(&old));
        bytes
    };
    let [new, other] = [1, 2].map(resealed);
    write(&store, key, &new);
    let place = |bytes: &[u8]| {
        Images::of(&files).data.windows(64).position(|window| window == &bytes[..64]).expect("its bytes")
    };
    let (old_place, new_place) = (place(&old), place(&new));
    let foreign = ObjectKey { space: ciphermill_device::SpaceId(99), ..key };
    store.set_space(foreign.space, SpaceLimits::UNLIMITED).expect("a space");
    write(&store, foreign, &other);
    assert_eq!(place(&other), old_place, "the allocator uses the place again");
    drop(store);
    let mut images = Images::of(&files);
    images.data[new_place + 70] ^= 1;
    for (table, log, images) in images.without_table_or_log() {
        let salvage = Salvage::scan(images.files(), &mut |_, _| ()).expect("a scan");
        for version in salvage.versions().iter().filter(|version| version.object == key) {
            let mut out = Vec::new();
            let read = salvage.read(version, &mut out);
            assert!(read.is_err() || out != other, "{table} {log}: {version:?}");
        }
    }
}
