//! Errors of numbers of a declared precision.

use num_bigint::BigUint;

use super::{MAX_FRACTION_BITS, MAX_INTEGER_BITS};
use crate::PaillierError;

/// A number, or a vector of encrypted numbers, that cannot be worked with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FixedPointError {
    /// The format is too fine or too wide.
    #[error(
        "a format of {integer_bits} integer and {fraction_bits} fraction bits was asked for; \
         {MAX_INTEGER_BITS} and {MAX_FRACTION_BITS} at most"
    )]
    Format {
        /// Bits before the binary point.
        integer_bits: u32,
        /// Bits behind it.
        fraction_bits: u32,
    },
    /// An infinity or no number.
    #[error("value {index} is not finite; only finite numbers can be encoded")]
    NotFinite {
        /// Which value.
        index: usize,
    },
    /// A denominator is 0.
    #[error("value {index} has the denominator 0")]
    ZeroDenominator {
        /// Which value.
        index: usize,
    },
    /// A value is too large for the declared format.
    #[error(
        "the magnitude of value {index} is above 2^{integer_bits}, the bound of its format; declare more integer bits"
    )]
    Magnitude {
        /// Which value.
        index: usize,
        /// Bits before the binary point.
        integer_bits: u32,
    },
    /// A value is not a multiple of the format's step, and the format does not round.
    #[error(
        "value {index} is not a multiple of 2^-{fraction_bits}; declare more fraction bits, or let the format round"
    )]
    Inexact {
        /// Which value.
        index: usize,
        /// Bits behind the binary point.
        fraction_bits: u32,
    },
    /// The result of an operation might leave the range of the plaintexts. The operation was not begun.
    #[error(
        "the result might reach a magnitude of {bound} ({} bits), the key's limit (n-1)/2 is {limit} ({} bits); \
         use a larger key, or fewer integer or fraction bits", bound.bits(), limit.bits()
    )]
    Overflow {
        /// The greatest magnitude that an element may have.
        bound: BigUint,
        /// (n − 1)/2.
        limit: BigUint,
    },
    /// A decrypted number is greater than its vector may hold.
    #[error(
        "element {index} decrypts to more than {bound}, the greatest magnitude that the vector declares: \
         the declaration of the ciphertext is wrong"
    )]
    BeyondBound {
        /// Which element.
        index: usize,
        /// The declaration of the vector.
        bound: BigUint,
    },
    /// A vector was to become coarser.
    #[error("the vector has {given} fraction bits and cannot be aligned to {asked}: encrypted numbers are not rounded")]
    Coarser {
        /// Fraction bits of the vector.
        given: u32,
        /// Fraction bits asked for.
        asked: u32,
    },
    /// A result would have more fraction bits than are allowed.
    #[error("the result would have {fraction_bits} fraction bits, {MAX_FRACTION_BITS} at most")]
    FractionBits {
        /// Fraction bits of the result.
        fraction_bits: u64,
    },
    /// A decoded number is too large for binary64.
    #[error("element {index} is greater than the greatest binary64 number; take it as an exact number")]
    Binary64 {
        /// Which element.
        index: usize,
    },
    /// The encryption below refused.
    #[error(transparent)]
    Paillier(#[from] PaillierError),
}
