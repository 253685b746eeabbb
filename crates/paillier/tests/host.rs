//! The host: streams against the crate's own decryption, the seam to an engine, and hostile streams.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use ciphermill_math::bigint::{
    BigIntError, CpuEngine, EngineError, EngineModulus, Exponents, IntegerBatch, ModExpEngine, PreparedBase,
    PreparedModulus,
};
use ciphermill_paillier::host::{
    FieldError, Host, HostConfig, Instruction, Limits, Operation, Outcome, REQUEST, Request, Response, STREAM_VERSION,
    Slot, Status, StreamError,
};
use ciphermill_paillier::{Blinding, CiphertextVector, Csprng, KeyBits, PublicKey, SecretKey, SizePolicy};
use ciphermill_wire::{WireError, seal};
use num_bigint::{BigInt, BigUint};

static OWNER: LazyLock<SecretKey> = LazyLock::new(|| {
    SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut Csprng::from_seed([5; 32])).unwrap()
});

fn key() -> &'static PublicKey {
    OWNER.public_key()
}

fn config() -> HostConfig {
    HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() }
}

fn batch(values: &[BigUint]) -> IntegerBatch {
    let limbs = values.iter().map(|v| v.bits().div_ceil(64) as usize).max().unwrap().max(1);
    let words = values.iter().flat_map(|value| {
        let mut words = value.to_u64_digits();
        words.resize(limbs, 0);
        words
    });
    IntegerBatch::from_words(limbs, words.collect())
}

fn single(value: &BigUint) -> IntegerBatch {
    batch(std::slice::from_ref(value))
}

fn small(values: &[u64]) -> IntegerBatch {
    IntegerBatch::from_u64s(values)
}

fn numbers(batch: &IntegerBatch) -> Vec<BigUint> {
    let bytes = |row: &[u64]| row.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    batch.rows().map(|row| BigUint::from_bytes_le(&bytes(row))).collect()
}

fn integers(outcome: &Outcome) -> IntegerBatch {
    match outcome {
        Outcome::Integers(batch) => batch.clone(),
        other => panic!("{other:?}"),
    }
}

fn decrypted(outcome: &Outcome) -> Vec<BigInt> {
    let ciphertexts = CiphertextVector::from_integers(key(), &integers(outcome)).unwrap();
    OWNER.decrypt(&ciphertexts).unwrap().to_bigints()
}

fn set_key(slot: u8) -> Instruction {
    let blinding_base = key().blinding_base().map(|base| batch(&[base]));
    Instruction::SetKey { slot: Slot(slot), n: batch(&[key().modulus()]), blinding_base }
}

fn encrypt(slot: u8, blinding: Blinding, values: &[u64]) -> Instruction {
    Instruction::Encrypt { slot: Slot(slot), blinding, plaintexts: small(values) }
}

/// One instruction after the key was set.
fn one(host: &mut Host, instruction: Instruction) -> Outcome {
    let mut response = host.execute(&Request { instructions: vec![instruction] });
    assert_eq!(response.outcomes.len(), 1);
    response.outcomes.remove(0)
}

/// Over the wire and back.
fn over_the_wire(host: &mut Host, instructions: Vec<Instruction>) -> Vec<Outcome> {
    let request = Request { instructions };
    let bytes = request.encode();
    assert_eq!(Request::decode(&bytes, host.limits()).unwrap(), request);
    let answer = host.serve(&bytes).unwrap();
    let response = Response::decode(&answer, host.limits()).unwrap();
    assert_eq!(response.encode(), answer);
    response.outcomes
}

