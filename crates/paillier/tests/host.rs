//! The host: streams against the crate's own decryption, and the seam to an engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::host_support::*;
use ciphermill_bigint::{
    BigIntError, CpuEngine, EngineError, EngineModulus, IntegerBatch, Job, ModExpEngine, Output, PreparedModulus,
};
use ciphermill_math::{EngineInfo, EngineKind};
use ciphermill_paillier::Blinding;
use ciphermill_paillier::host::{Host, HostConfig, Instruction, Limits, Operation, Outcome, Slot, Status};
use num_bigint::{BigInt, BigUint};

#[test]
fn computes_what_the_crate_decrypts() {
    let mut host = Host::new(trusted(CpuEngine::current()), config()).unwrap();
    let values = [0, 1, 7, u64::MAX, 5];
    let outcomes = over_the_wire(
        &mut host,
        vec![set_key(3), encrypt(3, Blinding::Strict, &values), encrypt(3, Blinding::Djn, &values)],
    );
    assert_eq!(outcomes[0], Outcome::Done);
    let plain: Vec<BigInt> = values.iter().map(|&v| v.into()).collect();
    assert_eq!((decrypted(&outcomes[1]), decrypted(&outcomes[2])), (plain.clone(), plain.clone()));
    let (a, b) = (integers(&outcomes[1]), integers(&outcomes[2]));
    assert_ne!(a, b);

    let n = key().modulus();
    let square = &n * &n;
    let slot = Slot(3);
    let minus_two = batch(&[&n - 2u32]);
    let scalars = small(&[0, 1, 2, 3, u64::MAX]);
    let outcomes = over_the_wire(
        &mut host,
        vec![
            Instruction::Add { slot, left: a.clone(), right: b.clone() },
            Instruction::Add { slot, left: a.clone(), right: b.slice(3..4) },
            Instruction::ScalarMultiply { slot, ciphertexts: a.clone(), scalars: scalars.clone(), bits: 64 },
            Instruction::ScalarMultiply { slot, ciphertexts: a.clone(), scalars: minus_two, bits: 512 },
            Instruction::ScalarMultiply { slot, ciphertexts: a.slice(4..5), scalars, bits: 64 },
            Instruction::ModMul { slot, left: a.clone(), right: b.clone() },
            Instruction::ModExp { slot, bases: a.clone(), exponents: small(&[12345]), bits: 20 },
        ],
    );
    let each = |f: &dyn Fn(usize) -> BigInt| (0..5).map(f).collect::<Vec<_>>();
    assert_eq!(decrypted(&outcomes[0]), each(&|i| &plain[i] * 2));
    assert_eq!(decrypted(&outcomes[1]), each(&|i| &plain[i] + u64::MAX));
    let factors: [u64; 5] = [0, 1, 2, 3, u64::MAX];
    assert_eq!(decrypted(&outcomes[2]), each(&|i| &plain[i] * factors[i]));
    assert_eq!(decrypted(&outcomes[3]), each(&|i| &plain[i] * -2));
    assert_eq!(decrypted(&outcomes[4]), each(&|i| BigInt::from(5) * factors[i]));
    let (left, right) = (numbers(&a), numbers(&b));
    let products: Vec<BigUint> = left.iter().zip(&right).map(|(a, b)| a * b % &square).collect();
    assert_eq!(numbers(&integers(&outcomes[5])), products);
    let powers: Vec<BigUint> = left.iter().map(|a| a.modpow(&12345u32.into(), &square)).collect();
    assert_eq!(numbers(&integers(&outcomes[6])), powers);
}

#[test]
fn raw_operations_modulo_any_odd_number() {
    let mut host = ready(CpuEngine::current());
    for bits in [256u32, 1000, 1024, 2048] {
        let modulus: BigUint = (BigUint::from(1u32) << bits) - 189u32;
        let (a, b) = (&modulus - 1u32, (&modulus / 3u32) + 12345u32);
        let slot = Slot(1);
        let outcomes = over_the_wire(
            &mut host,
            vec![
                Instruction::SetModulus { slot, modulus: single(&modulus) },
                Instruction::ModMul { slot, left: batch(&[a.clone(), b.clone()]), right: single(&b) },
                Instruction::ModExp {
                    slot,
                    bases: single(&b),
                    exponents: batch(&[a.clone(), 0u32.into(), 1u32.into(), b.clone()]),
                    bits,
                },
            ],
        );
        assert_eq!(numbers(&integers(&outcomes[1])), [&a * &b % &modulus, &b * &b % &modulus]);
        let expected = [&a, &0u32.into(), &1u32.into(), &b].map(|e| b.modpow(e, &modulus));
        assert_eq!(numbers(&integers(&outcomes[2])), expected);
    }
}

