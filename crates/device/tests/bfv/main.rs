//! The device with encrypted matrix-vector products: both triggers, refusals, and the state after a restart.

use ciphermill_device::handlers;
use std::{sync::Arc, time::Duration};

use ciphermill_bfv::{GaloisKeys, SecretKey, SecurityPolicy};
use ciphermill_device::handlers::bfv::BfvHandler;
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectHandler, ReadMode, RunError, Space, SpaceId, SpaceLimits, WriteMode,
    WriteOptions,
};
use ciphermill_hmvp::{
    CpuEngine, DenseMatrix, EncryptedProduct, EncryptedVector, HmvpEngine, HmvpError, MatrixHandle, MatrixSource,
    PlainMatrix, Plan, PreparedKeys, Request, Strategy,
};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::{EngineInfo, Isa};
use ciphermill_program::{Bindings, Program, VerifyError, VrId, assemble};

const ROWS: usize = 100;
const COLS: usize = 64;

/// The keys and data of a client and its server.
struct Parties {
    plan: Arc<Plan>,
    key: SecretKey,
    galois: Vec<u8>,
    matrix: Vec<u8>,
    rows: Vec<Vec<i64>>,
    rng: Csprng,
}

fn numbers(rng: &mut Csprng, count: usize) -> Vec<i64> {
    (0..count).map(|_| rng.next_u64() as i64 >> 56).collect()
}

impl Parties {
    fn new(strategy: Strategy) -> Self {
        let request = Request { strategy: Some(strategy), ..Request::new(ROWS, COLS) };
        let plan = Arc::new(Plan::new(&request, Isa::current()).expect("a plan"));
        let mut rng = Csprng::from_os().expect("randomness");
        let key = SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("randomness"));
        let galois = GaloisKeys::generate(&key, &plan.galois_requests()).expect("keys");
        let rows: Vec<Vec<i64>> = (0..ROWS).map(|_| numbers(&mut rng, COLS)).collect();
        let matrix = DenseMatrix::new(ROWS, COLS, rows.concat()).expect("a matrix");
        let matrix = PlainMatrix::new(&plan, &matrix).expect("in range").to_bytes();
        Self { galois: galois.to_bytes(plan.context()).expect("of this set"), plan, key, matrix, rows, rng }
    }

    fn vector(&mut self) -> (Vec<i64>, Vec<u8>) {
        let values = numbers(&mut self.rng, COLS);
        let vector = EncryptedVector::encrypt(&self.plan, &self.key, &values, &mut self.rng).expect("a vector");
        (values, vector.to_bytes())
    }

    fn expected(&self, v: &[i64]) -> Vec<i64> {
        self.rows.iter().map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum()).collect()
    }

    fn decrypt(&self, product: &[u8]) -> Vec<i64> {
        EncryptedProduct::from_bytes(&self.plan, product).expect("a product").decrypt(&self.key).expect("its key")
    }
}

fn vr(text: &str) -> VrId {
    text.parse().expect("a register")
}

fn program(text: &str) -> Program {
    assemble(handlers::instruction_set(), text, &Bindings::new()).expect("a program").program
}

/// Both schemes on one device, as the command line opens it.
fn device(directory: &tempfile::TempDir) -> Device {
    device_with(directory, SecurityPolicy::Require128Bits)
}

fn device_with(directory: &tempfile::TempDir, bfv: SecurityPolicy) -> Device {
    let tfhe = ciphermill_tfhe::CpuEngine::new(ciphermill_tfhe::Backend::Ntt);
    let handlers: Vec<Arc<dyn ObjectHandler>> = vec![
        Arc::new(TfheHandler::new(Arc::new(tfhe), ciphermill_tfhe::SecurityPolicy::Require128Bits)),
        Arc::new(BfvHandler::new(Arc::new(CpuEngine::default()), bfv)),
    ];
    Device::open(DeviceConfig::in_directory(directory.path()), handlers).expect("a device")
}

