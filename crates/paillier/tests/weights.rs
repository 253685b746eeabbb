//! The serial form of public weights, and the heads of ciphertext vectors.

use ciphermill_paillier::weights::{MAX_WEIGHTS, PublicWeights, WEIGHTS, WEIGHTS_VERSION};
use ciphermill_paillier::{CiphertextVector, Csprng, KeyBits, PaillierError, PlaintextVector, SecretKey};
use ciphermill_wire::{OVERHEAD, seal};
use proptest::prelude::*;

fn sealed(words: &[u64]) -> Vec<u8> {
    let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    seal(WEIGHTS, WEIGHTS_VERSION, &body)
}

fn refusal(bytes: &[u8]) -> String {
    PublicWeights::from_bytes(bytes).expect_err("refused").to_string()
}

/// Rows in the low word, columns in the high one.
fn shape(rows: u32, columns: u32) -> u64 {
    u64::from(columns) << 32 | u64::from(rows)
}

#[test]
fn weights_have_these_bytes() {
    let most = i128::from(u64::MAX);
    let weights = PublicWeights::from_rows(3, vec![1, -2, 0, most, -most, 7]).expect("weights");
    assert_eq!((weights.rows(), weights.columns()), (2, 3));
    assert_eq!(weights.row(1), [most, -most, 7]);
    let bytes = weights.to_bytes();
    assert_eq!(bytes, sealed(&[shape(2, 3), 1, 2, 0, u64::MAX, u64::MAX, 7, 0b010010]));
    assert_eq!(PublicWeights::from_bytes(&bytes).expect("weights"), weights);
}

#[test]
fn one_matrix_has_one_form() {
    assert!(refusal(&sealed(&[shape(1, 2), 5, 0, 0b10])).contains("0 has no sign"));
    assert!(refusal(&sealed(&[shape(1, 2), 5, 1, 0b100])).contains("bits without a weight must be 0"));
    let full: Vec<u64> = [shape(1, 64)].into_iter().chain(1..=64).chain([u64::MAX]).collect();
    assert_eq!(PublicWeights::from_bytes(&sealed(&full)).expect("weights").row(0)[63], -64);
}

#[test]
fn shapes_are_bounded_before_anything_is_allocated() {
    for (rows, columns) in [(0, 0), (0, 9), (9, 0)] {
        assert!(refusal(&sealed(&[shape(rows, columns)])).contains("empty"));
    }
    for (rows, columns) in [(u32::MAX, u32::MAX), (1 << 24, 2), (1, (1 << 24) + 1)] {
        assert!(refusal(&sealed(&[shape(rows, columns)])).contains(&format!("{MAX_WEIGHTS} at most")));
    }
    assert!(refusal(&sealed(&[shape(1 << 12, 1 << 12)])).contains("bytes"));
    assert!(!refusal(&sealed(&[shape(1, 1), 3, 0, 0])).is_empty(), "a word too many");
    assert!(matches!(PublicWeights::from_rows(2, vec![]), Err(PaillierError::Empty)));
    assert!(PublicWeights::from_rows(2, vec![1, 1 << 64]).is_err());
    assert!(PublicWeights::from_rows(2, vec![1, 2, 3]).is_err());
}

#[test]
fn a_head_tells_key_and_length() {
    let mut rng = Csprng::from_os().expect("randomness");
    let key = SecretKey::generate(KeyBits::insecure_bench(512).expect("a size"), &mut rng).expect("a key");
    let public = key.public_key();
    for len in [1, 3] {
        let plain = PlaintextVector::from_i64(public, &vec![-5; len]);
        let vector = key.encrypt(&plain, public.default_blinding(), &mut rng).expect("a vector");
        let bytes = vector.to_bytes().expect("bytes");
        let head = CiphertextVector::head(&bytes).expect("a head");
        assert_eq!((head.tag, head.bits, head.elements), (key.tag(), key.bits(), len as u64));
        assert_eq!(CiphertextVector::sealed_len(key.bits(), len as u64), bytes.len() as u64);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(CiphertextVector::head(&damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(CiphertextVector::head(&bytes[..length]).is_err(), "{length} bytes");
        }
    }
}

proptest! {
    #[test]
    fn weights_come_back(columns in 1_usize..20, rows in 1_usize..20, seed in any::<u64>()) {
        let mut state = seed;
        let values = (0..rows * columns).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Of all widths, with both signs.
            let magnitude = i128::from((state ^ state >> 31) >> (state >> 58));
            if state & 1 == 0 { magnitude } else { -magnitude }
        }).collect();
        let weights = PublicWeights::from_rows(columns, values).expect("weights");
        let bytes = weights.to_bytes();
        prop_assert_eq!(bytes.len(), OVERHEAD + 8 + rows * columns * 8 + (rows * columns).div_ceil(64) * 8);
        prop_assert_eq!(&PublicWeights::from_bytes(&bytes).expect("weights"), &weights);
    }

    /// Any bytes behind a good checksum: accepted bytes are written back the same.
    #[test]
    fn whatever_is_read_is_written_back(rows in 0_u32..4, columns in 0_u32..4, rest in prop::collection::vec(0_u64..3, 0..20)) {
        let words: Vec<u64> = [shape(rows, columns)].into_iter().chain(rest).collect();
        let bytes = sealed(&words);
        if let Ok(weights) = PublicWeights::from_bytes(&bytes) {
            prop_assert_eq!(weights.to_bytes(), bytes);
        }
    }
}