#[test]
fn one_refusal_leaves_the_others_as_they_are() {
    let mut host = ready(CpuEngine::current());
    let n = key().modulus();
    let square = &n * &n;
    let slot = Slot(0);
    let good = || encrypt(0, Blinding::Djn, &[42]);
    let p = BigUint::from_bytes_le(&OWNER.expose_primes()[..32]);
    let bad: Vec<(Instruction, Status, &str)> = vec![
        (encrypt(9, Blinding::Djn, &[1]), Status::Slot, "slot 9 is empty"),
        (
            Instruction::Encrypt { slot, blinding: Blinding::Strict, plaintexts: batch(&[1u32.into(), n.clone()]) },
            Status::Operand,
            "plaintexts 1 is not below n",
        ),
        (
            Instruction::Encrypt {
                slot,
                blinding: Blinding::Strict,
                plaintexts: batch(&[BigUint::from(1u32) << 4000]),
            },
            Status::Operand,
            "plaintexts 0",
        ),
        (
            Instruction::Add { slot, left: single(&square), right: small(&[1]) },
            Status::Operand,
            "left 0 is not in 0 < c < n²",
        ),
        (
            Instruction::Add { slot, left: small(&[1, 2, 3]), right: small(&[4, 0, 5]) },
            Status::Operand,
            "right 1 is not in 0 < c < n²",
        ),
        (
            Instruction::Add { slot, left: batch(&[1u32.into(), 7u32.into(), &p * 5u32]), right: small(&[1]) },
            Status::Operand,
            "left 2 shares a factor with n",
        ),
        (
            Instruction::Add { slot, left: small(&[1, 2, 3]), right: small(&[1, 2]) },
            Status::Operand,
            "3 elements cannot be paired with 2",
        ),
        (
            Instruction::ScalarMultiply { slot, ciphertexts: small(&[5]), scalars: single(&n), bits: 512 },
            Status::Operand,
            "scalars 0 is not below n",
        ),
        (
            Instruction::ScalarMultiply { slot, ciphertexts: small(&[5]), scalars: small(&[16]), bits: 4 },
            Status::Operand,
            "more than the declared 4 bits",
        ),
        (
            Instruction::ModMul { slot, left: single(&square), right: small(&[1]) },
            Status::Operand,
            "left 0 is not below the modulus",
        ),
        (
            Instruction::ModExp { slot, bases: small(&[2, 3]), exponents: small(&[1, 9]), bits: 3 },
            Status::Operand,
            "exponent 1 has more than the declared 3 bits",
        ),
        (
            Instruction::SetModulus { slot: Slot(7), modulus: batch(&[BigUint::from(1u32) << 300]) },
            Status::Operand,
            "even",
        ),
        (Instruction::SetModulus { slot: Slot(7), modulus: small(&[15]) }, Status::Operand, "bits"),
        (
            Instruction::SetKey {
                slot: Slot(7),
                n: batch(&[BigUint::from(3u32) << 510 | BigUint::from(1u32)]),
                blinding_base: Some(small(&[1])),
            },
            Status::Key,
            "refused",
        ),
    ];
    let mut instructions = vec![good()];
    for (instruction, _, _) in &bad {
        instructions.extend([instruction.clone(), good()]);
    }
    let outcomes = over_the_wire(&mut host, instructions);
    for (i, outcome) in outcomes.iter().enumerate() {
        if i % 2 == 0 {
            assert_eq!(decrypted(outcome), [42.into()], "instruction {i}");
        } else {
            let (_, status, part) = &bad[i / 2];
            refused(outcome, *status, part);
        }
    }
    let counts = host.metrics();
    assert_eq!((counts.of(Operation::Encrypt).done, counts.of(Operation::Encrypt).refused), (15, 3));
    assert_eq!((counts.of(Operation::Add).done, counts.of(Operation::Add).refused), (0, 4));
    assert_eq!(counts.of(Operation::Encrypt).elements, 15);
    assert!(counts.of(Operation::Encrypt).engine.as_nanos() > 0);
}

#[test]
fn a_refused_key_leaves_its_slot_empty() {
    let mut host = ready(CpuEngine::current());
    let even = Instruction::SetKey { slot: Slot(0), n: batch(&[key().modulus() - 1u32]), blinding_base: None };
    let outcomes = over_the_wire(&mut host, vec![even, encrypt(0, Blinding::Strict, &[1])]);
    refused(&outcomes[0], Status::Key, "even");
    refused(&outcomes[1], Status::Slot, "slot 0 is empty");
}

