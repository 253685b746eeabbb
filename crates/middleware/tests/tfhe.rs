//! Products of the real scheme by way of the middleware: 200 random pairs, with callbacks and as futures, over a device of
//! this process and over a served one.

use crate::scheme::{Keys, open, table_of, x_of, y_of};
use crate::support::nvme::Served;
use ciphermill_device::DeviceConfig;
use ciphermill_device::handlers;
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_middleware::{
    BlobId, EmbeddedTransport, Metadata, Middleware, MiddlewareConfig, MiddlewareError, ReadMode, Transport,
    TransportError, WriteMode,
};
use ciphermill_program::KeyId;
use ciphermill_tfhe::{KeyForm, KeyOrder};
use std::{
    fs,
    sync::{Arc, mpsc},
};
use tempfile::TempDir;

const KEY: KeyId = KeyId(0);
const PAIRS: usize = 50;

/// The way to the device.
#[derive(Clone, Copy)]
enum Way {
    Embedded,
    Nvme,
}

struct Host {
    // Dropped in this order.
    middleware: Middleware,
    _served: Option<Served>,
    keys: Keys,
    files: TempDir,
}

impl Host {
    /// A store on disk with keys, table and program, the keys written from files.
    fn new(way: Way, choice: KeyOrder) -> Self {
        let files = TempDir::new().expect("a directory");
        let store = files.path().join("store");
        let (device, space) = open(DeviceConfig::in_directory(&store));
        let (transport, served): (Arc<dyn Transport>, _) = match way {
            Way::Embedded => (Arc::new(EmbeddedTransport::new(space)), None),
            Way::Nvme => {
                let served = Served::start(device, space.id(), &store, 28);
                (Arc::new(served.connect()), Some(served))
            }
        };
        let middleware = Middleware::new(transport, MiddlewareConfig::default()).expect("workers");
        let keys = Keys::new(7, KeyForm::Seeded, choice);
        for (register, bytes) in keys.objects(KEY) {
            let blob = middleware.create(Metadata::new(register)).wait().expect("new");
            let file = files.path().join("blob");
            fs::write(&file, &bytes).expect("a file");
            let written = middleware.write_file(blob, WriteMode::Stored, &file).wait().expect("stored");
            assert_eq!((written.stat.size, written.computed), (bytes.len() as u64, false));
        }
        for register in [x_of(KEY), y_of(KEY)] {
            middleware.create(Metadata::new(register)).wait().expect("new");
        }
        Self { middleware, _served: served, keys, files }
    }

    /// Two operands of the range.
    fn pair(&self, rng: &mut Csprng) -> (i64, i64) {
        let mut operand = || (rng.next_u64() % (self.keys.product.max() as u64 + 1)) as i64;
        (operand(), operand())
    }
}

/// Makes a call with a callback and waits for the value of the callback.
fn told<T: Send + 'static>(
    call: impl FnOnce(Box<dyn FnOnce(Result<T, MiddlewareError>) + Send>) -> Result<(), MiddlewareError>,
) -> T {
    let (sender, receiver) = mpsc::channel();
    call(Box::new(move |result| sender.send(result).expect("someone waits"))).expect("room in the queue");
    receiver.recv().expect("the callback is called").expect("no failure")
}

/// The paper's Table 6 in the calls of its Table 7.
fn with_callbacks(host: &Host, (x, y): (i64, i64), rng: &mut Csprng) -> i64 {
    let (middleware, file) = (&host.middleware, host.files.path().join("product"));
    let (x_blob, y_blob) = (BlobId::new(x_of(KEY)), BlobId::new(y_of(KEY)));
    let (x, y) = (host.keys.operand(x, rng), host.keys.operand(y, rng));
    let plain = told(|callback| middleware.write_blob2(x_blob, WriteMode::Compute, x, callback));
    assert!(!plain.computed);
    let computed = told(|callback| middleware.write_blob2(y_blob, WriteMode::Compute, y, callback));
    assert!(computed.computed);
    told(|callback| middleware.read_blob1(y_blob, ReadMode::Stored, &file, callback));
    host.keys.decrypt_product(&fs::read(&file).expect("the product"))
}

async fn as_futures(host: &Host, (x, y): (i64, i64), rng: &mut Csprng) -> Result<i64, MiddlewareError> {
    let (x_blob, y_blob) = (BlobId::new(x_of(KEY)), BlobId::new(y_of(KEY)));
    let (x, y) = (host.keys.operand(x, rng), host.keys.operand(y, rng));
    host.middleware.write(x_blob, WriteMode::Compute, x).await?;
    assert!(host.middleware.write(y_blob, WriteMode::Compute, y).await?.computed);
    Ok(host.keys.decrypt_product(&host.middleware.read(y_blob, ReadMode::Stored).await?.bytes))
}

/// 50 pairs from a seed under one key choice; every second one with callbacks.
fn products(host: &Host, seed: [u8; 32]) {
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes(seed), 0);
    for number in 0..PAIRS {
        let (x, y) = host.pair(&mut rng);
        let product = match number % 2 {
            0 => with_callbacks(host, (x, y), &mut rng),
            _ => pollster::block_on(as_futures(host, (x, y), &mut rng)).expect("no failure"),
        };
        assert_eq!(product, x * y, "{}: {x} * {y}, pair {number} of seed {seed:?}", host.keys.choice);
    }
}

