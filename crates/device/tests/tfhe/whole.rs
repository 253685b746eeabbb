//! Programs that an engine runs whole have the bits of single instructions, and the same refusals.

use crate::support::*;
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{Device, DeviceConfig, DeviceError, ReadMode, RunError, Space, SpaceId};
use ciphermill_math::EngineInfo;
use ciphermill_program::KeyId;
use ciphermill_tfhe::engine::{KeyPart, ProgramJob};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::{
    Backend, Bounds, Ciphertext, CpuEngine, Job, KeyForm, KeyOrder, KeyTag, Output, ParameterSet, PreparedKey,
    SecurityPolicy, TfheEngine, TfheError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const KEY: KeyId = KeyId(0);

/// The CPU's exact engine, which takes programs under the small key whole and counts them.
#[derive(Debug)]
struct Whole {
    cpu: CpuEngine,
    programs: Arc<AtomicUsize>,
}

impl TfheEngine for Whole {
    fn info(&self) -> EngineInfo {
        self.cpu.info()
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.cpu.key_bytes(parameters)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let key = self.cpu.prepare(parts, policy, progress)?;
        Ok(Arc::new(WholeKey { key, programs: Arc::clone(&self.programs) }))
    }
}

#[derive(Debug)]
struct WholeKey {
    key: Arc<dyn PreparedKey>,
    programs: Arc<AtomicUsize>,
}

impl PreparedKey for WholeKey {
    fn parameters(&self) -> &ParameterSet {
        self.key.parameters()
    }

    fn tag(&self) -> KeyTag {
        self.key.tag()
    }

    fn memory_bytes(&self) -> u64 {
        self.key.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        let [Job::Program(program)] = jobs else { return self.key.run(jobs) };
        self.programs.fetch_add(1, Ordering::Relaxed);
        Ok(vec![Output::Ciphertext(program.by_steps(&*self.key)?)])
    }

    fn runs_program(&self, program: &ProgramJob<'_>) -> bool {
        program.ciphertexts.iter().all(|(_, ciphertext)| ciphertext.choice() == KeyOrder::Small)
    }
}

/// A device on an engine, with the keys and operands of both kinds.
fn device(engine: Arc<dyn TfheEngine>, keys: &Keys, operands: &[(&str, Vec<u8>)]) -> (Device, Space) {
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(TfheHandler::new(engine, INSECURE))]).unwrap();
    let space = device.space(SpaceId::EMBEDDED).unwrap();
    keys.install(&space, KEY);
    for (id, bytes) in operands {
        put(&space, register(id), bytes);
    }
    (device, space)
}

struct Pair {
    programs: Arc<AtomicUsize>,
    whole: (Device, Space),
    single: (Device, Space),
    keys: Keys,
}

impl Pair {
    fn new() -> Self {
        let keys = Keys::new(1, KeyForm::Seeded, KeyOrder::Small);
        let mut rng = rng(7);
        let encrypted = |message, order, rng: &mut _| {
            keys.client.encrypt_in(&keys.product.operands(), message, order, rng).unwrap().to_bytes()
        };
        // An object of an earlier version, which states no bounds.
        let old = Ciphertext::from_bytes(&encrypted(1, KeyOrder::Small, &mut rng)).unwrap();
        let old = old.with_bounds(Bounds::UNSTATED).to_bytes();
        let operands = [
            ("3:0:4", old),
            ("3:0:5", encrypted(2, KeyOrder::Small, &mut rng)),
            ("3:0:6", encrypted(1, KeyOrder::Small, &mut rng)),
            ("3:0:7", encrypted(1, KeyOrder::Big, &mut rng)),
            ("3:0:8", encrypted(1, KeyOrder::Big, &mut rng)),
        ];
        let programs = Arc::new(AtomicUsize::new(0));
        let engine = Whole { cpu: CpuEngine::new(Backend::Ntt), programs: Arc::clone(&programs) };
        let whole = device(Arc::new(engine), &keys, &operands);
        let single = device(Arc::new(CpuEngine::new(Backend::Ntt)), &keys, &operands);
        Self { programs, whole, single, keys }
    }

