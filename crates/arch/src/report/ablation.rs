//! The ablation of the paper's Figs. 9 and 11: the gains of its three ideas, added one after the other.
//!
//! The figures are cycles of one lane per butterfly of that lane. The paper only names its stages and prints their gains.
//! With 290 cycles for the base, which is our estimate, the gains give 290 → 9.85 → 7.58 → 2.25 cycles. The reading of the
//! stages was chosen with these in view; the base counts as if it were as parallel as the array.
//!
//! | stage | reading |
//! | --- | --- |
//! | base | one scalar core with a program that divides (`textbook`, a divider of 67 cycles); its cycles would be shared by as many cores as lanes |
//! | +ISA | the array with unpipelined lanes: a computation starts when the previous one has finished. Tiles are read row by row |
//! | +reshuffle | tiles are read from skewed banks |
//! | +dataflow | computations start when their operands are available |

use serde::Serialize;

use super::base::{BaseRun, MAX_BASE_SIZE, base};
use super::error::ReportError;
use super::run::{Line, line};
use super::workload::{Operation, Workload};
use crate::array::{Issue, Machine, Transposition};
use crate::record::{Label, Record};
use crate::scalar::Variant;

/// The default number of inputs in flight in all stages. It reproduces the paper's stages.
pub const ABLATION_IN_FLIGHT: usize = 2;
/// The number of runs of each stage.
const RUNS: usize = 4;

/// Cycles per lane and butterfly in the order of the stages: 290 cycles of the base, which the paper does not print,
/// divided by its average speed-ups 29.44, 1.3 and 3.37.
pub const CALIBRATION: [f64; 4] = [290.0, 9.85, 7.58, 2.25];
/// The average speed-ups in the paper: each stage over the previous one, then in total.
pub const PRINTED: [f64; 4] = [29.44, 1.3, 3.37, 140.75];
/// The same for the FFT of Fig. 11, which starts with the second stage.
pub const PRINTED_FFT: [f64; 3] = [1.34, 3.39, 4.54];

/// A stage at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// `base`, `isa`, `reshuffle` or `dataflow`.
    pub stage: &'static str,
    /// The machine: the array, or for the base the scalar core.
    pub machine: String,
    /// Cycles of one lane per butterfly of that lane; for the base, of one scalar core.
    pub cycles_per_butterfly: f64,
    /// Cycles of a transform, simulated: of the array in steady state; for the base, of one scalar core.
    pub cycles: f64,
    /// For the base, the cycles of a transform if as many scalar cores as lanes shared it evenly. Analytic: such a
    /// machine was not run.
    pub cycles_by_lanes_analytic: Option<f64>,
    /// The speed-up over the previous stage; `None` for the first stage.
    pub step: Option<f64>,
    /// Whether all values agree with the golden model. The tests of the scalar model check the words of the base.
    pub correct: Option<bool>,
}

/// All stages at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeAblation {
    /// N.
    pub polynomial_size: usize,
    /// Lanes that share one transform.
    pub lanes: u32,
    /// Inputs in flight.
    pub in_flight: usize,
    /// The stages; empty if no program exists.
    pub stages: Vec<Stage>,
    /// The speed-up of the last stage over the first.
    pub total: Option<f64>,
    /// The reason for missing stages.
    pub error: Option<String>,
    /// The complete array compared with one scalar core, for each program; empty for complex numbers.
    pub single_core: Vec<SingleCore>,
}

/// The array compared with one scalar core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SingleCore {
    /// The program of the core.
    #[serde(flatten)]
    pub base: BaseRun,
    /// The core's cycles divided by the array's.
    pub speedup: f64,
}

/// An ablation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// Always simulated.
    pub label: Label,
    /// The machine's name.
    pub machine: String,
    /// `ntt` or `fft`.
    pub operation: &'static str,
    /// The result at each size.
    pub sizes: Vec<SizeAblation>,
    /// The average speed-up of each step, over the sizes that have all stages.
    pub average_steps: Vec<f64>,
    /// The average total speed-up over the same sizes.
    pub average_total: Option<f64>,
}

/// The machine of one stage.
fn staged(machine: &Machine, issue: Issue, transposition: Transposition) -> Machine {
    let mut machine = machine.clone();
    (machine.core.issue, machine.memory.transposition) = (issue, transposition);
    machine
}

