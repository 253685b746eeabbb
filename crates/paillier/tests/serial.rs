//! Stored objects: written objects are read again, and have one encoding.

use crate::support::{INSECURE, key, keys_on_paths, rng};
use ciphermill_paillier::serial::{CIPHERTEXT_VECTOR, PLAINTEXT_VECTOR, PUBLIC_KEY, SECRET_KEY};
use ciphermill_paillier::{CiphertextVector, PlaintextVector, PublicKey, SecretKey};
use ciphermill_wire::{HEADER_LEN, Header, OVERHEAD};
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
