//! Machine descriptions: a TOML file supplies every size and latency of a simulation.

use serde::Deserialize;
use thiserror::Error;

use ciphermill_rvfhe::compiler::{Butterfly, Target};

use crate::description;

/// Our array.
pub const CIPHERMILL: &str = include_str!("../../machines/ciphermill.toml");
/// The array of the RVFHE paper.
pub const PAPER: &str = include_str!("../../machines/paper.toml");
/// Our array with cores that match the RTL lanes.
pub const LANE: &str = include_str!("../../machines/lane.toml");

/// The condition for starting computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Firing {
    /// Each computation starts when its operands are available.
    Operand,
    /// All computations of a phase start when the phase's loads are complete.
    Phase,
}

/// The issue policy of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Issue {
    /// Instructions wait in queues only for their operands and destinations.
    Dataflow,
    /// As `Dataflow`, but the lanes are not pipelined: a computation waits until the previous one has finished.
    Unpipelined,
    /// Each instruction finishes before the next one starts.
    Blocking,
}

/// The way in which a data memory reads words of several rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transposition {
    /// Rows are skewed over the banks, so that each bank supplies one word of a tile, as fast as a row.
    Banked,
    /// One row per cycle.
    Serial,
}

/// Separate or shared ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Port {
    /// Separate ports.
    Own,
    /// Ports shared with another kind of instruction.
    Shared,
}

/// The grid of cores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Rows of cores.
    pub rows: u32,
    /// Cores per row.
    pub columns: u32,
}

/// The front end of a core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Lanes, with one 32-bit word each.
    pub lanes: u32,
    /// Instructions fetched per cycle.
    pub issue_width: u32,
    /// The capacity of each queue.
    pub queue_depth: u32,
    /// The issue policy.
    pub issue: Issue,
    /// The condition for starting computations.
    pub firing: Firing,
}

/// The units of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// Adders, one or two.
    pub adders: u32,
    /// The latency of the multiplier.
    pub multiplier_latency: u32,
    /// The latency of an adder.
    pub adder_latency: u32,
    /// Whether copies have separate ports, or compete with computations.
    pub copies: Port,
    /// Copies per cycle.
    pub copy_ports: u32,
    /// Vectors per cycle from memory or network.
    pub arrival_ports: u32,
    /// Whether twiddles have a separate port, or compete with arriving vectors.
    pub twiddle_port: Port,
    /// The initiation interval of complex butterflies.
    pub complex_interval: u32,
    /// The latency of a complex butterfly.
    pub complex_latency: u32,
}

/// The memories of a core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Vectors in the data memory.
    pub data_rows: u32,
    /// Pairs of vectors in the twiddle memory.
    pub twiddle_rows: u32,
    /// Words in the instruction memory.
    pub instruction_words: u32,
    /// Cycles from the issue of a load to the register.
    pub read_latency: u32,
    /// Rows written per cycle.
    pub write_ports: u32,
    /// Capacity for vectors from other cores that wait for an empty row.
    pub inbox: u32,
    /// The way in which tiles are read.
    pub transposition: Transposition,
}

/// The three meshes: data (copies between cores), memory (scratchpad) and control (start and end of programs).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Bytes per cycle on a link.
    pub link_bytes: u32,
    /// Cycles from one router to the next.
    pub hop_latency: u32,
    /// Messages in the buffer of each of a router's five inputs.
    pub buffer: u32,
}

/// The memory shared by all cores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratchpad {
    /// Vectors in all slices.
    pub vectors: u32,
    /// Cycles from the issue of a load to the register, from the core's own slice.
    pub latency: u32,
    /// Requests of other cores that can wait at a slice.
    pub requests: u32,
    /// The cores with a slice, in order; vector v is in slice v mod their number. An empty list gives each core a
    /// slice.
    #[serde(default)]
    pub slices: Vec<u32>,
}

/// The external memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Bytes per cycle, in and out together.
    pub bytes_per_cycle: u32,
}

