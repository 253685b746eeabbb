//! Iterative modulo scheduling (B. R. Rau, "Iterative modulo scheduling: an algorithm for software pipelining loops",
//! MICRO-27, 1994).
//!
//! Accesses are placed one after another, those with the longest way to the end of the iteration first. An access that finds no
//! free port takes one, and the accesses that it displaces are placed again. Rau's table of reservations is one of offsets here:
//! two accesses may share a cycle modulo the interval if the iterations that meet in it use different banks.

use super::conflicts::Conflicts;
use super::limits::{MAX_DEPTH, MOVES};
use super::model::Model;

/// Placements of each access, on average, before the interval is given up.
const ATTEMPTS: usize = 12;

/// The cycles of all accesses at an interval; `None` if none are found.
pub(super) fn place(model: &Model, conflicts: &mut Conflicts, interval: u32) -> Option<Vec<u32>> {
    if !conflicts.has_effort() {
        return None;
    }
    let mut placement = Placement {
        model,
        interval,
        heights: heights(model, interval, conflicts),
        places: vec![None; model.len()],
        last: vec![None; model.len()],
    };
    let most = ATTEMPTS * model.len() + MOVES as usize;
    for _ in 0..most {
        let Some(access) = placement.next() else {
            return placement.places.into_iter().map(|place| u32::try_from(place?.cycle).ok()).collect();
        };
        if !conflicts.has_effort() || !placement.put(access, conflicts) {
            return None;
        }
    }
    None
}

/// The longest way from each access to the end of the iteration.
fn heights(model: &Model, interval: u32, conflicts: &mut Conflicts) -> Vec<i64> {
    let mut heights = vec![0; model.len()];
    for _ in 0..model.len() {
        conflicts.spend(model.edges.len() as u64);
        let mut changed = false;
        for edge in &model.edges {
            let height = heights[edge.to] + edge.weight(interval);
            changed |= heights[edge.from] < height;
            heights[edge.from] = heights[edge.from].max(height);
        }
        if !changed {
            break;
        }
    }
    heights
}

/// The cycle and the port of an access.
#[derive(Clone, Copy, Debug)]
struct Place {
    cycle: i64,
    port: u8,
}

struct Placement<'m> {
    model: &'m Model,
    interval: u32,
    heights: Vec<i64>,
    places: Vec<Option<Place>>,
    /// The last cycle of each access, which may have been displaced.
    last: Vec<Option<i64>>,
}

impl Placement<'_> {
    /// The access to be placed next.
    fn next(&self) -> Option<usize> {
        let open = (0..self.places.len()).filter(|&access| self.places[access].is_none());
        open.max_by_key(|&access| (self.heights[access], std::cmp::Reverse(access)))
    }

    /// Places an access, and displaces those that stand against it.
    fn put(&mut self, access: usize, conflicts: &mut Conflicts) -> bool {
        let earliest = self.earliest(access);
        let window = i64::from(self.interval.max(MOVES));
        let free = (earliest..earliest + window).find_map(|cycle| self.free(access, cycle, conflicts));
        let place = free.unwrap_or_else(|| {
            let after = self.last[access].map_or(earliest, |last| last + 1);
            Place { cycle: earliest.max(after), port: 0 }
        });
        if place.cycle > i64::from(MAX_DEPTH) {
            return false;
        }
        self.displace(access, place, conflicts);
        self.places[access] = Some(place);
        self.last[access] = Some(place.cycle);
        true
    }

    /// The first cycle that the placed accesses before this one allow.
    fn earliest(&self, access: usize) -> i64 {
        let needed = |&number: &usize| {
            let edge = &self.model.edges[number];
            Some(self.places[edge.from]?.cycle + edge.weight(self.interval))
        };
        let from = i64::from(self.model.earliest[access]);
        self.model.into[access].iter().filter_map(needed).fold(from, i64::max)
    }

    /// The place of an access in a cycle, if one of its ports is free.
    fn free(&self, access: usize, cycle: i64, conflicts: &mut Conflicts) -> Option<Place> {
        let places = (0..conflicts.ports[access]).map(|port| Place { cycle, port });
        places.into_iter().find(|&place| self.rival(access, place, conflicts).is_none())
    }

    /// A placed access that stands against a place.
    fn rival(&self, access: usize, place: Place, conflicts: &mut Conflicts) -> Option<usize> {
        for index in 0..conflicts.rivals[access].len() {
            let other = conflicts.rivals[access][index];
            if let Some(taken) = self.places[other]
                && taken.port == place.port
                && conflicts.meet((access, place.cycle), (other, taken.cycle), self.interval)
            {
                return Some(other);
            }
        }
        None
    }

    fn displace(&mut self, access: usize, place: Place, conflicts: &mut Conflicts) {
        while let Some(other) = self.rival(access, place, conflicts) {
            self.places[other] = None;
        }
        for &number in &self.model.out[access] {
            let edge = &self.model.edges[number];
            let early = |taken: Place| taken.cycle < place.cycle + edge.weight(self.interval);
            if edge.to != access && self.places[edge.to].is_some_and(early) {
                self.places[edge.to] = None;
            }
        }
    }
}
