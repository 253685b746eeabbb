//! A two-dimensional mesh of routers. Messages travel along their row first and then along the column (XY routing,
//! which cannot deadlock by itself). Each input of a router has a buffer of a few messages; each output sends one
//! message at a time, round-robin over the inputs.

use super::machine::{MAX_BUFFER, Machine};

/// The inputs and outputs of a router.
const LOCAL: usize = 4;
const PORTS: usize = 5;

/// A message in a buffer. The message number refers to its content.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: u16,
    to: u8,
    /// The output of the current router that leads to the destination.
    output: u8,
    /// Cycles for which the message occupies a link.
    flits: u8,
    /// The first cycle in which the message can leave.
    from: u64,
}

/// The state of a router, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Router {
    /// The first cycle in which each output is free.
    free_from: [u64; PORTS],
    /// The inputs with messages, as a bit mask.
    inputs: u8,
    /// For each input, the position of its first message and the number of messages.
    first: [u8; PORTS],
    count: [u8; PORTS],
    /// For each output, the input with priority.
    turn: [u8; PORTS],
    /// The nodes at the outputs: north, east, south, west, this one.
    neighbours: [u8; PORTS],
}

const _: () = assert!(size_of::<Router>() == 64 && 2 * MAX_BUFFER <= u8::MAX as u32);

