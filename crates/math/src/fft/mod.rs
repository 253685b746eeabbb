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

use std::fmt::Debug;

use crate::{CoefficientSource, Isa};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod coefficients;
mod kernels;
mod lanes;
mod packed;
mod plan;
mod portable;
pub mod reference;
pub mod reference32;
mod torus;

pub use packed::PackedWord;
pub use plan::SpectrumBuffer;
pub use torus::{TorusFft, engine};

/// No transform can be made for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FftError {
    /// The size is outside the range of the transform.
    #[error("polynomial size {given} is not offered; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// What was asked for.
        given: usize,
        /// Smallest N.
        min: usize,
        /// Largest N.
        max: usize,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not offered by this CPU; use at most {best}")]
    IsaUnavailable {
        /// What was asked for.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}

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

/// A negacyclic f64 FFT of one size: the kernel seam for approximate polynomial products.
///
/// The transform of a(X) = Σ a_j X^j is the set of values { a(ζ^(4i+1)) : 0 ≤ i < N/2 } with ζ = e^(iπ/N), that is, one
/// of each pair of conjugate evaluations at the odd 2N-th roots of unity, as N f64 words in an order and layout private
/// to the implementation.
///
/// Lengths that do not match [`polynomial_size`](FftEngine::polynomial_size) are a caller's error and panic.
pub trait FftEngine: Send + Sync + Debug {
    /// N, a power of two.
    fn polynomial_size(&self) -> usize;

    /// The instruction set or device on which it runs, for reports.
    fn isa(&self) -> Isa;

    /// Transforms one polynomial with signed integer coefficients to `spectrum` (N words). A coefficient is converted
    /// to the nearest f64, so |a_j| < 2^53 is exact and a torus coefficient (as i64) keeps its 53 leading bits.
    fn forward(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64]);

    /// [`forward`](FftEngine::forward), while the memory of `upcoming`, which the caller will read next, is brought
    /// near: blind rotation streams gigabytes of key and would otherwise wait for them between transforms. Where that
    /// is more than the transform can hide, only the first part is asked for: give all of it, and read it in order.
    fn forward_prefetching(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64], upcoming: &[u8]) {
        let _ = upcoming;
        self.forward(source, spectrum);
    }

    /// Transforms one polynomial per source; spectra are consecutive in `spectra`.
    fn forward_batch(&self, sources: &[&dyn CoefficientSource<i64>], spectra: &mut [f64]) {
        assert_eq!(spectra.len(), sources.len() * self.polynomial_size());
        for (source, spectrum) in sources.iter().zip(spectra.chunks_exact_mut(self.polynomial_size())) {
            self.forward(*source, spectrum);
        }
    }

    /// Adds Σ_r lhs_r ∘ rhs_r to `acc`, where `lhs` and `rhs` hold the same number of consecutive spectra.
    fn multiply_accumulate(&self, acc: &mut [f64], lhs: &[f64], rhs: &[f64]);

    /// Packs spectra that lie one behind the other, for [`multiply_packed`](FftEngine::multiply_packed): row by row,
    /// the columns of a row one behind the other. `packed` takes [`PackedWord::packed_len`] bytes.
    fn pack(&self, word: PackedWord, spectra: &[f64], packed: &mut [u8]);

    /// sums_c = Σ_r lhs_r ∘ packed_(r,c), added to what `sums` holds if `accumulate`; for each of several operands,
    /// which share what is read and unpacked, but not their results. The sum over the rows is rounded on its own and
    /// then added, so that sums of several calls may also be formed apart and added in the same order.
    fn multiply_packed(
        &self,
        word: PackedWord,
        sums: &mut [&mut [f64]],
        lhs: &[&[f64]],
        packed: &[u8],
        accumulate: bool,
    );

    /// Inverse transform, normalised; each coefficient is rounded to the nearest integer and added to `out` modulo
    /// 2^64. Destroys `spectrum`. Values up to 2^1000 in magnitude are reduced correctly to f64 precision.
    fn inverse_add_u64(&self, spectrum: &mut [f64], out: &mut [u64]);

    /// As [`inverse_add_u64`](FftEngine::inverse_add_u64), modulo 2^32.
    fn inverse_add_u32(&self, spectrum: &mut [f64], out: &mut [u32]);
}
