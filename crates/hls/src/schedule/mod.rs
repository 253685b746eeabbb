//! The scheduler: the interval between iterations, the gap between runs of the innermost loop, and the cycle of each node and
//! access.
//!
//! All times count from the cycle in which an iteration begins. A node without a register has its value in the same cycle as
//! its operands, if the path fits the clock period. At an interval of one, each node is as early as its operands allow,
//! which is the shortest schedule. All reads of a memory then share one cycle, and so do all writes. At a longer interval,
//! accesses are placed one after another. In both cases they move to later cycles until no bank exceeds its ports in the whole
//! run.

pub mod problem;
pub mod simulate;
mod target;

use std::collections::{BTreeSet, HashMap};

pub use target::Target;

use crate::analysis::{Dependence, Distance, Layout, Visits, is_registers};
use crate::diagnostic::{Problem, Result};
use crate::ir::{Kernel, Memory, Node, Op, Role, Widths};
use crate::pragma::{Mode, Ports};

/// Cycles of one iteration.
const MAX_DEPTH: u32 = 4096;
/// Cycles from iteration to iteration.
const MAX_INTERVAL: u32 = 4096;
/// Idle cycles between two runs of the innermost loop.
const MAX_GAP: u32 = 4096;
/// Cycles from the request of a memory to its data: the registers at the ports, and the memory.
pub(crate) const MEMORY_CYCLES: u32 = 2;
/// The least number of later cycles that are tried for an access.
const MOVES: u32 = 64;

/// The bank and the row of each access, as nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bank.
    pub bank: Node,
    /// The row in the bank.
    pub row: Node,
}

/// A schedule of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Cycles from iteration to iteration.
    pub interval: u32,
    /// Idle cycles after each run of the innermost loop.
    pub gap: u32,
    /// The cycle in which a node has its value, and the time in that cycle in ns; by node.
    pub nodes: Vec<(u32, f64)>,
    /// The cycle of the request; by access. The data of a read arrives two cycles later from a memory, one cycle later from a
    /// table or a stream, and in the same cycle from registers.
    pub accesses: Vec<u32>,
    /// The port of its bank that an access uses; by access. It can be 1 only if a bank has two ports of any kind.
    pub ports: Vec<u8>,
    /// Cycles of an iteration.
    pub depth: u32,
    /// The least interval that ports allow, and that dependences allow.
    pub bounds: (u32, u32),
}

impl Schedule {
    /// The cycle in which an iteration begins.
    #[must_use]
    pub fn start(&self, kernel: &Kernel, iteration: usize) -> u64 {
        let innermost = kernel.loops.last().map_or(1, |one| one.trips.max(1));
        u64::from(self.interval) * iteration as u64 + u64::from(self.gap) * (iteration / innermost) as u64
    }

    /// Cycles from the beginning of the first iteration to the last write.
    #[must_use]
    pub fn cycles(&self, kernel: &Kernel) -> u64 {
        self.start(kernel, kernel.iterations() - 1) + u64::from(self.depth)
    }
}

/// Makes a schedule.
pub(crate) fn schedule(
    kernel: &Kernel,
    addresses: &[Address],
    memories: &[Memory],
    visits: &Visits,
    distances: &[Distance],
    widths: &Widths,
    target: &Target,
) -> Result<Schedule> {
    let work = Work::new(kernel, addresses, memories, visits, distances, widths, target);
    let bound = work.port_bound();
    let wanted = match kernel.pipeline {
        // Without a pipeline, an iteration begins when the previous one has ended.
        None => {
            let mut alone = work.place(MAX_INTERVAL, bound, false).ok_or_else(|| work.refused(MAX_INTERVAL))?;
            alone.interval = alone.depth.max(1);
            return work.with_gap(alone).ok_or_else(|| work.refused(MAX_INTERVAL));
        }
        Some(wanted) => wanted,
    };
    let most = wanted.unwrap_or(MAX_INTERVAL);
    let mut interval = bound;
    // A requested interval above the bound is kept.
    if let Some(wanted) = wanted {
        interval = interval.max(wanted);
    }
    while interval <= most {
        let found = [false, true]
            .into_iter()
            .find_map(|aligned| work.place(interval, bound, aligned).and_then(|placed| work.with_gap(placed)));
        if let Some(found) = found {
            return Ok(found);
        }
        interval += 1;
    }
    Err(work.refused(most))
}

/// A cycle, a memory, a bank, and whether it is the write port of a bank with separate ports for reads and writes.
type Port = (u64, usize, usize, bool);
/// The accesses that use the ports of a bank in a cycle.
type Asked = HashMap<Port, Users>;

