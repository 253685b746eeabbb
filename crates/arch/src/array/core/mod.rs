//! One core: a front end that passes instructions to four queues, and the units that execute the heads of the queues.
//!
//! Each queue keeps its order. Between queues, only the order of instructions on the same register is kept. An
//! instruction waits for the earlier instructions on its registers, for its operands to be full and for its
//! destinations to be empty. Values are computed at issue, when no instruction can read them; registers become full in
//! the first cycle in which they can be read.

mod blocked;
mod compute;
mod events;
mod fetch;
mod load;
mod queues;
mod reservations;
mod ring_buffer;
mod scoreboard;
mod send;

pub use events::{CoreEvent, Counts};

use self::queues::{Entry, Queues};
use self::reservations::Reservations;
use self::ring_buffer::RingBuffer;
use self::scoreboard::Scoreboard;
use super::error::SimulationError;
use super::lanes::{AlignedWords, Twiddle, Vector, zeroed};
use super::machine::{MAX_INBOX, MAX_PORTS, Machine, Port};
use super::mesh::Mesh;
use super::program::Program;
use super::queued::{FIRST_TWIDDLE, Operation, Queue, Queued};
use super::scratchpad::{Access, ScratchpadState};

/// The length of the schedule of future events, in cycles; all latencies are shorter.
const RING: usize = 128;
/// Scalar registers of a core.
pub(super) const SCALARS: usize = 32;
const VECTORS: usize = 32;
const TWIDDLES: usize = 16;
const MODULI: usize = 8;
/// The maximum number of copies and stores at a core's ports: the limit of `lane.copy_ports`.
const COPIES: usize = MAX_PORTS as usize;
/// The maximum number of arrived vectors that wait for a row: the limit of `memory.inbox`.
const ARRIVED: usize = MAX_INBOX as usize;

/// Whether an event occurred. Errors are boxed, so that the result of each unit fits into registers.
pub(super) type Stepped = Result<bool, Box<SimulationError>>;

/// Scheduled events of a future cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Upcoming {
    /// Registers that become full.
    becomes_full: u64,
    /// Loads whose vector becomes readable.
    loads: u16,
    /// Vectors that arrive in the register file.
    arrivals: u8,
}

/// The destination of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// The message's row of this core's data memory.
    Core(u8),
    /// A vector of the scratchpad.
    Scratchpad(u32),
}

/// A vector at a core's port, until memory or network takes it.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    to: Destination,
    message: u16,
}

/// Vectors in flight, with their destination rows.
#[derive(Debug, Default)]
pub(super) struct Messages {
    vectors: Vec<Vector>,
    rows: Vec<u32>,
    unused: Vec<u16>,
}

impl Messages {
    #[inline(always)]
    fn put(&mut self, row: u32, vector: &Vector) -> u16 {
        let message = self.unused.pop().unwrap_or_else(|| self.more());
        let at = usize::from(message);
        self.rows[at] = row;
        self.vectors[at] = *vector;
        message
    }

    #[cold]
    fn more(&mut self) -> u16 {
        self.rows.push(0);
        self.vectors.push(Vector::ZERO);
        (self.rows.len() - 1) as u16
    }
}

/// The state shared by all cores in a cycle.
pub(super) struct Shared<'a> {
    pub machine: &'a Machine,
    pub scratchpad: &'a mut ScratchpadState,
    pub messages: &'a mut Messages,
    pub mesh: &'a mut Mesh,
}