/// A mesh with its messages.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    routers: Vec<Router>,
    /// The buffers of all inputs of all routers.
    waiting: Vec<Waiting>,
    /// The capacity of a buffer.
    size: usize,
    /// The routers with messages now or in the last cycle, as a bit mask.
    active: u32,
    /// For each pair of nodes, the output that leads from the first towards the second.
    next_hop: Vec<u8>,
    hop_latency: u64,
    /// Occupied link cycles, in total.
    pub link_cycles: u64,
    /// The link occupations, if they are recorded.
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
        let size = machine.network.buffer as usize;
        let mut next_hop = Vec::with_capacity(nodes * nodes);
        let mut routers = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let (row, column) = (node / columns, node % columns);
            let neighbours =
                [node.wrapping_sub(columns), node + 1, node + columns, node.wrapping_sub(1), node].map(|at| at as u8);
            routers.push(Router {
                free_from: [0; PORTS],
                inputs: 0,
                first: [0; PORTS],
                count: [0; PORTS],
                turn: [0; PORTS],
                neighbours,
            });
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
            routers,
            waiting: vec![Waiting { message: 0, to: 0, output: 0, flits: 1, from: 0 }; nodes * PORTS * size],
            size,
            active: 0,
            next_hop,
            hop_latency: u64::from(machine.network.hop_latency),
            link_cycles: 0,
            hops: None,
        }
    }

    /// Discards all messages.
    pub(super) fn clear(&mut self) {
        for router in &mut self.routers {
            (router.inputs, router.count) = (0, [0; PORTS]);
            (router.free_from, router.turn) = ([0; PORTS], [0; PORTS]);
        }
        self.active = 0;
    }

    /// Whether a node can send a message in this cycle.
    #[inline(always)]
    pub(super) fn accepts(&self, node: usize) -> bool {
        self.has_room(node, LOCAL)
    }

    /// Sends a message from a node for which [`Self::accepts`] holds.
    #[inline(always)]
    pub(super) fn send(&mut self, now: u64, node: usize, to: u8, message: u16, flits: u8) {
        self.put(node, LOCAL, Waiting { message, to, output: 0, flits, from: now + 1 });
    }

    #[inline(always)]
    fn has_room(&self, node: usize, input: usize) -> bool {
        usize::from(self.routers[node].count[input]) < self.size
    }

    /// The first message of an input that has one.
    #[inline(always)]
    fn head(&self, node: usize, input: usize) -> Waiting {
        self.waiting[(node * PORTS + input) * self.size + usize::from(self.routers[node].first[input])]
    }

    /// Appends a message to an input that has room.
    #[inline(always)]
    fn put(&mut self, node: usize, input: usize, waiting: Waiting) {
        let output = self.next_hop[node * self.routers.len() + usize::from(waiting.to)];
        let router = &mut self.routers[node];
        let place = usize::from(router.first[input]) + usize::from(router.count[input]);
        let place = if place >= self.size { place - self.size } else { place };
        self.waiting[(node * PORTS + input) * self.size + place] = Waiting { output, ..waiting };
        router.count[input] += 1;
        router.inputs |= 1 << input;
        self.active |= 1 << node;
    }

    /// Removes the first message of an input.
    #[inline(always)]
    fn take(&mut self, node: usize, input: usize) {
        let router = &mut self.routers[node];
        let next = router.first[input] + 1;
        router.first[input] = if usize::from(next) == self.size { 0 } else { next };
        router.count[input] -= 1;
        router.inputs &= !(u8::from(router.count[input] == 0) << input);
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.active == 0
    }

    /// Simulates one cycle. `deliver(node, message)` returns whether the node takes an arrived message.
    #[inline(always)]
    pub(super) fn step(&mut self, now: u64, mut deliver: impl FnMut(usize, u16) -> bool) -> bool {
        let mut moved = false;
        let mut routers = self.active;
        while routers != 0 {
            let node = routers.trailing_zeros() as usize;
            routers &= routers - 1;
            // The inputs that request each output, and the requested outputs.
            let mut wants = [0_u8; PORTS];
            let mut outputs = 0_u8;
            let mut inputs = self.routers[node].inputs;
            if inputs == 0 {
                self.active &= !(1 << node);
            }
            while inputs != 0 {
                let input = inputs.trailing_zeros() as usize;
                inputs &= inputs - 1;
                let head = self.head(node, input);
                if head.from <= now {
                    wants[usize::from(head.output)] |= 1 << input;
                    outputs |= 1 << head.output;
                }
            }
            while outputs != 0 {
                let output = outputs.trailing_zeros() as usize;
                outputs &= outputs - 1;
                let router = &self.routers[node];
                if router.free_from[output] > now {
                    continue;
                }
                // The first requesting input, starting from the one with priority.
                let wants = wants[output];
                let later = wants & (u8::MAX << router.turn[output]);
                let input = (if later != 0 { later } else { wants }).trailing_zeros() as usize;
                let head = self.head(node, input);
                if output == LOCAL {
                    if !deliver(node, head.message) {
                        continue;
                    }
                } else {
                    let next = usize::from(router.neighbours[output]);
                    // A message that goes north arrives from the south, and so on.
                    let into = (output + 2) % 4;
                    if !self.has_room(next, into) {
                        continue;
                    }
                    let from = now + self.hop_latency + u64::from(head.flits) - 1;
                    self.put(next, into, Waiting { from, ..head });
                    self.link_cycles += u64::from(head.flits);
                    if let Some(hops) = &mut self.hops {
                        hops.push(Hop { cycle: now, from: node as u8, to: next as u8, flits: head.flits });
                    }
                }
                self.take(node, input);
                let router = &mut self.routers[node];
                router.free_from[output] = now + u64::from(head.flits);
                router.turn[output] = (input as u8 + 1) % PORTS as u8;
                moved = true;
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::array::CIPHERMILL;

    /// A plain model of the same mesh: a queue per input, and all inputs of all routers in every cycle.
    struct Plain {
        rows: usize,
        columns: usize,
        size: usize,
        hop_latency: u64,
        inputs: Vec<[VecDeque<Waiting>; PORTS]>,
        free_from: Vec<[u64; PORTS]>,
        turn: Vec<[usize; PORTS]>,
    }

    impl Plain {
        fn new(machine: &Machine) -> Self {
            let (rows, columns) = (machine.grid.rows as usize, machine.grid.columns as usize);
            Self {
                rows,
                columns,
                size: machine.network.buffer as usize,
                hop_latency: machine.network.hop_latency.into(),
                inputs: (0..rows * columns).map(|_| Default::default()).collect(),
                free_from: vec![[0; PORTS]; rows * columns],
                turn: vec![[0; PORTS]; rows * columns],
            }
        }

        /// East or west, then south or north.
        fn way(&self, node: usize, to: usize) -> (usize, usize) {
            let (row, column) = (node / self.columns, node % self.columns);
            let (to_row, to_column) = (to / self.columns, to % self.columns);
            match (to_column.cmp(&column), to_row.cmp(&row)) {
                (std::cmp::Ordering::Greater, _) => (1, node + 1),
                (std::cmp::Ordering::Less, _) => (3, node - 1),
                (_, std::cmp::Ordering::Greater) => (2, node + self.columns),
                (_, std::cmp::Ordering::Less) => (0, node - self.columns),
                _ => (LOCAL, node),
            }
        }

        fn step(&mut self, now: u64, mut deliver: impl FnMut(usize, u16) -> bool, hops: &mut Vec<Hop>) {
            for node in 0..self.rows * self.columns {
                let heads: Vec<_> = self.inputs[node].iter().map(|input| input.front().copied()).collect();
                for output in 0..PORTS {
                    let wants = |input: &usize| {
                        heads[*input].is_some_and(|head| head.from <= now && self.way(node, head.to.into()).0 == output)
                    };
                    let turn = self.turn[node][output];
                    let Some(input) = (turn..PORTS).chain(0..turn).find(wants) else { continue };
                    let Some(head) = heads[input] else { continue };
                    let flits = u64::from(head.flits);
                    if self.free_from[node][output] > now {
                        continue;
                    }
                    if output == LOCAL {
                        if !deliver(node, head.message) {
                            continue;
                        }
                    } else {
                        let (_, next) = self.way(node, head.to.into());
                        let into = &mut self.inputs[next][[2, 3, 0, 1][output]];
                        if into.len() == self.size {
                            continue;
                        }
                        into.push_back(Waiting { from: now + self.hop_latency + flits - 1, ..head });
                        hops.push(Hop { cycle: now, from: node as u8, to: next as u8, flits: head.flits });
                    }
                    self.inputs[node][input].pop_front();
                    self.free_from[node][output] = now + flits;
                    self.turn[node][output] = (input + 1) % PORTS;
                }
            }
        }
    }

    /// Sends random traffic through both models. `refuses` of 8 deliveries are refused. All messages arrive at their
    /// destination.
    fn compare(mesh: &mut Mesh, machine: &Machine, start: u64, sent: &[(u8, u8, u8, u8)], refuses: u8) {
        let (nodes, mut plain) = (machine.cores() as u8, Plain::new(machine));
        mesh.hops = Some(Vec::new());
        let (mut hops, mut delivered) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let takes = |node: usize, message: u16, now: u64| {
            (now.wrapping_mul(5) ^ (node as u64) ^ u64::from(message)) % 8 >= refuses.into()
        };
        let (mut waiting, mut now) = (sent.iter().enumerate().collect::<VecDeque<_>>(), start);
        while delivered[1].len() < sent.len() {
            assert!(now - start < 100_000, "messages get lost");
            while let Some((number, (from, to, flits, _))) = waiting.front().copied()
                && waiting.front().is_some_and(|(_, (.., pause))| now % 4 >= u64::from(pause % 4))
            {
                let (from, to, flits) = (usize::from(from % nodes), to % nodes, 1 + flits % 128);
                assert_eq!(mesh.accepts(from), plain.inputs[from][LOCAL].len() < plain.size);
                if !mesh.accepts(from) {
                    break;
                }
                mesh.send(now, from, to, number as u16, flits);
                let message = Waiting { message: number as u16, to, output: 0, flits, from: now + 1 };
                plain.inputs[from][LOCAL].push_back(message);
                waiting.pop_front();
            }
            let [by_mesh, by_plain] = &mut delivered;
            mesh.step(now, |node, message| {
                let taken = takes(node, message, now);
                by_mesh.extend(taken.then_some((now, node, message)));
                taken
            });
            let deliver = |node, message| {
                let taken = takes(node, message, now);
                by_plain.extend(taken.then_some((now, node, message)));
                taken
            };
            plain.step(now, deliver, &mut hops[1]);
            now += 1;
        }
        // The mesh is empty after it has visited all routers once more.
        mesh.step(now, |_, _| true);
        assert!(mesh.is_empty());
        hops[0] = mesh.hops.take().unwrap_or_default();
        assert_eq!(hops[0], hops[1]);
        assert_eq!(delivered[0], delivered[1]);
        assert!(
            delivered[0].iter().all(|(_, node, message)| *node == usize::from(sent[usize::from(*message)].1 % nodes))
        );
        assert_eq!(mesh.link_cycles, hops[0].iter().map(|hop| u64::from(hop.flits)).sum::<u64>());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Equals the plain model cycle by cycle, on all kinds of grids, also after it was cleared with traffic in
        /// flight.
        #[test]
        fn it_is_the_plain_mesh(
            (rows, columns) in prop::sample::select(&[(1, 1), (1, 2), (1, 32), (32, 1), (4, 8), (4, 4), (2, 2)][..]),
            buffer in prop::sample::select(&[1, 2, 4, MAX_BUFFER][..]),
            hop_latency in 1..17_u32,
            sent in prop::collection::vec(any::<(u8, u8, u8, u8)>(), 1..200),
            narrow: bool,
            refuses in 0..8_u8,
        ) {
            let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
            (machine.grid.rows, machine.grid.columns) = (rows, columns);
            (machine.network.buffer, machine.network.hop_latency) = (buffer, hop_latency);
            let wide = |(from, to, flits, pause): (u8, u8, u8, u8)| (from, to, if narrow { flits } else { 0 }, pause);
            let sent: Vec<_> = sent.into_iter().map(wide).collect();
            let mut mesh = Mesh::new(&machine);
            compare(&mut mesh, &machine, 0, &sent, refuses);
            for (number, (from, to, flits, _)) in sent.iter().enumerate() {
                let (from, to) = (usize::from(*from) % machine.cores() as usize, to % machine.cores() as u8);
                if mesh.accepts(from) {
                    mesh.send(1_000_000, from, to, number as u16, 1 + flits % 128);
                }
                mesh.step(1_000_000 + number as u64, |_, _| false);
            }
            mesh.clear();
            prop_assert!(mesh.is_empty());
            mesh.link_cycles = 0;
            compare(&mut mesh, &machine, 2_000_000, &sent, refuses);
        }
    }
}
