//! What modular arithmetic and Paillier share: contenders whose results are limbs, and rows of several cases at once.

use ciphermill_bench_integers::Work;
use ciphermill_bench_peers::{Contender, Peer};
use ciphermill_bigint::Path;

use super::Settings;
use crate::harness::{Effort, alternate};
use crate::report::{Case, Report};

/// Whether results are right.
type Check<'a> = dyn Fn(&[u64]) -> bool + 'a;

/// Work whose results are checked.
pub(crate) struct Compared<'a> {
    work: Box<dyn Work + 'a>,
    check: Box<Check<'a>>,
    /// Results that passed: the same ones again are right too.
    passed: Vec<u64>,
}

impl<'a> Compared<'a> {
    pub(crate) fn new(work: impl Work + 'a, check: impl Fn(&[u64]) -> bool + 'a) -> Self {
        Self { work: Box::new(work), check: Box::new(check), passed: Vec::new() }
    }
}

impl Contender for Compared<'_> {
    fn run(&mut self) {
        self.work.run();
    }

    fn correct(&mut self) -> bool {
        let results = self.work.results();
        if results.is_empty() {
            return false;
        }
        let correct = results == self.passed || (self.check)(&results);
        if correct {
            self.passed = results;
        }
        correct
    }
}

/// Ours on one path.
pub(crate) struct Ours<'a> {
    pub(crate) path: Path,
    /// Which of the cases of the group this is.
    pub(crate) case: usize,
    /// Operations per run.
    pub(crate) count: usize,
    pub(crate) contender: Compared<'a>,
}

/// A peer.
pub(crate) struct Theirs<'a> {
    pub(crate) peer: Peer,
    /// The cases of the group that it stands beside.
    pub(crate) cases: &'static [usize],
    /// The only path of ours that it stands beside, if there is one.
    pub(crate) path: Option<Path>,
    /// Operations per run.
    pub(crate) count: usize,
    pub(crate) contender: Compared<'a>,
}

/// Cases that are measured in turn.
pub(crate) struct Group<'a> {
    pub(crate) cases: Vec<Case>,
    pub(crate) ours: Vec<Ours<'a>>,
    pub(crate) theirs: Vec<Theirs<'a>>,
}

impl Group<'_> {
    /// A row for each of ours beside each peer of its case; times are per operation.
    pub(crate) fn run(mut self, settings: &Settings<'_>, effort: Effort, report: &mut Report) {
        let wanted: Vec<bool> = self.cases.iter().map(|case| settings.takes(&case.name)).collect();
        self.ours.retain(|ours| wanted[ours.case]);
        self.theirs.retain(|theirs| theirs.cases.iter().any(|&case| wanted[case]));
        if self.ours.is_empty() {
            return;
        }
        let mut lanes: Vec<&mut dyn Contender> = Vec::new();
        lanes.extend(self.ours.iter_mut().map(|ours| &mut ours.contender as &mut dyn Contender));
        lanes.extend(self.theirs.iter_mut().map(|theirs| &mut theirs.contender as &mut dyn Contender));
        let stats = alternate(&mut lanes, effort);
        let (own, others) = stats.split_at(self.ours.len());
        for (ours, &own) in self.ours.iter().zip(own) {
            for (theirs, &other) in self.theirs.iter().zip(others) {
                if theirs.cases.contains(&ours.case) && theirs.path.is_none_or(|path| path == ours.path) {
                    let (own, other) = (own.each(ours.count), other.each(theirs.count));
                    let case = &self.cases[ours.case];
                    report.tell(case.row(ours.path.name(), (1, 1), own, theirs.peer, other, settings.cpu));
                }
            }
        }
    }
}
