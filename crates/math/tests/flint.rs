//! Transforms and products against those of FLINT, which tests/vectors/generate_flint.py wrote.

use std::sync::Arc;

use ciphermill_math::goldilocks::MODULUS as GOLDILOCKS;
use ciphermill_math::ntt::{Convolution, FourStepNtt, NttEngine, goldilocks_engine, prime_engine, prime_engine_u32};
use ciphermill_math::{Isa, Modulus};

const WORDS: &[u8] = include_bytes!("vectors/flint.bin");

/// N and p of each case, as in flint.json.
const CASES: [(usize, u64); 8] = [
    (256, (1 << 30) - (1 << 18) + 1),
    (4096, (1 << 34) + (1 << 27) + 1),
    (4096, (1 << 34) + (1 << 19) + 1),
    (4096, (1 << 38) + (1 << 23) + 1),
    (4096, 70_368_743_669_761),
    (4096, 1_125_899_906_826_241),
    (4096, 4_611_686_018_427_322_369),
    (16384, GOLDILOCKS),
];

/// SplitMix64 (S. Vigna), modulo `modulus`.
fn numbers(mut state: u64, count: usize, modulus: u64) -> Vec<u64> {
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % modulus
    };
    (0..count).map(|_| next()).collect()
}

/// By case: the sorted values at the roots, and the product.
fn expected() -> Vec<[Vec<u64>; 2]> {
    let mut words = WORDS.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let vectors = CASES.iter().map(|&(n, _)| [(); 2].map(|()| words.by_ref().take(n).collect())).collect();
    assert_eq!(words.next(), None, "words left over");
    vectors
}

fn engine(n: usize, p: u64, isa: Isa) -> Arc<dyn NttEngine> {
    if p == GOLDILOCKS { goldilocks_engine(n, isa) } else { prime_engine(n, p, isa) }
        .expect("a size and prime on offer")
}

#[test]
fn values_and_products_are_flints() {
    for ((n, p), [values, product]) in CASES.into_iter().zip(expected()) {
        let (a, b) = (numbers(1, n, p), numbers(2, n, p));
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let engine = engine(n, p, isa);
            let (mut x, mut y) = (a.clone(), b.clone());
            engine.forward_in_place(&mut x);
            engine.forward_in_place(&mut y);
            // Goldilocks spectra hold any word for a residue.
            let mut sorted: Vec<u64> = x.iter().map(|&word| word % p).collect();
            sorted.sort_unstable();
            assert!(sorted == values, "values, N = {n}, modulo {p}, {isa}, {}", engine.info().name);
            engine.multiply(&mut x, &y);
            engine.inverse_in_place(&mut x);
            assert!(x == product, "product, N = {n}, modulo {p}, {isa}, {}", engine.info().name);
        }
    }
}

#[test]
fn words_of_32_bits_too() {
    let ((n, p), [values, product]) = CASES.into_iter().zip(expected()).next().expect("the first case");
    let narrow = |words: &[u64]| words.iter().map(|&word| word as u32).collect::<Vec<u32>>();
    let (a, b) = (narrow(&numbers(1, n, p)), narrow(&numbers(2, n, p)));
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let engine = prime_engine_u32(n, p as u32, isa).expect("a size and prime on offer");
        let (mut x, mut y) = (a.clone(), b.clone());
        engine.forward_in_place(&mut x);
        engine.forward_in_place(&mut y);
        let mut sorted = x.clone();
        sorted.sort_unstable();
        assert!(sorted == narrow(&values), "values, {isa}");
        engine.multiply(&mut x, &y);
        engine.inverse_in_place(&mut x);
        assert!(x == narrow(&product), "product, {isa}");
    }
}

#[test]
fn the_four_step_transform_too() {
    for ((n, p), [values, product]) in CASES.into_iter().zip(expected()).filter(|((_, p), _)| *p != GOLDILOCKS) {
        let modulus = Modulus::new(p).expect("a prime");
        let transform = FourStepNtt::new(&[n / 16, 16], Convolution::Negacyclic, modulus).expect("a split on offer");
        let (mut x, mut y) = (numbers(1, n, p), numbers(2, n, p));
        transform.forward(&mut x);
        transform.forward(&mut y);
        let mut sorted = x.clone();
        sorted.sort_unstable();
        assert!(sorted == values, "values, N = {n}, modulo {p}");
        x.iter_mut().zip(&y).for_each(|(x, &y)| *x = modulus.mul(*x, y));
        transform.inverse(&mut x);
        assert!(x == product, "product, N = {n}, modulo {p}");
    }
}

#[test]
fn the_cases_are_those_of_the_record() {
    let record = include_str!("vectors/flint.json");
    let lines = CASES.map(|(n, p)| format!("{{\"polynomial_size\": {n}, \"modulus\": {p}}}"));
    assert_eq!(record, format!("[\n {}\n]\n", lines.join(",\n ")));
    assert!(CASES.iter().all(|&(_, p)| p == GOLDILOCKS || Modulus::new(p).is_ok()));
}
