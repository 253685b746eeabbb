//! The Goldilocks transforms, on every path of this CPU, against their plain definitions.

use ciphermill_testing::available;
use std::sync::Arc;

use ciphermill_math::goldilocks::{MODULUS, reference as field};
use ciphermill_math::ntt::{GoldilocksNtt, NttEngine, NttError, goldilocks_engine, reference};
use ciphermill_math::{EngineKind, Isa};
use proptest::prelude::*;

/// The paths of this CPU.
fn paths() -> Vec<Isa> {
    available(Isa::ALL, |isa| isa.is_available())
}

fn words(seed: u64, count: usize) -> Vec<u64> {
    // SplitMix64.
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        })
        .collect()
}

fn residues(seed: u64, count: usize) -> Vec<u64> {
    words(seed, count).into_iter().map(|x| x % MODULUS).collect()
}

fn unit(n: usize, index: usize, value: u64) -> Vec<u64> {
    let mut polynomial = vec![0; n];
    polynomial[index] = value;
    polynomial
}

/// acc = Σ a_r·b_r modulo X^N + 1 through the engine.
fn product_sum(engine: &dyn NttEngine, a: &[Vec<u64>], b: &[Vec<u64>]) -> Vec<u64> {
    let n = engine.polynomial_size();
    let (mut lhs, mut rhs) = (vec![0; n * a.len()], vec![0; n * b.len()]);
    for (source, spectrum) in a.iter().zip(lhs.chunks_exact_mut(n)).chain(b.iter().zip(rhs.chunks_exact_mut(n))) {
        engine.forward(source, spectrum);
    }
    let mut acc = vec![0; n];
    engine.multiply_accumulate(&mut acc, &lhs, &rhs);
    let mut out = vec![u64::MAX; n];
    engine.inverse(&mut acc, &mut out);
    out
}

#[test]
fn golden_pair_evaluates_at_odd_powers() {
    for log_n in 0..=8 {
        let n = 1 << log_n;
        let polynomial = residues(log_n, n);
        let values = reference::evaluate_at_odd_powers(&polynomial);
        let mut spectrum = polynomial.clone();
        reference::forward(&mut spectrum);
        for (i, &value) in spectrum.iter().enumerate() {
            assert_eq!(value, values[reference::bit_reverse(i, log_n as u32)], "N = {n}, entry {i}");
        }
        reference::inverse_unnormalised(&mut spectrum);
        reference::normalise(&mut spectrum);
        assert_eq!(spectrum, polynomial);
    }
}

#[test]
fn golden_product_is_the_schoolbook_product() {
    for log_n in 0..=9 {
        let n = 1 << log_n;
        let (a, b) = (residues(1, n), residues(2, n));
        assert_eq!(reference::negacyclic_product_by_ntt(&a, &b), reference::negacyclic_product(&a, &b), "N = {n}");
    }
}

#[test]
fn products_equal_the_golden_model_at_every_size() {
    for log_n in 4..=17 {
        let n = 1 << log_n;
        let minus_one = vec![MODULUS - 1; n];
        let pairs = [
            (residues(n as u64, n), residues(!n as u64, n)),
            (minus_one.clone(), minus_one.clone()),
            (vec![0; n], minus_one),
            // X^(N−1)·X = −1.
            (unit(n, n - 1, 1), unit(n, 1, 1)),
        ];
        for (a, b) in pairs {
            let expected = reference::negacyclic_product_by_ntt(&a, &b);
            for isa in paths() {
                let engine = GoldilocksNtt::new(n, isa).unwrap();
                let product = product_sum(&engine, std::slice::from_ref(&a), std::slice::from_ref(&b));
                assert_eq!(product, expected, "{isa}, N = {n}");
            }
        }
    }
}

