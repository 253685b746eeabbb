//! Errors of big integers from outside.

use super::{MAX_ENTRY_RATIO, MAX_EXPONENT_BITS, MAX_MODULUS_BITS, MIN_MODULUS_BITS};

/// A modulus, operand or exponent that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BigIntError {
    /// The modulus is even.
    #[error("the modulus is even; Montgomery arithmetic needs an odd one")]
    EvenModulus,
    /// The modulus is too small or too large.
    #[error("the modulus has {bits} bits; {MIN_MODULUS_BITS} to {max} are supported", max = MAX_MODULUS_BITS / if *.square { 2 } else { 1 })]
    ModulusBits {
        /// Bits of the modulus, or of n for a modulus n².
        bits: u32,
        /// Whether the modulus is the square of the given number.
        square: bool,
    },
    /// A value is wider than a modulus of this size can take in.
    #[error(
        "a value of {limbs} 64-bit limbs was given; {max} at most for this modulus ({MAX_ENTRY_RATIO} times its own)"
    )]
    TooWide {
        /// Limbs per value.
        limbs: usize,
        /// The most that are taken.
        max: usize,
    },
    /// A value has to be below n.
    #[error("value {index} is not below n")]
    NotReduced {
        /// Which value.
        index: usize,
    },
    /// A width of exponents beyond all use.
    #[error("exponents of {bits} bits were declared, {MAX_EXPONENT_BITS} at most are supported")]
    ExponentWidth {
        /// The declared width.
        bits: u32,
    },
    /// Two batches that go together have different lengths.
    #[error("{left} values cannot be paired with {right}")]
    Length {
        /// Values on the left.
        left: usize,
        /// Values on the right.
        right: usize,
    },
    /// An exponent has more bits than declared.
    #[error("exponent {index} has more than the declared {bits} bits")]
    ExponentBits {
        /// Which exponent.
        index: usize,
        /// The declared width.
        bits: u32,
    },
    /// A number shares a factor with the modulus.
    #[error("value {index} has no inverse: it shares a factor with the modulus")]
    NotInvertible {
        /// Which value.
        index: usize,
    },
    /// Weights do not form a matrix.
    #[error("{values} weights are not whole rows of {columns} columns")]
    WeightShape {
        /// Columns asked for.
        columns: usize,
        /// Weights given.
        values: usize,
    },
    /// A weight is too large.
    #[error("weight {index} has a magnitude of 2^64 or more")]
    WeightMagnitude {
        /// Which weight, counted through all rows.
        index: usize,
    },
    /// The CPU lacks a feature that the path needs.
    #[error("this CPU cannot run the path {0}")]
    PathUnavailable(super::Path),
}
