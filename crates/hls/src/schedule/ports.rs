//! The ports of banks in the whole run, and the gap between runs of the innermost loop.

use std::collections::{BTreeSet, HashMap};

use super::effort::Effort;
use super::limits::{MAX_GAP, MOVES};
use super::types::Schedule;
use super::work::Work;
use crate::pragma::Ports;

/// A cycle, a memory, a bank, and whether it is the write port of a bank with separate ports for reads and writes.
pub(super) type Port = (u64, usize, usize, bool);
/// The accesses that use the ports of a bank in a cycle.
pub(super) type Asked = HashMap<Port, Users>;

/// At most two accesses.
#[derive(Clone, Copy, Default)]
pub(super) struct Users {
    count: u32,
    of: [usize; 2],
}

impl Work<'_> {
    /// Reserves the ports of accesses in the whole run. Reserves nothing and returns `false` if a bank has too few ports.
    pub(super) fn ask(
        &self,
        asked: &mut Asked,
        accesses: &[usize],
        cycles: &[u32],
        start: impl Fn(usize) -> u64,
        effort: &mut Effort,
    ) -> bool {
        let mut noted: Vec<Port> = Vec::new();
        for &access in accesses {
            let one = &self.kernel.accesses[access];
            let writes = one.written.is_some() && self.memory(access).ports == Ports::ReadAndWrite;
            for iteration in 0..self.kernel.iterations() {
                let Some(visit) = self.visits.get(access, iteration) else { continue };
                // A bank that is known only at run time may be any bank.
                let bank = if self.unknown[one.memory] { 0 } else { visit.bank.unwrap_or(0) };
                let port = (start(iteration) + u64::from(cycles[access]), one.memory, bank, writes);
                let users = asked.entry(port).or_default();
                if users.count == self.capacity(access) {
                    effort.spend(2 * noted.len() + 1);
                    for port in noted {
                        asked.entry(port).or_default().count -= 1;
                    }
                    return false;
                }
                users.of[users.count as usize] = access;
                users.count += 1;
                noted.push(port);
            }
        }
        effort.spend(noted.len());
        true
    }

    /// The schedule with the least gap with which all dependences and ports hold; `None` if the interval is too short, or if no steps remain.
    pub(super) fn with_gap(&self, mut schedule: Schedule, effort: &mut Effort) -> Option<Schedule> {
        for one in self.distances {
            let between = i64::from(schedule.interval) * one.iterations as i64;
            let late = i64::from(schedule.accesses[one.first]) + self.needed(one)
                - i64::from(schedule.accesses[one.second])
                - between;
            if late > 0 {
                if one.ends == 0 {
                    return None;
                }
                schedule.gap = schedule.gap.max(u32::try_from(late).ok()?);
            }
        }
        let most = schedule.gap.saturating_add(MOVES).min(MAX_GAP);
        if schedule.gap > most {
            return None;
        }
        if let Some(ports) = self.ports(&schedule, effort) {
            return Some(Schedule { ports, ..schedule });
        }
        if !self.gaps_help(&schedule, effort) {
            return None;
        }
        while schedule.gap < most && effort.remains() {
            schedule.gap += 1;
            if let Some(ports) = self.ports(&schedule, effort) {
                return Some(Schedule { ports, ..schedule });
            }
        }
        None
    }

    /// Whether the ports of banks hold if no iterations of two runs overlap. If they do not, a longer gap changes nothing.
    fn gaps_help(&self, schedule: &Schedule, effort: &mut Effort) -> bool {
        let is_one_run = self.kernel.loops.last().is_none_or(|one| self.kernel.iterations() <= one.trips);
        let apart = Schedule { gap: schedule.gap.max(schedule.depth), ..schedule.clone() };
        !is_one_run && self.ports(&apart, effort).is_some()
    }

    /// The port of each access; `None` if a bank exceeds its ports in any cycle of the whole run.
    pub(super) fn ports(&self, schedule: &Schedule, effort: &mut Effort) -> Option<Vec<u8>> {
        let accesses: Vec<usize> = (0..self.kernel.accesses.len()).filter(|&access| self.has_port(access)).collect();
        let mut asked = Asked::default();
        let start = |iteration: usize| schedule.start(self.kernel, iteration);
        if !self.ask(&mut asked, &accesses, &schedule.accesses, start, effort) {
            return None;
        }
        // Two accesses that meet need different ports.
        let mut meet: BTreeSet<(usize, usize)> = BTreeSet::new();
        for users in asked.values() {
            if users.count == 2 {
                let [a, b] = users.of;
                meet.extend([(a, b), (b, a)]);
            }
        }
        let mut ports: Vec<Option<u8>> = vec![None; schedule.accesses.len()];
        for access in accesses {
            let mut open = vec![access];
            while let Some(one) = open.pop() {
                let port = *ports[one].get_or_insert(0);
                for &(_, other) in meet.range((one, 0)..=(one, usize::MAX)) {
                    match ports[other] {
                        None => {
                            ports[other] = Some(1 - port);
                            open.push(other);
                        }
                        Some(taken) if taken == port => return None,
                        Some(_) => {}
                    }
                }
            }
        }
        Some(ports.into_iter().map(Option::unwrap_or_default).collect())
    }
}
