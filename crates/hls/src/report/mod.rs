//! Reports of a design: JSON for programs, the schedule as a table of text, and as a picture.
//!
//! All figures follow from the schedule and the operations of the design; none is measured. The figures of
//! [`Estimate`] are estimates, and are marked as estimates.

mod estimate;
mod gantt;
mod hardware;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Source;
use crate::analysis::{BLOCK_READ_CYCLES, Dependence, Distance, Layout, Trusted, is_registers, read_cycles};
use crate::compile::{Design, Scheduled};
use crate::diagnostic::Place;
use crate::ir::{Graph, Memory, Node, Op, Role};
use crate::lifetimes::Lifetimes;
use crate::pragma::{Mode, Ports};
use crate::schedule::Target;

pub use estimate::Estimate;
pub(crate) use gantt::escape;
pub use hardware::{Hardware, Multiplier, Registers};

/// The schema of a [`Report`]. Its number changes with each incompatible change.
pub const SCHEMA: &str = "ciphermill.hls.design/1";

/// A report of a design.
///
/// # Example
/// ```
/// use ciphermill_hls::report::Report;
/// use ciphermill_hls::schedule::Target;
/// use ciphermill_hls::Source;
///
/// let text = "void twice(unsigned char a[8]) { for (unsigned i = 0; i < 8; i++) a[i] = a[i] & 15; }";
/// let (source, target) = (Source::new("twice.c", text), Target::ecp5(100.0));
/// let design = source.compile(&[], "twice", &target)?;
/// let report = Report::of(&design, &source, &[], &target);
/// assert_eq!(report.kernels[0].iterations, 8);
/// assert_eq!(Report::from_json(&report.to_json()).expect("the same"), report);
/// # Ok::<(), ciphermill_hls::Diagnostic>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The file of the source.
    pub source: String,
    /// The function.
    pub function: String,
    /// The macros that the compiler was given.
    pub defines: BTreeMap<String, String>,
    /// The technology and the clock.
    pub target: TargetReport,
    /// The cycles of a run.
    pub cycles: Cycles,
    /// The memories.
    pub memories: Vec<MemoryReport>,
    /// The kernels, in their order.
    pub kernels: Vec<KernelReport>,
    /// The hardware of all kernels.
    pub hardware: Hardware,
    /// An estimate of the resources.
    pub estimate: Estimate,
}

/// The technology and the clock of a [`Report`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Its name.
    pub name: String,
    /// The clock that the schedule is made for.
    pub mhz: f64,
    /// Picoseconds of the longest path by the delays of the technology, to the setup of its last register.
    #[serde(default)]
    pub longest_ps: u32,
}

impl TargetReport {
    /// The greatest clock in MHz whose period has room for the longest path.
    #[must_use]
    pub fn attainable_mhz(&self) -> u32 {
        // The path is rounded to a picosecond.
        (1e6 / (f64::from(self.longest_ps.max(1)) - 0.5)) as u32
    }
}

/// The cycles of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    /// The kind of the figure: `analytic`, as it follows from the schedule.
    pub kind: String,
    /// The number of cycles from `start_i` to `done_o`.
    pub start_to_done: u64,
    /// The sum from which the figure follows.
    pub follows: String,
}

/// A place in a source or a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
}

