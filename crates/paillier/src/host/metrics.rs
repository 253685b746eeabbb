//! Counts and times of the instructions.

use std::time::Duration;

use super::Operation;

/// Counts of one kind of instruction.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::{Operation, OperationMetrics};
/// let mut host = Host::new(TrustedEngine::cpu(), HostConfig::default())?;
/// // Slot 3 is empty.
/// let add = Instruction::Add { slot: Slot(3), left: x.to_integers(), right: x.to_integers() };
/// host.execute(&Request { instructions: vec![add] });
/// let OperationMetrics { done, refused, elements, .. } = *host.metrics().of(Operation::Add);
/// assert_eq!((done, refused, elements), (0, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::Operation;
/// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// host.execute(&Request { instructions: vec![Instruction::SetKey { slot: Slot(0), n, blinding_base: None }] });
/// assert_eq!(host.metrics().of(Operation::SetKey).done, 1);
/// assert_eq!(host.metrics().constants_computed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
