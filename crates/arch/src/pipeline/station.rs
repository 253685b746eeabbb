//! A stage of an engine: units that start items at their initiation interval.

use std::collections::VecDeque;

use super::parts::StageSpec;
use super::tree::Node;

/// The units of data that move through the stages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token {
    /// A ciphertext of the vector, in stage 1.
    Vector,
    /// A row, or its product with ciphertext `part` of the vector.
    Row { leaf: Node, part: u32 },
    /// A merge.
    Merge(Node),
}

/// The times of a token in a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenTimes {
    /// All of its input has been read.
    pub(crate) read: u64,
    /// All of its output is complete.
    pub(crate) done: u64,
    /// The stage can take the next token.
    pub(crate) free: u64,
}

/// One stage. All primes run in lockstep, so the model contains the units of one prime.
#[derive(Debug)]
pub(crate) struct Station {
    spec: StageSpec,
    /// The cycle in which each unit becomes free, in ascending order.
    units: VecDeque<(u64, usize)>,
    /// Tokens with incomplete output, in order.
    pub(crate) flight: VecDeque<Token>,
    pub(crate) tokens: u64,
    pub(crate) items: u64,
}

impl Station {
    pub(crate) fn new(spec: StageSpec) -> Self {
        let units = (0..spec.units as usize).map(|unit| (0, unit)).collect();
        Self { spec, units, flight: VecDeque::new(), tokens: 0, items: 0 }
    }

    pub(crate) fn is_free(&self, now: u64) -> bool {
        self.units[0].0 <= now
    }

    /// Starts the items of a token, one after another, each on the first free unit. `begun` receives (unit, start).
    /// Items start in order, so the chosen unit becomes free last.
    pub(crate) fn begin(
        &mut self,
        now: u64,
        token: Token,
        items: u64,
        mut begun: impl FnMut(usize, u64),
    ) -> TokenTimes {
        let mut last = now;
        for _ in 0..items {
            let (free, unit) = self.units.pop_front().expect("at least one unit");
            last = free.max(now);
            self.units.push_back((last + self.spec.interval, unit));
            begun(unit, last);
        }
        self.flight.push_back(token);
        self.tokens += 1;
        self.items += items;
        TokenTimes { read: last + self.spec.hold_cycles(), done: last + self.spec.latency, free: self.units[0].0 }
    }

    /// Busy unit cycles.
    pub(crate) fn busy(&self) -> u64 {
        self.items * self.spec.interval
    }

    pub(crate) fn spec(&self) -> &StageSpec {
        &self.spec
    }
}

/// Cycles of a token with this number of items on an idle stage.
pub(crate) fn alone(spec: &StageSpec, items: u64) -> u64 {
    (items.div_ceil(spec.units) - 1) * spec.interval + spec.latency
}
