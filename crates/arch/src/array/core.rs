//! One core: a front end that hands instructions to four queues, and what stands at the heads of the queues.
//!
//! Each queue keeps its order. Between queues the order of the instructions that touch a register is kept, and nothing else: each gets a
//! number for each register when it is fetched, and waits for its turn there, for its operands to be full and its destinations empty.
//! Values change hands at issue, when nobody can look at them: registers are marked full in the cycle from which on they can be read.

use std::collections::VecDeque;

use ciphermill_rvfhe::isa::{Instruction, ScalarRegister};

use super::error::{Blocked, SimulationError, Waits};
use super::lanes::Lanes;
use super::machine::{Firing, Machine, Port};
use super::mesh::Mesh;
use super::program::{FIRST_TWIDDLE, Operation, QUEUES, Queue, Queued, REGISTERS, Step, TOUCHED};

/// Cycles into the future that are kept track of; latencies are shorter.
const RING: usize = 64;
const TWIDDLES: usize = 16;
const MODULI: usize = 8;

/// An instruction in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub queued: Queued,
    tickets: [u16; TOUCHED],
    /// Loads before it, for the end of a phase.
    loads: u32,
    address: u32,
    pub pc: u32,
}

/// A vector on its way to a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    core: u8,
    message: u16,
}

/// Vectors under way, with the row they go to.
#[derive(Debug, Default)]
pub(super) struct Messages {
    lanes: usize,
    words: Vec<u32>,
    rows: Vec<u32>,
    unused: Vec<u16>,
}

impl Messages {
    pub(super) fn new(lanes: usize) -> Self {
        Self { lanes, ..Self::default() }
    }

    fn put(&mut self, row: u32, words: &[u32]) -> u16 {
        let message = self.unused.pop().unwrap_or_else(|| {
            self.rows.push(0);
            self.words.resize(self.words.len() + self.lanes, 0);
            (self.rows.len() - 1) as u16
        });
        let at = usize::from(message);
        self.rows[at] = row;
        self.words[at * self.lanes..][..self.lanes].copy_from_slice(words);
        message
    }
}

/// What all cores share in a cycle.
pub(super) struct Shared<'a> {
    pub machine: &'a Machine,
    pub lanes: Lanes,
    pub scratchpad: &'a mut [u32],
    pub messages: &'a mut Messages,
    pub mesh: &'a mut Mesh,
}

/// What became of the cycles of a core's computations, and what else it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Butterflies of vectors.
    pub butterflies: u64,
    /// Products of vectors.
    pub products: u64,
    /// Sums and differences of vectors.
    pub sums: u64,
    /// Vectors loaded from the data memory.
    pub row_loads: u64,
    /// Vectors loaded from the scratchpad.
    pub scratchpad_loads: u64,
    /// Twiddle registers loaded.
    pub twiddle_loads: u64,
    /// Vectors stored in the scratchpad.
    pub scratchpad_stores: u64,
    /// Vectors sent to the core's own memory.
    pub own_copies: u64,
    /// Vectors sent to others.
    pub remote_copies: u64,
    /// Cycles in which there was no computation to do.
    pub no_instruction: u64,
    /// Cycles in which the next computation waited for an operand.
    pub operand: u64,
    /// Cycles in which it waited for a twiddle register.
    pub twiddle: u64,
    /// Cycles in which it waited for an adder or a port.
    pub unit: u64,
}

/// Something that a core did or that came to it: all that its lanes see from outside, for comparisons with their RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreEvent {
    /// A computation, a copy or a store came into its queue: it can leave from the next cycle on.
    Fetch {
        /// When.
        cycle: u64,
        /// Its place in the program.
        pc: u32,
    },
    /// A modulus register was set: what leaves a queue in the next cycle has it.
    Modulus {
        /// When.
        cycle: u64,
        /// The register.
        register: u8,
        /// What it is set to.
        value: u32,
    },
    /// A computation, a copy or a store left its queue.
    Issue {
        /// When.
        cycle: u64,
        /// Its place in the program.
        pc: u32,
        /// What a copy or a store carries; none of a computation.
        words: Vec<u32>,
    },
    /// Memory or network took the eldest copy or store that had not been taken.
    Taken {
        /// When: one cycle after its issue at least.
        cycle: u64,
    },
    /// A vector came into a register: an instruction of the next cycle can read it.
    Arrival {
        /// When the first half of a twiddle register came; of a vector the same as `cycle`.
        first: u64,
        /// When: of a twiddle register, the cycle of its second half.
        cycle: u64,
        /// The register; a twiddle register from 32 on.
        register: u8,
        /// The words; of a twiddle register factors, then companions.
        words: Vec<u32>,
    },
}

