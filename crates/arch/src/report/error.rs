//! Errors of the reports.

use ciphermill_math::modulus::ModulusError;
use ciphermill_rvfhe::compiler::CompileError;
use ciphermill_rvfhe::isa::ProgramError;
use thiserror::Error;

use super::energy_table::EnergyError;
use crate::array::{ExperimentError, MachineError};
use crate::scalar;

/// An error of a report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// An invalid machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A modulus that is not a prime, or is too large.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// An invalid number of digits.
    #[error("{given} digits: use 1 to {max}")]
    Digits {
        /// The given number.
        given: usize,
        /// The maximum.
        max: usize,
    },
    /// An invalid energy table.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// The energy of complex numbers, which no table covers.
    #[error("energy tables have no units for complex numbers; use ntt, intt, product or key-switch")]
    ComplexEnergy,
    /// A sweep with too many points.
    #[error("a sweep of {given} points exceeds the limit of {max}; give fewer values, or vary one parameter at a time")]
    Points {
        /// The number of points.
        given: usize,
        /// The maximum.
        max: usize,
    },
    /// A sweep with two axes for the same parameter.
    #[error("{parameter} is given twice; give all its values at once, separated by commas")]
    Twice {
        /// The name of the parameter.
        parameter: &'static str,
    },
    /// A value that does not belong to its parameter.
    #[error("{given} is not a value of {parameter}")]
    Value {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value.
        given: String,
    },
    /// A workload that is too large or too small for the machine.
    #[error("{source} ({machine}, {task}, {in_flight} in flight)")]
    DoesNotFit {
        /// The machine's name.
        machine: String,
        /// The task, such as `ntt of 2^17`.
        task: String,
        /// Inputs in flight.
        in_flight: usize,
        /// The compiler's error, with the sizes that fit.
        source: CompileError,
    },
    /// Another error of the compiler, or a run that does not end.
    #[error(transparent)]
    Experiment(ExperimentError),
    /// The compiler produced an invalid program.
    #[error("{0}; this is an error in the compiler, please report it")]
    Program(#[from] ProgramError),
    /// An error of the base core.
    #[error(transparent)]
    Scalar(#[from] scalar::ScalarError),
    /// An error in the base core's description.
    #[error(transparent)]
    ScalarMachine(#[from] scalar::MachineError),
}
