//! Sweeps: an array with some of its numbers changed, one at a time or in every combination.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::error::ReportError;
use super::run::{Plan, line, steady};
use crate::array::{Firing, Issue, Machine, Port, Transposition};
use crate::record::Record;

/// Points of a sweep, at most.
pub const MAX_POINTS: usize = 4096;

/// A number of a machine that a sweep changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is named as the field that it is")]
pub enum Parameter {
    Lanes,
    Grid,
    IssueWidth,
    QueueDepth,
    Issue,
    Firing,
    Adders,
    MultiplierLatency,
    Copies,
    CopyPorts,
    ArrivalPorts,
    TwiddlePort,
    ReadLatency,
    WritePorts,
    Transposition,
    LinkBytes,
    HopLatency,
    Buffer,
    ScratchpadLatency,
    InFlight,
}

impl Parameter {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Lanes,
        Self::Grid,
        Self::IssueWidth,
        Self::QueueDepth,
        Self::Issue,
        Self::Firing,
        Self::Adders,
        Self::MultiplierLatency,
        Self::Copies,
        Self::CopyPorts,
        Self::ArrivalPorts,
        Self::TwiddlePort,
        Self::ReadLatency,
        Self::WritePorts,
        Self::Transposition,
        Self::LinkBytes,
        Self::HopLatency,
        Self::Buffer,
        Self::ScratchpadLatency,
        Self::InFlight,
    ];

    /// As commands and records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lanes => "lanes",
            Self::Grid => "grid",
            Self::IssueWidth => "issue-width",
            Self::QueueDepth => "queue-depth",
            Self::Issue => "issue",
            Self::Firing => "firing",
            Self::Adders => "adders",
            Self::MultiplierLatency => "multiplier-latency",
            Self::Copies => "copies",
            Self::CopyPorts => "copy-ports",
            Self::ArrivalPorts => "arrival-ports",
            Self::TwiddlePort => "twiddle-port",
            Self::ReadLatency => "read-latency",
            Self::WritePorts => "write-ports",
            Self::Transposition => "transposition",
            Self::LinkBytes => "link-bytes",
            Self::HopLatency => "hop-latency",
            Self::Buffer => "buffer",
            Self::ScratchpadLatency => "scratchpad-latency",
            Self::InFlight => "in-flight",
        }
    }
}

/// A value of a parameter: a number, a grid as `4x4`, or a word of machine files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u32),
    /// Rows and columns of cores.
    Grid(u32, u32),
    /// How a core goes on.
    Issue(Issue),
    /// When computations start.
    Firing(Firing),
    /// Whether ports are shared.
    Port(Port),
    /// How tiles are read.
    Transposition(Transposition),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Number(number) => return number.fmt(f),
            Self::Grid(rows, columns) => return write!(f, "{rows}x{columns}"),
            Self::Issue(Issue::Dataflow) => "dataflow",
            Self::Issue(Issue::Unpipelined) => "unpipelined",
            Self::Issue(Issue::Blocking) => "blocking",
            Self::Firing(Firing::Operand) => "operand",
            Self::Firing(Firing::Phase) => "phase",
            Self::Port(Port::Own) => "own",
            Self::Port(Port::Shared) => "shared",
            Self::Transposition(Transposition::Banked) => "banked",
            Self::Transposition(Transposition::Serial) => "serial",
        };
        f.write_str(word)
    }
}

/// A parameter and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is changed.
    pub parameter: Parameter,
    /// To what, at least one.
    pub values: Vec<Value>,
}

impl FromStr for Axis {
    type Err = String;

    /// As `lanes=8,16,32`, `grid=2x2,4x4` or `issue=dataflow,blocking`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').ok_or("a parameter and its values are wanted, as lanes=8,16,32")?;
        let parameter = Parameter::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            let names = Parameter::ALL.map(Parameter::name).join(", ");
            format!("`{name}` is none of {names}")
        })?;
        let values = values.split(',').map(|value| parse(parameter, value)).collect::<Result<Vec<_>, _>>()?;
        if values.len() > MAX_POINTS {
            return Err(format!("{} values: at most {MAX_POINTS} are taken", values.len()));
        }
        Ok(Self { parameter, values })
    }
}

fn parse(parameter: Parameter, text: &str) -> Result<Value, String> {
    let wanted = |what: &str| format!("`{text}` is no value of {}: {what} is wanted", parameter.name());
    let words: &[Value] = match parameter {
        Parameter::Grid => {
            let sides =
                text.split_once('x').and_then(|(rows, columns)| Some((rows.parse().ok()?, columns.parse().ok()?)));
            return sides.map(|(rows, columns)| Value::Grid(rows, columns)).ok_or_else(|| wanted("a grid as 4x4"));
        }
        Parameter::Issue => {
            &[Value::Issue(Issue::Dataflow), Value::Issue(Issue::Unpipelined), Value::Issue(Issue::Blocking)]
        }
        Parameter::Firing => &[Value::Firing(Firing::Operand), Value::Firing(Firing::Phase)],
        Parameter::Copies | Parameter::TwiddlePort => &[Value::Port(Port::Own), Value::Port(Port::Shared)],
        Parameter::Transposition => {
            &[Value::Transposition(Transposition::Banked), Value::Transposition(Transposition::Serial)]
        }
        _ => return text.parse().map(Value::Number).map_err(|_| wanted("a number")),
    };
    let names = || words.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    words.iter().copied().find(|word| word.to_string() == text).ok_or_else(|| wanted(&names()))
}

