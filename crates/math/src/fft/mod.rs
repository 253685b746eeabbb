//! Negacyclic f64 transforms of torus polynomials: fast products in R\[X\]/(X^N + 1), rounded modulo 2^64 or 2^32.
//!
//! # Example
//! ```
//! use ciphermill_math::Isa;
//! use ciphermill_math::fft::{TorusFft, FftEngine};
//!
//! // (3 + X^255) · (2^40 · X) modulo X^256 + 1.
//! let (mut lhs, mut rhs) = (vec![0i64; 256], vec![0i64; 256]);
//! (lhs[0], lhs[255], rhs[1]) = (3, 1, 1 << 40);
//! let engine = TorusFft::new(256, Isa::current())?;
//! let mut spectra = [vec![0.0; 256], vec![0.0; 256]];
//! engine.forward(&lhs, &mut spectra[0]);
//! engine.forward(&rhs, &mut spectra[1]);
//! let mut product = vec![0.0; 256];
//! engine.multiply_accumulate(&mut product, &spectra[0], &spectra[1]);
//! let mut out = vec![0u64; 256];
//! engine.inverse_add_u64(&mut product, &mut out);
//! assert_eq!(out[1], 3 << 40);
//! assert_eq!(out[0], (1u64 << 40).wrapping_neg());
//! # Ok::<(), ciphermill_math::fft::FftError>(())
//! ```
//!
//! # Algorithm
//!
//! With M = N/2 and z_j = a_j + i·a_(j+M), a(X) is reduced modulo X^M − i. The M roots of X^M − i are one of each
//! conjugate pair of roots of X^N + 1. This is the right-angle convolution of R. Crandall and B. Fagin ("Discrete
//! weighted transforms and large-integer arithmetic", Math. Comp. 62, 1994).
//!
//! - **Forward.** X^m − c splits into X^(m/2) ∓ √c until m = 1. This needs one twiddle per block, and the twist costs
//!   nothing. A butterfly takes six fused multiply-adds, because u − w·v = 2u − (u + w·v) (E. Linzer and E. Feig,
//!   "Implementation of efficient FFT algorithms on fused multiply-add architectures", 1993).
//! - **Inverse.** The mirror image of that tree would need eight operations per butterfly. So the inverse is the
//!   textbook decimation in time, with one twiddle per position. On the vector paths its first two levels need no
//!   multiplications. The untwisting factor includes the normalisation.
//!
//! One pass computes two or three levels in registers. The first pass converts as it loads. Blocks of at most 32 KiB
//! are finished one after the other; their last passes compute 2·log2(lanes) levels at once by transposing a square
//! tile. The inverse runs in the opposite order; its last pass reduces, rounds and adds as it stores. Digits are also
//! cut out of their words in registers: the field gets an exponent instead of a conversion.
//!
//! # Error
//!
//! Let u = 2^-53, ℓ = log2 M, and Σ_r d_r·t_r a product of `rows` rows with |d| ≤ 2^b and |t| ≤ 2^63.
//!
//! One level multiplies the 2-norm by √2. A component of u + w·v is a sum of three terms, each rounded at most three
//! times; its partner is rounded one more time. With twiddles correct to 2u, the error of a level is at most 8u times
//! the norm of its result. Conversion, or untwisting, adds less than one more level. By Cauchy and Schwarz, the errors
//! of the spectra and of the pointwise products change a coefficient by at most 8u(2(ℓ+1) + 2·rows + 1)·Σ‖d_r‖₂‖t_r‖₂.
//! The inverse adds 8u(ℓ+1)·‖p‖₂, where ‖p‖₂ ≤ Σ‖d_r‖₁‖t_r‖₂. [`rounding_error_bound`] is the sum of both. It holds for
//! every input and is far above the error of random inputs (2^19 times their largest error at N = 16384).
//!
//! For random inputs, roundings are independent with a relative standard deviation of 0.4u. Each of 3ℓ + 3 levels has 2
//! to 3 of them and one twiddle error. The resulting standard deviation is [`rounding_error_std`]. Tests compare both
//! figures with measured errors.
//!
//! # Cost
//!
//! A transform has M·ℓ/2 butterflies of six operations, 6 shuffles per 8 points, and one conversion per coefficient.
//! For N = 16384 on eight lanes these are 39 936 + 6 144 + 2 048 vector operations on two ports, 6.5 µs at 3.7 GHz.
//! Next to the arithmetic, four passes move 640 KiB between the caches (source, spectrum twice, lines fetched before
//! they are written) and 74 KiB of twiddles, 4.3 µs at 45 bytes per cycle. The measured Xeon (Granite Rapids class)
//! slows 512-bit multiplications by 0.6 of a cycle per 512-bit store, 1.3 µs for the 8 192 stores. So its floor is 7.8
//! µs.
//!
//! | N = 16384, µs | forward | of digits | inverse |
//! | --- | --- | --- | --- |
//! | AVX-512 | 9.6 (82 %) | 10.1 | 10.6 |
//! | AVX2 | 13.2 | 13.3 | 17.3 |
//! | portable | 36 | 38 | 47 |
//!
//! The first pass takes 3.0 µs. It is bound by its 384 KiB between the caches, 2.4 µs. Radix-8 passes within the first
//! level run at their floor of 46 cycles. Leaves take 119 cycles, with a floor of 106; the likely cause is that
//! shuffles have one port (counters were not available).
//!
//! [`forward_prefetching`](FftEngine::forward_prefetching) of memory that is in no cache, and then reading it, takes:
//!
//! | prefetched, KiB | together, µs | transform, then reading, µs |
//! | --- | --- | --- |
//! | 128 | 14.7 | 17.8 |
//! | 192 | 18.9 | 22.0 |
//! | 256 | 23.5 | 25.8 |
//!
//! The transform's own misses presumably share the fill buffers, so more does not overlap. The example `fft-timing`
//! of the crate `evidence` repeats these measurements.

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
/// (which adds at most 1/2).
///
/// The product has `rows` products of digits |d| ≤ `digit_bound` with torus polynomials of 64 bits. The bound is in
/// units of 2^-64 of the torus. It includes the conversion of inputs beyond 2^53.
///
/// # Example
/// ```
/// use ciphermill_math::fft::{rounding_error_bound, rounding_error_std};
///
/// // Two rows of 8-bit digits at N = 1024: the bound holds always, the deviation is typical.
/// let bound = rounding_error_bound(1024, 2, 128.0);
/// let typical = rounding_error_std(1024, 2, 74.0, 2f64.powi(64) / 12f64.sqrt());
/// assert!(typical < bound);
/// ```
pub fn rounding_error_bound(polynomial_size: usize, rows: usize, digit_bound: f64) -> f64 {
    let (n, rows) = (polynomial_size as f64, rows as f64);
    let levels = (n / 2.0).log2() + 1.0;
    let per_row = digit_bound * TWO_63 * n * (2.0 * levels + 2.0 * rows + 1.0 + levels * n.sqrt());
    4.0 * f64::EPSILON * rows * per_row
}

/// Expected standard deviation of the same error for independent inputs, in units of 2^-64 of the torus. `digit_std`
/// and `torus_std` are the root mean squares of the coefficients (2^64/√12 for a uniform torus polynomial).
///
/// # Example
/// ```
/// use ciphermill_math::fft::rounding_error_std;
///
/// // Independent errors add up as variances: four rows double the deviation.
/// let of = |rows| rounding_error_std(1024, rows, 74.0, 2f64.powi(64) / 12f64.sqrt());
/// assert!((of(4) / of(1) - 2.0).abs() < 1e-12);
/// ```
pub fn rounding_error_std(polynomial_size: usize, rows: usize, digit_std: f64, torus_std: f64) -> f64 {
    let (n, rows) = (polynomial_size as f64, rows as f64);
    let levels = (n / 2.0).log2() + 1.0;
    STD_PER_LEVEL * (3.0 * levels).sqrt() * (n * rows).sqrt() * digit_std * torus_std
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// 0.4 · 2^-53 · √(5/2 + 1): two and a half roundings and one twiddle error.
const STD_PER_LEVEL: f64 = 0.75 * f64::EPSILON / 2.0;
