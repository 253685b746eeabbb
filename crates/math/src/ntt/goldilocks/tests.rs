//! Spectra against the golden model, entry by entry: this needs their private order.

use super::GoldilocksNtt;
use crate::goldilocks::{MODULUS, reduce_u64};
use crate::ntt::{NttEngine, reference};
use crate::{CoefficientSource, Isa};

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

fn inputs(n: usize) -> Vec<Vec<u64>> {
    let unit = |j: usize, value: u64| {
        let mut x = vec![0; n];
        x[j] = value;
        x
    };
    let edges = [0, 1, MODULUS - 1, 1 << 32, (1 << 32) - 1, (1 << 32) + 1, MODULUS - (1 << 32)];
    vec![
        words(n as u64, n).into_iter().map(reduce_u64).collect(),
        words(7 * n as u64, n).into_iter().map(|x| edges[(x % 7) as usize]).collect(),
        vec![0; n],
        vec![MODULUS - 1; n],
        unit(0, 1),
        unit(1, 1),
        unit(n / 2, MODULUS - 1),
        unit(n - 1, 1),
    ]
}

#[test]
fn spectra_equal_the_golden_model_and_come_back() {
    for isa in Isa::ALL {
        if !isa.is_available() {
            println!("not run, the CPU lacks it: {isa}");
            continue;
        }
        for log_n in 4..=16 {
            let n = 1 << log_n;
            let engine = GoldilocksNtt::new(n, isa).unwrap();
            for input in inputs(n) {
                let mut expected = input.clone();
                reference::forward(&mut expected);
                let mut spectrum = vec![0; n];
                engine.forward(&input, &mut spectrum);
                for (place, &value) in spectrum.iter().enumerate() {
                    let entry = reference::bit_reverse(engine.exponent(place) / 2, log_n);
                    assert_eq!(reduce_u64(value), expected[entry], "{isa}, N = {n}, entry {entry}");
                }
                let mut coefficients = vec![0; n];
                engine.inverse(&mut spectrum, &mut coefficients);
                assert_eq!(coefficients, input, "{isa}, N = {n}");
            }
        }
    }
}

/// Spectra may hold any words; the inverse must not depend on the representative.
#[test]
fn inverse_accepts_any_words() {
    for isa in Isa::available() {
        for n in [16, 64, 256, 2048, 16384] {
            let engine = GoldilocksNtt::new(n, isa).unwrap();
            // Every third word is not canonical.
            let mut lazy: Vec<u64> = words(3, n)
                .into_iter()
                .enumerate()
                .map(|(i, x)| if i % 3 == 0 { MODULUS + (x >> 33) } else { x })
                .collect();
            let mut expected = vec![0; n];
            for (place, &value) in lazy.iter().enumerate() {
                expected[reference::bit_reverse(engine.exponent(place) / 2, n.trailing_zeros())] = reduce_u64(value);
            }
            reference::inverse_unnormalised(&mut expected);
            reference::normalise(&mut expected);
            let mut coefficients = vec![0; n];
            engine.inverse(&mut lazy, &mut coefficients);
            assert_eq!(coefficients, expected, "{isa}, N = {n}");
        }
    }
}

/// A source that is not a slice, and counts how often each coefficient is read.
struct Counting(std::sync::Mutex<Vec<u32>>);

impl CoefficientSource<u64> for Counting {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        let mut counts = self.0.lock().unwrap();
        for (j, x) in out.iter_mut().enumerate() {
            counts[start + j] += 1;
            *x = (start + j) as u64;
        }
    }
}

#[test]
fn each_coefficient_is_read_once() {
    for isa in Isa::available() {
        for log_n in 4..=16 {
            let n = 1 << log_n;
            let source = Counting(std::sync::Mutex::new(vec![0; n]));
            let engine = GoldilocksNtt::new(n, isa).unwrap();
            let mut spectrum = vec![0; n];
            engine.forward(&source, &mut spectrum);
            assert!(source.0.lock().unwrap().iter().all(|&count| count == 1), "{isa}, N = {n}");
        }
    }
}
