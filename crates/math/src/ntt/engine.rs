//! The kernel seam of exact polynomial products.

use std::fmt::Debug;

use crate::{CoefficientSource, EngineInfo};

/// A word of a polynomial or of a spectrum: `u64`, or `u32` for moduli below 2^31.
pub trait NttWord: Copy + Default + Debug + Eq + Send + Sync + 'static {}

impl NttWord for u32 {}
impl NttWord for u64 {}

/// A negacyclic NTT of one size over one prime field: the kernel seam for exact polynomial products.
///
/// Let ψ be a primitive 2N-th root of unity of Z_p. The transform of a(X) = Σ a_j X^j is the set of values
/// { a(ψ^(2i+1)) : 0 ≤ i < N }, in an order that is private to the implementation. So the pointwise product of two
/// spectra of one engine is the spectrum of the product modulo X^N + 1.
///
/// A length that does not match [`polynomial_size`](NttEngine::polynomial_size) is a caller's error and panics. Parsers
/// check the sizes of objects from outside.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::goldilocks_engine;
///
/// // (2 + X)·X modulo X^1024 + 1.
/// let engine = goldilocks_engine(1024, Isa::current())?;
/// let (mut a, mut b) = (vec![0; 1024], vec![0; 1024]);
/// (a[0], a[1], b[1]) = (2, 1, 1);
/// let (mut lhs, mut rhs) = (vec![0; 1024], vec![0; 1024]);
/// engine.forward(&a, &mut lhs);
/// engine.forward(&b, &mut rhs);
/// engine.multiply(&mut lhs, &rhs);
/// let mut product = vec![0; 1024];
/// engine.inverse(&mut lhs, &mut product);
/// assert_eq!(product[..4], [0, 2, 1, 0]);
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
pub trait NttEngine<W: NttWord = u64>: Send + Sync + Debug {
    /// N, a power of two.
    fn polynomial_size(&self) -> usize;

    /// The prime p.
    fn modulus(&self) -> u64;

    /// The engine's description. Its name is the strategy: `goldilocks`, `shoup62`, …. Engines of one size with equal
    /// descriptions have spectra of one order, whatever their primes.
    fn info(&self) -> EngineInfo;

    /// The exponent e, odd and below 2N, such that word `position` of a spectrum is a(ψ^e). Automorphisms and slot
    /// encoders need it. It is the same for every spectrum of the engine.
    ///
    /// # Panics
    /// If `position` ≥ N.
    fn exponent(&self, position: usize) -> usize;

    /// Transforms one polynomial with coefficients in `[0, p)` to `spectrum` (N words).
    fn forward(&self, source: &dyn CoefficientSource<W>, spectrum: &mut [W]);

    /// Transforms `values` in place: coefficients in `[0, p)` in, a spectrum out.
    fn forward_in_place(&self, values: &mut [W]);

    /// Transforms one polynomial per source; spectra are consecutive in `spectra`.
    fn forward_batch(&self, sources: &[&dyn CoefficientSource<W>], spectra: &mut [W]) {
        assert_eq!(spectra.len(), sources.len() * self.polynomial_size());
        for (source, spectrum) in sources.iter().zip(spectra.chunks_exact_mut(self.polynomial_size())) {
            self.forward(*source, spectrum);
        }
    }

    /// lhs ← lhs ∘ rhs.
    fn multiply(&self, lhs: &mut [W], rhs: &[W]);

    /// Adds Σ_r lhs_r ∘ rhs_r to `acc`, where `lhs` and `rhs` hold the same number of consecutive spectra.
    fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]);

    /// Transforms every source, then adds Σ_r source_r ∘ column_(c,r) to the c-th spectrum of `accs`, for each of
    /// `columns`. This is a row of an external product or of a key switch. A column holds one spectrum per source.
    /// `scratch` has room for one spectrum per source; its content is lost.
    fn forward_multiply_accumulate(
        &self,
        sources: &[&dyn CoefficientSource<W>],
        columns: &[&[W]],
        accs: &mut [W],
        scratch: &mut [W],
    ) {
        let n = self.polynomial_size();
        assert_eq!(accs.len(), columns.len() * n);
        self.forward_batch(sources, &mut scratch[..sources.len() * n]);
        for (acc, column) in accs.chunks_exact_mut(n).zip(columns) {
            self.multiply_accumulate(acc, &scratch[..sources.len() * n], column);
        }
    }

    /// Inverse transform, normalised by 1/N: coefficients in `[0, p)` to `coefficients`. Destroys `spectrum`.
    fn inverse(&self, spectrum: &mut [W], coefficients: &mut [W]);

    /// Inverse transform in place, normalised by 1/N: a spectrum in, coefficients in `[0, p)` out.
    fn inverse_in_place(&self, values: &mut [W]);
}
