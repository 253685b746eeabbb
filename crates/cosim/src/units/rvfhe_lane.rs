//! `rvfhe_lane`: the lanes of one core of the RVFHE array.

use crate::model::{Configuration, Model, Port};

/// Bits of a word.
const WIDTH: u32 = 32;
const MUL_LATENCY: u64 = 6;

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOp {
    /// rd = rs1 + rs2.
    Madd = 0,
    /// rd = rs1 − rs2.
    Msub = 1,
    /// rd = rs1 · twiddle rs2.
    Mmul = 2,
    /// (rd, rs1) = (rd + rs1 · twiddle rs2, rd − rs1 · twiddle rs2).
    Mbfly = 3,
    /// rs1 to register rd of core rs2.
    Copy = 4,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneInstruction {
    /// The operation.
    pub op: LaneOp,
    /// Below 8.
    pub modulus: u8,
    /// Below 32.
    pub rd: u8,
    /// Below 32.
    pub rs1: u8,
    /// Below 32; below 16 where it is a twiddle register.
    pub rs2: u8,
    /// Whether rs1 is empty once it has been read.
    pub free_rs1: bool,
    /// Whether rs2 is.
    pub free_rs2: bool,
}

impl LaneInstruction {
    /// The beat that the lanes take.
    pub fn encode(self) -> u32 {
        let field = |value: u8, bits: u32, place: u32| {
            assert!(value >> bits == 0, "{value} does not fit {bits} bits: {self:?}");
            u32::from(value) << place
        };
        field(self.rd, 5, 0)
            | field(self.rs1, 5, 5)
            | field(self.rs2, 5, 10)
            | u32::from(self.free_rs1) << 15
            | u32::from(self.free_rs2) << 16
            | field(self.modulus, 3, 17)
            | (self.op as u32) << 20
    }
}

/// Where an arrival goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneTarget {
    /// A register.
    Register(u8),
    /// The factors of a twiddle register.
    Factor(u8),
    /// Shoup's companions of the factors.
    Companion(u8),
}

impl LaneTarget {
    fn encode(self) -> u64 {
        let (value, count, index) = match self {
            Self::Register(index) => (u64::from(index), 32, index),
            Self::Factor(index) => (32 + 2 * u64::from(index), 16, index),
            Self::Companion(index) => (33 + 2 * u64::from(index), 16, index),
        };
        assert!(index < count, "{self:?}: there are {count}");
        value
    }
}

/// The inputs of the lanes in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneInputs<'a> {
    /// An instruction, encoded.
    pub instruction: Option<u32>,
    /// A value, one word a lane.
    pub arrival: Option<(LaneTarget, &'a [u64])>,
    /// A modulus register and its modulus.
    pub modulus: Option<(u8, u64)>,
    /// Whether the network takes a copy.
    pub copy_ready: bool,
}

/// A value for another core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneCopy {
    /// The core.
    pub core: u8,
    /// The register there.
    pub register: u8,
    /// One word a lane.
    pub data: Vec<u64>,
}

/// The outputs of the lanes in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneOutputs {
    /// Whether they take the instruction that is offered, or would take one.
    pub instruction_ready: bool,
    /// Whether they take the arrival that is offered; false without one.
    pub arrival_taken: bool,
    /// The copy at the port, until the network accepts it.
    pub copy: Option<LaneCopy>,
    /// Whether nothing is inside.
    pub idle: bool,
}

/// Why an instruction was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneError {
    /// Its modulus register is not set.
    Modulus(u8),
    /// There is no such operation or twiddle register, or it is a butterfly of one register.
    Encoding,
}

/// What became of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneEvent {
    /// The operation issued.
    Issued(LaneOp),
    /// An instruction was refused.
    Refused,
    /// There was no instruction.
    Empty,
    /// An operand was not full.
    Operand,
    /// A result was in progress for the destination.
    Destination,
    /// The adder was taken.
    Adder,
    /// The write port was taken.
    Port,
    /// The last copy had not been taken.
    Network,
}

impl LaneEvent {
    /// The place of this event's counter.
    fn index(self) -> usize {
        match self {
            Self::Issued(op) => op as usize,
            Self::Refused => 5,
            Self::Empty => 6,
            Self::Operand => 7,
            Self::Destination => 8,
            Self::Adder => 9,
            Self::Port => 10,
            Self::Network => 11,
        }
    }
}

/// Cycles since reset, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneCounters {
    /// All cycles.
    pub cycles: u64,
    events: [u64; 12],
}

