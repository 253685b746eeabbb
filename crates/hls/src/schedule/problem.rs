//! The scheduling problem of a kernel in numbers, for an exact solver that tests the scheduler.
//!
//! A node has its value at a cycle and a time in that cycle, and later operands make later values. The first cycle of an access
//! is therefore the greatest of its latency from the beginning of the iteration and, for each read, the sum of the read's cycle
//! and the latency from that read.

use super::{Address, Target, Work, later};
use crate::analysis::{Dependence, Distance, Visits, is_registers};
use crate::ir::{Kernel, Memory, Node, Op, Role, Widths};
use crate::pragma::Ports;

/// The problem of a kernel with one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The first cycle of each access, without regard to reads.
    pub earliest: Vec<u32>,
    /// A read, an access that needs its value, and the least number of cycles between them.
    pub latencies: Vec<(usize, usize, u32)>,
    /// Two accesses, the iterations from the first one to the second one, and the least number of cycles between them.
    pub dependences: Vec<(usize, usize, usize, u32)>,
    /// Accesses that compete for the ports of each bank, and the greatest number of them in a cycle.
    pub groups: Vec<(Vec<usize>, u32)>,
    /// The bank of each access in each iteration: −1 if it does not happen, −2 if it may be any.
    pub banks: Vec<Vec<i64>>,
}

impl Problem {
    /// The problem of a kernel with these addresses and dependences.
    #[must_use]
    pub fn of(
        kernel: &Kernel,
        addresses: &[Address],
        memories: &[Memory],
        distances: &[Distance],
        widths: &Widths,
        target: &Target,
    ) -> Self {
        let visits = Visits::of(kernel, memories);
        let work = Work::new(kernel, addresses, memories, &visits, distances, widths, target);
        let times = Times(&work);
        let accesses = 0..kernel.accesses.len();
        let begin = times.from(None);
        let earliest = accesses.clone().map(|access| begin[access].unwrap_or(0)).collect();
        let mut latencies = Vec::new();
        for read in accesses.clone().filter(|&access| kernel.accesses[access].written.is_none()) {
            let from = times.from(Some(read));
            latencies.extend(from.iter().enumerate().filter_map(|(access, cycles)| Some((read, access, (*cycles)?))));
        }
        let dependence =
            |one: &Distance| (one.first, one.second, one.iterations, u32::from(one.why != Dependence::WriteAfterRead));
        let bank = |access: usize, iteration: usize| match visits.get(access, iteration) {
            None => -1,
            Some(visit) => visit.bank.map_or(-2, |bank| bank as i64),
        };
        let banks = accesses.map(|access| (0..kernel.iterations()).map(|one| bank(access, one)).collect()).collect();
        let dependences = distances.iter().map(dependence).collect();
        Self { earliest, latencies, dependences, groups: groups(kernel, memories), banks }
    }
}

/// Accesses that compete for ports.
fn groups(kernel: &Kernel, memories: &[Memory]) -> Vec<(Vec<usize>, u32)> {
    let mut found = Vec::new();
    for (number, memory) in memories.iter().enumerate() {
        if matches!(memory.role, Role::Table(_)) || is_registers(memory) {
            continue;
        }
        let of = |writes: Option<bool>| -> Vec<usize> {
            let wanted = |access: &usize| {
                let one = &kernel.accesses[*access];
                one.memory == number && writes.is_none_or(|writes| one.written.is_some() == writes)
            };
            (0..kernel.accesses.len()).filter(wanted).collect()
        };
        match memory.ports {
            Ports::TwoOfAny => found.push((of(None), 2)),
            Ports::ReadAndWrite => found.extend([(of(Some(false)), 1), (of(Some(true)), 1)]),
        }
    }
    found.retain(|(accesses, _)| !accesses.is_empty());
    found
}

struct Times<'a>(&'a Work<'a>);

impl Times<'_> {
    /// The first cycle of each access, counted from a read, or from the beginning; `None` if it does not depend on that.
    fn from(&self, read: Option<usize>) -> Vec<Option<u32>> {
        let mut nodes: Vec<Option<(u32, f64)>> = Vec::with_capacity(self.0.kernel.graph.len());
        for (node, data) in self.0.kernel.graph.nodes() {
            nodes.push(match data.op {
                Op::Const(_) => read.is_none().then_some((0, 0.0)),
                Op::Loop(_) => read.is_none().then_some((0, self.0.target.register_out)),
                Op::Read(access) if Some(access) == read => Some(self.0.read(access, 0)),
                Op::Read(_) => None,
                op => {
                    let operands = op.operands().into_iter().filter_map(|operand| nodes[operand.index()]);
                    operands.reduce(later).map(|latest| self.after(node, latest))
                }
            });
        }
        let of_access = |access: usize| {
            let (one, address) = (&self.0.kernel.accesses[access], self.0.addresses[access]);
            let needed = [Some(address.bank), Some(address.row), one.condition, one.written].into_iter().flatten();
            let latest = needed.filter_map(|node| nodes[node.index()]).reduce(later)?;
            Some(self.0.asked(access, latest))
        };
        (0..self.0.kernel.accesses.len()).map(of_access).collect()
    }

    fn after(&self, node: Node, latest: (u32, f64)) -> (u32, f64) {
        let (delay, registers) = self.0.target.operation(&self.0.kernel.graph, self.0.widths, node);
        self.0.chained(latest, delay, registers)
    }
}
