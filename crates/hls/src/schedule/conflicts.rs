//! Which accesses use the same port of a bank, by the number of iterations between them.

use std::collections::HashMap;

use super::work::Work;
use crate::pragma::Ports;

/// Which pairs of iterations count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// All iterations, which follow one another without a gap.
    All,
    /// Iterations of one run of the innermost loop.
    Run,
}

/// An access does not happen in an iteration.
const NONE: u32 = u32::MAX;
/// An access may use any bank.
const ANY: u32 = u32::MAX - 1;

/// A table of conflicts, which is filled when it is asked.
pub(super) struct Conflicts {
    /// The bank of each access in each iteration.
    banks: Vec<Vec<u32>>,
    /// Accesses that compete with an access for ports, by access.
    pub(super) rivals: Vec<Vec<usize>>,
    /// The ports of a bank that an access may use, by access.
    pub(super) ports: Vec<u8>,
    /// The iterations of a run.
    run: usize,
    known: HashMap<(usize, usize, i64), bool>,
    /// The remaining steps.
    effort: u64,
}

impl Conflicts {
    pub(super) fn of(work: &Work<'_>, span: Span, effort: u64) -> Self {
        let accesses = 0..work.kernel.accesses.len();
        let run = match span {
            Span::All => work.kernel.iterations(),
            Span::Run => work.kernel.loops.last().map_or(1, |one| one.trips),
        };
        Self {
            banks: accesses.clone().map(|access| banks(work, access)).collect(),
            rivals: accesses.clone().map(|access| rivals(work, access)).collect(),
            ports: accesses.map(|access| work.capacity(access) as u8).collect(),
            run: run.max(1),
            known: HashMap::new(),
            effort,
        }
    }

    /// Whether steps remain.
    pub(super) fn has_effort(&self) -> bool {
        self.effort > 0
    }

    /// Counts steps.
    pub(super) fn spend(&mut self, steps: u64) {
        self.effort = self.effort.saturating_sub(steps);
    }

    /// Whether two accesses that have the same port need a bank in one cycle, for the cycles of an iteration in which they are.
    pub(super) fn meet(&mut self, (a, at): (usize, i64), (b, then): (usize, i64), interval: u32) -> bool {
        // Iteration i of the first access and iteration i + offset of the second one are in one cycle.
        let apart = at - then;
        apart % i64::from(interval) == 0 && self.offset(a, b, apart / i64::from(interval))
    }

    /// Whether the first access in an iteration and the second one `offset` iterations later are in one bank.
    fn offset(&mut self, a: usize, b: usize, offset: i64) -> bool {
        self.spend(1);
        let key = if a < b { (a, b, offset) } else { (b, a, -offset) };
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let (found, steps) = self.search(key);
        self.spend(steps);
        self.known.insert(key, found);
        found
    }

    fn search(&self, (a, b, offset): (usize, usize, i64)) -> (bool, u64) {
        let apart = offset.unsigned_abs() as usize;
        let (early, late) =
            if offset < 0 { (&self.banks[b], &self.banks[a]) } else { (&self.banks[a], &self.banks[b]) };
        let mut steps = 0;
        for (early, late) in early.chunks(self.run).zip(late.chunks(self.run)) {
            let mut pairs = early.iter().zip(late.iter().skip(apart));
            steps += early.len().saturating_sub(apart) as u64 / 8 + 1;
            if pairs.any(|(&x, &y)| x != NONE && y != NONE && (x == y || x == ANY || y == ANY)) {
                return (true, steps);
            }
        }
        (false, steps)
    }
}

/// The bank of an access in each iteration.
fn banks(work: &Work<'_>, access: usize) -> Vec<u32> {
    let any = work.unknown[work.kernel.accesses[access].memory];
    let bank = |iteration: usize| match work.visits.get(access, iteration) {
        None => NONE,
        Some(_) if any => ANY,
        Some(visit) => visit.bank.map_or(ANY, |bank| bank as u32),
    };
    let iterations = if work.has_port(access) { work.kernel.iterations() } else { 0 };
    (0..iterations).map(bank).collect()
}

fn rivals(work: &Work<'_>, access: usize) -> Vec<usize> {
    let accesses = &work.kernel.accesses;
    let one = &accesses[access];
    let competes = |&other: &usize| {
        let two = &accesses[other];
        let any = work.memory(access).ports == Ports::TwoOfAny;
        other != access && two.memory == one.memory && (any || one.written.is_some() == two.written.is_some())
    };
    if work.has_port(access) { (0..accesses.len()).filter(competes).collect() } else { Vec::new() }
}
