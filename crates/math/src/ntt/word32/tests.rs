//! Every kernel that this CPU can run, word for word, against the plain definition.

use ciphermill_testing::{Need, available, not_run};
use proptest::prelude::*;

use super::Prime32Ntt;
use crate::modulus::{Modulus, is_prime, ntt_primes};
use crate::ntt::reference::{bit_reverse, prime};
use crate::ntt::{NttEngine, NttError};
use crate::{BalancedDigit, CoefficientSource, Isa, SourceView};

/// Paths to test, with and without IFMA. The output names the paths that cannot run.
fn paths() -> Vec<(Isa, bool)> {
    let ifma = Isa::best().has_ifma();
    if !ifma {
        not_run(Need::Cpu, "AVX-512 with IFMA");
    }
    let paths = available(Isa::ALL, |isa| isa.is_available());
    paths.into_iter().map(|isa| (isa, false)).chain(ifma.then_some((Isa::Avx512, true))).collect()
}

/// The largest primes of 31, 30 and 29 bits, the smallest of all, and published ones.
fn primes(n: usize) -> Vec<Modulus> {
    let smallest = (1u64..).map(|k| k * 2 * n as u64 + 1).find(|&p| is_prime(p)).unwrap();
    let published = [998_244_353, 469_762_049, 2_013_265_921];
    let mut primes: Vec<_> = [31, 30, 29].into_iter().filter_map(|bits| ntt_primes(bits, n).next()).collect();
    primes.extend([smallest].into_iter().chain(published).map(|p| Modulus::new(p).unwrap()));
    primes
}

fn residues(modulus: Modulus, seed: u64, count: usize) -> Vec<u32> {
    // Weyl's sequence, mixed by a product.
    (0..count as u64)
        .map(|i| {
            let x = (seed.wrapping_add(i + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) % modulus.value()
        })
        .map(|x| x as u32)
        .collect()
}

fn vectors(modulus: Modulus, n: usize) -> Vec<Vec<u32>> {
    let unit = |index, value| {
        let mut vector = vec![0; n];
        vector[index] = value;
        vector
    };
    let greatest = modulus.value() as u32 - 1;
    vec![residues(modulus, n as u64, n), vec![0; n], vec![greatest; n], unit(0, 1), unit(n - 1, greatest), unit(1, 1)]
}

fn forward(modulus: Modulus, polynomial: &[u32]) -> Vec<u32> {
    let mut expected: Vec<u64> = polynomial.iter().map(|&x| x.into()).collect();
    prime::forward(modulus, &mut expected);
    expected.into_iter().map(|x| x as u32).collect()
}

/// The reference's spectrum in the engine's order.
fn ordered(engine: &Prime32Ntt, spectrum: &[u32]) -> Vec<u32> {
    let log_n = spectrum.len().trailing_zeros();
    (0..spectrum.len()).map(|place| spectrum[bit_reverse(engine.exponent(place) / 2, log_n)]).collect()
}

#[test]
fn every_path_equals_the_reference() {
    for log_n in 8..=17 {
        let n = 1 << log_n;
        for modulus in primes(n) {
            let engines: Vec<_> = paths()
                .into_iter()
                .map(|(isa, ifma)| Prime32Ntt::with_ifma(n, modulus.value() as u32, isa, ifma).unwrap())
                .collect();
            for (i, polynomial) in vectors(modulus, n).into_iter().enumerate() {
                let expected = forward(modulus, &polynomial);
                for engine in &engines {
                    let what = format!("{}, p = {modulus}, N = {n}, vector {i}", engine.info());
                    let mut spectrum = vec![u32::MAX; n];
                    engine.forward(&polynomial, &mut spectrum);
                    assert!(spectrum == ordered(engine, &expected), "forward, {what}");
                    let mut in_place = polynomial.clone();
                    engine.forward_in_place(&mut in_place);
                    assert!(in_place == spectrum, "forward in place, {what}");
                    engine.inverse_in_place(&mut in_place);
                    assert!(in_place == polynomial, "inverse in place, {what}");
                    let mut back = vec![u32::MAX; n];
                    engine.inverse(&mut spectrum, &mut back);
                    assert!(back == polynomial, "inverse, {what}");
                    // The inverse of a spectrum without a simple polynomial.
                    back.copy_from_slice(&polynomial);
                    engine.inverse_in_place(&mut back);
                    engine.forward_in_place(&mut back);
                    assert!(back == polynomial, "forward of the inverse, {what}");
                }
            }
        }
    }
}

#[test]
fn products_and_their_sums() {
    let n = 256;
    for modulus in primes(n) {
        let p = modulus.value();
        for rows in [1usize, 2, 7] {
            let rows_of = |seed| [vec![p as u32 - 1; n], residues(modulus, seed, (rows - 1) * n)].concat();
            let (a, b) = (rows_of(1), rows_of(2));
            let wide = |x: &[u32]| -> Vec<u64> { x.iter().map(|&x| x.into()).collect() };
            let mut expected = vec![0u64; n];
            for (a, b) in wide(&a).chunks(n).zip(wide(&b).chunks(n)) {
                for (sum, term) in expected.iter_mut().zip(prime::negacyclic_product(modulus, a, b)) {
                    *sum = modulus.add(*sum, term);
                }
            }
            for (isa, ifma) in paths() {
                let engine = Prime32Ntt::with_ifma(n, p as u32, isa, ifma).unwrap();
                let (mut lhs, mut rhs) = (a.clone(), b.clone());
                for row in lhs.chunks_mut(n).chain(rhs.chunks_mut(n)) {
                    engine.forward_in_place(row);
                }
                let mut acc = lhs[..n].to_vec();
                engine.multiply(&mut acc, &rhs[..n]);
                engine.multiply_accumulate(&mut acc, &lhs[n..], &rhs[n..]);
                engine.inverse_in_place(&mut acc);
                assert_eq!(wide(&acc), expected, "{isa}, p = {p}, {rows} rows");
            }
        }
    }
}

#[test]
fn sums_of_many_greatest_products() {
    let (n, rows) = (256, 1001);
    let modulus = ntt_primes(31, n).next().unwrap();
    let greatest = vec![modulus.value() as u32 - 1; n * rows];
    for (isa, ifma) in paths() {
        let engine = Prime32Ntt::with_ifma(n, modulus.value() as u32, isa, ifma).unwrap();
        let mut acc = vec![modulus.value() as u32 - 1; n];
        engine.multiply_accumulate(&mut acc, &greatest, &greatest);
        assert_eq!(acc, vec![1000; n], "{isa}");
    }
}

struct Source<'a>(SourceView<'a, u32>, Vec<u32>);

