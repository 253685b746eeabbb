//! Counts and times of the instructions.

use std::time::Duration;

use super::Operation;

/// Counts of one kind of instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationMetrics {
    /// Instructions that have their result.
    pub done: u64,
    /// Instructions that were refused, or failed.
    pub refused: u64,
    /// Integers in the results.
    pub elements: u64,
    /// Time spent on checks, constants and randomness.
    pub planning: Duration,
    /// Time spent in the engine.
    pub engine: Duration,
}

/// Counts since the host was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    operations: [OperationMetrics; Operation::ALL.len()],
    /// Keys and moduli whose constants were computed; the others were remembered.
    pub constants_computed: u64,
    /// Streams that were read.
    pub streams: u64,
    /// Streams that could not be read.
    pub streams_refused: u64,
}

impl Metrics {
    /// The counts of one kind.
    pub fn of(&self, operation: Operation) -> &OperationMetrics {
        &self.operations[operation as usize - 1]
    }

    pub(super) fn of_mut(&mut self, operation: Operation) -> &mut OperationMetrics {
        &mut self.operations[operation as usize - 1]
    }
}
