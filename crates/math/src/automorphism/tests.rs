use super::{Automorphism, AutomorphismError, AutomorphismWord, SpectrumAutomorphism, reference};
use crate::Isa;
use crate::modulus::ntt_primes;
use crate::ntt::{NttEngine, Prime32Ntt, PrimeNtt, goldilocks_engine};
use ciphermill_testing::available;

/// The paths of this CPU.
fn paths() -> Vec<Isa> {
    available(Isa::ALL, |isa| isa.is_available())
}

fn words(seed: u64, len: usize, modulus: Option<u64>) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let scale = |x: u64| modulus.map_or(x, |q| ((u128::from(x) * u128::from(q)) >> 64) as u64);
    (0..len).map(|_| scale(next())).collect()
}

/// Random, all zero, all `top`, and unit vectors.
fn inputs(n: usize, top: u64, modulus: Option<u64>) -> Vec<Vec<u64>> {
    let unit = |place: usize| (0..n).map(|i| u64::from(i == place)).collect();
    let mut sparse = words(2, n, modulus);
    sparse.iter_mut().step_by(3).for_each(|x| *x = 0);
    vec![words(1, n, modulus), sparse, vec![0; n], vec![top; n], unit(0), unit(1 % n), unit(n - 1)]
}

fn exponents(n: usize) -> Vec<usize> {
    let mut exponents = vec![1, 3, 5, 25, n - 1, n + 1, 2 * n - 1, 0x5555_5555];
    exponents.retain(|g| g % 2 == 1);
    exponents
}

fn narrow(values: &[u64]) -> Vec<u32> {
    values.iter().map(|&x| x as u32).collect()
}

/// All sizes; small ones under Miri, which is a thousand times slower.
fn sizes() -> impl Iterator<Item = usize> {
    (0..=if cfg!(miri) { 6 } else { 17 }).map(|log| 1 << log)
}

#[test]
fn coefficients_match_the_definition_on_every_path() {
    const GOLDILOCKS: u64 = crate::goldilocks::MODULUS;
    for n in sizes() {
        for isa in paths() {
            for g in exponents(n) {
                let automorphism = Automorphism::new(n, g).expect("odd");
                for (q32, q64) in [((1u64 << 31) - 1, GOLDILOCKS), (3, (1 << 62) - 57)] {
                    for src in inputs(n, q64 - 1, Some(q64)) {
                        let mut out = vec![0u64; n];
                        automorphism.apply_modular(isa, q64, &src, &mut out);
                        assert!(out == reference::modular(g, q64, &src), "{isa}, N = {n}, g = {g}, modulo {q64}");
                    }
                    for src in inputs(n, q32 - 1, Some(q32)) {
                        let mut out = vec![0u32; n];
                        automorphism.apply_modular(isa, q32, &narrow(&src), &mut out);
                        let expected = narrow(&reference::modular(g, q32, &src));
                        assert!(out == expected, "{isa}, N = {n}, g = {g}, modulo {q32}");
                    }
                }
                for src in inputs(n, u64::MAX, None) {
                    let expected = reference::torus(g, &src);
                    let mut out = vec![0u64; n];
                    automorphism.apply_torus(isa, &src, &mut out);
                    assert!(out == expected, "{isa}, N = {n}, g = {g}, 64-bit torus");
                    let mut out = vec![0u32; n];
                    automorphism.apply_torus(isa, &narrow(&src), &mut out);
                    assert!(out == narrow(&expected), "{isa}, N = {n}, g = {g}, 32-bit torus");
                }
            }
        }
    }
}

#[test]
fn automorphisms_compose_and_have_inverses() {
    for n in sizes() {
        let src = words(7, n, None);
        let apply = |automorphism: Automorphism, src: &[u64]| {
            let mut out = vec![0; n];
            automorphism.apply_torus(Isa::current(), src, &mut out);
            out
        };
        for g in exponents(n) {
            let sigma = Automorphism::new(n, g).expect("odd");
            assert_eq!(apply(sigma.inverse(), &apply(sigma, &src)), src, "N = {n}, g = {g}");
            for h in exponents(n) {
                let both = Automorphism::new(n, g.wrapping_mul(h)).expect("odd");
                let tau = Automorphism::new(n, h).expect("odd");
                assert_eq!(apply(sigma, &apply(tau, &src)), apply(both, &src), "N = {n}, g = {g}, h = {h}");
            }
        }
    }
}

#[test]
fn what_is_no_automorphism_is_refused() {
    let max = Automorphism::MAX_POLYNOMIAL_SIZE;
    for given in [0, 3, 2 * max, usize::MAX] {
        assert_eq!(Automorphism::new(given, 3), Err(AutomorphismError::PolynomialSize { given, max }));
    }
    assert_eq!(Automorphism::new(16, 8), Err(AutomorphismError::EvenExponent { given: 8 }));
}

