//! Encryption and decryption, on every path.

use crate::support::{decrypt_by_definition, key, keys_on_paths, other_key, primes, rng};
use ciphermill_paillier::{Blinding, CiphertextVector, PaillierError, PlaintextVector, PublicKey, SecretKey};
use num_bigint::{BigInt, BigUint};
use proptest::prelude::*;

const BOTH: [Blinding; 2] = [Blinding::Djn, Blinding::Strict];

fn encrypt(key: &SecretKey, owner: bool, m: &PlaintextVector, blinding: Blinding, seed: u8) -> CiphertextVector {
    if owner { key.encrypt(m, blinding, &mut rng(seed)) } else { key.public_key().encrypt(m, blinding, &mut rng(seed)) }
        .expect("an encryption")
}

/// 0, ±1, both ends of the range, powers of 2.
fn extremes(key: &PublicKey) -> Vec<BigInt> {
    let max = BigInt::from(key.max_plaintext());
    let power = BigInt::from(1) << (key.bits().get() / 2);
    vec![BigInt::ZERO, 1.into(), (-1).into(), max.clone(), -&max, &max - 1, 1 - max, power.clone(), -power]
}

fn round_trips(bits: u32, count: usize) {
    for key in keys_on_paths(bits) {
        let values = extremes(key.public_key());
        let m = PlaintextVector::from_bigints(key.public_key(), &values[..count]).unwrap();
        for blinding in BOTH {
            for owner in [false, true] {
                let c = encrypt(&key, owner, &m, blinding, 7);
                let plain = c.to_biguints();
                let name = format!("{bits} bits, {blinding:?}, owner {owner}, {}", key.public_key().path());
                // The definition is slow at full size: two of them there, one of either half of a group of lanes.
                for i in if bits > 1024 { vec![3, count - 1] } else { (0..count).collect() } {
                    assert_eq!(decrypt_by_definition(&plain[i], bits), values[i], "{name}");
                }
                assert_eq!(key.decrypt(&c).unwrap().to_bigints(), values[..count], "{name}");
                for (i, c) in plain.iter().enumerate() {
                    assert!(!plain[..i].contains(c), "{name}: two ciphertexts are the same");
                }
            }
        }
    }
}

#[test]
fn small_keys_on_every_path() {
    round_trips(512, 9);
    round_trips(1024, 9);
}

#[test]
fn full_size_2048_on_every_path() {
    round_trips(2048, 9);
}

#[test]
fn full_size_3072_on_every_path() {
    round_trips(3072, 5);
}

/// One seed makes one ciphertext: on every path, whatever the number of threads; with a DJN base the owner's as well, who
/// draws the same exponents.
#[test]
fn ciphertexts_are_those_of_the_seed() {
    let threads = |count| rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
    let values: Vec<i64> = (0..45).map(|i| i * i * 1001 - 20_000).collect();
    for blinding in BOTH {
        let mut expected: [Option<Vec<BigUint>>; 2] = [None, None];
        for key in keys_on_paths(512) {
            let m = PlaintextVector::from_i64(key.public_key(), &values);
            for owner in [false, true] {
                for count in [1, 2, 3] {
                    let c = threads(count).install(|| encrypt(&key, owner, &m, blinding, 3)).to_biguints();
                    let place = usize::from(owner && blinding == Blinding::Strict);
                    assert_eq!(&c, expected[place].get_or_insert(c.clone()), "{blinding:?} owner {owner} {count}");
                }
            }
        }
    }
}

#[test]
fn elements_that_are_not_there() {
    let m = PlaintextVector::from_i64(key(512).public_key(), &[1]);
    for index in [1, 2, usize::MAX - 1, usize::MAX] {
        assert!(matches!(m.get(index), Err(PaillierError::OutOfBounds { start, len: 1, .. }) if start == index));
    }
}

#[test]
fn every_length() {
    for key in keys_on_paths(512) {
        for len in 0..19i64 {
            let values: Vec<i64> = (0..len).map(|i| i - 9).collect();
            let m = PlaintextVector::from_i64(key.public_key(), &values);
            for owner in [false, true] {
                let c = encrypt(&key, owner, &m, Blinding::Djn, 5);
                assert_eq!(c.len(), len as usize);
                assert_eq!(key.decrypt(&c).unwrap().to_i64().unwrap(), values);
            }
        }
    }
}

#[test]
fn decryption_in_parallel() {
    let key = key(512);
    let values: Vec<i64> = (0..100).map(|i| i * 77 - 3000).collect();
    let c = encrypt(key, true, &PlaintextVector::from_i64(key.public_key(), &values), Blinding::Djn, 5);
    for count in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        assert_eq!(pool.install(|| key.decrypt(&c)).unwrap().to_i64().unwrap(), values);
    }
}

#[test]
fn plaintexts_out_of_range() {
    let public = key(512).public_key();
    let max = BigInt::from(public.max_plaintext());
    for (index, outside) in
        [(0, &max + 1), (2, -&max - 1), (1, BigInt::from(1) << 4000), (0, BigInt::from(public.modulus()))]
    {
        let mut values = vec![max.clone(); 3];
        values[index] = outside;
        match PlaintextVector::from_bigints(public, &values) {
            Err(PaillierError::PlaintextRange { index: named, bits: 512 }) => assert_eq!(named, index),
            other => panic!("{other:?}"),
        }
    }
    let wide = PlaintextVector::from_bigints(public, &[0.into(), max]).unwrap();
    assert!(matches!(wide.to_i128(), Err(PaillierError::PlaintextWidth { index: 1, bits: 128 })));
    assert!(matches!(wide.to_i64(), Err(PaillierError::PlaintextWidth { index: 1, bits: 64 })));
    let between = PlaintextVector::from_i128(public, &[i128::from(i64::MIN), i128::from(i64::MIN) - 1]);
    assert!(matches!(between.to_i64(), Err(PaillierError::PlaintextWidth { index: 1, bits: 64 })));
    assert!(matches!(wide.get(2), Err(PaillierError::OutOfBounds { len: 2, .. })));
    assert!(matches!(wide.slice(1..3), Err(PaillierError::OutOfBounds { len: 2, .. })));
}

