//! Parameter sets: validated once, immutable after, with their security and failure probability.

pub mod cost;
mod estimates;
pub mod search;
mod security;
mod sets;

use std::fmt;
use std::ops::Deref;

use ciphermill_lattice::NoiseDistribution;
use ciphermill_lattice::sampler::NoiseError;
use ciphermill_wire::{Decoder, Encoder};

use crate::bootstrap::transformed_key_bytes;
use crate::dimension::{
    Decomposition, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension, PolynomialSize,
};
use crate::encoding::Encoding;
use crate::error::{TfheError, require_range};
use crate::ggsw::GgswShape;
use crate::noise::{self, Backend};
pub use security::{SecurityEstimate, security_bits, smallest_noise};
pub use sets::{
    DEFAULT_SET_NAMES, MESSAGE_1_2M64, MESSAGE_1_2M128, MESSAGE_2_2M64, MESSAGE_2_2M128, MESSAGE_3_2M64,
    MESSAGE_3_2M128, MESSAGE_4_2M64, MESSAGE_4_2M128, MESSAGE_5_2M64, MESSAGE_6_2M64, NVME_TFHE_128, NVME_TFHE_PAPER,
    NVME_TFHE_PAPER_U32, SET_NAMES, TEST_SMALL_U32, TEST_SMALL_U64, recommended, recommended_goals,
};

/// The security below which a set needs an explicit opt-in, in bits.
pub const REQUIRED_SECURITY_BITS: f64 = 128.0;

/// Longest name of a parameter set, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// Width of the discretised torus of GLWE ciphertexts. Ciphertexts under the small key are always 32 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TorusWidth {
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl TorusWidth {
    /// 32 or 64.
    pub fn bits(self) -> u32 {
        match self {
            TorusWidth::U32 => 32,
            TorusWidth::U64 => 64,
        }
    }

    /// The width that a stored object states.
    pub(crate) fn from_bits(given: u8) -> Result<Self, TfheError> {
        match given {
            32 => Ok(TorusWidth::U32),
            64 => Ok(TorusWidth::U64),
            _ => Err(TfheError::Field { what: "torus width", given: u64::from(given), min: 32, max: 64 }),
        }
    }

    /// Bytes of one torus element.
    pub fn bytes(self) -> usize {
        self.bits() as usize / 8
    }
}

/// Under which key ciphertexts travel, and with it the order of key switch and blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EncryptionKeyChoice {
    /// Under the extracted key of dimension k·N: key switch first, then blind rotation.
    Big,
    /// Under the small key of dimension n: blind rotation first, key switch last (the paper's order).
    Small,
}

impl EncryptionKeyChoice {
    /// Its number in the byte formats.
    pub(crate) fn code(self) -> u8 {
        match self {
            EncryptionKeyChoice::Big => 0,
            EncryptionKeyChoice::Small => 1,
        }
    }
}

impl fmt::Display for EncryptionKeyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EncryptionKeyChoice::Big => "big",
            EncryptionKeyChoice::Small => "small",
        })
    }
}

/// Whether a set below [`REQUIRED_SECURITY_BITS`] is acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityPolicy {
    /// Refuse it.
    Require128Bits,
    /// Accept it: for reproducing published figures and for tests, never for data that matters.
    AcceptInsecureParametersForBenchmarksAndTestsOnly,
}

/// The numbers of a parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Name, at most [`MAX_NAME_LEN`] bytes of printable ASCII without spaces.
    pub name: String,
    /// Torus of GLWE ciphertexts and of LWE ciphertexts under the big key.
    pub torus: TorusWidth,
    /// n.
    pub lwe_dimension: LweDimension,
    /// k.
    pub glwe_dimension: GlweDimension,
    /// N.
    pub polynomial_size: PolynomialSize,
    /// Noise of 32-bit LWE ciphertexts under the small key and of the key-switching key.
    pub lwe_noise: NoiseDistribution,
    /// Noise of GLWE ciphertexts, of the bootstrapping key and of LWE ciphertexts under the big key.
    pub glwe_noise: NoiseDistribution,
    /// Gadget of the bootstrapping key.
    pub pbs: Decomposition,
    /// Gadget of the key-switching key.
    pub ks: Decomposition,
    /// Message bits (a padding bit comes on top) for which the failure probability is stated.
    pub message_bits: u32,
    /// Greatest 2-norm of an integer linear combination of bootstrapped ciphertexts before the next bootstrap.
    pub max_norm2: f64,
}

