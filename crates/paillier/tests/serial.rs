//! Stored objects: written objects are read again, and have one encoding.

use crate::support::{INSECURE, key, keys_on_paths, other_key, rng};
use ciphermill_paillier::fixed_point::{FIXED_POINT_VECTOR, FIXED_POINT_VERSION, FixedPointVector};
use ciphermill_paillier::packing::{PACKED_VECTOR, PACKED_VERSION, PackedCiphertextVector, Packing};
use ciphermill_paillier::serial::{CIPHERTEXT_VECTOR, PLAINTEXT_VECTOR, PUBLIC_KEY, SECRET_KEY};
use ciphermill_paillier::{CiphertextVector, PlaintextVector, PublicKey, SecretKey};
use ciphermill_wire::{HEADER_LEN, Header, Kind, OVERHEAD, seal};
use num_bigint::BigUint;
use proptest::prelude::*;

#[test]
fn keys_come_back() {
    for bits in [512, 2048, 3072] {
        let key = key(bits);
        let bytes = key.to_secret_key_bytes();
        let again = SecretKey::from_secret_key_bytes(&bytes, INSECURE).unwrap();
        assert_eq!(*again.expose_primes(), *key.expose_primes());
        assert_eq!(*again.to_secret_key_bytes(), *bytes);
        let public = key.public_key().to_bytes();
        let read = PublicKey::from_bytes(&public, INSECURE).unwrap();
        assert_eq!(read.modulus(), key.public_key().modulus());
        assert_eq!(read.blinding_base(), key.public_key().blinding_base());
        assert_eq!(again.public_key().blinding_base(), key.public_key().blinding_base());
        assert_eq!(read.to_bytes(), public);
        let strict = PublicKey::from_modulus(&read.modulus(), INSECURE).unwrap();
        assert!(!PublicKey::from_bytes(&strict.to_bytes(), INSECURE).unwrap().has_blinding_base());
        let len = |bytes: &[u8]| bytes.len() - OVERHEAD;
        let n = bits as usize / 8;
        assert_eq!((len(&bytes), len(&public), len(&strict.to_bytes())), (8 + 3 * n, 8 + 3 * n, 8 + n));
        // The flag of an insecure key is in its bytes.
        assert_eq!(bytes[HEADER_LEN + 4] & 2 != 0, bits < 2048);
        assert_eq!(public[HEADER_LEN + 4] & 2 != 0, bits < 2048);
    }
}

#[test]
fn kinds() {
    let key = key(512);
    let m = PlaintextVector::from_i64(key.public_key(), &[1]);
    let c = key.encrypt(&m, key.public_key().default_blinding(), &mut rng(1)).unwrap();
    let kind = |bytes: &[u8]| Header::decode(bytes).unwrap().kind;
    assert_eq!(kind(&key.public_key().to_bytes()), PUBLIC_KEY);
    assert_eq!(kind(&key.to_secret_key_bytes()), SECRET_KEY);
    assert_eq!(kind(&c.to_bytes().unwrap()), CIPHERTEXT_VECTOR);
    assert_eq!(kind(&m.to_plaintext_bytes().unwrap()), PLAINTEXT_VECTOR);
    assert_eq!(
        [PUBLIC_KEY, SECRET_KEY, CIPHERTEXT_VECTOR, PLAINTEXT_VECTOR].map(|k| k.0),
        [0x0401, 0x0402, 0x0403, 0x0404]
    );
}

