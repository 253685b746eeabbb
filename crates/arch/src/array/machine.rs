//! Descriptions of arrays: every size and latency that a simulation uses comes from a TOML file.

use serde::Deserialize;
use thiserror::Error;

use ciphermill_rvfhe::compiler::{Butterfly, Target};

use crate::description;

/// Our array.
pub const CIPHERMILL: &str = include_str!("../../machines/ciphermill.toml");
/// The paper's.
pub const PAPER: &str = include_str!("../../machines/paper.toml");
/// Ours with cores as the RTL of the lanes has them.
pub const LANE: &str = include_str!("../../machines/lane.toml");

/// When computations start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Firing {
    /// Each when its operands are there.
    Operand,
    /// All of a phase when the phase's loads are done.
    Phase,
}

/// How a core goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Issue {
    /// Instructions wait in queues for what they need, and no longer.
    Dataflow,
    /// The same, but a computation waits until the lanes are done with the one before: they are no pipeline.
    Unpipelined,
    /// One instruction is done before the next one begins.
    Blocking,
}

/// How a data memory reads words of several rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transposition {
    /// Rows are skewed over the banks, so that each bank gives one word of a tile: as fast as a row.
    Banked,
    /// One row after the other.
    Serial,
}

/// Whether something has ports of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Port {
    /// Its own.
    Own,
    /// It takes the turn of something else.
    Shared,
}

/// How cores stand.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Rows of cores.
    pub rows: u32,
    /// Cores of a row.
    pub columns: u32,
}

/// What issues instructions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Lanes, of one 32-bit word each.
    pub lanes: u32,
    /// Instructions fetched in a cycle.
    pub issue_width: u32,
    /// Instructions in each queue.
    pub queue_depth: u32,
    /// How it goes on.
    pub issue: Issue,
    /// When computations start.
    pub firing: Firing,
}

/// What a lane has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// One or two.
    pub adders: u32,
    /// Stages of the multiplier.
    pub multiplier_latency: u32,
    /// Stages of an adder.
    pub adder_latency: u32,
    /// Whether copies are issued beside computations.
    pub copies: Port,
    /// Copies in a cycle.
    pub copy_ports: u32,
    /// Vectors from memory or network in a cycle.
    pub arrival_ports: u32,
    /// Whether twiddles arrive beside vectors.
    pub twiddle_port: Port,
    /// Cycles from one complex butterfly to the next.
    pub complex_interval: u32,
    /// From a complex butterfly's issue to its results in the registers.
    pub complex_latency: u32,
}

/// A core's memories.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Vectors of the data memory.
    pub data_rows: u32,
    /// Pairs of vectors of the twiddle memory.
    pub twiddle_rows: u32,
    /// Words of the instruction memory.
    pub instruction_words: u32,
    /// From a load's issue to the register.
    pub read_latency: u32,
    /// Rows written in a cycle.
    pub write_ports: u32,
    /// Vectors from other cores that wait for their rows to be empty.
    pub inbox: u32,
    /// How tiles are read.
    pub transposition: Transposition,
}

/// The three meshes: copies between cores, vectors of the scratchpad, and what starts and ends programs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Bytes that a link carries in a cycle.
    pub link_bytes: u32,
    /// From one router to the next.
    pub hop_latency: u32,
    /// Messages that a router holds for each of its five inputs.
    pub buffer: u32,
}

/// The memory that all cores share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratchpad {
    /// Vectors, over all slices.
    pub vectors: u32,
    /// From a load's issue to the register, from the core's own slice.
    pub latency: u32,
    /// Requests of other cores that wait at a slice.
    pub requests: u32,
    /// The cores that have a slice, in order; vector v is in the slice v mod their number. Each core has one if there are none here.
    #[serde(default)]
    pub slices: Vec<u32>,
}

/// What is outside.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Bytes in a cycle, in and out together.
    pub bytes_per_cycle: u32,
}

