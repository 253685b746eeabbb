//! Errors of parameter sets.

use ciphermill_lattice::dimension::DimensionError;
use ciphermill_math::modulus::ModulusError;

use super::names::SET_NAMES;

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