#[derive(Debug)]
pub(super) struct CoreState {
    number: usize,
    lanes: usize,
    program: Vec<Step>,
    pub pc: usize,
    pub done: bool,
    x: [u32; 32],
    moduli: [u32; MODULI],
    moduli_set: u8,
    vectors: Vec<u32>,
    twiddles: Vec<u32>,
    /// Registers that are full, and to which something is under way: bits by number, twiddles from 32 on.
    full: u64,
    pending: u64,
    becomes_full: [u64; RING],
    /// Adders and write ports that are taken, by cycle: bits 0 and 1, and 2 and 3.
    units: [u8; RING],
    arrivals: [u8; RING],
    complex_until: u64,
    given: [u16; REGISTERS],
    turn: [u16; REGISTERS],
    pub queues: [VecDeque<Entry>; QUEUES],
    loads_given: u32,
    loads_ready: [u32; RING],
    loads_done: u32,
    outbox: VecDeque<Outgoing>,
    inbox: VecDeque<u16>,
    pub rows: Vec<u32>,
    /// Words of each row that are full, a bit for each lane.
    row_full: Vec<u32>,
    pub twiddle_memory: Vec<u32>,
    pub counts: Counts,
    pub events: Option<Vec<CoreEvent>>,
    /// Registers with something under way, or messages in the boxes.
    pub busy: bool,
}

impl CoreState {
    pub(super) fn new(number: usize, machine: &Machine) -> Self {
        let lanes = machine.core.lanes as usize;
        let depth = machine.core.queue_depth as usize;
        Self {
            number,
            lanes,
            program: Vec::new(),
            pc: 0,
            done: true,
            x: [0; 32],
            moduli: [0; MODULI],
            moduli_set: 0,
            vectors: vec![0; 32 * lanes],
            twiddles: vec![0; 2 * TWIDDLES * lanes],
            full: 0,
            pending: 0,
            becomes_full: [0; RING],
            units: [0; RING],
            arrivals: [0; RING],
            complex_until: 0,
            given: [0; REGISTERS],
            turn: [0; REGISTERS],
            queues: std::array::from_fn(|_| VecDeque::with_capacity(depth)),
            loads_given: 0,
            loads_ready: [0; RING],
            loads_done: 0,
            outbox: VecDeque::new(),
            inbox: VecDeque::new(),
            rows: vec![0; machine.memory.data_rows as usize * lanes],
            row_full: vec![0; machine.memory.data_rows as usize],
            twiddle_memory: vec![0; 2 * machine.memory.twiddle_rows as usize * lanes],
            counts: Counts::default(),
            events: None,
            busy: false,
        }
    }

    /// Starts a program; registers keep what they have.
    pub(super) fn start(&mut self, program: Vec<Step>, arguments: &[(usize, u32)]) {
        self.program = program;
        self.pc = 0;
        self.done = false;
        self.x = [0; 32];
        for (register, value) in arguments {
            self.x[*register] = *value;
        }
    }

    pub(super) fn accept(&mut self, message: u16) -> bool {
        let room = self.inbox.len() < 2;
        if room {
            self.inbox.push_back(message);
        }
        room
    }

    fn address(&self, queued: &Queued) -> u32 {
        self.x[usize::from(queued.base)].wrapping_add(u32::from(queued.offset))
    }

