//! Placement in the order of the operands: accesses move to later cycles until no bank exceeds its ports.

use super::effort::Effort;
use super::limits::{MAX_DEPTH, MAX_INTERVAL, MOVES};
use super::ports::Asked;
use super::work::Work;

impl Work<'_> {
    /// The cycles of all accesses at an interval, each as early as its operands, dependences and ports allow.
    pub(super) fn greedy(&self, interval: u32, effort: &mut Effort) -> Option<Vec<u32>> {
        let count = self.kernel.accesses.len();
        let mut cycles: Vec<Option<u32>> = vec![None; count];
        let mut least = vec![0u32; count];
        let mut limit = None;
        for _ in 0..MAX_DEPTH {
            if !effort.remains() {
                return None;
            }
            effort.spend(self.kernel.graph.len() + count);
            let (_, earliest) = self.nodes(&cycles);
            let mut next: Vec<u32> = (0..count).map(|access| least[access].max(earliest[access])).collect();
            self.after_others(&mut next, interval, effort);
            let depth = next.iter().max().copied().unwrap_or(0);
            let most = *limit.get_or_insert(4 * (depth + interval.min(depth)) + MOVES);
            // Iterations that do not overlap may be as long as any.
            if depth > MAX_DEPTH || depth > most && interval < MAX_INTERVAL {
                return None;
            }
            // Ports are checked when dependences hold, because that check takes longer.
            if same(&next, &cycles) {
                self.spread(&mut next, interval, effort)?;
                if same(&next, &cycles) {
                    return Some(next);
                }
            }
            cycles = next.iter().copied().map(Some).collect();
            least = next;
        }
        None
    }

    /// Moves each access after the accesses on which it depends, within a run of the innermost loop.
    fn after_others(&self, cycles: &mut [u32], interval: u32, effort: &mut Effort) {
        for _ in 0..cycles.len() {
            effort.spend(self.distances.len());
            let mut changed = false;
            for one in self.distances.iter().filter(|one| one.ends == 0) {
                let needed =
                    self.needed(one) + i64::from(cycles[one.first]) - i64::from(interval) * one.iterations as i64;
                // A read waits for the write of an earlier iteration. If the write depends on the read, both move without end,
                // and the interval is too short.
                if i64::from(cycles[one.second]) < needed {
                    cycles[one.second] = needed as u32;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Moves accesses to later cycles so that no bank exceeds its ports.
    fn spread(&self, cycles: &mut [u32], interval: u32, effort: &mut Effort) -> Option<()> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for access in (0..cycles.len()).filter(|&access| self.has_port(access)) {
            let one = &self.kernel.accesses[access];
            // If accesses of one kind never meet in an iteration, they never meet in one cycle.
            let same = |group: &&mut Vec<usize>| {
                let other = &self.kernel.accesses[group[0]];
                interval == 1 && other.memory == one.memory && other.written.is_some() == one.written.is_some()
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(access),
                None => groups.push(vec![access]),
            }
        }
        for group in &groups {
            let together = group.iter().map(|&access| cycles[access]).max().unwrap_or(0);
            group.iter().for_each(|&access| cycles[access] = together);
        }
        groups.sort_by_key(|group| (cycles[group[0]], group[0]));
        let mut asked = Asked::default();
        for group in groups {
            let start = |iteration: usize| u64::from(interval) * iteration as u64;
            let mut moves = 0;
            while !self.ask(&mut asked, &group, cycles, start, effort) {
                moves += 1;
                if moves > interval.max(MOVES) {
                    return None;
                }
                group.iter().for_each(|&access| cycles[access] += 1);
            }
        }
        Some(())
    }
}

fn same(cycles: &[u32], placed: &[Option<u32>]) -> bool {
    cycles.iter().zip(placed).all(|(&cycle, &placed)| Some(cycle) == placed)
}