#[test]
fn keys_are_judged_as_everywhere() {
    // 512 bits protect nothing: refused unless the host was made to measure.
    let mut strict = Host::new(trusted(CpuEngine::current()), HostConfig::default()).unwrap();
    refused(&one(&mut strict, set_key(0)), Status::Key, "insecure_bench");
    let mut host = Host::new(trusted(CpuEngine::current()), config()).unwrap();
    let bare = Instruction::SetKey { slot: Slot(0), n: batch(&[key().modulus()]), blinding_base: None };
    assert_eq!(one(&mut host, bare), Outcome::Done);
    refused(&one(&mut host, encrypt(0, Blinding::Djn, &[1])), Status::Key, "no base");
    assert_eq!(decrypted(&one(&mut host, encrypt(0, Blinding::Strict, &[1]))), [1.into()]);
    let modulus = Instruction::SetModulus { slot: Slot(0), modulus: batch(&[key().modulus()]) };
    assert_eq!(one(&mut host, modulus), Outcome::Done);
    refused(&one(&mut host, encrypt(0, Blinding::Strict, &[1])), Status::Slot, "holds a modulus");
}

#[test]
fn constants_are_computed_once_and_remembered_within_bounds() {
    let mut host = Host::new(trusted(CpuEngine::current()), HostConfig { remembered: 2, ..config() }).unwrap();
    let modulus = |slot: u8, less: u32| Instruction::SetModulus {
        slot: Slot(slot),
        modulus: batch(&[(BigUint::from(1u32) << 512) - less]),
    };
    let mut computed = |instruction| {
        assert_eq!(one(&mut host, instruction), Outcome::Done);
        (host.metrics().constants_computed, host.remembered())
    };
    assert_eq!(computed(set_key(0)), (1, 1));
    assert_eq!(computed(set_key(0)), (1, 1));
    assert_eq!(computed(set_key(1)), (1, 1));
    assert_eq!(computed(modulus(2, 1)), (2, 2));
    assert_eq!(computed(set_key(2)), (2, 2));
    assert_eq!(computed(modulus(3, 3)), (3, 2));
    // The modulus used longest ago was forgotten.
    assert_eq!(computed(set_key(3)), (3, 2));
    assert_eq!(computed(modulus(3, 1)), (4, 2));
    // Another base of the same n is another key.
    let bare = Instruction::SetKey { slot: Slot(0), n: batch(&[key().modulus()]), blinding_base: None };
    assert_eq!(computed(bare), (5, 2));
}

#[test]
fn results_of_a_stream_are_bounded() {
    let limits = Limits { result_bytes: 128 * 10, ..Limits::default() };
    let mut host = Host::new(trusted(CpuEngine::current()), HostConfig { limits, ..config() }).unwrap();
    let outcomes = over_the_wire(
        &mut host,
        vec![
            set_key(0),
            encrypt(0, Blinding::Djn, &[1; 8]),
            encrypt(0, Blinding::Djn, &[1; 3]),
            encrypt(0, Blinding::Djn, &[1; 2]),
        ],
    );
    assert_eq!(decrypted(&outcomes[1]).len(), 8);
    refused(&outcomes[2], Status::Operand, "384 bytes of results, 256 of 1280 are left");
    assert_eq!(decrypted(&outcomes[3]).len(), 2);
}

// The seam.

/// The requests to an engine, in order.
type Calls = Arc<Mutex<Vec<String>>>;

/// Records calls, and passes them on; without fixed bases, as an accelerator may be.
#[derive(Debug)]
struct Recording {
    calls: Calls,
    inner: CpuEngine,
    spoil: Arc<AtomicBool>,
}

struct RecordingModulus {
    calls: Calls,
    inner: Arc<dyn PreparedModulus>,
    spoil: Arc<AtomicBool>,
}

impl ModExpEngine for Recording {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("recording", EngineKind::Simulated)
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let kind = match modulus {
            EngineModulus::Value(n) => format!("prepare N of {} bits", n.bits()),
            EngineModulus::SquareOf(n) => format!("prepare square of {} bits", n.bits()),
        };
        self.calls.lock().unwrap().push(kind);
        let (calls, spoil) = (Arc::clone(&self.calls), Arc::clone(&self.spoil));
        Ok(Arc::new(RecordingModulus { calls, inner: self.inner.prepare(modulus)?, spoil }))
    }
}

