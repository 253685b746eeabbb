//! Alternating measurement: every round times each contender once, so that whatever disturbs the machine for longer than a round
//! disturbs all of them.

use std::time::{Duration, Instant};

use ciphermill_bench_peers::Contender;
use rustix::time::{ClockId, clock_gettime};

/// What a sample's time is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The wall clock.
    Wall,
    /// The CPU time of this process, all of its threads together: work on one thread as it would be if other processes did not
    /// take the core from it for a while.
    Process,
}

impl Clock {
    /// A time since some beginning.
    pub(crate) fn now(self) -> Duration {
        let time = clock_gettime(match self {
            Clock::Wall => ClockId::Monotonic,
            Clock::Process => ClockId::ProcessCPUTime,
        });
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Process => "cpu",
        }
    }
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds at most.
    pub(crate) rounds: usize,
    /// Rounds at least, whatever time they take.
    pub(crate) least_rounds: usize,
    /// Once it is spent and the least rounds are done, no other round begins.
    pub(crate) budget: Duration,
    pub(crate) clock: Clock,
}

/// A sample takes at least this long: calls shorter than that are timed several at once.
const LEAST_SAMPLE: Duration = Duration::from_micros(50);

/// Work up to this long is done once more before each sample, not timed: its data would lie in the caches in use, from which
/// the other contenders have driven it.
const WARMED: Duration = Duration::from_millis(20);

/// What a contender's samples say. Times are nanoseconds per call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stats {
    pub(crate) min_ns: f64,
    pub(crate) median_ns: f64,
    pub(crate) samples: usize,
    pub(crate) correct: bool,
}

impl Stats {
    /// Of one of `count` operations that a call consists of.
    pub(crate) fn each(self, count: usize) -> Self {
        Self { min_ns: self.min_ns / count as f64, median_ns: self.median_ns / count as f64, ..self }
    }
}

struct Lane<'c, 'd> {
    contender: &'c mut (dyn Contender + 'd),
    clock: Clock,
    calls: usize,
    warmed: bool,
    samples: Vec<f64>,
    correct: bool,
}

impl<'c, 'd> Lane<'c, 'd> {
    /// Runs once to warm up and a second time to find how many calls a sample takes.
    fn new(contender: &'c mut (dyn Contender + 'd), effort: Effort) -> Self {
        let mut lane = Lane {
            contender,
            clock: effort.clock,
            calls: 1,
            warmed: false,
            samples: Vec::with_capacity(effort.rounds),
            correct: true,
        };
        lane.sample(0);
        let once = if lane.samples[0] > WARMED.as_nanos() as f64 { lane.samples[0] } else { lane.sample(0) };
        lane.calls = (LEAST_SAMPLE.as_nanos() as f64 / once).ceil().max(1.0) as usize;
        lane.warmed = once < WARMED.as_nanos() as f64;
        lane.samples.clear();
        lane
    }

    fn sample(&mut self, round: usize) -> f64 {
        self.contender.prepare(round);
        if self.warmed {
            self.contender.run();
        }
        let start = self.clock.now();
        for _ in 0..self.calls {
            self.contender.run();
        }
        let ns = (self.clock.now() - start).as_nanos() as f64 / self.calls as f64;
        self.correct &= self.contender.correct();
        self.samples.push(ns);
        ns
    }

    fn stats(mut self) -> Stats {
        self.samples.sort_unstable_by(f64::total_cmp);
        let len = self.samples.len();
        Stats {
            min_ns: self.samples[0],
            median_ns: (self.samples[(len - 1) / 2] + self.samples[len / 2]) / 2.0,
            samples: len,
            correct: self.correct,
        }
    }
}

/// Times the contenders in turn: A B C, B C A, C A B, ….
pub(crate) fn alternate(contenders: &mut [&mut (dyn Contender + '_)], effort: Effort) -> Vec<Stats> {
    let mut lanes: Vec<Lane<'_, '_>> =
        contenders.iter_mut().map(|contender| Lane::new(&mut **contender, effort)).collect();
    let begun = Instant::now();
    for round in 0..effort.rounds.max(1) {
        if round >= effort.least_rounds && begun.elapsed() > effort.budget {
            break;
        }
        for turn in 0..lanes.len() {
            let index = (round + turn) % lanes.len();
            lanes[index].sample(round);
        }
    }
    lanes.into_iter().map(Lane::stats).collect()
}
