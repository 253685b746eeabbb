//! Runs of a workload on an array: one input alone, and a steady stream.

use serde::Serialize;

use super::error::ReportError;
use super::workload::Workload;
use crate::array::{Bounds, Component, Counts, Experiment, ExperimentError, Machine, Measurement};
use crate::record::Record;
use crate::trace::Trace;

/// The numbers of inputs in flight that are tried by default.
const FLIGHTS: [usize; 6] = [1, 2, 3, 4, 6, 8];
/// The default number of runs, if their inputs and outputs fit the scratchpad.
const RUNS: usize = 8;

/// A measurement to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The workload.
    pub workload: Workload,
    /// Inputs in flight. By default: one input alone, then the best of 1, 2, 3, 4, 6 and 8 that fit.
    pub in_flight: Option<usize>,
    /// Consecutive runs of the program. By default 8, or as many as fit.
    pub runs: Option<usize>,
}

/// One measurement, simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Inputs in flight.
    pub in_flight: usize,
    /// Runs of the program.
    pub runs: usize,
    /// Cycles to the last result of the first run.
    pub first: u64,
    /// Cycles per input after the first run; `None` for a single run.
    pub steady: Option<f64>,
    /// The arithmetic bound in cycles per input; analytic.
    pub bound: f64,
    /// Cycles per input for each component; analytic.
    pub bounds: Bounds,
    /// The component with the most work.
    pub busiest: Component,
    /// The share of cycles, 0 to 1, in which that component works.
    pub utilization: f64,
    /// The share of cycles, 0 to 1, in which the adders work, in steady state if available; `None` for complex numbers.
    pub adders: Option<f64>,
    /// Whether all values agree with the golden model.
    pub correct: bool,
    /// Butterflies per input.
    pub butterflies: u64,
    /// Vector instructions of all cores, per input.
    pub instructions: u64,
    /// Words of the longest program.
    pub words: usize,
    /// Cycles per input from DRAM to DRAM, with alternating halves of the scratchpad; analytic, over the simulated
    /// computation.
    pub dram: f64,
    /// Bytes of factors in all cores: twiddles, a product's operand, a key.
    pub factor_bytes: u64,
    /// Cycles to load the factors from DRAM, once; analytic.
    pub factor_cycles: u64,
    /// Bytes from and to DRAM, per input.
    pub dram_bytes: u64,
    /// The bytes that are read.
    #[serde(skip)]
    pub dram_bytes_in: u64,
    /// The counts of all cores, over all runs.
    #[serde(skip)]
    pub counts: Counts,
    /// Cycles of all runs together.
    #[serde(skip)]
    pub run_cycles: u64,
    /// Cycles in which links of the meshes are occupied, over all runs.
    #[serde(skip)]
    pub link_cycles: u64,
    #[serde(skip)]
    record: Record,
}

impl Line {
    /// Cycles per input, in steady state or of the only run.
    pub fn cycles(&self) -> f64 {
        self.steady.unwrap_or(self.first as f64 / self.in_flight as f64)
    }

    /// Cycles per input from DRAM to DRAM, at least the transfer time of its bytes.
    pub(super) fn dram_cycles(&self, machine: &Machine) -> f64 {
        self.dram.max(self.dram_bytes as f64 / f64::from(machine.dram.bytes_per_cycle))
    }

    /// Cycles divided by the arithmetic bound; 1 is the optimum.
    pub fn ratio(&self) -> f64 {
        self.cycles() / self.bound
    }

    /// Cycles of one lane per butterfly of that lane.
    pub fn cycles_per_butterfly_and_lane(&self, machine: &Machine) -> f64 {
        self.cycles() * f64::from(machine.cores() * machine.core.lanes) / self.butterflies as f64
    }

    /// The record of the measurement.
    pub fn record(&self) -> Record {
        self.record.clone()
    }
}

/// The result of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// The machine's name.
    pub machine: String,
    /// One input alone, then steady state; or the requested measurement.
    pub lines: Vec<Line>,
}

impl RunReport {
    /// One record per measurement.
    pub fn records(&self) -> Vec<Record> {
        self.lines.iter().map(Line::record).collect()
    }

    /// Whether all values agree with the golden model.
    pub fn correct(&self) -> bool {
        self.lines.iter().all(|line| line.correct)
    }
}

