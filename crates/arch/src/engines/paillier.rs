//! The Paillier engine's cycle model as a coprocessor of modular exponentiation.

use ciphermill_bigint::{Coprocessor, EngineError, Operation, reference};
use ciphermill_math::{CostLog, EngineCost, EngineInfo, EngineKind};
use num_bigint::BigUint;

use super::engine_cost;
use crate::paillier_engine::{PaillierJob, PaillierSize, cost};

/// The instance that `hw/units.toml` has: 1024 bits, six exponentiations a core.
const SIZE: PaillierSize = PaillierSize { bits: 1024, data_width: 128, places: 6 };
/// Operations of a batch: fewer than the driver's ring has descriptors.
pub const BATCH: usize = 24;
/// A batch begins at a multiple of this number of cycles after the reset: six places have a turn each in 48 cycles.
pub const ALIGNMENT: u64 = 8 * SIZE.places as u64;
/// Bits of the exponent n of the driver's keys, which no operation uses.
const KEY_BITS: u64 = 64;

/// A coprocessor that computes on the CPU, and counts the cycles of the Paillier engine with a memory that never waits.
/// The cost of loading a key is left out.
///
/// # Example
/// ```
/// use ciphermill_arch::engines::ModelPaillier;
/// use ciphermill_bigint::{CoprocessorEngine, EngineModulus, IntegerBatch, ModExpEngine};
/// use crypto_bigint::BoxedUint;
///
/// let engine = CoprocessorEngine::new(ModelPaillier::default());
/// let prepared = engine.prepare(EngineModulus::Value(&BoxedUint::max(512)))?;
/// prepared.multiply(&IntegerBatch::from_u64s(&[6]), &IntegerBatch::from_u64s(&[7]))?;
/// assert_eq!(engine.take_costs().len(), 1);
/// # Ok::<_, ciphermill_bigint::EngineError>(())
/// ```
#[derive(Debug, Default)]
pub struct ModelPaillier {
    costs: CostLog,
}

impl Coprocessor for ModelPaillier {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("model-paillier", EngineKind::Simulated).on(format!("{} bits, 2 cores", SIZE.bits))
    }

    fn max_bits(&self) -> u32 {
        SIZE.bits as u32
    }

    fn run(&self, modulus: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
        for batch in operations.chunks(BATCH) {
            let job = |operation: &Operation| match operation {
                Operation::Power { bits, .. } => PaillierJob::Power { bits: u64::from(*bits) },
                Operation::Multiply { .. } => PaillierJob::Multiply,
            };
            let jobs: Vec<_> = batch.iter().map(job).collect();
            let cost = cost(SIZE, &jobs, 0, KEY_BITS);
            let ports = [("ring", cost.ring), ("data", cost.data)];
            let cost = engine_cost(cost.cycles, cost.stalls, ports);
            self.costs.add(cost);
        }
        let value = |operation: &Operation| match operation {
            Operation::Power { base, exponent, .. } => base.modpow(exponent, modulus),
            Operation::Multiply { a, b } => reference::multiply(a, b, modulus),
        };
        Ok(operations.iter().map(value).collect())
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        self.costs.take()
    }
}
