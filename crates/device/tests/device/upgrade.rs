//! Stores of format version 1 become stores of this version when they are opened, whatever interrupts that.

#[allow(dead_code)]
#[path = "../support/image.rs"]
mod image;

use ciphermill_device::{
    StoreFiles,
    storage::{Fault, SimulatedDisk, Storage},
    store::{EARLIER_STORE_VERSION, STORE_VERSION, Store},
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