#[test]
fn numbers_that_are_no_ciphertexts() {
    let public = key(512).public_key();
    let (p, q) = primes(512);
    let n = &p * &q;
    let good = encrypt(key(512), true, &PlaintextVector::from_i64(public, &[1; 20]), Blinding::Djn, 1).to_biguints();
    for index in [0, 7, 8, 19] {
        for (what, bad) in [("0", BigUint::ZERO), ("n²", &n * &n), ("wide", BigUint::from(1u32) << 1024u32)] {
            let mut values = good.clone();
            values[index] = bad;
            match CiphertextVector::from_biguints(public, &values) {
                Err(PaillierError::CiphertextRange { index: named, bits: 512 }) => assert_eq!(named, index, "{what}"),
                other => panic!("{what}: {other:?}"),
            }
        }
        for (what, bad) in [("p", p.clone()), ("n", n.clone()), ("q·x", &q * 12345u32), ("n·(n−1)", &n * (&n - 1u32))]
        {
            let mut values = good.clone();
            values[index] = bad;
            match CiphertextVector::from_biguints(public, &values) {
                Err(PaillierError::CiphertextNotUnit { index: named }) => assert_eq!(named, index, "{what}"),
                other => panic!("{what}: {other:?}"),
            }
        }
    }
    assert_eq!(CiphertextVector::from_biguints(public, &good).unwrap().to_biguints(), good);
    // The ends of the allowed range.
    let ends = [BigUint::from(1u32), &n * &n - 1u32];
    let ends = CiphertextVector::from_biguints(public, &ends).unwrap();
    assert_eq!(key(512).decrypt(&ends).unwrap().to_i64().unwrap(), [0, 0]);
    assert!(CiphertextVector::from_biguints(public, &[]).unwrap().is_empty());
}

#[test]
fn operands_of_another_key() {
    let (mine, theirs) = (key(512), other_key());
    let m = PlaintextVector::from_i64(theirs.public_key(), &[1]);
    let wrong = |error: PaillierError| match error {
        PaillierError::WrongKey { given, expected } => assert_eq!((given, expected), (theirs.tag(), mine.tag())),
        other => panic!("{other}"),
    };
    wrong(mine.encrypt(&m, Blinding::Djn, &mut rng(1)).unwrap_err());
    wrong(mine.public_key().encrypt(&m, Blinding::Strict, &mut rng(1)).unwrap_err());
    let c = theirs.encrypt(&m, Blinding::Djn, &mut rng(1)).unwrap();
    wrong(mine.decrypt(&c).unwrap_err());
}

/// Vectors of one key that was made twice belong together.
#[test]
fn the_same_key_made_twice() {
    let (mine, again) = (key(512), key(512).on_path(ciphermill_bigint::Path::Portable).unwrap());
    let c = encrypt(mine, false, &PlaintextVector::from_i64(again.public_key(), &[3, -4]), Blinding::Djn, 2);
    assert_eq!(again.decrypt(&c).unwrap().to_i64().unwrap(), [3, -4]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn conversions(values in prop::collection::vec(any::<i128>(), 0..12), narrow in prop::collection::vec(any::<i64>(), 0..12)) {
        let public = key(512).public_key();
        let m = PlaintextVector::from_i128(public, &values);
        prop_assert_eq!(m.to_i128().unwrap(), values.clone());
        let wide: Vec<BigInt> = values.iter().map(|&v| v.into()).collect();
        prop_assert_eq!(m.to_bigints(), wide.clone());
        prop_assert!(m == PlaintextVector::from_bigints(public, &wide).unwrap());
        let negated: Vec<BigInt> = wide.iter().map(|v| -v).collect();
        prop_assert_eq!(m.negate().to_bigints(), negated);
        let m = PlaintextVector::from_i64(public, &narrow);
        prop_assert_eq!(m.to_i64().unwrap(), narrow);
    }

    #[test]
    fn slices_and_parts(cuts in prop::collection::vec(0usize..12, 1..5)) {
        for key in keys_on_paths(512) {
            let parts: Vec<CiphertextVector> = cuts.iter().enumerate().map(|(i, &len)| {
                let values: Vec<i64> = (0..len).map(|j| (100 * i + j) as i64).collect();
                encrypt(&key, true, &PlaintextVector::from_i64(key.public_key(), &values), Blinding::Djn, i as u8)
            }).collect();
            let whole = CiphertextVector::concat(&parts).unwrap();
            let mut start = 0;
            for part in &parts {
                let slice = whole.slice(start..start + part.len()).unwrap();
                prop_assert!(slice == *part);
                start += part.len();
            }
            let outside = matches!(whole.slice(0..start + 1), Err(PaillierError::OutOfBounds { .. }));
            prop_assert!(outside);
        }
    }
}

#[test]
fn no_parts() {
    assert!(matches!(CiphertextVector::concat(&[]), Err(PaillierError::Empty)));
}
