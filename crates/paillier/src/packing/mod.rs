//! Several values per ciphertext, as separate types: packed and unpacked vectors never mix.
//!
//! A [`Packing`] lays values side by side in one plaintext, with guard bits between them. Additions and multiplications
//! by scalars work on all slots at once; a [`PackedCiphertextVector`] knows the greatest magnitude that a slot may have
//! by now and refuses, before it computes, an operation that might make a slot spill into its neighbour.

mod error;
mod layout;
mod serial;
mod vector;

pub use error::PackingError;
pub use layout::Packing;
pub use serial::{PACKED_VECTOR, PACKED_VERSION};
pub use vector::{PackedCiphertextVector, PackedPlaintext};

/// Bits of a value at most, its sign included.
pub const MAX_VALUE_BITS: u32 = 64;
/// Most bits of a slot: an unpacked value fits an `i128`.
pub const MAX_SLOT_BITS: u32 = 127;
