use super::{PointwiseError, PointwiseKernels, PointwiseWord};
use crate::modulus::ntt_primes;
use crate::{Isa, Modulus};
use ciphermill_testing::{Need, available, not_run};

fn paths() -> Vec<Isa> {
    if Isa::Avx512.is_available() && !Isa::Avx512.has_ifma() {
        not_run(Need::Cpu, "AVX-512 with IFMA");
    }
    available(Isa::ALL, |isa| isa.is_available())
}

/// The greatest prime of each length from `least` to `greatest` bits, whether or not it has roots of unity.
fn primes(least: u32, greatest: u32) -> Vec<Modulus> {
    let greatest_of = |bits: u32| (1u64 << (bits - 1)..1 << bits).rev().find_map(|p| Modulus::new(p).ok());
    (least..=greatest).filter_map(greatest_of).collect()
}

fn random(seed: u64, len: usize, p: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    (0..len).map(|_| ((u128::from(next()) * u128::from(p)) >> 64) as u64).collect()
}

/// Random, all zero, all p − 1, a unit vector.
fn inputs(len: usize, p: u64) -> Vec<Vec<u64>> {
    let unit = (0..len).map(|i| u64::from(i == len / 2)).collect();
    vec![random(1, len, p), vec![0; len], vec![p - 1; len], unit]
}

fn check<W: PointwiseWord + PartialEq>(p: Modulus, isa: Isa, len: usize, word: fn(u64) -> W) {
    let kernels = PointwiseKernels::<W>::new(p, isa).expect("a modulus of its class");
    let name = format!("{isa}, p = {p}, {len} words");
    let words = |values: &[u64]| values.iter().map(|&x| word(x)).collect::<Vec<W>>();
    let combine = |x: &[u64], y: &[u64], f: &dyn Fn(u64, u64) -> u64| {
        words(&x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect::<Vec<_>>())
    };
    for x in inputs(len, p.value()) {
        for y in [random(2, len, p.value()), vec![0; len], vec![p.value() - 1; len]] {
            let run = |f: &dyn Fn(&mut [W], &[W])| {
                let mut out = words(&x);
                f(&mut out, &words(&y));
                out
            };
            assert!(run(&|l, r| kernels.add(l, r)) == combine(&x, &y, &|x, y| p.add(x, y)), "sum, {name}");
            assert!(run(&|l, r| kernels.sub(l, r)) == combine(&x, &y, &|x, y| p.sub(x, y)), "difference, {name}");
            assert!(run(&|l, r| kernels.multiply(l, r)) == combine(&x, &y, &|x, y| p.mul(x, y)), "product, {name}");
        }
        let mut out = words(&x);
        kernels.neg(&mut out);
        assert!(out == combine(&x, &x, &|x, _| p.neg(x)), "negative, {name}");
        for factor in [0, 1, p.value() / 2, p.value() - 1] {
            let mut out = words(&x);
            kernels.multiply_scalar(&mut out, word(factor));
            assert!(out == combine(&x, &x, &|x, _| p.mul(x, factor)), "product with {factor}, {name}");
        }
    }
}

fn check_sums<W: PointwiseWord + PartialEq>(p: Modulus, isa: Isa, len: usize, rows: usize, word: fn(u64) -> W) {
    let kernels = PointwiseKernels::<W>::new(p, isa).expect("a modulus of its class");
    let words = |values: &[u64]| values.iter().map(|&x| word(x)).collect::<Vec<W>>();
    for extreme in [false, true] {
        let values = |seed, len| if extreme { vec![p.value() - 1; len] } else { random(seed, len, p.value()) };
        let (acc, lhs, rhs) = (values(1, len), values(2, rows * len), values(3, rows * len));
        let mut expected = acc.clone();
        for (i, (&l, &r)) in lhs.iter().zip(&rhs).enumerate() {
            expected[i % len] = p.add(expected[i % len], p.mul(l, r));
        }
        let mut given = words(&acc);
        kernels.multiply_accumulate(&mut given, &words(&lhs), &words(&rhs));
        assert!(given == words(&expected), "{isa}, p = {p}, {len} words, {rows} rows, extreme: {extreme}");
    }
}

