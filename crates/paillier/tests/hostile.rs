//! Bytes that are not an object, or not the requested object.

use crate::support::{INSECURE, key, other_key, primes, rng};
use ciphermill_paillier::serial::{
    BODY_VERSION, CIPHERTEXT_VECTOR, MAX_ELEMENTS, PLAINTEXT_VECTOR, PUBLIC_KEY, SECRET_KEY,
};
use ciphermill_paillier::{
    Blinding, BlindingPool, CiphertextVector, PaillierError, PlaintextVector, PublicKey, SecretKey,
};
use ciphermill_wire::{HEADER_LEN, Header, Kind, OVERHEAD, WireError, seal};
use num_bigint::BigUint;

type Reader = fn(&[u8]) -> Result<Vec<u8>, PaillierError>;

/// Every kind of object of the 512-bit test key, and its reader.
fn objects() -> Vec<(&'static str, Kind, Vec<u8>, Reader)> {
    let m = PlaintextVector::from_i64(key(512).public_key(), &[1, -2, 3]);
    let c = key(512).encrypt(&m, Blinding::Djn, &mut rng(1)).expect("an encryption");
    vec![
        ("public key", PUBLIC_KEY, key(512).public_key().to_bytes(), |bytes| {
            Ok(PublicKey::from_bytes(bytes, INSECURE)?.to_bytes())
        }),
        ("secret key", SECRET_KEY, key(512).to_secret_key_bytes().to_vec(), |bytes| {
            Ok(SecretKey::from_secret_key_bytes(bytes, INSECURE)?.to_secret_key_bytes().to_vec())
        }),
        ("ciphertexts", CIPHERTEXT_VECTOR, c.to_bytes().expect("few"), |bytes| {
            CiphertextVector::from_bytes(key(512).public_key(), bytes)?.to_bytes()
        }),
        ("plaintexts", PLAINTEXT_VECTOR, m.to_plaintext_bytes().expect("few").to_vec(), |bytes| {
            Ok(PlaintextVector::from_plaintext_bytes(key(512).public_key(), bytes)?.to_plaintext_bytes()?.to_vec())
        }),
    ]
}

fn body(bytes: &[u8]) -> &[u8] {
    &bytes[HEADER_LEN..bytes.len() - (OVERHEAD - HEADER_LEN)]
}

/// Sealed again around a changed body.
fn resealed(kind: Kind, bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = body(bytes).to_vec();
    change(&mut body);
    seal(kind, BODY_VERSION, &body)
}

#[test]
fn truncated_and_extended_objects() {
    for (what, kind, bytes, read) in objects() {
        for len in 0..bytes.len() {
            let error = read(&bytes[..len]).expect_err(what);
            assert!(matches!(error, PaillierError::Wire(WireError::Truncated { .. })), "{what} {len}: {error}");
        }
        for len in 0..body(&bytes).len() {
            assert!(read(&resealed(kind, &bytes, |body| body.truncate(len))).is_err(), "{what} {len}");
        }
        for extra in [1, 8, 64] {
            let longer = [&bytes[..], &vec![0; extra]].concat();
            let error = read(&longer).expect_err(what);
            assert!(matches!(error, PaillierError::Wire(WireError::TrailingBytes { .. })), "{what}: {error}");
            assert!(read(&resealed(kind, &bytes, |body| body.resize(body.len() + extra, 0))).is_err(), "{what}");
        }
    }
}

/// A checksum finds every single bit; behind a good checksum a bit makes another object that is written as it was read, or
/// none.
#[test]
fn flipped_bits() {
    for (what, kind, bytes, read) in objects() {
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = read(&damaged).expect_err(what);
            assert!(matches!(error, PaillierError::Wire(_)), "{what} bit {bit}: {error}");
        }
        let bits = 8 * body(&bytes).len();
        // Primes are tested, which takes a while.
        let step = if kind == SECRET_KEY { 13 } else { 1 };
        for bit in (0..bits).step_by(step).chain(0..64) {
            let changed = resealed(kind, &bytes, |body| body[bit / 8] ^= 1 << (bit % 8));
            match read(&changed) {
                Ok(written) => assert_eq!(written, changed, "{what} bit {bit}"),
                Err(PaillierError::Wire(WireError::Io(error))) => panic!("{what}: {error}"),
                Err(_) => {}
            }
        }
    }
}

#[test]
fn other_kinds_and_versions() {
    for (what, kind, bytes, read) in objects() {
        for (other, _, foreign, _) in objects().into_iter().filter(|(_, k, ..)| *k != kind) {
            let error = read(&foreign).expect_err(what);
            assert!(matches!(error, PaillierError::Wire(WireError::WrongKind { .. })), "{other} as {what}: {error}");
        }
        let error = read(&seal(kind, BODY_VERSION + 1, body(&bytes))).expect_err(what);
        assert!(matches!(error, PaillierError::Wire(WireError::UnsupportedVersion { .. })), "{what}: {error}");
    }
}

