//! The Goldilocks field against 128-bit division and against constants known from outside.

use ciphermill_math::goldilocks::{
    EPSILON, GENERATOR, MODULUS, PAPER_OMEGA, PAPER_PSI, ROOT_2_32, TWO_ADICITY, add, inverse, mul, neg, pow,
    primitive_root_2n, reduce_u64, reduce_u128, reference, root_of_unity, sub,
};
use proptest::prelude::*;

const EDGES: [u64; 14] = [
    0,
    1,
    2,
    EPSILON - 1,
    EPSILON,
    1 << 32,
    (1 << 32) + 1,
    1 << 63,
    MODULUS - (1 << 32) - 1,
    MODULUS - (1 << 32),
    MODULUS - EPSILON,
    MODULUS - 2,
    MODULUS - 1,
    0x8000_0000_7fff_ffff,
];

/// Any word, the edges often.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), prop::sample::select(&EDGES[..]), MODULUS - 5..=u64::MAX]
}

fn residue() -> impl Strategy<Value = u64> {
    word().prop_map(|x| x % MODULUS)
}

#[test]
fn edge_values() {
    for a in EDGES {
        for b in EDGES {
            assert_eq!(add(a, b), reference::add(a, b), "{a} + {b}");
            assert_eq!(sub(a, b), reference::sub(a, b), "{a} - {b}");
            assert_eq!(mul(a, b), reference::mul(a, b), "{a} * {b}");
            let wide = u128::from(a) << 64 | u128::from(b);
            assert_eq!(reduce_u128(wide), reference::reduce_u128(wide), "{wide}");
        }
        assert_eq!(add(a, neg(a)), 0);
    }
    for high in [0, 1, EPSILON, EPSILON << 32, MODULUS, u64::MAX] {
        for low in [0, 1, EPSILON - 1, EPSILON, EPSILON << 32, MODULUS, u64::MAX] {
            let wide = u128::from(high) << 64 | u128::from(low);
            assert_eq!(reduce_u128(wide), reference::reduce_u128(wide), "{wide}");
        }
    }
    assert_eq!(reduce_u64(MODULUS), 0);
    assert_eq!(reduce_u64(u64::MAX), EPSILON - 1);
    assert_eq!(inverse(0), None);
    assert_eq!(pow(0, 0), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn sums_and_products(a in residue(), b in residue()) {
        prop_assert_eq!(add(a, b), reference::add(a, b));
        prop_assert_eq!(sub(a, b), reference::sub(a, b));
        prop_assert_eq!(neg(a), reference::sub(0, a));
    }

    #[test]
    fn products_of_any_words(a in word(), b in word()) {
        prop_assert_eq!(mul(a, b), reference::mul(a, b));
        let wide = u128::from(a) << 64 | u128::from(b);
        prop_assert_eq!(reduce_u128(wide), reference::reduce_u128(wide));
    }

    #[test]
    fn inverses(a in 1..MODULUS) {
        prop_assert_eq!(inverse(a).map(|b| reference::mul(a, b)), Some(1));
    }
}

/// p − 1 = 2^32·3·5·17·257·65537, and 7 has the full order: its powers by (p − 1)/prime are not 1.
#[test]
fn seven_generates_the_group() {
    let primes = [2u64, 3, 5, 17, 257, 65537];
    assert_eq!((1u64 << 32) * primes[1..].iter().product::<u64>(), MODULUS - 1);
    assert_eq!(pow(GENERATOR, MODULUS - 1), 1);
    for prime in primes {
        assert_ne!(pow(GENERATOR, (MODULUS - 1) / prime), 1, "{prime}");
    }
    // Smaller bases do not generate: 2 to 6 lie in a proper subgroup each.
    for base in 2..GENERATOR {
        assert!(primes.iter().any(|prime| pow(base, (MODULUS - 1) / prime) == 1), "{base}");
    }
}

#[test]
fn published_roots() {
    // The root of order 2^32 that Plonky2 and Plonky3 publish for the generator 7.
    let seven = pow(GENERATOR, (MODULUS - 1) >> TWO_ADICITY);
    assert_eq!(seven, 1_753_635_133_440_165_772);
    assert_eq!(pow(seven, 5), ROOT_2_32);
    // The exponent 5 is the least that gives the paper's ψ.
    for exponent in 1..5 {
        assert_ne!(pow(pow(seven, exponent), 1 << 17), PAPER_PSI);
    }
}

#[test]
fn the_roots_of_the_paper_belong_to_the_family() {
    assert_eq!(pow(PAPER_PSI, 1 << 14), MODULUS - 1, "order 2^15");
    assert_eq!(pow(PAPER_OMEGA, 1 << 13), MODULUS - 1, "order 2^14");
    assert_eq!(mul(PAPER_PSI, PAPER_PSI), PAPER_OMEGA);
    assert_eq!(pow(ROOT_2_32, 1 << 31), MODULUS - 1, "order 2^32");
    assert_eq!(pow(ROOT_2_32, 1 << 17), PAPER_PSI);
    assert_eq!(primitive_root_2n(16384), Some(PAPER_PSI));
    assert_eq!(root_of_unity(14), Some(PAPER_OMEGA));
    assert_eq!(root_of_unity(6), Some(8), "the first five levels of a transform are shifts");
}

#[test]
fn roots_exist_for_powers_of_two_only() {
    for log_n in 0..32 {
        let n = 1usize << log_n;
        let psi = primitive_root_2n(n).unwrap();
        assert_eq!(pow(psi, n as u64), MODULUS - 1);
    }
    assert_eq!(primitive_root_2n(0), None);
    assert_eq!(primitive_root_2n(48), None);
    assert_eq!(primitive_root_2n(1 << 32), None);
    assert_eq!(root_of_unity(33), None);
}