/// Two key choices, 50 pairs each from a fixed seed and 50 each from a fresh one.
fn two_hundred_random_products(way: Way) {
    let mut fresh = [0; 32];
    let word = ciphermill_lattice::PublicSeed::from_os().expect("randomness of the system").0;
    fresh[..8].copy_from_slice(&word[..8]);
    println!("fresh seed: {fresh:?}");
    for choice in [KeyOrder::Small, KeyOrder::Big] {
        let host = Host::new(way, choice);
        assert!(host.keys.product.max() >= 3, "a range worth testing");
        products(&host, [42; 32]);
        products(&host, fresh);
    }
}

#[test]
fn two_hundred_random_products_embedded() {
    two_hundred_random_products(Way::Embedded);
}

#[test]
fn two_hundred_random_products_over_nvme() {
    two_hundred_random_products(Way::Nvme);
}

#[test]
fn refusals_reach_the_application_embedded() {
    refusals(Way::Embedded);
}

#[test]
fn refusals_reach_the_application_over_nvme() {
    refusals(Way::Nvme);
}

/// A refusal of the device comes out of the middleware with the same words, and changes no blob.
fn refusals(way: Way) {
    let host = Host::new(way, KeyOrder::Small);
    let mut rng = crate::scheme::rng(3);
    let (x_blob, y_blob) = (BlobId::new(x_of(KEY)), BlobId::new(y_of(KEY)));
    assert_eq!(with_callbacks(&host, (3, 2), &mut rng), 6);
    let state = |host: &Host| -> Vec<_> {
        let blobs = host.middleware.list().wait().expect("a list");
        let read = |id| host.middleware.read(id, ReadMode::Stored).wait().expect("stored").bytes;
        blobs.into_iter().map(|blob| (blob, read(blob.id))).collect()
    };
    let before = state(&host);
    let refuse = |host: &Host, id: BlobId, bytes: Vec<u8>, parts: &[&str]| {
        let error = host.middleware.write(id, WriteMode::Compute, bytes).wait().expect_err("a refusal");
        assert!(matches!(error, MiddlewareError::Transport { id: named, .. } if named == id), "{error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{part:?} is not named by: {error}");
        }
        assert!(state(host) == before, "something changed: {error}");
    };
    let operand = host.keys.operand(1, &mut rng);
    refuse(&host, x_blob, operand[..100].to_vec(), &["100 were given", "432"]);
    refuse(&host, y_blob, [&operand[..], &[0]].concat(), &[&format!("{} were given", operand.len() + 1), "432"]);
    let mut flipped = operand.clone();
    flipped[200] ^= 4;
    refuse(&host, y_blob, flipped, &["checksum"]);
    let other = Keys::new(50, KeyForm::Seeded, KeyOrder::Small);
    let tags = [&host.keys, &other].map(|keys| format!("{:016x}", keys.client.tag().0));
    refuse(&host, y_blob, other.operand(1, &mut rng), &[&tags[0], &tags[1]]);
    let table = BlobId::new(table_of(KEY));
    refuse(&host, table, vec![0; 16], &["16 were given"]);
    let keyswitch = BlobId::new(handlers::tfhe::key_switching_key(KEY));
    refuse(&host, keyswitch, other.keyswitch, &[&tags[0], &tags[1]]);

    // A missing file, and a directory in its place.
    let missing = host.files.path().join("missing");
    let error = host.middleware.write_file(y_blob, WriteMode::Compute, &missing).wait().expect_err("no file");
    assert!(matches!(&error, MiddlewareError::File { path, .. } if *path == missing), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
    let error = host.middleware.write_file(y_blob, WriteMode::Compute, host.files.path()).wait().expect_err("no file");
    assert!(matches!(error, MiddlewareError::NotAFile { .. }), "{error}");
    assert!(state(&host) == before);

    // The store is open: a second device on it is refused, and the first goes on.
    let store = host.files.path().join("store");
    let second = ciphermill_device::Device::open(DeviceConfig::in_directory(store), vec![crate::scheme::handler()]);
    assert!(second.expect_err("open already").to_string().contains("already open"));
    assert_eq!(with_callbacks(&host, (2, 3), &mut rng), 6);

    // A program that fails while it runs for y leaves y as it was.
    let program = crate::scheme::program("homadd 4:0:3, 3:0:99\nreturn 4:0:3").encode();
    let register = BlobId::new(crate::scheme::program_of(KEY));
    host.middleware.write(register, WriteMode::Stored, program).wait().expect("a program");
    let result = host.middleware.read(y_blob, ReadMode::Stored).wait().expect("stored").bytes;
    let error = host.middleware.write(y_blob, WriteMode::Compute, operand).wait().expect_err("a failed program");
    let MiddlewareError::Transport { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(source, TransportError::ProgramFailed(_)) && error.to_string().contains("3:0:99"), "{error:?}");
    assert!(host.middleware.read(y_blob, ReadMode::Stored).wait().expect("stored").bytes == result);
    assert_eq!(host.keys.decrypt_product(&result), 6);
}
