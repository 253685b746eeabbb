//! Errors of parameter sets.

use ciphermill_lattice::dimension::DimensionError;
use ciphermill_math::modulus::ModulusError;

use super::estimates::{estimate, largest_modulus_bits, sizes};
use super::names::SET_NAMES;
use super::standard::SecurityLevel;
use crate::error::range;

/// A parameter set is not admissible.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_bfv::parameters::ParameterError;
///
/// let error = ParameterSet::named("BFV_1", policy).unwrap_err();
/// assert!(matches!(error, ParameterError::UnknownName(name) if name == "BFV_1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    #[error("{what} is {given}; use {}", range(*min, *max))]
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
    /// A named set has this name and other numbers.
    #[error("{0} is the name of a set with other numbers; choose another name")]
    NameTaken(String),
    /// Fewer than 128 bits without the opt-in.
    #[error(
        "{what} has an estimated security of {bits:.1} bits, below the required 128: log2 of the product of all moduli is \
         {log2_modulus:.2} at dimension {dimension}; {remedy}, or opt in to insecure parameters explicitly",
        remedy = remedy(*dimension)
    )]
    Insecure {
        /// The set, or the key.
        what: String,
        /// Its estimated security; 0 if it has no figure.
        bits: f64,
        /// log2 of the product of all moduli.
        log2_modulus: f64,
        /// N, or the dimension of an LWE key.
        dimension: usize,
    },
}

impl ParameterError {
    /// The refusal of a modulus of `log2_modulus` bits at this dimension.
    pub(crate) fn insecure(what: String, log2_modulus: f64, dimension: usize) -> Self {
        Self::Insecure { what, bits: estimate(dimension, log2_modulus).bits, log2_modulus, dimension }
    }
}

/// What reaches 128 bits.
fn remedy(dimension: usize) -> String {
    match largest_modulus_bits(dimension, SecurityLevel::Bits128) {
        Some(max) => format!("use a product of at most {max} bits or a larger N"),
        None => format!("use N = {} to {}", sizes().start(), sizes().end()),
    }
}
