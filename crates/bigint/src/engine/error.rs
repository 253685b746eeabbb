//! Errors of the engines.

use crate::BigIntError;

/// An engine cannot do a job, or failed at it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The operands are outside of the ranges of the arithmetic.
    #[error(transparent)]
    Operands(#[from] BigIntError),
    /// The modulus is longer than the engine supports.
    #[error("a modulus of {bits} bits is not supported by the engine {engine}; use at most {max} bits")]
    ModulusBits {
        /// The engine's name.
        engine: String,
        /// Bits of the modulus.
        bits: u32,
        /// Bits of the longest supported modulus.
        max: u32,
    },
    /// The exponents are wider than the engine supports.
    #[error("exponents of {bits} bits are not supported by the engine {engine}; use at most {max} bits")]
    ExponentBits {
        /// The engine's name.
        engine: String,
        /// The declared width of the exponents.
        bits: u32,
        /// The greatest supported width.
        max: u32,
    },
    /// The engine does not implement this kind of job.
    #[error("the engine {engine} does not implement the job {job}; choose another engine")]
    Unsupported {
        /// The engine's name.
        engine: String,
        /// The job's [name](super::Job::name).
        job: &'static str,
    },
    /// A prepared base belongs to another engine or another modulus.
    #[error("the prepared base belongs to another modulus or engine; prepare it on the modulus that uses it")]
    ForeignBase,
    /// The engine returned outputs that do not match its jobs.
    #[error("the outputs of an engine do not match its jobs: {reason}")]
    Outputs {
        /// The difference.
        reason: &'static str,
    },
    /// The engine itself failed.
    #[error("the engine {engine} failed: {cause}")]
    Failed {
        /// The engine's name.
        engine: String,
        /// The engine's own message.
        cause: String,
    },
}
