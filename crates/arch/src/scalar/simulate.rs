//! The simulation of a program on a core: its output and its cycles.

use std::ops::Sub;

use super::core::{self, Job, Observer, Retired};
use super::error::ScalarError;
use super::machine::ScalarMachine;
use super::program::Program;
use super::timing::{Causes, Timing};

/// A program to run, with its limits.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// The program.
    pub program: &'a Program,
    /// The content of file 0.
    pub input: &'a [u8],
    /// The maximum number of bytes written to file 1.
    pub output_max: usize,
    /// The maximum number of instructions.
    pub instructions_max: u64,
    /// A separately measured region: from the first execution of the instruction at the first address to the first
    /// arrival at the second address.
    pub region: Option<(u64, u64)>,
}

/// The result of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// The exit status of the program.
    pub status: i32,
    /// The output of the program.
    pub output: Vec<u8>,
    /// The whole execution.
    pub whole: Measure,
    /// The region; `None` if no region was requested.
    pub region: Option<Measure>,
}

/// Instructions and cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles; simulated.
    pub cycles: u64,
    /// The cycles by cause.
    pub causes: Causes,
}

impl Sub for Measure {
    type Output = Measure;

    fn sub(self, earlier: Measure) -> Measure {
        Measure {
            instructions: self.instructions - earlier.instructions,
            cycles: self.cycles - earlier.cycles,
            causes: self.causes - earlier.causes,
        }
    }
}

/// Runs a program on a core.
///
/// # Errors
/// At the first instruction that cannot be executed, at a limit, and if the program did not pass through the requested
/// region.
///
/// # Example
/// ```
/// use ciphermill_arch::scalar::{Baseline, Execution, Ring, ScalarMachine, Variant, simulate};
/// use ciphermill_math::Modulus;
///
/// let (variant, modulus) = (Variant::Naive, Modulus::new(2_013_265_921)?);
/// let baseline = Baseline { variant, ring: Ring::Negacyclic, polynomial_size: 16, modulus };
/// let (program, input) = (variant.program()?, baseline.input(&[1; 16])?);
/// let (output_max, instructions_max) = (64, 1 << 20);
/// let execution = Execution { program: &program, input: &input, output_max, instructions_max, region: None };
/// let report = simulate(&ScalarMachine::rocket()?, &execution)?;
/// assert_eq!((report.status, report.output.len()), (0, 64));
/// assert!(report.whole.cycles >= report.whole.instructions);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(machine: &ScalarMachine, execution: &Execution<'_>) -> Result<ExecutionReport, ScalarError> {
    machine.check()?;
    let (begin, end) = execution.region.unwrap_or((u64::MAX, u64::MAX));
    let mut observer =
        Regional { timing: Timing::new(machine), begin, end, instructions: 0, started: None, measured: None };
    let job = Job {
        program: execution.program,
        input: execution.input,
        output_max: execution.output_max,
        instructions_max: execution.instructions_max,
    };
    let finished = core::execute(&job, &mut observer)?;
    let whole = Measure { instructions: finished.instructions, ..observer.now() };
    let region = match execution.region {
        Some(_) => Some(observer.measured.ok_or(ScalarError::Region { begin, end })?),
        None => None,
    };
    Ok(ExecutionReport { status: finished.status, output: finished.output, whole, region })
}

struct Regional<'a> {
    timing: Timing<'a>,
    begin: u64,
    end: u64,
    instructions: u64,
    started: Option<Measure>,
    measured: Option<Measure>,
}

impl Regional<'_> {
    fn now(&self) -> Measure {
        Measure { instructions: self.instructions, cycles: self.timing.cycles(), causes: self.timing.causes() }
    }
}

impl Observer for Regional<'_> {
    #[inline(always)]
    fn retire(&mut self, retired: &Retired) {
        if retired.pc == self.begin && self.started.is_none() {
            self.started = Some(self.now());
        }
        if retired.pc == self.end && self.measured.is_none() {
            self.measured = self.started.map(|started| self.now() - started);
        }
        self.instructions += 1;
        self.timing.retire(retired);
    }

    fn system_write(&mut self, address: u64, length: u64) {
        self.timing.system_write(address, length);
    }
}