fn space(device: &Device) -> Space {
    device.space(SpaceId::EMBEDDED).expect("the space")
}

fn put(space: &Space, register: &str, bytes: &[u8]) -> Result<(), DeviceError> {
    space.write_bytes(vr(register), bytes, WriteOptions::default()).map(drop)
}

fn message(result: Result<(), DeviceError>) -> String {
    result.map(|()| String::new()).unwrap_or_else(|error| {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    })
}

#[test]
fn a_write_or_a_read_multiplies() {
    for strategy in [Strategy::RowPacked, Strategy::Algorithm1] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut parties = Parties::new(strategy);
        let (v, sealed) = parties.vector();
        {
            let device = device(&directory);
            let space = space(&device);
            put(&space, "5:9:1", &parties.galois).expect("keys");
            put(&space, "6:9:0", &parties.matrix).expect("a matrix");
            // Compute-on-write: what is stored is the product.
            put(&space, "0:9:0", &program("hmvp 6:9:0, 8:9:4\nreturn 8:9:4").encode()).expect("a program");
            let compute = WriteOptions { mode: WriteMode::Compute, ..WriteOptions::default() };
            space.write_bytes(vr("8:9:4"), &sealed, compute).expect("a product");
            let stored = space.read_bytes(vr("8:9:4"), ReadMode::Stored).expect("the product");
            assert_eq!(parties.decrypt(&stored), parties.expected(&v));
            // Compute-on-read: what is stored stays the vector.
            put(&space, "7:9:4", &sealed).expect("a vector");
            put(&space, "0:9:0", &program("mov t, 7:9:4\nhmvp 6:9:0, t\nreturn t").encode()).expect("a program");
            let read = space.read_bytes(vr("7:9:4"), ReadMode::Compute).expect("a product");
            assert_eq!(parties.decrypt(&read), parties.expected(&v));
            assert!(space.read_bytes(vr("7:9:4"), ReadMode::Stored).expect("the vector") == sealed);
        }
        // Another process: everything still exists, and multiplies.
        let device = device(&directory);
        let space = space(&device);
        let multiply = program("hmvp 6:9:0, 7:9:4\nreturn 7:9:4");
        // Nothing was timed yet: 100 ms for a product, 5 ns for a byte of the keys that have to be loaded and of the matrix
        // that has to be prepared.
        let first = 100_000_000 + 5 * (parties.galois.len() + parties.matrix.len()) as u128;
        let checked = space.check(&multiply).expect("accepted");
        assert_eq!(checked.estimate.as_nanos(), first);
        // The plan of the matrix knows how often a product is wrong.
        assert_eq!(checked.outputs[0].log2_p_fail, Some(parties.plan.explain().log2_failure));
        let begun = std::time::Instant::now();
        let product = space.run(&multiply).expect("a product");
        assert_eq!(parties.decrypt(&product), parties.expected(&v));
        let (learnt, took) = (space.check(&multiply).expect("accepted").estimate, begun.elapsed());
        assert!(!learnt.is_zero() && learnt < took, "{learnt:?} is a part of {took:?}");
        // A new version of the matrix has to be prepared; once, however often it is used.
        put(&space, "6:9:0", &parties.matrix).expect("a matrix");
        let again = space.check(&multiply).expect("accepted").estimate;
        assert!(again > learnt && again < took, "{learnt:?}, {again:?}, {took:?}");
        let twice = program("mov t, 7:9:4\nhmvp 6:9:0, t\nhmvp 6:9:0, 7:9:4\nreturn 7:9:4");
        let twice = space.check(&twice).expect("accepted").estimate;
        assert_eq!(twice, again + learnt);
        // Another space learns nothing from this one.
        let other = device.create_space(SpaceId(1), SpaceLimits::UNLIMITED).expect("a space");
        for (register, bytes) in [("5:9:1", &parties.galois), ("6:9:0", &parties.matrix), ("7:9:4", &sealed)] {
            put(&other, register, bytes).expect("stored");
        }
        assert_eq!(other.check(&multiply).expect("accepted").estimate.as_nanos(), first);
    }
}

