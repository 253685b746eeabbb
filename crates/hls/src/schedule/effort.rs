//! The effort of the placement of accesses.

/// Steps. Each visits one node, one dependence, or one access in one iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    all: u64,
    remaining: u64,
}

impl Effort {
    pub(super) fn new(steps: u64) -> Self {
        Self { all: steps, remaining: steps }
    }

    /// The same effort with all its steps.
    pub(super) fn again(self) -> Self {
        Self::new(self.all)
    }

    /// Whether steps remain.
    pub(super) fn remains(self) -> bool {
        self.remaining > 0
    }

    /// Counts steps.
    pub(super) fn spend(&mut self, steps: usize) {
        self.remaining = self.remaining.saturating_sub(steps as u64);
    }
}