/// Runs the stages for transforms of each size, with `in_flight` inputs in flight, or half as many until they fit.
///
/// # Errors
/// If the base core cannot run. A size that does not fit is reported in its entry.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{Operation, ablate};
///
/// let ablation = ablate(&Machine::from_toml(CIPHERMILL)?, Operation::Ntt, &[1024], 1)?;
/// assert!(ablation.correct());
/// assert!(ablation.average_total.is_some_and(|speedup| speedup > 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ablate(
    machine: &Machine,
    operation: Operation,
    sizes: &[usize],
    in_flight: usize,
) -> Result<Ablation, ReportError> {
    let mut all = Vec::new();
    for &polynomial_size in sizes {
        all.push(size(machine, &Workload { operation, ..Workload::ntt(polynomial_size) }, in_flight)?);
    }
    let complete: Vec<&SizeAblation> = all.iter().filter(|size| size.total.is_some()).collect();
    let longest = complete.iter().map(|size| size.stages.len()).max().unwrap_or(0);
    let complete: Vec<_> = complete.into_iter().filter(|size| size.stages.len() == longest).collect();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let step = |at: usize| mean(complete.iter().filter_map(|size| size.stages[at].step).collect());
    let average_steps = (1..longest).map(step).collect();
    let totals: Vec<f64> = complete.iter().filter_map(|size| size.total).collect();
    let average_total = (!totals.is_empty()).then(|| mean(totals));
    let (label, machine) = (Label::Simulated, machine.name.clone());
    Ok(Ablation { label, machine, operation: operation.name(), sizes: all, average_steps, average_total })
}

fn size(machine: &Machine, workload: &Workload, in_flight: usize) -> Result<SizeAblation, ReportError> {
    let lanes = machine.cores() * machine.core.lanes;
    let polynomial_size = workload.polynomial_size;
    let mut result = SizeAblation {
        polynomial_size,
        lanes,
        in_flight,
        stages: Vec::new(),
        total: None,
        error: None,
        single_core: Vec::new(),
    };
    let lines = match array_stages(machine, workload, in_flight) {
        Ok((in_flight, lines)) => {
            result.in_flight = in_flight;
            lines
        }
        Err(error) => {
            result.error = Some(error.to_string());
            return Ok(result);
        }
    };
    let mut push = |mut stage: Stage| {
        let before = result.stages.last().map(|before| before.cycles_per_butterfly);
        stage.step = before.map(|before| before / stage.cycles_per_butterfly);
        result.stages.push(stage);
    };
    let has_base = !workload.operation.is_complex() && polynomial_size <= MAX_BASE_SIZE;
    if has_base {
        let base = base(Variant::Textbook, polynomial_size, false)?;
        push(Stage {
            stage: "base",
            machine: base.machine,
            cycles_per_butterfly: base.cycles_per_butterfly,
            cycles: base.cycles as f64,
            cycles_by_lanes_analytic: Some(base.cycles as f64 / f64::from(lanes)),
            step: None,
            correct: None,
        });
    }
    for (stage, line) in &lines {
        push(Stage {
            stage,
            machine: machine.name.clone(),
            cycles_per_butterfly: line.cycles_per_butterfly_and_lane(machine),
            cycles: line.cycles(),
            cycles_by_lanes_analytic: None,
            step: None,
            correct: Some(line.correct),
        });
    }
    if let [first, .., last] = &result.stages[..] {
        result.total = Some(first.cycles_per_butterfly / last.cycles_per_butterfly);
    }
    if has_base {
        let best = lines[lines.len() - 1].1.cycles();
        for (variant, early_out) in [(Variant::Textbook, false), (Variant::Naive, false), (Variant::Shoup, true)] {
            let base = base(variant, polynomial_size, early_out)?;
            result.single_core.push(SingleCore { speedup: base.cycles as f64 / best, base });
        }
    }
    Ok(result)
}

