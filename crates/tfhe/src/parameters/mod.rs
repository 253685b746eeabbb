//! Parameter sets: validated once, immutable after, with their security and failure probability.

pub mod cost;
mod error;
mod estimates;
pub mod search;
mod security;
mod sets;
mod spec;

use std::ops::Deref;

use crate::backend::Backend;
use crate::dimension::Decomposition;
use crate::encoding::Encoding;
use crate::modulus_switch::ModulusSwitch;
use crate::noise;
pub use ciphermill_lattice::security::{REQUIRED_SECURITY_BITS, SecurityEstimate, SecurityPolicy};
pub use error::ParameterError;
pub use security::{security_bits, smallest_noise};
pub use sets::{
    DEFAULT_SET_NAMES, MESSAGE_1_2M64, MESSAGE_1_2M128, MESSAGE_2_2M64, MESSAGE_2_2M128, MESSAGE_2_CENTRED_2M64,
    MESSAGE_3_2M64, MESSAGE_3_2M128, MESSAGE_3_CENTRED_2M128, MESSAGE_4_2M64, MESSAGE_4_2M128, MESSAGE_4_CENTRED_2M128,
    MESSAGE_5_2M64, MESSAGE_5_CENTRED_2M64, MESSAGE_5_CENTRED_2M128, MESSAGE_6_2M64, MESSAGE_6_CENTRED_2M128,
    NVME_TFHE_128, NVME_TFHE_PAPER, NVME_TFHE_PAPER_U32, SET_NAMES, TEST_SMALL_U32, TEST_SMALL_U64, TEST_WORD,
    WORD_2M64, WORD_2M128, recommended, recommended_goals,
};

pub(crate) use spec::PARAMETER_VERSIONS;
pub use spec::{KeyOrder, MAX_NAME_LEN, ParameterSpec, TorusWidth, WordGadgets};

/// An admissible parameter set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let set = ParameterSet::named("MESSAGE_2_2M64", SecurityPolicy::Require128Bits)?;
/// assert!(set.security().bits >= 128.0 && set.log2_p_fail() <= -64.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSet {
    spec: ParameterSpec,
    security: SecurityEstimate,
    log2_p_fail: f64,
}

impl Deref for ParameterSet {
    type Target = ParameterSpec;

    fn deref(&self) -> &ParameterSpec {
        &self.spec
    }
}

impl ParameterSet {
    /// Validates the numbers, estimates security and failure probability.
    ///
    /// # Errors
    /// If a number is outside its range, or security is below 128 bits and `policy` does not accept that.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let spec = ParameterSpec { name: "MY_SET".to_owned(), ..parameters.spec().clone() };
    /// assert!(ParameterSet::new(spec.clone(), policy).is_ok());
    /// let refused = ParameterSet::new(spec, SecurityPolicy::Require128Bits);
    /// assert!(matches!(refused, Err(ParameterError::Insecure { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: ParameterSpec, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        validate(&spec)?;
        let security = security::estimate(&spec);
        if !policy.accepts(security.bits) {
            return Err(ParameterError::Insecure { name: spec.name, bits: security.bits });
        }
        let log2_p_fail = noise::log2_p_fail(&spec, KeyOrder::Big, spec.message_bits, spec.max_norm2);
        Ok(Self { spec, security, log2_p_fail })
    }

    /// The set of this name, one of [`SET_NAMES`].
    ///
    /// # Errors
    /// If there is none, or it is below 128 bits and `policy` does not accept that.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// for &name in parameters::DEFAULT_SET_NAMES {
    ///     assert_eq!(ParameterSet::named(name, SecurityPolicy::Require128Bits)?.name, name);
    /// }
    /// let unknown = ParameterSet::named("NO_SUCH_SET", policy);
    /// assert!(matches!(unknown, Err(ParameterError::UnknownName { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(name: &str, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        let spec = sets::spec(name)
            .ok_or_else(|| ParameterError::UnknownName { name: name.to_owned(), known: SET_NAMES.join(", ") })?;
        Self::new(spec, policy)
    }

    /// The numbers.
    pub fn spec(&self) -> &ParameterSpec {
        &self.spec
    }

    /// Estimated security and where the figure comes from.
    pub fn security(&self) -> SecurityEstimate {
        self.security
    }

    /// log2 of the probability that a bootstrap of one bootstrapped or fresh ciphertext of this encoding looks up another
    /// message than its own.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let [two, six] = [Encoding::unsigned(2, true)?, Encoding::unsigned(6, true)?];
    /// let p_fail = |encoding| parameters.log2_p_fail_of(encoding, KeyOrder::Big);
    /// assert!(p_fail(&two) < p_fail(&six));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log2_p_fail_of(&self, encoding: &Encoding, choice: KeyOrder) -> f64 {
        let input = noise::bootstrap_variance(self, choice, Backend::Fft).max(noise::fresh_variance(self, choice));
        noise::log2_p_lookup(self, encoding, noise::phase_index_variance(self, choice, input))
    }

    /// log2 of the probability that one bootstrap (`Big` order) of a linear combination of 2-norm
    /// [`max_norm2`](ParameterSpec::max_norm2) yields a wrong message, by [`noise`].
    pub fn log2_p_fail(&self) -> f64 {
        self.log2_p_fail
    }
}

