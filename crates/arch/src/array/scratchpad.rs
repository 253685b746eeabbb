//! The scratchpad: slices at the cores, and the meshes that connect them.
//!
//! A core accesses its own slice with a fixed latency and with the bandwidth of its arrival and copy ports. These
//! accesses do not compete with those of other cores. For a remote slice, a core sends a request. The slice serves one
//! request per cycle in order, and also stores one vector per cycle. The reply then competes with the other vectors
//! that arrive at the core's registers. Replies have a separate mesh: on the request links they could block behind
//! requests that wait for them.

use std::collections::VecDeque;

use super::lanes::{AlignedWords, copy, zeroed};
use super::machine::Machine;
use super::mesh::Mesh;

/// The kind of a message on the memory meshes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A core requests a vector for a register.
    Read { core: u8, register: u8 },
    /// A core stores a vector.
    Write { core: u8 },
    /// The reply with a vector for a register.
    Reply { register: u8 },
}

#[derive(Clone, Copy, Debug)]
struct Message {
    kind: Kind,
    vector: u32,
}

/// A read or write of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub cycle: u64,
    /// The node of the slice, or the core of the data memory.
    pub node: u8,
    /// The vector, or the row.
    pub address: u32,
    pub write: bool,
}

#[derive(Debug)]
pub(super) struct ScratchpadState {
    lanes: usize,
    words: AlignedWords,
    /// The node of each slice. Vector v is in slice v mod slices.
    nodes: Vec<u8>,
    /// The messages in flight, by number, and their vectors.
    messages: Vec<Message>,
    carried: Vec<u32>,
    unused: Vec<u16>,
    /// The reads that wait at each node, with the first cycle in which they can be answered.
    waiting: Vec<VecDeque<(u64, u16)>>,
    /// The nodes with waiting reads, as a bit mask.
    asked: u32,
    latency: u64,
    /// The maximum number of requests that wait at a node.
    room: usize,
    /// Cycles for which a vector occupies a link.
    flits: u8,
    requests: Mesh,
    replies: Mesh,
    /// The number of stored vectors.
    pub stores: u64,
    /// For each core, the cycle after the arrival of its last vector at a remote slice.
    pub stored: Vec<u64>,
    /// The accesses to the slices, if they are recorded.
    pub accesses: Option<Vec<Access>>,
}

impl ScratchpadState {
    pub(super) fn new(machine: &Machine) -> Self {
        let lanes = machine.core.lanes as usize;
        let cores = machine.cores();
        let nodes = match &machine.scratchpad.slices[..] {
            [] => (0..cores as u8).collect(),
            nodes => nodes.iter().map(|node| *node as u8).collect(),
        };
        Self {
            lanes,
            words: zeroed(machine.scratchpad.vectors as usize * lanes),
            nodes,
            messages: Vec::new(),
            carried: Vec::new(),
            unused: Vec::new(),
            waiting: vec![VecDeque::new(); cores as usize],
            asked: 0,
            latency: u64::from(machine.scratchpad.latency),
            room: machine.scratchpad.requests as usize,
            flits: machine.flits() as u8,
            requests: Mesh::new(machine),
            replies: Mesh::new(machine),
            stores: 0,
            stored: vec![0; cores as usize],
            accesses: None,
        }
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// The meshes of requests and of replies.
    pub(super) fn meshes_mut(&mut self) -> impl Iterator<Item = &mut Mesh> {
        [&mut self.requests, &mut self.replies].into_iter()
    }

    /// Occupied link cycles of both meshes.
    pub(super) fn link_cycles(&self) -> u64 {
        self.requests.link_cycles + self.replies.link_cycles
    }

    /// Discards everything in flight.
    pub(super) fn clear(&mut self) {
        self.requests.clear();
        self.replies.clear();
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.asked = 0;
        self.messages.clear();
        self.carried.clear();
        self.unused.clear();
    }

    /// The node of a vector.
    #[inline(always)]
    pub(super) fn node(&self, vector: u32) -> usize {
        usize::from(self.nodes[vector as usize % self.nodes.len()])
    }

    /// Reads a vector of a core's own slice.
    #[inline(always)]
    pub(super) fn read(&mut self, now: u64, vector: u32) -> &[u32] {
        let node = self.node(vector);
        note(&mut self.accesses, now, node, vector, false);
        &self.words[vector as usize * self.lanes..][..self.lanes]
    }

    /// Writes a vector of a core's own slice.
    #[inline(always)]
    pub(super) fn store(&mut self, now: u64, vector: u32, words: &[u32]) {
        let node = self.node(vector);
        note(&mut self.accesses, now, node, vector, true);
        copy(&mut self.words[vector as usize * self.lanes..][..self.lanes], words);
        self.stores += 1;
    }

    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.replies.is_empty() && self.asked == 0
    }

