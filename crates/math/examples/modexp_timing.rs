//! Times modular exponentiation on every path of this CPU: `cargo run --release --example modexp_timing [bits ...]`.
//!
//! Prints the least and the median time of one exponentiation (exponent as wide as the modulus) in microseconds, on one
//! thread: modulo N, and modulo n² of as many bits through n. A path with several lanes works on one full group, and its time
//! is divided by them.

use std::time::Instant;

use ciphermill_math::bigint::{Exponents, IntegerBatch, OddModulus, Path, limbs};

fn time(samples: usize, mut run: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    (times[0], times[samples / 2])
}

/// Words without a pattern (the multiplier is the one of Knuth's MMIX generator).
fn words(count: usize) -> Vec<u64> {
    let mut state = 1u64;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 29
        })
        .collect()
}

fn main() {
    let mut sizes: Vec<u32> = std::env::args().skip(1).filter_map(|bits| bits.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1024, 2048, 3072, 4096, 6144];
    }
    println!("{:>12} {:>6} {:>6} {:>12} {:>12}", "path", "ring", "bits", "least µs", "median µs");
    for path in Path::available() {
        for &bits in &sizes {
            for square in [false, true] {
                let size = limbs::limbs_for(if square { bits / 2 } else { bits });
                let mut n = words(size);
                n[0] |= 1;
                n[size - 1] |= 1 << 63;
                let n = limbs::to_uint(&n);
                let modulus = if square { OddModulus::square_of(&n, path) } else { OddModulus::new(&n, path) };
                let modulus = modulus.expect("an offered size on an available path");
                let (lanes, width) = (modulus.lanes(), modulus.limbs());
                let bases = modulus.enter(&IntegerBatch::from_words(width, words(width * lanes))).expect("as wide as N");
                let exponent = limbs::to_uint(&words(width));
                let exponent = Exponents::shared(&exponent, 64 * width as u32).expect("as wide as declared");
                let samples = ((1 << 28) / (bits as usize).pow(2)).clamp(9, 300);
                let (least, median) = time(samples, || drop(modulus.pow(&bases, &exponent)));
                let ring = if square { "n²" } else { "N" };
                let each = lanes as f64;
                println!("{:>12} {ring:>6} {bits:>6} {:>12.1} {:>12.1}", path.name(), least / each, median / each);
            }
        }
    }
}
