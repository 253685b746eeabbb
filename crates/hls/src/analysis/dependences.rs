//! Dependences among accesses: exact where elements are known, and as close as can be where they are not.

use std::collections::HashMap;

use super::{Visit, Visits, is_block};
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::{Access, Kernel, Memory};
use crate::pragma::Mode;

/// Why one access must come after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// A read of an element that the first access wrote.
    ReadAfterWrite,
    /// A write of an element that the first access read.
    WriteAfterRead,
    /// A write of an element that the first access wrote.
    WriteAfterWrite,
    /// The next element of a stream.
    NextOfStream,
}

impl Dependence {
    /// The dependence between two accesses of the same element; `None` between two reads.
    fn between(first: &Access, second: &Access) -> Option<Self> {
        match (first.written.is_some(), second.written.is_some()) {
            (true, false) => Some(Self::ReadAfterWrite),
            (false, true) => Some(Self::WriteAfterRead),
            (true, true) => Some(Self::WriteAfterWrite),
            (false, false) => None,
        }
    }

    /// The least number of cycles from the first access of a memory to the second one.
    #[must_use]
    pub fn cycles(self, memory: &Memory) -> u32 {
        // A read sees the contents before a write of the same cycle, but not if the memory is a block memory.
        u32::from(self != Self::WriteAfterRead || is_block(memory))
    }
}

/// One access that must come after another one of the same or an earlier iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The access that comes first.
    pub first: usize,
    /// The access that comes after it.
    pub second: usize,
    /// The kind of dependence.
    pub why: Dependence,
    /// The least number of iterations between them.
    pub iterations: usize,
    /// An iteration of the second access at that distance.
    pub at: usize,
    /// 1 if an end of the innermost loop lies between the two accesses, and 0 otherwise. `iterations` is the least distance
    /// of that kind.
    pub ends: usize,
}

/// Distances of all kernels of a function.
pub(crate) const MAX_DISTANCES: usize = 1 << 18;

/// All dependences, with their least distances. Trusted dependences are absent.
#[must_use]
pub fn distances(kernel: &Kernel, memories: &[Memory], visits: &Visits) -> Vec<Distance> {
    distances_within(kernel, memories, visits, usize::MAX).unwrap_or_default()
}

/// All dependences, as [`distances`] has them, if there are at most `room`.
pub(crate) fn distances_within(
    kernel: &Kernel,
    memories: &[Memory],
    visits: &Visits,
    room: usize,
) -> Option<Vec<Distance>> {
    let mut found = Found { kernel, visits, innermost: innermost(kernel), least: HashMap::new(), room };
    for (number, memory) in memories.iter().enumerate() {
        let accesses = accesses_of(kernel, number);
        if memory.mode == Some(Mode::Stream) {
            found.sequence(&accesses)?;
        } else if accesses.iter().any(|&access| kernel.accesses[access].written.is_some()) {
            let unknown = unknown(kernel, visits, &accesses);
            let known: Vec<usize> = accesses.iter().copied().filter(|&access| !unknown[access]).collect();
            found.exact(&known)?;
            let trusted = kernel.independent.iter().any(|(independent, _)| *independent == number);
            for (first, second, why) in pairs(kernel, &accesses, &unknown) {
                found.any(first, second, why, trusted)?;
            }
        }
    }
    Some(found.sorted())
}

/// The accesses of a memory.
fn accesses_of(kernel: &Kernel, memory: usize) -> Vec<usize> {
    (0..kernel.accesses.len()).filter(|&access| kernel.accesses[access].memory == memory).collect()
}

/// The iterations of a run of the innermost loop.
fn innermost(kernel: &Kernel) -> usize {
    kernel.loops.last().map_or(1, |one| one.trips.max(1))
}

/// Whether the elements of an access do not depend on data.
fn is_known(kernel: &Kernel, visits: &Visits, access: usize) -> bool {
    (0..kernel.iterations()).all(|one| visits.get(access, one).is_none_or(|visit| visit.element.is_some()))
}

/// Whether the elements of an access depend on data; by access. Accesses of other memories are left out.
fn unknown(kernel: &Kernel, visits: &Visits, accesses: &[usize]) -> Vec<bool> {
    let mut unknown = vec![false; kernel.accesses.len()];
    for &access in accesses {
        unknown[access] = !is_known(kernel, visits, access);
    }
    unknown
}

/// Pairs of accesses that depend on one another if they meet, of which at least one has an unknown element.
fn pairs(kernel: &Kernel, accesses: &[usize], unknown: &[bool]) -> impl Iterator<Item = (usize, usize, Dependence)> {
    let of = |first: usize, second: usize| {
        let why = Dependence::between(&kernel.accesses[first], &kernel.accesses[second])?;
        (unknown[first] || unknown[second]).then_some((first, second, why))
    };
    accesses.iter().flat_map(move |&first| accesses.iter().filter_map(move |&second| of(first, second)))
}

/// The iteration of an access.
type At = (usize, usize);

/// The least distances found so far.
struct Found<'a> {
    kernel: &'a Kernel,
    visits: &'a Visits,
    innermost: usize,
    least: HashMap<(usize, usize, Dependence, usize), At>,
    /// The greatest number of distances.
    room: usize,
}

