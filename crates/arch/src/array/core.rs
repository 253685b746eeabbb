//! One core: a front end that hands instructions to four queues, and what stands at the heads of the queues.
//!
//! Each queue keeps its order. Between queues the order of the instructions that touch a register is kept, and nothing else: each gets a
//! number for each register when it is fetched, and waits for its turn there, for its operands to be full and its destinations empty.
//! Values change hands at issue, when nobody can look at them: registers are marked full in the cycle from which on they can be read.

use std::collections::VecDeque;

use ciphermill_rvfhe::isa::{Instruction, ScalarRegister};

use super::error::{Blocked, SimulationError, Waits};
use super::lanes::Lanes;
use super::machine::{Firing, Issue, Machine, Port, Transposition};
use super::mesh::Mesh;
use super::program::{FIRST_TWIDDLE, Operation, QUEUES, Queue, Queued, REGISTERS, Step};
use super::scratchpad::ScratchpadState;

/// Cycles into the future that are kept track of; latencies are shorter.
const RING: usize = 128;
const TWIDDLES: usize = 16;
const MODULI: usize = 8;

/// An instruction in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its place in the program.
    pc: u32,
    address: u32,
    /// How many instructions must have left each queue: the last one of another queue that touches one of its registers, and those before.
    after: [u32; QUEUES],
    /// Loads before it, for the end of a phase.
    loads: u32,
    /// As of what it does: a look at the queue is enough to see that it has to wait.
    needs: u64,
    writes: u64,
}

/// Where a vector goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// The message's row of this core's data memory.
    Core(u8),
    /// This vector of the scratchpad.
    Scratchpad(u32),
}

/// A vector that stands at a core's port until memory or network takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    to: Destination,
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
        copy(&mut self.words[at * self.lanes..][..self.lanes], words);
        message
    }
}

