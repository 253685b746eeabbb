//! Sweeps: an array with changed parameters, one at a time or in every combination.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::axis::{Axis, MAX_POINTS, Parameter, Value, set};
use super::error::ReportError;
use super::run::{Line, Plan, line, steady};
use super::slices::Slices;
use crate::array::{Firing, Machine};
use crate::record::Record;

/// The axes of a sweep, and the workload at every point.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{Axis, Parameter, Plan, Sweep, Value, Workload};
///
/// let axis = Axis { parameter: Parameter::MultiplierLatency, values: vec![Value::Number(3), Value::Number(12)] };
/// let plan = Plan { workload: Workload::ntt(4096), in_flight: Some(1), runs: Some(1) };
/// let sweep = Sweep { axes: vec![axis], product: false, plan };
/// let points = sweep.run(&Machine::from_toml(CIPHERMILL)?, 1, &|_, _| ())?;
/// let cycles: Vec<u64> = points.iter().filter_map(|point| Some(point.record.as_ref()?.cycles)).collect();
/// // The unchanged machine, then the two values.
/// assert!(cycles.len() == 3 && cycles[1] < cycles[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The axes.
    pub axes: Vec<Axis>,
    /// Whether every combination is run. Otherwise the values of one axis after the other are run, with the other
    /// parameters unchanged.
    pub product: bool,
    /// The workload, inputs in flight and runs, unless an axis changes them.
    pub plan: Plan,
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// The changed parameters with their values; empty for the unchanged machine.
    pub changed: Vec<(&'static str, String)>,
    /// The record of the run.
    pub record: Option<Record>,
    /// Cycles per input divided by the arithmetic bound of the changed machine.
    pub ratio: Option<f64>,
    /// Cycles per input from DRAM to DRAM: analytic, over the simulated computation.
    pub dram: Option<f64>,
    /// The error, if there is no record.
    pub error: Option<String>,
}

/// The default axes: values around our machine, each varied alone.
pub fn default_axes() -> Vec<Axis> {
    let number =
        |parameter, values: &[u32]| Axis { parameter, values: values.iter().copied().map(Value::Number).collect() };
    let grids = [(1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8)].map(|(rows, columns)| Value::Grid(rows, columns));
    vec![
        number(Parameter::Lanes, &[4, 8, 16, 32]),
        Axis { parameter: Parameter::Grid, values: grids.into() },
        number(Parameter::IssueWidth, &[1, 2, 3, 4, 8]),
        number(Parameter::QueueDepth, &[1, 2, 4, 8, 16, 32, 64]),
        number(Parameter::Adders, &[1, 2]),
        number(Parameter::CopyPorts, &[1, 2, 3]),
        number(Parameter::ArrivalPorts, &[1, 2, 3]),
        number(Parameter::LinkBytes, &[8, 16, 32, 64, 128, 256]),
        number(Parameter::HopLatency, &[1, 2, 4, 8, 16]),
        Axis { parameter: Parameter::Slices, values: Slices::NAMED.map(Value::Slices).into() },
        Axis { parameter: Parameter::Firing, values: [Firing::Operand, Firing::Phase].map(Value::Firing).into() },
        number(Parameter::MultiplierLatency, &[3, 6, 9, 12]),
        number(Parameter::DramBytes, &[16, 32, 64, 128, 256, 512, 1024]),
        number(Parameter::InFlight, &[1, 2, 3, 4, 5, 6]),
    ]
}

type Change = Vec<(Parameter, Value)>;

