//! Times products, squarings and powers of both rings on every path of this CPU:
//! `cargo run --release -p ciphermill-evidence --example bigint-timing [-- --quick]`.
//!
//! Prints the least and the median time of one operation in microseconds, on one thread: of a group, divided by its lanes. On
//! the path with AVX-512 IFMA the percentage is that of the multiply-adds which the operation needs (see `work`) at the rate of
//! independent ones, measured next to it.

use std::time::Instant;

use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, limbs};

/// Least and median time in microseconds.
fn time(milliseconds: u64, mut run: impl FnMut()) -> [f64; 2] {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 5 || begin.elapsed().as_millis() < u128::from(milliseconds) {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_unstable_by(f64::total_cmp);
    [times[0], times[times.len() / 2]]
}

/// Multiply-adds of eight lanes per microsecond, if none waits for another.
#[cfg(target_arch = "x86_64")]
fn peak() -> f64 {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply_adds(rounds: usize, seed: i64) -> i64 {
        let mut sums = [_mm512_set1_epi64(seed); 16];
        let factor = _mm512_set1_epi64(seed + 1);
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm512_madd52lo_epu64(*sum, factor, factor);
            }
            // The rounds are not to be merged.
            std::hint::black_box(rounds);
        }
        _mm512_reduce_add_epi64(sums.into_iter().fold(factor, |x, y| _mm512_xor_si512(x, y)))
    }

    if !Path::Ifma.is_available() {
        return f64::NAN;
    }
    const ROUNDS: usize = 20_000;
    let run = || {
        // SAFETY: the path needs what the function does.
        std::hint::black_box(unsafe { multiply_adds(ROUNDS, std::hint::black_box(3)) });
    };
    16.0 * ROUNDS as f64 / time(20, run)[0]
}

#[cfg(not(target_arch = "x86_64"))]
fn peak() -> f64 {
    f64::NAN
}

/// Words without a pattern.
fn words(count: usize, seed: u64) -> Vec<u64> {
    let word =
        |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0..count as u64).map(word).collect()
}

/// Multiply-adds of a product and of a squaring with h digits of 52 bits for the modulus (for its root, in the square ring):
/// 2·h² for each product and each reduction, h² + h for a square.
fn work(digits: f64, square: bool) -> [f64; 2] {
    let (product, half) = (2.0 * digits * digits, digits * digits + digits);
    if square { [5.0 * product, 3.0 * product + half] } else { [2.0 * product, product + half] }
}

/// Products of a power with a window of five bits.
fn work_of_power(digits: f64, square: bool, bits: f64) -> f64 {
    let [multiply, squaring] = work(digits, square);
    bits * squaring + (bits / 5.0 + 15.0) * multiply + 15.0 * squaring
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let sizes: &[u32] = if quick { &[1024, 2048] } else { &[512, 1024, 1536, 2048, 3072, 4096, 6144, 8192] };
    let milliseconds = if quick { 50 } else { 300 };
    println!(
        "{:>9} {:>4} {:>5} {:<9} {:>11} {:>11} {:>7}",
        "path", "ring", "bits", "operation", "least", "median", "peak"
    );
    for path in Path::available() {
        // The square ring has n² of as many bits, and a size of half as many for n.
        for (&bits, square) in sizes.iter().flat_map(|bits| [(bits, false), (bits, true)]) {
            if square && bits / 2 < ciphermill_bigint::MIN_MODULUS_BITS {
                continue;
            }
            let n = limbs::to_uint(&{
                let mut n = words(limbs::limbs_for(if square { bits / 2 } else { bits }), 5);
                n[0] |= 1;
                *n.last_mut().expect("a limb") |= 1 << 63;
                n
            });
            let ring = if square { OddModulus::square_of(&n, path) } else { OddModulus::new(&n, path) };
            let ring = ring.expect("an offered size on an available path");
            let (lanes, width) = (ring.lanes(), ring.limbs());
            // Enough groups for the clock.
            let groups = (1 << 24) / (bits as usize * bits as usize) + 1;
            let enter = |len: usize, seed: u64| {
                ring.enter(&IntegerBatch::from_words(width, words(width * len, seed))).expect("as wide as the modulus")
            };
            let (x, y, base) = (enter(groups * lanes, 1), enter(groups * lanes, 2), enter(lanes, 3));
            let exponent = Exponents::shared(&limbs::to_uint(&words(width, 4)), 64 * width as u32).expect("its width");
            let digits = f64::from(n.bits_vartime()) / 52.0;
            let rate = if path == Path::Ifma { peak() } else { f64::NAN };
            let [multiply, squaring] = work(digits, square);
            let of_power = work_of_power(digits, square, 64.0 * width as f64);
            let count = (groups * lanes) as f64;
            let name = if square { "n²" } else { "N" };
            let print = |operation: &str, [least, median]: [f64; 2], count: f64, work: f64| {
                let (least, median) = (least / count, median / count);
                let percent = 100.0 * work / rate / (least * lanes as f64);
                let percent = if percent.is_nan() { String::new() } else { format!("{percent:.0} %") };
                let path = path.name();
                println!("{path:>9} {name:>4} {bits:>5} {operation:<9} {least:>11.3} {median:>11.3} {percent:>7}");
            };
            let times = time(milliseconds, || drop(ring.multiply(&x, &y)));
            print("multiply", times, count, multiply);
            print("square", time(milliseconds, || drop(ring.square(&x))), count, squaring);
            print("pow", time(milliseconds, || drop(ring.pow(&base, &exponent))), lanes as f64, of_power);
        }
    }
}
