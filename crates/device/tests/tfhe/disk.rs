//! Effects of a disk on a store: damage, no room, other versions, missing files, two openers.

use crate::state::{Fixture, KEY, State};
use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ReadMode, RunError, SpaceId, StorageError, StoreError, StoreFiles, WriteMode,
    WriteOptions,
    storage::{Fault, SimulatedDisk},
    store::INLINE_BYTES,
};
use ciphermill_program::{Instruction, Program, VrId};
use ciphermill_tfhe::{KeyForm, KeyOrder};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

const SMALL: KeyOrder = KeyOrder::Small;

/// A closed store in which a product was computed, and its contents.
fn store() -> (TempDir, Keys, Vec<(VrId, Vec<u8>)>) {
    let directory = TempDir::new().expect("a directory");
    let f = Fixture::new(DeviceConfig::in_directory(directory.path()), SMALL);
    let contents = State::of(&f.space).contents();
    (directory, f.keys, contents)
}

fn try_open(directory: &Path) -> Result<Device, DeviceError> {
    Device::open(DeviceConfig::in_directory(directory), vec![handler()])
}

/// Every file of the store with its bytes.
fn image(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .expect("the store")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(&path).expect("a file")))
        .collect();
    files.sort();
    files
}

fn copy(files: &[(PathBuf, Vec<u8>)]) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    for (path, bytes) in files {
        fs::write(directory.path().join(path.file_name().expect("a name")), bytes).expect("write");
    }
    directory
}

#[test]
fn a_flipped_bit_of_any_stored_object_is_told_and_nothing_else_suffers() {
    let (directory, keys, contents) = store();
    let files = image(directory.path());
    let mut rng = rng(9);
    for (damaged, bytes) in contents.iter().filter(|(_, bytes)| bytes.len() as u64 > INLINE_BYTES) {
        let directory = copy(&files);
        let path = directory.path().join("data");
        let mut data = fs::read(&path).expect("the data file");
        // Objects begin at the start of a block of 4,096 bytes.
        let head = &bytes[..bytes.len().min(4096)];
        let block = data.chunks(4096).position(|block| block.starts_with(head));
        let start = block.unwrap_or_else(|| panic!("{damaged} is in no block")) * 4096;
        data[start + head.len() / 2] ^= 0x10;
        fs::write(&path, &data).expect("write");

        let (_device, space) = open(DeviceConfig::in_directory(directory.path()));
        for (id, bytes) in &contents {
            match space.read_bytes(*id, ReadMode::Stored) {
                Ok(read) => assert!(id != damaged && read == *bytes, "{id}"),
                Err(DeviceError::Store(StoreError::DamagedObject { object, chunk: 0 })) => {
                    assert!(id == damaged && object.id == *id, "{id}");
                }
                Err(error) => panic!("{id}: {error}"),
            }
        }
        let operand = keys.operand(1, &mut rng);
        let outcome = space.write_bytes(y_of(KEY), &operand, WriteOptions::default());
        if *damaged == y_of(KEY) {
            assert!(outcome.expect("y is replaced, not read").computed);
            continue;
        }
        // A program that needs the object fails and says so; the earlier result stays.
        let error = outcome.expect_err("a damaged operand");
        assert!(error.to_string().contains("is damaged in its chunk 0"), "{error}");
        let object = match error {
            // The operand's size is judged by the head of the key.
            DeviceError::Store(StoreError::DamagedObject { object, .. }) => object,
            DeviceError::ProgramFailed { cause, .. } => match *cause {
                RunError::Store(StoreError::DamagedObject { object, .. }) => object,
                other => panic!("{damaged}: {other}"),
            },
            other => panic!("{damaged}: {other}"),
        };
        assert_eq!(object.id, *damaged);
        let result = contents.iter().find(|(id, _)| *id == y_of(KEY)).expect("a result");
        assert!(space.read_bytes(y_of(KEY), ReadMode::Stored).expect("stored") == result.1);
        // Written again, it is sound again.
        put(&space, *damaged, bytes);
        assert!(put(&space, y_of(KEY), &operand));
    }
}

