//! Invariants of every input. The fuzz targets and the corpus replay run exactly these functions.
#![allow(dead_code, unreachable_pub, reason = "each fuzz target includes this file too, and runs one of the functions")]

use std::error::Error;
use std::sync::LazyLock;

use ciphermill_bigint::TrustedEngine;
use ciphermill_paillier::fixed_point::{FIXED_POINT_VECTOR, FIXED_POINT_VERSION, FixedPointVector};
use ciphermill_paillier::host::{Host, HostConfig, Limits, REQUEST, RESPONSE, Request, Response, STREAM_VERSION};
use ciphermill_paillier::packing::{PACKED_VECTOR, PACKED_VERSION, PackedCiphertextVector};
use ciphermill_paillier::weights::{PublicWeights, WEIGHTS, WEIGHTS_VERSION};
use ciphermill_paillier::{CiphertextVector, PlaintextVector, PublicKey, SecretKey, SizePolicy, serial};
use ciphermill_wire::{Kind, seal};

const POLICY: SizePolicy = SizePolicy::InsecureBench;

/// A key of 512 bits, whose vectors the seeds are.
static KEY: LazyLock<PublicKey> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../../fuzz/corpus/paillier_objects/sealed_public_key");
    PublicKey::from_bytes(bytes, POLICY).expect("a sound key")
});

/// Reads an object and writes it again.
type Reader = fn(&[u8]) -> Result<Vec<u8>, Box<dyn Error>>;

/// Every reader, its kind and version.
const READERS: [(Kind, u16, Reader); 7] = [
    (serial::PUBLIC_KEY, serial::BODY_VERSION, |b| Ok(PublicKey::from_bytes(b, POLICY)?.to_bytes())),
    (serial::SECRET_KEY, serial::BODY_VERSION, |b| {
        Ok(SecretKey::from_secret_key_bytes(b, POLICY)?.to_secret_key_bytes().to_vec())
    }),
    (serial::CIPHERTEXT_VECTOR, serial::BODY_VERSION, |b| Ok(CiphertextVector::from_bytes(&KEY, b)?.to_bytes()?)),
    (serial::PLAINTEXT_VECTOR, serial::BODY_VERSION, |b| {
        Ok(PlaintextVector::from_plaintext_bytes(&KEY, b)?.to_plaintext_bytes()?.to_vec())
    }),
    (WEIGHTS, WEIGHTS_VERSION, |b| Ok(PublicWeights::from_bytes(b)?.to_bytes())),
    (FIXED_POINT_VECTOR, FIXED_POINT_VERSION, |b| Ok(FixedPointVector::from_bytes(&KEY, b)?.to_bytes()?)),
    (PACKED_VECTOR, PACKED_VERSION, |b| Ok(PackedCiphertextVector::from_bytes(&KEY, b)?.to_bytes()?)),
];

/// Bytes as every object, and as the body of every object behind a good checksum; returns whether they are one.
pub fn paillier_objects(data: &[u8]) -> bool {
    if data.len() >= 1 << 16 {
        return false;
    }
    // Not `any`: every reader sees every input.
    READERS.into_iter().fold(false, |any, (kind, version, read)| {
        let sealed = seal(kind, version, data);
        [data, &sealed].into_iter().fold(any, |any, bytes| match read(bytes) {
            Ok(again) => {
                assert!(again == bytes, "an object of kind {kind} has one form");
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                any
            }
        })
    })
}

/// Bytes as a stream for the host, and as the body of one behind a good checksum; returns whether they are one. A readable
/// stream is executed, within limits that keep it short.
pub fn paillier_host(data: &[u8]) -> bool {
    let limits = Limits {
        body_bytes: 1 << 16,
        instructions: 6,
        elements: 4,
        slots: 2,
        modulus_bits: 1024,
        exponent_bits: 32,
        ..Limits::default()
    };
    let sealed = seal(REQUEST, STREAM_VERSION, data);
    let request = [data, &sealed].into_iter().fold(false, |any, bytes| match Request::decode(bytes, &limits) {
        Ok(request) => {
            assert!(request.encode() == bytes, "a stream has one form");
            let config = HostConfig { limits, policy: POLICY, ..HostConfig::default() };
            let mut host = Host::new(TrustedEngine::cpu(), config).expect("randomness");
            let response = host.execute(&request);
            assert_eq!(response.outcomes.len(), request.instructions.len());
            let encoded = response.encode();
            assert!(Response::decode(&encoded, &Limits::default()).expect("its own response").encode() == encoded);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            any
        }
    });
    let sealed = seal(RESPONSE, STREAM_VERSION, data);
    [data, &sealed].into_iter().fold(request, |any, bytes| match Response::decode(bytes, &limits) {
        Ok(response) => {
            assert!(response.encode() == bytes, "a response has one form");
            true
        }
        Err(_) => any,
    })
}
