//! Spectra against the golden model, entry by entry, which needs their private order.

use ciphermill_testing::{Need, available, not_run};
use proptest::prelude::*;

use super::{KERNELS_64, Kernels, PrimeNtt};
use crate::modulus::{ModulusError, is_prime, ntt_primes};
use crate::ntt::{NttEngine, NttError, prime_engine, reference};
use crate::{CoefficientSource, EngineKind, Isa, Modulus};

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

fn inputs(n: usize, p: u64) -> Vec<Vec<u64>> {
    let unit = |j: usize, value: u64| {
        let mut x = vec![0; n];
        x[j] = value;
        x
    };
    let edges = [0, 1, p - 1, p / 2, p / 2 + 1, p - 2, 2];
    let random: Vec<u64> = words(n as u64 ^ p, n).into_iter().map(|x| x % p).collect();
    let extreme = words(p, n).into_iter().map(|x| edges[(x % 7) as usize]).collect();
    vec![random, extreme, vec![0; n], vec![p - 1; n], unit(0, 1), unit(1, 1), unit(n / 2, p - 1), unit(n - 1, 1)]
}

const PAPER: [u64; 3] = [(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1, (1 << 38) + (1 << 23) + 1];

/// The tested primes, of those that suit N: the largest prime of each class, the smallest of all, the smallest of 47,
/// 50 and 61 bits, one of 49 bits, and the primes 2^a + 2^b + 1 of the papers.
fn moduli(n: usize) -> Vec<Modulus> {
    let from = |least: u64| {
        let step = 2 * n as u64;
        (least / step + 1..).map(|k| k * step + 1).find(|&p| is_prime(p)).unwrap()
    };
    let paper = PAPER.into_iter().filter(|&p| is_prime(p) && (p - 1).is_multiple_of(2 * n as u64));
    let others = paper.chain([from(0), from(1 << 46), from(1 << 49), from(1 << 60)]).map(|p| Modulus::new(p).unwrap());
    [46, 47, 49, 50, 61, 62].into_iter().flat_map(|bits| ntt_primes(bits, n).take(1)).chain(others).collect()
}

/// An engine for each kernel that this CPU offers and that suits N and the modulus.
fn engines(n: usize, modulus: Modulus) -> impl Iterator<Item = PrimeNtt> {
    let isa = Isa::best();
    let suits =
        move |k: &&&'static Kernels<u64>| (k.offered)(isa) && modulus.bits() <= k.bits && n >= k.min_polynomial_size;
    KERNELS_64.iter().filter(suits).map(move |&k| PrimeNtt::with_kernels(&[k], n, modulus, isa).unwrap())
}

/// Spectra in the order of the golden model.
fn sorted(engine: &PrimeNtt, spectrum: &[u64]) -> Vec<u64> {
    let mut sorted = vec![0; spectrum.len()];
    for (place, &value) in spectrum.iter().enumerate() {
        sorted[reference::bit_reverse(engine.exponent(place) / 2, spectrum.len().trailing_zeros())] = value;
    }
    sorted
}

#[test]
fn spectra_equal_the_golden_model_and_come_back() {
    available(Isa::ALL, |isa| isa.is_available());
    if !Isa::best().has_ifma() {
        not_run(Need::Cpu, "AVX-512 with IFMA");
    }
    for log_n in 4..=17 {
        let n = 1 << log_n;
        for modulus in moduli(n) {
            let engines: Vec<PrimeNtt> = engines(n, modulus).collect();
            for input in inputs(n, modulus.value()) {
                let mut expected = input.clone();
                reference::prime::forward(modulus, &mut expected);
                for engine in &engines {
                    let what = format!("{:?}, N = {n}, p = {modulus}", engine.kernels);
                    let mut spectrum = vec![u64::MAX; n];
                    engine.forward(&input, &mut spectrum);
                    assert!(sorted(engine, &spectrum) == expected, "{what}");
                    let mut in_place = input.clone();
                    engine.forward_in_place(&mut in_place);
                    assert!(in_place == spectrum, "{what}");
                    engine.inverse_in_place(&mut in_place);
                    assert!(in_place == input, "{what}");
                    let mut coefficients = vec![u64::MAX; n];
                    engine.inverse(&mut spectrum, &mut coefficients);
                    assert!(coefficients == input, "{what}");
                }
            }
        }
    }
}

/// Polynomials whose sums grow in step: halves of p and multiples of p − 1 in patterns, and powers of ψ. All terms of a
/// power of ψ have the same sign in one place of the spectrum, and so in every butterfly on the way to that place.
#[test]
fn structured_extremes_stay_in_range() {
    for log_n in [6u32, 7, 9, 13] {
        let n = 1usize << log_n;
        for modulus in [46u32, 47, 50, 61, 62].into_iter().flat_map(|bits| ntt_primes(bits, n).take(1)) {
            let p = modulus.value();
            let psi = modulus.primitive_root_2n(n).unwrap();
            let of = |f: &dyn Fn(usize) -> u64| (0..n).map(f).collect::<Vec<u64>>();
            let power = |j: usize| modulus.pow(psi, (j % (2 * n)) as u64);
            let cases = [
                vec![p / 2; n],
                vec![p / 2 + 1; n],
                of(&|j| p / 2 + j as u64 % 2),
                of(&|j| if j % 2 == 0 { p - 1 } else { 1 }),
                of(&|j| if j < n / 2 { p - 1 } else { 0 }),
                of(&|j| if j < n / 2 { 0 } else { p - 1 }),
                of(&|j| power(5 * j)),
                of(&|j| modulus.mul(p / 2, power(2 * n - j))),
            ];
            let engines: Vec<PrimeNtt> = engines(n, modulus).collect();
            for (i, case) in cases.iter().enumerate() {
                let mut expected = case.clone();
                reference::prime::forward(modulus, &mut expected);
                for engine in &engines {
                    let what = format!("{:?}, N = {n}, p = {modulus}, case {i}", engine.kernels);
                    let mut values = case.clone();
                    engine.forward_in_place(&mut values);
                    assert!(sorted(engine, &values) == expected, "forward, {what}");
                    engine.inverse_in_place(&mut values);
                    assert!(&values == case, "inverse, {what}");
                    // The same values as a spectrum.
                    engine.inverse_in_place(&mut values);
                    reference::prime::forward(modulus, &mut values);
                    assert!(sorted(engine, case) == values, "inverse of the pattern, {what}");
                }
            }
        }
    }
}

/// A source that is not a slice and counts the reads of each coefficient.
struct Counting(std::sync::Mutex<Vec<u32>>);

impl CoefficientSource<u64> for Counting {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        let mut counts = self.0.lock().unwrap();
        for (j, x) in out.iter_mut().enumerate() {
            counts[start + j] += 1;
            *x = (start + j) as u64 % 97;
        }
    }
}