impl Sweep {
    /// The changes at each point: first none, then one axis after the other; or all combinations.
    fn changes(&self) -> Result<Vec<Change>, ReportError> {
        let points = if self.product {
            self.axes.iter().fold(1usize, |points, axis| points.saturating_mul(axis.values.len()))
        } else {
            self.axes.iter().fold(1usize, |points, axis| points.saturating_add(axis.values.len()))
        };
        if points > MAX_POINTS {
            return Err(ReportError::Points { given: points, max: MAX_POINTS });
        }
        let mut changes = vec![Change::new()];
        for (at, axis) in self.axes.iter().enumerate() {
            if self.axes[..at].iter().any(|before| before.parameter == axis.parameter) {
                return Err(ReportError::Twice { parameter: axis.parameter.name() });
            }
            if self.product {
                let with = |change: &Change, value: Value| {
                    let mut change = change.clone();
                    change.push((axis.parameter, value));
                    change
                };
                changes = changes
                    .iter()
                    .flat_map(|change| axis.values.iter().map(move |value| with(change, *value)))
                    .collect();
            } else {
                changes.extend(axis.values.iter().map(|value| vec![(axis.parameter, *value)]));
            }
        }
        Ok(changes)
    }

    /// Runs all points on several threads. `progress` receives the number of finished points and the total.
    ///
    /// # Errors
    /// If there are more than [`MAX_POINTS`] points, or two axes have the same parameter. An error at one point is
    /// reported there.
    pub fn run(
        &self,
        machine: &Machine,
        threads: usize,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<SweepPoint>, ReportError> {
        let changes = self.changes()?;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let points: Mutex<Vec<Option<SweepPoint>>> = Mutex::new(vec![None; changes.len()]);
        let work = || {
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some(change) = changes.get(at)
            {
                let point = self.point(machine, change);
                points.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(point);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, changes.len());
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.clamp(1, 64) {
                scope.spawn(work);
            }
            work();
        });
        let points = points.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(points.into_iter().flatten().collect())
    }

    fn point(&self, machine: &Machine, change: &Change) -> SweepPoint {
        let changed = change.iter().map(|(parameter, value)| (parameter.name(), value.to_string())).collect();
        match self.measure(machine, change) {
            Ok((record, line)) => {
                let (ratio, dram) = (Some(line.ratio()), Some(line.dram));
                SweepPoint { changed, record: Some(record), ratio, dram, error: None }
            }
            Err(error) => SweepPoint { changed, record: None, ratio: None, dram: None, error: Some(error.to_string()) },
        }
    }

    fn measure(&self, machine: &Machine, change: &Change) -> Result<(Record, Line), ReportError> {
        let (mut machine, mut plan) = (machine.clone(), self.plan);
        // Lanes and grids change other parameters, and the placement of slices depends on the grid.
        let rank = |parameter: Parameter| match parameter {
            Parameter::Lanes | Parameter::Grid => 0,
            Parameter::Slices => 2,
            _ => 1,
        };
        let mut ordered = change.clone();
        ordered.sort_by_key(|(parameter, _)| rank(*parameter));
        for (parameter, value) in ordered {
            set(&mut machine, &mut plan, parameter, value)?;
        }
        machine.check()?;
        let line = match plan.in_flight {
            Some(in_flight) => line(&machine, &plan.workload, in_flight, plan.runs)?,
            None => match steady(&machine, &plan.workload, plan.runs)? {
                Some(line) => line,
                None => line(&machine, &plan.workload, 1, plan.runs)?,
            },
        };
        let mut record = line.record();
        // Changed parameters are listed separately, because a run also has `lanes` and `adders`.
        for (parameter, value) in change {
            record.case += &format!("/{}={value}", parameter.name());
        }
        if !change.is_empty() {
            let value = |value: &Value| match value {
                Value::Number(number) => serde_json::Value::from(*number),
                word => serde_json::Value::from(word.to_string()),
            };
            let changed = change.iter().map(|(parameter, new)| (parameter.name().to_owned(), value(new)));
            record = record.with("changed", changed.collect::<serde_json::Map<_, _>>());
        }
        Ok((record, line))
    }
}

