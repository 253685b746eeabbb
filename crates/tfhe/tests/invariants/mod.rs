//! Invariants of every input. The fuzz targets and the corpus replay run exactly these functions.
#![allow(dead_code, unreachable_pub, reason = "each fuzz target uses one")]

use ciphermill_tfhe::ggsw::GgswCiphertext;
use ciphermill_tfhe::glwe::GlweCiphertext;
use ciphermill_tfhe::server_key::{KeyHeader, validate_key};
use ciphermill_tfhe::word::{MAX_POSITIONS, Table, Word};
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, KeyKind, KeyTag, ParameterSet, SecurityPolicy, SelectorFile, ServerKey, TestVector,
    TfheError, judgement, serial,
};
use ciphermill_wire::{Kind, seal};

const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The object that a reader made of some bytes, as bytes again. A refusal has a text.
fn outcome(read: Result<Vec<u8>, TfheError>) -> Option<Vec<u8>> {
    match read {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Reads an object and writes it again.
type Reader = fn(&[u8]) -> Result<Vec<u8>, TfheError>;

/// An accepted object has exactly the bytes it was read from.
fn reads(kind: Kind, body: &[u8], whole: &[u8], read: Reader) -> bool {
    // A checksum stops nearly every mutation at the envelope, so the bytes are tried as a body of each version too.
    let sealed = [serial::BODY_VERSION, serial::BODY_VERSION + 1].map(|version| seal(kind, version, body));
    [whole, &sealed[0], &sealed[1]].into_iter().fold(false, |any, bytes| match outcome(read(bytes)) {
        Some(again) => {
            assert!(again == bytes, "an object of kind {kind} has one form");
            true
        }
        None => any,
    })
}

/// Bytes as every small object; returns whether they are one.
pub fn tfhe_objects(data: &[u8]) -> bool {
    let readers: [(Kind, Reader); 7] = [
        (serial::PARAMETER_SET, |b| ParameterSet::from_bytes(b, INSECURE).map(|p| p.to_bytes())),
        (serial::CIPHERTEXT, |b| Ciphertext::from_bytes(b).inspect(judge).map(|c| c.to_bytes())),
        (serial::GLWE, |b| TestVector::from_bytes(b).map(|v| v.to_bytes())),
        (serial::GLWE, |b| GlweCiphertext::<u32>::from_bytes(b).map(|g| g.to_bytes())),
        (serial::GLWE, |b| GlweCiphertext::<u64>::from_bytes(b).map(|g| g.to_bytes())),
        (serial::GGSW, |b| GgswCiphertext::<u32>::from_bytes(b).map(|g| g.to_bytes())),
        (serial::GGSW, |b| GgswCiphertext::<u64>::from_bytes(b).map(|g| g.to_bytes())),
    ];
    // Not `any`: every reader sees every input.
    readers.into_iter().fold(false, |any, (kind, read)| reads(kind, data, data, read) || any)
}

/// Every accepted label of a ciphertext can be judged and computed with.
fn judge(ciphertext: &Ciphertext) {
    let bounds = ciphertext.bounds();
    let derived = [1, -1, 2, i32::MIN].map(|factor| bounds.scale(factor));
    for bounds in [bounds, bounds.add(&bounds), bounds.sub(&bounds)].into_iter().chain(derived) {
        let Some(range) = bounds.range() else { continue };
        let log2 = judgement::log2_p_output(&range, bounds.variance().unwrap_or(0.0));
        assert!(log2 <= 0.0, "{bounds:?}: {log2}");
    }
}

/// Bytes as a word or a table; returns whether they are one.
pub fn tfhe_words(data: &[u8]) -> bool {
    let readers: [(Kind, Reader); 2] = [
        (serial::WORD, |b| Word::from_bytes(b).map(|word| word.to_bytes())),
        (serial::TABLE, |b| Table::from_bytes(b).inspect(evaluate).map(|table| table.to_bytes())),
    ];
    readers.into_iter().fold(false, |any, (kind, read)| reads(kind, data, data, read) || any)
}

/// Every accepted table has a value for all digits, at positions that exist.
fn evaluate(table: &Table) {
    let selectors = table.selectors();
    assert!(selectors.iter().all(|selector| usize::from(selector.position) < MAX_POSITIONS));
    assert!(table.depth() >= usize::from(!selectors.is_empty()));
    for seed in [0u8, 1, 2, 3, 0x5b] {
        let digits = table.value(&|position| (seed ^ position) & 3);
        assert!(digits.len() == table.output_digits() && digits.iter().all(|&digit| digit < 4));
    }
    // Nothing is selected.
    let empty = SelectorFile::new().check(table, KeyTag(0));
    assert_eq!(empty.is_ok(), selectors.is_empty());
}

/// Bytes as secret keys; returns whether they are some.
pub fn tfhe_client_key(data: &[u8]) -> bool {
    reads(serial::SECRET_KEY, data, data, |b| {
        ClientKey::from_secret_key_bytes(b, INSECURE).map(|key| key.to_secret_key_bytes().to_vec())
    })
}

/// Most bytes that a key of this test may take in memory: a seeded key-switching key grows by the factor n + 1.
const MAX_EXPANDED: u64 = 64 << 20;

/// Two keys, the first as long as the first two bytes say, as bodies of a bootstrapping and a key-switching key; or all as
/// one sealed key. Returns whether there is a key.
pub fn tfhe_server_key(data: &[u8]) -> bool {
    let kinds = [KeyKind::Bootstrap, KeyKind::Keyswitch, KeyKind::Conversion];
    let whole = kinds.map(|kind| judged(kind, data)).contains(&true);
    let Some((len, bodies)) = data.split_first_chunk() else { return whole };
    let (bootstrap, keyswitch) = bodies.split_at(bodies.len().min(usize::from(u16::from_le_bytes(*len))));
    let bootstrap = seal(serial::BOOTSTRAP_KEY, 1, bootstrap);
    let keyswitch = seal(serial::KEYSWITCH_KEY, 1, keyswitch);
    let (one, other) = (judged(KeyKind::Bootstrap, &bootstrap), judged(KeyKind::Keyswitch, &keyswitch));
    for backend in [Backend::Fft, Backend::Ntt] {
        if small(KeyKind::Bootstrap, &bootstrap) && small(KeyKind::Keyswitch, &keyswitch) {
            match ServerKey::load(&bootstrap[..], &keyswitch[..], backend, INSECURE, &mut |_, _| ()) {
                Ok(key) => assert!(one && other && key.memory_bytes() > 0),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    whole || one || other
}

/// Whether a key, as its header describes it, is small enough for a test once it is expanded.
fn small(kind: KeyKind, bytes: &[u8]) -> bool {
    KeyHeader::open(kind, bytes, INSECURE)
        .is_ok_and(|(_, header, p)| header.sealed_len() * (p.lwe_dimension.0 as u64 + 1) < MAX_EXPANDED)
}

fn judged(kind: KeyKind, bytes: &[u8]) -> bool {
    let opened = KeyHeader::open(kind, bytes, INSECURE).map(|(_, header, parameters)| (header, parameters));
    match (opened, validate_key(kind, bytes, INSECURE)) {
        (Ok((opened, parameters)), Ok(header)) => {
            assert_eq!(header.sealed_len(), bytes.len() as u64);
            assert!(header == opened && header.spec() == parameters.spec());
            true
        }
        // The head may be sound where what follows is not, never the other way round.
        (_, Err(error)) => {
            assert!(!error.to_string().is_empty());
            false
        }
        (Err(error), Ok(_)) => panic!("judged sound, and not to be opened: {error}"),
    }
}
