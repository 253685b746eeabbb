//! The axes of a sweep: machine parameters by name, and their values.

use std::fmt;
use std::str::FromStr;

use super::error::ReportError;
use super::run::Plan;
use super::slices::Slices;
use crate::array::{Firing, Issue, Machine, Port, Transposition};

/// The largest number of points of a sweep.
pub const MAX_POINTS: usize = 4096;

/// A machine parameter that a sweep can change.
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
    AdderLatency,
    ComplexInterval,
    ComplexLatency,
    Copies,
    CopyPorts,
    ArrivalPorts,
    TwiddlePort,
    DataRows,
    TwiddleRows,
    InstructionWords,
    ReadLatency,
    WritePorts,
    Inbox,
    Transposition,
    LinkBytes,
    HopLatency,
    Buffer,
    ScratchpadVectors,
    ScratchpadLatency,
    ScratchpadRequests,
    Slices,
    DramBytes,
    InFlight,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 31] = [
        Self::Lanes,
        Self::Grid,
        Self::IssueWidth,
        Self::QueueDepth,
        Self::Issue,
        Self::Firing,
        Self::Adders,
        Self::MultiplierLatency,
        Self::AdderLatency,
        Self::ComplexInterval,
        Self::ComplexLatency,
        Self::Copies,
        Self::CopyPorts,
        Self::ArrivalPorts,
        Self::TwiddlePort,
        Self::DataRows,
        Self::TwiddleRows,
        Self::InstructionWords,
        Self::ReadLatency,
        Self::WritePorts,
        Self::Inbox,
        Self::Transposition,
        Self::LinkBytes,
        Self::HopLatency,
        Self::Buffer,
        Self::ScratchpadVectors,
        Self::ScratchpadLatency,
        Self::ScratchpadRequests,
        Self::Slices,
        Self::DramBytes,
        Self::InFlight,
    ];

    /// The name in commands and records.
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
            Self::AdderLatency => "adder-latency",
            Self::ComplexInterval => "complex-interval",
            Self::ComplexLatency => "complex-latency",
            Self::Copies => "copies",
            Self::CopyPorts => "copy-ports",
            Self::ArrivalPorts => "arrival-ports",
            Self::TwiddlePort => "twiddle-port",
            Self::DataRows => "data-rows",
            Self::TwiddleRows => "twiddle-rows",
            Self::InstructionWords => "instruction-words",
            Self::ReadLatency => "read-latency",
            Self::WritePorts => "write-ports",
            Self::Inbox => "inbox",
            Self::Transposition => "transposition",
            Self::LinkBytes => "link-bytes",
            Self::HopLatency => "hop-latency",
            Self::Buffer => "buffer",
            Self::ScratchpadVectors => "scratchpad-vectors",
            Self::ScratchpadLatency => "scratchpad-latency",
            Self::ScratchpadRequests => "scratchpad-requests",
            Self::Slices => "slices",
            Self::DramBytes => "dram-bytes",
            Self::InFlight => "in-flight",
        }
    }
}

/// A value of a parameter: a number, a grid such as `4x4`, the placement of slices, or a word of machine files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u32),
    /// Rows and columns of cores.
    Grid(u32, u32),
    /// The issue policy.
    Issue(Issue),
    /// The firing policy.
    Firing(Firing),
    /// Separate or shared ports.
    Port(Port),
    /// The way of reading tiles.
    Transposition(Transposition),
    /// The cores with a slice of the scratchpad.
    Slices(Slices),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Number(number) => return number.fmt(f),
            Self::Slices(slices) => return slices.fmt(f),
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

/// A parameter with the values to try.
///
/// # Example
/// ```
/// use ciphermill_arch::report::{Axis, Parameter, Value};
///
/// let axis: Axis = "lanes=8,16".parse()?;
/// assert_eq!(axis, Axis { parameter: Parameter::Lanes, values: vec![Value::Number(8), Value::Number(16)] });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The parameter.
    pub parameter: Parameter,
    /// Its values, at least one.
    pub values: Vec<Value>,
}

impl FromStr for Axis {
    type Err = String;

    /// Parses `lanes=8,16,32`, `grid=2x2,4x4`, `slices=all,corners,0+5+10` or `issue=dataflow,blocking`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) =
            text.split_once('=').ok_or("expected a parameter with its values, such as lanes=8,16,32")?;
        let parameter = Parameter::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            let names = Parameter::ALL.map(Parameter::name).join(", ");
            format!("unknown parameter `{name}`; use one of {names}")
        })?;
        let values = values.split(',').map(|value| parse(parameter, value)).collect::<Result<Vec<_>, _>>()?;
        if values.len() > MAX_POINTS {
            return Err(format!("{} values exceed the limit of {MAX_POINTS}", values.len()));
        }
        Ok(Self { parameter, values })
    }
}

