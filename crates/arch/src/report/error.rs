//! Why there is no report.

use ciphermill_math::modulus::ModulusError;
use ciphermill_rvfhe::compiler::CompileError;
use ciphermill_rvfhe::isa::ProgramError;
use thiserror::Error;

use super::energy_table::EnergyError;
use crate::array::{ExperimentError, MachineError};
use crate::scalar;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A machine that cannot be.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A modulus that is no prime, or too large.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// Digits that no key switch takes.
    #[error("{given} digits: 1 to {max} are wanted")]
    Digits {
        /// What was given.
        given: usize,
        /// The most.
        max: usize,
    },
    /// An energy table that is none.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// The energy of complex numbers.
    #[error("no table of energies has units for complex numbers: take ntt, intt, product or key-switch")]
    ComplexEnergy,
    /// A sweep that is too large.
    #[error("a sweep of {given} points: at most {max} are run; give fewer values, or leave the product out")]
    Points {
        /// How many.
        given: usize,
        /// The most.
        max: usize,
    },
    /// A sweep in which two axes change the same number.
    #[error("{parameter} is given twice: the values of a parameter are wanted once, separated by commas")]
    Twice {
        /// Its name.
        parameter: &'static str,
    },
    /// A value of another kind than a parameter has.
    #[error("{given} is no value of {parameter}")]
    Value {
        /// Its name.
        parameter: &'static str,
        /// The value.
        given: String,
    },
    /// A workload that is too large for the machine, or too small.
    #[error("{source} ({machine}, {task}, {in_flight} in flight)")]
    DoesNotFit {
        /// The machine's name.
        machine: String,
        /// What was to be run, as `ntt of 2^17`.
        task: String,
        /// Inputs in flight.
        in_flight: usize,
        /// What the compiler says, and which sizes fit.
        source: CompileError,
    },
    /// Another refusal of the compiler, or a run that does not end.
    #[error(transparent)]
    Experiment(ExperimentError),
    /// The compiler has made what is no program.
    #[error("{0}; this is a mistake of the compiler's, please report it")]
    Program(#[from] ProgramError),
    /// The base core.
    #[error(transparent)]
    Scalar(#[from] scalar::ScalarError),
    /// The base core's description.
    #[error(transparent)]
    ScalarMachine(#[from] scalar::MachineError),
}
