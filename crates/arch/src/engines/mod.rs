//! Engines of the kernel seams whose values are the CPU's and whose costs are those of a cycle model.
//!
//! They report the cost of a job on the hardware without a simulator. Tests of the crate `cosim` compare costs and values
//! with those of the RTL.

mod paillier;
mod tfhe;

pub use paillier::{ALIGNMENT, BATCH, ModelPaillier};
pub use tfhe::{EngineJob, ModelTfhe, NO_ROOM, PROGRAM_BYTES, TfheShape, engine_jobs, has_room, registers};

use ciphermill_math::EngineCost;

/// The cost in the form of the seams.
fn engine_cost<'a>(cycles: u64, stalls: u64, ports: impl IntoIterator<Item = (&'a str, [u64; 2])>) -> EngineCost {
    let ports = ports.into_iter().map(|(name, [read, written])| (name.to_owned(), read, written)).collect();
    EngineCost { cycles, stalls, ports }
}
