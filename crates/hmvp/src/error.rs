//! Errors of products and of their plans.

use ciphermill_bfv::BfvError;
use ciphermill_lattice::rng::RngError;
use ciphermill_wire::WireError;

use crate::plan::PlanError;

/// Anything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HmvpError {
    /// An error of the scheme: a key, a ciphertext, a length or a number that does not fit, or malformed bytes.
    #[error(transparent)]
    Scheme(#[from] BfvError),
    /// No product can be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An object belongs to another plan.
    #[error("{what} is of another plan; use objects whose plans come from equal requests, or from one sealed plan")]
    WrongPlan {
        /// The object.
        what: &'static str,
    },
}

impl From<WireError> for HmvpError {
    fn from(error: WireError) -> Self {
        Self::Scheme(error.into())
    }
}

impl From<RngError> for HmvpError {
    fn from(error: RngError) -> Self {
        Self::Scheme(error.into())
    }
}

impl From<std::io::Error> for HmvpError {
    fn from(error: std::io::Error) -> Self {
        Self::Scheme(error.into())
    }
}