    /// One cycle; whether anything happened.
    pub(super) fn step(&mut self, now: u64, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        let at = now as usize % RING;
        let mut moved = self.becomes_full[at] != 0;
        self.full |= self.becomes_full[at];
        self.pending &= !self.becomes_full[at];
        self.becomes_full[at] = 0;
        self.loads_done += std::mem::take(&mut self.loads_ready[at]);

        moved |= self.load(now, shared)?;
        moved |= self.write_rows(now, shared);
        moved |= self.load_twiddles(now, shared)?;
        let copy_is_next = self.queues[Queue::Compute as usize]
            .front()
            .is_some_and(|entry| matches!(entry.queued.operation, Operation::Copy | Operation::StoreScratchpad));
        if copy_is_next {
            // They share the queue of computations.
            moved |= self.send(now, Queue::Compute, 1, shared)?;
        } else {
            moved |= self.compute(now, shared)?;
        }
        moved |= self.send(now, Queue::Send, shared.machine.lane.copy_ports as usize, shared)?;
        moved |= self.fetch(now, shared.machine)?;
        self.units[at] = 0;
        self.arrivals[at] = 0;
        self.busy = self.pending != 0 || !self.inbox.is_empty() || !self.outbox.is_empty();
        Ok(moved)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.done && !self.busy && self.queues.iter().all(VecDeque::is_empty)
    }

    // What is the turn of, and what takes its turn.

    fn is_turn(&self, entry: &Entry) -> bool {
        let count = usize::from(entry.queued.touched_count);
        (0..count).all(|at| self.turn[usize::from(entry.queued.touched[at])] == entry.tickets[at])
    }

    fn leave(&mut self, queue: Queue) {
        if let Some(entry) = self.queues[queue as usize].pop_front() {
            for register in &entry.queued.touched[..usize::from(entry.queued.touched_count)] {
                let turn = &mut self.turn[usize::from(*register)];
                *turn = turn.wrapping_add(1);
            }
        }
    }

    fn fill_later(&mut self, register: u8, now: u64, latency: u32) {
        self.full &= !(1 << register);
        self.pending |= 1 << register;
        self.becomes_full[(now as usize + latency as usize) % RING] |= 1 << register;
    }

    fn log(&mut self, event: CoreEvent) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    fn log_arrival(&mut self, first: u64, cycle: u64, register: u8) {
        if self.events.is_some() {
            let lanes = self.lanes;
            let words = if register < FIRST_TWIDDLE {
                self.vectors[usize::from(register) * lanes..][..lanes].to_vec()
            } else {
                self.twiddles[usize::from(register - FIRST_TWIDDLE) * 2 * lanes..][..2 * lanes].to_vec()
            };
            self.log(CoreEvent::Arrival { first, cycle, register, words });
        }
    }

    // Loads.

    fn load(&mut self, now: u64, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        let ports = shared.machine.lane.arrival_ports;
        let mut moved = false;
        for _ in 0..ports {
            let Some(entry) = self.queues[Queue::Load as usize].front().copied() else { break };
            let register = entry.queued.rd;
            if !self.is_turn(&entry) || (self.full | self.pending) >> register & 1 == 1 {
                break;
            }
            let latency = match entry.queued.operation {
                Operation::LoadScratchpad => {
                    self.read_scratchpad(&entry, shared)?;
                    shared.machine.scratchpad.latency
                }
                _ => {
                    if !self.read_row(&entry)? {
                        break;
                    }
                    shared.machine.memory.read_latency
                }
            };
            // The register file takes so many vectors a cycle.
            let mut latency = latency;
            while u32::from(self.arrivals[(now as usize + latency as usize) % RING]) >= ports {
                latency += 1;
            }
            self.arrivals[(now as usize + latency as usize) % RING] += 1;
            self.fill_later(register, now, latency + 1);
            let cycle = now + u64::from(latency);
            self.log_arrival(cycle, cycle, register);
            self.loads_ready[(now as usize + latency as usize + 1) % RING] += 1;
            self.leave(Queue::Load);
            moved = true;
        }
        Ok(moved)
    }

    fn read_scratchpad(&mut self, entry: &Entry, shared: &mut Shared<'_>) -> Result<(), SimulationError> {
        let vectors = shared.machine.scratchpad.vectors;
        if entry.address >= vectors {
            return Err(self.out_of_range(entry, "scratchpad", vectors));
        }
        let from = &shared.scratchpad[entry.address as usize * self.lanes..][..self.lanes];
        self.vectors[usize::from(entry.queued.rd) * self.lanes..][..self.lanes].copy_from_slice(from);
        self.counts.scratchpad_loads += 1;
        Ok(())
    }