/// Runs a plan on a machine.
///
/// # Errors
/// [`ReportError`]. If the workload does not fit, the error lists the sizes that do.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{Plan, Workload, measure};
///
/// let plan = Plan { workload: Workload::ntt(4096), in_flight: Some(2), runs: Some(2) };
/// let report = measure(&Machine::from_toml(CIPHERMILL)?, &plan)?;
/// assert!(report.correct());
/// assert!(report.lines[0].ratio() >= 1.0, "no run is faster than the arithmetic bound");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn measure(machine: &Machine, plan: &Plan) -> Result<RunReport, ReportError> {
    let mut lines = Vec::new();
    match plan.in_flight {
        Some(in_flight) => lines.push(line(machine, &plan.workload, in_flight, plan.runs)?),
        None => {
            lines.push(line(machine, &plan.workload, 1, Some(1))?);
            lines.extend(steady(machine, &plan.workload, plan.runs)?);
        }
    }
    Ok(RunReport { machine: machine.name.clone(), lines })
}

/// Runs a plan, by default one run of one input, and traces all cores and networks. The report has one line.
///
/// # Errors
/// The errors of [`measure`].
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::{report::{Plan, Workload, measure_traced}, trace::Trace};
///
/// let plan = Plan { workload: Workload::ntt(4096), in_flight: None, runs: None };
/// let mut trace = Trace::new();
/// assert!(measure_traced(&Machine::from_toml(CIPHERMILL)?, &plan, &mut trace)?.correct());
/// assert!(!trace.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn measure_traced(machine: &Machine, plan: &Plan, trace: &mut Trace) -> Result<RunReport, ReportError> {
    let (in_flight, runs) = (plan.in_flight.unwrap_or(1), Some(plan.runs.unwrap_or(1)));
    let line = line_with(machine, &plan.workload, in_flight, runs, Some(trace))?;
    Ok(RunReport { machine: machine.name.clone(), lines: vec![line] })
}

/// The best steady state with 1, 2, 3, 4, 6 or 8 inputs in flight; `None` if only one run fits.
pub(super) fn steady(machine: &Machine, workload: &Workload, runs: Option<usize>) -> Result<Option<Line>, ReportError> {
    let mut best: Option<Line> = None;
    for in_flight in FLIGHTS {
        let one = match line(machine, workload, in_flight, runs) {
            Err(ReportError::DoesNotFit { .. }) if in_flight > 1 => break,
            other => other?,
        };
        if one.steady.is_some() && best.as_ref().is_none_or(|best| one.cycles() < best.cycles()) {
            best = Some(one);
        }
    }
    Ok(best)
}

/// One measurement. The default number of runs is 8, or as many as fit.
pub(super) fn line(
    machine: &Machine,
    workload: &Workload,
    in_flight: usize,
    runs: Option<usize>,
) -> Result<Line, ReportError> {
    line_with(machine, workload, in_flight, runs, None)
}

fn line_with(
    machine: &Machine,
    workload: &Workload,
    in_flight: usize,
    runs: Option<usize>,
    trace: Option<&mut Trace>,
) -> Result<Line, ReportError> {
    let mut experiment =
        Experiment { task: workload.task()?, in_flight, runs: runs.unwrap_or(RUNS), seed: workload.seed };
    let measured = match experiment.measure_with(machine, trace) {
        Err(ExperimentError::Runs { max, .. }) if runs.is_none() && max > 0 => {
            experiment.runs = max;
            experiment.measure(machine)
        }
        measured => measured,
    };
    let measured = measured.map_err(|error| workload.explain(machine, in_flight, error))?;
    let (busiest, most) = measured.bounds.busiest();
    Ok(Line {
        in_flight,
        runs: experiment.runs,
        first: measured.first,
        steady: measured.steady,
        bound: measured.bounds.arithmetic().1,
        busiest,
        utilization: most / measured.cycles(),
        adders: measured.adders_at_work(),
        correct: measured.correct,
        butterflies: measured.butterflies,
        instructions: measured.vector_instructions(&experiment),
        words: measured.instructions,
        dram: measured.dram.steady / in_flight as f64,
        dram_bytes: (measured.dram.bytes_in + measured.dram.bytes_out) / in_flight as u64,
        factor_bytes: measured.factor_bytes,
        factor_cycles: measured.factor_cycles(machine),
        dram_bytes_in: measured.dram.bytes_in / in_flight as u64,
        counts: measured.run.counts.iter().copied().sum(),
        run_cycles: measured.run.cycles,
        link_cycles: measured.run.link_cycles,
        record: record(&measured, &experiment, machine, workload),
        bounds: measured.bounds,
    })
}

