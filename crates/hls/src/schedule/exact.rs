//! An exact search for the cycles of all accesses: branch and bound with intervals of cycles, and a bounded effort.
//!
//! Each access has a set of places, each a cycle and a port. Latencies and dependences bound the differences of cycles, and a
//! placed access removes the places of others that need its port. The search branches on the access with the fewest places.

use super::conflicts::Conflicts;
use super::model::Model;

/// Accesses of the largest kernel that is searched.
const MAX_ACCESSES: usize = 64;
/// The latest cycle that is searched.
const MAX_CYCLE: u32 = 1024;
/// No path between two accesses.
const APART: i64 = i64::MIN / 4;

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The cycle of each access.
    Found(Vec<u32>),
    /// No cycles exist.
    Refuted,
    /// The search ended without a result.
    Open,
}

/// Searches the cycles of all accesses at an interval, from 0 to `last`.
pub(super) fn search(model: &Model, conflicts: &mut Conflicts, interval: u32, last: u32) -> Outcome {
    if model.len() > MAX_ACCESSES || last > MAX_CYCLE {
        return Outcome::Open;
    }
    let Some(paths) = Paths::of(model, interval) else { return Outcome::Refuted };
    let begin: Vec<Places> = (0..model.len()).map(|access| Places::new(conflicts.ports[access], last)).collect();
    let mut search = Search { paths, conflicts, interval, found: None };
    let mut begin = begin;
    for (places, &earliest) in begin.iter_mut().zip(&model.earliest) {
        places.keep(i64::from(earliest), i64::from(last));
    }
    let fixed = vec![false; model.len()];
    search.branch(begin, fixed);
    match search.found {
        Some(cycles) => Outcome::Found(cycles),
        None if search.conflicts.has_effort() => Outcome::Refuted,
        None => Outcome::Open,
    }
}

/// The longest paths between all pairs of accesses (Floyd and Warshall's method).
struct Paths {
    count: usize,
    cycles: Vec<i64>,
}

impl Paths {
    /// `None` if an access would have to come after itself.
    fn of(model: &Model, interval: u32) -> Option<Self> {
        let count = model.len();
        let mut cycles = vec![APART; count * count];
        for edge in &model.edges {
            let known = &mut cycles[edge.from * count + edge.to];
            *known = (*known).max(edge.weight(interval));
        }
        for middle in 0..count {
            for from in (0..count).filter(|from| *from != middle) {
                let first = cycles[from * count + middle];
                if first == APART {
                    continue;
                }
                for to in 0..count {
                    let second = cycles[middle * count + to];
                    if second != APART {
                        let known = &mut cycles[from * count + to];
                        *known = (*known).max(first + second);
                    }
                }
            }
        }
        (0..count).all(|access| cycles[access * count + access] <= 0).then_some(Self { count, cycles })
    }

    /// The least number of cycles from one access to another one, if it is bounded.
    fn between(&self, from: usize, to: usize) -> Option<i64> {
        let cycles = self.cycles[from * self.count + to];
        (cycles != APART && from != to).then_some(cycles)
    }
}

/// The possible places of an access: a set of cycles for each port.
#[derive(Clone, Debug)]
struct Places(Vec<Vec<u64>>);

impl Places {
    fn new(ports: u8, last: u32) -> Self {
        let words = last as usize / 64 + 1;
        Self(vec![vec![u64::MAX; words]; usize::from(ports.max(1))])
    }

    /// Removes cycles outside of a range. Returns whether the set changed.
    fn keep(&mut self, first: i64, last: i64) -> bool {
        let mut changed = false;
        for words in &mut self.0 {
            for (number, word) in words.iter_mut().enumerate() {
                let kept = *word & range(first - number as i64 * 64, last - number as i64 * 64);
                changed |= kept != *word;
                *word = kept;
            }
        }
        changed
    }

    fn remove(&mut self, port: usize, cycle: i64) {
        self.0[port][cycle as usize / 64] &= !(1 << (cycle % 64));
    }

    fn only(&mut self, port: usize, cycle: i64) {
        self.0.iter_mut().flatten().for_each(|word| *word = 0);
        self.0[port][cycle as usize / 64] = 1 << (cycle % 64);
    }

    fn count(&self) -> u32 {
        self.0.iter().flatten().map(|word| word.count_ones()).sum()
    }

    fn first(&self) -> Option<i64> {
        let first = |words: &Vec<u64>| {
            let number = words.iter().position(|word| *word != 0)?;
            Some(number as i64 * 64 + i64::from(words[number].trailing_zeros()))
        };
        self.0.iter().filter_map(first).min()
    }

    fn last(&self) -> Option<i64> {
        let last = |words: &Vec<u64>| {
            let number = words.iter().rposition(|word| *word != 0)?;
            Some(number as i64 * 64 + 63 - i64::from(words[number].leading_zeros()))
        };
        self.0.iter().filter_map(last).max()
    }