/// Small objects are in the object table, which is checked as a whole when the store is opened.
#[test]
fn a_flipped_bit_of_a_small_object_is_told_when_the_store_opens() {
    let (directory, _, contents) = store();
    let files = image(directory.path());
    let small: Vec<_> = contents.iter().filter(|(_, bytes)| bytes.len() as u64 <= INLINE_BYTES).collect();
    assert!(small.len() >= 3, "the program and ciphertexts");
    for (damaged, bytes) in small {
        let table = fs::read(directory.path().join("objects.redb")).expect("the table");
        let head = &bytes[..bytes.len().min(64)];
        let copies: Vec<_> = (0..table.len()).filter(|at| table[*at..].starts_with(head)).collect();
        let mut refused = 0;
        for at in copies {
            let directory = copy(&files);
            let mut table = table.clone();
            table[at + head.len() / 2] ^= 0x10;
            fs::write(directory.path().join("objects.redb"), &table).expect("write");
            match try_open(directory.path()) {
                Err(DeviceError::Store(StoreError::Corrupt { .. })) => refused += 1,
                // A copy in a free page: what is stored is sound.
                Ok(device) => {
                    let space = device.space(SpaceId::EMBEDDED).expect("the space");
                    assert!(space.read_bytes(*damaged, ReadMode::Stored).expect("sound") == *bytes, "{damaged}");
                }
                Err(error) => panic!("{damaged}: {error}"),
            }
        }
        assert!(refused >= 1, "{damaged}");
    }
}

fn is_full(error: &DeviceError) -> bool {
    match error {
        DeviceError::Store(StoreError::NoSpace { .. } | StoreError::Storage(StorageError::NoSpace { .. })) => true,
        DeviceError::Store(StoreError::Table { what, .. }) => what.contains("no space left"),
        _ => false,
    }
}