/// Why a parameter set is not admissible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No set has this name.
    #[error("no parameter set is called {0:?}; known are {known}", known = SET_NAMES.join(", "))]
    UnknownName(String),
    /// The name is empty, too long or not printable.
    #[error("a set's name has 1 to 64 printable ASCII characters without spaces, given were {0} bytes")]
    Name(usize),
    /// A number is outside its range.
    #[error("{what} is {given}, allowed are {min} to {max}")]
    Range {
        /// The parameter.
        what: &'static str,
        /// Its value.
        given: f64,
        /// Smallest admissible value.
        min: f64,
        /// Largest admissible value.
        max: f64,
    },
    /// A noise distribution is not one.
    #[error("noise of the {key} key: {source}")]
    Noise {
        /// Which key.
        key: &'static str,
        /// What is wrong.
        source: NoiseError,
    },
    /// Fewer than 128 bits without the opt-in.
    #[error(
        "parameter set {name} has an estimated security of {bits:.1} bits, below the required 128; choose another set, \
         or opt in to insecure parameters explicitly"
    )]
    Insecure {
        /// The set.
        name: String,
        /// Its estimated security.
        bits: f64,
    },
}

/// An admissible parameter set.
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
    pub fn new(spec: ParameterSpec, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        spec.validate()?;
        let security = security::estimate(&spec);
        if security.bits < REQUIRED_SECURITY_BITS && policy == SecurityPolicy::Require128Bits {
            return Err(ParameterError::Insecure { name: spec.name, bits: security.bits });
        }
        let log2_p_fail = noise::log2_p_fail(&spec, EncryptionKeyChoice::Big, spec.message_bits, spec.max_norm2);
        Ok(Self { spec, security, log2_p_fail })
    }

    /// The set of this name, one of [`SET_NAMES`].
    ///
    /// # Errors
    /// If there is none, or it is below 128 bits and `policy` does not accept that.
    pub fn named(name: &str, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        let spec = sets::spec(name).ok_or_else(|| ParameterError::UnknownName(name.to_owned()))?;
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
    pub fn log2_p_fail_of(&self, encoding: &Encoding, choice: EncryptionKeyChoice) -> f64 {
        let input = noise::bootstrap_variance(self, choice, Backend::Fft).max(noise::fresh_variance(self, choice));
        noise::log2_p_table(encoding, self.polynomial_size, noise::phase_index_variance(self, choice, input))
    }

    /// log2 of the probability that one bootstrap (`Big` order) of a linear combination of 2-norm
    /// [`max_norm2`](ParameterSpec::max_norm2) yields a wrong message, by [`noise`].
    pub fn log2_p_fail(&self) -> f64 {
        self.log2_p_fail
    }
}

impl ParameterSpec {
    /// k·N, the dimension of LWE ciphertexts under the big key.
    pub fn big_lwe_dimension(&self) -> LweDimension {
        self.glwe_dimension.extracted_lwe_dimension(self.polynomial_size)
    }

    /// LWE dimension of ciphertexts under the chosen key.
    pub fn lwe_dimension_of(&self, choice: EncryptionKeyChoice) -> LweDimension {
        match choice {
            EncryptionKeyChoice::Big => self.big_lwe_dimension(),
            EncryptionKeyChoice::Small => self.lwe_dimension,
        }
    }

    /// Sizes of a GGSW ciphertext of the bootstrapping key.
    pub fn ggsw_shape(&self) -> GgswShape {
        GgswShape {
            glwe_dimension: self.glwe_dimension,
            polynomial_size: self.polynomial_size,
            decomposition: self.pbs,
        }
    }