fn record(measured: &Measurement, experiment: &Experiment, machine: &Machine, workload: &Workload) -> Record {
    let record = measured.record(experiment, machine);
    if workload.operation.is_complex() {
        return record;
    }
    let ring = if workload.ring() == ciphermill_rvfhe::compiler::Ring::Cyclic { "cyclic" } else { "negacyclic" };
    let record = record.with("ring", ring).with("modulus", workload.modulus);
    match workload.operation {
        super::Operation::KeySwitch => record.with("digits", workload.digits),
        _ => record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, PAPER};
    use crate::report::Operation;

    fn ours() -> Machine {
        Machine::from_toml(CIPHERMILL).unwrap()
    }

    #[test]
    fn bounds_are_those_of_the_formula() {
        // N/2·log2 N butterflies in 512 lanes; with one adder, two sums each.
        for (text, each) in [(CIPHERMILL, 1.0), (PAPER, 2.0)] {
            let machine = Machine::from_toml(text).unwrap();
            for log in 12..=14 {
                let one = line(&machine, &Workload::ntt(1 << log), 1, Some(2)).unwrap();
                assert_eq!(one.bound, each * f64::from(log << (log - 1)) / 512.0);
                assert!(one.correct && one.ratio() > 1.0);
                // The adders limit a transform.
                let share = one.bound / one.cycles();
                assert!((one.adders.unwrap() - share).abs() < 1e-9);
                assert_eq!((one.utilization, one.record().utilization), (share, Some(share)));
            }
        }
        // Inputs in flight share their only run.
        let shared = line(&ours(), &Workload::ntt(8192), 3, Some(1)).unwrap();
        assert_eq!(shared.cycles(), shared.first as f64 / 3.0);
        assert!((shared.utilization - shared.adders.unwrap()).abs() < 1e-9 && shared.ratio() > 1.0, "{shared:?}");
        // A product has two transforms, the factors of the operand, and the scaling.
        let product = Workload { operation: Operation::Product, ..Workload::ntt(8192) };
        let one = line(&ours(), &product, 1, Some(1)).unwrap();
        assert_eq!(one.bound, 2.0 * 104.0 + 2.0 * 16.0);
        // A complex butterfly has four products on one multiplier.
        let fft = Workload { operation: Operation::Fft, ..Workload::ntt(8192) };
        assert_eq!(line(&ours(), &fft, 1, Some(1)).unwrap().bound, 4.0 * 104.0);
    }

    /// The report names the actual bottleneck: the front end with one instruction per cycle, the network with narrow
    /// links.
    #[test]
    fn the_busiest_component_is_named() {
        let with = |change: fn(&mut Machine)| {
            let mut machine = ours();
            change(&mut machine);
            steady(&machine, &Workload::ntt(8192), None).unwrap().unwrap()
        };
        let one = with(|machine| machine.core.issue_width = 1);
        assert_eq!((one.busiest, one.bound), (Component::FrontEnd, 104.0));
        assert!((0.95..=1.0).contains(&one.utilization), "{}", one.utilization);
        let narrow = with(|machine| machine.network.link_bytes = 8);
        assert_eq!(narrow.busiest, Component::DataLinks);
        assert!((0.6..=1.0).contains(&narrow.utilization), "{}", narrow.utilization);
    }

    #[test]
    fn a_plan_without_numbers_takes_the_best() {
        let plan = |in_flight, runs| Plan { workload: Workload::ntt(8192), in_flight, runs };
        let report = measure(&ours(), &plan(None, None)).unwrap();
        let [single, steady] = &report.lines[..] else { panic!("{report:?}") };
        assert_eq!((single.in_flight, single.runs, single.steady), (1, 1, None));
        let best = FLIGHTS.map(|flight| measure(&ours(), &plan(Some(flight), None)).unwrap().lines.remove(0));
        let least = best.iter().map(Line::cycles).fold(f64::INFINITY, f64::min);
        assert_eq!(steady.cycles(), least);
        assert_eq!(report.records().len(), 2);
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        for size in [1 << 17, 1 << 40, 3000, 2] {
            let plan = Plan { workload: Workload::ntt(size), in_flight: None, runs: None };
            let error = measure(&ours(), &plan).unwrap_err().to_string();
            assert!(error.contains("from 1024 to 65536 is wanted"), "{size}: {error}");
        }
        let plan = Plan { workload: Workload::ntt(8192), in_flight: Some(1), runs: Some(10_000) };
        let error = measure(&ours(), &plan).unwrap_err().to_string();
        assert!(error.contains("10000 runs: use 1 to "), "{error}");
    }
}
