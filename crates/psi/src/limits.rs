//! Limits of ids and points.

use std::ops::RangeInclusive;

/// The most ids of a party. Places in lists are 32-bit numbers.
pub const MAX_IDS: usize = 1 << 24;

/// Bytes of an id.
pub const ID_BYTES: RangeInclusive<usize> = 1..=256;

/// Bytes of a point.
pub const POINT_LEN: usize = 32;