/// What all cores share in a cycle.
pub(super) struct Shared<'a> {
    pub machine: &'a Machine,
    pub lanes: Lanes,
    pub scratchpad: &'a mut ScratchpadState,
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
    /// Until when lanes that are no pipeline are busy.
    lanes_until: u64,
    /// Until when a tile is being read, row by row.
    tile_until: u64,
    /// The queue of the last instruction fetched that touches each register, and its number there.
    last: [(u8, u32); REGISTERS],
    /// How many instructions each queue has been given, and how many have left it.
    given: [u32; QUEUES],
    left: [u32; QUEUES],
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
    /// The cycle from which on it had nothing to do.
    pub idle_from: u64,
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
            lanes_until: 0,
            tile_until: 0,
            last: [(0, 0); REGISTERS],
            given: [0; QUEUES],
            left: [0; QUEUES],
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
            idle_from: 0,
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
        let copy_is_next = shared.machine.lane.copies == Port::Shared
            && self.head(Queue::Compute).is_some_and(|(_, queued)| queued.queue == Queue::Send);
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

    /// Whether an instruction that was fetched is not done.
    fn is_under_way(&self) -> bool {
        self.pending != 0 || !self.outbox.is_empty() || self.queues.iter().any(|queue| !queue.is_empty())
    }

    // What is the turn of, and what takes its turn.

    /// The head of a queue, and what it does.
    fn head(&self, queue: Queue) -> Option<(Entry, Queued)> {
        let entry = *self.queues[queue as usize].front()?;
        match self.program[entry.pc as usize] {
            Step::Queued(queued) => Some((entry, queued)),
            Step::Front(_) => None,
        }
    }

    /// Whether the head of a queue has what it reads, nothing where it writes but what it reads, and no instruction before it that
    /// touches the same.
    fn may_go(&self, queue: Queue) -> bool {
        self.queues[queue as usize].front().is_some_and(|entry| {
            let unavailable = entry.writes & self.pending | entry.writes & !entry.needs & self.full;
            let waits = entry.needs & !self.full
                | if queue == Queue::Compute { entry.writes & self.pending } else { unavailable };
            waits == 0 && self.is_turn(entry)
        })
    }

    fn is_turn(&self, entry: &Entry) -> bool {
        entry.after.iter().zip(&self.left).all(|(after, left)| left.wrapping_sub(*after).cast_signed() >= 0)
    }

    fn leave(&mut self, queue: Queue) {
        self.queues[queue as usize].pop_front();
        self.left[queue as usize] = self.left[queue as usize].wrapping_add(1);
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
            if now < self.tile_until || !self.may_go(Queue::Load) {
                break;
            }
            let Some((entry, queued)) = self.head(Queue::Load) else { break };
            let register = queued.rd;
            let latency = match queued.operation {
                Operation::LoadScratchpad => {
                    let vectors = shared.machine.scratchpad.vectors;
                    if entry.address >= vectors {
                        return Err(self.out_of_range(&entry, "scratchpad", vectors));
                    }
                    if shared.scratchpad.node(entry.address) != self.number {
                        if !shared.scratchpad.ask(now, self.number, register, entry.address) {
                            break;
                        }
                        self.pending |= 1 << register;
                        self.counts.scratchpad_loads += 1;
                        self.leave(Queue::Load);
                        moved = true;
                        continue;
                    }
                    copy(
                        &mut self.vectors[usize::from(register) * self.lanes..][..self.lanes],
                        shared.scratchpad.vector(entry.address),
                    );
                    self.counts.scratchpad_loads += 1;
                    shared.machine.scratchpad.latency
                }
                _ => {
                    if !self.read_row(&entry, &queued)? {
                        break;
                    }
                    let rows = match shared.machine.memory.transposition {
                        Transposition::Banked => 1,
                        Transposition::Serial => 1 << queued.tile,
                    };
                    if rows > 1 {
                        self.tile_until = now + u64::from(rows);
                    }
                    shared.machine.memory.read_latency + rows - 1
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

    /// Takes a vector that has come from another core's slice, if the register file can.
    pub(super) fn take(&mut self, now: u64, register: u8, words: &[u32], machine: &Machine) -> bool {
        let next = (now as usize + 1) % RING;
        if u32::from(self.arrivals[next]) >= machine.lane.arrival_ports {
            return false;
        }
        self.arrivals[next] += 1;
        copy(&mut self.vectors[usize::from(register) * self.lanes..][..self.lanes], words);
        self.becomes_full[(next + 1) % RING] |= 1 << register;
        self.loads_ready[(next + 1) % RING] += 1;
        self.log_arrival(now + 1, now + 1, register);
        true
    }

    /// Reads a row, or a column of tiles; not if a word is missing.
    fn read_row(&mut self, entry: &Entry, queued: &Queued) -> Result<bool, SimulationError> {
        let (lanes, tile) = (self.lanes, queued.tile);
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
        if queued.free1 {
            for full in &mut self.row_full[first..first + side] {
                *full &= !words;
            }
        }
        let to = &mut self.vectors[usize::from(queued.rd) * lanes..][..lanes];
        if side == 1 {
            copy(to, &self.rows[row * lanes..][..lanes]);
        } else if queued.variant {
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
        if !self.may_go(Queue::Twiddle) {
            return Ok(false);
        }
        let Some((entry, queued)) = self.head(Queue::Twiddle) else { return Ok(false) };
        let register = queued.rd;
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
        if queued.variant {
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
            copy(to, &self.twiddle_memory[address * 2 * lanes..][..2 * lanes]);
        }
        self.fill_later(register, now, latency + 1);
        self.log_arrival(now + u64::from(first), now + u64::from(latency), register);
        self.counts.twiddle_loads += 1;
        self.leave(Queue::Twiddle);
        Ok(true)
    }

    // Computations.

    fn compute(&mut self, now: u64, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        if !self.may_go(Queue::Compute) {
            let missing = self.queues[Queue::Compute as usize].front().map(|entry| entry.needs & !self.full);
            let vectors = u64::from(u32::MAX);
            match missing {
                None => self.counts.no_instruction += 1,
                Some(missing) if missing & vectors == 0 && missing != 0 => self.counts.twiddle += 1,
                Some(_) => self.counts.operand += 1,
            }
            return Ok(false);
        }
        let Some((entry, queued)) = self.head(Queue::Compute) else { return Ok(false) };
        if queued.operation == Operation::Phase {
            let ends = shared.machine.core.firing == Firing::Operand || self.loads_done >= entry.loads;
            if ends {
                self.leave(Queue::Compute);
            }
            self.counts.operand += 1;
            return Ok(ends);
        }
        if now < self.lanes_until {
            self.counts.unit += 1;
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
        if shared.machine.core.issue == Issue::Unpipelined {
            self.lanes_until = now + u64::from(duration(queued.operation, shared.machine));
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

    fn send(&mut self, now: u64, queue: Queue, ports: usize, shared: &mut Shared<'_>) -> Result<bool, SimulationError> {
        let mut moved = false;
        for _ in 0..ports {
            // A store leaves by the port on which a copy may stand that has not been taken.
            if !self.may_go(queue) || self.outbox.len() >= ports {
                break;
            }
            let Some((entry, queued)) = self.head(queue) else { break };
            let register = queued.rs1;
            let words = &self.vectors[usize::from(register) * self.lanes..][..self.lanes];
            if queued.operation == Operation::StoreScratchpad {
                let vectors = shared.machine.scratchpad.vectors;
                if entry.address >= vectors {
                    return Err(self.out_of_range(&entry, "scratchpad", vectors));
                }
                let message = shared.messages.put(0, words);
                self.outbox.push_back(Outgoing { to: Destination::Scratchpad(entry.address), message });
                self.counts.scratchpad_stores += 1;
            } else {
                if entry.address as usize >= self.row_full.len() {
                    return Err(self.out_of_range(&entry, "data memory", self.row_full.len() as u32));
                }
                if u32::from(queued.core) >= shared.machine.cores() {
                    return Err(SimulationError::NoSuchCore {
                        core: self.number,
                        pc: entry.pc,
                        named: queued.core,
                        cores: shared.machine.cores(),
                    });
                }
                let message = shared.messages.put(entry.address, words);
                self.outbox.push_back(Outgoing { to: Destination::Core(queued.core), message });
                if usize::from(queued.core) == self.number {
                    self.counts.own_copies += 1;
                } else {
                    self.counts.remote_copies += 1;
                }
            }
            if queued.free1 {
                self.full &= !(1 << register);
            }
            if self.events.is_some() {
                let words = self.vectors[usize::from(register) * self.lanes..][..self.lanes].to_vec();
                self.log(CoreEvent::Issue { cycle: now, pc: entry.pc, words });
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
            let taken = match outgoing.to {
                Destination::Core(core) if usize::from(core) == self.number => {
                    let written = writes > 0 && self.write_row(outgoing.message, shared);
                    writes -= u32::from(written);
                    written
                }
                Destination::Core(core) => {
                    let accepts = shared.mesh.accepts(self.number);
                    if accepts {
                        shared.mesh.send(now, self.number, core, outgoing.message, shared.machine.flits() as u8);
                    }
                    accepts
                }
                Destination::Scratchpad(vector) => self.store(now, vector, outgoing.message, shared),
            };
            if !taken {
                break;
            }
            self.outbox.pop_front();
            self.log(CoreEvent::Taken { cycle: now });
            moved = true;
        }
        moved
    }

    fn store(&self, now: u64, vector: u32, message: u16, shared: &mut Shared<'_>) -> bool {
        let words = &shared.messages.words[usize::from(message) * self.lanes..][..self.lanes];
        if shared.scratchpad.node(vector) == self.number {
            shared.scratchpad.store(vector, words);
        } else if !shared.scratchpad.send(now, self.number, vector, words) {
            return false;
        }
        shared.messages.unused.push(message);
        true
    }

    fn write_row(&mut self, message: u16, shared: &mut Shared<'_>) -> bool {
        let at = usize::from(message);
        let row = shared.messages.rows[at] as usize;
        if self.row_full[row] != 0 {
            return false;
        }
        self.row_full[row] = u32::MAX >> (32 - self.lanes as u32);
        let words = &shared.messages.words[at * self.lanes..][..self.lanes];
        copy(&mut self.rows[row * self.lanes..][..self.lanes], words);
        shared.messages.unused.push(message);
        true
    }

    // The front end.

    fn fetch(&mut self, now: u64, machine: &Machine) -> Result<bool, SimulationError> {
        let program = std::mem::take(&mut self.program);
        let fetched = self.fetch_from(now, &program, machine);
        self.program = program;
        fetched
    }

    fn fetch_from(&mut self, now: u64, program: &[Step], machine: &Machine) -> Result<bool, SimulationError> {
        let mut moved = false;
        let mut modulus_set = false;
        for _ in 0..machine.core.issue_width {
            if self.done || (machine.core.issue == Issue::Blocking && self.is_under_way()) {
                break;
            }
            let Some(step) = program.get(self.pc) else {
                return Err(SimulationError::PastEnd { core: self.number, pc: self.pc as u32 });
            };
            match step {
                // A modulus is changed when all that needs the old one has begun, one in a cycle: the lanes have one port for it.
                Step::Front(Instruction::Csrrw { .. })
                    if modulus_set || !self.queues[Queue::Compute as usize].is_empty() =>
                {
                    break;
                }
                Step::Front(instruction) => {
                    modulus_set |= matches!(instruction, Instruction::Csrrw { .. });
                    self.execute(now, *instruction);
                }
                Step::Queued(queued) => {
                    let queue = match queued.queue {
                        Queue::Send if machine.lane.copies == Port::Shared => Queue::Compute,
                        queue => queue,
                    };
                    if self.queues[queue as usize].len() >= machine.core.queue_depth as usize {
                        break;
                    }
                    let number = queue as usize;
                    self.given[number] = self.given[number].wrapping_add(1);
                    // Nothing to wait for in a queue is what has left it.
                    let mut after = self.left;
                    for register in queued.touched() {
                        let last = &mut self.last[usize::from(*register)];
                        let (other, count) = std::mem::replace(last, (number as u8, self.given[number]));
                        let other = usize::from(other);
                        // Its own queue keeps the order by itself.
                        if other != number && count.wrapping_sub(after[other]).cast_signed() > 0 {
                            after[other] = count;
                        }
                    }
                    self.loads_given += u32::from(queued.queue == Queue::Load);
                    let entry = Entry {
                        pc: self.pc as u32,
                        address: self.address(queued),
                        after,
                        loads: self.loads_given,
                        needs: queued.needs,
                        writes: queued.writes,
                    };
                    self.queues[number].push_back(entry);
                    if matches!(queued.queue, Queue::Compute | Queue::Send) {
                        self.log(CoreEvent::Fetch { cycle: now, pc: self.pc as u32 });
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
            if let Some(entry) = queue.front()
                && let Some(Step::Queued(queued)) = self.program.get(entry.pc as usize)
            {
                let waits = self.waits(entry, queued);
                blocked.push(Blocked { core: self.number, pc: Some(entry.pc), waits });
            }
        }
        let next = self.inbox.front().into_iter().copied();
        let own = self.outbox.front().filter(|outgoing| outgoing.to == Destination::Core(self.number as u8));
        for message in next.chain(own.map(|outgoing| outgoing.message)) {
            let row = messages.rows[usize::from(message)];
            blocked.push(Blocked { core: self.number, pc: None, waits: Waits::RowFull { row } });
        }
        blocked
    }

    fn waits(&self, entry: &Entry, queued: &Queued) -> Waits {
        if queued.operation == Operation::Phase {
            return Waits::Loads;
        }
        let missing = queued.needs & !self.full;
        if missing != 0 {
            return Waits::Operand { register: missing.trailing_zeros() as u8 };
        }
        if !self.is_turn(entry) {
            return Waits::Turn;
        }
        match queued.queue {
            Queue::Compute | Queue::Send => Waits::Network,
            Queue::Load | Queue::Twiddle if (self.full | self.pending) & queued.writes != 0 => {
                Waits::DestinationFull { register: queued.rd }
            }
            Queue::Load | Queue::Twiddle => Waits::RowEmpty { row: entry.address },
        }
    }
}

/// Copies a vector: most have 32 lanes, and for a known length no function need be called.
#[inline(always)]
fn copy(to: &mut [u32], from: &[u32]) {
    if let (Ok(to), Ok(from)) = (<&mut [u32; 32]>::try_from(&mut *to), <&[u32; 32]>::try_from(from)) {
        *to = *from;
    } else {
        to.copy_from_slice(from);
    }
}

/// How long a computation occupies a lane's units, one after the other.
fn duration(operation: Operation, machine: &Machine) -> u32 {
    let lane = &machine.lane;
    match operation {
        Operation::Add | Operation::Subtract => lane.adder_latency,
        Operation::Multiply => lane.multiplier_latency,
        Operation::Butterfly => lane.multiplier_latency + lane.adder_latency * (3 - lane.adders),
        _ => lane.complex_latency,
    }
}
