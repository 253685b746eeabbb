//! Real numbers of a declared precision, encrypted, with exact detection of overflow.
//!
//! A number x becomes the plaintext integer x·2^f ([`FixedPoint`]). A [`FixedPointVector`] has f, and an upper bound of
//! the magnitude of its integers. Every operation first computes the bound of its result and refuses if that exceeds (n
//! − 1)/2: a result cannot wrap. The bounds follow from declared formats and public weights, never from encrypted
//! values, so that a vector reveals nothing about its content.
//!
//! Sums of vectors with different f are aligned to the greater f: multiplying by 2^k takes k squarings per ciphertext, and the
//! bound grows by 2^k. Nothing is ever rounded after encoding: f only grows, by the weights' f with each product.

mod error;
mod format;
mod number;
mod plaintext;
mod serial;
mod vector;

pub use error::FixedPointError;
pub use format::{FixedPoint, Rounding};
pub use number::Number;
pub use plaintext::FixedPointPlaintext;
pub use serial::{FIXED_POINT_VECTOR, FIXED_POINT_VERSION};
pub use vector::FixedPointVector;

/// Bits before the binary point of a format at most.
pub const MAX_INTEGER_BITS: u32 = 4096;
/// Bits behind the binary point at most, of a format or of a result.
pub const MAX_FRACTION_BITS: u32 = 4096;