impl CoefficientSource<u32> for Source<'_> {
    fn len(&self) -> usize {
        self.1.len()
    }

    fn read(&self, start: usize, out: &mut [u32]) {
        out.copy_from_slice(&self.1[start..start + out.len()]);
    }

    fn view(&self) -> SourceView<'_, u32> {
        self.0
    }
}

#[test]
fn sources_that_describe_themselves() {
    let n = 1024;
    let modulus = ntt_primes(31, n).next().unwrap();
    let words: Vec<u64> = (0..n as u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let short: Vec<u32> = words.iter().map(|x| (x >> 32) as u32).collect();
    let digit = BalancedDigit { offset: 0x8020_0800_0000_0000, shift: 42, mask: (1 << 22) - 1, half: 1 << 21 };
    let expected = |x: u64| modulus.reduce_signed(digit.extract(x)) as u32;
    let sources = [
        Source(SourceView::Digits(&words, digit), words.iter().map(|&x| expected(x)).collect()),
        Source(SourceView::Digits32(&short, digit), short.iter().map(|&x| expected(u64::from(x) << 32)).collect()),
        Source(SourceView::Opaque, short.iter().map(|&x| x >> 1).collect()),
    ];
    for (isa, ifma) in paths() {
        let engine = Prime32Ntt::with_ifma(n, modulus.value() as u32, isa, ifma).unwrap();
        for source in &sources {
            let mut spectrum = vec![0; n];
            engine.forward(source, &mut spectrum);
            assert_eq!(spectrum, ordered(&engine, &forward(modulus, &source.1)), "{isa}");
        }
    }
}

/// Transforms digits that the engine must refuse: fewer than N, or beyond the modulus 12289.
fn forward_digits(count: usize, mask: u64, half: u64) {
    let (words, short) = (vec![0; count], vec![0; count]);
    let digit = BalancedDigit { offset: 0, shift: 40, mask, half };
    let engine = Prime32Ntt::new(256, 12_289, Isa::Portable).unwrap();
    for view in [SourceView::Digits(&words, digit), SourceView::Digits32(&short, digit)] {
        let call = || engine.forward(&Source(view, vec![0; 256]), &mut [0; 256]);
        let panic = std::panic::catch_unwind(call).expect_err("refused");
        let message = panic.downcast_ref::<String>().expect("a message");
        let of_length = message.contains("length of the source");
        assert!(if count == 256 { message.contains("do not fit the modulus") } else { of_length }, "{message}");
    }
}

#[test]
fn digits_that_do_not_suit_are_refused() {
    forward_digits(255, 255, 128);
    forward_digits(257, 255, 128);
    forward_digits(256, (1 << 15) - 1, 1 << 14);
    forward_digits(256, (1 << 14) - 1, 0);
    forward_digits(256, 12_289 + 128, 128);
}

#[test]
fn what_is_not_offered() {
    let isa = Isa::Portable;
    let refused = |n, p| Prime32Ntt::new(n, p, isa).unwrap_err();
    assert!(matches!(refused(128, 12_289), NttError::PolynomialSize { given: 128, .. }));
    assert!(matches!(refused(1 << 18, 12_289), NttError::PolynomialSize { .. }));
    assert!(matches!(refused(300, 12_289), NttError::PolynomialSize { .. }));
    assert!(matches!(refused(4096, 12_289), NttError::NoRoot { modulus: 12_289, polynomial_size: 4096 }));
    assert!(matches!(refused(1024, 12_288), NttError::Modulus(_)));
    assert!(matches!(refused(1024, 0xffff_0001), NttError::ModulusLength { .. }));
    assert!(Prime32Ntt::new(2048, 12_289, isa).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_polynomial_over_any_prime(log_n in 8u32..12, bits in 16u32..=31, nth in 0usize..3, seed: u64) {
        let n = 1 << log_n;
        // Some lengths of 16 and 17 bits have fewer primes.
        let Some(modulus) = ntt_primes(bits, n).nth(nth) else { return Ok(()) };
        let polynomial = residues(modulus, seed >> 1, n);
        let expected = forward(modulus, &polynomial);
        for (isa, ifma) in paths() {
            let engine = Prime32Ntt::with_ifma(n, modulus.value() as u32, isa, ifma).unwrap();
            let mut values = polynomial.clone();
            engine.forward_in_place(&mut values);
            prop_assert_eq!(&values, &ordered(&engine, &expected));
            engine.inverse_in_place(&mut values);
            prop_assert_eq!(&values, &polynomial);
        }
    }
}
