//! Options of loading a server key, and the memory that loading takes.

use std::sync::Arc;

use ciphermill_math::Isa;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};

use crate::backend::Backend;
use crate::elements::BLOCK;
use crate::parameters::ParameterSpec;

/// Default limit of the memory of loaded keys: three times the need of the largest named set. A seeded key of a few
/// megabytes can ask for a hundred gigabytes.
pub const MAX_LOADED_KEY_BYTES: u64 = 8 << 30;

/// Options of loading a server key.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let options = LoadOptions { max_bytes: 1 << 10, ..LoadOptions::new(Backend::Fft) };
/// let loaded = ServerKey::load_with(&options, &bootstrap[..], &keyswitch[..], policy, &mut |_, _| ());
/// assert!(matches!(loaded, Err(TfheError::KeyTooLarge { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The transform that multiplies polynomials.
    pub backend: Backend,
    /// The instruction set of all work but the NTT.
    pub isa: Isa,
    /// Memory that the loaded keys may occupy, in bytes.
    pub max_bytes: u64,
    /// The source of the Goldilocks NTT, for [`Backend::Ntt`].
    pub ntt: Arc<dyn NttProvider>,
}

impl LoadOptions {
    /// The best instruction set of this CPU, its NTT, and up to [`MAX_LOADED_KEY_BYTES`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Isa;
    /// use ciphermill_tfhe::{Backend, LoadOptions};
    ///
    /// let options = LoadOptions::new(Backend::Fft);
    /// assert_eq!((options.isa, options.backend), (Isa::current(), Backend::Fft));
    /// ```
    pub fn new(backend: Backend) -> Self {
        Self::on(Isa::current(), backend)
    }

    /// [`new`](Self::new), on the given instruction set.
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Isa;
    /// use ciphermill_tfhe::server_key::MAX_LOADED_KEY_BYTES;
    /// use ciphermill_tfhe::{Backend, LoadOptions};
    ///
    /// let options = LoadOptions::on(Isa::Portable, Backend::Ntt);
    /// assert_eq!((options.isa, options.backend), (Isa::Portable, Backend::Ntt));
    /// assert_eq!(options.max_bytes, MAX_LOADED_KEY_BYTES);
    /// ```
    pub fn on(isa: Isa, backend: Backend) -> Self {
        Self { backend, isa, max_bytes: MAX_LOADED_KEY_BYTES, ntt: Arc::new(CpuNttProvider::new(isa)) }
    }

    /// The most memory that loading a key of this set takes at any moment, on the threads of the current Rayon pool, in
    /// bytes. It includes the loaded key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let options = LoadOptions::new(Backend::Fft);
    /// assert!(options.loading_bytes(&parameters) > parameters.loaded_key_bytes(Backend::Fft));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loading_bytes(&self, parameters: &ParameterSpec) -> u64 {
        let (shape, count) = (parameters.ggsw_shape(), parameters.lwe_dimension.0);
        // Of a full key, two batches as they are read; of a seeded one, two of bodies and one of the rows made of them.
        let batch = 2 * (shape.len() as u64).max(shape.bodies_len() as u64 * 2) * batch_len(count) as u64;
        let component = shape.len().div_ceil(shape.glwe_dimension.glwe_size()) as u64;
        let spectra = component * rayon::current_num_threads() as u64;
        let seeds = parameters.big_lwe_dimension().0 as u64 * parameters.ks.level_count.0 as u64 * 4;
        let words = (batch + spectra + BLOCK as u64).saturating_mul(8);
        let working = words.max(seeds + 8 * BLOCK as u64).saturating_add(LOADING_OVERHEAD);
        // Rows and bodies of the conversion key, and the spectra of one automorphism, while it is transformed.
        let conversion = parameters.conversion_shape().map_or(0, |shape| 3 * 8 * shape.len() as u64);
        let loaded =
            parameters.loaded_key_bytes(self.backend).saturating_add(parameters.loaded_conversion_bytes(self.backend));
        loaded.saturating_add(working.max(conversion))
    }
}

/// Bytes of readers, tables and threads while a key is loaded: 230 KB were measured.
const LOADING_OVERHEAD: u64 = 1 << 20;

/// Ciphertexts of a bootstrapping key that are read while as many are transformed.
pub(super) fn batch_len(count: usize) -> usize {
    (2 * rayon::current_num_threads()).min(count)
}