impl Found<'_> {
    /// `None` if there are too many distances.
    fn note(&mut self, first: At, second: At, why: Dependence) -> Option<()> {
        let iterations = second.1 - first.1;
        let ends = usize::from(first.1 / self.innermost != second.1 / self.innermost);
        let entry = self.least.entry((first.0, second.0, why, ends)).or_insert((iterations, second.1));
        if iterations < entry.0 {
            *entry = (iterations, second.1);
        }
        (self.least.len() <= self.room).then_some(())
    }

    /// Two accesses that may meet in any two iterations. If they are trusted not to meet in two iterations of a run of the
    /// innermost loop, they may still meet in one iteration and in two runs.
    fn any(&mut self, first: usize, second: usize, why: Dependence, trusted: bool) -> Option<()> {
        if first < second {
            return self.note((first, 0), (second, 0), why);
        }
        if self.innermost > 1 && !trusted {
            self.note((first, 0), (second, 1), why)?;
        }
        if self.kernel.iterations() > self.innermost {
            self.note((first, self.innermost - 1), (second, self.innermost), why)?;
        }
        Some(())
    }

    /// Accesses whose elements are known.
    fn exact(&mut self, accesses: &[usize]) -> Option<()> {
        // The last write of each element, and the reads since.
        let mut writes: HashMap<usize, At> = HashMap::new();
        let mut reads: HashMap<usize, Vec<At>> = HashMap::new();
        for iteration in 0..self.kernel.iterations() {
            for &access in accesses {
                let Some(Visit { element: Some(element), .. }) = self.visits.get(access, iteration) else { continue };
                let now = (access, iteration);
                if self.kernel.accesses[access].written.is_none() {
                    if let Some(&write) = writes.get(&element) {
                        self.note(write, now, Dependence::ReadAfterWrite)?;
                    }
                    let since = reads.entry(element).or_default();
                    // Only the last read by an access matters.
                    since.retain(|(other, _)| *other != access);
                    since.push(now);
                } else {
                    if let Some(write) = writes.insert(element, now) {
                        self.note(write, now, Dependence::WriteAfterWrite)?;
                    }
                    for read in reads.remove(&element).unwrap_or_default() {
                        self.note(read, now, Dependence::WriteAfterRead)?;
                    }
                }
            }
        }
        Some(())
    }

    /// Accesses of a stream, whose elements have an order.
    fn sequence(&mut self, accesses: &[usize]) -> Option<()> {
        let mut last: Option<At> = None;
        for iteration in 0..self.kernel.iterations() {
            for &access in accesses.iter().filter(|access| self.visits.get(**access, iteration).is_some()) {
                let now = (access, iteration);
                // An access follows itself in every schedule.
                if let Some(last) = last.filter(|last| last.0 != access) {
                    self.note(last, now, Dependence::NextOfStream)?;
                }
                last = Some(now);
            }
        }
        Some(())
    }

    fn sorted(self) -> Vec<Distance> {
        let distance =
            |((first, second, why, ends), (iterations, at))| Distance { first, second, why, iterations, at, ends };
        let mut found: Vec<Distance> = self.least.into_iter().map(distance).collect();
        found.sort_by_key(|one| (one.first, one.second, one.why, one.ends));
        found
    }
}

/// Two accesses that a pragma `dependence` declares not to meet in two iterations of a run of the innermost loop, and whose
/// elements depend on data. The compiler trusts the pragma, and the module asserts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The access of the earlier iteration.
    pub first: usize,
    /// The access of the later iteration.
    pub second: usize,
    /// How the second access would depend on the first one.
    pub why: Dependence,
    /// The pragma.
    pub place: Place,
}

/// The dependences that are trusted to be absent.
#[must_use]
pub fn trusted(kernel: &Kernel, visits: &Visits) -> Vec<Trusted> {
    let of_memory = |&(number, place): &(usize, Place)| -> Vec<Trusted> {
        let accesses = accesses_of(kernel, number);
        let unknown = unknown(kernel, visits, &accesses);
        let of = |(first, second, why)| Trusted { first, second, why, place };
        // In one iteration the first access comes before the second one, so it also does in a later iteration.
        let in_order = |(first, second, _): &(usize, usize, Dependence)| first < second;
        pairs(kernel, &accesses, &unknown).filter(|pair| !in_order(pair)).map(of).collect()
    };
    kernel.independent.iter().flat_map(of_memory).collect()
}

/// Checks each `dependence … inter false`: iterations of the innermost loop must not depend on one another.
pub(crate) fn check_independence(
    kernel: &Kernel,
    memories: &[Memory],
    visits: &Visits,
    distances: &[Distance],
) -> Result<()> {
    for (number, place) in &kernel.independent {
        let refutes = |one: &&Distance| {
            let is_of = kernel.accesses[one.first].memory == *number;
            is_of && one.ends == 0 && one.iterations > 0 && one.why == Dependence::ReadAfterWrite
        };
        let Some(one) = distances.iter().find(refutes) else { continue };
        let memory = &memories[*number];
        let element = visits.get(one.second, one.at).and_then(|visit| visit.element).unwrap_or_default();
        let what = format!(
            "iteration {} of `{}` reads `{}`, which iteration {} writes, so iterations depend on one another",
            one.at,
            kernel.name,
            memory.element_name(element),
            one.at - one.iterations
        );
        return Err(Problem::new(*place, what, "remove the pragma, or change the order of iterations"));
    }
    Ok(())
}
