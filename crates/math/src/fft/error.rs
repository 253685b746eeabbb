//! Errors of making a transform.

use crate::Isa;

/// Errors of making a transform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FftError {
    /// The size is outside the range of the transform.
    #[error("polynomial size {given} is not offered; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The requested value.
        given: usize,
        /// Smallest N.
        min: usize,
        /// Largest N.
        max: usize,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not offered by this CPU; use at most {best}")]
    IsaUnavailable {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}