    /// Reads a row, or a column of tiles; not if a word is missing.
    fn read_row(&mut self, entry: &Entry) -> Result<bool, SimulationError> {
        let (lanes, tile) = (self.lanes, entry.queued.tile);
        let side = 1_usize << tile;
        let row = entry.address as usize;
        let first = row & !(side - 1);
        if side > lanes {
            return Err(SimulationError::Tile { core: self.number, pc: entry.pc, side, lanes });
        }
        if first + side > self.row_full.len() {
            return Err(self.out_of_range(entry, "data memory", self.row_full.len() as u32));
        }
        let wide = lanes >> tile;
        let column = row - first;
        let words = (u32::MAX >> (32 - wide as u32)) << (column * wide);
        if self.row_full[first..first + side].iter().any(|full| full & words != words) {
            return Ok(false);
        }
        if entry.queued.free1 {
            for full in &mut self.row_full[first..first + side] {
                *full &= !words;
            }
        }
        let to = &mut self.vectors[usize::from(entry.queued.rd) * lanes..][..lanes];
        if side == 1 {
            to.copy_from_slice(&self.rows[row * lanes..][..lanes]);
        } else if entry.queued.variant {
            for (place, from) in self.rows[first * lanes..].chunks_exact(lanes).take(side).enumerate() {
                for (low, word) in from[column * wide..][..wide].iter().enumerate() {
                    to[low * side + place] = *word;
                }
            }
        } else {
            for (to, from) in to.chunks_exact_mut(wide).zip(self.rows[first * lanes..].chunks_exact(lanes)) {
                to.copy_from_slice(&from[column * wide..][..wide]);
            }
        }
        self.counts.row_loads += 1;
        Ok(true)
    }

    fn load_twiddles(&mut self, now: u64, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        let Some(entry) = self.queues[Queue::Twiddle as usize].front().copied() else { return Ok(false) };
        let register = entry.queued.rd;
        if !self.is_turn(&entry) || (self.full | self.pending) >> register & 1 == 1 {
            return Ok(false);
        }
        let lanes = self.lanes;
        let rows = self.twiddle_memory.len() / (2 * lanes);
        let mut latency = shared.machine.memory.read_latency;
        let mut first = latency;
        if shared.machine.lane.twiddle_port == Port::Shared {
            // Two arrivals, one after the other.
            let ports = shared.machine.lane.arrival_ports;
            for half in 0..2 {
                while u32::from(self.arrivals[(now as usize + latency as usize) % RING]) >= ports {
                    latency += 1;
                }
                self.arrivals[(now as usize + latency as usize) % RING] += 1;
                if half == 0 {
                    first = latency;
                }
            }
        }
        let to = &mut self.twiddles[usize::from(register - FIRST_TWIDDLE) * 2 * lanes..][..2 * lanes];
        let address = entry.address as usize;
        if entry.queued.variant {
            if address >= rows * lanes {
                return Err(self.out_of_range(&entry, "twiddle memory's pairs", (rows * lanes) as u32));
            }
            let (row, lane) = (address / lanes, address % lanes);
            to[..lanes].fill(self.twiddle_memory[row * 2 * lanes + lane]);
            to[lanes..].fill(self.twiddle_memory[row * 2 * lanes + lanes + lane]);
        } else {
            if address >= rows {
                return Err(self.out_of_range(&entry, "twiddle memory", rows as u32));
            }
            to.copy_from_slice(&self.twiddle_memory[address * 2 * lanes..][..2 * lanes]);
        }
        self.fill_later(register, now, latency + 1);
        self.log_arrival(now + u64::from(first), now + u64::from(latency), register);
        self.counts.twiddle_loads += 1;
        self.leave(Queue::Twiddle);
        Ok(true)
    }

    // Computations.

