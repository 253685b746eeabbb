//! What can be wrong with a machine, a job, or a run.

use thiserror::Error;

/// An error of the macro-pipeline model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The text is not TOML, or not of this shape.
    #[error("the {what} cannot be read: {why}")]
    Syntax {
        /// What was read: a machine, a roofline.
        what: &'static str,
        /// What the parser says.
        why: String,
    },
    /// A number is outside its range.
    #[error("{what} is {given}; it must be from {min} to {max}")]
    Range {
        /// Which number, with the stage or buffer it belongs to.
        what: String,
        /// What was given.
        given: u64,
        /// The least that is allowed.
        min: u64,
        /// The greatest that is allowed.
        max: u64,
    },
    /// A number is not a power of two.
    #[error("{what} is {given}; it must be a power of two")]
    PowerOfTwo {
        /// Which number.
        what: String,
        /// What was given.
        given: u64,
    },
    /// A figure is no number of a size that can be calculated with.
    #[error("{what} is {given}; it must be a number from {LEAST} to {max}")]
    Positive {
        /// Which number.
        what: String,
        /// What was given.
        given: String,
        /// The greatest that is allowed.
        max: String,
    },
    /// One of the nine stages is not described.
    #[error("stage `{stage}` is missing; a machine describes each of the nine stages once")]
    MissingStage {
        /// Its name.
        stage: &'static str,
    },
    /// A stage is described twice.
    #[error("stage `{stage}` is described twice")]
    RepeatedStage {
        /// Its name.
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
        "the buffer from `{from}` back to `{to}` closes a cycle; the only way back is that of the packing tree, from \
         `mod-down` to `combine`"
    )]
    Cyclic {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// A buffer leads where nothing flows.
    #[error("nothing flows from `{from}` to `{to}`: leave that buffer out")]
    NoFlow {
        /// The stage that writes it.
        from: &'static str,
        /// The stage that reads it.
        to: &'static str,
    },
    /// The job is larger than the model takes.
    #[error("{rows} rows of {column_tiles} ciphertexts are {given} products; a run takes at most {max}")]
    TooLarge {
        /// Rows of the matrix.
        rows: u64,
        /// Ciphertexts of the vector.
        column_tiles: u64,
        /// Products.
        given: u64,
        /// The greatest number of products.
        max: u64,
    },
    /// The designs of a sweep would run for hours.
    #[error(
        "{designs} designs of {products} products each; a sweep runs at most {max} in all: give fewer values, or a smaller job"
    )]
    SweepTooLarge {
        /// Designs.
        designs: usize,
        /// Products of the job.
        products: u64,
        /// The greatest number of products in all.
        max: u64,
    },
    /// Nothing can go on, and the job is not done.
    #[error(
        "deadlock at cycle {cycle}: in engine {engine}, {waiting} waits for a place in the buffer `{buffer}`, whose {slots} \
         are all taken; give it more"
    )]
    Deadlock {
        /// When the last thing happened.
        cycle: u64,
        /// Which engine.
        engine: usize,
        /// The stage, or the exchange between engines.
        waiting: &'static str,
        /// The buffer, as `from-to`.
        buffer: String,
        /// Its slots.
        slots: usize,
    },
    /// No point of a sweep is left.
    #[error("the sweep has no value for {what}")]
    EmptySweep {
        /// Which of its lists is empty.
        what: &'static str,
    },
}

/// `given`, or an error naming `what`.
pub(crate) fn require_range(what: impl Into<String>, given: u64, min: u64, max: u64) -> Result<u64, PipelineError> {
    if (min..=max).contains(&given) {
        return Ok(given);
    }
    Err(PipelineError::Range { what: what.into(), given, min, max })
}

/// The least figure: what is divided by it stays finite.
pub(crate) const LEAST: f64 = 1e-6;

/// `given` if it is finite, at least [`LEAST`] and at most `max`.
pub(crate) fn require_positive(what: impl Into<String>, given: f64, max: f64) -> Result<f64, PipelineError> {
    if (LEAST..=max).contains(&given) {
        return Ok(given);
    }
    Err(PipelineError::Positive { what: what.into(), given: given.to_string(), max: max.to_string() })
}
