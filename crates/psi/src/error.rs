//! Errors of ids and points.

use ciphermill_lattice::rng::RngError;

use crate::limits::{ID_BYTES, MAX_IDS};
use crate::order::Repeat;

/// Why ids or points were refused. Ids are private, so that errors name their rows, counted from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PsiError {
    /// A list is empty or too long.
    #[error("{given} ids are not supported; use 1 to {max}", max = MAX_IDS)]
    Count {
        /// The given number.
        given: usize,
    },
    /// An id is empty or too long.
    #[error("the id of row {row} has {bytes} bytes; use {min} to {max}", min = ID_BYTES.start(), max = ID_BYTES.end())]
    IdLength {
        /// The row.
        row: usize,
        /// Bytes of its id.
        bytes: usize,
    },
    /// An id occurs more than once.
    #[error(
        "rows {} and {} have the same id, number of repeated ids: {}; use each id once",
        .0.first, .0.second, .0.values
    )]
    RepeatedId(Repeat),
    /// A list of points has another length than its count.
    #[error("{count} points have {given} bytes; use {expected}")]
    Length {
        /// The declared number of points.
        count: usize,
        /// Bytes of the list.
        given: usize,
        /// Bytes of a list of this count.
        expected: usize,
    },
    /// Bytes are not a point.
    #[error("point {index} is not canonical; use encodings of ristretto255 (RFC 9496)")]
    NotAPoint {
        /// The place of the point.
        index: usize,
    },
    /// A point is the identity, whose multiples are all equal.
    #[error("point {index} is the identity; use multiples of hashed ids")]
    Identity {
        /// The place of the point.
        index: usize,
    },
    /// A point occurs more than once.
    #[error("points {} and {} are equal, number of repeated points: {}; use each point once", .0.first, .0.second, .0.values)]
    RepeatedPoint(Repeat),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RngError),
}

/// An error unless a list of ids or points may have this length.
pub(crate) fn require_count(given: usize) -> Result<(), PsiError> {
    if (1..=MAX_IDS).contains(&given) { Ok(()) } else { Err(PsiError::Count { given }) }
}