/// The number of inputs in flight, and the result of each named stage.
type ArrayStages = (usize, Vec<(&'static str, Line)>);

/// The three stages on the array, with `in_flight` inputs in flight, or half as many until all of them fit.
fn array_stages(machine: &Machine, workload: &Workload, in_flight: usize) -> Result<ArrayStages, ReportError> {
    let stages = [
        ("isa", Issue::Unpipelined, Transposition::Serial),
        ("reshuffle", Issue::Unpipelined, Transposition::Banked),
        ("dataflow", Issue::Dataflow, Transposition::Banked),
    ];
    let run = |in_flight| {
        let one = |(stage, issue, transposition)| {
            let machine = staged(machine, issue, transposition);
            Ok((stage, line(&machine, workload, in_flight, Some(RUNS))?))
        };
        stages.into_iter().map(one).collect::<Result<Vec<_>, ReportError>>()
    };
    match run(in_flight) {
        Err(ReportError::DoesNotFit { .. }) if in_flight > 1 => array_stages(machine, workload, in_flight / 2),
        lines => Ok((in_flight, lines?)),
    }
}

impl Ablation {
    /// A record for each stage of each size, `arch-ablation/<machine>/<operation>/n<N>/<stage>`, with the speed-ups,
    /// and one for each scalar core that is compared with the last stage, `…/n<N>/single-core/<program>`. The base and
    /// the single cores are runs of a scalar core.
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for size in &self.sizes {
            let n = size.polynomial_size;
            let case = |name: &str| format!("arch-ablation/{}/{}/n{n}/{name}", self.machine, self.operation);
            for (at, stage) in size.stages.iter().enumerate() {
                let mut record =
                    Record::new(case(stage.stage), &stage.machine, self.label, stage.cycles.round() as u64)
                        .with("n", n)
                        .with("lanes", size.lanes)
                        .with("in_flight", size.in_flight)
                        .with("cycles_per_butterfly_and_lane", stage.cycles_per_butterfly)
                        .with("step", stage.step);
                // Averages only include sizes that have all stages.
                let average = at.checked_sub(1).and_then(|at| self.average_steps.get(at));
                record = record.with("average_step", average.copied());
                if at + 1 == size.stages.len() {
                    record = record.with("total", size.total).with("average_total", self.average_total);
                }
                match stage.cycles_by_lanes_analytic {
                    Some(share) => record = record.with("cycles_by_lanes_analytic", share),
                    None => record.cycles_steady = Some(stage.cycles),
                }
                record.correct = stage.correct;
                records.push(record);
            }
            for SingleCore { base, speedup } in &size.single_core {
                let name = format!("single-core/{}", base.program);
                let record = Record::new(case(&name), &base.machine, self.label, base.cycles)
                    .with("n", n)
                    .with("early_out", base.early_out)
                    .with("cycles_per_butterfly", base.cycles_per_butterfly)
                    .with("total", *speedup);
                records.push(record);
            }
        }
        records
    }

    /// Whether all values agree with the golden model.
    pub fn correct(&self) -> bool {
        self.sizes.iter().flat_map(|size| &size.stages).all(|stage| stage.correct != Some(false))
    }
}

/// One experiment on the lower gains of the FFT, with another complex butterfly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FftExperiment {
    /// The initiation interval of the butterfly.
    pub interval: u32,
    /// The latency of the butterfly.
    pub latency: u32,
    /// The average speed-up of each step.
    pub steps: Vec<f64>,
    /// The average total speed-up.
    pub total: Option<f64>,
    /// The complete ablation.
    #[serde(skip)]
    pub ablation: Ablation,
}

impl FftExperiment {
    /// The records of the ablation, `…/<stage>/complex-interval=<interval>/complex-latency=<latency>`.
    pub fn records(&self) -> Vec<Record> {
        let mut records = self.ablation.records();
        for record in &mut records {
            record.case += &format!("/complex-interval={}/complex-latency={}", self.interval, self.latency);
            let changed = [("complex-interval", self.interval), ("complex-latency", self.latency)];
            let changed = changed.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
            record.params.insert("changed".to_owned(), serde_json::Value::Object(changed.collect()));
        }
        records
    }
}

/// The initiation intervals and latencies of the experiments.
pub const FFT_BUTTERFLIES: [(u32, u32); 5] = [(6, 18), (6, 20), (6, 24), (4, 14), (2, 9)];

