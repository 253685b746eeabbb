//! When each operation happens: the interval between iterations, the gap between runs of the innermost loop, and the cycle of
//! each node and access.
//!
//! All times count from the cycle in which an iteration begins. A node without a register has its value in the same cycle as
//! its operands, as long as the path fits into the clock period. At an interval of one, each node is as early as its operands
//! allow, which is the shortest schedule. Above, accesses are placed one after another where no bank is asked twice in the
//! same cycle.

pub mod problem;
pub mod simulate;
mod target;

pub use target::Target;

use crate::analysis::{Dependence, Distance, Visits, is_registers};
use crate::diagnostic::{Problem, Result};
use crate::ir::{Access, Kernel, Memory, Node, Op, Role};
use crate::pragma::Ports;

/// Cycles of one iteration.
const MAX_DEPTH: u32 = 4096;
/// Cycles from iteration to iteration.
const MAX_INTERVAL: u32 = 4096;
/// Idle cycles between two runs of the innermost loop.
const MAX_GAP: u32 = 4096;

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
    /// The cycle in which an access is asked for; by access. What it reads is there in the next cycle, or at once if the
    /// memory is made of registers.
    pub accesses: Vec<u32>,
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

    /// Cycles from the first iteration's begin to the last write.
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
    target: &Target,
) -> Result<Schedule> {
    let mut work = Work { kernel, addresses, memories, visits, distances, target };
    let bound = work.port_bound();
    let wanted = match kernel.pipeline {
        // Without a pipeline an iteration begins when the one before has ended.
        None => {
            let mut alone = work.place(MAX_INTERVAL, bound).ok_or_else(|| work.refused(MAX_INTERVAL))?;
            alone.interval = alone.depth.max(1);
            return work.with_gap(alone).ok_or_else(|| work.refused(MAX_INTERVAL));
        }
        Some(wanted) => wanted,
    };
    let most = wanted.unwrap_or(MAX_INTERVAL);
    let mut interval = bound;
    // An interval that is wanted longer than the bound is kept to.
    if let Some(wanted) = wanted {
        interval = interval.max(wanted);
    }
    while interval <= most {
        if let Some(found) = work.place(interval, bound).and_then(|placed| work.with_gap(placed)) {
            return Ok(found);
        }
        interval += 1;
    }
    Err(work.refused(most))
}

struct Work<'a> {
    kernel: &'a Kernel,
    addresses: &'a [Address],
    memories: &'a [Memory],
    visits: &'a Visits,
    distances: &'a [Distance],
    target: &'a Target,
}

