//! Negacyclic number-theoretic transforms: exact products in Z_p\[X\]/(X^N + 1).

use std::fmt::Debug;

use crate::{CoefficientSource, Isa};

/// A negacyclic NTT of one size over one prime field: the kernel seam for exact polynomial products.
///
/// For a primitive 2N-th root of unity ψ of Z_p the transform of a(X) = Σ a_j X^j is the set of values
/// { a(ψ^(2i+1)) : 0 ≤ i < N }, in an order that is private to the implementation. Pointwise products of two spectra of
/// one engine are therefore spectra of the product modulo X^N + 1.
///
/// Lengths that do not match [`polynomial_size`](NttEngine::polynomial_size) are a caller's error and panic; sizes of
/// objects that come from outside are checked where they are parsed.
pub trait NttEngine: Send + Sync + Debug {
    /// N, a power of two.
    fn polynomial_size(&self) -> usize;

    /// The prime p.
    fn modulus(&self) -> u64;

    /// The instruction set or device on which it runs, for reports.
    fn isa(&self) -> Isa;

    /// Transforms one polynomial with coefficients in `[0, p)` to `spectrum` (N words).
    fn forward(&self, source: &dyn CoefficientSource<u64>, spectrum: &mut [u64]);

    /// Transforms one polynomial per source; spectra are consecutive in `spectra`.
    fn forward_batch(&self, sources: &[&dyn CoefficientSource<u64>], spectra: &mut [u64]) {
        assert_eq!(spectra.len(), sources.len() * self.polynomial_size());
        for (source, spectrum) in sources.iter().zip(spectra.chunks_exact_mut(self.polynomial_size())) {
            self.forward(*source, spectrum);
        }
    }

    /// Adds Σ_r lhs_r ∘ rhs_r to `acc`, where `lhs` and `rhs` hold the same number of consecutive spectra.
    fn multiply_accumulate(&self, acc: &mut [u64], lhs: &[u64], rhs: &[u64]);

    /// Inverse transform, normalised by 1/N: coefficients in `[0, p)` to `coefficients`. Destroys `spectrum`.
    fn inverse(&self, spectrum: &mut [u64], coefficients: &mut [u64]);
}