/// At most two accesses.
#[derive(Clone, Copy, Default)]
struct Users {
    count: u32,
    of: [usize; 2],
}

struct Work<'a> {
    kernel: &'a Kernel,
    addresses: &'a [Address],
    memories: &'a [Memory],
    visits: &'a Visits,
    distances: &'a [Distance],
    widths: &'a Widths,
    target: &'a Target,
    /// Memories with an access whose bank is known only at run time.
    unknown: Vec<bool>,
    /// The number of accesses of the same kind that may use the same bank as an access; by access.
    sharing: Vec<usize>,
    /// Nodes between a read and a write on which that read depends in a later iteration.
    recurrent: Vec<bool>,
}

impl<'a> Work<'a> {
    fn new(
        kernel: &'a Kernel,
        addresses: &'a [Address],
        memories: &'a [Memory],
        visits: &'a Visits,
        distances: &'a [Distance],
        widths: &'a Widths,
        target: &'a Target,
    ) -> Self {
        let mut unknown = vec![false; memories.len()];
        for (access, one) in kernel.accesses.iter().enumerate() {
            let is_known = |iteration| visits.get(access, iteration).is_none_or(|visit| visit.bank.is_some());
            unknown[one.memory] |= !(0..kernel.iterations()).all(is_known);
        }
        Work {
            kernel,
            addresses,
            memories,
            visits,
            distances,
            widths,
            target,
            unknown,
            sharing: sharing(kernel, memories, visits),
            recurrent: recurrent(kernel, distances),
        }
    }

    fn memory(&self, access: usize) -> &Memory {
        &self.memories[self.kernel.accesses[access].memory]
    }

    /// Whether an access needs a port that others may need.
    fn has_port(&self, access: usize) -> bool {
        let memory = self.memory(access);
        !matches!(memory.role, Role::Table(_)) && !is_registers(memory)
    }

    /// The greatest number of accesses of one kind to a bank in a cycle.
    fn capacity(&self, access: usize) -> u32 {
        if self.memory(access).ports == Ports::TwoOfAny { 2 } else { 1 }
    }