/// The records of the points that have one.
pub fn sweep_records(points: &[SweepPoint]) -> Vec<Record> {
    points.iter().filter_map(|point| point.record.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::CIPHERMILL;
    use crate::report::Workload;

    fn sweep(axes: &[&str], product: bool) -> Sweep {
        let axes = axes.iter().map(|axis| axis.parse().unwrap()).collect();
        Sweep { axes, product, plan: Plan { workload: Workload::ntt(4096), in_flight: Some(1), runs: Some(2) } }
    }

    fn run(sweep: &Sweep, threads: usize) -> Vec<SweepPoint> {
        let machine = Machine::from_toml(CIPHERMILL).unwrap();
        sweep.run(&machine, threads, &|done, all| assert!(done <= all)).unwrap()
    }

    #[test]
    fn axes_are_read_and_written() {
        for text in ["lanes=8,16", "grid=2x2,4x4", "issue=dataflow,unpipelined,blocking", "copies=own,shared"] {
            let axis: Axis = text.parse().unwrap();
            let values: Vec<_> = axis.values.iter().map(Value::to_string).collect();
            assert_eq!(format!("{}={}", axis.parameter.name(), values.join(",")), text);
        }
        for (text, words) in [
            ("lanes", "lanes=8,16,32"),
            ("lane=8", "unknown parameter `lane`; use one of lanes, grid"),
            ("lanes=", "`` is not a value of lanes"),
            ("lanes=8,x", "`x` is not a value of lanes; use a number"),
            ("lanes=99999999999", "a number"),
            ("grid=4", "a grid such as 4x4"),
            ("issue=fast", "dataflow or unpipelined or blocking"),
        ] {
            let error = text.parse::<Axis>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    /// Slices are placed on the changed grid, in any order of the axes.
    #[test]
    fn slices_stand_on_the_changed_grid() {
        let cycles = |axes: &[&str]| {
            let points = run(&sweep(axes, true), 1);
            points[0].record.as_ref().unwrap().cycles_steady.unwrap()
        };
        let corners = cycles(&["slices=corners", "grid=2x4"]);
        assert_eq!(corners, cycles(&["grid=2x4", "slices=corners"]));
        assert!(corners > cycles(&["grid=2x4"]));
        assert_eq!(cycles(&["slices=0+3+12+15"]), cycles(&["slices=corners"]));
        let points = run(&sweep(&["slices=corners"], false), 1);
        let [own, far] = [0, 1].map(|at| points[at].record.as_ref().unwrap());
        assert!(own.cycles_steady < far.cycles_steady);
        assert_eq!(far.case, "arch-ntt/n4096/p512/slices=corners");
    }

    #[test]
    fn one_at_a_time_and_every_combination() {
        let axes = ["adders=1,2", "link-bytes=16,128"];
        let single = run(&sweep(&axes, false), 1);
        assert_eq!(single.len(), 5);
        assert!(single[0].changed.is_empty());
        let all = run(&sweep(&axes, true), 2);
        assert_eq!(all.len(), 4);
        let cycles = |point: &SweepPoint| point.record.as_ref().unwrap().cycles_steady.unwrap();
        // The last combination is the unchanged machine; the first has less of both.
        assert_eq!(cycles(&all[3]), cycles(&single[0]));
        assert!(cycles(&all[0]) > cycles(&all[3]));
        // The number of threads does not change the result.
        assert_eq!(all, run(&sweep(&axes, true), 7));
    }

    #[test]
    fn what_cannot_be_is_told_at_its_point() {
        let points = run(&sweep(&["lanes=33,0,16", "grid=3x3,0x4"], false), 2);
        let error = |at: usize| points[at].error.clone().unwrap_or_default();
        assert!(error(1).contains("core.lanes is 33") && error(2).contains("core.lanes is 0"));
        assert!(points[3].record.is_some(), "{}", error(3));
        assert!(error(4).contains("grid.rows times") && error(5).contains("grid.rows is 0"));
    }

    #[test]
    fn there_is_an_end_of_points() {
        let machine = Machine::from_toml(CIPHERMILL).unwrap();
        let many = vec!["queue-depth=1,2,3,4,5,6,7,8"; 5];
        let error = sweep(&many, true).run(&machine, 1, &|_, _| {}).unwrap_err();
        assert!(matches!(error, ReportError::Points { given: 32768, max: MAX_POINTS }));
    }
}
