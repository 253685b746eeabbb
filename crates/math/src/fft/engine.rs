//! The kernel seam of approximate polynomial products.

use std::fmt::Debug;

use super::packed::PackedWord;
use crate::{CoefficientSource, EngineInfo};

/// A negacyclic f64 FFT of one size: the kernel seam for approximate polynomial products.
///
/// The transform of a(X) = Σ a_j X^j is the set of values { a(ζ^(4i+1)) : 0 ≤ i < N/2 } with ζ = e^(iπ/N). It has one
/// value of each pair of conjugate evaluations at the odd 2N-th roots of unity. A spectrum consists of N f64 words,
/// whose order and layout are private to the implementation.
///
/// A length that does not match [`polynomial_size`](FftEngine::polynomial_size) is a caller's error and panics.
///
/// # Example
/// ```
/// use ciphermill_math::{Isa, fft};
///
/// // (1 + X)·X, added to a polynomial modulo 2^32.
/// let engine = fft::engine(256, Isa::current())?;
/// let (mut a, mut b) = (vec![0i64; 256], vec![0i64; 256]);
/// (a[0], a[1], b[1]) = (1, 1, 1);
/// let mut spectra = vec![0.0; 2 * 256];
/// engine.forward_batch(&[&a, &b], &mut spectra);
/// let mut product = vec![0.0; 256];
/// engine.multiply_accumulate(&mut product, &spectra[..256], &spectra[256..]);
/// let mut out = vec![10u32; 256];
/// engine.inverse_add_u32(&mut product, &mut out);
/// assert_eq!(out[..4], [10, 11, 11, 10]);
/// # Ok::<(), fft::FftError>(())
/// ```
pub trait FftEngine: Send + Sync + Debug {
    /// N, a power of two.
    fn polynomial_size(&self) -> usize;

    /// The engine's description.
    fn info(&self) -> EngineInfo;

    /// Transforms one polynomial with signed integer coefficients to `spectrum` (N words). Each coefficient is
    /// converted to the nearest f64: |a_j| < 2^53 is exact, and a torus coefficient (as i64) keeps its 53 leading bits.
    fn forward(&self, source: &dyn CoefficientSource<i64>, spectrum: &mut [f64]);

    /// Does the same as [`forward`](FftEngine::forward), and prefetches `upcoming`, the memory that the caller reads
    /// next. Blind rotation streams gigabytes of key and would otherwise wait for them between transforms. If
    /// `upcoming` is longer than a transform can hide, only its first part is prefetched; pass all of it and read it in
    /// order.
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

    /// Packs consecutive spectra for [`multiply_packed`](FftEngine::multiply_packed), row by row; the columns of a row
    /// are consecutive. `packed` has [`PackedWord::packed_len`] bytes.
    fn pack(&self, word: PackedWord, spectra: &[f64], packed: &mut [u8]);

    /// sums_c = Σ_r lhs_r ∘ packed_(r,c) for each operand, added to `sums` if `accumulate` is set. Each packed word is
    /// read and unpacked once for all operands. The sum over the rows is rounded first and then added. So a caller may
    /// also compute the sums of several calls separately and add them in the same order, with the same result.
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