impl PreparedModulus for RecordingModulus {
    fn limbs(&self) -> usize {
        self.inner.limbs()
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        let call = |call| self.calls.lock().unwrap().push(call);
        let run = |job: &Job<'_>| match *job {
            Job::Multiply { a, b } => {
                call(format!("multiply {}x{}", a.len(), b.len()));
                let mut out = self.inner.multiply(a, b)?;
                if self.spoil.load(Ordering::Relaxed) {
                    out.words_mut().fill(u64::MAX);
                }
                Ok(Output::Integers(out))
            }
            Job::Pow { bases, exponents } => {
                call(format!("pow {}^{} bits", bases.len(), exponents.bits()));
                Ok(Output::Integers(self.inner.pow(bases, exponents)?))
            }
            other => Err(EngineError::Unsupported { engine: "recording".into(), job: other.name() }),
        };
        jobs.iter().map(run).collect()
    }
}

#[test]
fn the_engine_gets_exactly_what_the_paper_gives_its_logic() {
    let calls = Calls::default();
    let spoil = Arc::new(AtomicBool::new(false));
    let engine = Recording { calls: Arc::clone(&calls), inner: CpuEngine::current(), spoil: Arc::clone(&spoil) };
    let mut host = ready(engine);
    let taken = || std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(taken(), ["prepare square of 512 bits"]);
    // Strict: the product of three r shows that they are units; then rⁿ, then the product with 1 + m·n.
    let strict = one(&mut host, encrypt(0, Blinding::Strict, &[1, 2, 3]));
    assert_eq!(taken(), ["multiply 1x1", "multiply 1x1", "pow 3^512 bits", "multiply 3x3"]);
    // DJN, by an engine without fixed bases.
    let djn = one(&mut host, encrypt(0, Blinding::Djn, &[1, 2, 3]));
    assert_eq!(taken(), ["pow 3^256 bits", "multiply 3x3"]);
    assert_eq!(
        (decrypted(&strict), decrypted(&djn)),
        (vec![1.into(), 2.into(), 3.into()], vec![1.into(), 2.into(), 3.into()])
    );
    let slot = Slot(0);
    let ciphertexts = integers(&djn);
    one(&mut host, Instruction::ModExp { slot, bases: ciphertexts.clone(), exponents: small(&[3]), bits: 2 });
    assert_eq!(taken(), ["pow 3^2 bits"]);
    one(&mut host, Instruction::ModMul { slot, left: ciphertexts.clone(), right: small(&[3]) });
    assert_eq!(taken(), ["multiply 3x1"]);
    // What is refused never reaches the engine.
    one(&mut host, Instruction::ModMul { slot, left: ciphertexts.slice(0..2), right: ciphertexts.clone() });
    one(&mut host, Instruction::ModExp { slot, bases: ciphertexts.clone(), exponents: small(&[4]), bits: 2 });
    assert_eq!(taken(), [""; 0]);
    // An answer that cannot be right is refused.
    spoil.store(true, Ordering::Relaxed);
    let outcome = one(&mut host, Instruction::ModMul { slot, left: ciphertexts.clone(), right: small(&[3]) });
    refused(&outcome, Status::Engine, "the engine recording answered with an integer that is not below the modulus");
}

/// Prepares, and then fails at everything, or answers with the wrong shape.
#[derive(Debug)]
struct Failing {
    answer: Option<(usize, usize)>,
}

struct FailingModulus {
    limbs: usize,
    answer: Option<(usize, usize)>,
}

impl FailingModulus {
    fn answer(&self) -> Result<IntegerBatch, EngineError> {
        match self.answer {
            Some((len, limbs)) => Ok(IntegerBatch::zeros(len, limbs)),
            None => Err(EngineError::Failed { engine: "failing".into(), cause: "no clock".into() }),
        }
    }
}

impl ModExpEngine for Failing {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("failing", EngineKind::Simulated)
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        match modulus {
            EngineModulus::Value(n) if n.bits() > 1024 => {
                Err(BigIntError::ModulusBits { bits: n.bits(), square: false }.into())
            }
            EngineModulus::Value(n) => Ok(Arc::new(FailingModulus { limbs: n.as_limbs().len(), answer: self.answer })),
            EngineModulus::SquareOf(n) => {
                Ok(Arc::new(FailingModulus { limbs: 2 * n.as_limbs().len(), answer: self.answer }))
            }
        }
    }
}

impl PreparedModulus for FailingModulus {
    fn limbs(&self) -> usize {
        self.limbs
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        let run = |job: &Job<'_>| match job {
            Job::Multiply { .. } | Job::Pow { .. } => Ok(Output::Integers(self.answer()?)),
            other => Err(EngineError::Unsupported { engine: "failing".into(), job: other.name() }),
        };
        jobs.iter().map(run).collect()
    }
}