    /// Requests a vector from a remote slice. Returns false if the mesh has no room.
    pub(super) fn ask(&mut self, now: u64, core: usize, register: u8, vector: u32) -> bool {
        if !self.requests.accepts(core) {
            return false;
        }
        let message = self.put(Message { kind: Kind::Read { core: core as u8, register }, vector });
        let to = self.node(vector) as u8;
        self.requests.send(now, core, to, message, 1);
        true
    }

    /// Sends a vector to a remote slice. Returns false if the mesh has no room.
    pub(super) fn send(&mut self, now: u64, core: usize, vector: u32, words: &[u32]) -> bool {
        if !self.requests.accepts(core) {
            return false;
        }
        let message = self.put(Message { kind: Kind::Write { core: core as u8 }, vector });
        self.carried[usize::from(message) * self.lanes..][..self.lanes].copy_from_slice(words);
        let to = self.node(vector) as u8;
        self.requests.send(now, core, to, message, self.flits);
        true
    }

    fn put(&mut self, message: Message) -> u16 {
        let number = self.unused.pop().unwrap_or_else(|| {
            self.messages.push(message);
            self.carried.resize(self.messages.len() * self.lanes, 0);
            (self.messages.len() - 1) as u16
        });
        self.messages[usize::from(number)] = message;
        number
    }

    /// Simulates one cycle of the slices and meshes. `take(core, register, words)` returns whether the core takes an
    /// arrived vector.
    pub(super) fn step(&mut self, now: u64, mut take: impl FnMut(usize, u8, &[u32]) -> bool) -> bool {
        let mut moved = false;
        let mut asked = self.asked;
        while asked != 0 {
            let node = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            if let Some((from, number)) = self.waiting[node].front().copied()
                && from <= now
                && self.replies.accepts(node)
            {
                self.waiting[node].pop_front();
                self.asked &= !(u32::from(self.waiting[node].is_empty()) << node);
                let message = &mut self.messages[usize::from(number)];
                if let Kind::Read { core, register } = message.kind {
                    message.kind = Kind::Reply { register };
                    note(&mut self.accesses, now, node, message.vector, false);
                    let from = message.vector as usize * self.lanes;
                    let to = usize::from(number) * self.lanes;
                    self.carried[to..to + self.lanes].copy_from_slice(&self.words[from..from + self.lanes]);
                    self.replies.send(now, node, core, number, self.flits);
                }
                moved = true;
            }
        }
        let Self {
            lanes,
            words,
            messages,
            carried,
            unused,
            waiting,
            asked,
            latency,
            room,
            requests,
            replies,
            stores,
            stored,
            accesses,
            ..
        } = self;
        moved |= requests.step(now, |node, number| {
            let message = messages[usize::from(number)];
            if let Kind::Write { core } = message.kind {
                stored[usize::from(core)] = now + 1;
                let vector = &carried[usize::from(number) * *lanes..][..*lanes];
                words[message.vector as usize * *lanes..][..*lanes].copy_from_slice(vector);
                *stores += 1;
                note(accesses, now, node, message.vector, true);
                unused.push(number);
                return true;
            }
            let room = waiting[node].len() < *room;
            if room {
                waiting[node].push_back((now + *latency, number));
                *asked |= 1 << node;
            }
            room
        });
        moved |= replies.step(now, |node, number| {
            let Kind::Reply { register } = messages[usize::from(number)].kind else { return true };
            let taken = take(node, register, &carried[usize::from(number) * *lanes..][..*lanes]);
            if taken {
                unused.push(number);
            }
            taken
        });
        moved
    }
}

#[inline(always)]
pub(super) fn note(accesses: &mut Option<Vec<Access>>, cycle: u64, node: usize, address: u32, write: bool) {
    if let Some(accesses) = accesses {
        accesses.push(Access { cycle, node: node as u8, address, write });
    }
}
