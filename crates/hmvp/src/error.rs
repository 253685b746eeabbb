//! Errors of products and of their plans.

use ciphermill_bfv::BfvError;
use ciphermill_lattice::rng::RngError;
use ciphermill_wire::WireError;

use crate::plan::{PlanError, Strategy};

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
    /// A prepared matrix belongs to another engine.
    #[error("the prepared matrix belongs to another engine; prepare it with the engine that prepared the keys")]
    ForeignMatrix,
    /// An engine does not implement the strategy of a plan.
    #[error(
        "engine {engine} does not implement the strategy {}; use a plan whose strategy is one of {supported}",
        .strategy.name()
    )]
    UnsupportedStrategy {
        /// The engine's name.
        engine: String,
        /// The plan's strategy.
        strategy: Strategy,
        /// The strategies that the engine implements.
        supported: String,
    },
    /// An engine does not implement a job.
    #[error("engine {engine} does not implement {job}; use another engine, or another job")]
    UnsupportedJob {
        /// The engine's name.
        engine: String,
        /// The [name](crate::engine::Job::name) of the job.
        job: &'static str,
    },
    /// An engine broke its contract.
    #[error("the engine returned {outputs} products for {jobs} jobs; it must return one for each")]
    Outputs {
        /// Jobs of the batch.
        jobs: usize,
        /// Products that came back.
        outputs: usize,
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