/// Takes longer for each product than the time of a request.
#[derive(Debug)]
struct Slow(CpuEngine);

const TIME: Duration = Duration::from_secs(2);

struct SlowModulus(Arc<dyn PreparedModulus>);

impl ModExpEngine for Slow {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("slow", EngineKind::Simulated)
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        Ok(Arc::new(SlowModulus(self.0.prepare(modulus)?)))
    }
}

impl PreparedModulus for SlowModulus {
    fn limbs(&self) -> usize {
        self.0.limbs()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        std::thread::sleep(TIME + Duration::from_millis(1));
        self.0.run(jobs)
    }
}

#[test]
fn late_instructions_are_refused() {
    let config = |time| HostConfig { time, ..config() };
    let modulus = Instruction::SetModulus { slot: Slot(0), modulus: batch(&[key().modulus()]) };
    let multiply = || Instruction::ModMul { slot: Slot(0), left: small(&[2]), right: small(&[3]) };
    let mut host = Host::new(trusted(Slow(CpuEngine::current())), config(TIME)).unwrap();
    for set in [Some(modulus), None] {
        // The time starts anew with each request. The modulus stays in its slot.
        let first = usize::from(set.is_some());
        let outcomes = over_the_wire(&mut host, set.into_iter().chain([multiply(), multiply()]).collect());
        assert_eq!(numbers(&integers(&outcomes[first])), [6u32.into()]);
        refused(&outcomes[first + 1], Status::Late, "the time of a request, 2s, is over");
    }
    assert_eq!((host.metrics().of(Operation::ModMul).done, host.metrics().of(Operation::ModMul).refused), (2, 2));

    // A key that comes late is not in its slot.
    let mut host = Host::new(trusted(CpuEngine::current()), config(Duration::ZERO)).unwrap();
    refused(&one(&mut host, set_key(0)), Status::Late, "the time of a request, 0ns, is over");
    assert_eq!(host.metrics().constants_computed, 0);
}

#[test]
fn a_failing_engine_fails_instructions_and_nothing_else() {
    let slot = Slot(0);
    let multiply = || Instruction::ModMul { slot, left: small(&[2, 3]), right: small(&[4]) };
    let cases: [(Option<(usize, usize)>, &str); 3] = [
        (None, "no clock"),
        (Some((1, 16)), "another number of integers"),
        (Some((2, 15)), "integers of another width"),
    ];
    for (answer, part) in cases {
        let mut host = ready(Failing { answer });
        let outcomes = over_the_wire(&mut host, vec![multiply(), multiply(), set_key(1)]);
        refused(&outcomes[0], Status::Engine, part);
        refused(&outcomes[1], Status::Engine, part);
        assert_eq!(outcomes[2], Outcome::Done);
        assert_eq!(host.metrics().of(Operation::ModMul).refused, 2);
        assert_eq!(host.metrics().of(Operation::ModMul).elements, 0);
    }
    // Whether numbers are units is found out with the engine too.
    let cases: [(Option<(usize, usize)>, &str); 5] = [
        (None, "no clock"),
        (Some((0, 16)), "another number of integers"),
        (Some((2, 16)), "another number of integers"),
        (Some((1, 15)), "integers of another width"),
        (Some((1, 16)), "a product that shares a factor with n, of numbers that do not"),
    ];
    for (answer, part) in cases {
        for given in [&[2, 3][..], &[2, 3, 4]] {
            let mut host = ready(Failing { answer });
            let instructions = vec![
                encrypt(0, Blinding::Strict, given),
                Instruction::Add { slot, left: small(given), right: small(&[4]) },
                Instruction::Add { slot, left: small(&[4]), right: small(given) },
                Instruction::ScalarMultiply { slot, ciphertexts: small(given), scalars: small(&[5]), bits: 8 },
            ];
            for outcome in over_the_wire(&mut host, instructions) {
                refused(&outcome, Status::Engine, part);
            }
        }
    }
    let mut host = ready(Failing { answer: None });
    let large = Instruction::SetModulus { slot, modulus: batch(&[(BigUint::from(1u32) << 2048) - 1u32]) };
    let outcomes = over_the_wire(&mut host, vec![large, multiply()]);
    refused(&outcomes[0], Status::Operand, "2048 bits");
    refused(&outcomes[1], Status::Slot, "empty");
    // The slot takes a key again.
    assert_eq!(one(&mut host, set_key(0)), Outcome::Done);
    refused(&one(&mut host, multiply()), Status::Engine, "no clock");
}
