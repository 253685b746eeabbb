//! Times the Goldilocks transforms on every path of this CPU: `cargo run --release -p ciphermill-evidence --example ntt-timing`.
//!
//! Prints the least and the median time of one operation in nanoseconds, measured one by one on one thread.

use std::time::Instant;

use ciphermill_math::Isa;
use ciphermill_math::ntt::{GoldilocksNtt, NttEngine};

/// Rows of the gadget product at l = 5, k = 1.
const ROWS: usize = 10;

fn time(samples: usize, mut run: impl FnMut()) -> (u128, u128) {
    let mut times: Vec<u128> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    (times[0], times[samples / 2])
}

fn main() {
    println!("{:>9} {:>6} {:>22} {:>22} {:>26}", "path", "N", "forward", "inverse", "multiply_accumulate ×10");
    for isa in Isa::available() {
        for log_n in 10..=16 {
            let n = 1usize << log_n;
            let engine = GoldilocksNtt::new(n, isa).expect("an offered size on an available path");
            let samples = (1 << 24) / n;
            let polynomial: Vec<u64> = (0..n as u64).map(|j| j.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).collect();
            let mut spectrum = vec![0; n];
            let mut coefficients = vec![0; n];
            let forward = time(samples, || engine.forward(&polynomial, &mut spectrum));
            // Any words are a spectrum, so the destroyed one serves again.
            let inverse = time(samples, || engine.inverse(&mut spectrum, &mut coefficients));
            let (lhs, rhs) = (polynomial.repeat(ROWS), polynomial.repeat(ROWS));
            let accumulate = time(samples.div_ceil(4), || engine.multiply_accumulate(&mut coefficients, &lhs, &rhs));
            println!(
                "{:>9} {n:>6} {:>10} / {:>9} {:>10} / {:>9} {:>14} / {:>9}",
                isa.name(),
                forward.0,
                forward.1,
                inverse.0,
                inverse.1,
                accumulate.0,
                accumulate.1
            );
        }
    }
}