    /// Bytes that both server keys take when they are loaded: n·(k+1)²·l·N words of 64 bits, or of 48 with the FFT where
    /// [`key_word`](noise::key_word) says so, and the expanded key-switching key of kN·t·(n+1) words of 32.
    pub fn loaded_key_bytes(&self, backend: Backend) -> u64 {
        let product = |factors: &[usize]| factors.iter().fold(1u64, |p, &f| p.saturating_mul(f as u64));
        let (n, size) = (self.lwe_dimension.0, self.polynomial_size.get());
        let bootstrap = transformed_key_bytes(backend, noise::key_word(self), self.ggsw_shape(), n);
        let keyswitch = product(&[self.glwe_dimension.0, size, self.ks.level_count.0, n + 1, 4]);
        bootstrap.saturating_add(keyswitch)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        if self.name.is_empty() || self.name.len() > MAX_NAME_LEN || !self.name.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(ParameterError::Name(self.name.len()));
        }
        self.lwe_noise.check::<u32>().map_err(|source| ParameterError::Noise { key: "small", source })?;
        match self.torus {
            TorusWidth::U32 => self.glwe_noise.check::<u32>(),
            TorusWidth::U64 => self.glwe_noise.check::<u64>(),
        }
        .map_err(|source| ParameterError::Noise { key: "GLWE", source })?;
        let bits = f64::from(self.torus.bits());
        let decomposition = |d: Decomposition| (d.base_log.0 as f64, d.level_count.0 as f64);
        let ((pbs_base, pbs_levels), (ks_base, ks_levels)) = (decomposition(self.pbs), decomposition(self.ks));
        for (what, given, min, max) in [
            ("LWE dimension n", self.lwe_dimension.0 as f64, 16.0, 4096.0),
            ("GLWE dimension k", self.glwe_dimension.0 as f64, 1.0, 8.0),
            ("polynomial size N", self.polynomial_size.get() as f64, 16.0, 65536.0),
            ("k*N", self.big_lwe_dimension().0 as f64, 16.0, 131072.0),
            ("log2 of the bootstrapping base", pbs_base, 1.0, 32.0),
            ("bits of the bootstrapping gadget (base log times levels)", pbs_base * pbs_levels, 1.0, bits.min(63.0)),
            ("log2 of the key-switching base", ks_base, 1.0, 16.0),
            ("bits of the key-switching gadget (base log times levels)", ks_base * ks_levels, 1.0, 32.0),
            ("message bits", f64::from(self.message_bits), 1.0, 16.0),
            ("2-norm of linear combinations", self.max_norm2, 1.0, 65536.0),
            ("log2 of the LWE noise", 0.5 * self.lwe_noise.variance::<u32>().log2(), -32.0, -2.0),
            ("log2 of the GLWE noise", 0.5 * noise::glwe_variance(self).log2(), -bits, -2.0),
        ] {
            // Written so that a NaN is refused too.
            if !(given >= min && given <= max) {
                return Err(ParameterError::Range { what, given, min, max });
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u8(self.name.len() as u8).bytes(self.name.as_bytes());
        out.u8(self.torus.bits() as u8);
        out.u32(self.lwe_dimension.0 as u32).u32(self.glwe_dimension.0 as u32).u32(self.polynomial_size.get() as u32);
        for noise in [self.lwe_noise, self.glwe_noise] {
            match noise {
                NoiseDistribution::Gaussian { std_dev } => out.u8(0).f64(std_dev),
                NoiseDistribution::TUniform { bound_log2 } => out.u8(1).f64(f64::from(bound_log2)),
            };
        }
        for gadget in [self.pbs, self.ks] {
            out.u8(gadget.base_log.0 as u8).u8(gadget.level_count.0 as u8);
        }
        out.u8(self.message_bits as u8).f64(self.max_norm2);
    }

    /// Reads the fields; [`ParameterSet::new`] judges them.
    pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<Self, TfheError> {
        let len = usize::from(input.u8()?);
        require_range("length of the parameter set's name", len as u64, 1, MAX_NAME_LEN as u64)?;
        let name = String::from_utf8_lossy(input.bytes(len)?).into_owned();
        let torus = TorusWidth::from_bits(input.u8()?)?;
        let lwe_dimension = LweDimension(input.u32()? as usize);
        let glwe_dimension = GlweDimension(input.u32()? as usize);
        let size = input.u32()? as usize;
        let polynomial_size = PolynomialSize::try_from(size).map_err(|_| TfheError::Field {
            what: "polynomial size (a power of two)",
            given: size as u64,
            min: 16,
            max: 65536,
        })?;
        let mut noise = || -> Result<NoiseDistribution, TfheError> {
            let tag = input.u8()?;
            let value = input.f64()?;
            match tag {
                0 => Ok(NoiseDistribution::Gaussian { std_dev: value }),
                // An integer, so that a noise has one form.
                1 if (0.0..=62.0).contains(&value) && value.fract() == 0.0 && value.is_sign_positive() => {
                    Ok(NoiseDistribution::TUniform { bound_log2: value as u32 })
                }
                1 => {
                    let what = "log2 of the TUniform bound (an integer)";
                    Err(ParameterError::Range { what, given: value, min: 0.0, max: 62.0 }.into())
                }
                _ => Err(TfheError::Field { what: "noise distribution", given: u64::from(tag), min: 0, max: 1 }),
            }
        };
        let (lwe_noise, glwe_noise) = (noise()?, noise()?);
        let mut gadget = || -> Result<Decomposition, TfheError> {
            Ok(Decomposition {
                base_log: DecompositionBaseLog(usize::from(input.u8()?)),
                level_count: DecompositionLevelCount(usize::from(input.u8()?)),
            })
        };
        let (pbs, ks) = (gadget()?, gadget()?);
        let message_bits = u32::from(input.u8()?);
        let max_norm2 = input.f64()?;
        Ok(Self {
            name,
            torus,
            lwe_dimension,
            glwe_dimension,
            polynomial_size,
            lwe_noise,
            glwe_noise,
            pbs,
            ks,
            message_bits,
            max_norm2,
        })
    }
}
