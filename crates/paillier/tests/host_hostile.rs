//! The host against streams, and instructions, that are made to break it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::host_support::*;
use ciphermill_bigint::{
    CpuEngine, EngineError, EngineModulus, IntegerBatch, Job, ModExpEngine, Output, PreparedModulus,
};
use ciphermill_math::{EngineInfo, EngineKind};
use ciphermill_paillier::host::{
    FieldError, Host, HostConfig, Instruction, Limits, Operation, Outcome, REQUEST, Request, Response, STREAM_VERSION,
    Slot, Status, StreamError,
};
use ciphermill_paillier::{Blinding, Csprng};
use ciphermill_wire::{WireError, seal};
use num_bigint::BigUint;

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

/// Streams are read within limits; a caller without a stream is held to the same ones.
#[test]
fn instructions_that_no_stream_can_hold_are_refused() {
    let limits = Limits { elements: 3, slots: 4, modulus_bits: 1024, exponent_bits: 100, ..Limits::default() };
    let mut host = Host::new(trusted(CpuEngine::current()), HostConfig { limits, ..config() }).unwrap();
    let slot = Slot(0);
    let (none, two, four) = (IntegerBatch::zeros(0, 8), small(&[3, 5]), small(&[1, 2, 3, 4]));
    let wide = IntegerBatch::from_words(17, [[1].as_slice(), &[0; 16]].concat());
    let n = || batch(&[key().modulus()]);
    let one_small = || small(&[2]);
    let encryption = |blinding, plaintexts| Instruction::Encrypt { slot, blinding, plaintexts };
    let power = |bases, exponents, bits| Instruction::ModExp { slot, bases, exponents, bits };
    let scaled = |ciphertexts, scalars, bits| Instruction::ScalarMultiply { slot, ciphertexts, scalars, bits };
    let sum = |left, right| Instruction::Add { slot, left, right };
    let product = |left, right| Instruction::ModMul { slot, left, right };
    let one_only = "2 lies outside 1 to 1";
    let (empty, many, broad) = ("0 lies outside 1 to 3", "4 lies outside 1 to 3", "17 lies outside 1 to 16");
    let operands: Vec<(Instruction, &str, &str)> = vec![
        (encryption(Blinding::Strict, none.clone()), "plaintexts", empty),
        (encryption(Blinding::Djn, none.clone()), "plaintexts", empty),
        (encryption(Blinding::Djn, four.clone()), "plaintexts", many),
        (encryption(Blinding::Djn, wide.clone()), "plaintexts", broad),
        (sum(none.clone(), one_small()), "left", empty),
        (sum(none.clone(), none.clone()), "left", empty),
        (sum(one_small(), none.clone()), "right", empty),
        (sum(one_small(), wide.clone()), "right", broad),
        (scaled(none.clone(), one_small(), 9), "ciphertexts", empty),
        (scaled(one_small(), none.clone(), 9), "scalars", empty),
        (scaled(one_small(), one_small(), 0), "bits", "0 lies outside 1 to 100"),
        (product(none.clone(), one_small()), "left", empty),
        (product(one_small(), four.clone()), "right", many),
        (power(none.clone(), one_small(), 9), "bases", empty),
        (power(one_small(), none.clone(), 9), "exponents", empty),
        (power(one_small(), one_small(), 101), "bits", "101 lies outside 1 to 100"),
        (power(one_small(), wide.clone(), 100), "exponents", "17 lies outside 1 to 2"),
        (Instruction::ModMul { slot: Slot(4), left: one_small(), right: one_small() }, "slot", "4 lies outside 0 to 3"),
    ];
    assert_eq!(one(&mut host, set_key(0)), Outcome::Done);
    for (instruction, field, part) in operands {
        refused(&one(&mut host, instruction), Status::Operand, &format!("{field}: {part}"));
    }
    assert_eq!(decrypted(&one(&mut host, encrypt(0, Blinding::Djn, &[6]))), [6.into()]);
    let keys = [
        (Instruction::SetKey { slot, n: none.clone(), blinding_base: None }, "n: 0 lies outside 1 to 1".to_owned()),
        (Instruction::SetKey { slot, n: two.clone(), blinding_base: None }, format!("n: {one_only}")),
        (Instruction::SetKey { slot, n: wide.clone(), blinding_base: None }, "n: 17 lies outside 1 to 8".to_owned()),
        (Instruction::SetKey { slot, n: n(), blinding_base: Some(two.clone()) }, format!("blinding base: {one_only}")),
        (Instruction::SetModulus { slot, modulus: two }, format!("modulus: {one_only}")),
        (Instruction::SetModulus { slot, modulus: none }, "modulus: 0 lies outside 1 to 1".to_owned()),
    ];
    for (instruction, part) in keys {
        // Later instructions do not find the earlier key.
        assert_eq!(one(&mut host, set_key(0)), Outcome::Done);
        refused(&one(&mut host, instruction), Status::Operand, &part);
        refused(&one(&mut host, encrypt(0, Blinding::Strict, &[1])), Status::Slot, "slot 0 is empty");
    }
    let limits = Limits { instructions: 2, ..Limits::default() };
    let mut host = Host::new(trusted(CpuEngine::current()), HostConfig { limits, ..config() }).unwrap();
    let outcomes = host.execute(&Request { instructions: vec![set_key(0), set_key(1), set_key(0)] }).outcomes;
    assert_eq!(outcomes[..2], [Outcome::Done, Outcome::Done]);
    refused(&outcomes[2], Status::Operand, "instructions: 3 lies outside 0 to 2");
    refused(&one(&mut host, encrypt(0, Blinding::Strict, &[1])), Status::Slot, "slot 0 is empty");
}

