//! Errors of machines, jobs and runs.

use thiserror::Error;

/// An error of the macro-pipeline model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The text is not TOML, or not of this shape.
    #[error("the {what} cannot be read: {why}")]
    Syntax {
        /// The kind of description: a machine, a sweep, a roofline.
        what: &'static str,
        /// The parser's message.
        why: String,
    },
    /// A number is outside its range.
    #[error("{what} is {given}; use {min} to {max}")]
    Range {
        /// The name of the number, with its stage or buffer.
        what: String,
        /// The given value.
        given: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// A number is not a power of two.
    #[error("{what} is {given}; use a power of two")]
    PowerOfTwo {
        /// The name of the number.
        what: String,
        /// The given value.
        given: u64,
    },
    /// A number is too small, too large or not finite.
    #[error("{what} is {given}; use a number from {LEAST} to {max}")]
    Positive {
        /// The name of the number.
        what: String,
        /// The given value.
        given: String,
        /// The maximum.
        max: String,
    },
    /// One of the nine stages is not described.
    #[error("stage `{stage}` is missing; describe each of the nine stages once")]
    MissingStage {
        /// The name of the stage.
        stage: &'static str,
    },
    /// A stage is described twice.
    #[error("stage `{stage}` is described twice")]
    RepeatedStage {
        /// The name of the stage.
        stage: &'static str,
    },
    /// A buffer that the pipeline needs is not described.
    #[error("the buffer from `{from}` to `{to}` is missing")]
    MissingBuffer {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// A buffer is described twice.
    #[error("the buffer from `{from}` to `{to}` is described twice")]
    RepeatedBuffer {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// A buffer leads back to an earlier stage.
    #[error(
        "the buffer from `{from}` back to `{to}` closes a cycle; only the packing tree leads back, from \
         `mod-down` to `combine`"
    )]
    Cyclic {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// A buffer between stages that exchange no tokens.
    #[error("no token moves from `{from}` to `{to}`; remove this buffer")]
    NoFlow {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// The job exceeds the limit of the model.
    #[error("{rows} rows of {column_tiles} ciphertexts are {given} products; the limit is {max}")]
    TooLarge {
        /// Rows of the matrix.
        rows: u64,
        /// Ciphertexts of the vector.
        column_tiles: u64,
        /// The number of products.
        given: u64,
        /// The maximum.
        max: u64,
    },
    /// The sweep would run for hours.
    #[error(
        "{designs} designs of {products} products each exceed the limit of {max} products per sweep; give fewer values or a smaller job"
    )]
    SweepTooLarge {
        /// The number of designs.
        designs: usize,
        /// Products of the job.
        products: u64,
        /// The maximum in total.
        max: u64,
    },
    /// No stage can proceed, and the job is not complete.
    #[error(
        "deadlock at cycle {cycle}: in engine {engine}, {waiting} waits for a slot of the buffer `{buffer}`, whose {slots} \
         are all taken; give it more slots"
    )]
    Deadlock {
        /// The cycle of the last event.
        cycle: u64,
        /// The engine.
        engine: usize,
        /// The stage, or the exchange between engines.
        waiting: &'static str,
        /// The buffer, as `from-to`.
        buffer: String,
        /// The slots of the buffer.
        slots: usize,
    },
    /// A sweep with an empty list.
    #[error("the list {what} of the sweep is empty; give at least one value")]
    EmptySweep {
        /// The name of the list.
        what: &'static str,
    },
}

/// Returns `given`, or an error with the name `what`.
pub(crate) fn require_range(what: impl Into<String>, given: u64, min: u64, max: u64) -> Result<u64, PipelineError> {
    if (min..=max).contains(&given) {
        return Ok(given);
    }
    Err(PipelineError::Range { what: what.into(), given, min, max })
}

/// The smallest value, so that quotients stay finite.
pub(crate) const LEAST: f64 = 1e-6;

/// Returns `given` if it is finite and from [`LEAST`] to `max`.
pub(crate) fn require_positive(what: impl Into<String>, given: f64, max: f64) -> Result<f64, PipelineError> {
    if (LEAST..=max).contains(&given) {
        return Ok(given);
    }
    Err(PipelineError::Positive { what: what.into(), given: given.to_string(), max: max.to_string() })
}
