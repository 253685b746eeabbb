//! The suite for approximate transforms.

use super::{ConformanceError, Words};
use crate::CoefficientSource;
use crate::fft::{FftEngine, PackedWord, reference, rounding_error_bound};

/// The greatest N at which every coefficient is compared; above it, only `SAMPLES` coefficients are.
const WHOLE: usize = 512;
const SAMPLES: usize = 32;
const DIGIT_BITS: u32 = 8;

/// Checks every method of an approximate transform.
///
/// - Products of 8-bit digits with torus polynomials: within [`rounding_error_bound`] of the exact product modulo 2^64
///   and 2^32. Small products: exact.
/// - Products with packed spectra: within half a unit of their words.
/// - Variants of the forward transform: the same spectrum, bit for bit.
///
/// `seed` selects the polynomials.
///
/// # Errors
/// The first rule that the engine breaks.
///
/// # Example
/// ```
/// use ciphermill_math::fft::TorusFft;
/// use ciphermill_math::{Isa, conformance};
///
/// conformance::fft(&TorusFft::new(256, Isa::current())?, 1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fft(engine: &dyn FftEngine, seed: u64) -> Result<(), ConformanceError> {
    let n = engine.polynomial_size();
    let rule = |holds: bool, check: &str| {
        let error = || ConformanceError {
            engine: engine.info().to_string(),
            polynomial_size: n,
            check: format!("{check}, seed {seed}"),
        };
        if holds { Ok(()) } else { Err(error()) }
    };
    rule(n.is_power_of_two() && n >= 4, "N is a power of two from 4 on")?;
    let mut words = Words(seed);
    let samples: Vec<usize> =
        if n <= WHOLE { (0..n).collect() } else { (0..SAMPLES).map(|_| words.next() as usize % n).collect() };
    let spectrum = |polynomial: &[i64]| {
        let mut out = vec![0.0; n];
        engine.forward(&polynomial.to_vec(), &mut out);
        out
    };
    // Σ_r d_r·t_r at the sampled coefficients, modulo 2^64.
    let exact = |lhs: &[Vec<i64>], rhs: &[Vec<i64>]| -> Vec<u64> {
        let at = |&i: &usize| {
            let terms = lhs.iter().zip(rhs).map(|(d, t)| reference::negacyclic_coefficient(d, t, i));
            terms.fold(0, u64::wrapping_add)
        };
        samples.iter().map(at).collect()
    };
    let product = |lhs: &[Vec<i64>], rhs: &[Vec<i64>]| {
        let all = |polynomials: &[Vec<i64>]| -> Vec<f64> { polynomials.iter().flat_map(|p| spectrum(p)).collect() };
        let mut sum = vec![0.0; n];
        engine.multiply_accumulate(&mut sum, &all(lhs), &all(rhs));
        sum
    };

    for rows in [1, 3] {
        let lhs: Vec<_> = (0..rows).map(|_| words.signed(n, DIGIT_BITS)).collect();
        for torus_bits in [64, 32, DIGIT_BITS] {
            let rhs: Vec<_> = (0..rows).map(|_| words.signed(n, torus_bits)).collect();
            let digit_bound = f64::from(1u32 << (DIGIT_BITS - 1));
            let scale = 2f64.powi(torus_bits as i32 - 64);
            // The last rounding adds one half. A result whose error before it is smaller than one half is exact.
            let before = rounding_error_bound(n, rows, digit_bound) * scale;
            let bound = if before < 0.5 { 0.0 } else { before + 0.5 };
            let expected = exact(&lhs, &rhs);
            let start: Vec<u64> = (0..n).map(|_| words.next()).collect();
            let mut out = start.clone();
            engine.inverse_add_u64(&mut product(&lhs, &rhs), &mut out);
            let near = samples.iter().zip(&expected).all(|(&i, &e)| {
                let error = out[i].wrapping_sub(start[i]).wrapping_sub(e) as i64;
                error.unsigned_abs() as f64 <= bound
            });
            rule(near, "a product added modulo 2^64 is within the bound")?;
            let start: Vec<u32> = (0..n).map(|_| words.next() as u32).collect();
            let mut out = start.clone();
            engine.inverse_add_u32(&mut product(&lhs, &rhs), &mut out);
            let near = samples.iter().zip(&expected).all(|(&i, &e)| {
                let error = out[i].wrapping_sub(start[i]).wrapping_sub(e as u32) as i32;
                f64::from(error.unsigned_abs()) <= bound
            });
            rule(near, "a product added modulo 2^32 is within the bound")?;
        }
    }

    let polynomials: Vec<Vec<i64>> = (0..3).map(|_| words.signed(n, 63)).collect();
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let single: Vec<f64> = polynomials.iter().flat_map(|p| spectrum(p)).collect();
    let sources: Vec<&dyn CoefficientSource<i64>> = polynomials.iter().map(|p| p as _).collect();
    let mut batch = vec![0.0; 3 * n];
    engine.forward_batch(&sources, &mut batch);
    rule(same(&batch, &single), "a batch is the transforms of its sources")?;
    let mut prefetching = vec![0.0; n];
    engine.forward_prefetching(sources[0], &mut prefetching, &[0; 300]);
    rule(same(&prefetching, &single[..n]), "prefetching changes no bit")?;

    packed(engine, &mut words, &rule)
}

