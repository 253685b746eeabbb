//! A kernel to be scheduled: its accesses, their ports, and the time of each node.

use std::collections::BTreeSet;

use super::target::Target;
use super::types::Address;
use crate::analysis::{Distance, Layout, Visits, is_block, is_registers, read_cycles};
use crate::ir::{Access, Kernel, Memory, Node, Op, Role, Widths};
use crate::pragma::{Mode, Ports};

pub(super) struct Work<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) addresses: &'a [Address],
    pub(super) memories: &'a [Memory],
    pub(super) visits: &'a Visits,
    pub(super) distances: &'a [Distance],
    pub(super) widths: &'a Widths,
    pub(super) target: &'a Target,
    /// Memories with an access whose bank is known only at run time.
    pub(super) unknown: Vec<bool>,
    /// The banks that an access may use; by access.
    choices: Vec<usize>,
    /// The number of accesses of the same kind that may use the same bank as an access; by access.
    pub(super) sharing: Vec<usize>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
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
        let used = used(kernel, visits);
        let choices = |(banks, one): (&Used, &Access)| match banks.contains(&None) {
            true => Layout::of(&memories[one.memory]).banks,
            false => banks.len(),
        };
        Work {
            kernel,
            addresses,
            memories,
            visits,
            distances,
            widths,
            target,
            unknown,
            choices: used.iter().zip(&kernel.accesses).map(choices).collect(),
            sharing: sharing(kernel, memories, &used),
        }
    }

    /// Nodes, dependences, and visits of accesses.
    pub(super) fn size(&self) -> u64 {
        let visits = self.kernel.accesses.len() * self.kernel.iterations();
        (self.kernel.graph.len() + self.distances.len() + visits) as u64
    }

    pub(super) fn memory(&self, access: usize) -> &Memory {
        &self.memories[self.kernel.accesses[access].memory]
    }

    /// Whether an access needs a port that others may need.
    pub(super) fn has_port(&self, access: usize) -> bool {
        let memory = self.memory(access);
        !matches!(memory.role, Role::Table(_)) && !is_registers(memory)
    }

    /// The greatest number of accesses of one kind to a bank in a cycle.
    pub(super) fn capacity(&self, access: usize) -> u32 {
        if self.memory(access).ports == Ports::TwoOfAny { 2 } else { 1 }
    }

    pub(super) fn banks(&self, access: usize) -> usize {
        Layout::of(self.memory(access)).banks
    }

    /// The time from an access to the registers at its bank.
    pub(super) fn way_in(&self, access: usize) -> f64 {
        let memory = self.memory(access);
        if let Role::Table(elements) = &memory.role {
            return if is_block(memory) { 0.0 } else { self.target.choice(elements.len() / 4) };
        }
        let to_others = if self.sharing[access] > 1 || self.banks(access) > 1 && !is_registers(memory) {
            self.target.lut + self.target.choice(self.sharing[access])
        } else {
            0.0
        };
        // Each register selects between its old value and the written one.
        to_others + if is_registers(memory) { self.target.lut } else { 0.0 }
    }

    /// The least number of cycles between two dependent accesses.
    pub(super) fn needed(&self, one: &Distance) -> i64 {
        one.why.cycles(self.memory(one.first)).into()
    }

    /// The cycle and the time of each node, and the earliest cycle of each access, for these cycles of accesses. An access
    /// without a cycle is as early as possible.
    pub(super) fn nodes(&self, cycles: &[Option<u32>]) -> (Vec<(u32, f64)>, Vec<u32>) {
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
                    let latest = op.operands().iter().map(|operand| nodes[operand.index()]).fold((0, 0.0), later);
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
    pub(super) fn read(&self, access: usize, cycle: u32) -> (u32, f64) {
        let memory = self.memory(access);
        let selection = match memory.role {
            // A table has no register behind the data of a block memory.
            Role::Table(_) if memory.len() > self.target.table_rows => self.target.block_out - self.target.register_out,
            Role::Table(_) => 0.0,
            _ if memory.mode == Some(Mode::Stream) => 0.0,
            _ if is_registers(memory) => self.target.selection(self.choices[access]),
            // A read of one bank has a wire, and no selection.
            _ if self.kernel.graph.constant(self.addresses[access].bank).is_some() => {
                self.target.selection(self.banks(access)).min(self.target.lut)
            }
            _ => self.target.selection(self.banks(access)),
        };
        (cycle + read_cycles(memory), self.target.register_out + selection)
    }

    /// The time after an operation: in the same cycle if the path fits.
    pub(super) fn chained(&self, (cycle, time): (u32, f64), delay: f64, registers: u32) -> (u32, f64) {
        let limit = self.target.period - self.target.setup;
        if registers > 0 {
            // Its operands are registered.
            let first = if time > self.target.register_out { cycle + 1 } else { cycle };
            return (first + registers, self.target.register_out);
        }
        if time + delay <= limit { (cycle, time + delay) } else { (cycle + 1, self.target.register_out + delay) }
    }

    /// The first cycle in which all operands of an access are present.
    pub(super) fn ready(&self, access: usize, nodes: &[(u32, f64)]) -> u32 {
        let one = &self.kernel.accesses[access];
        let address = self.addresses[access];
        let of = |node: Node| nodes.get(node.index()).copied().unwrap_or((0, 0.0));
        let needed = [Some(address.bank), Some(address.row), one.condition, one.written];
        let (cycle, time) = needed.into_iter().flatten().map(of).fold((0, 0.0), later);
        // The way from an address or a value to the bank passes a selection among banks.
        self.asked(access, (cycle, time))
    }

    /// The cycle of the request of an access whose operands are present at this time.
    pub(super) fn asked(&self, access: usize, (cycle, time): (u32, f64)) -> u32 {
        let limit = self.target.period - self.target.setup - self.way_in(access);
        if time <= limit { cycle } else { cycle + 1 }
    }
}

/// The banks of an access; `None` is a bank that is known only at run time.
type Used = BTreeSet<Option<usize>>;

/// The banks of each access.
fn used(kernel: &Kernel, visits: &Visits) -> Vec<Used> {
    let bank = |access, iteration| Some(visits.get(access, iteration)?.bank);
    let banks = |access| (0..kernel.iterations()).filter_map(|iteration| bank(access, iteration)).collect();
    (0..kernel.accesses.len()).map(banks).collect()
}

/// The number of accesses of the same kind that may use the same bank as an access; by access.
fn sharing(kernel: &Kernel, memories: &[Memory], used: &[Used]) -> Vec<usize> {
    let count = |access: usize| {
        let one = &kernel.accesses[access];
        let any = memories[one.memory].ports == Ports::TwoOfAny;
        let shares = |other: &usize| {
            let two = &kernel.accesses[*other];
            two.memory == one.memory
                && (any || two.written.is_some() == one.written.is_some())
                && (used[access].contains(&None)
                    || used[*other].contains(&None)
                    || !used[access].is_disjoint(&used[*other]))
        };
        (0..kernel.accesses.len()).filter(shares).count()
    };
    (0..kernel.accesses.len()).map(count).collect()
}

pub(super) fn later(a: (u32, f64), b: (u32, f64)) -> (u32, f64) {
    if (a.0, a.1) >= (b.0, b.1) { a } else { b }
}