impl Position {
    fn of(place: Place, source: &Source) -> Self {
        Self { file: source.file(place.file).to_owned(), line: place.line, column: place.column }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A memory of a [`Report`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Its name in the source, with a number if several have it.
    pub name: String,
    /// The declaration.
    pub place: Position,
    /// `parameter`, `local`, `result` or `table`.
    pub role: String,
    /// The number of elements.
    pub elements: usize,
    /// The bits of an element.
    pub bits: u32,
    /// The number of banks.
    pub banks: usize,
    /// Elements of a bank.
    pub rows: usize,
    /// The ports of a bank: `read and write`, `two of any`, `registers`, or `copy for each access` of a table; `stream in` or
    /// `stream out` of a stream, which has no banks.
    pub ports: String,
    /// Cycles from the request of a read to its data: 3 from a block memory, 2 from a memory of LUTs, 1 from a table or a
    /// stream, 0 from registers.
    pub read_cycles: u32,
}

/// A loop of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopReport {
    /// Its label in the source, or its variable.
    pub name: String,
    /// The place of the loop.
    pub place: Position,
    /// The variable's first value.
    pub first: i64,
    /// The step from iteration to iteration.
    pub step: i64,
    /// The number of iterations.
    pub trips: usize,
}

/// The interval between two iterations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Whether the source asks for a pipeline.
    pub pipelined: bool,
    /// The interval that the source asks for.
    pub requested: Option<u32>,
    /// The least interval that the ports of the memories allow.
    pub ports: u32,
    /// The least interval that the dependences allow.
    pub dependences: u32,
    /// The interval of the schedule.
    pub reached: u32,
    /// Whether the schedule reaches the larger one of the two bounds.
    pub at_bound: bool,
    /// Whether it is proven that no shorter interval ends the run earlier with an iteration at most twice as long.
    #[serde(default)]
    pub proven: bool,
}

/// A kernel of a [`Report`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// The place of its first loop, or of its first statement.
    pub place: Position,
    /// Its loops, the outermost first.
    pub loops: Vec<LoopReport>,
    /// The number of iterations of all loops.
    pub iterations: usize,
    /// The cycles between two iterations.
    pub interval: Interval,
    /// Idle cycles after each run of the innermost loop.
    pub gap: u32,
    /// Cycles of an iteration.
    pub depth: u32,
    /// Cycles from the first iteration to the last write.
    pub cycles: u64,
    /// How the cycles follow from interval, gap and depth.
    pub follows: String,
    /// The operations that the hardware has, without constants.
    pub operations: Vec<Operation>,
    /// The reads and writes of an iteration.
    pub accesses: Vec<AccessReport>,
    /// The dependences among the accesses.
    pub dependences: Vec<DependenceReport>,
    /// The dependences that a pragma declares to be absent, and that depend on data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<TrustedReport>,
    /// The hardware of the kernel.
    pub hardware: Hardware,
}

/// An operation of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// `n` and its number in the kernel.
    pub id: String,
    /// The variable of the source, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `add`, `sub`, `mul`, `and`, `or`, `xor`, `shl`, `shr`, `lt`, `eq`, `select`, `div`, `rem`, `loop` or `read`.
    pub kind: String,
    /// Identifiers of operations, and constants.
    pub operands: Vec<String>,
    /// The bits of the result, with those of its sign.
    pub bits: u32,
    /// Whether the result can be below zero.
    pub signed: bool,
    /// Whether it depends on loop variables alone.
    pub index: bool,
    /// The cycle in which the operation reads its operands.
    pub begin: u32,
    /// The cycle in which the result is present.
    pub cycle: u32,
    /// The last cycle in which the result is used.
    pub until: u32,
    /// Picoseconds from the clock edge to the beginning of the operation, where it has no registers.
    pub from_ps: u32,
    /// Picoseconds from the clock edge to the result.
    pub to_ps: u32,
    /// The line in the source, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Position>,
}

/// A read or a write of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessReport {
    /// Its number in the kernel.
    pub id: usize,
    /// The memory.
    pub memory: String,
    /// `read` or `write`.
    pub kind: String,
    /// The port of the bank, where ports are numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// The cycle of the request to the bank.
    pub cycle: u32,
    /// The written operation or constant; the operation that a read becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The index of each dimension.
    pub indices: Vec<String>,
    /// Whether it happens only where a condition holds.
    pub conditional: bool,
    /// The place in the source.
    pub place: Position,
}