/// A header may promise any length: nothing is allocated for it.
#[test]
fn declared_lengths() {
    for (what, kind, bytes, read) in objects() {
        for body_len in [u64::MAX, u64::MAX / 2, 1 << 40] {
            let header = Header { kind, version: BODY_VERSION, body_len }.encode();
            let error = read(&[&header, &bytes[HEADER_LEN..]].concat()).expect_err(what);
            assert!(matches!(error, PaillierError::Wire(WireError::TooLarge { .. })), "{what}: {error}");
        }
    }
    for (what, kind, bytes, read) in objects().split_off(2) {
        for count in [4, 2, 1 << 20, (1 << 20) + 1, 1 << 61, u64::MAX] {
            let error = read(&resealed(kind, &bytes, |body| body[16..24].copy_from_slice(&count.to_le_bytes())));
            match error.expect_err(what) {
                PaillierError::TooMany { given, limit } => {
                    assert!(given == count && count > limit && limit == MAX_ELEMENTS)
                }
                PaillierError::Wire(WireError::Truncated { .. }) => assert!((3..=MAX_ELEMENTS).contains(&count)),
                PaillierError::Wire(WireError::TrailingBytes { .. }) => assert_eq!(count, 2),
                other => panic!("{what}: {other}"),
            }
        }
    }
}

#[test]
fn fields_of_keys() {
    for (what, kind, bytes, read) in objects().into_iter().take(2) {
        let with = |at: usize, value: u8| read(&resealed(kind, &bytes, |body| body[at] = value)).expect_err(what);
        // 512 bits, flags 3: a base, and insecure.
        assert_eq!(body(&bytes)[..8], [0, 2, 0, 0, 3, 0, 0, 0]);
        assert!(matches!(with(4, 1), PaillierError::Malformed { field: "flags", .. }), "secure at 512 bits");
        assert!(matches!(with(4, 7), PaillierError::Malformed { field: "flags", .. }));
        assert!(matches!(with(4, 0x83), PaillierError::Malformed { field: "flags", .. }));
        assert!(matches!(with(4, 2), PaillierError::Wire(WireError::TrailingBytes { .. })), "no base announced");
        for at in 5..8 {
            assert!(matches!(with(at, 1), PaillierError::Malformed { field: "reserved bytes", .. }));
        }
        assert!(matches!(with(0, 1), PaillierError::KeyBitsStep { bits: 513 }));
        assert!(matches!(with(3, 1), PaillierError::KeyBits { .. }));
        assert!(matches!(with(1, 8), PaillierError::Malformed { field: "flags", .. }), "insecure at 2048 bits");
    }
}

#[test]
fn numbers_of_public_keys() {
    let bytes = key(512).public_key().to_bytes();
    let n = key(512).public_key().modulus();
    let (p, _) = primes(512);
    let read = |number: &BigUint, at: usize, width: usize| {
        let mut le = number.to_bytes_le();
        le.resize(width, 0);
        let changed = resealed(PUBLIC_KEY, &bytes, |body| body[at..at + width].copy_from_slice(&le));
        PublicKey::from_bytes(&changed, INSECURE).expect_err("a key that is none")
    };
    for (what, n) in [
        ("0", BigUint::ZERO),
        ("short", &n >> 1u32),
        ("even", &n - 1u32),
        ("small factor", BigUint::from(3u32) << 510u32 | BigUint::from(3u32)),
    ] {
        assert!(matches!(read(&n, 8, 64), PaillierError::Modulus { .. }), "{what}");
    }
    for (what, base) in [
        ("0", BigUint::ZERO),
        ("1", 1u32.into()),
        ("p", p),
        ("n²", &n * &n),
        ("all ones", (BigUint::from(1u32) << 1024u32) - 1u32),
    ] {
        assert!(matches!(read(&base, 72, 128), PaillierError::BlindingBase), "{what}");
    }
}