    /// All places, the earliest first.
    fn all(&self) -> Vec<(i64, usize)> {
        let has = |cycle: i64, port: usize| self.0[port][cycle as usize / 64] >> (cycle % 64) & 1 == 1;
        let cycles = 0..self.0[0].len() as i64 * 64;
        let places = cycles.flat_map(|cycle| (0..self.0.len()).map(move |port| (cycle, port)));
        places.filter(|&(cycle, port)| has(cycle, port)).collect()
    }
}

/// The bits from `first` to `last` of a word; both may be outside of it.
fn range(first: i64, last: i64) -> u64 {
    let (first, last) = (first.max(0), last.min(63));
    if first > last { 0 } else { u64::MAX >> (63 - last) & u64::MAX << first }
}

struct Search<'s> {
    paths: Paths,
    conflicts: &'s mut Conflicts,
    interval: u32,
    found: Option<Vec<u32>>,
}

impl Search<'_> {
    /// Whether the search has ended. Each call places one access, so calls nest at most as deep as there are accesses.
    fn branch(&mut self, mut places: Vec<Places>, mut fixed: Vec<bool>) -> bool {
        if !self.conflicts.has_effort() {
            return true;
        }
        if !self.narrow(&mut places, &mut fixed) {
            return false;
        }
        let open = (0..places.len()).filter(|&access| !fixed[access] && !self.conflicts.rivals[access].is_empty());
        let Some(access) = open.min_by_key(|&access| places[access].count()) else {
            // The earliest cycles of all other accesses satisfy all differences.
            self.found = places.iter().map(|one| one.first().map(|cycle| cycle as u32)).collect();
            return true;
        };
        for (cycle, port) in self.choices(access, &places, &fixed) {
            let mut next = places.clone();
            next[access].only(port, cycle);
            if self.branch(next, fixed.clone()) {
                return true;
            }
        }
        false
    }

    /// The places of an access. The ports of a bank are alike, so the first access of a bank uses the first one.
    fn choices(&self, access: usize, places: &[Places], fixed: &[bool]) -> Vec<(i64, usize)> {
        let mut choices = places[access].all();
        if !self.conflicts.rivals[access].iter().any(|&other| fixed[other]) {
            choices.retain(|&(_, port)| port == 0);
        }
        choices
    }

    /// Removes places that others exclude, until nothing changes. Returns `false` if an access has no place.
    fn narrow(&mut self, places: &mut [Places], fixed: &mut [bool]) -> bool {
        loop {
            if !self.bound(places) {
                return false;
            }
            let new: Vec<usize> =
                (0..places.len()).filter(|&access| !fixed[access] && places[access].count() == 1).collect();
            if new.is_empty() {
                return true;
            }
            for access in new {
                fixed[access] = true;
                self.occupy(access, places);
            }
        }
    }

    /// Applies the differences of cycles.
    fn bound(&mut self, places: &mut [Places]) -> bool {
        let mut ends = Vec::with_capacity(places.len());
        for one in places.iter() {
            let (Some(first), Some(last)) = (one.first(), one.last()) else { return false };
            ends.push((first, last));
        }
        let mut changed = true;
        while changed {
            changed = false;
            // Each pair of accesses is compared.
            self.conflicts.spend((places.len() * places.len()) as u64 / 4 + 1);
            for access in 0..places.len() {
                let (mut first, mut last) = ends[access];
                for (other, &(earliest, latest)) in ends.iter().enumerate() {
                    if let Some(cycles) = self.paths.between(other, access) {
                        first = first.max(earliest + cycles);
                    }
                    if let Some(cycles) = self.paths.between(access, other) {
                        last = last.min(latest - cycles);
                    }
                }
                if (first, last) != ends[access] {
                    places[access].keep(first, last);
                    let (Some(first), Some(last)) = (places[access].first(), places[access].last()) else {
                        return false;
                    };
                    ends[access] = (first, last);
                    changed = true;
                }
            }
        }
        true
    }

    /// Removes the places that a placed access occupies.
    fn occupy(&mut self, access: usize, places: &mut [Places]) {
        let Some(&(cycle, port)) = places[access].all().first() else { return };
        for index in 0..self.conflicts.rivals[access].len() {
            let other = self.conflicts.rivals[access][index];
            let step = i64::from(self.interval);
            let (Some(first), Some(last)) = (places[other].first(), places[other].last()) else { continue };
            let mut at = first + (cycle - first).rem_euclid(step);
            while at <= last {
                if port < places[other].0.len() && self.conflicts.meet((access, cycle), (other, at), self.interval) {
                    places[other].remove(port, at);
                }
                at += step;
            }
        }
    }
}
