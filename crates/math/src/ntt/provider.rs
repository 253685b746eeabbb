//! The provider of transforms for a scheme, and the CPU's provider.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::engine::NttEngine;
use super::error::NttError;
use super::goldilocks::GoldilocksNtt;
use super::prime::PrimeNtt;
use super::word32::Prime32Ntt;
use crate::{EngineInfo, EngineKind, Isa};

/// Makes the transforms of a scheme. The caller that builds a scheme's tables passes a provider, and so chooses the
/// device that computes every transform.
///
/// Engines made by [`prime`](Self::prime) and [`prime_u32`](Self::prime_u32) have canonical spectra. Each word is a
/// value in `[0, p)`, so a scheme may scale and add spectra itself. Spectra of the Goldilocks field may hold any 64-bit
/// word, which represents its residue.
///
/// # Example
/// A provider that counts what it makes:
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use ciphermill_math::EngineInfo;
/// use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
///
/// #[derive(Debug, Default)]
/// struct Counting {
///     cpu: CpuNttProvider,
///     made: AtomicUsize,
/// }
///
/// impl NttProvider for Counting {
///     fn info(&self) -> EngineInfo {
///         self.cpu.info()
///     }
///     fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
///         self.made.fetch_add(1, Ordering::Relaxed);
///         self.cpu.prime(polynomial_size, modulus)
///     }
///     fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
///         self.made.fetch_add(1, Ordering::Relaxed);
///         self.cpu.prime_u32(polynomial_size, modulus)
///     }
///     fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
///         self.made.fetch_add(1, Ordering::Relaxed);
///         self.cpu.goldilocks(polynomial_size)
///     }
/// }
///
/// let provider = Counting::default();
/// let engine = provider.prime(1024, 12289)?;
/// assert_eq!((engine.polynomial_size(), engine.modulus()), (1024, 12289));
/// assert_eq!(provider.made.into_inner(), 1);
/// # Ok::<(), NttError>(())
/// ```
pub trait NttProvider: Send + Sync + Debug {
    /// The provider's description.
    fn info(&self) -> EngineInfo;

    /// The transform for N = `polynomial_size` over the prime `modulus`, which is 1 modulo 2N and below 2^62.
    ///
    /// # Errors
    /// If the provider has no transform of this size and prime.
    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError>;

    /// The transform on 32-bit words over the prime `modulus`, which is 1 modulo 2N and below 2^31.
    ///
    /// # Errors
    /// If the provider has no transform of this size and prime.
    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError>;

    /// The transform over the Goldilocks prime 2^64 − 2^32 + 1.
    ///
    /// # Errors
    /// If the provider has no transform of this size.
    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError>;
}

/// The CPU's transforms on one instruction set. Engines are shared by the whole process: see [`prime_engine`].
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
///
/// let provider = CpuNttProvider::new(Isa::Portable);
/// let engine = provider.goldilocks(2048)?;
/// assert_eq!(engine.info().kind.isa(), Some(Isa::Portable));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuNttProvider {
    isa: Isa,
}

impl CpuNttProvider {
    /// The transforms of one instruction set. Making an engine fails if the CPU lacks it.
    #[must_use]
    pub fn new(isa: Isa) -> Self {
        Self { isa }
    }

    /// The instruction set.
    #[must_use]
    pub fn isa(self) -> Isa {
        self.isa
    }
}

impl Default for CpuNttProvider {
    /// On the instruction set of this process, [`Isa::current`].
    fn default() -> Self {
        Self::new(Isa::current())
    }
}

impl NttProvider for CpuNttProvider {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("cpu-ntt", EngineKind::Cpu(self.isa))
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        prime_engine(polynomial_size, modulus, self.isa)
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        prime_engine_u32(polynomial_size, modulus, self.isa)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        goldilocks_engine(polynomial_size, self.isa)
    }
}

/// The process-wide engine for `polynomial_size` and `isa`. It is made on first use and kept; its tables have fewer
/// than 5N words.
///
/// # Errors
/// As [`GoldilocksNtt::new`].
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{NttEngine, goldilocks_engine};
///
/// let engine = goldilocks_engine(1024, Isa::current())?;
/// assert_eq!((engine.polynomial_size(), engine.modulus()), (1024, 0xffff_ffff_0000_0001));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
pub fn goldilocks_engine(polynomial_size: usize, isa: Isa) -> Result<Arc<dyn NttEngine>, NttError> {
    static ENGINES: Engines<(usize, Isa), GoldilocksNtt> = LazyLock::new(Mutex::default);
    Ok(shared(&ENGINES, (polynomial_size, isa), || GoldilocksNtt::new(polynomial_size, isa))?)
}

