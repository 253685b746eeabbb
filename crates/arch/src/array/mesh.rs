//! A two-dimensional mesh: messages go along their row first, then along the column (XY routing, which cannot deadlock by itself), from
//! buffer to buffer. Each input of a router has a buffer of a few messages, each output takes one message at a time, the inputs in turn.

use super::machine::Machine;

/// Inputs and outputs of a router.
const LOCAL: usize = 4;
const PORTS: usize = 5;

/// A message under way; what it carries is kept by its number.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: u16,
    to: u8,
    /// Cycles in which it occupies a link.
    flits: u8,
    /// The first cycle in which it can leave.
    from: u64,
}

/// A queue of messages that does not grow.
#[derive(Clone, Debug)]
struct Buffer {
    waiting: Box<[Waiting]>,
    first: usize,
    count: usize,
}

impl Buffer {
    fn new(size: usize) -> Self {
        Self { waiting: vec![Waiting { message: 0, to: 0, flits: 1, from: 0 }; size].into(), first: 0, count: 0 }
    }

    fn head(&self) -> Option<Waiting> {
        (self.count > 0).then(|| self.waiting[self.first])
    }

    fn pop(&mut self) {
        self.first = if self.first + 1 == self.waiting.len() { 0 } else { self.first + 1 };
        self.count -= 1;
    }

    fn has_room(&self) -> bool {
        self.count < self.waiting.len()
    }

    fn push(&mut self, waiting: Waiting) {
        let at = self.first + self.count;
        let at = if at >= self.waiting.len() { at - self.waiting.len() } else { at };
        self.waiting[at] = waiting;
        self.count += 1;
    }
}

/// One mesh.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    columns: usize,
    buffers: Vec<[Buffer; PORTS]>,
    /// The first cycle in which each output is free.
    free_from: Vec<[u64; PORTS]>,
    /// The input that is asked first, of each output.
    turn: Vec<[u8; PORTS]>,
    /// Routers that hold messages.
    active: u64,
    next_hop: Vec<u8>,
    neighbours: Vec<[u8; PORTS]>,
    hop_latency: u64,
    /// Messages times cycles on links.
    pub link_cycles: u64,
    /// When a link was taken, if that is asked for.
    pub hops: Option<Vec<Hop>>,
}

/// A message on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub cycle: u64,
    pub from: u8,
    pub to: u8,
    pub flits: u8,
}

impl Mesh {
    pub(super) fn new(machine: &Machine) -> Self {
        let (rows, columns) = (machine.grid.rows as usize, machine.grid.columns as usize);
        let nodes = rows * columns;
        let buffer = || Buffer::new(machine.network.buffer as usize);
        let mut next_hop = Vec::with_capacity(nodes * nodes);
        let mut neighbours = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let (row, column) = (node / columns, node % columns);
            // North, east, south, west, here.
            neighbours.push(
                [node.wrapping_sub(columns), node + 1, node + columns, node.wrapping_sub(1), node].map(|at| at as u8),
            );
            for to in 0..nodes {
                let (to_row, to_column) = (to / columns, to % columns);
                next_hop.push(if to_column > column {
                    1
                } else if to_column < column {
                    3
                } else if to_row > row {
                    2
                } else if to_row < row {
                    0
                } else {
                    LOCAL as u8
                });
            }
        }
        Self {
            columns: nodes,
            buffers: (0..nodes).map(|_| std::array::from_fn(|_| buffer())).collect(),
            free_from: vec![[0; PORTS]; nodes],
            turn: vec![[0; PORTS]; nodes],
            active: 0,
            next_hop,
            neighbours,
            hop_latency: u64::from(machine.network.hop_latency),
            link_cycles: 0,
            hops: None,
        }
    }

    /// Takes all messages away.
    pub(super) fn clear(&mut self) {
        for buffer in self.buffers.iter_mut().flatten() {
            buffer.count = 0;
        }
        self.free_from.fill([0; PORTS]);
        self.turn.fill([0; PORTS]);
        self.active = 0;
    }

    /// Whether a node can send a message in this cycle.
    pub(super) fn accepts(&self, node: usize) -> bool {
        self.buffers[node][LOCAL].has_room()
    }

    /// Takes a message of a node, which [`Self::accepts`] it.
    pub(super) fn send(&mut self, now: u64, node: usize, to: u8, message: u16, flits: u8) {
        self.buffers[node][LOCAL].push(Waiting { message, to, flits, from: now + 1 });
        self.active |= 1 << node;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.active == 0
    }

    /// One cycle. `deliver(node, message)` says whether the node takes a message that has arrived.
    pub(super) fn step(&mut self, now: u64, mut deliver: impl FnMut(usize, u16) -> bool) -> bool {
        let mut moved = false;
        let mut routers = self.active;
        while routers != 0 {
            let node = routers.trailing_zeros() as usize;
            routers &= routers - 1;
            // Which inputs want each output.
            let mut wants = [0_u8; PORTS];
            let mut any = false;
            for (input, buffer) in self.buffers[node].iter().enumerate() {
                if let Some(head) = buffer.head() {
                    any = true;
                    if head.from <= now {
                        wants[self.next_hop[node * self.columns + head.to as usize] as usize] |= 1 << input;
                    }
                }
            }
            if !any {
                self.active &= !(1 << node);
                continue;
            }
            for (output, wants) in wants.into_iter().enumerate() {
                if wants == 0 || self.free_from[node][output] > now {
                    continue;
                }
                // The first one from the turn on.
                let turn = self.turn[node][output];
                let later = wants & (u8::MAX << turn);
                let input = (if later != 0 { later } else { wants }).trailing_zeros() as usize;
                let Some(head) = self.buffers[node][input].head() else { continue };
                if output == LOCAL {
                    if !deliver(node, head.message) {
                        continue;
                    }
                } else {
                    let next = usize::from(self.neighbours[node][output]);
                    // Going north it comes in from the south, and so on.
                    let into = &mut self.buffers[next][(output + 2) % 4];
                    if !into.has_room() {
                        continue;
                    }
                    into.push(Waiting { from: now + self.hop_latency + u64::from(head.flits) - 1, ..head });
                    self.active |= 1 << next;
                    self.link_cycles += u64::from(head.flits);
                    if let Some(hops) = &mut self.hops {
                        hops.push(Hop { cycle: now, from: node as u8, to: next as u8, flits: head.flits });
                    }
                }
                self.buffers[node][input].pop();
                self.free_from[node][output] = now + u64::from(head.flits);
                self.turn[node][output] = (input as u8 + 1) % PORTS as u8;
                moved = true;
            }
        }
        moved
    }
}
