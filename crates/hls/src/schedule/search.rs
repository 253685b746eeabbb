//! The search for the least interval.

use super::conflicts::{Conflicts, Span};
use super::effort::Effort;
use super::exact::{Outcome, search};
use super::limits::{MAX_DEPTH, MAX_INTERVAL, MOVES};
use super::model::{Edge, Model};
use super::modulo;
use super::types::Schedule;
use super::work::Work;
use crate::diagnostic::Result;

/// The search for a shorter interval than that of a schedule.
enum Shorter {
    Found(Schedule),
    /// None ends the run earlier.
    Excluded,
    /// None was found.
    Open,
}

/// A kernel with the bounds of its interval.
pub(super) struct Scheduler<'w> {
    pub(super) work: Work<'w>,
    /// `None` if the kernel is too large. Accesses are then placed one after another only.
    model: Option<Model>,
    /// The accesses of the busiest bank in the whole run, over its ports.
    busiest: u64,
    /// The least interval that dependences allow.
    dependences: u32,
    /// The dependences and latencies that exclude a shorter one.
    pub(super) circle: Vec<Edge>,
    /// Conflicts among all iterations, and among those of a run, when they are needed.
    conflicts: [Option<Conflicts>; 2],
    /// Steps of the searches, for each of these.
    effort: u64,
    /// Steps of the placement.
    placement: Effort,
}

impl<'w> Scheduler<'w> {
    /// A scheduler of one of `kernels` kernels.
    pub(super) fn new(work: Work<'w>, effort: u64, placement: Effort, kernels: u64) -> Self {
        let model = Model::of(&work, kernels);
        let (dependences, circle) = model.as_ref().map_or((1, Vec::new()), Model::recurrence);
        let conflicts = [None, None];
        Self { model, busiest: work.busiest(), dependences, circle, conflicts, effort, placement, work }
    }

    /// The least intervals that ports and dependences allow. The quotient of accesses and iterations is rounded down, because
    /// the rest may fall into the cycles in which the last iterations end.
    pub(super) fn bounds(&self) -> (u32, u32) {
        let ports = self.busiest / self.iterations().max(1);
        (u32::try_from(ports).unwrap_or(u32::MAX).max(1), self.dependences)
    }

    /// Whether a search ended because it had no step left.
    pub(super) fn is_exhausted(&self) -> bool {
        !self.placement.remains() || self.conflicts.iter().flatten().any(|one| !one.has_effort())
    }

    fn iterations(&self) -> u64 {
        self.work.kernel.iterations() as u64
    }

    /// The schedule that the source asks for.
    pub(super) fn schedule(&mut self) -> Result<Schedule> {
        match self.work.kernel.pipeline {
            None => self.alone().ok_or_else(|| self.refused(None, None)),
            Some(None) => self.least().ok_or_else(|| self.refused(None, None)),
            Some(Some(wanted)) => self.requested(wanted),
        }
    }

    /// Without a pipeline, an iteration begins when the previous one has ended.
    fn alone(&mut self) -> Option<Schedule> {
        self.placement = self.placement.again();
        let cycles = self.work.greedy(MAX_INTERVAL, &mut self.placement)?;
        let interval = cycles.iter().max().map_or(1, |last| last + 1);
        self.finished(interval, cycles)
    }

    /// A requested interval above the bounds is kept.
    fn requested(&mut self, wanted: u32) -> Result<Schedule> {
        let (ports, dependences) = self.bounds();
        if wanted >= ports.max(dependences)
            && let Some(found) = self.at(wanted).or_else(|| self.searched(wanted))
        {
            let proven = matches!(self.shorter(&found), Shorter::Excluded);
            return Ok(Schedule { proven, ..found });
        }
        match self.least() {
            Some(found) if found.interval == wanted => Ok(found),
            found => Err(self.refused(Some(wanted), found.map(|one| one.interval))),
        }
    }

    /// The schedule of the least interval.
    fn least(&mut self) -> Option<Schedule> {
        let mut best = self.first()?;
        loop {
            match self.shorter(&best) {
                Shorter::Found(better) => best = better,
                Shorter::Excluded => return Some(Schedule { proven: true, ..best }),
                Shorter::Open => return Some(best),
            }
        }
    }