/// The description of an array.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
///
/// let machine = Machine::from_toml(CIPHERMILL)?;
/// assert_eq!((machine.cores(), machine.core.lanes), (16, 32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name in reports.
    pub name: String,
    /// A one-line description.
    pub description: String,
    /// The clock in GHz.
    pub clock_ghz: f64,
    /// The grid of cores.
    pub grid: Grid,
    /// The front end of a core.
    pub core: Core,
    /// The units of a lane.
    pub lane: Lane,
    /// The memories of a core.
    pub memory: Memory,
    /// The meshes.
    pub network: Network,
    /// The shared memory.
    pub scratchpad: Scratchpad,
    /// The external memory.
    pub dram: Dram,
}

/// An invalid machine description.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The text exceeds the length limit.
    #[error("the machine description has {given} bytes; at most {MAX_BYTES} are accepted")]
    TooLong {
        /// The given length.
        given: usize,
    },
    /// Not TOML, or a field is missing, unknown or of the wrong type.
    #[error("the machine description cannot be read: {0}")]
    Syntax(String),
    /// A value out of range.
    #[error("{field} is {given}; use {wanted}")]
    Value {
        /// The field, as `table.field`.
        field: &'static str,
        /// The given value.
        given: String,
        /// The allowed values.
        wanted: &'static str,
    },
}

/// The simulator's limits: queue depth, copy ports of a core, vectors that wait for a row, and messages in a router's
/// buffer.
pub(super) const MAX_QUEUE_DEPTH: u32 = 64;
pub(super) const MAX_PORTS: u32 = 4;
pub(super) const MAX_INBOX: u32 = 16;
pub(super) const MAX_BUFFER: u32 = 64;

/// The maximum length of a description in bytes.
const MAX_BYTES: usize = 1 << 16;

impl Machine {
    /// Parses and checks a description.
    ///
    /// # Errors
    /// [`MachineError`], which names the field and the allowed values.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::array::{CIPHERMILL, Machine};
    ///
    /// let narrow = CIPHERMILL.replace("lanes = 32", "lanes = 8").replace("link_bytes = 128", "link_bytes = 32");
    /// assert_eq!(Machine::from_toml(&narrow)?.core.lanes, 8);
    /// assert!(Machine::from_toml(&CIPHERMILL.replace("lanes = 32", "lanes = 0")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        if text.len() > MAX_BYTES {
            return Err(MachineError::TooLong { given: text.len() });
        }
        let machine: Self = description::read(text).map_err(MachineError::Syntax)?;
        machine.check()?;
        Ok(machine)
    }

    /// Checks all values, for machines with changed fields.
    ///
    /// # Errors
    /// [`MachineError::Value`], which names the field and the allowed values.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::array::{CIPHERMILL, Machine};
    ///
    /// let mut machine = Machine::from_toml(CIPHERMILL)?;
    /// assert!(machine.check().is_ok());
    /// machine.core.lanes = 0;
    /// assert!(machine.check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
                wanted: "a power of two up to 32, because an instruction can name 32 cores",
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
            let wanted = "at most lane.complex_latency";
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
            let wanted = "core numbers of the grid, each once";
            return Err(MachineError::Value { field: "scratchpad.slices", given: format!("{slices:?}"), wanted });
        }
        within("dram.bytes_per_cycle", self.dram.bytes_per_cycle, 1, 1 << 16, "1 to 65536")?;
        // A clock near zero would give infinite powers and energies.
        if !(1e-6..=100.0).contains(&self.clock_ghz) {
            let wanted = "0.000001 to 100";
            return Err(MachineError::Value { field: "clock_ghz", given: self.clock_ghz.to_string(), wanted });
        }
        Ok(())
    }

    /// The number of cores.
    pub fn cores(&self) -> u32 {
        self.grid.rows * self.grid.columns
    }

    /// Cycles for which a vector occupies a link.
    pub fn flits(&self) -> u32 {
        // The address travels on separate wires, next to the data.
        (self.core.lanes * 4).div_ceil(self.network.link_bytes)
    }

    /// The compiler's view of the machine.
    pub fn target(&self) -> Target {
        let lane = &self.lane;
        // By docs/hw/rvfhe_lane.md: a result is written one cycle after it is computed, and can be read in the next.
        let product = lane.multiplier_latency + 1;
        // The mean distance in a mesh, about a third of rows and columns together, plus one hop. Contention is not
        // included; the value only affects the schedule.
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
