//! Expected times of instructions, learnt from measured times.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn from_ns(ns: f64) -> Duration {
    // A cast of a float saturates.
    Duration::from_nanos(ns as u64)
}

/// Time in proportion to work, whatever the unit of work is. Large jobs weigh more than small ones, late jobs more than early
/// jobs.
#[derive(Debug)]
pub(crate) struct Rate(Mutex<Seen>);

#[derive(Debug)]
struct Seen {
    ns: f64,
    work: f64,
    /// Mean time of a job of any size.
    mean_ns: f64,
}

/// Weight of all earlier jobs, against 1 for a new job.
const MEMORY: f64 = 0.75;

impl Rate {
    /// Expects `unit_ns` for a unit of work, and `job_ns` for a job of unknown size, until something has been timed.
    pub(crate) fn new(unit_ns: f64, job_ns: f64) -> Self {
        Self(Mutex::new(Seen { ns: unit_ns, work: 1.0, mean_ns: job_ns }))
    }

    pub(crate) fn observe(&self, work: f64, took: Duration) {
        let (mut seen, ns) = (locked(&self.0), took.as_nanos() as f64);
        seen.mean_ns = seen.mean_ns * MEMORY + ns * (1.0 - MEMORY);
        if work > 0.0 {
            seen.ns = seen.ns * MEMORY + ns;
            seen.work = seen.work * MEMORY + work;
        }
    }

    pub(crate) fn expect(&self, work: Option<f64>) -> Duration {
        let seen = locked(&self.0);
        from_ns(work.map_or(seen.mean_ns, |work| seen.ns / seen.work * work))
    }
}

/// An expected time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Of a size that was timed.
    Timed(Duration),
    /// A guess, for a size that was never timed. A guess alone does not refuse a job.
    Guessed(Duration),
}

/// Time by the size of an operand, where it is not in proportion: sizes that were timed are known, others are guessed from
/// the nearest one.
#[derive(Debug)]
pub(crate) struct BySize {
    /// The expected time of a job before any was timed, and for each byte of its operand.
    initial_ns: f64,
    initial_ns_per_byte: f64,
    /// Bytes that are worth the part of a job that does not grow.
    fixed: u64,
    seen: Mutex<Sizes>,
}

#[derive(Debug, Default)]
struct Sizes {
    /// Mean of the nanoseconds by size.
    mean_ns: BTreeMap<u64, f64>,
    last: u64,
}

/// Sizes that are remembered.
const MAX_SIZES: usize = 64;
/// The longest guess: one that was too long would have the job refused, so that it would never be timed.
const MAX_GUESS_NS: f64 = 10e9;

impl BySize {
    /// Expects `ns` for a job of any size until one has been timed.
    pub(crate) fn new(ns: f64, fixed: u64) -> Self {
        Self { initial_ns: ns, initial_ns_per_byte: 0.0, fixed, seen: Mutex::default() }
    }

    /// Expects `ns` for a byte until a job has been timed.
    pub(crate) fn in_proportion(ns: f64, fixed: u64) -> Self {
        Self { initial_ns: 0.0, initial_ns_per_byte: ns, fixed, seen: Mutex::default() }
    }

    pub(crate) fn observe(&self, size: u64, took: Duration) {
        let (mut seen, ns) = (locked(&self.seen), took.as_nanos() as f64);
        if seen.mean_ns.len() >= MAX_SIZES && !seen.mean_ns.contains_key(&size) {
            // Any of them: it is learnt again when it comes again.
            seen.mean_ns.pop_first();
        }
        let mean = seen.mean_ns.entry(size).or_insert(ns);
        *mean = *mean * MEMORY + ns * (1.0 - MEMORY);
        seen.last = size;
    }

    /// For an unknown size: the time of the job before.
    pub(crate) fn expect(&self, size: Option<u64>) -> Duration {
        match self.judge(size) {
            Expected::Timed(time) => time,
            Expected::Guessed(time) => time.min(from_ns(MAX_GUESS_NS)),
        }
    }

