//! Times the algorithms over residues on every path of this CPU: `cargo run --release --example algorithms [bits]`.
//!
//! Modulo n² for n of 2048 bits, or as many as are given, on one thread. Figures are the least time of some runs: of one
//! exponentiation of a fixed base with half of n's bits for tables of several sizes, of one inverse, and of products of powers
//! against the same term by term.

use std::time::Instant;

use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, WeightMatrix, limbs};

/// Microseconds.
fn least<T>(samples: usize, mut run: impl FnMut() -> T) -> f64 {
    (0..samples)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::MAX, f64::min)
}

/// Words without a pattern (the multiplier is that of Knuth's MMIX generator).
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
    let bits: u32 = std::env::args().nth(1).and_then(|bits| bits.parse().ok()).unwrap_or(2048);
    let mut n = words(limbs::limbs_for(bits));
    n[0] |= 1;
    *n.last_mut().expect("a limb") |= 1 << 63;
    for path in Path::available() {
        let Ok(ring) = OddModulus::square_of(&limbs::to_uint(&n), path) else {
            println!("{path}: no arithmetic through n");
            continue;
        };
        measure(&ring, bits);
    }
}

fn measure(ring: &OddModulus, bits: u32) {
    let path = ring.path();
    let lanes = ring.lanes();
    let batch = |limbs, len| IntegerBatch::from_words(limbs, words(limbs * len));
    let many = ring.enter(&batch(ring.limbs(), 64)).expect("as wide as the modulus");
    let product = least(20, || ring.multiply(&many, &many)) / 64.0;
    let square = least(20, || ring.square(&many)) / 64.0;
    println!("{path}: product {product:.3} µs, squaring {square:.3} µs (of {lanes} lanes each)");

    let exponent_bits = bits / 2;
    let exponents = batch(limbs::limbs_for(exponent_bits), 32);
    let base = ring.gather(&many, &[0]);
    for bytes in [1 << 16, 1 << 18, 1 << 20, OddModulus::FIXED_BASE_BYTES, 4 << 20, 8 << 20, 32 << 20] {
        let start = Instant::now();
        let fixed = ring.fixed_base_within(&base, exponent_bits, bytes);
        let preparation = start.elapsed().as_secs_f64() * 1e3;
        let time = least(8, || ring.pow_fixed(&fixed, &exponents)) / 32.0;
        let (products, squarings) = fixed.operations();
        println!(
            "{path}: fixed base, {:>5} KiB: {time:.1} µs, {:.2} of its {products} products and {squarings} squarings, \
             prepared in {preparation:.1} ms",
            fixed.memory_bytes() >> 10,
            time / (f64::from(products) * product + f64::from(squarings) * square),
        );
    }

    let units = ring.multiply(&many, &many).expect("one length");
    let units = (0..64).filter(|&i| ring.all_units_public(&ring.gather(&units, &[i])).is_ok()).collect::<Vec<_>>();
    let units = ring.gather(&many, &units.iter().cycle().copied().take(64).collect::<Vec<_>>());
    let times = [
        least(3, || ring.invert(&units)) / 64.0,
        least(3, || ring.invert_public(&units)) / 64.0,
        least(3, || ring.all_units_public(&units)) / 64.0,
    ];
    println!("{path}: 64 inverses {:.1} µs each, public {:.1}, a test for them {:.1}", times[0], times[1], times[2]);

    let weights = IntegerBatch::from_words(1, words(64));
    let term = least(3, || {
        let powers = ring.pow(&units, &Exponents::each(weights.clone(), 64).expect("64 bits")).expect("one length");
        ring.product(&powers)
    }) / 64.0;
    println!("{path}: term by term {term:.1} µs per term ({:.0} products)", term / product);
    for (rows, columns, weight_bits) in
        [(64, 64, 64), (8, 64, 64), (1, 1024, 64), (1, 64, 64), (64, 64, 8), (1, 1024, 8)]
    {
        let places: Vec<usize> = (0..columns).map(|i| i % 64).collect();
        let bases = ring.gather(&units, &places);
        for signed in [false, true] {
            let random = words(2 * rows * columns);
            let values = random.chunks(2).map(|w| {
                let magnitude = i128::from(w[0] >> (64 - weight_bits));
                if signed && w[1] >> 63 == 1 { -magnitude } else { magnitude }
            });
            let matrix = WeightMatrix::new(columns, values.collect()).expect("whole rows");
            let time = least(2, || ring.multi_pow_public(&bases, &matrix)) / (rows * columns) as f64;
            println!(
                "{path}: {rows} x {columns} weights of {weight_bits} bits, signed {signed}: {time:.2} µs per term \
                 ({:.1} products), {:.1} times as fast as term by term with 64 bits",
                time / product,
                term / time
            );
        }
    }
}