    fn compute(&mut self, now: u64, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        let Some(entry) = self.queues[Queue::Compute as usize].front().copied() else {
            self.counts.no_instruction += 1;
            return Ok(false);
        };
        let queued = entry.queued;
        if queued.operation == Operation::Phase {
            let ends = shared.machine.core.firing == Firing::Operand || self.loads_done >= entry.loads;
            if ends {
                self.leave(Queue::Compute);
            }
            self.counts.operand += 1;
            return Ok(ends);
        }
        let needs = needs(&queued);
        if needs & self.full != needs || !self.is_turn(&entry) || self.pending & written(&queued) != 0 {
            *(if needs & self.full | 0xffff_ffff == needs | 0xffff_ffff {
                &mut self.counts.operand
            } else {
                &mut self.counts.twiddle
            }) += 1;
            return Ok(false);
        }
        let complex = matches!(queued.operation, Operation::ComplexTime | Operation::ComplexFrequency);
        if !complex && self.moduli_set >> queued.modulus & 1 == 0 {
            return Err(SimulationError::ModulusNotSet { core: self.number, pc: entry.pc, modulus: queued.modulus });
        }
        if complex {
            if now < self.complex_until {
                self.counts.unit += 1;
                return Ok(false);
            }
            self.complex_until = now + u64::from(shared.machine.lane.complex_interval);
        } else if !self.take_units(now, queued.operation, shared.machine) {
            self.counts.unit += 1;
            return Ok(false);
        }
        self.empty(&queued);
        self.calculate(now, &queued, shared);
        self.log(CoreEvent::Issue { cycle: now, pc: entry.pc, words: Vec::new() });
        self.leave(Queue::Compute);
        Ok(true)
    }

    /// Reserves adders and write ports, by the rules of docs/hw/rvfhe_lane.md; not if one is taken.
    fn take_units(&mut self, now: u64, operation: Operation, machine: &Machine) -> bool {
        let (multiplier, adder) = (machine.lane.multiplier_latency as usize, machine.lane.adder_latency as usize);
        let two = machine.lane.adders == 2;
        let (first, second) = (1_u8, if two { 2 } else { 1 });
        let (port, last_port) = (4_u8, if two { 8 } else { 4 });
        let mut wanted: [(usize, u8); 4] = [(0, 0); 4];
        match operation {
            Operation::Add | Operation::Subtract => {
                wanted[0] = (0, first);
                wanted[1] = (adder, port);
            }
            Operation::Multiply => wanted[0] = (multiplier, last_port),
            _ => {
                let later = usize::from(!two);
                wanted = [
                    (multiplier, first),
                    (multiplier + later, second),
                    (multiplier + adder, port),
                    (multiplier + adder + later, last_port),
                ];
            }
        }
        let at = |after: usize| (now as usize + after) % RING;
        if wanted.iter().any(|(after, unit)| self.units[at(*after)] & unit != 0) {
            return false;
        }
        for (after, unit) in wanted {
            self.units[at(after)] |= unit;
        }
        true
    }

    /// Empties the operands that are freed.
    fn empty(&mut self, queued: &Queued) {
        if queued.free1 {
            self.full &= !(1 << queued.rs1);
        }
        if queued.free2 {
            self.full &= !(1 << queued.rs2);
        }
    }