#[derive(Debug)]
pub(super) struct CoreState {
    number: usize,
    lanes: usize,
    /// The given program, and its decoded form.
    pub words: Vec<u32>,
    pub program: Program,
    pub pc: usize,
    pub done: bool,
    x: [u32; SCALARS],
    moduli: [u32; MODULI],
    moduli_set: u8,
    vectors: Box<[Vector; VECTORS]>,
    twiddles: Box<[Twiddle; TWIDDLES]>,
    /// Registers that are full, and registers with a pending result, as bit masks; twiddle registers count from 32.
    full: u64,
    pending: u64,
    /// Scheduled events; the index is the cycle modulo RING.
    upcoming: [Upcoming; RING],
    /// Reserved adders and write ports, four bits for each cycle from now on, and the reservations of each kind of
    /// computation.
    units: u128,
    reservations: Reservations,
    complex_until: u64,
    /// The end of the current computation of unpipelined lanes.
    lanes_until: u64,
    /// The end of the current row-by-row read of a tile.
    tile_until: u64,
    scoreboard: Scoreboard,
    queues: Queues,
    loads_done: u32,
    outbox: RingBuffer<Outgoing, COPIES>,
    inbox: RingBuffer<u16, ARRIVED>,
    pub rows: AlignedWords,
    /// The full words of each row, as a bit mask over the lanes.
    row_full: Vec<u32>,
    pub twiddle_memory: AlignedWords,
    pub counts: Counts,
    pub events: Option<Vec<CoreEvent>>,
    /// Accesses to the data memory, if they are recorded.
    pub accesses: Option<Vec<Access>>,
    /// Whether results are pending, or messages wait in the boxes.
    pub busy: bool,
    /// The first cycle without work.
    pub idle_from: u64,
}

impl CoreState {
    pub(super) fn new(number: usize, machine: &Machine) -> Self {
        let lanes = machine.core.lanes as usize;
        Self {
            number,
            lanes,
            words: Vec::new(),
            program: Program::default(),
            pc: 0,
            done: true,
            x: [0; SCALARS],
            moduli: [0; MODULI],
            moduli_set: 0,
            vectors: Box::new([Vector::ZERO; VECTORS]),
            twiddles: Box::new([Twiddle::ZERO; TWIDDLES]),
            full: 0,
            pending: 0,
            upcoming: [Upcoming::default(); RING],
            units: 0,
            reservations: Reservations::new(machine),
            complex_until: 0,
            lanes_until: 0,
            tile_until: 0,
            scoreboard: Scoreboard::new(),
            queues: Queues::new(machine.core.queue_depth),
            loads_done: 0,
            outbox: RingBuffer::new(Outgoing { to: Destination::Core(0), message: 0 }),
            inbox: RingBuffer::new(0),
            rows: zeroed(machine.memory.data_rows as usize * lanes),
            row_full: vec![0; machine.memory.data_rows as usize],
            twiddle_memory: zeroed(2 * machine.memory.twiddle_rows as usize * lanes),
            counts: Counts::default(),
            events: None,
            accesses: None,
            busy: false,
            idle_from: 0,
        }
    }

    /// Resets everything except the twiddle memory and the recordings.
    pub(super) fn clear(&mut self, machine: &Machine) {
        let Self { twiddle_memory, events, accesses, .. } = std::mem::replace(self, Self::new(self.number, machine));
        (self.twiddle_memory, self.events, self.accesses) = (twiddle_memory, events, accesses);
    }

    /// Starts the program. Vectors and twiddles keep their content. Arguments are for existing registers other than
    /// `x0`.
    pub(super) fn start(&mut self, arguments: &[(usize, u32)]) {
        self.pc = 0;
        self.done = false;
        self.x = [0; SCALARS];
        for (register, value) in arguments {
            self.x[*register] = *value;
        }
    }

    #[inline(always)]
    pub(super) fn accept(&mut self, message: u16, machine: &Machine) -> bool {
        let room = self.inbox.len() < machine.memory.inbox as usize;
        if room {
            self.inbox.push_back(message);
        }
        room
    }

    #[inline(always)]
    fn address(&self, queued: Queued) -> u32 {
        self.x[queued.base() % SCALARS].wrapping_add(queued.offset())
    }

