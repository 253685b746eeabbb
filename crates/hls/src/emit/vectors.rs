//! The widths and ranges of vectors.

use crate::ir::bits;

/// The bits of an address among `places` places.
pub(super) fn address_bits(places: usize) -> u32 {
    bits((0, places.max(2) as i128 - 1))
}

/// The range of a vector's bits.
pub(super) fn vector(bits: u32) -> String {
    if bits == 1 { String::new() } else { format!(" [{}:0]", bits - 1) }
}

/// The range of a dimension of `count` elements.
pub(super) fn elements(count: usize) -> String {
    format!(" [{}:0]", count - 1)
}