/// Checks every number against its range.
fn validate(spec: &ParameterSpec) -> Result<(), ParameterError> {
    if spec.name.is_empty() || spec.name.len() > MAX_NAME_LEN || !spec.name.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(ParameterError::Name(spec.name.len()));
    }
    spec.lwe_noise.check::<u32>().map_err(|source| ParameterError::Noise { key: "small", source })?;
    match spec.torus {
        TorusWidth::U32 => spec.glwe_noise.check::<u32>(),
        TorusWidth::U64 => spec.glwe_noise.check::<u64>(),
    }
    .map_err(|source| ParameterError::Noise { key: "GLWE", source })?;
    let bits = f64::from(spec.torus.bits());
    let decomposition = |d: Decomposition| (d.base_log.0 as f64, d.level_count.0 as f64);
    let ((pbs_base, pbs_levels), (ks_base, ks_levels)) = (decomposition(spec.pbs), decomposition(spec.ks));
    for (what, given, min, max) in [
        ("LWE dimension n", spec.lwe_dimension.0 as f64, 16.0, 4096.0),
        ("GLWE dimension k", spec.glwe_dimension.0 as f64, 1.0, 8.0),
        ("polynomial size N", spec.polynomial_size.get() as f64, 16.0, 65536.0),
        ("k*N", spec.big_lwe_dimension().0 as f64, 16.0, 131072.0),
        ("log2 of the bootstrapping base", pbs_base, 1.0, 32.0),
        ("bits of the bootstrapping gadget (base log times levels)", pbs_base * pbs_levels, 1.0, bits.min(63.0)),
        ("log2 of the key-switching base", ks_base, 1.0, 16.0),
        ("bits of the key-switching gadget (base log times levels)", ks_base * ks_levels, 1.0, 32.0),
        ("message bits", f64::from(spec.message_bits), 1.0, 16.0),
        ("2-norm of linear combinations", spec.max_norm2, 1.0, 65536.0),
        ("log2 of the LWE noise", 0.5 * spec.lwe_noise.variance::<u32>().log2(), -32.0, -2.0),
        ("log2 of the GLWE noise", 0.5 * noise::glwe_variance(spec).log2(), -bits, -2.0),
    ] {
        // Written so that a NaN is refused too.
        if !(given >= min && given <= max) {
            return Err(ParameterError::Range { what, given, min, max });
        }
    }
    spec.word.map_or(Ok(()), |word| validate_words(spec, &word))
}

/// The further bounds of a set with words.
fn validate_words(spec: &ParameterSpec, word: &WordGadgets) -> Result<(), ParameterError> {
    let (n, big) = (spec.polynomial_size.get(), spec.big_lwe_dimension().0);
    let centred = f64::from(u8::from(spec.modulus_switch == ModulusSwitch::Centred));
    let bits = |gadget: Decomposition| gadget.base_log.0 as f64 * gadget.level_count.0 as f64;
    for (what, given, min, max) in [
        ("bits of the torus of a set with words", f64::from(spec.torus.bits()), 64.0, 64.0),
        ("centred modulus switch (1) of a set with words", centred, 1.0, 1.0),
        ("polynomial size N of a set with words", n as f64, 64.0, 65536.0),
        ("powers of two that are k*N of a set with words", f64::from(u8::from(big.is_power_of_two())), 1.0, 1.0),
        ("k*N of a set with words", big as f64, 64.0, 8192.0),
        ("levels of the selectors", word.selector.level_count.0 as f64, 2.0, 2.0),
        ("log2 of the selectors' base", word.selector.base_log.0 as f64, 1.0, 16.0),
        ("log2 of the trace's base", word.trace.base_log.0 as f64, 1.0, 32.0),
        ("bits of the trace's gadget", bits(word.trace), 1.0, 63.0),
        ("levels of the trace", word.trace.level_count.0 as f64, 1.0, 16.0),
        ("log2 of the scheme switch's base", word.square.base_log.0 as f64, 1.0, 32.0),
        ("bits of the scheme switch's gadget", bits(word.square), 1.0, 63.0),
        ("levels of the scheme switch", word.square.level_count.0 as f64, 1.0, 16.0),
    ] {
        if !(given >= min && given <= max) {
            return Err(ParameterError::Range { what, given, min, max });
        }
    }
    Ok(())
}