impl LaneCounters {
    /// The cycles of which this became.
    pub fn get(&self, event: LaneEvent) -> u64 {
        self.events[event.index()]
    }

    /// Counts a cycle.
    pub fn count(&mut self, event: LaneEvent) {
        self.cycles += 1;
        self.events[event.index()] += 1;
    }
}

/// The lanes of one core.
#[derive(Debug)]
pub struct RvfheLane {
    model: Model,
    lanes: usize,
    adders: u64,
    instruction: [Port; 3],
    arrival: [Port; 4],
    modulus: [Port; 3],
    copy: [Port; 5],
    error: [Port; 2],
    idle: Port,
    counters: [Port; 2],
}

impl RvfheLane {
    /// An instance of a configuration of `rvfhe_lane`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let instruction = ["instruction_valid_i", "instruction_ready_o", "instruction_i"].map(port);
        let arrival = ["arrival_valid_i", "arrival_ready_o", "arrival_target_i", "arrival_data_i"].map(port);
        let modulus = ["modulus_valid_i", "modulus_index_i", "modulus_value_i"].map(port);
        let copy = ["copy_valid_o", "copy_ready_i", "copy_core_o", "copy_register_o", "copy_data_o"].map(port);
        let error = ["error_o", "error_modulus_o"].map(port);
        let (idle, counters) = (port("idle_o"), ["cycles_o", "events_o"].map(port));
        let (lanes, adders) = (configuration.parameter("Lanes") as usize, configuration.parameter("Adders") as u64);
        let mut unit = Self { model, lanes, adders, instruction, arrival, modulus, copy, error, idle, counters };
        unit.reset();
        unit
    }

    /// Words of a vector.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Adders of a lane.
    pub fn adders(&self) -> u64 {
        self.adders
    }

    /// Cycles from the issue of a butterfly until both results are written.
    pub fn butterfly_latency(&self) -> u64 {
        MUL_LATENCY + 3 - self.adders
    }

    /// Forgets everything: registers are empty, moduli unset, counters zero.
    pub fn reset(&mut self) {
        for valid in [self.instruction[0], self.arrival[0], self.modulus[0]] {
            self.model.set(valid, 0);
        }
        self.model.reset();
    }

    /// One cycle: offers the inputs, returns the outputs, and then the clock edge.
    pub fn step(&mut self, inputs: &LaneInputs<'_>) -> LaneOutputs {
        let [valid, ready, beat] = self.instruction;
        self.model.set(valid, u64::from(inputs.instruction.is_some()));
        self.model.set(beat, u64::from(inputs.instruction.unwrap_or_default()));
        let [arrives, arrival_ready, target, arrival_data] = self.arrival;
        self.model.set(arrives, u64::from(inputs.arrival.is_some()));
        if let Some((to, data)) = inputs.arrival {
            self.model.set(target, to.encode());
            self.model.set_elements(arrival_data, WIDTH, data);
        }
        let [sets, index, value] = self.modulus;
        self.model.set(sets, u64::from(inputs.modulus.is_some()));
        if let Some((register, modulus)) = inputs.modulus {
            self.model.set(index, u64::from(register));
            self.model.set(value, modulus);
        }
        let [copies, copy_ready, core, register, copy_data] = self.copy;
        self.model.set(copy_ready, u64::from(inputs.copy_ready));
        self.model.eval();
        let copy = (self.model.get(copies) == 1).then(|| {
            let mut data = Vec::new();
            self.model.get_elements(copy_data, WIDTH, &mut data);
            LaneCopy { core: self.model.get(core) as u8, register: self.model.get(register) as u8, data }
        });
        let outputs = LaneOutputs {
            instruction_ready: self.model.get(ready) == 1,
            arrival_taken: inputs.arrival.is_some() && self.model.get(arrival_ready) == 1,
            copy,
            idle: self.model.get(self.idle) == 1,
        };
        self.model.clock();
        outputs
    }

    /// The first instruction that was refused since reset.
    pub fn error(&self) -> Option<LaneError> {
        let [kind, modulus] = self.error.map(|port| self.model.get(port));
        match kind {
            0 => None,
            1 => Some(LaneError::Modulus(modulus as u8)),
            _ => Some(LaneError::Encoding),
        }
    }

    /// The counters.
    pub fn counters(&self) -> LaneCounters {
        let [cycles, events] = self.counters;
        let mut each = Vec::new();
        self.model.get_elements(events, 32, &mut each);
        let mut counters = LaneCounters { cycles: self.model.get(cycles), ..LaneCounters::default() };
        counters.events.copy_from_slice(&each);
        counters
    }
}
