//! The scalar baseline: a RISC-V core that runs compiled C, with the latencies of a Rocket core.
//!
//! An interpreter of RV64IM executes a static ELF program exactly. A timing model follows the executed instructions
//! through a five-stage in-order pipeline. A TOML description ([`ScalarMachine`]) supplies all latencies;
//! docs/rvfhe-scalar.md lists the sources and the figures. The programs ([`Baseline`]) are number-theoretic transforms
//! by division, by Shoup's method, and by the RVFHE instructions of a scalar core.
//!
//! Cycles are simulated: the model follows the published sources of the core and was not compared with its RTL.

mod arithmetic;
mod baseline;
mod cache;
mod core;
mod error;
mod instruction;
mod iterative;
mod machine;
mod memory;
mod predictor;
mod program;
mod simulate;
mod timing;

pub use baseline::{Baseline, Ring, ScalarRun, Variant, run};
pub use error::{ElfError, ScalarError};
pub use instruction::{Instruction, Op};
pub use machine::{
    Branch, DataCache, Divider, InstructionCache, L2, MachineError, Memory, Multiplier, Pipeline, Replacement, Rvfhe,
    ScalarMachine,
};
pub use program::Program;
pub use simulate::{Execution, ExecutionReport, Measure, simulate};
pub use timing::Causes;