    /// The least interval that the ports allow: the accesses of a bank in the whole run, over its ports and the iterations.
    /// The quotient is rounded down, because the rest may fall into the cycles in which the last iterations end.
    fn port_bound(&self) -> u32 {
        let mut asked: HashMap<(usize, usize, bool), u64> = HashMap::new();
        let mut bound = 1;
        let iterations = self.kernel.iterations().max(1) as u64;
        for access in (0..self.kernel.accesses.len()).filter(|&access| self.has_port(access)) {
            let (memory, ports) = (self.kernel.accesses[access].memory, self.memory(access).ports);
            let writes = ports == Ports::ReadAndWrite && self.kernel.accesses[access].written.is_some();
            for iteration in 0..self.kernel.iterations() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                let bank = if self.unknown[memory] { 0 } else { visit.bank.unwrap_or(0) };
                let count = asked.entry((memory, bank, writes)).or_default();
                *count += 1;
                bound = bound.max(*count / (iterations * u64::from(self.capacity(access))));
            }
        }
        u32::try_from(bound).unwrap_or(u32::MAX)
    }

    fn banks(&self, access: usize) -> usize {
        Layout::of(self.memory(access)).banks
    }

    /// The time from an access to the registers at its bank.
    fn way_in(&self, access: usize) -> f64 {
        let memory = self.memory(access);
        if let Role::Table(elements) = &memory.role {
            return self.target.choice(elements.len() / 4);
        }
        let to_others = if self.sharing[access] > 1 || self.banks(access) > 1 && !is_registers(memory) {
            self.target.lut + self.target.choice(self.sharing[access])
        } else {
            0.0
        };
        // Each register selects between its old value and the written one.
        to_others + if is_registers(memory) { self.target.lut } else { 0.0 }
    }

    fn refused(&self, most: u32) -> Problem {
        let what = format!(
            "no interval up to {most} for `{}`; the ports require at least {}",
            self.kernel.name,
            self.port_bound()
        );
        Problem::new(
            self.kernel.place,
            what,
            "ask for a longer interval, use more banks, or another order of iterations",
        )
    }

    /// The cycle and the time of each node, and the earliest cycle of each access, for these cycles of accesses. An access
    /// without a cycle is as early as possible.
    fn nodes(&self, cycles: &[Option<u32>], aligned: bool) -> (Vec<(u32, f64)>, Vec<u32>) {
        let mut nodes: Vec<(u32, f64)> = Vec::with_capacity(self.kernel.graph.len());
        let mut earliest = vec![0; self.kernel.accesses.len()];
        for (node, data) in self.kernel.graph.nodes() {
            let time = match data.op {
                Op::Const(_) => (0, 0.0),
                Op::Loop(_) => (0, self.target.register_out),
                Op::Read(access) => {
                    let from = self.ready(access, &nodes);
                    earliest[access] = from;
                    self.read(access, cycles[access].unwrap_or(from).max(from))
                }
                op => {
                    let arrival = |operand: &Node| {
                        let (cycle, time) = nodes[operand.index()];
                        let waits = aligned && self.recurrent[node.index()] && !self.recurrent[operand.index()];
                        if waits && time > self.target.register_out {
                            (cycle + 1, self.target.register_out)
                        } else {
                            (cycle, time)
                        }
                    };
                    let latest = op.operands().iter().map(arrival).fold((0, 0.0), later);
                    let (delay, registers) = self.target.operation(&self.kernel.graph, self.widths, node);
                    self.chained(latest, delay, registers)
                }
            };
            nodes.push(time);
        }
        for (access, one) in self.kernel.accesses.iter().enumerate() {
            if one.written.is_some() {
                earliest[access] = self.ready(access, &nodes);
            }
        }
        (nodes, earliest)
    }

    /// The time at which the data of a read arrives, for the cycle of the request.
    fn read(&self, access: usize, cycle: u32) -> (u32, f64) {
        if is_registers(self.memory(access)) {
            (cycle, self.target.register_out)
        } else if self.has_port(access) && self.memory(access).mode != Some(Mode::Stream) {
            (cycle + MEMORY_CYCLES, self.target.register_out + self.target.choice(self.banks(access)))
        } else {
            (cycle + 1, self.target.register_out)
        }
    }

    /// The time after an operation: in the same cycle if the path fits.
    fn chained(&self, (cycle, time): (u32, f64), delay: f64, registers: u32) -> (u32, f64) {
        let limit = self.target.period - self.target.setup;
        if registers > 0 {
            // Its operands are registered.
            let first = if time > self.target.register_out { cycle + 1 } else { cycle };
            return (first + registers, self.target.register_out);
        }
        if time + delay <= limit { (cycle, time + delay) } else { (cycle + 1, self.target.register_out + delay) }
    }

    /// The first cycle in which all operands of an access are present.
    fn ready(&self, access: usize, nodes: &[(u32, f64)]) -> u32 {
        let one = &self.kernel.accesses[access];
        let address = self.addresses[access];
        let of = |node: Node| nodes.get(node.index()).copied().unwrap_or((0, 0.0));
        let needed = [Some(address.bank), Some(address.row), one.condition, one.written];
        let (cycle, time) = needed.into_iter().flatten().map(of).fold((0, 0.0), later);
        // The way from an address or a value to the bank passes a selection among banks.
        self.asked(access, (cycle, time))
    }

    /// The cycle of the request of an access whose operands are present at this time.
    fn asked(&self, access: usize, (cycle, time): (u32, f64)) -> u32 {
        let limit = self.target.period - self.target.setup - self.way_in(access);
        if time <= limit { cycle } else { cycle + 1 }
    }

    /// Places all accesses at an interval. If `aligned`, values enter a recurrence at the beginning of a cycle, so its
    /// operations are spread over as few cycles as possible.
    fn place(&self, interval: u32, bound: u32, aligned: bool) -> Option<Schedule> {
        let count = self.kernel.accesses.len();
        let mut cycles: Vec<Option<u32>> = vec![None; count];
        let mut least = vec![0u32; count];
        let mut limit = None;
        for _ in 0..MAX_DEPTH {
            let (nodes, earliest) = self.nodes(&cycles, aligned);
            let mut next: Vec<u32> = (0..count).map(|access| least[access].max(earliest[access])).collect();
            self.after_others(&mut next, interval);
            let depth = next.iter().max().copied().unwrap_or(0);
            let most = *limit.get_or_insert(4 * (depth + interval.min(depth)) + MOVES);
            if depth > most.min(MAX_DEPTH) {
                return None;
            }
            // Ports are checked when dependences hold, because that check takes longer.
            if !same(&next, &cycles) {
                cycles = next.iter().copied().map(Some).collect();
                least = next;
                continue;
            }
            self.spread(&mut next, interval)?;
            if same(&next, &cycles) {
                let dependence = self.dependence_bound(&next);
                let bounds = (bound, dependence);
                return Some(Schedule {
                    interval,
                    gap: 0,
                    nodes,
                    accesses: next,
                    ports: vec![0; count],
                    depth: depth + 1,
                    bounds,
                });
            }
            cycles = next.iter().copied().map(Some).collect();
            least = next;
        }
        None
    }

    /// Moves each access after the accesses on which it depends, within a run of the innermost loop.
    fn after_others(&self, cycles: &mut [u32], interval: u32) {
        for _ in 0..cycles.len() {
            let mut changed = false;
            for one in self.distances.iter().filter(|one| one.ends == 0) {
                let needed =
                    self.needed(one) + i64::from(cycles[one.first]) - i64::from(interval) * one.iterations as i64;
                // A read waits for the write of an earlier iteration. If the write depends on the read, both move without end,
                // and the interval is too short.
                if i64::from(cycles[one.second]) < needed {
                    cycles[one.second] = needed as u32;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The least number of cycles between two dependent accesses.
    fn needed(&self, one: &Distance) -> i64 {
        one.why.cycles().into()
    }

    /// Moves accesses to later cycles so that no bank exceeds its ports.
    fn spread(&self, cycles: &mut [u32], interval: u32) -> Option<()> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for access in (0..cycles.len()).filter(|&access| self.has_port(access)) {
            let one = &self.kernel.accesses[access];
            // If accesses of one kind never meet in an iteration, they never meet in one cycle.
            let same = |group: &&mut Vec<usize>| {
                let other = &self.kernel.accesses[group[0]];
                interval == 1 && other.memory == one.memory && other.written.is_some() == one.written.is_some()
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(access),
                None => groups.push(vec![access]),
            }
        }
        for group in &groups {
            let together = group.iter().map(|&access| cycles[access]).max().unwrap_or(0);
            group.iter().for_each(|&access| cycles[access] = together);
        }
        groups.sort_by_key(|group| (cycles[group[0]], group[0]));
        let mut asked = Asked::default();
        for group in groups {
            let start = |iteration: usize| u64::from(interval) * iteration as u64;
            let mut moves = 0;
            while !self.ask(&mut asked, &group, cycles, start) {
                moves += 1;
                if moves > interval.max(MOVES) {
                    return None;
                }
                group.iter().for_each(|&access| cycles[access] += 1);
            }
        }
        Some(())
    }

    /// Reserves the ports of accesses in the whole run. Reserves nothing and returns `false` if a bank has too few ports.
    fn ask(&self, asked: &mut Asked, accesses: &[usize], cycles: &[u32], start: impl Fn(usize) -> u64) -> bool {
        let mut noted: Vec<Port> = Vec::new();
        for &access in accesses {
            let one = &self.kernel.accesses[access];
            let writes = one.written.is_some() && self.memory(access).ports == Ports::ReadAndWrite;
            for iteration in 0..self.kernel.iterations() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                // A bank that is known only at run time may be any bank.
                let bank = if self.unknown[one.memory] { 0 } else { visit.bank.unwrap_or(0) };
                let port = (start(iteration) + u64::from(cycles[access]), one.memory, bank, writes);
                let users = asked.entry(port).or_default();
                if users.count == self.capacity(access) {
                    for port in noted {
                        asked.entry(port).or_default().count -= 1;
                    }
                    return false;
                }
                users.of[users.count as usize] = access;
                users.count += 1;
                noted.push(port);
            }
        }
        true
    }

    /// The least interval that dependences inside of a run of the innermost loop allow with these cycles.
    fn dependence_bound(&self, cycles: &[u32]) -> u32 {
        let of = |one: &Distance| {
            let apart = i64::from(cycles[one.first]) + self.needed(one) - i64::from(cycles[one.second]);
            let iterations = one.iterations as i64;
            if iterations > 0 { (apart.max(0) as u64).div_ceil(iterations as u64) as u32 } else { 1 }
        };
        self.distances.iter().filter(|one| one.ends == 0).map(of).max().unwrap_or(1).max(1)
    }

    /// The schedule with the least gap with which all dependences and ports hold; `None` if the interval is too short.
    fn with_gap(&self, mut schedule: Schedule) -> Option<Schedule> {
        for one in self.distances {
            let between = i64::from(schedule.interval) * one.iterations as i64;
            let late = i64::from(schedule.accesses[one.first]) + self.needed(one)
                - i64::from(schedule.accesses[one.second])
                - between;
            if late > 0 {
                if one.ends == 0 {
                    return None;
                }
                schedule.gap = schedule.gap.max(u32::try_from(late).ok()?);
            }
        }
        let most = schedule.gap.saturating_add(MOVES).min(MAX_GAP);
        while schedule.gap <= most {
            if let Some(ports) = self.ports(&schedule) {
                return Some(Schedule { ports, ..schedule });
            }
            schedule.gap += 1;
        }
        None
    }

    /// The port of each access; `None` if a bank exceeds its ports in any cycle of the whole run.
    fn ports(&self, schedule: &Schedule) -> Option<Vec<u8>> {
        let accesses: Vec<usize> = (0..self.kernel.accesses.len()).filter(|&access| self.has_port(access)).collect();
        let mut asked = Asked::default();
        let start = |iteration: usize| schedule.start(self.kernel, iteration);
        if !self.ask(&mut asked, &accesses, &schedule.accesses, start) {
            return None;
        }
        // Two accesses that meet need different ports.
        let mut meet: BTreeSet<(usize, usize)> = BTreeSet::new();
        for users in asked.values() {
            if users.count == 2 {
                let [a, b] = users.of;
                meet.extend([(a, b), (b, a)]);
            }
        }
        let mut ports: Vec<Option<u8>> = vec![None; schedule.accesses.len()];
        for access in accesses {
            let mut open = vec![access];
            while let Some(one) = open.pop() {
                let port = *ports[one].get_or_insert(0);
                for &(_, other) in meet.range((one, 0)..=(one, usize::MAX)) {
                    match ports[other] {
                        None => {
                            ports[other] = Some(1 - port);
                            open.push(other);
                        }
                        Some(taken) if taken == port => return None,
                        Some(_) => {}
                    }
                }
            }
        }
        Some(ports.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// The number of accesses of the same kind that may use the same bank as an access; by access.
fn sharing(kernel: &Kernel, memories: &[Memory], visits: &Visits) -> Vec<usize> {
    let banks = |access: usize| {
        let mut banks: BTreeSet<Option<usize>> = BTreeSet::new();
        for iteration in 0..kernel.iterations() {
            banks.extend(visits.get(access, iteration).map(|visit| visit.bank));
        }
        banks
    };
    let all: Vec<BTreeSet<Option<usize>>> = (0..kernel.accesses.len()).map(banks).collect();
    let count = |access: usize| {
        let one = &kernel.accesses[access];
        let any = memories[one.memory].ports == Ports::TwoOfAny;
        let shares = |other: &usize| {
            let two = &kernel.accesses[*other];
            two.memory == one.memory
                && (any || two.written.is_some() == one.written.is_some())
                && (all[access].contains(&None)
                    || all[*other].contains(&None)
                    || !all[access].is_disjoint(&all[*other]))
        };
        (0..kernel.accesses.len()).filter(shares).count()
    };
    (0..kernel.accesses.len()).map(count).collect()
}

/// Nodes between a read and a write on which that read depends in a later iteration of the same run of the innermost loop.
fn recurrent(kernel: &Kernel, distances: &[Distance]) -> Vec<bool> {
    let mut of = vec![false; kernel.graph.len()];
    let closes = |one: &&Distance| one.why == Dependence::ReadAfterWrite && one.ends == 0 && one.iterations > 0;
    let closing: Vec<&Distance> = distances.iter().filter(closes).collect();
    let mut reads = vec![false; kernel.accesses.len()];
    let mut after = vec![false; kernel.graph.len()];
    let mut before = vec![false; kernel.graph.len()];
    for one in closing {
        reads[one.second] = true;
        let access = &kernel.accesses[one.first];
        let needed = access.written.into_iter().chain(access.condition).chain(access.indices.iter().copied());
        needed.for_each(|node| before[node.index()] = true);
    }
    for (node, data) in kernel.graph.nodes() {
        after[node.index()] = match data.op {
            Op::Read(access) => reads[access],
            op => op.operands().iter().any(|operand| after[operand.index()]),
        };
    }
    let nodes: Vec<(Node, Op)> = kernel.graph.nodes().map(|(node, data)| (node, data.op)).collect();
    for (node, op) in nodes.into_iter().rev() {
        if before[node.index()] {
            op.operands().iter().for_each(|operand| before[operand.index()] = true);
        }
        of[node.index()] = before[node.index()] && after[node.index()];
    }
    of
}

fn same(cycles: &[u32], placed: &[Option<u32>]) -> bool {
    cycles.iter().zip(placed).all(|(&cycle, &placed)| Some(cycle) == placed)
}

fn later(a: (u32, f64), b: (u32, f64)) -> (u32, f64) {
    if (a.0, a.1) >= (b.0, b.1) { a } else { b }
}