fn refused(outcome: &Outcome, expected: Status, part: &str) {
    match outcome {
        Outcome::Refused { status, message } => {
            assert_eq!(*status, expected, "{message}");
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
        other => panic!("{other:?} instead of a refusal: {part}"),
    }
}

fn ready(engine: impl ModExpEngine + 'static) -> Host {
    let mut host = Host::new(Arc::new(engine), config()).unwrap();
    assert_eq!(one(&mut host, set_key(0)), Outcome::Done);
    host
}

#[test]
fn computes_what_the_crate_decrypts() {
    let mut host = Host::new(Arc::new(CpuEngine::current()), config()).unwrap();
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
    let mut strict = Host::new(Arc::new(CpuEngine::current()), HostConfig::default()).unwrap();
    refused(&one(&mut strict, set_key(0)), Status::Key, "insecure_bench");
    let mut host = Host::new(Arc::new(CpuEngine::current()), config()).unwrap();
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
    let engine = Arc::new(CpuEngine::current());
    let mut host = Host::new(engine, HostConfig { remembered: 2, ..config() }).unwrap();
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
    let mut host = Host::new(Arc::new(CpuEngine::current()), HostConfig { limits, ..config() }).unwrap();
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

/// What an engine was asked for, in order.
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
    fn name(&self) -> &str {
        "recording"
    }

    fn path(&self) -> &str {
        "none"
    }

    fn is_constant_time(&self) -> bool {
        false
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

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.calls.lock().unwrap().push(format!("multiply {}x{}", a.len(), b.len()));
        let mut out = self.inner.multiply(a, b)?;
        if self.spoil.load(Ordering::Relaxed) {
            out.words_mut().fill(u64::MAX);
        }
        Ok(out)
    }

    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        self.calls.lock().unwrap().push(format!("pow {}^{} bits", bases.len(), exponents.bits()));
        self.inner.pow(bases, exponents)
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
    // An answer that cannot be right is no answer.
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
    fn name(&self) -> &str {
        "failing"
    }

    fn path(&self) -> &str {
        "none"
    }

    fn is_constant_time(&self) -> bool {
        false
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

    fn multiply(&self, _: &IntegerBatch, _: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.answer()
    }

    fn pow(&self, _: &IntegerBatch, _: &Exponents) -> Result<IntegerBatch, EngineError> {
        self.answer()
    }

    fn fixed_base(&self, _: &IntegerBatch, _: u32) -> Result<Option<Box<dyn PreparedBase>>, EngineError> {
        Ok(None)
    }
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

// Hostile streams.

fn stream(instructions: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut body = (instructions.len() as u32).to_le_bytes().to_vec();
    for (code, payload) in instructions {
        body.push(*code);
        body.extend((payload.len() as u32).to_le_bytes());
        body.extend(payload);
    }
    seal(REQUEST, STREAM_VERSION, &body)
}

/// Length, limbs, words.
fn raw(len: u32, limbs: u16, words: &[u64]) -> Vec<u8> {
    let mut out = len.to_le_bytes().to_vec();
    out.extend(limbs.to_le_bytes());
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

fn field(bytes: &[u8], limits: &Limits) -> (usize, &'static str, FieldError) {
    match Request::decode(bytes, limits).unwrap_err() {
        StreamError::Field { index, field, cause } => (index, field, cause),
        other => panic!("{other}"),
    }
}

#[test]
fn malformed_instructions_are_named() {
    let limits = Limits { elements: 4, instructions: 3, exponent_bits: 4096, ..Limits::default() };
    let good = (4, [vec![0], raw(1, 1, &[1]), raw(1, 1, &[1])].concat());
    let after = |bad: (u8, Vec<u8>)| field(&stream(&[good.clone(), bad]), &limits);
    let bound = |given, min, max| FieldError::Bound { given, min, max };
    assert_eq!(after((0, vec![0])), (1, "code", FieldError::Unknown { given: 0 }));
    assert_eq!(after((8, vec![0])), (1, "code", FieldError::Unknown { given: 8 }));
    assert_eq!(after((4, vec![])), (1, "slot", FieldError::Truncated { needed: 1, available: 0 }));
    assert_eq!(after((4, vec![16])), (1, "slot", bound(16, 0, 15)));
    assert_eq!(after((3, vec![0, 2])), (1, "blinding", FieldError::Unknown { given: 2 }));
    assert_eq!(after((1, vec![0, 2])), (1, "blinding base", FieldError::Unknown { given: 2 }));
    assert_eq!(after((4, [vec![0], raw(0, 1, &[])].concat())), (1, "left", bound(0, 1, 4)));
    assert_eq!(after((4, [vec![0], raw(5, 1, &[0; 5])].concat())), (1, "left", bound(5, 1, 4)));
    assert_eq!(after((4, [vec![0], raw(u32::MAX, u16::MAX, &[])].concat())), (1, "left", bound(u32::MAX.into(), 1, 4)));
    assert_eq!(after((4, [vec![0], raw(1, 0, &[])].concat())), (1, "left", bound(0, 1, 128)));
    assert_eq!(after((4, [vec![0], raw(1, 129, &[])].concat())), (1, "left", bound(129, 1, 128)));
    assert_eq!(after((1, [vec![0, 0], raw(1, 65, &[])].concat())), (1, "n", bound(65, 1, 64)));
    assert_eq!(after((2, [vec![0], raw(2, 4, &[])].concat())), (1, "modulus", bound(2, 1, 1)));
    let short = FieldError::Truncated { needed: 16, available: 8 };
    assert_eq!(after((6, [vec![0], raw(1, 1, &[1]), raw(2, 1, &[1])].concat())), (1, "right", short));
    let trailing = [vec![0], raw(1, 1, &[1]), raw(1, 1, &[1]), vec![9]].concat();
    assert_eq!(after((6, trailing)), (1, "end", FieldError::Trailing { given: 1 }));
    let bits = |bits: u32| [vec![0], bits.to_le_bytes().to_vec(), raw(1, 1, &[1])].concat();
    assert_eq!(after((7, bits(0))), (1, "bits", bound(0, 1, 4096)));
    assert_eq!(after((5, bits(4097))), (1, "bits", bound(4097, 1, 4096)));
    // An exponent has no more limbs than its declared bits take.
    assert_eq!(after((7, [bits(64), raw(1, 2, &[1, 0])].concat())), (1, "exponents", bound(2, 1, 1)));
}

#[test]
fn malformed_streams_are_refused_as_a_whole() {
    let mut host = ready(CpuEngine::current());
    let limits = Limits { instructions: 2, body_bytes: 4096, ..Limits::default() };
    let good = Request { instructions: vec![encrypt(0, Blinding::Djn, &[1])] }.encode();
    assert!(Request::decode(&good, &limits).is_ok());
    let many = Request { instructions: vec![encrypt(0, Blinding::Djn, &[1]); 3] }.encode();
    let error = Request::decode(&many, &limits).unwrap_err();
    assert!(matches!(error, StreamError::Instructions { given: 3, limit: 2 }), "{error}");
    let large = Request { instructions: vec![encrypt(0, Blinding::Djn, &[1; 600])] }.encode();
    assert!(matches!(Request::decode(&large, &limits), Err(StreamError::Wire(WireError::TooLarge { .. }))));
    // A count that the bytes do not hold, and bytes that the count does not.
    let lying = seal(REQUEST, STREAM_VERSION, &2u32.to_le_bytes());
    assert_eq!(field(&lying, &limits), (0, "code", FieldError::Truncated { needed: 1, available: 0 }));
    let trailing = seal(REQUEST, STREAM_VERSION, &[0, 0, 0, 0, 7]);
    assert!(matches!(
        Request::decode(&trailing, &limits),
        Err(StreamError::Wire(WireError::TrailingBytes { given: 1 }))
    ));
    let response = Response::default().encode();
    assert!(matches!(Request::decode(&response, &limits), Err(StreamError::Wire(WireError::WrongKind { .. }))));
    let newer = seal(REQUEST, STREAM_VERSION + 1, &[0; 4]);
    assert!(matches!(Request::decode(&newer, &limits), Err(StreamError::Wire(WireError::UnsupportedVersion { .. }))));
    // Every cut and every flipped bit of a stream; the envelope's checksums find them all.
    for at in 0..good.len() {
        assert!(host.serve(&good[..at]).is_err());
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(host.serve(&flipped).is_err());
    }
    assert_eq!(host.metrics().streams_refused, 2 * good.len() as u64);
    assert_eq!(host.metrics().of(Operation::Encrypt).done, 0);
    assert!(host.serve(&good).is_ok());
}

#[test]
fn streams_with_right_checksums_and_wrong_bytes_never_panic() {
    let mut host = ready(CpuEngine::current());
    let mut rng = Csprng::from_seed([6; 32]);
    let ciphertexts = integers(&one(&mut host, encrypt(0, Blinding::Djn, &[1, 2])));
    let slot = Slot(0);
    let request = Request {
        instructions: vec![
            set_key(1),
            Instruction::SetModulus { slot: Slot(2), modulus: batch(&[(BigUint::from(1u32) << 300) - 1u32]) },
            encrypt(0, Blinding::Strict, &[3]),
            Instruction::Add { slot, left: ciphertexts.clone(), right: ciphertexts.clone() },
            Instruction::ScalarMultiply { slot, ciphertexts: ciphertexts.clone(), scalars: small(&[9]), bits: 8 },
            Instruction::ModMul { slot, left: ciphertexts.clone(), right: small(&[9]) },
            Instruction::ModExp { slot, bases: ciphertexts, exponents: small(&[9]), bits: 8 },
        ],
    };
    let sealed = request.encode();
    let body = &sealed[24..sealed.len() - 4];
    let response = host.execute(&request).encode();
    let (mut read, mut executed) = (0, 0);
    for _ in 0..400 {
        let mut draws = [0; 4];
        rng.fill_u64(&mut draws).unwrap();
        // Half of them where the shapes are, at the front of an instruction.
        let mut changed = body.to_vec();
        for draw in &draws[..1 + (draws[3] % 3) as usize] {
            let at = (*draw >> 16) as usize % changed.len();
            changed[at] ^= *draw as u8;
        }
        let bytes = seal(REQUEST, STREAM_VERSION, &changed);
        if let Ok(request) = Request::decode(&bytes, host.limits()) {
            read += 1;
            executed += host.execute(&request).outcomes.len();
        }
        let mut answer = response[24..response.len() - 4].to_vec();
        let at = draws[2] as usize % answer.len();
        answer[at] ^= draws[2].to_le_bytes()[7];
        let _ = Response::decode(&seal(ciphermill_paillier::host::RESPONSE, STREAM_VERSION, &answer), host.limits());
    }
    assert!(read > 50 && executed >= read, "{read} streams were read");
}