impl Work<'_> {
    fn memory(&self, access: usize) -> &Memory {
        &self.memories[self.kernel.accesses[access].memory]
    }

    /// Whether an access needs a port that others may need.
    fn has_port(&self, access: usize) -> bool {
        let memory = self.memory(access);
        !matches!(memory.role, Role::Table(_)) && !is_registers(memory)
    }

    /// Whether two accesses ask for the same port if they are in the same bank.
    fn compete(&self, a: usize, b: usize) -> bool {
        let (x, y): (&Access, &Access) = (&self.kernel.accesses[a], &self.kernel.accesses[b]);
        x.memory == y.memory
            && self.has_port(a)
            && (self.memory(a).ports == Ports::TwoOfAny || x.written.is_some() == y.written.is_some())
    }

    /// Accesses of a bank in one cycle.
    fn capacity(&self, access: usize) -> u32 {
        if self.memory(access).ports == Ports::TwoOfAny { 2 } else { 1 }
    }

    /// The least interval that the ports allow: the most accesses of a bank in an iteration, over its ports.
    fn port_bound(&self) -> u32 {
        let mut bound = 1;
        for iteration in 0..self.kernel.iterations() {
            for access in 0..self.kernel.accesses.len() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                if !self.has_port(access) {
                    continue;
                }
                let same = |other: &usize| {
                    self.compete(access, *other)
                        && self.visits.get(*other, iteration).is_some_and(|seen| {
                            seen.bank.is_none() || visit.bank.is_none() || seen.bank == visit.bank
                        })
                };
                let asked = (0..self.kernel.accesses.len()).filter(same).count() as u32;
                bound = bound.max(asked.div_ceil(self.capacity(access)));
            }
        }
        bound
    }

    fn refused(&self, most: u32) -> Problem {
        let what = format!("no interval up to {most} for `{}`; the ports allow {} at the least", self.kernel.name, self.port_bound());
        Problem::new(self.kernel.place, what, "ask for a longer interval, use more banks, or another order of iterations")
    }

    /// The cycle and the time of each node, given the cycles of accesses; accesses that are not placed come as early as they can.
    fn nodes(&self, cycles: &[Option<u32>]) -> (Vec<(u32, f64)>, Vec<u32>) {
        let mut nodes: Vec<(u32, f64)> = Vec::with_capacity(self.kernel.graph.len());
        let mut earliest = vec![0; self.kernel.accesses.len()];
        for (node, data) in self.kernel.graph.nodes() {
            let time = match data.op {
                Op::Const(_) => (0, 0.0),
                Op::Loop(_) => (0, self.target.register_out),
                Op::Read(access) => {
                    let (from, registers) = (self.ready(access, &nodes), is_registers(self.memory(access)));
                    earliest[access] = from;
                    let cycle = cycles[access].unwrap_or(from).max(from);
                    if registers { (cycle, self.target.register_out) } else { (cycle + 1, self.target.memory_out) }
                }
                op => {
                    let operands = op.operands();
                    let latest = operands.iter().map(|operand| nodes[operand.index()]).fold((0, 0.0), later);
                    let (delay, registers) = self.target.operation(&self.kernel.graph, node);
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

    /// The first cycle in which all that an access needs is there.
    fn ready(&self, access: usize, nodes: &[(u32, f64)]) -> u32 {
        let one = &self.kernel.accesses[access];
        let address = self.addresses[access];
        let of = |node: Node| nodes.get(node.index()).copied().unwrap_or((0, 0.0));
        let needed = [Some(address.bank), Some(address.row), one.condition, one.written];
        let (cycle, time) = needed.into_iter().flatten().map(of).fold((0, 0.0), later);
        // The way from an address or a value to the bank passes a selection among banks.
        let limit = self.target.period - self.target.memory_in;
        if time <= limit { cycle } else { cycle + 1 }
    }

    /// Places all accesses at an interval.
    fn place(&mut self, interval: u32, bound: u32) -> Option<Schedule> {
        let count = self.kernel.accesses.len();
        let mut cycles: Vec<Option<u32>> = vec![None; count];
        // Accesses of one kind and memory that never meet in an iteration are best in the same cycle: they then never meet.
        let mut least = vec![0u32; count];
        for _ in 0..MAX_DEPTH {
            let (nodes, earliest) = self.nodes(&cycles);
            let mut next: Vec<u32> = (0..count).map(|access| least[access].max(earliest[access])).collect();
            for a in 0..count {
                let group = (0..count).filter(|&b| self.compete(a, b) || a == b);
                let together = group.map(|b| next[b]).max().unwrap_or(0);
                if interval == 1 && self.has_port(a) {
                    next[a] = together;
                }
            }
            self.after_others(&mut next, interval);
            if interval > 1 {
                self.spread(&mut next, interval)?;
            }
            if next.iter().any(|cycle| *cycle > MAX_DEPTH) {
                return None;
            }
            let placed: Vec<Option<u32>> = next.iter().copied().map(Some).collect();
            if placed == cycles {
                let depth = next.iter().max().copied().unwrap_or(0) + 1;
                let dependence = self.dependence_bound(&next);
                return Some(Schedule { interval, gap: 0, nodes, accesses: next, depth, bounds: (bound, dependence) });
            }
            least = next;
            cycles = placed;
        }
        None
    }

    /// Accesses come after those of the same iteration that they depend on.
    fn after_others(&self, cycles: &mut [u32], interval: u32) {
        for _ in 0..cycles.len() {
            let mut changed = false;
            for one in self.distances.iter().filter(|one| one.ends == 0) {
                let needed = self.needed(one) + i64::from(cycles[one.first]) - i64::from(interval) * one.iterations as i64;
                // A read that depends on a write of an earlier iteration waits for no later write: the interval must do.
                let movable = one.iterations == 0 || one.why != Dependence::ReadAfterWrite;
                if movable && i64::from(cycles[one.second]) < needed {
                    cycles[one.second] = needed as u32;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Cycles between two dependent accesses at the least.
    fn needed(&self, one: &Distance) -> i64 {
        match one.why {
            Dependence::ReadAfterWrite | Dependence::WriteAfterWrite => 1,
            // A read of registers sees their contents at the beginning of a cycle, one of a memory at its end, before the write.
            Dependence::WriteAfterRead => 0,
        }
    }

    /// Moves accesses so that none meets another one of the same iteration in a bank in the same cycle of the interval.
    fn spread(&self, cycles: &mut [u32], interval: u32) -> Option<()> {
        let mut order: Vec<usize> = (0..cycles.len()).filter(|&access| self.has_port(access)).collect();
        order.sort_by_key(|&access| (cycles[access], access));
        let mut placed: Vec<usize> = Vec::new();
        for access in order {
            let free = (cycles[access]..cycles[access] + interval).find(|&cycle| {
                let meeting = placed.iter().filter(|&&other| {
                    self.compete(access, other)
                        && cycles[other] % interval == cycle % interval
                        && self.meet(access, cycle, other, cycles[other], interval)
                });
                (meeting.count() as u32) < self.capacity(access)
            })?;
            cycles[access] = free;
            placed.push(access);
        }
        Some(())
    }

    /// Whether two accesses that fall into the same cycle are in the same bank in some iterations.
    fn meet(&self, a: usize, at: u32, b: usize, other: u32, interval: u32) -> bool {
        // Iteration i of a and iteration i + offset of b are in the same cycle.
        let offset = (i64::from(at) - i64::from(other)) / i64::from(interval);
        let count = self.kernel.iterations() as i64;
        (0..count).any(|i| {
            let j = i + offset;
            (0..count).contains(&j)
                && match (self.visits.get(a, i as usize), self.visits.get(b, j as usize)) {
                    (Some(x), Some(y)) => x.bank.is_none() || y.bank.is_none() || x.bank == y.bank,
                    _ => false,
                }
        })
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

    /// The least gap with which all dependences and ports hold; none if the interval is too short.
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
        while schedule.gap <= MAX_GAP {
            if self.ports_hold(&schedule) {
                return Some(schedule);
            }
            schedule.gap += 1;
        }
        None
    }

    /// Whether no bank is asked more often in a cycle than it has ports, in the whole run.
    fn ports_hold(&self, schedule: &Schedule) -> bool {
        use std::collections::HashMap;
        let mut asked: HashMap<(u64, usize, usize, bool), u32> = HashMap::new();
        for access in (0..self.kernel.accesses.len()).filter(|&access| self.has_port(access)) {
            let one = &self.kernel.accesses[access];
            let writes = one.written.is_some() && self.memory(access).ports == Ports::ReadAndWrite;
            for iteration in 0..self.kernel.iterations() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                let cycle = schedule.start(self.kernel, iteration) + u64::from(schedule.accesses[access]);
                // An unknown bank may be any: only one access is then allowed.
                let bank = visit.bank.unwrap_or(0);
                let count = asked.entry((cycle, one.memory, bank, writes)).or_default();
                *count += 1;
                if *count > self.capacity(access) {
                    return false;
                }
            }
        }
        true
    }
}

fn later(a: (u32, f64), b: (u32, f64)) -> (u32, f64) {
    if (a.0, a.1) >= (b.0, b.1) { a } else { b }
}
