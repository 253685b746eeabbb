//! Errors of packed values.

use super::{MAX_SLOT_BITS, MAX_VALUE_BITS, Packing};
use crate::PaillierError;

/// A layout, a value or an operation on packed values that is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// The layout cannot be.
    #[error(
        "{slots} slots of {value_bits} value bits and {guard_bits} guard bits were asked for; there is at least one slot, \
         2 to {MAX_VALUE_BITS} value bits, and {MAX_SLOT_BITS} bits of both together at most"
    )]
    Layout {
        /// Bits of a value, its sign included.
        value_bits: u32,
        /// Bits for growth.
        guard_bits: u32,
        /// Values per plaintext.
        slots: usize,
    },
    /// The layout does not fit the key.
    #[error(
        "the layout takes {bits} bits, a plaintext of this key has room for {max}; use fewer slots or a larger key"
    )]
    KeyTooSmall {
        /// Bits of all slots.
        bits: u64,
        /// Bits of n less 2.
        max: u32,
    },
    /// A value is too large.
    #[error("the magnitude of value {index} is above {bound}, the most that {value_bits} value bits have room for")]
    Value {
        /// Which value.
        index: usize,
        /// Bits of a value, its sign included.
        value_bits: u32,
        /// 2^(value_bits − 1) − 1.
        bound: u128,
    },
    /// A slot might spill into its neighbour. The operation was not begun.
    #[error(
        "a slot might reach a magnitude of {}, the layout has room for {limit}; declare more guard bits",
        bound.map_or_else(|| "2^128 or more".to_owned(), |bound| bound.to_string())
    )]
    Spill {
        /// The greatest magnitude that a slot may have; `None` if it is 2^128 or more.
        bound: Option<u128>,
        /// 2^(value_bits + guard_bits − 1) − 1.
        limit: u128,
    },
    /// Two operands are packed differently.
    #[error("{left} cannot be combined with {right}")]
    Mismatch {
        /// Layout of the one.
        left: Packing,
        /// Layout of the other.
        right: Packing,
    },
    /// Two operands have different numbers of values.
    #[error("{left} packed values cannot be paired with {right}")]
    Length {
        /// Values of the one.
        left: usize,
        /// Values of the other.
        right: usize,
    },
    /// There are not as many ciphertexts as the values take.
    #[error("{values} values in {packing} take {expected} ciphertexts, {given} were given")]
    Ciphertexts {
        /// Values declared.
        values: usize,
        /// The layout.
        packing: Packing,
        /// Ciphertexts that they take.
        expected: usize,
        /// Ciphertexts given.
        given: usize,
    },
    /// A decrypted slot is greater than it may be.
    #[error(
        "value {index} unpacks to more than {bound}, its declared bound: the declaration of the ciphertext is wrong"
    )]
    BeyondBound {
        /// Which value; one beyond the last if the plaintext has bits above its slots, or an unused slot is not 0.
        index: usize,
        /// The greatest magnitude that was declared.
        bound: u128,
    },
    /// The encryption below refused.
    #[error(transparent)]
    Paillier(#[from] PaillierError),
}