    fn calculate(&mut self, now: u64, queued: &Queued, shared: &Shared<'_>) {
        let lane = &shared.machine.lane;
        let (lanes, modulus) = (self.lanes, self.moduli[usize::from(queued.modulus)]);
        let product = lane.multiplier_latency + 1;
        let twiddle = |twiddles: &[u32]| -> std::ops::Range<usize> {
            let first = usize::from(queued.rs2.wrapping_sub(FIRST_TWIDDLE)) * 2 * lanes;
            debug_assert!(first + 2 * lanes <= twiddles.len());
            first..first + 2 * lanes
        };
        let (rd, rs1) = (usize::from(queued.rd), usize::from(queued.rs1));
        match queued.operation {
            Operation::Add | Operation::Subtract => {
                let rs2 = usize::from(queued.rs2);
                // The kernels work in place: on a copy, as either operand may be the destination.
                let mut result = [0; 32];
                result[..lanes].copy_from_slice(&self.vectors[rs1 * lanes..][..lanes]);
                let y = &self.vectors[rs2 * lanes..][..lanes];
                if queued.operation == Operation::Add {
                    shared.lanes.add(&mut result[..lanes], y, modulus);
                } else {
                    shared.lanes.subtract(&mut result[..lanes], y, modulus);
                }
                self.vectors[rd * lanes..][..lanes].copy_from_slice(&result[..lanes]);
                self.fill_later(queued.rd, now, lane.adder_latency + 1);
                self.counts.sums += 1;
            }
            Operation::Multiply => {
                self.vectors.copy_within(rs1 * lanes..(rs1 + 1) * lanes, rd * lanes);
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                shared.lanes.multiply(&mut self.vectors[rd * lanes..][..lanes], twiddle, modulus);
                self.fill_later(queued.rd, now, product);
                self.counts.products += 1;
            }
            Operation::Butterfly => {
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                if let Ok([x, y]) =
                    self.vectors.get_disjoint_mut([rd * lanes..(rd + 1) * lanes, rs1 * lanes..(rs1 + 1) * lanes])
                {
                    shared.lanes.butterfly(x, y, twiddle, modulus);
                }
                let later = u32::from(lane.adders == 1);
                self.fill_later(queued.rd, now, product + lane.adder_latency);
                self.fill_later(queued.rs1, now, product + lane.adder_latency + later);
                self.counts.butterflies += 1;
            }
            _ => {
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                let words = |register: usize| register * lanes..(register + 2) * lanes;
                if let Ok([x, y]) = self.vectors.get_disjoint_mut([words(rd), words(rs1)]) {
                    let in_time = queued.operation == Operation::ComplexTime;
                    super::lanes::complex_butterfly(x, y, twiddle, in_time);
                }
                for register in [queued.rd, queued.rd + 1, queued.rs1, queued.rs1 + 1] {
                    self.fill_later(register, now, lane.complex_latency + 1);
                }
                self.counts.butterflies += 1;
            }
        }
    }

    // Copies and stores.

    fn send(
        &mut self,
        now: u64,
        queue: Queue,
        ports: usize,
        shared: &mut Shared<'_>,
    ) -> Result<bool, SimulationError> {
        let mut moved = false;
        for _ in 0..ports {
            let Some(entry) = self.queues[queue as usize].front().copied() else { break };
            let register = entry.queued.rs1;
            if !self.is_turn(&entry) || self.full >> register & 1 == 0 || self.outbox.len() >= ports {
                // A store leaves by the port on which a copy may stand that has not been taken.
                break;
            }
            let words = &self.vectors[usize::from(register) * self.lanes..][..self.lanes];
            if entry.queued.operation == Operation::StoreScratchpad {
                let vectors = shared.machine.scratchpad.vectors;
                if entry.address >= vectors {
                    return Err(self.out_of_range(&entry, "scratchpad", vectors));
                }
                shared.scratchpad[entry.address as usize * self.lanes..][..self.lanes].copy_from_slice(words);
                self.counts.scratchpad_stores += 1;
            } else {
                if entry.address as usize >= self.row_full.len() {
                    return Err(self.out_of_range(&entry, "data memory", self.row_full.len() as u32));
                }
                if u32::from(entry.queued.core) >= shared.machine.cores() {
                    return Err(SimulationError::NoSuchCore {
                        core: self.number,
                        pc: entry.pc,
                        named: entry.queued.core,
                        cores: shared.machine.cores(),
                    });
                }
                let message = shared.messages.put(entry.address, words);
                self.outbox.push_back(Outgoing { core: entry.queued.core, message });
                if usize::from(entry.queued.core) == self.number {
                    self.counts.own_copies += 1;
                } else {
                    self.counts.remote_copies += 1;
                }
            }
            if entry.queued.free1 {
                self.full &= !(1 << register);
            }
            if self.events.is_some() {
                let words = self.vectors[usize::from(register) * self.lanes..][..self.lanes].to_vec();
                self.log(CoreEvent::Issue { cycle: now, pc: entry.pc, words });
                if entry.queued.operation == Operation::StoreScratchpad {
                    // The scratchpad takes everything at once.
                    self.log(CoreEvent::Taken { cycle: now + 1 });
                }
            }
            self.leave(queue);
            moved = true;
        }
        Ok(moved)
    }