/// The permutation of a spectrum is the transform of the permuted polynomial, alone and added.
fn check_spectra<W: AutomorphismWord>(engine: &dyn NttEngine<W>, exponents: &[usize], word: fn(u64) -> W) {
    let (n, p, isa) = (engine.polynomial_size(), engine.modulus(), engine.info().host_isa());
    let spectrum = |polynomial: &[u64]| {
        let mut values: Vec<W> = polynomial.iter().map(|&x| word(x)).collect();
        engine.forward_in_place(&mut values);
        values
    };
    // Spectra may hold any word for a residue; coefficients are canonical.
    let coefficients = |mut spectrum: Vec<W>| {
        engine.inverse_in_place(&mut spectrum);
        spectrum
    };
    let words_of = |polynomial: &[u64]| polynomial.iter().map(|&x| word(x)).collect::<Vec<W>>();
    let name = format!("{} on {isa}, N = {n}", engine.info().name);
    for &g in exponents {
        let sigma = SpectrumAutomorphism::new(engine, g).expect("odd");
        for src in inputs(n, p - 1, Some(p)) {
            let transformed = spectrum(&src);
            let permuted = reference::modular(g, p, &src);
            let mut out = vec![W::default(); n];
            sigma.apply(&transformed, &mut out);
            assert!(coefficients(out) == words_of(&permuted), "{name}, g = {g}");

            // Sums of extremes reach 2p − 2.
            for addend in [words(5, n, Some(p)), vec![p - 1; n]] {
                let sum: Vec<u64> = addend
                    .iter()
                    .zip(&permuted)
                    .map(|(&a, &b)| ((u128::from(a) + u128::from(b)) % u128::from(p)) as u64)
                    .collect();
                let mut acc = spectrum(&addend);
                sigma.accumulate(&transformed, &mut acc);
                assert!(coefficients(acc) == words_of(&sum), "{name}, g = {g}, accumulated");
            }
        }
        // The greatest word that can stand for a residue.
        let greatest = if p >> 63 == 1 { u64::MAX } else { p - 1 };
        let mut acc = vec![word(greatest); n];
        sigma.accumulate(&acc.clone(), &mut acc);
        assert!(
            acc == vec![word((2 * u128::from(greatest) % u128::from(p)) as u64); n],
            "{name}, g = {g}, at the bound"
        );
    }
}

#[test]
fn spectra_of_goldilocks_match_coefficients() {
    for isa in paths() {
        for log in 0..=17 {
            if let Ok(engine) = goldilocks_engine(1 << log, isa) {
                check_spectra(&*engine, &[1, 3, 5, (2 << log) - 1], |x| x);
            }
        }
    }
}

#[test]
fn spectra_of_words_of_32_bits_match_coefficients() {
    for isa in paths() {
        for log in 8..=17 {
            // An engine may have another order for narrow primes.
            for bits in [31, 23] {
                let p = ntt_primes(bits, 1 << log).next().expect("a prime of that length").value() as u32;
                let engine = Prime32Ntt::new(1 << log, p, isa).expect("a prime of its class");
                check_spectra(&engine, &[3, (2 << log) - 1], |x| x as u32);
            }
        }
    }
}

#[test]
fn spectra_of_words_of_64_bits_match_coefficients() {
    for isa in paths() {
        for log in [4, 5, 6, 7, 8, 9, 10, 12, 14, 17] {
            for bits in [62, 50, 46] {
                let p = ntt_primes(bits, 1 << log).next().expect("a prime of that length").value();
                let engine = PrimeNtt::new(1 << log, p, isa).expect("a prime of its class");
                check_spectra(&engine, &[3, (2 << log) - 1], |x| x);
            }
        }
    }
}

/// Any bound by [`AutomorphismWord`] gives access to the kernels of a word.
fn permute_between<W: AutomorphismWord>(from: usize, to: usize) {
    W::permute(Isa::best(), 1, 0, &vec![W::default(); from], &mut vec![W::default(); to]);
}

#[test]
#[should_panic(expected = "length of the result")]
fn permutations_do_not_write_beyond_the_result() {
    permute_between::<u64>(64, 8);
}

#[test]
#[should_panic(expected = "length of the polynomial")]
fn permutations_do_not_read_beyond_the_polynomial() {
    permute_between::<u32>(63, 63);
}

#[test]
#[should_panic(expected = "does not fit the word")]
fn a_modulus_beyond_the_word_is_refused() {
    let automorphism = Automorphism::new(16, 3).expect("odd");
    automorphism.apply_modular(Isa::Portable, 1 << 32 | 1, &[0u32; 16], &mut [0; 16]);
}