#[test]
fn opaque_sources_are_read_once() {
    for log_n in 4..=17 {
        let n = 1 << log_n;
        let modulus = ntt_primes(40, n).next().unwrap();
        let slice: Vec<u64> = (0..n as u64).map(|j| j % 97).collect();
        for engine in engines(n, modulus) {
            let source = Counting(std::sync::Mutex::new(vec![0; n]));
            let (mut spectrum, mut expected) = (vec![0; n], vec![0; n]);
            engine.forward(&source, &mut spectrum);
            engine.forward(&slice, &mut expected);
            assert!(spectrum == expected, "{:?}, N = {n}", engine.kernels);
            assert!(source.0.lock().unwrap().iter().all(|&count| count == 1), "{:?}, N = {n}", engine.kernels);
        }
    }
}

#[test]
fn products_equal_the_schoolbook() {
    for n in [16, 32, 64, 128, 256, 512] {
        for modulus in moduli(n) {
            let inputs = inputs(n, modulus.value());
            let engines: Vec<PrimeNtt> = engines(n, modulus).collect();
            for (a, b) in [(0, 1), (1, 3), (3, 3), (0, 6)] {
                let expected = reference::prime::negacyclic_product(modulus, &inputs[a], &inputs[b]);
                for engine in &engines {
                    let (mut a, mut b) = (inputs[a].clone(), inputs[b].clone());
                    engine.forward_in_place(&mut a);
                    engine.forward_in_place(&mut b);
                    engine.multiply(&mut a, &b);
                    engine.inverse_in_place(&mut a);
                    assert_eq!(a, expected, "{:?}, N = {n}, p = {modulus}", engine.kernels);
                }
            }
        }
    }
}