    /// Simulates one cycle. Returns whether an event occurred.
    #[inline(always)]
    pub(super) fn step(&mut self, now: u64, shared: &mut Shared<'_>) -> Stepped {
        let at = now as usize % RING;
        let Upcoming { becomes_full, loads, .. } = self.upcoming[at];
        let mut moved = becomes_full != 0;
        self.full |= becomes_full;
        self.pending &= !becomes_full;
        self.loads_done = self.loads_done.wrapping_add(loads.into());

        moved |= self.load(now, shared)?;
        moved |= self.write_rows(now, shared);
        moved |= self.load_twiddles(now, shared)?;
        let copy_is_next = shared.machine.lane.copies == Port::Shared
            && self.queues.front(Queue::Compute).is_some_and(|head| head.queued.is_sent());
        if copy_is_next {
            // Copies share the queue of computations.
            moved |= self.send(now, Queue::Compute, 1, shared)?;
        } else {
            moved |= self.compute(now, shared)?;
        }
        if !self.queues.is_empty(Queue::Send) {
            moved |= self.send(now, Queue::Send, shared.machine.lane.copy_ports as usize, shared)?;
        }
        moved |= self.fetch(now, shared.machine)?;
        self.upcoming[at] = Upcoming::default();
        self.units >>= 4;
        self.busy = self.pending != 0 || !self.inbox.is_empty() || !self.outbox.is_empty();
        Ok(moved)
    }

    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.done && !self.busy && self.queues.all_empty()
    }

    /// Whether a fetched instruction has not finished.
    #[inline(always)]
    fn is_under_way(&self) -> bool {
        self.pending != 0 || !self.outbox.is_empty() || !self.queues.all_empty()
    }

    // The heads of the queues: issue conditions and bookkeeping.

    /// The head of a load queue, if its register is empty and the scoreboard admits it.
    #[inline(always)]
    fn next_load(&self, queue: Queue) -> Option<Entry> {
        let head = self.queues.front(queue)?;
        let taken = (self.full | self.pending) >> head.queued.rd() & 1 != 0;
        if !taken && self.scoreboard.admits_load(head.queued, &head.ticket) { Some(*head) } else { None }
    }

    /// The head of a queue, a copy or store, if its register is full and the scoreboard admits it.
    #[inline(always)]
    fn next_sent(&self, queue: Queue) -> Option<Entry> {
        let head = self.queues.front(queue)?;
        let full = self.full >> head.queued.rs1() & 1 != 0;
        if full && self.scoreboard.admits_send(head.queued, &head.ticket) { Some(*head) } else { None }
    }

    /// Whether the scoreboard admits the head of a queue.
    fn is_admitted(&self, Entry { queued, ticket, .. }: &Entry) -> bool {
        match queued.queue() {
            Queue::Load | Queue::Twiddle => self.scoreboard.admits_load(*queued, ticket),
            _ if queued.is_sent() => self.scoreboard.admits_send(*queued, ticket),
            _ => queued.is(Operation::Phase) || self.scoreboard.admits_computation(*queued, ticket),
        }
    }

    #[inline(always)]
    fn load_leaves(&mut self, queue: Queue, queued: Queued) {
        self.queues.pop_front(queue);
        self.scoreboard.load_leaves(queued);
    }

    #[inline(always)]
    fn fill_later(&mut self, register: u8, now: u64, latency: u32) {
        self.full &= !(1 << register);
        self.pending |= 1 << register;
        self.upcoming[(now as usize + latency as usize) % RING].becomes_full |= 1 << register;
    }

    #[inline]
    fn log(&mut self, event: impl FnOnce() -> CoreEvent) {
        if let Some(events) = &mut self.events {
            events.push(event());
        }
    }

    #[inline]
    fn log_arrival(&mut self, first: u64, cycle: u64, register: u8) {
        if self.events.is_some() {
            self.note_arrival(first, cycle, register);
        }
    }

    #[cold]
    fn note_arrival(&mut self, first: u64, cycle: u64, register: u8) {
        let lanes = self.lanes;
        let words = if register < FIRST_TWIDDLE {
            self.vectors[vector(register)].0[..lanes].to_vec()
        } else {
            let Twiddle { factors, companions } = &self.twiddles[twiddle(register)];
            [&factors[..lanes], &companions[..lanes]].concat()
        };
        self.log(|| CoreEvent::Arrival { first, cycle, register, words });
    }
}

/// The indices of a vector register and of a twiddle register.
#[inline(always)]
fn vector(register: u8) -> usize {
    usize::from(register) % VECTORS
}

#[inline(always)]
fn twiddle(register: u8) -> usize {
    usize::from(register - FIRST_TWIDDLE) % TWIDDLES
}