#[test]
fn a_full_disk_keeps_what_was_computed() {
    let disk = SimulatedDisk::new();
    let files = StoreFiles::on_simulated_disk(&disk);
    let mut f = Fixture::new(DeviceConfig::in_files(files.clone()), SMALL);
    // An operand in place of the product, which has another encoding.
    let stored = WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() };
    f.space.write_bytes(y_of(KEY), &f.keys.operand(1, &mut f.rng), stored).expect("stored");
    let lengths = [&files.data, &files.objects, &files.log, &files.swap].map(|file| file.len().expect("a length"));
    disk.inject(Fault::Capacity(lengths.iter().sum::<u64>() + (64 << 10)));
    let table = f.keys.table();
    let full = (100..20_000)
        .find_map(|data| f.space.write_bytes(register(&format!("1:0:{data}")), &table, WriteOptions::default()).err());
    assert!(full.as_ref().is_some_and(is_full), "{full:?}");
    let mut refused = 0;
    for data in 100..120 {
        let operand = f.operand();
        let id = register(&format!("4:0:{data}"));
        let before = State::of(&f.space);
        match f.space.write_bytes(id, &operand, WriteOptions::default()) {
            // A few fit where a table does not. Each is the product of the stored operands.
            Ok(written) => assert!(written.computed),
            Err(error) => {
                assert!(is_full(&error), "{error}");
                assert!(State::of(&f.space) == before, "something changed: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 10, "{refused}");
    // Keys and tables have no room either.
    let full = Keys::new(1, KeyForm::Full, SMALL);
    let error = f.refuses(&["free"], |space| {
        space.write_bytes(handlers::tfhe::bootstrapping_key(KEY), &full.bootstrap, WriteOptions::default())
    });
    assert!(is_full(&error), "{error}");
    let contents = State::of(&f.space).contents();
    let (keys, mut rng) = (f.keys, f.rng);
    drop((f.space, f.device));
    let (_device, space) = open(DeviceConfig::in_files(files));
    assert!(State::of(&space).contents() == contents, "a full store opens with all that it held");
    disk.clear_faults();
    assert_eq!(keys.multiply(&space, KEY, (3, 2), &mut rng), 6);
}

#[test]
fn a_store_opens_once() {
    let (directory, keys, _) = store();
    let (device, space) = open(DeviceConfig::in_directory(directory.path()));
    let before = State::of(&space);
    let error = try_open(directory.path()).expect_err("open already");
    assert!(matches!(&error, DeviceError::Store(StoreError::AlreadyOpen { path }) if path == directory.path()));
    assert!(error.to_string().contains("stop the other process"), "{error}");
    assert!(State::of(&space) == before);
    assert_eq!(keys.multiply(&space, KEY, (1, 3), &mut rng(1)), 3);
    drop((device, space));
    try_open(directory.path()).expect("the first is closed");
}

/// The superblock of docs/device.md with another version or magic, its checksum made right.
#[test]
fn stores_of_another_version_are_left_alone() {
    let (directory, keys, contents) = store();
    let files = image(directory.path());
    for (at, value) in [(8, 3u8), (8, 0), (9, 7), (0, b'X'), (12, 1)] {
        let directory = copy(&files);
        let path = directory.path().join("data");
        let mut data = fs::read(&path).expect("the data file");
        data[at] = value;
        let checksum = crc32c::crc32c(&data[..40]);
        data[40..44].copy_from_slice(&checksum.to_le_bytes());
        fs::write(&path, &data).expect("write");
        let before = image(directory.path());
        let error = try_open(directory.path()).expect_err("another version");
        match (at, &error) {
            (8 | 9, DeviceError::Store(StoreError::Version { given, supported: 2 })) => {
                assert!(error.to_string().contains(&format!("format version {given}")), "{error}");
                assert!(error.to_string().contains("reads version 2"), "{error}");
            }
            (0, DeviceError::Store(StoreError::NotAStore)) | (12, DeviceError::Store(StoreError::Corrupt { .. })) => {}
            _ => panic!("byte {at}: {error}"),
        }
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert!(image(directory.path()) == before, "byte {at}: a refused store was changed");
        // As it was, it opens.
        fs::write(&path, &files.iter().find(|(path, _)| path.ends_with("data")).expect("data").1).expect("write");
        let (_device, space) = open(DeviceConfig::in_directory(directory.path()));
        assert!(State::of(&space).contents() == contents);
        assert_eq!(keys.multiply(&space, KEY, (2, 2), &mut rng(2)), 4);
    }
}

#[test]
fn stores_with_a_missing_or_truncated_file_are_left_alone() {
    let (directory, _, _) = store();
    let files = image(directory.path());
    let missing_table = copy(&files);
    fs::remove_file(missing_table.path().join("objects.redb")).expect("the table");
    let missing_data = copy(&files);
    fs::remove_file(missing_data.path().join("data")).expect("the data file");
    let short_data = copy(&files);
    let data = fs::read(short_data.path().join("data")).expect("the data file");
    fs::write(short_data.path().join("data"), &data[..data.len() / 2]).expect("write");
    for directory in [missing_table, missing_data, short_data] {
        let sizes = |files: Vec<(PathBuf, Vec<u8>)>| -> Vec<_> {
            files.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect()
        };
        let before = sizes(image(directory.path()));
        let error = try_open(directory.path()).expect_err("half a store");
        let DeviceError::Store(StoreError::Corrupt { what }) = &error else { panic!("{error}") };
        assert!(!what.is_empty() && error.to_string().contains("restore a backup"), "{error}");
        assert!(sizes(image(directory.path())) == before, "a refused store was changed: {error}");
    }
    let file = directory.path().join("data");
    let error = try_open(&file).expect_err("a file is no directory");
    assert!(matches!(&error, DeviceError::Store(StoreError::Directory { path, .. }) if path.starts_with(&file)));
    let (_device, space) = open(DeviceConfig::in_directory(directory.path()));
    assert_eq!(space.id(), SpaceId::EMBEDDED);
}

#[test]
fn reading_what_a_program_is_judged_by_is_time_of_the_program() {
    let (directory, _keys, _contents) = store();
    let check = |limit| {
        let config = DeviceConfig { max_program_duration: limit, ..DeviceConfig::in_directory(directory.path()) };
        let (_device, space) = open(config);
        let stored = space.list().into_iter().map(|stat| stat.id).find(|id| id.type_code == y_of(KEY).type_code);
        let program = Program::new(vec![Instruction::ret(stored.expect("a ciphertext"))]).expect("a program");
        space.check(&program)
    };
    check(Duration::from_secs(60)).expect("accepted");
    // Longer than the estimate, shorter than a read of the disk.
    let error = check(Duration::from_micros(10)).expect_err("too late");
    let DeviceError::GivenProgramFailed { cause, .. } = error else { panic!("{error}") };
    assert!(matches!(*cause, RunError::TimedOut { done: 0, total: 1, .. }), "{cause}");
}