/// The ablation of the FFT with other complex butterflies.
///
/// # Errors
/// If an initiation interval is not 1 to 16, or a latency not 1 to 28.
pub fn fft_experiments(
    machine: &Machine,
    sizes: &[usize],
    butterflies: &[(u32, u32)],
) -> Result<Vec<FftExperiment>, ReportError> {
    let one = |&(interval, latency): &(u32, u32)| {
        let mut machine = machine.clone();
        (machine.lane.complex_interval, machine.lane.complex_latency) = (interval, latency);
        machine.check()?;
        let ablation = ablate(&machine, Operation::Fft, sizes, ABLATION_IN_FLIGHT)?;
        let (steps, total) = (ablation.average_steps.clone(), ablation.average_total);
        Ok(FftExperiment { interval, latency, steps, total, ablation })
    };
    butterflies.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::PAPER;

    fn paper() -> Machine {
        Machine::from_toml(PAPER).unwrap()
    }

    /// Each stage at 2^13 is within 10 % of the paper's figures.
    #[test]
    fn stages_are_those_of_the_paper() {
        let ablation = ablate(&paper(), Operation::Ntt, &[1 << 13], ABLATION_IN_FLIGHT).unwrap();
        let [size] = &ablation.sizes[..] else { panic!("{ablation:?}") };
        assert_eq!(size.stages.len(), 4);
        for (stage, wanted) in size.stages.iter().zip(CALIBRATION) {
            let off = stage.cycles_per_butterfly / wanted - 1.0;
            println!("{} {:.2}, the paper's {wanted}: {:+.1} %", stage.stage, stage.cycles_per_butterfly, 100.0 * off);
            assert!(off.abs() < 0.1, "{}: {} and {wanted}", stage.stage, stage.cycles_per_butterfly);
        }
        assert!(ablation.correct());
        // One scalar core is a thousand times slower than the paper says.
        assert!(size.single_core.iter().all(|single| single.speedup > 5000.0), "{:?}", size.single_core);
        // Four stages and three scalar cores. The base is a run of the scalar core, with its cycles.
        let records = ablation.records();
        assert_eq!(records.len(), 7);
        let cores: Vec<&str> = records.iter().map(|record| record.machine.as_str()).collect();
        assert_eq!(cores, ["rocket", "paper", "paper", "paper", "rocket", "rocket", "rocket"]);
        assert_eq!(records[0].cycles, records[4].cycles);
        assert_eq!(records[0].params["cycles_by_lanes_analytic"], records[0].cycles as f64 / 512.0);
        assert_eq!(records[0].cycles_steady, None);
        assert_eq!(records[3].params["total"], records[3].params["average_total"]);
        assert_eq!(records[3].params["step"], records[3].params["average_step"]);
    }

    #[test]
    fn complex_butterflies_have_records_of_their_own() {
        let experiments = fft_experiments(&paper(), &[4096], &[(6, 18), (2, 9)]).unwrap();
        let records: Vec<Record> = experiments.iter().flat_map(FftExperiment::records).collect();
        assert_eq!(records.len(), 6);
        assert_eq!(records[5].case, "arch-ablation/paper/fft/n4096/dataflow/complex-interval=2/complex-latency=9");
        assert_eq!(records[5].params["changed"]["complex-latency"], 9);
        assert!(records[5].cycles < records[2].cycles);
    }

    #[test]
    fn a_size_that_does_not_fit_is_told_in_its_place() {
        let ablation = ablate(&paper(), Operation::Ntt, &[1 << 4, 1 << 17, 1 << 12], ABLATION_IN_FLIGHT).unwrap();
        assert!(ablation.sizes[0].error.is_some() && ablation.sizes[0].stages.is_empty());
        assert!(ablation.sizes[1].error.as_ref().is_some_and(|error| error.contains("does not fit")));
        assert_eq!(ablation.sizes[2].stages.len(), 4);
        assert_eq!(ablation.average_steps.len(), 3);
    }

    #[test]
    fn larger_transforms_gain_more() {
        let ablation = ablate(&paper(), Operation::Ntt, &[1 << 10, 1 << 12, 1 << 14], ABLATION_IN_FLIGHT).unwrap();
        let totals: Vec<f64> = ablation.sizes.iter().filter_map(|size| size.total).collect();
        assert_eq!(totals.len(), 3);
        assert!(totals.is_sorted(), "{totals:?}");
    }

    #[test]
    fn a_complex_butterfly_that_cannot_be_is_refused() {
        assert!(matches!(fft_experiments(&paper(), &[4096], &[(0, 16)]), Err(ReportError::Machine(_))));
    }
}
