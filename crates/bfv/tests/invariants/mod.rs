//! Invariants of every input. The fuzz target and the corpus replay run exactly this function.
#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use std::sync::{Arc, LazyLock};

use ciphermill_bfv::parameters::TEST_32;
use ciphermill_bfv::serial::{self, GaloisKeysHeader};
use ciphermill_bfv::sums::{EncryptedSums, Segment, SumPlan, SumPublicKey, SumRequest};
use ciphermill_bfv::{
    BfvError, Ciphertext, Context, GaloisKeys, ParameterSet, PublicKey, RelinearizationKey, SecretKey, SecurityPolicy,
    SeededCiphertext,
};
use ciphermill_math::Isa;
use ciphermill_wire::{Kind, OVERHEAD, seal};

const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// Most bytes that loaded Galois keys of this test may take.
const MAX_LOADED: u64 = 16 << 20;

static CONTEXT: LazyLock<Context> = LazyLock::new(|| {
    let parameters = ParameterSet::named(TEST_32, INSECURE).expect("a named set");
    Context::new(&parameters, Isa::current()).expect("tables")
});

/// Sums of two parties by the small set.
static SUM_PLAN: LazyLock<Arc<SumPlan>> = LazyLock::new(|| {
    let parameters = Some(CONTEXT.parameters().clone());
    let segments = vec![Segment { len: 40, bound: 100 }, Segment { len: 3, bound: 1 << 40 }];
    let request = SumRequest { parameters, ..SumRequest::new(segments, 2) };
    Arc::new(SumPlan::new(&request, Isa::current()).expect("a plan"))
});

/// Reads an object and writes it again.
type Reader = fn(&Context, &[u8]) -> Result<Vec<u8>, BfvError>;

/// Every reader, its kind, and how many bytes stand before the name of a set: keys are written under the reader's name.
const READERS: [(Kind, Reader, Option<usize>); 10] = [
    (serial::PARAMETER_SET, |_, b| Ok(ParameterSet::from_bytes(b, INSECURE)?.to_bytes()), None),
    (serial::CIPHERTEXT, ciphertext, None),
    (serial::CIPHERTEXT, |c, b| SeededCiphertext::from_bytes(c, b)?.to_bytes(c), None),
    (serial::SECRET_KEY, secret_key, None),
    (serial::PUBLIC_KEY, |c, b| Ok(PublicKey::from_bytes(c, b)?.to_bytes()), Some(0)),
    (serial::RELINEARIZATION_KEY, |c, b| RelinearizationKey::from_bytes(c, b)?.to_bytes(c), Some(4)),
    (serial::GALOIS_KEYS, galois_keys, Some(4)),
    (serial::SUM_PLAN, |_, b| Ok(SumPlan::from_bytes(b, INSECURE, Isa::current())?.to_bytes()), None),
    (serial::SUMS, |_, b| Ok(EncryptedSums::from_bytes(&SUM_PLAN, b)?.to_bytes()), None),
    (serial::SUM_PUBLIC_KEY, |_, b| Ok(SumPublicKey::from_bytes(&SUM_PLAN, b)?.to_bytes()), None),
];

/// A ciphertext: a seeded one is written in full, and has been checked as a seeded one.
fn ciphertext(context: &Context, bytes: &[u8]) -> Result<Vec<u8>, BfvError> {
    let ciphertext = Ciphertext::from_bytes(context, bytes)?;
    match SeededCiphertext::from_bytes(context, bytes) {
        Ok(seeded) => {
            assert!(seeded.expand(context).expect("of this set") == ciphertext);
            seeded.to_bytes(context)
        }
        Err(_) => ciphertext.to_bytes(context),
    }
}

/// A secret key makes tables of its own set, so only small sets are tried.
fn secret_key(_: &Context, bytes: &[u8]) -> Result<Vec<u8>, BfvError> {
    assert!(bytes.len() < 1 << 20);
    let key = SecretKey::from_secret_key_bytes(bytes, INSECURE, Isa::current())?;
    Ok(key.to_secret_key_bytes().to_vec())
}

/// Galois keys, and their head by itself: it is sound if they are.
fn galois_keys(context: &Context, bytes: &[u8]) -> Result<Vec<u8>, BfvError> {
    let header = GaloisKeysHeader::read(bytes, INSECURE);
    let keys = GaloisKeys::read(context, bytes, MAX_LOADED)?;
    let header = header.expect("the head of sound keys");
    assert_eq!((header.tag(), header.sealed_len()), (keys.tag(), bytes.len() as u64));
    assert!(header.loaded_bytes() <= MAX_LOADED && header.requests().map(|r| r.element).eq(keys.elements()));
    keys.to_bytes(context)
}

/// The part of a key's body after the name.
fn nameless(bytes: &[u8], before: usize) -> &[u8] {
    let body = &bytes[OVERHEAD - 4..bytes.len() - 4];
    &body[before + 1 + usize::from(body[before])..]
}

/// Bytes as every object, and as the body of every object behind a good checksum; returns whether they are one.
pub fn bfv_objects(data: &[u8]) -> bool {
    if data.len() >= 1 << 20 {
        return false;
    }
    // Not `any`: every reader sees every input.
    READERS.into_iter().fold(false, |any, (kind, read, name)| {
        let sealed = seal(kind, serial::BODY_VERSION, data);
        [data, &sealed].into_iter().fold(any, |any, bytes| match read(&CONTEXT, bytes) {
            Ok(again) => {
                let same = again == bytes || name.is_some_and(|at| nameless(&again, at) == nameless(bytes, at));
                assert!(same, "an object of kind {kind} has one form");
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                any
            }
        })
    })
}
