//! The scheduling problem of a kernel in numbers, for an exact solver that tests the scheduler.

use super::model::Model;
use super::target::Target;
use super::types::Address;
use super::work::Work;
use crate::analysis::{Distance, Visits, is_registers};
use crate::ir::{Kernel, Memory, Role, Widths};
use crate::pragma::Ports;

/// The problem of a kernel with one loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The problem of a kernel with these addresses and dependences; empty if the kernel is too large for it.
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
        let Some(model) = Model::of(&work, 1) else { return Self::default() };
        let needed = model.edges.iter().filter(|edge| edge.distance.is_none());
        let latencies = needed.map(|edge| (edge.from, edge.to, edge.cycles as u32)).collect();
        let dependence =
            |one: &Distance| (one.first, one.second, one.iterations, one.why.cycles(work.memory(one.first)));
        let bank = |access: usize, iteration: usize| match visits.get(access, iteration) {
            None => -1,
            // The scheduler takes all accesses of a memory for accesses of any bank, if one of them is.
            Some(_) if work.unknown[kernel.accesses[access].memory] => -2,
            Some(visit) => visit.bank.map_or(-2, |bank| bank as i64),
        };
        let accesses = 0..kernel.accesses.len();
        let banks = accesses.map(|access| (0..kernel.iterations()).map(|one| bank(access, one)).collect()).collect();
        let dependences = distances.iter().map(dependence).collect();
        Self { earliest: model.earliest, latencies, dependences, groups: groups(kernel, memories), banks }
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