    /// Takes what has come and what goes to the core itself into rows, and gives the rest to the network.
    fn write_rows(&mut self, now: u64, shared: &mut Shared<'_>) -> bool {
        let mut writes = shared.machine.memory.write_ports;
        let mut moved = false;
        while writes > 0
            && let Some(message) = self.inbox.front().copied()
            && self.write_row(message, shared)
        {
            self.inbox.pop_front();
            writes -= 1;
            moved = true;
        }
        while let Some(outgoing) = self.outbox.front().copied() {
            if usize::from(outgoing.core) != self.number {
                if !shared.mesh.accepts(self.number) {
                    break;
                }
                shared.mesh.send(now, self.number, outgoing.core, outgoing.message);
            } else if writes == 0 || !self.write_row(outgoing.message, shared) {
                break;
            } else {
                writes -= 1;
            }
            self.outbox.pop_front();
            self.log(CoreEvent::Taken { cycle: now });
            moved = true;
        }
        moved
    }

    fn write_row(&mut self, message: u16, shared: &mut Shared<'_>) -> bool {
        let at = usize::from(message);
        let row = shared.messages.rows[at] as usize;
        if self.row_full[row] != 0 {
            return false;
        }
        self.row_full[row] = u32::MAX >> (32 - self.lanes as u32);
        let words = &shared.messages.words[at * self.lanes..][..self.lanes];
        self.rows[row * self.lanes..][..self.lanes].copy_from_slice(words);
        shared.messages.unused.push(message);
        true
    }

    // The front end.

    fn fetch(&mut self, now: u64, machine: &Machine) -> Result<bool, SimulationError> {
        let mut moved = false;
        let mut modulus_set = false;
        for _ in 0..machine.core.issue_width {
            if self.done {
                break;
            }
            let Some(step) = self.program.get(self.pc) else {
                return Err(SimulationError::PastEnd { core: self.number, pc: self.pc as u32 });
            };
            match *step {
                // A modulus is changed when all that needs the old one has begun, one in a cycle: the lanes have one port for it.
                Step::Front(Instruction::Csrrw { .. })
                    if modulus_set || !self.queues[Queue::Compute as usize].is_empty() =>
                {
                    break;
                }
                Step::Front(instruction) => {
                    modulus_set |= matches!(instruction, Instruction::Csrrw { .. });
                    self.execute(now, instruction);
                }
                Step::Queued(queued) => {
                    let queue = match queued.queue {
                        Queue::Send if machine.lane.copies == Port::Shared => Queue::Compute,
                        queue => queue,
                    };
                    if self.queues[queue as usize].len() >= machine.core.queue_depth as usize {
                        break;
                    }
                    let mut tickets = [0; TOUCHED];
                    for (ticket, register) in
                        tickets.iter_mut().zip(&queued.touched[..usize::from(queued.touched_count)])
                    {
                        let given = &mut self.given[usize::from(*register)];
                        *ticket = *given;
                        *given = given.wrapping_add(1);
                    }
                    self.loads_given += u32::from(queued.queue == Queue::Load);
                    let (address, loads, pc) = (self.address(&queued), self.loads_given, self.pc as u32);
                    self.queues[queue as usize].push_back(Entry { queued, tickets, loads, address, pc });
                    if matches!(queued.queue, Queue::Compute | Queue::Send) {
                        self.log(CoreEvent::Fetch { cycle: now, pc });
                    }
                    self.pc += 1;
                }
            }
            moved = true;
        }
        Ok(moved)
    }

