//! Negacyclic number-theoretic transforms: exact products in Z_p\[X\]/(X^N + 1).

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::modulus::ModulusError;
use crate::{CoefficientSource, Isa};

mod constant_geometry;
mod four_step;
mod goldilocks;
mod prime;
pub mod reference;
mod rns;
#[cfg(target_arch = "x86_64")]
mod transpose;
pub(crate) mod word32;

pub use constant_geometry::ConstantGeometryNtt;
pub use four_step::{Convolution, FourStepError, FourStepNtt};
pub use goldilocks::GoldilocksNtt;
pub use prime::PrimeNtt;
pub use rns::{RnsError, RnsNtt};
pub use word32::Prime32Ntt;

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
    /// Not a prime in the range of the arithmetic.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// A prime that the kernels have too few bits for.
    #[error("modulus {given} is too large for these kernels; use a prime below 2^{max_bits}")]
    ModulusLength {
        /// What was asked for.
        given: u64,
        /// The greatest length in bits.
        max_bits: u32,
    },
    /// The field lacks a primitive 2N-th root of unity.
    #[error(
        "polynomials of {polynomial_size} coefficients need a prime that is 1 modulo {}; {modulus} is not",
        2 * .polynomial_size
    )]
    NoRoot {
        /// The prime.
        modulus: u64,
        /// N.
        polynomial_size: usize,
    },
}

/// The engine of this process for `polynomial_size` and `isa`, made on first use and kept: its tables take fewer
/// than 5N words.
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

/// The engine of this process for N = `polynomial_size`, the prime `modulus` below 2^62 and `isa`: made on first use
/// and kept, its tables (about 4.5N words) included. At most [`MAX_PRIME_ENGINES`] are kept; beyond that one that
/// nobody uses gives way, or if there is none the new one is not kept.
///
/// # Errors
/// Those of [`PrimeNtt::new`].
pub fn prime_engine(polynomial_size: usize, modulus: u64, isa: Isa) -> Result<Arc<dyn NttEngine>, NttError> {
    type Engines = Mutex<HashMap<(usize, u64, Isa), Arc<PrimeNtt>>>;
    static ENGINES: LazyLock<Engines> = LazyLock::new(Mutex::default);
    // The map is whole at every point where a panic could happen, so a poisoned lock is harmless.
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (polynomial_size, modulus, isa);
    if let Some(engine) = engines.get(&key) {
        return Ok(engine.clone());
    }
    let engine = Arc::new(PrimeNtt::new(polynomial_size, modulus, isa)?);
    keep(MAX_PRIME_ENGINES, &mut engines, key, &engine);
    Ok(engine)
}

/// Puts an engine among those that are kept, in the place of an idle one if there are `limit`.
fn keep<K: Copy + Eq + Hash, E>(limit: usize, engines: &mut HashMap<K, Arc<E>>, key: K, engine: &Arc<E>) {
    if engines.len() >= limit {
        let idle = engines.iter().find(|(_, engine)| Arc::strong_count(engine) == 1).map(|(&key, _)| key);
        idle.map(|key| engines.remove(&key));
    }
    if engines.len() < limit {
        engines.insert(key, engine.clone());
    }
}

/// The most engines that [`prime_engine`] and [`prime_engine_u32`] keep each: more than the limbs of any modulus chain,
/// and at N = 2^17 0.3 GB of tables.
pub const MAX_PRIME_ENGINES: usize = 64;

/// The engine of this process for primes below 2^31, made on first use and kept as by [`prime_engine`]; its tables take
/// up to 33N bytes for AVX-512 IFMA, 17N or less otherwise.
///
/// # Errors
/// Those of [`Prime32Ntt::new`].
pub fn prime_engine_u32(polynomial_size: usize, modulus: u32, isa: Isa) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
    type Engines = Mutex<HashMap<(usize, u32, Isa), Arc<Prime32Ntt>>>;
    static ENGINES: LazyLock<Engines> = LazyLock::new(Mutex::default);
    // The map is whole at every point where a panic could happen, so a poisoned lock is harmless.
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (polynomial_size, modulus, isa);
    if let Some(engine) = engines.get(&key) {
        return Ok(engine.clone());
    }
    let engine = Arc::new(Prime32Ntt::new(polynomial_size, modulus, isa)?);
    keep(MAX_PRIME_ENGINES, &mut engines, key, &engine);
    Ok(engine)
}

/// A word of a polynomial or of a spectrum: `u64`, or `u32` for moduli below 2^31.
pub trait NttWord: Copy + Default + Debug + Eq + Send + Sync + 'static {}

impl NttWord for u32 {}
impl NttWord for u64 {}

/// A negacyclic NTT of one size over one prime field: the kernel seam for exact polynomial products.
///
/// For a primitive 2N-th root of unity ψ of Z_p the transform of a(X) = Σ a_j X^j is the set of values
/// { a(ψ^(2i+1)) : 0 ≤ i < N }, in an order that is private to the implementation. Pointwise products of two spectra of
/// one engine are therefore spectra of the product modulo X^N + 1.
///
/// Lengths that do not match [`polynomial_size`](NttEngine::polynomial_size) are a caller's error and panic; sizes of
/// objects that come from outside are checked where they are parsed.
pub trait NttEngine<W: NttWord = u64>: Send + Sync + Debug {
    /// N, a power of two.
    fn polynomial_size(&self) -> usize;

    /// The prime p.
    fn modulus(&self) -> u64;

    /// The instruction set or device on which it runs, for reports.
    fn isa(&self) -> Isa;

    /// The strategy's name, for reports: `goldilocks`, `shoup62`, ….
    fn strategy(&self) -> &'static str;

    /// The exponent e, odd and below 2N, such that place `position` of a spectrum holds a(ψ^e): what automorphisms and
    /// slot encoders need to know of the order. It is the same for every spectrum of the engine.
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
    /// `columns`, which hold one spectrum per source: a row of an external product or of a key switch. `scratch` has
    /// room for one spectrum per source; its content is lost.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_engines_give_way_and_those_in_use_do_not() {
        let mut kept = HashMap::new();
        let engines: Vec<Arc<u32>> = (0..4).map(Arc::new).collect();
        keep(2, &mut kept, 0, &engines[0]);
        keep(2, &mut kept, 1, &engines[1]);
        // Both are in use: the third is not kept.
        keep(2, &mut kept, 2, &engines[2]);
        let keys = |kept: &HashMap<i32, Arc<u32>>| {
            let mut keys: Vec<i32> = kept.keys().copied().collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(keys(&kept), [0, 1]);
        // The first one no longer: the fourth takes its place.
        let [_, second, _, fourth] = <[Arc<u32>; 4]>::try_from(engines).expect("four");
        keep(2, &mut kept, 3, &fourth);
        assert_eq!(keys(&kept).len(), 2);
        assert!(kept.contains_key(&3) && kept.contains_key(&1) && Arc::ptr_eq(&kept[&1], &second));
    }
}