/// The process-wide engine for N = `polynomial_size`, the prime `modulus` below 2^62 and `isa`. It is made on first use
/// and kept, with its tables of about 4.5N words. The process keeps up to [`MAX_PRIME_ENGINES`] engines. If that many
/// are kept, the new engine replaces one without users; if every engine has users, the new one is not kept.
///
/// # Errors
/// As [`PrimeNtt::new`].
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{NttError, prime_engine};
///
/// let engine = prime_engine(256, 7681, Isa::current())?;
/// assert_eq!(engine.modulus(), 7681);
/// // 7681 is not 1 modulo 2·512.
/// assert!(matches!(prime_engine(512, 7681, Isa::current()), Err(NttError::NoRoot { .. })));
/// # Ok::<(), NttError>(())
/// ```
/// Those of [`PrimeNtt::new`].
pub fn prime_engine(polynomial_size: usize, modulus: u64, isa: Isa) -> Result<Arc<dyn NttEngine>, NttError> {
    static ENGINES: Engines<(usize, u64, Isa), PrimeNtt> = LazyLock::new(Mutex::default);
    Ok(shared(&ENGINES, (polynomial_size, modulus, isa), || PrimeNtt::new(polynomial_size, modulus, isa))?)
}

/// The engines of one kind that the process keeps.
type Engines<K, E> = LazyLock<Mutex<HashMap<K, Arc<E>>>>;

/// The kept engine, or a new one. Sizes and instruction sets are too few for [`MAX_PRIME_ENGINES`] Goldilocks engines.
fn shared<K: Copy + Eq + Hash, E>(
    engines: &Engines<K, E>,
    key: K,
    make: impl FnOnce() -> Result<E, NttError>,
) -> Result<Arc<E>, NttError> {
    // The map is complete at every point where a panic could happen, so a poisoned lock is harmless.
    let mut engines = engines.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = engines.get(&key) {
        return Ok(engine.clone());
    }
    let engine = Arc::new(make()?);
    keep(MAX_PRIME_ENGINES, &mut engines, key, &engine);
    Ok(engine)
}

/// Keeps an engine. If `limit` engines are kept already, it replaces one without users.
fn keep<K: Copy + Eq + Hash, E>(limit: usize, engines: &mut HashMap<K, Arc<E>>, key: K, engine: &Arc<E>) {
    if engines.len() >= limit {
        let idle = engines.iter().find(|(_, engine)| Arc::strong_count(engine) == 1).map(|(&key, _)| key);
        idle.map(|key| engines.remove(&key));
    }
    if engines.len() < limit {
        engines.insert(key, engine.clone());
    }
}

/// The most engines that [`prime_engine`] and [`prime_engine_u32`] keep each. This is more than the limbs of any
/// modulus chain; at N = 2^17 the tables take 0.3 GB.
pub const MAX_PRIME_ENGINES: usize = 64;

/// The process-wide engine on 32-bit words for a prime below 2^31, kept as by [`prime_engine`]. Its tables have up to
/// 33N bytes with AVX-512 IFMA, and up to 17N otherwise.
///
/// # Errors
/// As [`Prime32Ntt::new`].
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::prime_engine_u32;
///
/// let engine = prime_engine_u32(256, 7681, Isa::current())?;
/// let mut values: Vec<u32> = (0..256).collect();
/// engine.forward_in_place(&mut values);
/// engine.inverse_in_place(&mut values);
/// assert!(values.iter().copied().eq(0..256));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
pub fn prime_engine_u32(polynomial_size: usize, modulus: u32, isa: Isa) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
    static ENGINES: Engines<(usize, u32, Isa), Prime32Ntt> = LazyLock::new(Mutex::default);
    Ok(shared(&ENGINES, (polynomial_size, modulus, isa), || Prime32Ntt::new(polynomial_size, modulus, isa))?)
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
        // The first engine has no users any more, so the fourth replaces it.
        let [_, second, _, fourth] = <[Arc<u32>; 4]>::try_from(engines).expect("four");
        keep(2, &mut kept, 3, &fourth);
        assert_eq!(keys(&kept).len(), 2);
        assert!(kept.contains_key(&3) && kept.contains_key(&1) && Arc::ptr_eq(&kept[&1], &second));
    }
}