/// One access that must come after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependenceReport {
    /// `read after write`, `write after read`, `write after write` or `next of stream`.
    pub why: String,
    /// The number of the first access.
    pub first: usize,
    /// The number of the second access.
    pub second: usize,
    /// The least number of iterations between them.
    pub iterations: usize,
    /// Whether an end of the innermost loop lies between them.
    pub across_runs: bool,
}

/// A dependence that a pragma declares to be absent. The compiler cannot prove it, because it depends on data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedReport {
    /// The memory.
    pub memory: String,
    /// `read after write`, `write after read` or `write after write`.
    pub why: String,
    /// The number of the access of the earlier iteration.
    pub first: usize,
    /// The number of the access of the later iteration.
    pub second: usize,
    /// The module asserts that the accesses do not meet in iterations that are up to this number apart. Iterations that are
    /// farther apart are in order.
    pub asserted: usize,
    /// The pragma.
    pub place: Position,
}

impl Report {
    /// The report of a design, from the arguments with which it was compiled.
    #[must_use]
    pub fn of(design: &Design, source: &Source, defines: &[(String, String)], target: &Target) -> Self {
        let kernels: Vec<KernelReport> =
            design.kernels.iter().map(|kernel| Writer { design, source, target, kernel }.kernel()).collect();
        let accesses = |number: usize| {
            let all = design.kernels.iter().flat_map(|one| &one.kernel.accesses);
            all.filter(move |access| access.memory == number)
        };
        // Tables without a read at run time are not in the hardware.
        let is_read = |number: usize| accesses(number).next().is_some();
        let all = design.program.memories.iter().enumerate();
        let memories: Vec<MemoryReport> = all
            .filter(|(number, memory)| !matches!(memory.role, Role::Table(_)) || is_read(*number))
            .map(|(_, memory)| self::memory(memory, design.is_stream_written(memory), source))
            .collect();
        let mut hardware = kernels.iter().fold(Hardware::default(), |all, one| all.plus(&one.hardware));
        hardware.registers.arrays = design.program.memories.iter().map(hardware::array_bits).sum();
        // If an iteration has one cycle, the end of the kernel is detected one cycle later.
        let term =
            |one: &KernelReport| if one.depth == 1 { format!("({} + 1)", one.cycles) } else { one.cycles.to_string() };
        let late = if design.begins_at_once() { None } else { Some("1".to_owned()) };
        let terms: Vec<String> = late.into_iter().chain(kernels.iter().map(term)).collect();
        Self {
            schema: SCHEMA.to_owned(),
            source: source.name().to_owned(),
            function: design.program.name.clone(),
            defines: defines.iter().cloned().collect(),
            target: TargetReport {
                name: target.name.clone(),
                mhz: (1e6 / target.period).round() / 1e3,
                longest_ps: longest_ps(&kernels, &memories, target),
            },
            cycles: Cycles {
                kind: "analytic".to_owned(),
                start_to_done: design.run_cycles(),
                follows: terms.join(" + "),
            },
            estimate: Estimate::of(design, &hardware),
            memories,
            kernels,
            hardware,
        }
    }

    /// The report as indented JSON with a line feed at its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // All keys are text and all numbers finite, so every report has a JSON form.
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }

    /// Reads a report.
    ///
    /// # Errors
    /// If the text is not JSON of a report.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The longest path from register to register.
fn longest_ps(kernels: &[KernelReport], memories: &[MemoryReport], target: &Target) -> u32 {
    let operations = kernels.iter().flat_map(|kernel| &kernel.operations);
    let slowest = operations.map(|one| one.to_ps).max().unwrap_or(0);
    // A block memory has a register behind its data, with no operation in between.
    let has_block = memories.iter().any(|memory| memory.read_cycles == BLOCK_READ_CYCLES);
    let ps = |ns: f64| (ns * 1e3).round() as u32;
    slowest.max(if has_block { ps(target.block_out) } else { 0 }) + ps(target.setup)
}