#[test]
fn numbers_of_secret_keys() {
    let bytes = key(512).to_secret_key_bytes();
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        SecretKey::from_secret_key_bytes(&resealed(SECRET_KEY, &bytes, change), INSECURE).expect_err("no key")
    };
    assert!(matches!(read(&|body| body[8] ^= 2), PaillierError::Primes { .. }), "p ± 2");
    assert!(matches!(read(&|body| body[8] ^= 1), PaillierError::Primes { .. }), "even");
    assert!(matches!(read(&|body| body[8 + 31] = 0), PaillierError::Primes { .. }), "short");
    assert!(matches!(read(&|body| body.copy_within(8..40, 40)), PaillierError::Primes { .. }), "p twice");
    assert!(matches!(read(&|body| body[8..72].rotate_left(32)), PaillierError::Primes { .. }), "q before p");
    // A base that is a unit, but no n-th power: it would add to plaintexts.
    let base = key(512).public_key().blinding_base().unwrap();
    let n = key(512).public_key().modulus();
    let spoiled = base * (&n + 1u32) % (&n * &n);
    let change = |body: &mut Vec<u8>| {
        let mut le = spoiled.to_bytes_le();
        le.resize(128, 0);
        body[72..].copy_from_slice(&le);
    };
    assert!(matches!(read(&change), PaillierError::BlindingBase));
    // An n-th power, but of order 2: it would blind nothing.
    let sign = |body: &mut Vec<u8>| body[72..].copy_from_slice(&(&n * &n - 1u32).to_bytes_le());
    assert!(matches!(read(&sign), PaillierError::BlindingBase));
    // The public key alone cannot show this.
    let public = key(512).public_key().to_bytes();
    assert!(PublicKey::from_bytes(&resealed(PUBLIC_KEY, &public, change), INSECURE).is_ok());
}

#[test]
fn elements_of_vectors() {
    let public = key(512).public_key();
    let objects = objects();
    let (_, kind, bytes, read) = &objects[2];
    let n = public.modulus();
    let (p, _) = primes(512);
    let with = |index: usize, number: &BigUint| {
        let mut le = number.to_bytes_le();
        le.resize(128, 0);
        let at = 24 + 128 * index;
        read(&resealed(*kind, bytes, |body| body[at..at + 128].copy_from_slice(&le))).expect_err("no ciphertext")
    };
    for index in 0..3 {
        for bad in [BigUint::ZERO, &n * &n, &n * &n + 1u32, (BigUint::from(1u32) << 1024u32) - 1u32] {
            assert!(matches!(with(index, &bad), PaillierError::CiphertextRange { index: i, .. } if i == index));
        }
        for bad in [&p * 1u32, n.clone(), &n * &p] {
            assert!(matches!(with(index, &bad), PaillierError::CiphertextNotUnit { index: i } if i == index));
        }
    }
    let (_, kind, bytes, read) = &objects[3];
    for index in 0..3usize {
        for bad in [n.clone(), (BigUint::from(1u32) << 512u32) - 1u32] {
            let at = 24 + 64 * index;
            let changed = resealed(*kind, bytes, |body| body[at..at + 64].copy_from_slice(&bad.to_bytes_le()));
            let error = read(&changed).expect_err("no plaintext");
            assert!(matches!(error, PaillierError::PlaintextRange { index: i, .. } if i == index), "{error}");
        }
    }
    for (what, kind, bytes, read) in &objects[2..] {
        let with = |at: usize, value: u8| read(&resealed(*kind, bytes, |body| body[at] = value)).expect_err(what);
        assert!(matches!(with(0, !body(bytes)[0]), PaillierError::WrongKey { .. }));
        assert!(matches!(with(9, 4), PaillierError::Malformed { field: "bits of n", .. }));
        assert!(matches!(with(12, 1), PaillierError::Malformed { field: "reserved word", .. }));
    }
}

#[test]
fn vectors_of_another_key() {
    let objects = objects();
    let theirs = other_key().public_key();
    let wrong = |error| assert!(matches!(error, PaillierError::WrongKey { .. }), "{error}");
    wrong(CiphertextVector::from_bytes(theirs, &objects[2].2).unwrap_err());
    wrong(PlaintextVector::from_plaintext_bytes(theirs, &objects[3].2).unwrap_err());
}

/// A modulus of many small primes, which a sender can make on purpose: units modulo it are rare in a large batch.
#[test]
fn moduli_of_many_primes() {
    let is_prime = |x: u32| (2..x).take_while(|d| d * d <= x).all(|d| !x.is_multiple_of(d));
    let mut n = BigUint::from(1u32);
    for prime in (1009u32..).filter(|&x| is_prime(x)).take_while(|&x| x < 1500) {
        if n.bits() < 480 {
            n *= prime;
        }
    }
    let mut rest = (BigUint::from(1u32) << 511u32) / &n + 1u32;
    let public = loop {
        if let Ok(key) = PublicKey::from_modulus(&(&n * &rest), INSECURE) {
            break key;
        }
        rest += 1u32;
    };
    let m = PlaintextVector::from_u64(&public, &[1; 512]);
    let modulus = |error| assert!(matches!(error, PaillierError::Modulus { .. }), "{error}");
    modulus(public.encrypt(&m, Blinding::Strict, &mut rng(1)).unwrap_err());
    modulus(BlindingPool::new(&public, Blinding::Strict).unwrap().fill(512, &mut rng(1)).unwrap_err());
}