    /// The first schedule from the bounds upwards. If the steps are used up, iterations do not overlap.
    fn first(&mut self) -> Option<Schedule> {
        let (ports, dependences) = self.bounds();
        for interval in ports.max(dependences)..=MAX_INTERVAL {
            let found = self.at(interval);
            if found.is_some() {
                return found;
            }
            if !self.placement.remains() {
                return self.alone();
            }
        }
        None
    }

    /// The model, and the conflicts of a span.
    fn parts(&mut self, span: Span) -> Option<(&Model, &mut Conflicts)> {
        let Self { work, model, conflicts, effort, .. } = self;
        let conflicts = conflicts[span as usize].get_or_insert_with(|| Conflicts::of(work, span, *effort));
        Some((model.as_ref()?, conflicts))
    }

    /// A schedule of an interval, without an exact search.
    fn at(&mut self, interval: u32) -> Option<Schedule> {
        let greedy = self.work.greedy(interval, &mut self.placement);
        let greedy = greedy.and_then(|cycles| self.finished(interval, cycles));
        greedy.or_else(|| [Span::All, Span::Run].into_iter().find_map(|span| self.iterative(interval, span)))
    }

    /// A schedule by iterative modulo scheduling.
    fn iterative(&mut self, interval: u32, span: Span) -> Option<Schedule> {
        let (model, conflicts) = self.parts(span)?;
        let cycles = modulo::place(model, conflicts, interval)?;
        self.finished(interval, cycles)
    }

    /// A schedule by the exact search.
    fn searched(&mut self, interval: u32) -> Option<Schedule> {
        let (model, conflicts) = self.parts(Span::All)?;
        let depth = model.relaxed(interval).ok()?.into_iter().max().unwrap_or(0) as u32;
        let last = (2 * depth + MOVES).min(MAX_DEPTH);
        match search(model, conflicts, interval, last) {
            Outcome::Found(cycles) => self.finished(interval, cycles),
            Outcome::Refuted | Outcome::Open => None,
        }
    }

    /// A schedule with these cycles of accesses and the least gap.
    fn finished(&mut self, interval: u32, cycles: Vec<u32>) -> Option<Schedule> {
        let placed: Vec<Option<u32>> = cycles.iter().copied().map(Some).collect();
        let (nodes, earliest) = self.work.nodes(&placed);
        debug_assert!(earliest.iter().zip(&cycles).all(|(earliest, cycle)| earliest <= cycle), "operands come in time");
        let depth = cycles.iter().max().copied().unwrap_or(0) + 1;
        let (gap, ports, bounds) = (0, vec![0; cycles.len()], self.bounds());
        let schedule = Schedule { interval, gap, nodes, accesses: cycles, ports, depth, bounds, proven: false };
        self.work.with_gap(schedule, &mut self.placement).filter(|_| depth <= MAX_DEPTH)
    }

    /// A schedule of a shorter interval that ends the run earlier, with an iteration at most twice as long.
    fn shorter(&mut self, best: &Schedule) -> Shorter {
        let mut all = true;
        for interval in self.dependences..best.interval {
            let Some(last) = self.last(best, interval) else { continue };
            let Some((model, conflicts)) = self.parts(Span::Run) else { return Shorter::Open };
            match search(model, conflicts, interval, last) {
                Outcome::Refuted => {}
                Outcome::Open => all = false,
                Outcome::Found(cycles) => match self.finished(interval, cycles) {
                    Some(found) if self.cycles(&found) < self.cycles(best) => return Shorter::Found(found),
                    _ => all = false,
                },
            }
        }
        if all { Shorter::Excluded } else { Shorter::Open }
    }

    fn cycles(&self, schedule: &Schedule) -> u64 {
        schedule.cycles(self.work.kernel)
    }

    /// The last cycle of an iteration with which a run of an interval ends earlier than that of a schedule; `None` if no such
    /// cycle exists.
    fn last(&self, best: &Schedule, interval: u32) -> Option<u32> {
        let most = self.cycles(best) - 1;
        let issue = u64::from(interval) * (self.iterations() - 1);
        let depth = most.checked_sub(issue)?.min(2 * u64::from(best.depth));
        // In several runs, gaps may leave more cycles for the accesses.
        let runs = self.work.kernel.loops.last().map_or(1, |one| self.work.kernel.iterations() / one.trips.max(1));
        let cycles = if runs > 1 { most } else { issue + depth };
        (self.busiest <= cycles).then(|| depth.checked_sub(1).map(|last| last as u32))?
    }
}
