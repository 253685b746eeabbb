//! Errors of the exact transforms.

use std::borrow::Cow;

use crate::Isa;
use crate::modulus::ModulusError;

/// The reason why an engine cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NttError {
    /// No kernel exists for this N.
    #[error("polynomial size {given} is not supported; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The requested value.
        given: usize,
        /// The least N.
        min: usize,
        /// The greatest N.
        max: usize,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not available on this CPU; use at most {best}")]
    Isa {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
    /// The modulus is not a prime in the range of the arithmetic.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// The prime is too large for these kernels.
    #[error("modulus {given} is too large for these kernels; use a prime below 2^{max_bits}")]
    ModulusLength {
        /// The requested value.
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
    /// A provider that is not the CPU cannot make the transform.
    #[error("engine {engine} has no transform of {polynomial_size} coefficients modulo {modulus}: {reason}")]
    Provider {
        /// The engine's name.
        engine: Cow<'static, str>,
        /// N.
        polynomial_size: usize,
        /// The prime.
        modulus: u64,
        /// The limit of the engine, or the fault of the device.
        reason: Cow<'static, str>,
    },
}
