//! Stored files of an earlier version open, hold the same bits, and compute the same results.
//!
//! `tests/fixtures` has a store for each format version, with small keys and operands of all three schemes, the results of
//! one program each, and the clients' secret keys: `store` of version 1, `store-2` of version 2. To write such a store with
//! the present code, for a new fixture after a deliberate change of format:
//!
//! ```text
//! CIPHERMILL_WRITE_FIXTURE=/some/empty/directory cargo test -p ciphermill-device --test stored
//! ```

#[path = "../support/image.rs"]
mod image;
mod write;

use ciphermill_device::{
    Device, DeviceConfig, DeviceError, HandlerError, ObjectHandler, ReadMode, RunError, SpaceId,
    handlers::{bfv::BfvHandler, paillier::PaillierHandler, tfhe::TfheHandler},
    store::{ObjectFlags, SpaceLimits, Store, StoreFiles},
};
use ciphermill_hmvp::{EncryptedProduct, Plan};
use ciphermill_math::Isa;
use ciphermill_paillier::{CiphertextVector, SizePolicy};
use ciphermill_program::{Bindings, Program, VrId, assemble};
use ciphermill_tfhe::{Ciphertext, ClientKey};
use std::{
    fmt::Write as _,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

const FILES: [&str; 4] = ["data", "objects.redb", "log", "swap"];
/// Those of version 1.
const EARLIER_FILES: [&str; 3] = ["data", "objects.redb", "swap"];
const TFHE_POLICY: ciphermill_tfhe::SecurityPolicy =
    ciphermill_tfhe::SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
const BFV_POLICY: ciphermill_bfv::SecurityPolicy =
    ciphermill_bfv::SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
const SPACE: SpaceId = SpaceId(7);
const LIMITS: SpaceLimits = SpaceLimits { bytes: 3 << 20, objects: 10 };

/// One program per scheme: (source, register of its stored result).
const PROGRAMS: [(&str, &str); 3] = [
    ("mov t, 3:0:2\nbootstrap 1:0:0, t\nreturn t", "3:0:9"),
    ("mov t, 7:1:2\nhmvp 6:1:0, t\nreturn t", "7:1:9"),
    ("mov t, 18:2:2\npadd t, 18:2:3\npscale 17:2:0, t\nreturn t", "18:2:9"),
];
const MESSAGE: i64 = 3;
const MATRIX: [i64; 12] = [1, -2, 1, 0, -1, -2, 1, 1, 0, 1, -1, -2];
const VECTOR: [i64; 4] = [1, -2, 0, 1];
const ADDENDS: [[i64; 3]; 2] = [[5, -70_000, 1 << 40], [-6, 70_000, 12]];
const WEIGHTS: [i128; 3] = [-3, 0, 1 << 33];

fn vr(text: &str) -> VrId {
    text.parse().expect("a register")
}

fn program(text: &str) -> Program {
    assemble(ciphermill_device::handlers::instruction_set(), text, &Bindings::new()).expect("a program").program
}

/// The exact transform for TFHE, so that results can be compared bit by bit.
fn handlers() -> Vec<Arc<dyn ObjectHandler>> {
    let tfhe = ciphermill_tfhe::CpuEngine::new(ciphermill_tfhe::Backend::Ntt);
    vec![
        Arc::new(TfheHandler::new(Arc::new(tfhe), TFHE_POLICY)),
        Arc::new(BfvHandler::new(Arc::new(ciphermill_hmvp::CpuEngine::default()), BFV_POLICY)),
        Arc::new(PaillierHandler::new(Arc::new(ciphermill_bigint::CpuEngine::current()), SizePolicy::InsecureBench)),
    ]
}

/// One line per object of the store, in every detail that a record holds.
fn listing(directory: &Path) -> String {
    let store = Store::open(StoreFiles::in_directory(directory).expect("files")).expect("a sound store");
    assert!(store.scrub(&mut |_| {}).is_sound());
    assert_eq!(store.space(SPACE).map(|(limits, _)| limits), Some(LIMITS));
    assert_eq!(store.space(SpaceId::EMBEDDED).map(|(limits, _)| limits), Some(SpaceLimits::UNLIMITED));
    let mut lines = String::new();
    for object in store.spaces().into_iter().flat_map(|space| store.list(space)) {
        let mut bytes = Vec::new();
        store.read(Arc::clone(&object)).read_to_end(&mut bytes).expect("its bytes");
        assert_eq!(
            (bytes.len() as u64, crc32c::crc32c(&bytes)),
            (object.size(), object.checksum()),
            "{}",
            object.key()
        );
        let (flags, generation, origin) = (object.flags().bits(), object.generation(), object.origin());
        let key = object.key();
        let (size, checksum, computed) = (object.size(), object.checksum(), object.computed());
        let owner = object.owner().map_or(String::new(), |owner| format!(" {owner:?}"));
        let digest = object.digest().map_or(String::new(), |digest| format!(" digest {digest}"));
        writeln!(
            lines,
            "{} {} size {size} crc {checksum:08x} flags {flags} generation {generation} origin {origin} computed \
             {computed}{owner}{digest}",
            key.space, key.id
        )
        .expect("a line");
    }
    lines
}

/// A device on the store. Its BFV plan was made for failures of 2^-20.
fn open(directory: &Path, assume_range: bool) -> Device {
    let config = DeviceConfig { assume_range, max_log2_p_fail: Some(-20.0), ..DeviceConfig::in_directory(directory) };
    Device::open(config, handlers()).expect("a device")
}

/// Whether two results have the same words. A ciphertext of the first version states no bounds, and a result always does.
fn same_words(result: &[u8], stored: &[u8]) -> bool {
    let words = |bytes| Ciphertext::from_bytes(bytes).map(|ciphertext| ciphertext.elements().clone());
    match (words(result), words(stored)) {
        (Ok(result), Ok(stored)) => result == stored,
        _ => result == stored,
    }
}

/// Opens the store in `directory`, compares all objects with `objects.txt` of `keys`, runs the programs, and decrypts.
fn check(directory: &Path, keys: &Path, assume_range: bool) {
    let expected = fs::read_to_string(keys.join("objects.txt")).expect("a listing");
    assert_eq!(listing(directory), expected);
    let device = open(directory, assume_range);
    let space = device.space(SpaceId::EMBEDDED).expect("the space");
    let results = PROGRAMS.map(|(source, stored)| {
        let result = space.run(&program(source)).unwrap_or_else(|error| panic!("{source}: {error}"));
        let stored = space.read_bytes(vr(stored), ReadMode::Stored).expect("stored");
        assert!(same_words(&result, &stored) && (assume_range || result == stored), "other bits: {source}");
        result
    });
    assert!(device.scrub(&mut |_| {}).expect("a report").is_sound());

    let key = |name: &str| fs::read(keys.join(name)).expect("a key");
    let client = ClientKey::from_secret_key_bytes(&key("tfhe.key"), TFHE_POLICY).expect("a client key");
    let ciphertext = Ciphertext::from_bytes(&results[0]).expect("a ciphertext");
    let decrypted = client.decrypt(&write::encoding(), &ciphertext).expect("a message");
    assert_eq!(decrypted, write::function(MESSAGE));

    let plan = Arc::new(Plan::from_bytes(&key("bfv.plan"), BFV_POLICY, Isa::current()).expect("a plan"));
    let secret = ciphermill_bfv::SecretKey::from_secret_key_bytes(&key("bfv.key"), BFV_POLICY, Isa::current());
    let secret = secret.expect("a key");
    let product = EncryptedProduct::from_bytes(&plan, &results[1]).expect("a product").decrypt(&secret);
    let rows = MATRIX.chunks(VECTOR.len()).map(|row| row.iter().zip(VECTOR).map(|(a, v)| a * v).sum::<i64>());
    assert_eq!(product.expect("its key"), rows.collect::<Vec<_>>());

    let policy = SizePolicy::InsecureBench;
    let secret = ciphermill_paillier::SecretKey::from_secret_key_bytes(&key("paillier.key"), policy).expect("a key");
    let vector = CiphertextVector::from_bytes(secret.public_key(), &results[2]).expect("a vector");
    let sums = ADDENDS[0].iter().zip(ADDENDS[1]).map(|(x, y)| i128::from(x + y));
    let expected: Vec<i128> = sums.zip(WEIGHTS).map(|(sum, weight)| sum * weight).collect();
    assert_eq!(secret.decrypt(&vector).expect("plaintexts").to_i128().expect("small"), expected);
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

#[test]
fn the_stored_fixture_opens_with_the_same_bits() {
    let directory = tempfile::tempdir().expect("a directory");
    image::unpack(&fixture("store-2"), &FILES, directory.path());
    check(directory.path(), &fixture("store-2"), false);
}

#[test]
fn the_stored_fixture_of_version_1_opens_with_the_same_bits() {
    let fixture = fixture("store");
    let directory = tempfile::tempdir().expect("a directory");
    image::unpack(&fixture, &EARLIER_FILES, directory.path());
    // Its ciphertexts and test vectors state no ranges: a bootstrap is refused unless they are assumed.
    let device = open(directory.path(), false);
    let space = device.space(SpaceId::EMBEDDED).expect("the space");
    let Err(DeviceError::GivenProgramFailed { cause, .. }) = space.run(&program(PROGRAMS[0].0)) else {
        panic!("no range")
    };
    assert!(
        matches!(*cause, RunError::Instruction { index: 1, source: HandlerError::UnknownRange { .. }, .. }),
        "{cause}"
    );
    assert!(cause.to_string().contains("--assume-range"), "{cause}");
    drop((space, device));
    check(directory.path(), &fixture, true);
}

#[test]
fn the_generator_writes_a_store_that_passes_the_same_checks() {
    let (store, keys) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    write::store(store.path(), keys.path());
    fs::write(keys.path().join("objects.txt"), listing(store.path())).expect("a listing");
    image::pack(store.path(), &FILES, keys.path());
    if let Some(fixture) = std::env::var_os("CIPHERMILL_WRITE_FIXTURE") {
        for entry in fs::read_dir(keys.path()).expect("the fixture") {
            let entry = entry.expect("a file");
            fs::copy(entry.path(), Path::new(&fixture).join(entry.file_name())).expect("a copy");
        }
    }
    let copy = tempfile::tempdir().expect("a directory");
    image::unpack(keys.path(), &FILES, copy.path());
    check(copy.path(), keys.path(), false);
}

#[test]
fn flags_of_the_fixture_have_their_bits() {
    assert_eq!((ObjectFlags::ARMED.bits(), ObjectFlags::ONE_SHOT.bits()), (1, 2));
}