    /// Runs a program on both; returns how many ran whole.
    fn run(&self, source: &str) -> usize {
        let before = self.programs.load(Ordering::Relaxed);
        let [whole, single] = [&self.whole, &self.single].map(|(_, space)| space.run(&program(source)));
        match (whole, single) {
            (Ok(whole), Ok(single)) => assert!(whole == single, "the bits differ: {source}"),
            (whole, single) => panic!("{source}: {whole:?} and {single:?}"),
        }
        self.programs.load(Ordering::Relaxed) - before
    }
}

#[test]
fn results_have_the_bits_and_bounds_of_single_instructions() {
    let pair = Pair::new();
    for source in [
        "mov 3:0:1, 3:0:5\nhomadd 3:0:1, 3:0:6\nbootstrap 1:0:0, 3:0:1\nreturn 3:0:1",
        "push 3:0:5\nhomintmult 3:0:5, -1\npop 3:0:9\nhomadd 3:0:9, 3:0:6\nbootstrap 1:0:0, 3:0:9\nreturn 3:0:9",
        "bootstrap 1:0:0, 3:0:5\nbootstrap 1:0:0, 3:0:6\nhomsub 3:0:5, 3:0:6\nreturn 3:0:5",
        // A result that no instruction computed is the object as it is stored.
        "bootstrap 1:0:0, 3:0:5\nmov 3:0:5, 3:0:6\nreturn 3:0:5",
        "push 3:0:4\nbootstrap 1:0:0, 3:0:5\npop 3:0:5\nreturn 3:0:5",
    ] {
        assert_eq!(pair.run(source), 1, "{source}");
    }
    let metrics = pair.whole.0.metrics();
    assert_eq!(metrics.instructions["program"].count, 5);
    assert!(!metrics.instructions.contains_key("bootstrap"));
}

/// Without a bootstrap, under the big key, or with instructions of other kinds.
#[test]
fn other_programs_run_one_instruction_after_another() {
    let pair = Pair::new();
    for source in [
        "homadd 3:0:5, 3:0:6\nreturn 3:0:5",
        "return 3:0:5",
        "homadd 3:0:7, 3:0:8\nbootstrap 1:0:0, 3:0:7\nreturn 3:0:7",
        "push 3:0:7\npop 3:0:1\nbootstrap 1:0:0, 3:0:5\nreturn 3:0:5",
    ] {
        assert_eq!(pair.run(source), 0, "{source}");
    }
}

/// x·y as an operand is written: the result is stored in both devices, and equal.
#[test]
fn a_write_runs_the_program_whole() {
    let pair = Pair::new();
    let [x, y] = [3, 2].map(|message| pair.keys.operand(message.min(pair.keys.product.max()), &mut rng(8)));
    let stored = [&pair.whole, &pair.single].map(|(_, space)| {
        put(space, x_of(KEY), &x);
        assert!(put(space, y_of(KEY), &y), "the write computes");
        space.read_bytes(y_of(KEY), ReadMode::Stored).unwrap()
    });
    assert!(stored[0] == stored[1]);
    assert_eq!(pair.programs.load(Ordering::Relaxed), 1);
}

/// A ciphertext of another key set under the same Key ID, which no key could tell apart when it was stored.
#[test]
fn a_foreign_operand_is_refused_by_name() {
    let pair = Pair::new();
    let other = Keys::new(50, KeyForm::Seeded, KeyOrder::Small);
    let (_, space) = &pair.whole;
    put(space, register("3:5:1"), &pair.keys.operand(1, &mut rng(9)));
    put(space, register("3:5:2"), &other.operand(1, &mut rng(9)));
    for (id, bytes) in pair.keys.objects(KeyId(5)).into_iter().take(3) {
        put(space, id, &bytes);
    }
    let source = "homadd 3:5:1, 3:5:2\nbootstrap 1:5:0, 3:5:1\nreturn 3:5:1";
    let DeviceError::GivenProgramFailed { cause, .. } = space.run(&program(source)).unwrap_err() else {
        panic!("another error")
    };
    let RunError::Whole { source } = &*cause else { panic!("{cause}") };
    assert!(source.to_string().contains(&other.client.tag().to_string()), "{source}");
}