/// Counts the moduli that it holds constants of.
#[derive(Debug, Default)]
struct Counting {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct CountedModulus {
    inner: Arc<dyn PreparedModulus>,
    now: Arc<AtomicUsize>,
}

impl ModExpEngine for Counting {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("counting", EngineKind::Simulated)
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let inner = CpuEngine::current().prepare(modulus)?;
        self.most.fetch_max(self.now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(Arc::new(CountedModulus { inner, now: Arc::clone(&self.now) }))
    }
}

impl PreparedModulus for CountedModulus {
    fn limbs(&self) -> usize {
        self.inner.limbs()
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        self.inner.run(jobs)
    }
}

impl Drop for CountedModulus {
    fn drop(&mut self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Constants are much larger than the request that makes the host compute them.
#[test]
fn a_stream_of_many_moduli_holds_the_constants_of_few() {
    for remembered in [0, 1, 5] {
        let limits = Limits { slots: 3, ..Limits::default() };
        let engine = Counting::default();
        let (now, most) = (Arc::clone(&engine.now), Arc::clone(&engine.most));
        let mut host = Host::new(trusted(engine), HostConfig { limits, remembered, ..config() }).unwrap();
        let moduli: Vec<BigUint> = (0..60u32).map(|i| (BigUint::from(1u32) << 512) - (2 * i + 1)).collect();
        let value = BigUint::from(1u32) << 511;
        let mut instructions = Vec::new();
        for (i, modulus) in moduli.iter().enumerate() {
            let slot = Slot((i % 3) as u8);
            instructions.push(Instruction::SetModulus { slot, modulus: single(modulus) });
            instructions.push(Instruction::ModMul { slot, left: single(&value), right: small(&[6]) });
        }
        let outcomes = over_the_wire(&mut host, instructions);
        for (modulus, outcomes) in moduli.iter().zip(outcomes.chunks(2)) {
            assert_eq!(numbers(&integers(&outcomes[1])), [&value * 6u32 % modulus]);
        }
        let bound = 3 + remembered;
        assert!(most.load(Ordering::Relaxed) <= bound, "{} moduli, at most {bound}", most.load(Ordering::Relaxed));
        drop(host);
        assert_eq!(now.load(Ordering::Relaxed), 0);
    }
}
