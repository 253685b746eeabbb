//! The kernel seam of modular multiplication and exponentiation, its CPU engine, and the types that keep secrets on
//! trusted engines.

mod coprocessor;
mod cpu;
mod error;
mod job;
mod prepare;
mod trusted;

pub use coprocessor::{Coprocessor, CoprocessorEngine, Operation};
pub use cpu::CpuEngine;
pub use error::EngineError;
pub use job::{BaseHandle, Job, Output, PreparedBase};
pub use prepare::{EngineModulus, ModExpEngine, PreparedModulus};
pub use trusted::{SecretJob, SecretPolicy, TrustError, TrustedEngine, TrustedModulus};