#[test]
fn products_equal_the_schoolbook_product() {
    for log_n in 4..=9 {
        let n = 1 << log_n;
        let a: Vec<_> = (0..3).map(|r| residues(r, n)).collect();
        let b: Vec<_> = (0..3).map(|r| residues(100 + r, n)).collect();
        let mut expected = vec![0; n];
        for (a, b) in a.iter().zip(&b) {
            for (sum, term) in expected.iter_mut().zip(reference::negacyclic_product(a, b)) {
                *sum = field::add(*sum, term);
            }
        }
        for isa in paths() {
            let engine = GoldilocksNtt::new(n, isa).unwrap();
            assert_eq!(product_sum(&engine, &a, &b), expected, "{isa}, N = {n}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Coefficients from the edges of the field, where carries and borrows happen.
    #[test]
    fn products_of_edge_coefficients(
        (a, b) in (4u32..=8).prop_flat_map(|log_n| {
            let coefficient = || prop_oneof![
                0..MODULUS,
                prop::sample::select(vec![0, 1, MODULUS - 1, MODULUS - 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1]),
                MODULUS - (1 << 33)..MODULUS,
            ];
            let polynomial = || prop::collection::vec(coefficient(), 1 << log_n);
            (polynomial(), polynomial())
        })
    ) {
        let expected = reference::negacyclic_product(&a, &b);
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let engine = GoldilocksNtt::new(a.len(), isa).unwrap();
            prop_assert_eq!(
                &product_sum(&engine, std::slice::from_ref(&a), std::slice::from_ref(&b)), &expected, "{}", isa
            );
        }
    }
}

/// Any words may stand in a spectrum. The largest ones over exactly and over more than the rows of one lazy sum would
/// reveal an overflow.
#[test]
fn multiply_accumulate_of_any_words_and_many_rows() {
    for n in [16, 64, 1024] {
        for rows in [0, 1, 2, 10, 1023, 1024, 1025, 2050] {
            let count = n * rows;
            if count > 1 << 18 {
                continue;
            }
            let cases = [
                (words(5, n), words(6, count), words(7, count)),
                (vec![u64::MAX; n], vec![u64::MAX; count], vec![u64::MAX; count]),
                (vec![MODULUS - 1; n], vec![MODULUS - 1; count], vec![MODULUS - 1; count]),
            ];
            for (acc, lhs, rhs) in cases {
                let expected: Vec<u64> = (0..n)
                    .map(|j| {
                        let terms = (0..rows).map(|r| field::mul(lhs[r * n + j], rhs[r * n + j]));
                        terms.fold(acc[j] % MODULUS, field::add)
                    })
                    .collect();
                // No row leaves the words as they are; a sum is canonical.
                let expected = if rows == 0 { acc.clone() } else { expected };
                for isa in paths() {
                    let engine = GoldilocksNtt::new(n, isa).unwrap();
                    let mut acc = acc.clone();
                    engine.multiply_accumulate(&mut acc, &lhs, &rhs);
                    assert_eq!(acc, expected, "{isa}, N = {n}, {rows} rows");
                }
            }
        }
    }
}

#[test]
fn batches_are_single_transforms() {
    for isa in paths() {
        let engine = GoldilocksNtt::new(256, isa).unwrap();
        let polynomials: Vec<Vec<u64>> = (0..3).map(|r| residues(r, 256)).collect();
        let sources: Vec<&dyn ciphermill_math::CoefficientSource<u64>> = polynomials.iter().map(|p| p as _).collect();
        let mut spectra = vec![0; 3 * 256];
        engine.forward_batch(&sources, &mut spectra);
        for (polynomial, spectrum) in polynomials.iter().zip(spectra.chunks_exact(256)) {
            let mut single = vec![0; 256];
            engine.forward(polynomial, &mut single);
            assert_eq!(single, spectrum);
        }
    }
}

#[test]
fn the_cache_keeps_one_engine_per_size_and_path() {
    for isa in paths() {
        let first = goldilocks_engine(1024, isa).unwrap();
        assert!(Arc::ptr_eq(&first, &goldilocks_engine(1024, isa).unwrap()));
        assert_eq!(
            (first.polynomial_size(), first.modulus(), first.info().kind),
            (1024, MODULUS, EngineKind::Cpu(isa))
        );
        assert_eq!(goldilocks_engine(2048, isa).unwrap().polynomial_size(), 2048);
    }
}

#[test]
fn other_sizes_and_paths_are_refused() {
    for given in [0, 1, 8, 17, 24, 1 << 18, usize::MAX] {
        let expected = NttError::PolynomialSize { given, min: 16, max: 131072 };
        assert_eq!(GoldilocksNtt::new(given, Isa::Portable).unwrap_err(), expected);
        assert_eq!(goldilocks_engine(given, Isa::Portable).unwrap_err(), expected);
        assert!(expected.to_string().contains("from 16 to 131072"));
    }
    for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
        assert_eq!(GoldilocksNtt::new(1024, isa).unwrap_err(), NttError::Isa { asked: isa, best: Isa::best() });
    }
}
