//! Primes 2^a + 2^b + 1: both reductions against the plain arithmetic, step by step.

use ciphermill_math::{LowWeightError, LowWeightModulus, Modulus};
use proptest::prelude::*;

/// a, b, folds, k-reductions.
const PAPER: [(u32, u32, u32, u32); 3] = [(34, 27, 5, 2), (34, 19, 3, 2), (38, 23, 3, 2)];

fn paper() -> [LowWeightModulus; 3] {
    PAPER.map(|(a, b, ..)| LowWeightModulus::new(a, b).unwrap())
}

/// Every such prime below 2^62.
fn all() -> Vec<LowWeightModulus> {
    (2..62).flat_map(|a| (1..a - 1).filter_map(move |b| LowWeightModulus::new(a, b).ok())).collect()
}

#[test]
fn known_answers() {
    for ((a, b, folds, k_reductions), low_weight) in PAPER.into_iter().zip(paper()) {
        assert_eq!(low_weight.exponents(), (a, b));
        assert_eq!((low_weight.folds(), low_weight.k_reductions()), (folds, k_reductions), "{a}, {b}");
        let p = low_weight.modulus().value();
        assert_eq!(p, (1 << a) + (1 << b) + 1);
        assert_eq!(LowWeightModulus::try_from(low_weight.modulus()), Ok(low_weight));
        // 2^a = −(2^b + 1), (−1)² = 1.
        assert_eq!(low_weight.mul(1 << (a - 1), 2), p - (1 << b) - 1);
        assert_eq!(low_weight.mul(p - 1, p - 1), 1);
        assert_eq!(low_weight.mul_prepared(p - 1, low_weight.prepare(p - 1)), 1);
    }
}

#[test]
fn edges_of_every_prime_of_the_form() {
    let primes = all();
    assert!(primes.len() > 100);
    for low_weight in primes {
        let (modulus, (a, b)) = (low_weight.modulus(), low_weight.exponents());
        let p = modulus.value();
        let edges = [0, 1, 2, p / 2, p / 2 + 1, p - 2, p - 1, (1 << a) - 1, 1 << a, (1 << b) - 1, 1 << b];
        for x in edges {
            for y in edges.into_iter().filter(|&y| y < p) {
                assert_eq!(low_weight.mul(x, y), modulus.mul(x, y), "{x}·{y} mod 2^{a} + 2^{b} + 1");
                let prepared = low_weight.prepare(y);
                assert_eq!(low_weight.mul_prepared(x, prepared), modulus.mul(x, y), "{x}·{y} mod 2^{a} + 2^{b} + 1");
            }
        }
    }
}

#[test]
fn what_is_not_of_the_form() {
    assert_eq!(LowWeightModulus::new(34, 0), Err(LowWeightError::Exponents { a: 34, b: 0 }));
    assert_eq!(LowWeightModulus::new(13, 12), Err(LowWeightError::Exponents { a: 13, b: 12 }));
    assert_eq!(LowWeightModulus::new(0, u32::MAX), Err(LowWeightError::Exponents { a: 0, b: u32::MAX }));
    assert_eq!(LowWeightModulus::new(62, 1), Err(LowWeightError::Exponents { a: 62, b: 1 }));
    assert!(matches!(LowWeightModulus::new(34, 26), Err(LowWeightError::Modulus(_))));
    let given = 998_244_353;
    assert_eq!(LowWeightModulus::try_from(Modulus::new(given).unwrap()), Err(LowWeightError::Form { given }));
}

proptest! {
    #[test]
    fn steps_keep_residues_and_ranges(index in 0usize..3, x in -(1i128 << 120)..1i128 << 120, m in 40u32..120) {
        let low_weight = paper()[index];
        let (a, b) = low_weight.exponents();
        let p = i128::from(low_weight.modulus().value());
        let x = x >> (120 - m);
        let folded = low_weight.fold(x);
        prop_assert_eq!((folded - x).rem_euclid(p), 0);
        let upper = (1i128 << (m - a)) * ((1 << b) + 1);
        prop_assert!(-upper <= folded && folded < (1 << a) + upper);
        let reduced = low_weight.k_reduce(x);
        let k = (1i128 << (a - b)) + 1;
        prop_assert_eq!((reduced - k * x.rem_euclid(p)).rem_euclid(p), 0);
        prop_assert!(-(1i128 << (m - b)) < reduced && reduced < p + (1i128 << (m - b)));
    }

    #[test]
    fn products(index in 0usize..3, x: u64, y: u64) {
        let low_weight = paper()[index];
        let modulus = low_weight.modulus();
        let (x, y) = (modulus.reduce(x), modulus.reduce(y));
        prop_assert_eq!(low_weight.mul(x, y), modulus.mul(x, y));
        prop_assert_eq!(low_weight.mul_prepared(x, low_weight.prepare(y)), modulus.mul(x, y));
    }
}