/// Products with packed spectra: three rows, two columns, two operands.
fn packed(
    engine: &dyn FftEngine,
    words: &mut Words,
    rule: &dyn Fn(bool, &str) -> Result<(), ConformanceError>,
) -> Result<(), ConformanceError> {
    const ROWS: usize = 3;
    const COLUMNS: usize = 2;
    let n = engine.polynomial_size();
    let mut spectra = |count: usize, bits: u32| {
        let mut out = vec![0.0; count * n];
        out.chunks_exact_mut(n).for_each(|spectrum| engine.forward(&words.signed(n, bits), spectrum));
        out
    };
    let (lhs, other, rhs) = (spectra(ROWS, DIGIT_BITS), spectra(ROWS, DIGIT_BITS), spectra(ROWS * COLUMNS, 63));
    let largest = |values: &[f64]| values.iter().fold(0.0f64, |l, x| x.abs().max(l));
    let mut plain = vec![0.0; COLUMNS * n];
    for (c, sum) in plain.chunks_exact_mut(n).enumerate() {
        for (lhs, row) in lhs.chunks_exact(n).zip(rhs.chunks_exact(COLUMNS * n)) {
            engine.multiply_accumulate(sum, lhs, &row[c * n..][..n]);
        }
    }
    for word in [PackedWord::Fixed48, PackedWord::Float64] {
        let mut packed = vec![0; word.packed_len(ROWS * COLUMNS, n)];
        engine.pack(word, &rhs, &mut packed);
        let mut sums = vec![f64::NAN; COLUMNS * n];
        engine.multiply_packed(word, &mut [&mut sums], &[&lhs], &packed, false);
        // Each row adds half a unit of both parts times both parts of the operand, and roundings of 2^-53.
        let unit = if word == PackedWord::Fixed48 { largest(&rhs) / (2f64.powi(47) - 1.0) } else { 0.0 };
        let rounding = 8.0 * f64::EPSILON * largest(&rhs);
        let bound = ROWS as f64 * largest(&lhs) * (unit + rounding);
        let near = sums.iter().zip(&plain).all(|(s, p)| (s - p).abs() <= bound);
        rule(near, "a product with packed spectra is within the error of its words")?;
        let (mut first, mut second) = (vec![f64::NAN; COLUMNS * n], vec![f64::NAN; COLUMNS * n]);
        engine.multiply_packed(word, &mut [&mut first, &mut second], &[&lhs, &other], &packed, false);
        rule(first == sums && second != sums, "operands of one product do not change each other")?;
        engine.multiply_packed(word, &mut [&mut first], &[&lhs], &packed, true);
        rule(first.iter().zip(&sums).all(|(t, s)| *t == s + s), "a packed product is rounded, then accumulated")?;
    }
    Ok(())
}
