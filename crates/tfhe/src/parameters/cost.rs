//! The cost of a bootstrap, for choosing between parameter sets.
//!
//! An analytic figure: three kinds of work, each with a constant of nanoseconds per unit on one core with AVX-512. It
//! ranks sets; it is not a measurement. The constants come from the costs at the paper's dimensions: a transform of N =
//! 16384 about 7 µs, a key of 2.1 GB streamed in about 49 ms, a key switch of 92 million multiply-adds in about 10 ms.

use ciphermill_math::fft::PackedWord;

use crate::backend::Backend;
use crate::bootstrap::transformed_key_bytes;
use crate::noise;
use crate::parameters::ParameterSpec;

/// Nanoseconds per point and level of a transform (N·log2 N per transform), including the work during its loads and
/// stores.
pub const TRANSFORM_NS: f64 = 0.04;

/// Nanoseconds per key coefficient read, multiplied and added.
pub const MULTIPLY_ADD_NS: f64 = 0.19;

/// Nanoseconds per element of the key-switching key.
pub const KEYSWITCH_NS: f64 = 0.11;

/// Estimated nanoseconds of one CMux: (k+1)(l+1) transforms and (k+1)²·l·N multiply-adds.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let rotation = parameters.lwe_dimension.0 as f64 * cost::cmux_cost(&parameters);
/// let total = rotation + cost::keyswitch_cost(&parameters);
/// assert_eq!(cost::bootstrap_cost(&parameters), total);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cmux_cost(spec: &ParameterSpec) -> f64 {
    let (glwe_size, size) = (spec.glwe_dimension.glwe_size() as f64, spec.polynomial_size.get() as f64);
    let levels = spec.pbs.level_count.0 as f64;
    glwe_size * (levels + 1.0) * size * size.log2() * TRANSFORM_NS
        + glwe_size * glwe_size * levels * size * MULTIPLY_ADD_NS
}

/// Estimated nanoseconds of one key switch: kN·t·(n+1) multiply-adds.
pub fn keyswitch_cost(spec: &ParameterSpec) -> f64 {
    let elements = spec.big_lwe_dimension().0 * spec.ks.level_count.0 * spec.lwe_dimension.lwe_size();
    elements as f64 * KEYSWITCH_NS
}

/// Estimated nanoseconds of one bootstrap: n CMuxes and a key switch.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let [two, four] = ["MESSAGE_2_2M64", "MESSAGE_4_2M64"].map(|name| {
///     ParameterSet::named(name, SecurityPolicy::Require128Bits).map(|set| cost::bootstrap_cost(&set))
/// });
/// assert!(two? < four?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bootstrap_cost(spec: &ParameterSpec) -> f64 {
    spec.lwe_dimension.0 as f64 * cmux_cost(spec) + keyswitch_cost(spec)
}

impl ParameterSpec {
    /// Bytes that both server keys take when they are loaded: n·(k+1)²·l·N words of 64 bits, or of 48 with the FFT where
    /// [`key_word`](noise::key_word) says so, and the expanded key-switching key of kN·t·(n+1) words of 32.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // The FFT keeps the spectra of this set in 48 bits, the NTT in 64.
    /// assert!(parameters.loaded_key_bytes(Backend::Fft) < parameters.loaded_key_bytes(Backend::Ntt));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loaded_key_bytes(&self, backend: Backend) -> u64 {
        let product = |factors: &[usize]| factors.iter().fold(1u64, |p, &f| p.saturating_mul(f as u64));
        let (n, size) = (self.lwe_dimension.0, self.polynomial_size.get());
        let bootstrap = transformed_key_bytes(backend, noise::key_word(self), self.ggsw_shape(), n);
        let keyswitch = product(&[self.glwe_dimension.0, size, self.ks.level_count.0, n + 1, 4]);
        bootstrap.saturating_add(keyswitch)
    }

    /// Most bytes that the selectors of this many digits occupy, whatever the back end; 0 for a set without words.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert!(server.select(&word)?.memory_bytes() <= parameters.selectors_bytes(word.digits().len()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn selectors_bytes(&self, digits: usize) -> u64 {
        let Some(word) = self.word else { return 0 };
        let component = |backend| component_bytes(backend, word.selector.level_count.0, self.big_lwe_dimension().0);
        // Two selectors of two components for each digit.
        4 * digits as u64 * component(Backend::Fft).max(component(Backend::Ntt))
    }

    /// Bytes that a loaded conversion key occupies in addition; 0 for a set without words.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let plain = parameters.loaded_key_bytes(Backend::Fft);
    /// assert_eq!(server.memory_bytes(), plain + parameters.loaded_conversion_bytes(Backend::Fft));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loaded_conversion_bytes(&self, backend: Backend) -> u64 {
        let Some(shape) = self.conversion_shape() else { return 0 };
        let size = shape.polynomial_size.get();
        let component = |levels| component_bytes(backend, levels, size);
        shape.automorphisms() as u64 * component(shape.trace.level_count.0) + component(shape.square.level_count.0)
    }
}

/// Bytes of the transformed rows of one polynomial in the ring of tables: for each level a mask and a body.
fn component_bytes(backend: Backend, levels: usize, size: usize) -> u64 {
    (match backend {
        Backend::Fft => PackedWord::Float64.packed_len(2 * levels, size),
        Backend::Ntt => 2 * levels * size * 8,
    }) as u64
}