/// What a sweep runs at every point.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is changed.
    pub axes: Vec<Axis>,
    /// Every combination; else the values of one axis after the other, with the rest as it was.
    pub product: bool,
    /// The workload, inputs in flight and runs, where no axis says otherwise.
    pub plan: Plan,
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// What was changed, as parameter and value; nothing at the machine as it is.
    pub changed: Vec<(&'static str, String)>,
    /// The record of the run.
    pub record: Option<Record>,
    /// Cycles for each input by the bound of the changed machine.
    pub ratio: Option<f64>,
    /// Why there is none.
    pub error: Option<String>,
}

/// The values that are swept where none are asked for: around our machine, each alone.
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
        number(Parameter::InFlight, &[1, 2, 3, 4, 5, 6]),
    ]
}

type Change = Vec<(Parameter, Value)>;

impl Sweep {
    /// What is changed at each point: first nothing, then one axis after the other; or all combinations.
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
        for axis in &self.axes {
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

    /// Runs all points on several threads. `progress` is told how many are done, of how many.
    ///
    /// # Errors
    /// If there are more than [`MAX_POINTS`] points. What is wrong at a point is told there.
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
        let (record, ratio, error) = match self.measure(machine, change) {
            Ok((record, ratio)) => (Some(record), Some(ratio), None),
            Err(error) => (None, None, Some(error.to_string())),
        };
        SweepPoint { changed, record, ratio, error }
    }

    fn measure(&self, machine: &Machine, change: &Change) -> Result<(Record, f64), ReportError> {
        let (mut machine, mut plan) = (machine.clone(), self.plan);
        for (parameter, value) in change {
            set(&mut machine, &mut plan, *parameter, *value);
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
        // What was changed has names of its own: a run has `lanes` and `adders`, too.
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
        Ok((record, line.ratio()))
    }
}

/// Changes one number. Other lanes leave the bytes of all memories as they are, so that a narrower core has more rows.
fn set(machine: &mut Machine, plan: &mut Plan, parameter: Parameter, value: Value) {
    match (parameter, value) {
        (Parameter::Lanes, Value::Number(lanes)) => {
            let before = machine.core.lanes;
            let rows = |rows: u32| {
                u32::try_from(u64::from(rows) * u64::from(before) / u64::from(lanes.max(1))).unwrap_or(u32::MAX)
            };
            machine.memory.data_rows = rows(machine.memory.data_rows);
            machine.memory.twiddle_rows = rows(machine.memory.twiddle_rows);
            machine.scratchpad.vectors = rows(machine.scratchpad.vectors);
            machine.core.lanes = lanes;
        }
        (Parameter::Grid, Value::Grid(rows, columns)) => {
            (machine.grid.rows, machine.grid.columns) = (rows, columns);
            machine.scratchpad.slices.clear();
        }
        (Parameter::IssueWidth, Value::Number(number)) => machine.core.issue_width = number,
        (Parameter::QueueDepth, Value::Number(number)) => machine.core.queue_depth = number,
        (Parameter::Issue, Value::Issue(issue)) => machine.core.issue = issue,
        (Parameter::Firing, Value::Firing(firing)) => machine.core.firing = firing,
        (Parameter::Adders, Value::Number(number)) => machine.lane.adders = number,
        (Parameter::MultiplierLatency, Value::Number(number)) => machine.lane.multiplier_latency = number,
        (Parameter::Copies, Value::Port(port)) => machine.lane.copies = port,
        (Parameter::CopyPorts, Value::Number(number)) => machine.lane.copy_ports = number,
        (Parameter::ArrivalPorts, Value::Number(number)) => machine.lane.arrival_ports = number,
        (Parameter::TwiddlePort, Value::Port(port)) => machine.lane.twiddle_port = port,
        (Parameter::ReadLatency, Value::Number(number)) => machine.memory.read_latency = number,
        (Parameter::WritePorts, Value::Number(number)) => machine.memory.write_ports = number,
        (Parameter::Transposition, Value::Transposition(way)) => machine.memory.transposition = way,
        (Parameter::LinkBytes, Value::Number(number)) => machine.network.link_bytes = number,
        (Parameter::HopLatency, Value::Number(number)) => machine.network.hop_latency = number,
        (Parameter::Buffer, Value::Number(number)) => machine.network.buffer = number,
        (Parameter::ScratchpadLatency, Value::Number(number)) => machine.scratchpad.latency = number,
        (Parameter::InFlight, Value::Number(number)) => plan.in_flight = Some(number as usize),
        // `parse` gives each parameter values of its own kind; another kind changes nothing.
        _ => {}
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
            ("lane=8", "`lane` is none of lanes, grid"),
            ("lanes=", "`` is no value of lanes"),
            ("lanes=8,x", "`x` is no value of lanes: a number"),
            ("lanes=99999999999", "a number"),
            ("grid=4", "a grid as 4x4"),
            ("issue=fast", "dataflow or unpipelined or blocking"),
        ] {
            let error = text.parse::<Axis>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
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
        // The last combination is the machine as it is; the first has less of both.
        assert_eq!(cycles(&all[3]), cycles(&single[0]));
        assert!(cycles(&all[0]) > cycles(&all[3]));
        // Threads change nothing.
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