    fn execute(&mut self, now: u64, instruction: Instruction) {
        use Instruction as I;
        let x = |register: ScalarRegister| self.x[register.number()];
        let mut next = self.pc as i64 + 1;
        let (rd, value) = match instruction {
            I::Lui { rd, immediate } => (rd, immediate.get() << 12),
            I::Addi { rd, rs1, immediate } => (rd, x(rs1).wrapping_add_signed(immediate.get())),
            I::Add { rd, rs1, rs2 } => (rd, x(rs1).wrapping_add(x(rs2))),
            I::Xor { rd, rs1, rs2 } => (rd, x(rs1) ^ x(rs2)),
            I::Bne { rs1, rs2, offset } => {
                if x(rs1) != x(rs2) {
                    next = self.pc as i64 + offset.instructions();
                }
                (ScalarRegister::ZERO, 0)
            }
            I::Jal { rd, offset } => {
                next = self.pc as i64 + offset.instructions();
                (rd, (self.pc as u32 + 1) * 4)
            }
            I::Csrrw { rd, modulus, rs1 } => {
                let (at, new) = (modulus.number(), x(rs1));
                let old = std::mem::replace(&mut self.moduli[at], new);
                // As the lanes take it: anything else leaves the register unset.
                let valid = (1..=1 << 31).contains(&new);
                self.moduli_set = self.moduli_set & !(1 << at) | u8::from(valid) << at;
                self.log(CoreEvent::Modulus { cycle: now, register: at as u8, value: new });
                (rd, old)
            }
            _ => {
                self.done = true;
                (ScalarRegister::ZERO, 0)
            }
        };
        if rd != ScalarRegister::ZERO {
            self.x[rd.number()] = value;
        }
        // Before the first instruction is past the end, too.
        self.pc = usize::try_from(next).unwrap_or(usize::MAX);
    }

    // What went wrong.

    fn out_of_range(&self, entry: &Entry, memory: &'static str, size: u32) -> SimulationError {
        SimulationError::Address { core: self.number, pc: entry.pc, memory, address: entry.address, size }
    }

    /// What the heads of the queues and the boxes wait for.
    pub(super) fn blocked(&self, messages: &Messages) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for queue in &self.queues {
            if let Some(entry) = queue.front() {
                let waits = self.waits(entry);
                blocked.push(Blocked { core: self.number, pc: Some(entry.pc), waits });
            }
        }
        let next = self.inbox.front().into_iter().copied();
        let own = self.outbox.front().filter(|outgoing| usize::from(outgoing.core) == self.number);
        for message in next.chain(own.map(|outgoing| outgoing.message)) {
            let row = messages.rows[usize::from(message)];
            blocked.push(Blocked { core: self.number, pc: None, waits: Waits::RowFull { row } });
        }
        blocked
    }

    fn waits(&self, entry: &Entry) -> Waits {
        let queued = &entry.queued;
        let count = usize::from(queued.touched_count);
        if queued.operation == Operation::Phase {
            return Waits::Loads;
        }
        if let Some(at) = (0..count).find(|at| self.turn[usize::from(queued.touched[*at])] != entry.tickets[*at]) {
            return Waits::Turn { register: queued.touched[at] };
        }
        match queued.queue {
            Queue::Compute | Queue::Send => {
                let needs = if queued.queue == Queue::Send { 1 << queued.rs1 } else { needs(queued) };
                let missing = needs & !self.full;
                if missing != 0 {
                    return Waits::Operand { register: missing.trailing_zeros() as u8 };
                }
                Waits::Network
            }
            Queue::Load | Queue::Twiddle => {
                if (self.full | self.pending) >> queued.rd & 1 == 1 {
                    return Waits::DestinationFull { register: queued.rd };
                }
                Waits::RowEmpty { row: entry.address }
            }
        }
    }
}

/// The registers that a computation reads.
fn needs(queued: &Queued) -> u64 {
    let mask = match queued.operation {
        Operation::ComplexTime | Operation::ComplexFrequency => 3 << queued.rd | 3 << queued.rs1,
        Operation::Butterfly => 1 << queued.rd | 1 << queued.rs1,
        _ => 1 << queued.rs1,
    };
    mask | 1 << queued.rs2
}

/// The registers that it writes.
fn written(queued: &Queued) -> u64 {
    match queued.operation {
        Operation::ComplexTime | Operation::ComplexFrequency => 3 << queued.rd | 3 << queued.rs1,
        Operation::Butterfly => 1 << queued.rd | 1 << queued.rs1,
        _ => 1 << queued.rd,
    }
}