/// Sums of the most products of p − 1 that fit before a reduction, and of one more and one fewer.
#[test]
fn long_sums_of_extreme_products() {
    let n = 128;
    for modulus in moduli(n) {
        let p = modulus.value();
        for engine in engines(n, modulus) {
            for rows in [1, 15, 16, 17, 32, 100, 2047, 2048, 2049] {
                let extreme = vec![p - 1; rows * n];
                let mut acc = vec![p - 1; n];
                engine.multiply_accumulate(&mut acc, &extreme, &extreme);
                let expected = modulus.reduce_u128(rows as u128 + u128::from(p) - 1);
                assert_eq!(acc, vec![expected; n], "{:?}, p = {p}, {rows} rows", engine.kernels);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pointwise_sums_equal_the_definition(seed in any::<u64>(), rows in 0usize..40, class in 0usize..10, edges in any::<bool>()) {
        let n = 128;
        let moduli = moduli(n);
        let modulus = moduli[class % moduli.len()];
        let p = modulus.value();
        let residues = |seed: u64, count: usize| -> Vec<u64> {
            let edge = |x: u64| [0, 1, p - 1, p - 2, p / 2][(x % 5) as usize];
            words(seed, count).into_iter().map(|x| if edges { edge(x) } else { x % p }).collect()
        };
        let (acc, lhs, rhs) = (residues(seed, n), residues(seed ^ 1, rows * n), residues(seed ^ 2, rows * n));
        let expected: Vec<u64> = (0..n)
            .map(|j| {
                let products = (0..rows).map(|r| modulus.mul(lhs[r * n + j], rhs[r * n + j]));
                products.fold(acc[j], |sum, product| modulus.add(sum, product))
            })
            .collect();
        for engine in engines(n, modulus) {
            let mut sums = acc.clone();
            engine.multiply_accumulate(&mut sums, &lhs, &rhs);
            prop_assert_eq!(&sums, &expected, "{:?}", engine.kernels);
            if rows > 0 {
                let mut product = acc.clone();
                engine.multiply(&mut product, &rhs[..n]);
                let plain: Vec<u64> = acc.iter().zip(&rhs).map(|(&a, &b)| modulus.mul(a, b)).collect();
                prop_assert_eq!(&product, &plain, "{:?}", engine.kernels);
            }
        }
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let refused = |n, modulus| PrimeNtt::new(n, modulus, Isa::Portable).unwrap_err();
    assert!(matches!(refused(8, 97), NttError::PolynomialSize { given: 8, min: 16, max: 131_072 }));
    assert!(matches!(refused(1 << 18, 97), NttError::PolynomialSize { .. }));
    assert!(matches!(refused(1000, 97), NttError::PolynomialSize { given: 1000, .. }));
    assert!(matches!(refused(16, 1 << 62), NttError::Modulus(ModulusError::Range { .. })));
    assert!(matches!(refused(16, u64::MAX), NttError::Modulus(ModulusError::Range { .. })));
    assert!(matches!(refused(16, 0), NttError::Modulus(ModulusError::Range { .. })));
    assert!(matches!(refused(16, 2), NttError::Modulus(ModulusError::Range { .. })));
    assert!(matches!(refused(16, 97 * 193), NttError::Modulus(ModulusError::NotPrime { .. })));
    let error = refused(64, 97);
    assert!(matches!(error, NttError::NoRoot { modulus: 97, polynomial_size: 64 }));
    assert!(error.to_string().contains("128"), "{error}");
}

#[test]
fn engines_are_shared() {
    let a = prime_engine(64, 257, Isa::Portable).unwrap();
    let b = prime_engine(64, 257, Isa::Portable).unwrap();
    assert!(std::sync::Arc::ptr_eq(&a, &b));
    let info = a.info();
    assert_eq!(
        (a.polynomial_size(), a.modulus(), info.kind, &*info.name),
        (64, 257, EngineKind::Cpu(Isa::Portable), "shoup62")
    );
}

/// The fastest strategy that the instruction set, the prime and N allow.
#[test]
fn strategies_are_those_of_the_table() {
    for isa in Isa::available() {
        for n in (4..=17).map(|log| 1usize << log) {
            for modulus in [46, 47, 50, 51, 61, 62].into_iter().flat_map(|bits| ntt_primes(bits, n).take(1)) {
                // Two tiles of 8 · 8 words, of 8 · 4, and no vector at all.
                let lanes = match isa {
                    Isa::Avx512 if n >= 128 => 8,
                    Isa::Avx512 | Isa::Avx2 if n >= 64 => 4,
                    _ => 1,
                };
                let expected = match (lanes, modulus.bits()) {
                    (8, ..=46) if isa.has_ifma() => "ifma46",
                    (8, ..=50) if isa.has_ifma() => "ifma50",
                    (4 | 8, ..=47) => "fma47",
                    (4 | 8, ..=50) => "fma50",
                    (4 | 8, ..=61) => "shoup61",
                    _ => "shoup62",
                };
                let engine = PrimeNtt::new(n, modulus.value(), isa).unwrap();
                let given = (&*engine.info().name, engine.kernels.lanes);
                assert_eq!(given, (expected, lanes), "{isa}, N = {n}, p = {modulus}");
            }
        }
    }
}