    /// The same, as it was timed or without a bound.
    pub(crate) fn judge(&self, size: Option<u64>) -> Expected {
        let seen = locked(&self.seen);
        let size = size.unwrap_or(seen.last);
        let (below, above) = (seen.mean_ns.range(..=size).next_back(), seen.mean_ns.range(size..).next());
        let weight = |size: u64| (size.saturating_add(self.fixed)) as f64;
        let ratio = |near: u64| (weight(near) / weight(size)).max(weight(size) / weight(near));
        let nearest = match (below, above) {
            (Some(below), Some(above)) if ratio(*below.0) <= ratio(*above.0) => Some(below),
            (below, above) => above.or(below),
        };
        match nearest {
            Some((near, ns)) if *near == size => Expected::Timed(from_ns(*ns)),
            Some((near, ns)) => Expected::Guessed(from_ns(ns * weight(size) / weight(*near))),
            None => Expected::Guessed(from_ns(self.initial_ns + self.initial_ns_per_byte * size as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn about(given: Duration, expected: Duration) -> bool {
        given > expected * 9 / 10 && given < expected * 11 / 10
    }

    #[test]
    fn a_rate_scales_with_the_work() {
        let rate = Rate::new(2e6, 7e6);
        assert_eq!((rate.expect(Some(3.0)), rate.expect(None)), (6 * MS, 7 * MS));
        for _ in 0..30 {
            rate.observe(1000.0, 100 * MS);
        }
        assert!(about(rate.expect(Some(1000.0)), 100 * MS) && about(rate.expect(Some(10.0)), MS));
        assert!(about(rate.expect(None), 100 * MS));
        // What one small job costs beside its work says little about large ones.
        rate.observe(1.0, 2 * MS);
        assert!(about(rate.expect(Some(1000.0)), 100 * MS));
        rate.observe(0.0, 2 * MS);
        assert_eq!(rate.expect(Some(f64::MAX)), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn before_anything_was_timed_the_guess_may_grow_with_the_size() {
        let costs = BySize::in_proportion(5.0, 1 << 20);
        assert_eq!(costs.judge(Some(1000)), Expected::Guessed(Duration::from_micros(5)));
        costs.observe(1000, 20 * MS);
        // A small job says little about large ones.
        let Expected::Guessed(guess) = costs.judge(Some(8 << 20)) else { panic!("it was never timed") };
        assert!(about(guess, 180 * MS), "{guess:?}");
    }

    #[test]
    fn a_size_that_was_timed_is_known_and_others_are_guessed_from_the_nearest() {
        let costs = BySize::new(100e6, 1 << 20);
        assert_eq!((costs.expect(Some(5)), costs.expect(None)), (100 * MS, 100 * MS));
        costs.observe(16 << 10, 20 * MS);
        costs.observe(63 << 20, 1600 * MS);
        assert_eq!(costs.expect(Some(16 << 10)), 20 * MS);
        assert!(about(costs.expect(Some(8 << 10)), 20 * MS), "the part that does not grow");
        assert!(about(costs.expect(Some(127 << 20)), 3200 * MS));
        assert!(about(costs.expect(None), 1600 * MS), "as the one before");
        assert_eq!(costs.expect(Some(1 << 40)), Duration::from_secs(10), "a guess refuses no job for ever");
        for size in 0..1000 {
            costs.observe(size << 30, 11_000 * MS);
        }
        assert_eq!(costs.judge(Some(999 << 30)), Expected::Timed(11_000 * MS));
        assert!(matches!(costs.judge(Some(998 << 20)), Expected::Guessed(_)));
        assert_eq!(locked(&costs.seen).mean_ns.len(), MAX_SIZES);
        assert_eq!(costs.expect(Some(999 << 30)), Duration::from_secs(11), "what was timed is no guess");
    }
}
