//! The compiled programs of a workload, for listings, files and runs by hand.

use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{CompileError, Polynomial, compile};
use ciphermill_rvfhe::isa::{Core, InstructionMemory, Program};
use serde_json::json;

use super::error::ReportError;
use super::workload::Workload;
use crate::array::{ExperimentError, Machine};
use crate::record::{Label, Record};

/// The programs of a workload. Register `x10` contains the number of runs, at least 1, and `x11` the scratchpad vector
/// from which the inputs and outputs are counted.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The machine's name.
    pub machine: String,
    /// The lanes of all cores.
    pub lanes: u32,
    /// The workload.
    pub workload: Workload,
    /// Inputs in flight in each run.
    pub in_flight: usize,
    /// The program of each core.
    pub cores: Vec<CoreProgram>,
    /// The inputs of a run.
    pub inputs: Vec<Polynomial>,
    /// The outputs of a run.
    pub outputs: Vec<Polynomial>,
    /// The root of unity for the points of a spectrum: ψ of order 2N, or in a cyclic ring ω of order N; `None` for
    /// complex numbers.
    pub root: Option<u64>,
    /// The distance in vectors from one run's scratchpad address to the next one's.
    pub stride: u32,
    /// Butterflies of a run, in all lanes.
    pub butterflies: u64,
    /// Cycles of a run on the compiler's ideal core; analytic.
    pub expected_cycles: u32,
}

/// The program and twiddle memory of one core.
#[derive(Clone, Debug)]
pub struct CoreProgram {
    /// The program.
    pub program: Program,
    /// The twiddle memory: factor and companion of each lane, row after row.
    pub twiddles: Vec<(u32, u32)>,
    /// The number of rows of the twiddle memory.
    pub twiddle_rows: usize,
}

/// Compiles a workload for a machine, with `in_flight` inputs in flight.
///
/// # Errors
/// [`ReportError`]. If the workload does not fit, the error lists the sizes that do.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{Workload, programs};
///
/// let programs = programs(&Machine::from_toml(CIPHERMILL)?, &Workload::ntt(4096), 1)?;
/// assert_eq!((programs.cores.len(), programs.inputs.len()), (16, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn programs(machine: &Machine, workload: &Workload, in_flight: usize) -> Result<Programs, ReportError> {
    machine.check()?;
    let explain = |error: CompileError| workload.explain(machine, in_flight, ExperimentError::Compile(error));
    let compiled = compile(&machine.target(), &workload.task()?, in_flight).map_err(explain)?;
    let lanes = machine.core.lanes as usize;
    let mut cores = Vec::with_capacity(compiled.cores.len());
    for (core, image) in Core::all().zip(compiled.cores) {
        // The compiler has checked that the program fits.
        let program = Program::new(core, image.instructions, InstructionMemory::LARGEST)?;
        let twiddle_rows = image.twiddles.len().div_ceil(lanes);
        cores.push(CoreProgram { program, twiddles: image.twiddles, twiddle_rows });
    }
    Ok(Programs {
        machine: machine.name.clone(),
        lanes: machine.cores() * machine.core.lanes,
        workload: *workload,
        in_flight,
        cores,
        inputs: compiled.inputs,
        outputs: compiled.outputs,
        root: root(workload),
        stride: compiled.stride,
        butterflies: compiled.butterflies,
        expected_cycles: compiled.expected_cycles,
    })
}

/// The root that the compiler uses.
fn root(workload: &Workload) -> Option<u64> {
    let order = workload.polynomial_size.checked_ilog2()? + u32::from(!workload.cyclic);
    let modulus = (!workload.operation.is_complex()).then(|| Modulus::new(workload.modulus).ok()).flatten()?;
    modulus.root_of_unity(order)
}

impl Programs {
    /// The record of the programs. `params.cores` contains the size of each core's program.
    pub fn record(&self) -> Record {
        let Workload { operation, polynomial_size, .. } = self.workload;
        let case = format!("arch-compile-{}/n{polynomial_size}/p{}", operation.name(), self.lanes);
        let first = |all: &[Polynomial]| all.iter().map(|polynomial| polynomial.first_vector).collect::<Vec<_>>();
        let cores = self.cores.iter().enumerate().map(|(number, core)| {
            let instructions = core.program.instructions().len();
            json!({"core": number, "instructions": instructions, "twiddle_rows": core.twiddle_rows})
        });
        Record::new(case, &self.machine, Label::Analytic, self.expected_cycles.into())
            .with("n", polynomial_size)
            .with("lanes", self.lanes)
            .with("in_flight", self.in_flight)
            .with("butterflies", self.butterflies)
            .with("inputs", first(&self.inputs))
            .with("outputs", first(&self.outputs))
            .with("modulus", self.root.map(|_| self.workload.modulus))
            .with("root", self.root)
            .with("stride", self.stride)
            .with("cores", cores.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, CIPHERMILL, PAPER};
    use crate::report::{Operation, Plan, measure};

    /// Programs that are run by hand take as many cycles as a measurement of the workload.
    #[test]
    fn they_are_those_that_are_measured() {
        let machine = Machine::from_toml(CIPHERMILL).unwrap();
        let workload = Workload::ntt(4096);
        let made = programs(&machine, &workload, 2).unwrap();
        let mut array = Array::new(machine.clone());
        let mut words = Vec::new();
        for (number, core) in made.cores.iter().enumerate() {
            array.set_twiddles(number, &core.twiddles).unwrap();
            words.push(core.program.instructions().iter().map(|instruction| instruction.encode()).collect());
        }
        let run = array.run(&words, &[(10, 1)], 0, 100_000).unwrap();
        let plan = Plan { workload, in_flight: Some(2), runs: Some(1) };
        let line = &measure(&machine, &plan).unwrap().lines[0];
        assert_eq!((run.cycles, line.words), (line.run_cycles, made.cores[0].program.instructions().len()));
        assert_eq!((made.inputs.len(), made.outputs.len()), (2, 2));
        let record = run.record(&machine);
        assert_eq!(record.params["cores"][3]["butterflies"], run.counts[3].butterflies);
        assert_eq!(record.params["cores"].as_array().map(Vec::len), Some(16));
        assert_eq!(made.record().params["cores"][15]["core"], 15);
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let machine = Machine::from_toml(PAPER).unwrap();
        let error = programs(&machine, &Workload::ntt(1 << 17), 1).unwrap_err().to_string();
        assert!(error.contains("from 1024 to 65536 is wanted") && error.contains("paper"), "{error}");
        let inverse = Workload { operation: Operation::Intt, ..Workload::ntt(1 << 16) };
        let error = programs(&machine, &inverse, 1).unwrap_err().to_string();
        assert!(error.contains("data memory"), "{error}");
        assert!(programs(&machine, &Workload { modulus: 0, ..Workload::ntt(4096) }, 1).is_err());
    }
}