/// An array.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name, as reports have it.
    pub name: String,
    /// One line on what is particular.
    pub description: String,
    /// Cycles in a nanosecond.
    pub clock_ghz: f64,
    /// How cores stand.
    pub grid: Grid,
    /// What issues instructions.
    pub core: Core,
    /// What a lane has.
    pub lane: Lane,
    /// A core's memories.
    pub memory: Memory,
    /// The mesh.
    pub network: Network,
    /// The shared memory.
    pub scratchpad: Scratchpad,
    /// What is outside.
    pub dram: Dram,
}

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The text is longer than any description.
    #[error("a machine description of {given} bytes; at most {MAX_BYTES} are read")]
    TooLong {
        /// Its length.
        given: usize,
    },
    /// No TOML, a field that is missing, unknown or of another type.
    #[error("the machine description cannot be read: {0}")]
    Syntax(String),
    /// A value that no machine can have.
    #[error("{field} is {given}; it must be {wanted}")]
    Value {
        /// Which, as `table.field`.
        field: &'static str,
        /// What it is.
        given: String,
        /// What it may be.
        wanted: &'static str,
    },
}

/// Places of a queue, ports of a core for copies, vectors that wait for a row, and messages in a buffer of a router, at most: the simulator has places for so
/// many.
pub(super) const MAX_QUEUE_DEPTH: u32 = 64;
pub(super) const MAX_PORTS: u32 = 4;
pub(super) const MAX_INBOX: u32 = 16;
pub(super) const MAX_BUFFER: u32 = 64;

