//! The bounds of the interval, and the refusal of an interval below them.

use std::collections::HashMap;

use super::limits::MAX_INTERVAL;
use super::model::Edge;
use super::search::Scheduler;
use super::work::Work;
use crate::analysis::{Dependence, Distance};
use crate::diagnostic::Problem;
use crate::pragma::Ports;

impl Work<'_> {
    /// The accesses of the busiest bank in the whole run, over its ports.
    pub(super) fn busiest(&self) -> u64 {
        let mut asked: HashMap<(usize, usize, bool), u64> = HashMap::new();
        let mut most = 0;
        for access in (0..self.kernel.accesses.len()).filter(|&access| self.has_port(access)) {
            let (memory, ports) = (self.kernel.accesses[access].memory, self.memory(access).ports);
            let writes = ports == Ports::ReadAndWrite && self.kernel.accesses[access].written.is_some();
            for iteration in 0..self.kernel.iterations() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                let bank = if self.unknown[memory] { 0 } else { visit.bank.unwrap_or(0) };
                let count = asked.entry((memory, bank, writes)).or_default();
                *count += 1;
                most = most.max(count.div_ceil(u64::from(self.capacity(access))));
            }
        }
        most
    }
}

impl Scheduler<'_> {
    /// The refusal of a requested interval. `least` is the least interval that works, if one was found.
    pub(super) fn refused(&self, wanted: Option<u32>, least: Option<u32>) -> Problem {
        let kernel = self.work.kernel;
        let (ports, dependences) = self.bounds();
        let mut what = format!(
            "{} for `{}`: the ports require at least {ports}, and the dependences at least {dependences}",
            match wanted {
                Some(wanted) => format!("interval {wanted} is not possible"),
                None => format!("no interval up to {MAX_INTERVAL} is possible"),
            },
            kernel.name
        );
        let wanted = wanted.unwrap_or(MAX_INTERVAL);
        let others = if ports >= dependences { "more banks, or another order" } else { "another order" };
        let way_out = match least {
            Some(least) => format!("ask for `II={least}`, or use {others} of iterations"),
            None => format!("use {others} of iterations"),
        };
        if wanted >= ports && wanted >= dependences {
            what += if self.is_exhausted() {
                ", and no schedule was found within the limit of steps"
            } else {
                ", and no schedule was found that satisfies both"
            };
        }
        let Some(one) = self.carried().filter(|_| wanted < dependences) else {
            return Problem::new(kernel.place, what, way_out);
        };
        let (first, second) = (&kernel.accesses[one.first], &kernel.accesses[one.second]);
        let name = &self.work.memories[second.memory].name;
        what += &format!(
            ", because this access of `{name}` depends on the one at {{also}}, {} before",
            if one.iterations == 1 { "1 iteration".to_owned() } else { format!("{} iterations", one.iterations) }
        );
        Problem::new(second.place, what, way_out).and(first.place)
    }

    /// The dependence between iterations that bounds the interval: a read of a written element, if one is among them.
    fn carried(&self) -> Option<&Distance> {
        let of = |edge: &Edge| edge.distance.map(|number| &self.work.distances[number]);
        let carried = self.circle.iter().filter_map(of).filter(|one| one.iterations > 0);
        carried.min_by_key(|one| (one.why != Dependence::ReadAfterWrite, one.first, one.second))
    }
}