#[test]
fn full_size_vectors() {
    for bits in [2048, 3072] {
        let key = key(bits);
        let m = PlaintextVector::from_i64(key.public_key(), &[1, -1, i64::MIN]);
        let c = key.encrypt(&m, key.public_key().default_blinding(), &mut rng(1)).unwrap();
        let bytes = c.to_bytes().unwrap();
        assert_eq!(bytes.len(), OVERHEAD + 24 + 3 * bits as usize / 4);
        let again = CiphertextVector::from_bytes(key.public_key(), &bytes).unwrap();
        assert!(again == c);
        assert_eq!(key.decrypt(&again).unwrap().to_i64().unwrap(), [1, -1, i64::MIN]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn vectors_come_back(values in prop::collection::vec(any::<i128>(), 0..20)) {
        let mut all = Vec::new();
        for key in keys_on_paths(512) {
            let m = PlaintextVector::from_i128(key.public_key(), &values);
            let bytes = m.to_plaintext_bytes().unwrap();
            let again = PlaintextVector::from_plaintext_bytes(key.public_key(), &bytes).unwrap();
            prop_assert!(again == m);
            prop_assert_eq!(&*again.to_plaintext_bytes().unwrap(), &*bytes);
            let c = key.encrypt(&m, key.public_key().default_blinding(), &mut rng(1)).unwrap();
            let bytes = c.to_bytes().unwrap();
            let again = CiphertextVector::from_bytes(key.public_key(), &bytes).unwrap();
            prop_assert!(again == c);
            prop_assert_eq!(again.to_bytes().unwrap(), bytes.clone());
            all.push(bytes);
        }
        // Bytes do not depend on the path.
        prop_assert!(all.iter().all(|bytes| *bytes == all[0]));
    }
}

/// A vector of 512-bit ciphertexts of 1 and −2.
fn two_ciphertexts() -> CiphertextVector {
    let key = key(512);
    let m = PlaintextVector::from_i64(key.public_key(), &[1, -2]);
    key.encrypt(&m, key.public_key().default_blinding(), &mut rng(3)).expect("two small integers")
}

#[test]
fn encrypted_numbers_and_packed_values_come_back() {
    let (key, ciphertexts) = (key(512), two_ciphertexts());
    for (fraction_bits, bound) in [(0u32, BigUint::from(2u32)), (16, BigUint::from(1u32) << 300), (4096, 0u32.into())] {
        let numbers = FixedPointVector::from_parts(ciphertexts.clone(), fraction_bits, bound).expect("within limits");
        let bytes = numbers.to_bytes().expect("few");
        assert_eq!(Header::decode(&bytes).expect("a header").kind, Kind(0x0408));
        assert_eq!(FixedPointVector::from_bytes(key.public_key(), &bytes).expect("whole"), numbers);
        assert!(FixedPointVector::from_bytes(other_key().public_key(), &bytes).is_err(), "another key");
    }
    let packing = Packing::new(8, 24, 3).expect("a layout");
    for (len, bound) in [(4, 127), (6, 1 << 20)] {
        let packed =
            PackedCiphertextVector::from_parts(ciphertexts.clone(), packing, len, bound).expect("within limits");
        let bytes = packed.to_bytes().expect("few");
        assert_eq!(Header::decode(&bytes).expect("a header").kind, Kind(0x0409));
        assert_eq!(PackedCiphertextVector::from_bytes(key.public_key(), &bytes).expect("whole"), packed);
        assert!(PackedCiphertextVector::from_bytes(other_key().public_key(), &bytes).is_err(), "another key");
    }
}

/// Heads that no writer makes, before good ciphertexts.
#[test]
fn hostile_heads_of_numbers_and_packed_values_are_refused() {
    let (public, ciphertexts) = (key(512).public_key(), two_ciphertexts().to_bytes().expect("few"));
    let numbers = |head: &[u8]| {
        let bytes = seal(FIXED_POINT_VECTOR, FIXED_POINT_VERSION, &[head, &ciphertexts].concat());
        FixedPointVector::from_bytes(public, &bytes).expect_err("no writer makes it").to_string()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    assert!(numbers(&words(&[4097, 0])).contains("4097 fraction bits"));
    assert!(numbers(&words(&[0, 513])).contains("longer than any key"));
    assert!(numbers(&[words(&[0, 2]), vec![1, 0]].concat()).contains("zero byte"));
    assert!(numbers(&[words(&[0, 64]), vec![0xff; 64]].concat()).contains("the key's limit"));
    assert!(numbers(&words(&[0])).contains("bound") || numbers(&words(&[0])).contains("starts with"));
    let packed = |head: &[u32]| {
        let bytes = seal(PACKED_VECTOR, PACKED_VERSION, &[words(head), ciphertexts.clone()].concat());
        PackedCiphertextVector::from_bytes(public, &bytes).expect_err("no writer makes it").to_string()
    };
    assert!(packed(&[1, 8, 3, 0, 4, 0, 127, 0, 0, 0]).contains("1 value bits"));
    assert!(packed(&[8, 8, 0, 0, 4, 0, 127, 0, 0, 0]).contains("0 slots"));
    assert!(packed(&[8, 8, 3, 1, 4, 0, 127, 0, 0, 0]).contains("must be 0"));
    assert!(packed(&[8, 8, 3, 0, 7, 0, 127, 0, 0, 0]).contains("take 3 ciphertexts"));
    assert!(packed(&[8, 8, 3, 0, u32::MAX, u32::MAX, 127, 0, 0, 0]).contains("2 were given"));
    assert!(packed(&[8, 8, 3, 0, 4, 0, 0, 0, 0, 1]).contains("guard bits"));
    assert!(packed(&[8, 8, 300, 0, 4, 0, 127, 0, 0, 0]).contains("has room for"));
}
