//! Negacyclic f64 transforms of torus polynomials: fast products in R\[X\]/(X^N + 1), rounded modulo 2^64 or 2^32.

use std::fmt::Debug;

use crate::{CoefficientSource, Isa};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernels;
mod lanes;
mod plan;
mod portable;
pub mod reference;
mod torus;

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

    /// Transforms one polynomial per source; spectra are consecutive in `spectra`.
    fn forward_batch(&self, sources: &[&dyn CoefficientSource<i64>], spectra: &mut [f64]) {
        assert_eq!(spectra.len(), sources.len() * self.polynomial_size());
        for (source, spectrum) in sources.iter().zip(spectra.chunks_exact_mut(self.polynomial_size())) {
            self.forward(*source, spectrum);
        }
    }

    /// Adds Σ_r lhs_r ∘ rhs_r to `acc`, where `lhs` and `rhs` hold the same number of consecutive spectra.
    fn multiply_accumulate(&self, acc: &mut [f64], lhs: &[f64], rhs: &[f64]);

    /// Inverse transform, normalised; each coefficient is rounded to the nearest integer and added to `out` modulo 2^64.
    /// Destroys `spectrum`. Values up to 2^1000 in magnitude are reduced correctly to f64 precision.
    fn inverse_add_u64(&self, spectrum: &mut [f64], out: &mut [u64]);

    /// As [`inverse_add_u64`](FftEngine::inverse_add_u64), modulo 2^32.
    fn inverse_add_u32(&self, spectrum: &mut [f64], out: &mut [u32]);
}
