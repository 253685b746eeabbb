//! Ranges of addresses that a command locks.

use std::ops::Range;

/// Ranges of addresses; nearly always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    first: Range<u64>,
    more: Vec<Range<u64>>,
}

/// A request with more ranges than this locks all from the lowest to the highest address: requests are compared with each
/// other under a lock that every command takes.
const MANY: usize = 32;

impl Ranges {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.first).chain(&self.more)
    }

    pub(super) fn push(&mut self, range: Range<u64>) {
        self.more.push(range);
    }

    pub(super) fn extend(&mut self, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.more.extend(ranges);
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.iter().any(|mine| other.iter().any(|theirs| mine.start < theirs.end && theirs.start < mine.end))
    }

    /// Whether every range of `other` lies in one of these.
    pub(super) fn cover(&self, other: &Self) -> bool {
        let inside = |inner: &Range<u64>| self.iter().any(|outer| outer.start <= inner.start && inner.end <= outer.end);
        other.iter().all(|inner| inner.is_empty() || inside(inner))
    }

    /// The ranges that a request for them locks.
    pub(super) fn coarse(self) -> Self {
        if self.more.len() < MANY {
            return self;
        }
        let hull = |hull: Range<u64>, range: &Range<u64>| match (hull.is_empty(), range.is_empty()) {
            (_, true) => hull,
            (true, _) => range.clone(),
            _ => hull.start.min(range.start)..hull.end.max(range.end),
        };
        self.iter().fold(0..0, hull).into()
    }
}

impl From<Range<u64>> for Ranges {
    fn from(first: Range<u64>) -> Self {
        Self { first, more: Vec::new() }
    }
}