#[test]
fn every_path_is_the_definition_for_moduli_of_every_length() {
    for isa in paths() {
        for p in primes(2, 62) {
            check::<u64>(p, isa, 67, |x| x);
        }
        for p in primes(2, 31) {
            check::<u32>(p, isa, 67, |x| x as u32);
        }
    }
}

#[test]
fn every_path_is_the_definition_at_every_length() {
    for isa in paths() {
        for len in (0..=40).chain((6..=17).map(|log| 1 << log)) {
            for bits in [62, 51, 50, 46] {
                check::<u64>(primes(bits, bits)[0], isa, len, |x| x);
            }
            check::<u32>(primes(31, 31)[0], isa, len, |x| x as u32);
        }
    }
}

/// Sums of the most products of the greatest values that need no reduction, of one less, and of more.
#[test]
fn sums_hold_at_their_bounds() {
    for isa in paths() {
        for p in primes(2, 62) {
            let max = PointwiseKernels::<u64>::new(p, isa).expect("a modulus of its class").max_terms();
            assert!(max >= 15, "{isa}, p = {p}: {max} terms");
            for rows in [0, 1, 2, 15, 16, 17, max - 1, max, max + 1, 2 * max + 3] {
                check_sums::<u64>(p, isa, 9, rows, |x| x);
            }
        }
        for p in primes(2, 31) {
            for rows in [0, 1, 2, 3, 16, 17, 1001] {
                check_sums::<u32>(p, isa, 9, rows, |x| x as u32);
            }
        }
        for len in (1..=70).chain((7..=13).map(|log| 1 << log)) {
            for bits in [62, 50] {
                check_sums::<u64>(primes(bits, bits)[0], isa, len, 5, |x| x);
            }
            check_sums::<u32>(primes(31, 31)[0], isa, len, 5, |x| x as u32);
        }
    }
}

#[test]
fn moduli_that_do_not_fit_the_word_are_refused() {
    let p = ntt_primes(32, 256).next().expect("a prime");
    let error = PointwiseKernels::<u32>::new(p, Isa::Portable).expect_err("32 bits");
    assert_eq!(error, PointwiseError::Modulus { given: p.value(), bits: 32, max_bits: 31 });
    assert!(PointwiseKernels::<u64>::new(p, Isa::Portable).is_ok());
}

/// Any bound by [`PointwiseWord`] gives access to the kernels of a word. No word past the end of a slice may be read,
/// with IFMA or without; without it a loop ends with the shorter slice or panics.
#[test]
fn kernels_check_lengths_themselves() {
    fn constants<W: PointwiseWord>(isa: Isa) -> W::Constants {
        W::constants(Modulus::new(97).expect("a prime"), isa)
    }
    for isa in paths().into_iter().filter(|isa| isa.has_ifma()) {
        let refused = |call: &dyn Fn()| {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).expect_err("lengths differ");
            let message = panic.downcast_ref::<String>().cloned();
            message.or_else(|| panic.downcast_ref::<&str>().map(|text| String::from(*text))).unwrap_or_default()
        };
        let c = constants::<u64>(isa);
        let words = [1u64; 16];
        let multiply = |l: usize, r: usize| {
            refused(&|| super::sealed::Kernels::multiply(isa, &c, &mut { words }[..l], &words[..r]))
        };
        assert!(multiply(15, 8).contains("lengths of the factors"));
        assert!(multiply(8, 16).contains("lengths of the factors"));
        let sum = |a: usize, l: usize, r: usize| {
            let call = || {
                super::sealed::Kernels::multiply_accumulate(isa, &c, &mut { words }[..a], &words[..l], &words[..r]);
            };
            refused(&call)
        };
        assert!(sum(8, 16, 8).contains("lengths of the factors"));
        assert!(sum(8, 12, 12).contains("rows as long as the accumulator"));
        assert!(sum(0, 8, 8).contains("rows as long as the accumulator"));
    }
}