fn parse(parameter: Parameter, text: &str) -> Result<Value, String> {
    let wanted = |what: &str| format!("`{text}` is not a value of {}; use {what}", parameter.name());
    let words: &[Value] = match parameter {
        Parameter::Grid => {
            let sides =
                text.split_once('x').and_then(|(rows, columns)| Some((rows.parse().ok()?, columns.parse().ok()?)));
            return sides.map(|(rows, columns)| Value::Grid(rows, columns)).ok_or_else(|| wanted("a grid such as 4x4"));
        }
        Parameter::Slices => return text.parse().map(Value::Slices).map_err(|()| wanted(Slices::WANTED)),
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

/// Changes one parameter. Another number of lanes keeps the bytes of all memories, so that a narrower core has more
/// rows.
///
/// # Errors
/// [`ReportError::Value`] if the value belongs to a parameter of another kind. `parse` never returns such a value.
pub(super) fn set(
    machine: &mut Machine,
    plan: &mut Plan,
    parameter: Parameter,
    value: Value,
) -> Result<(), ReportError> {
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
        (Parameter::AdderLatency, Value::Number(number)) => machine.lane.adder_latency = number,
        (Parameter::ComplexInterval, Value::Number(number)) => machine.lane.complex_interval = number,
        (Parameter::ComplexLatency, Value::Number(number)) => machine.lane.complex_latency = number,
        (Parameter::Copies, Value::Port(port)) => machine.lane.copies = port,
        (Parameter::CopyPorts, Value::Number(number)) => machine.lane.copy_ports = number,
        (Parameter::ArrivalPorts, Value::Number(number)) => machine.lane.arrival_ports = number,
        (Parameter::TwiddlePort, Value::Port(port)) => machine.lane.twiddle_port = port,
        (Parameter::DataRows, Value::Number(number)) => machine.memory.data_rows = number,
        (Parameter::TwiddleRows, Value::Number(number)) => machine.memory.twiddle_rows = number,
        (Parameter::InstructionWords, Value::Number(number)) => machine.memory.instruction_words = number,
        (Parameter::ReadLatency, Value::Number(number)) => machine.memory.read_latency = number,
        (Parameter::WritePorts, Value::Number(number)) => machine.memory.write_ports = number,
        (Parameter::Inbox, Value::Number(number)) => machine.memory.inbox = number,
        (Parameter::Transposition, Value::Transposition(way)) => machine.memory.transposition = way,
        (Parameter::LinkBytes, Value::Number(number)) => machine.network.link_bytes = number,
        (Parameter::HopLatency, Value::Number(number)) => machine.network.hop_latency = number,
        (Parameter::Buffer, Value::Number(number)) => machine.network.buffer = number,
        (Parameter::ScratchpadVectors, Value::Number(number)) => machine.scratchpad.vectors = number,
        (Parameter::Slices, Value::Slices(slices)) => machine.scratchpad.slices = slices.cores(&machine.grid),
        (Parameter::DramBytes, Value::Number(number)) => machine.dram.bytes_per_cycle = number,
        (Parameter::ScratchpadLatency, Value::Number(number)) => machine.scratchpad.latency = number,
        (Parameter::ScratchpadRequests, Value::Number(number)) => machine.scratchpad.requests = number,
        (Parameter::InFlight, Value::Number(number)) => plan.in_flight = Some(number as usize),
        _ => return Err(ReportError::Value { parameter: parameter.name(), given: value.to_string() }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::CIPHERMILL;
    use crate::report::Workload;

    #[test]
    fn every_parameter_changes_its_number() {
        let machine = Machine::from_toml(CIPHERMILL).unwrap();
        for parameter in Parameter::ALL {
            let value = match parameter {
                Parameter::Lanes => Value::Number(16),
                Parameter::Grid => Value::Grid(2, 4),
                Parameter::Issue => Value::Issue(Issue::Blocking),
                Parameter::Firing => Value::Firing(Firing::Phase),
                Parameter::Copies | Parameter::TwiddlePort => Value::Port(Port::Shared),
                Parameter::Transposition => Value::Transposition(Transposition::Serial),
                Parameter::Slices => Value::Slices(Slices::Corners),
                _ => Value::Number(3),
            };
            let axis: Axis = format!("{}={value}", parameter.name()).parse().unwrap();
            assert_eq!((axis.parameter, &axis.values[..]), (parameter, &[value][..]));
            let (mut changed, mut plan) =
                (machine.clone(), Plan { workload: Workload::ntt(4096), in_flight: Some(1), runs: Some(2) });
            set(&mut changed, &mut plan, parameter, value).unwrap();
            assert_ne!(changed == machine, parameter != Parameter::InFlight, "{}", parameter.name());
        }
    }
}