fn memory(memory: &Memory, is_stream_written: bool, source: &Source) -> MemoryReport {
    let layout = Layout::of(memory);
    let ports = match (&memory.role, memory.ports) {
        (Role::Table(_), _) => "copy for each access",
        _ if memory.mode == Some(Mode::Stream) && is_stream_written => "stream out",
        _ if memory.mode == Some(Mode::Stream) => "stream in",
        _ if is_registers(memory) => "registers",
        (_, Ports::ReadAndWrite) => "read and write",
        (_, Ports::TwoOfAny) => "two of any",
    };
    let role = match memory.role {
        Role::Parameter => "parameter",
        Role::Local => "local",
        Role::Result => "result",
        Role::Table(_) => "table",
    };
    MemoryReport {
        name: memory.name.clone(),
        place: Position::of(memory.place, source),
        role: role.to_owned(),
        elements: memory.len(),
        bits: memory.bits(),
        banks: layout.banks,
        rows: layout.depth,
        ports: ports.to_owned(),
        read_cycles: read_cycles(memory),
    }
}

/// The parts of a kernel's report.
struct Writer<'a> {
    design: &'a Design,
    source: &'a Source,
    target: &'a Target,
    kernel: &'a Scheduled,
}

impl Writer<'_> {
    fn graph(&self) -> &Graph {
        &self.kernel.kernel.graph
    }

    fn kernel(&self) -> KernelReport {
        let (kernel, schedule) = (&self.kernel.kernel, &self.kernel.schedule);
        let lifetimes = Lifetimes::of(self.kernel, &self.design.program.memories);
        let loops = kernel.loops.iter().map(|one| LoopReport {
            name: one.name.clone(),
            place: Position::of(one.place, self.source),
            first: one.first,
            step: one.step,
            trips: one.trips,
        });
        let (ports, dependences) = schedule.bounds;
        let iterations = kernel.iterations();
        let runs = iterations / kernel.loops.last().map_or(1, |one| one.trips.max(1));
        let (interval, gap, depth) = (schedule.interval, schedule.gap, schedule.depth);
        KernelReport {
            name: kernel.name.clone(),
            place: Position::of(kernel.place, self.source),
            loops: loops.collect(),
            iterations,
            interval: Interval {
                pipelined: kernel.pipeline.is_some(),
                requested: kernel.pipeline.flatten(),
                ports,
                dependences,
                reached: interval,
                at_bound: interval <= ports.max(dependences),
                proven: schedule.proven,
            },
            gap,
            depth,
            cycles: schedule.cycles(kernel),
            follows: format!(
                "{interval}·{} + {gap}·{} + {depth}",
                iterations.saturating_sub(1),
                runs.saturating_sub(1)
            ),
            operations: lifetimes.nodes().map(|node| self.operation(node, &lifetimes)).collect(),
            accesses: (0..kernel.accesses.len()).map(|access| self.access(access)).collect(),
            dependences: self.kernel.distances.iter().map(dependence).collect(),
            trusted: self.kernel.trusted.iter().map(|one| self.trusted(one)).collect(),
            hardware: Hardware::of(self.kernel, &self.design.program.memories, &lifetimes),
        }
    }

    fn trusted(&self, one: &Trusted) -> TrustedReport {
        let memory = self.kernel.kernel.accesses[one.first].memory;
        TrustedReport {
            memory: self.design.program.memories[memory].name.clone(),
            why: why(one.why).to_owned(),
            first: one.first,
            second: one.second,
            asserted: self.kernel.early(self.design, one).len(),
            place: Position::of(one.place, self.source),
        }
    }

    /// A constant, or the identifier of an operation.
    fn operand(&self, node: Node) -> String {
        self.graph().constant(node).map_or_else(|| format!("n{}", node.index()), |value| value.to_string())
    }

    fn operation(&self, node: Node, lifetimes: &Lifetimes) -> Operation {
        let kernel = &self.kernel.kernel;
        let data = self.graph().get(node);
        let (kind, operands) = match data.op {
            Op::Const(_) => ("const", Vec::new()),
            Op::Loop(_) => ("loop", Vec::new()),
            Op::Read(access) => ("read", vec![format!("x{access}")]),
            Op::Div(a, by) => ("div", vec![self.operand(a), by.to_string()]),
            Op::Rem(a, by) => ("rem", vec![self.operand(a), by.to_string()]),
            op => (kind(op), op.operands().into_iter().map(|one| self.operand(one)).collect()),
        };
        // The graph keeps places for loops and accesses only.
        let (name, place) = match data.op {
            Op::Loop(level) => (Some(kernel.loops[level].name.clone()), Some(kernel.loops[level].place)),
            Op::Read(access) => (None, Some(kernel.accesses[access].place)),
            _ => (None, None),
        };
        let name = name.or_else(|| self.graph().name_of(node).map(str::to_owned));
        let (bits, signed) = self.kernel.widths.get(self.graph(), node);
        let (cycle, time) = self.kernel.schedule.nodes[node.index()];
        let (delay, registers) = self.target.operation(self.graph(), &self.kernel.widths, node);
        let delay = match data.op {
            Op::Read(_) | Op::Loop(_) => time,
            _ => delay,
        };
        let ps = |ns: f64| (ns * 1e3).round().max(0.0) as u32;
        Operation {
            id: format!("n{}", node.index()),
            name,
            kind: kind.to_owned(),
            operands,
            bits,
            signed,
            index: data.is_known(),
            begin: cycle.saturating_sub(registers),
            cycle,
            until: lifetimes.last(node).unwrap_or(cycle),
            from_ps: if registers > 0 { 0 } else { ps(time - delay) },
            to_ps: ps(time),
            place: place.map(|place| Position::of(place, self.source)),
        }
    }

    fn access(&self, id: usize) -> AccessReport {
        let kernel = &self.kernel.kernel;
        let access = &kernel.accesses[id];
        let memory = &self.design.program.memories[access.memory];
        let numbered = memory.ports == Ports::TwoOfAny && !is_registers(memory);
        let read = self.graph().nodes().find(|(_, data)| data.op == Op::Read(id)).map(|(node, _)| node);
        AccessReport {
            id,
            memory: self.design.program.memories[access.memory].name.clone(),
            kind: if access.written.is_some() { "write" } else { "read" }.to_owned(),
            port: numbered.then(|| self.kernel.schedule.ports[id].into()),
            cycle: self.kernel.schedule.accesses[id],
            value: access.written.or(read).map(|node| self.operand(node)),
            indices: access.indices.iter().map(|&node| self.operand(node)).collect(),
            conditional: access.condition.is_some(),
            place: Position::of(access.place, self.source),
        }
    }
}

fn kind(op: Op) -> &'static str {
    match op {
        Op::Const(_) => "const",
        Op::Loop(_) => "loop",
        Op::Read(_) => "read",
        Op::Add(..) => "add",
        Op::Sub(..) => "sub",
        Op::Mul(..) => "mul",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "xor",
        Op::Shl(..) => "shl",
        Op::Shr(..) => "shr",
        Op::Lt(..) => "lt",
        Op::Eq(..) => "eq",
        Op::Select(..) => "select",
        Op::Div(..) => "div",
        Op::Rem(..) => "rem",
    }
}

fn why(dependence: Dependence) -> &'static str {
    match dependence {
        Dependence::ReadAfterWrite => "read after write",
        Dependence::WriteAfterRead => "write after read",
        Dependence::WriteAfterWrite => "write after write",
        Dependence::NextOfStream => "next of stream",
    }
}

fn dependence(one: &Distance) -> DependenceReport {
    DependenceReport {
        why: why(one.why).to_owned(),
        first: one.first,
        second: one.second,
        iterations: one.iterations,
        across_runs: one.ends > 0,
    }
}