/// An engine whose preparation of a matrix takes a while.
#[derive(Debug)]
struct SlowPreparation(CpuEngine, Duration);

impl HmvpEngine for SlowPreparation {
    fn info(&self) -> EngineInfo {
        self.0.info()
    }

    fn keys_bytes(&self, plan: &Plan) -> u64 {
        self.0.keys_bytes(plan)
    }

    fn matrix_bytes(&self, plan: &Plan) -> u64 {
        self.0.matrix_bytes(plan)
    }

    fn prepare(&self, plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Arc<dyn PreparedKeys>, HmvpError> {
        self.0.prepare(plan, keys)
    }

    fn prepare_matrix(&self, plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<MatrixHandle, HmvpError> {
        std::thread::sleep(self.1);
        self.0.prepare_matrix(plan, matrix)
    }
}

#[test]
fn preparing_a_matrix_is_time_of_the_program() {
    let limit = Duration::from_secs(2);
    let engine = SlowPreparation(CpuEngine::default(), limit);
    let handler: Arc<dyn ObjectHandler> = Arc::new(BfvHandler::new(Arc::new(engine), SecurityPolicy::Require128Bits));
    let config = DeviceConfig { max_program_duration: limit, ..DeviceConfig::in_memory() };
    let device = Device::open(config, vec![handler]).expect("a device");
    let (space, mut parties) = (space(&device), Parties::new(Strategy::RowPacked));
    let (_, sealed) = parties.vector();
    put(&space, "5:9:1", &parties.galois).expect("keys");
    put(&space, "6:9:0", &parties.matrix).expect("a matrix");
    put(&space, "7:9:4", &sealed).expect("a vector");
    let multiply = program("hmvp 6:9:0, 7:9:4\nreturn 7:9:4");
    let late = message(space.run(&multiply).map(drop));
    assert!(late.contains("stopped after 0 of 2 instructions"), "{late}");
    // It is kept, so that the next run has time for the product.
    space.run(&multiply).expect("a product");
    // For a new version it is known how long that takes.
    put(&space, "6:9:0", &parties.matrix).expect("a matrix");
    let refused = space.run(&multiply).expect_err("expected to be too slow");
    let DeviceError::GivenProgramFailed { cause, .. } = refused else { panic!("{refused}") };
    let RunError::Verify(VerifyError::TooSlow { estimate, .. }) = *cause else { panic!("{cause}") };
    assert!(estimate > limit, "{estimate:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut parties, mut others) = (Parties::new(Strategy::RowPacked), Parties::new(Strategy::RowPacked));
    let slots = Parties::new(Strategy::Diagonal);
    let device = device(&directory);
    let space = space(&device);
    let (_, sealed) = parties.vector();
    put(&space, "7:9:1", &sealed).expect("a vector before its key");
    put(&space, "6:9:0", &parties.matrix).expect("a matrix before its key");
    let multiply = program("hmvp 6:9:0, 7:9:1\nreturn 7:9:1");
    assert!(message(space.run(&multiply).map(drop)).contains("Galois key object 5:9:1 is not stored"));
    put(&space, "5:9:1", &parties.galois).expect("keys");

    // Another client's vector; keys, a matrix and a vector of other parameters.
    assert!(message(put(&space, "7:9:2", &others.vector().1)).contains("key set"));
    assert!(message(put(&space, "6:9:1", &slots.matrix)).contains("parameter set"));
    assert!(message(put(&space, "5:9:2", &parties.galois)).contains("no BFV key has data id 2"));
    // Objects in registers of another type.
    assert!(!message(put(&space, "7:9:3", &parties.matrix)).is_empty());
    assert!(!message(put(&space, "6:9:3", &sealed)).is_empty());
    assert!(!message(put(&space, "5:8:1", &parties.matrix)).is_empty());
    // A product is not a vector.
    let product = space.run(&multiply).expect("a product");
    put(&space, "7:9:5", &product).expect("a product");
    let again = space.run(&program("hmvp 6:9:0, 7:9:5\nreturn 7:9:5"));
    assert!(!message(again.map(drop)).is_empty());
    // Damaged bytes, one place after another.
    for at in (0..sealed.len()).step_by(sealed.len() / 37) {
        let mut damaged = sealed.clone();
        damaged[at] ^= 4;
        assert!(!message(put(&space, "7:9:6", &damaged)).is_empty(), "byte {at}");
    }
    // Keys of another client in the place of the first ones: the vector stored before is of the wrong key set.
    put(&space, "5:9:1", &others.galois).expect("keys");
    assert!(message(space.run(&multiply).map(drop)).contains("key set"));
}

#[test]
fn many_matrices_and_vectors_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut parties = Parties::new(Strategy::RowPacked);
    let device = device(&directory);
    let space = space(&device);
    put(&space, "5:9:1", &parties.galois).expect("keys");
    for data in 0..3 {
        put(&space, &format!("6:9:{data}"), &parties.matrix).expect("a matrix");
    }
    let vectors: Vec<_> = (0..6).map(|_| parties.vector()).collect();
    for (data, (_, sealed)) in vectors.iter().enumerate() {
        put(&space, &format!("7:9:{data}"), sealed).expect("a vector");
    }
    std::thread::scope(|scope| {
        for (data, (v, _)) in vectors.iter().enumerate() {
            let (space, parties) = (&space, &parties);
            scope.spawn(move || {
                let text = format!("hmvp 6:9:{}, 7:9:{data}\nreturn 7:9:{data}", data % 3);
                for _ in 0..3 {
                    let product = space.run(&program(&text)).expect("a product");
                    assert_eq!(parties.decrypt(&product), parties.expected(v));
                }
            });
        }
    });
    assert_eq!(device.metrics().programs_run, 18);
}

/// Keys, matrix and vector of an earlier version, whose set has less than 128 bits of security: a device takes them with the
/// opt-in, and a later one without it computes nothing with what is stored.
#[test]
fn objects_below_128_bits_need_the_opt_in() {
    let stored = |name: &str| {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../hmvp/tests/data/below-128");
        std::fs::read(std::path::Path::new(directory).join(name)).expect("an old object")
    };
    let objects = [("5:9:1", "rotate.galois"), ("6:9:0", "rotate.mat"), ("7:9:4", "rotate.ct")];
    let insecure = |result: Result<(), DeviceError>, what: &str| {
        let text = message(result);
        assert!(text.contains("bits, below the required 128"), "{what}: {text}");
    };
    let directory = tempfile::tempdir().expect("a directory");
    {
        let device = device(&directory);
        for (register, name) in objects {
            insecure(put(&space(&device), register, &stored(name)), name);
        }
    }
    let opt_in = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    {
        let device = device_with(&directory, opt_in);
        let space = space(&device);
        for (register, name) in objects {
            put(&space, register, &stored(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let product = space.run(&program("hmvp 6:9:0, 7:9:4\nreturn 7:9:4")).expect("a product");
        let plan = Arc::new(Plan::from_bytes(&stored("rotate.plan"), opt_in, Isa::current()).expect("a plan"));
        let key = SecretKey::from_secret_key_bytes(&stored("rotate.key"), opt_in, Isa::current()).expect("a key");
        let product = EncryptedProduct::from_bytes(&plan, &product).expect("a product");
        assert_eq!(product.decrypt(&key).expect("its key"), [5 - 12 - 14336, -5 + 14329]);
    }
    let device = device(&directory);
    let space = space(&device);
    insecure(space.run(&program("hmvp 6:9:0, 7:9:4\nreturn 7:9:4")).map(drop), "run");
    assert!(space.read_bytes(vr("7:9:4"), ReadMode::Stored).expect("the vector") == stored("rotate.ct"));
}
