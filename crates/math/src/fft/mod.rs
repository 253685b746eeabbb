//! Negacyclic f64 transforms of torus polynomials: fast products in R\[X\]/(X^N + 1), rounded modulo 2^64 or 2^32.
//!
//! # Algorithm
//!
//! With M = N/2 and z_j = a_j + i·a_(j+M), a(X) is reduced modulo X^M − i, whose M roots are one of each conjugate pair
//! of roots of X^N + 1 (the right-angle convolution of R. Crandall and B. Fagin, "Discrete weighted transforms and
//! large-integer arithmetic", Math. Comp. 62, 1994). Forward, X^m − c splits into X^(m/2) ∓ √c until m = 1: one twiddle
//! per block, and the twist costs nothing. Butterflies take six fused multiply-adds, as u − w·v = 2u − (u + w·v)
//! (E. Linzer and E. Feig, "Implementation of efficient FFT algorithms on fused multiply-add architectures",
//! 1993). The mirror image of that tree would need eight operations per butterfly, so the inverse is the textbook
//! decimation in time, whose factors are one twiddle per position; its first two levels are free of multiplications on
//! the vector paths and the untwisting factor takes normalisation along.
//!
//! Levels are done two or three per pass in registers: the first pass converts as it loads, blocks of at most 32 KiB
//! are finished one after the other, and their last passes take twice log2(lanes) levels at once by transposing a
//! square tile. The inverse does the same backwards and reduces, rounds and adds as it stores. Digits are cut out of
//! their words in registers too, by giving the field an exponent instead of converting it.
//!
//! # Error
//!
//! Let u = 2^-53, ℓ = log2 M, and Σ_r d_r·t_r a product of `rows` rows with |d| ≤ 2^b and |t| ≤ 2^63.
//!
//! One level multiplies the 2-norm by √2. A component of u + w·v is a sum of three terms that are rounded at most three
//! times each, its partner one more time; with twiddles correct to 2u the error of a level is at most 8u times the norm
//! of its result. Conversion, or untwisting, is less than one more level. By Cauchy and Schwarz the spectra's errors
//! and those of the pointwise products change a coefficient by at most 8u(2(ℓ+1) + 2·rows + 1)·Σ‖d_r‖₂‖t_r‖₂; the
//! inverse adds 8u(ℓ+1)·‖p‖₂ where ‖p‖₂ ≤ Σ‖d_r‖₁‖t_r‖₂. [`rounding_error_bound`] puts the two together. It holds for
//! every input and lies far above what random inputs show (2^19 times their largest error at N = 16384).
//!
//! For independent roundings of relative standard deviation 0.4u, with 2 to 3 of them and one twiddle error in each of
//! 3ℓ + 3 levels, the standard deviation is [`rounding_error_std`]. Tests hold both against measured errors.
//!
//! # Cost
//!
//! M·ℓ/2 butterflies of six operations, 6 shuffles per 8 points, one conversion per coefficient: for N = 16384 on eight
//! lanes 39 936 + 6 144 + 2 048 vector operations on two ports, 6.5 µs at 3.7 GHz. Four passes move 640 KiB between the
//! caches (source, spectrum twice, lines fetched before they are written) and 74 KiB of twiddles, 4.3 µs at 45 bytes
//! per cycle, beside the arithmetic. The Xeon measured here (Granite Rapids class) slows 512-bit multiplications by 0.6
//! of a cycle per 512-bit store, 1.3 µs for the 8 192 stores: its floor is 7.8 µs.
//!
//! | N = 16384, µs | forward | of digits | inverse |
//! | --- | --- | --- | --- |
//! | AVX-512 | 9.6 (82 %) | 10.1 | 10.6 |
//! | AVX2 | 13.2 | 13.3 | 17.3 |
//! | portable | 36 | 38 | 47 |
//!
//! The first pass takes 3.0 µs and is bound by its 384 KiB between the caches, 2.4 µs; radix-8 passes within the first
//! level run at their floor of 46 cycles, leaves take 119 cycles for a floor of 106, presumably as shuffles
//! have one port (no counters were to be had). While
//! it streams memory that is in no cache, [`forward_prefetching`](FftEngine::forward_prefetching) and reading what it
//! asked for take 14.7, 18.9 and 23.5 µs for 128, 192 and 256 KiB, against 17.8, 22.0 and 25.8 µs one after the other:
//! the transform's own misses presumably share fill buffers with it, so that more does not overlap.
//!
//! Tried without gain: product, sum and difference instead of 2u − (u + w·v), though AVX2 has an adder to spare (5 %
//! slower); asking early for the lines that the inverse adds to; other sizes of passes and blocks. Scaled twiddles
//! would save 8 % of the multiplications where a block shares them, and cost seven vectors more per leaf where it does
//! not. the example `fft-timing` measures again.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod coefficients;
mod engine;
mod error;
mod kernels;
mod lanes;
mod packed;
mod plan;
mod portable;
pub mod reference;
pub mod reference32;
mod torus;

pub use engine::FftEngine;
pub use error::FftError;
pub use packed::PackedWord;
pub use plan::SpectrumBuffer;
pub use torus::{TorusFft, engine};

/// Upper bound, for every input, of the error of a coefficient of Σ_r d_r·t_r before the final rounding to an integer
/// (which adds at most 1/2), in units of 2^-64 of the torus: `rows` products of digits |d| ≤ `digit_bound` with torus
/// polynomials of 64 bits. Inputs beyond 2^53 include their conversion.
pub fn rounding_error_bound(polynomial_size: usize, rows: usize, digit_bound: f64) -> f64 {
    let (n, rows) = (polynomial_size as f64, rows as f64);
    let levels = (n / 2.0).log2() + 1.0;
    let per_row = digit_bound * TWO_63 * n * (2.0 * levels + 2.0 * rows + 1.0 + levels * n.sqrt());
    4.0 * f64::EPSILON * rows * per_row
}

/// Expected standard deviation of the same error for independent inputs: `digit_std` and `torus_std` are the root mean
/// squares of the coefficients (2^64/√12 for a uniform torus polynomial). In units of 2^-64 of the torus.
pub fn rounding_error_std(polynomial_size: usize, rows: usize, digit_std: f64, torus_std: f64) -> f64 {
    let (n, rows) = (polynomial_size as f64, rows as f64);
    let levels = (n / 2.0).log2() + 1.0;
    STD_PER_LEVEL * (3.0 * levels).sqrt() * (n * rows).sqrt() * digit_std * torus_std
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// 0.4 · 2^-53 · √(5/2 + 1): two and a half roundings and a twiddle's.
const STD_PER_LEVEL: f64 = 0.75 * f64::EPSILON / 2.0;
