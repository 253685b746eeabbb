//! Negacyclic number-theoretic transforms: exact products in Z_p\[X\]/(X^N + 1).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::{CoefficientSource, Isa};

mod goldilocks;
pub mod reference;

pub use goldilocks::GoldilocksNtt;

/// An engine cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NttError {
    /// No kernel for this N.
    #[error("polynomial size {given} is not offered; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// What was asked for.
        given: usize,
        /// The least N.
        min: usize,
        /// The greatest N.
        max: usize,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not offered by this CPU; use {best} or a lesser one")]
    Isa {
        /// What was asked for.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}

/// The engine of this process for `polynomial_size` and `isa`, made on first use and kept: its tables take fewer
/// than 2N words.
///
/// # Errors
/// Those of [`GoldilocksNtt::new`].
pub fn goldilocks_engine(polynomial_size: usize, isa: Isa) -> Result<Arc<dyn NttEngine>, NttError> {
    type Engines = Mutex<HashMap<(usize, Isa), Arc<GoldilocksNtt>>>;
    static ENGINES: LazyLock<Engines> = LazyLock::new(Mutex::default);
    // The map is whole at every point where a panic could happen, so a poisoned lock is harmless.
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = engines.get(&(polynomial_size, isa)) {
        return Ok(engine.clone());
    }
    let engine = Arc::new(GoldilocksNtt::new(polynomial_size, isa)?);
    engines.insert((polynomial_size, isa), engine.clone());
    Ok(engine)
}

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
