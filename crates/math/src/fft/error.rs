//! Errors of the f64 transforms.

use crate::Isa;

/// The reason why a transform cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FftError {
    /// The size is outside the range of the transform.
    #[error("polynomial size {given} is not supported; use a power of two from {min} to {max}")]
    PolynomialSize {
        /// The requested value.
        given: usize,
        /// Smallest N.
        min: usize,
        /// Largest N.
        max: usize,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not available on this CPU; use at most {best}")]
    IsaUnavailable {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}
