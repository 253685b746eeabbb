//! Parameter sets: validated once, immutable after, with their security and where it comes from.

mod sets;
mod spec;
mod standard;

use std::ops::Deref;

use ciphermill_lattice::PolynomialSize;
use ciphermill_lattice::dimension::DimensionError;
use ciphermill_math::modulus::{ModulusError, is_prime};

pub use sets::{
    BFV_1024, BFV_2048, BFV_4096, BFV_8192, BFV_16384, BFV_32768, CHAM_PAPER, SET_NAMES, TEST_32, TEST_512,
};
pub use standard::{SecurityLevel, max_modulus_bits};

use crate::keyswitch::Gadget;

/// Longest name of a parameter set, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// The least N for which the standard has a bound.
pub const MIN_SECURE_POLYNOMIAL_SIZE: usize = 1024;

/// The greatest N, likewise.
pub const MAX_POLYNOMIAL_SIZE: usize = 32768;

/// The most primes of a chain, special ones included.
pub const MAX_LIMBS: usize = 32;

/// The greatest length of a plaintext modulus in bits.
pub const MAX_PLAINTEXT_BITS: u32 = 59;

/// Whether a set below 128 bits is acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityPolicy {
    /// Refuse it.
    Require128Bits,
    /// Accept it: for reproducing published figures and for tests, never for data that matters.
    AcceptInsecureParametersForBenchmarksAndTestsOnly,
}

/// Identifies the numbers of a set (its name is not among them) in stored objects: FNV-1a of their byte form, 64 bits.
/// It finds mistakes; it does not protect against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterId(pub u64);

/// The numbers of a parameter set.
///
/// The chain of primes is the ciphertext moduli q_0 … q_(L−1) followed by the special moduli p_0 … p_(K−1). The limbs
/// of a ciphertext are over the first l of them. Where keys are switched, l is at most L. It is up to L + K for those
/// that are encrypted modulo the whole chain so that the first modulus switch takes the special ones away (as in the
/// pipeline of `cham-hmvp`). Secrets are ternary, errors are rounded Gaussians of standard deviation 3.2, as the
/// standard assumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    /// Name, at most [`MAX_NAME_LEN`] bytes of printable ASCII without spaces.
    pub name: String,
    /// N.
    pub polynomial_size: PolynomialSize,
    /// q_0 … q_(L−1), distinct primes, 1 modulo 2N.
    pub ciphertext_moduli: Vec<u64>,
    /// p_0 … p_(K−1), likewise, with which keys are switched (hybrid key switching); may be empty.
    pub special_moduli: Vec<u64>,
    /// t, at least 2, coprime to all of them; a prime that is 1 modulo 2N if plaintexts are to have slots.
    pub plaintext_modulus: u64,
    /// The decomposition of key switches unless a key is made with another one.
    pub gadget: Gadget,
}

/// The standard deviation of errors.
pub const ERROR_STD_DEV: f64 = 3.2;

/// Why a parameter set is not admissible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
        given: u64,
        /// Smallest admissible value.
        min: u64,
        /// Largest admissible value.
        max: u64,
    },
    /// N is not offered.
    #[error(transparent)]
    PolynomialSize(#[from] DimensionError),
    /// A modulus is not a prime in the range of the arithmetic.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// A modulus has no transform of this size.
    #[error("modulus {modulus} is not 1 modulo {order}; use primes that are")]
    NoTransform {
        /// The modulus.
        modulus: u64,
        /// 2N.
        order: usize,
    },
    /// Two moduli, or a modulus and the plaintext modulus, share a factor.
    #[error("{modulus} occurs twice among the moduli or divides the plaintext modulus; use distinct ones")]
    NotCoprime {
        /// The modulus.
        modulus: u64,
    },
    /// The modulus is beyond the standard's bound for 128 bits.
    #[error(
        "log2 of the product of all moduli is {bits:.2}; the homomorphic-encryption standard allows {max} bits at N = \
         {polynomial_size} for 128 bits of security: use fewer or smaller moduli or a larger N, or opt in to insecure \
         parameters explicitly"
    )]
    Insecure {
        /// log2 of the product of the chain.
        bits: f64,
        /// The bound.
        max: u32,
        /// N.
        polynomial_size: usize,
    },
}

/// An admissible parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    spec: ParameterSpec,
    id: ParameterId,
    /// The highest level of the standard's table that the chain keeps, `None` if not even 128 bits.
    security: Option<SecurityLevel>,
}

impl Deref for ParameterSet {
    type Target = ParameterSpec;

    fn deref(&self) -> &ParameterSpec {
        &self.spec
    }
}

impl ParameterSet {
    /// Validates the numbers and judges their security.
    ///
    /// # Errors
    /// If a number is outside its range, or the chain is beyond the standard's bound and `policy` does not accept that.
    pub fn new(spec: ParameterSpec, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        spec.validate()?;
        let (n, product) = (spec.polynomial_size.get(), spec.product());
        // Exactly: a product below 2^max, not a sum of rounded logarithms.
        let keeps =
            |level: &SecurityLevel| max_modulus_bits(n, *level, false).is_some_and(|max| product.bits() <= max.into());
        let security = SecurityLevel::ALL.into_iter().rfind(keeps);
        let set = Self { id: spec.id(), spec, security };
        if security.is_none() && policy == SecurityPolicy::Require128Bits {
            let (min, max) = (MIN_SECURE_POLYNOMIAL_SIZE, MAX_POLYNOMIAL_SIZE);
            let Some(max) = max_modulus_bits(n, SecurityLevel::Bits128, false) else {
                let what = "polynomial size N of a set of 128 bits of security";
                return Err(ParameterError::Range { what, given: n as u64, min: min as u64, max: max as u64 });
            };
            return Err(ParameterError::Insecure { bits: set.chain_bits(), max, polynomial_size: n });
        }
        Ok(set)
    }

    /// One of the sets in [`SET_NAMES`].
    ///
    /// # Errors
    /// If there is none of this name, or as [`new`](Self::new).
    pub fn named(name: &str, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        let spec = sets::spec(name).ok_or_else(|| ParameterError::UnknownName(name.to_owned()))?;
        Self::new(spec, policy)
    }

    /// The numbers.
    pub fn spec(&self) -> &ParameterSpec {
        &self.spec
    }

    /// Its numbers' id.
    pub fn id(&self) -> ParameterId {
        self.id
    }

    /// The highest level of the standard that it keeps, against classical attacks; `None` below 128 bits.
    pub fn security(&self) -> Option<SecurityLevel> {
        self.security
    }

    /// log2 of the product of the whole chain.
    pub fn chain_bits(&self) -> f64 {
        self.ciphertext_moduli.iter().chain(&self.special_moduli).map(|&p| (p as f64).log2()).sum()
    }

    /// Whether plaintexts have slots: t is a prime and 1 modulo 2N.
    pub fn has_slots(&self) -> bool {
        self.plaintext_modulus % (2 * self.polynomial_size.get() as u64) == 1 && is_prime(self.plaintext_modulus)
    }
}
