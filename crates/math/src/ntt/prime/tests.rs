//! Spectra against the golden model, entry by entry: this needs their private order.

use super::{KERNELS_64, Kernels, PrimeNtt};
use crate::modulus::{is_prime, ntt_primes};
use crate::ntt::{NttEngine, reference};
use crate::{Isa, Modulus};

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

/// The largest prime of `bits` bits, the smallest of all, and the paper's (of form 2^a + 2^b + 1) that suit.
fn moduli(bits: u32, n: usize) -> Vec<Modulus> {
    let smallest = (1..).map(|k| k * 2 * n as u64 + 1).find(|&p| is_prime(p)).unwrap();
    let paper = PAPER.into_iter().filter(|p| (p - 1).is_multiple_of(2 * n as u64) && p >> bits == 0);
    let others = paper.chain([smallest]).map(|p| Modulus::new(p).unwrap());
    ntt_primes(bits, n).take(1).chain(others).collect()
}

const PAPER: [u64; 3] = [(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1, (1 << 38) + (1 << 23) + 1];

fn check(kernels: &'static Kernels<u64>, n: usize, modulus: Modulus, isa: Isa) {
    let engine = PrimeNtt::with_kernels(&[kernels], n, modulus, isa).unwrap();
    for input in inputs(n, modulus.value()) {
        let mut expected = input.clone();
        reference::prime::forward(modulus, &mut expected);
        let mut spectrum = vec![u64::MAX; n];
        engine.forward(&input, &mut spectrum);
        let what = format!("{kernels:?}, N = {n}, p = {modulus}");
        for (place, &value) in spectrum.iter().enumerate() {
            let entry = reference::bit_reverse(engine.exponent(place) / 2, n.trailing_zeros());
            assert_eq!(value, expected[entry], "{what}, entry {entry}");
        }
        let mut in_place = input.clone();
        engine.forward_in_place(&mut in_place);
        assert_eq!(in_place, spectrum, "{what}");
        engine.inverse_in_place(&mut in_place);
        assert!(in_place == input, "{what}");
        let mut coefficients = vec![u64::MAX; n];
        engine.inverse(&mut spectrum, &mut coefficients);
        assert!(coefficients == input, "{what}");
    }
}

#[test]
fn spectra_equal_the_golden_model_and_come_back() {
    let isa = Isa::best();
    for &kernels in KERNELS_64 {
        if !(kernels.offered)(isa) {
            println!("not run, the CPU lacks it: {kernels:?}");
            continue;
        }
        for log_n in kernels.min_polynomial_size.trailing_zeros()..=17 {
            let n = 1 << log_n;
            for modulus in moduli(kernels.bits, n) {
                check(kernels, n, modulus, isa);
            }
        }
    }
}
