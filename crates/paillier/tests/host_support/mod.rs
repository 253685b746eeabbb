//! A key, and short forms of instructions and outcomes, for the tests of the host.
#![allow(dead_code, unreachable_pub)]

use std::sync::{Arc, LazyLock};

use ciphermill_bigint::{IntegerBatch, ModExpEngine, SecretPolicy, TrustedEngine};
use ciphermill_paillier::host::{Host, HostConfig, Instruction, Outcome, Request, Response, Slot, Status};
use ciphermill_paillier::{Blinding, CiphertextVector, Csprng, KeyBits, PublicKey, SecretKey, SizePolicy};
use num_bigint::{BigInt, BigUint};

pub static OWNER: LazyLock<SecretKey> = LazyLock::new(|| {
    SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut Csprng::from_seed([5; 32])).unwrap()
});

pub fn key() -> &'static PublicKey {
    OWNER.public_key()
}

pub fn config() -> HostConfig {
    HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() }
}

pub fn batch(values: &[BigUint]) -> IntegerBatch {
    let limbs = values.iter().map(|v| v.bits().div_ceil(64) as usize).max().unwrap().max(1);
    let words = values.iter().flat_map(|value| {
        let mut words = value.to_u64_digits();
        words.resize(limbs, 0);
        words
    });
    IntegerBatch::from_words(limbs, words.collect())
}

pub fn single(value: &BigUint) -> IntegerBatch {
    batch(std::slice::from_ref(value))
}

pub fn small(values: &[u64]) -> IntegerBatch {
    IntegerBatch::from_u64s(values)
}

pub fn numbers(batch: &IntegerBatch) -> Vec<BigUint> {
    let bytes = |row: &[u64]| row.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    batch.rows().map(|row| BigUint::from_bytes_le(&bytes(row))).collect()
}

pub fn integers(outcome: &Outcome) -> IntegerBatch {
    match outcome {
        Outcome::Integers(batch) => batch.clone(),
        other => panic!("{other:?}"),
    }
}

pub fn decrypted(outcome: &Outcome) -> Vec<BigInt> {
    let ciphertexts = CiphertextVector::from_integers(key(), &integers(outcome)).unwrap();
    OWNER.decrypt(&ciphertexts).unwrap().to_bigints()
}

pub fn set_key(slot: u8) -> Instruction {
    let blinding_base = key().blinding_base().map(|base| batch(&[base]));
    Instruction::SetKey { slot: Slot(slot), n: batch(&[key().modulus()]), blinding_base }
}

pub fn encrypt(slot: u8, blinding: Blinding, values: &[u64]) -> Instruction {
    Instruction::Encrypt { slot: Slot(slot), blinding, plaintexts: small(values) }
}

/// One instruction after the key was set.
pub fn one(host: &mut Host, instruction: Instruction) -> Outcome {
    let mut response = host.execute(&Request { instructions: vec![instruction] });
    assert_eq!(response.outcomes.len(), 1);
    response.outcomes.remove(0)
}

/// Over the wire and back.
pub fn over_the_wire(host: &mut Host, instructions: Vec<Instruction>) -> Vec<Outcome> {
    let request = Request { instructions };
    let bytes = request.encode();
    assert_eq!(Request::decode(&bytes, host.limits()).unwrap(), request);
    let answer = host.serve(&bytes).unwrap();
    let response = Response::decode(&answer, host.limits()).unwrap();
    assert_eq!(response.encode(), answer);
    response.outcomes
}

pub fn refused(outcome: &Outcome, expected: Status, part: &str) {
    match outcome {
        Outcome::Refused { status, message } => {
            assert_eq!(*status, expected, "{message}");
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
        other => panic!("{other:?} instead of a refusal: {part}"),
    }
}

/// An engine of a test, which works on keys that protect nothing.
pub fn trusted(engine: impl ModExpEngine + 'static) -> TrustedEngine {
    TrustedEngine::new(Arc::new(engine), SecretPolicy::InsecureParameters).unwrap()
}

pub fn ready(engine: impl ModExpEngine + 'static) -> Host {
    let mut host = Host::new(trusted(engine), config()).unwrap();
    assert_eq!(one(&mut host, set_key(0)), Outcome::Done);
    host
}