/// Bytes of a description, at most.
const MAX_BYTES: usize = 1 << 16;

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    /// [`MachineError`] names the field and what it may be.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        if text.len() > MAX_BYTES {
            return Err(MachineError::TooLong { given: text.len() });
        }
        let machine: Self = description::read(text).map_err(MachineError::Syntax)?;
        machine.check()?;
        Ok(machine)
    }

    /// Checks all numbers: for machines whose fields were changed.
    ///
    /// # Errors
    /// [`MachineError::Value`] names the field and what it may be.
    pub fn check(&self) -> Result<(), MachineError> {
        fn within(
            field: &'static str,
            given: u32,
            min: u32,
            max: u32,
            wanted: &'static str,
        ) -> Result<(), MachineError> {
            if (min..=max).contains(&given) {
                Ok(())
            } else {
                Err(MachineError::Value { field, given: given.to_string(), wanted })
            }
        }
        let (grid, core, lane, memory) = (&self.grid, &self.core, &self.lane, &self.memory);
        within("grid.rows", grid.rows, 1, 32, "1 to 32")?;
        within("grid.columns", grid.columns, 1, 32, "1 to 32")?;
        let cores = grid.rows * grid.columns;
        if !cores.is_power_of_two() || cores > 32 {
            return Err(MachineError::Value {
                field: "grid.rows times grid.columns",
                given: cores.to_string(),
                wanted: "a power of two up to 32, the cores that an instruction can name",
            });
        }
        if !core.lanes.is_power_of_two() || !(2..=32).contains(&core.lanes) {
            let wanted = "a power of two from 2 to 32";
            return Err(MachineError::Value { field: "core.lanes", given: core.lanes.to_string(), wanted });
        }
        within("core.issue_width", core.issue_width, 1, 16, "1 to 16")?;
        within("core.queue_depth", core.queue_depth, 1, MAX_QUEUE_DEPTH, "1 to 64")?;
        within("lane.adders", lane.adders, 1, 2, "1 or 2")?;
        within("lane.multiplier_latency", lane.multiplier_latency, 1, 12, "1 to 12")?;
        within("lane.adder_latency", lane.adder_latency, 1, 4, "1 to 4")?;
        within("lane.copy_ports", lane.copy_ports, 1, MAX_PORTS, "1 to 4")?;
        within("lane.arrival_ports", lane.arrival_ports, 1, 4, "1 to 4")?;
        within("lane.complex_interval", lane.complex_interval, 1, 16, "1 to 16")?;
        within("lane.complex_latency", lane.complex_latency, 1, 28, "1 to 28")?;
        if lane.complex_interval > lane.complex_latency {
            let given = lane.complex_interval.to_string();
            let wanted =
                "at most lane.complex_latency: a unit has a result when it begins the next one, or before that";
            return Err(MachineError::Value { field: "lane.complex_interval", given, wanted });
        }
        within("memory.data_rows", memory.data_rows, 1, 1 << 16, "1 to 65536")?;
        within("memory.twiddle_rows", memory.twiddle_rows, 1, 1 << 16, "1 to 65536")?;
        within("memory.instruction_words", memory.instruction_words, 1, 1 << 20, "1 to 1048576")?;
        within("memory.read_latency", memory.read_latency, 1, 16, "1 to 16")?;
        within("memory.write_ports", memory.write_ports, 1, 4, "1 to 4")?;
        within("memory.inbox", memory.inbox, 1, MAX_INBOX, "1 to 16")?;
        within("network.link_bytes", self.network.link_bytes, 1, 1024, "1 to 1024")?;
        within("network.hop_latency", self.network.hop_latency, 1, 16, "1 to 16")?;
        within("network.buffer", self.network.buffer, 1, MAX_BUFFER, "1 to 64")?;
        within("scratchpad.vectors", self.scratchpad.vectors, 1, 1 << 20, "1 to 1048576")?;
        within("scratchpad.latency", self.scratchpad.latency, 1, 28, "1 to 28")?;
        within("scratchpad.requests", self.scratchpad.requests, 1, 64, "1 to 64")?;
        let slices = &self.scratchpad.slices;
        let twice = |at: usize| slices[..at].contains(&slices[at]);
        if slices.len() > cores as usize || slices.iter().any(|slice| *slice >= cores) || (0..slices.len()).any(twice) {
            let wanted = "numbers of cores, each at most once";
            return Err(MachineError::Value { field: "scratchpad.slices", given: format!("{slices:?}"), wanted });
        }
        within("dram.bytes_per_cycle", self.dram.bytes_per_cycle, 1, 1 << 16, "1 to 65536")?;
        // A clock that is as good as none makes powers and energies that are no numbers.
        if !(1e-6..=100.0).contains(&self.clock_ghz) {
            let wanted = "0.000001 to 100";
            return Err(MachineError::Value { field: "clock_ghz", given: self.clock_ghz.to_string(), wanted });
        }
        Ok(())
    }

    /// How many cores there are.
    pub fn cores(&self) -> u32 {
        self.grid.rows * self.grid.columns
    }

    /// Cycles in which a message occupies a link: those of a vector.
    pub fn flits(&self) -> u32 {
        // The address travels beside the data, on wires of its own.
        (self.core.lanes * 4).div_ceil(self.network.link_bytes)
    }

    /// What the compiler has to know.
    pub fn target(&self) -> Target {
        let lane = &self.lane;
        // As in docs/hw/rvfhe_lane.md: a result is written a cycle after it is made, and can be read in the next.
        let product = lane.multiplier_latency + 1;
        // The mean way in a mesh, about a third of rows and columns together, and one hop more. Contention is not in it: it only chooses an order.
        let hops = (self.grid.rows + self.grid.columns) / 3 + 1;
        Target {
            cores: self.cores(),
            lanes: self.core.lanes,
            data_rows: self.memory.data_rows,
            twiddle_rows: self.memory.twiddle_rows,
            instructions: self.memory.instruction_words,
            scratchpad_vectors: self.scratchpad.vectors,
            butterfly: Butterfly {
                interval: 3 - lane.adders,
                latency: product + lane.adder_latency,
                second: 2 - lane.adders,
            },
            complex_butterfly: Butterfly {
                interval: lane.complex_interval,
                latency: lane.complex_latency + 1,
                second: 0,
            },
            product_latency: product,
            sum_latency: lane.adder_latency + 1,
            load_latency: self.memory.read_latency + 1,
            scratchpad_latency: self.scratchpad.latency + 1,
            own_latency: 2,
            remote_latency: 2 + hops * self.network.hop_latency * self.flits(),
            loads_per_cycle: lane.arrival_ports,
            copies_per_cycle: lane.copy_ports,
            copies_compete: lane.copies == Port::Shared,
            per_phase: self.core.firing == Firing::Phase,
        }
    }
}
