//! Looking for room among the addresses of a space.

use super::{
    MAX_BLOCKS, Volume,
    map::{Map, stripe_keys, within},
};

/// Stripes that are looked at while the map is held.
const STEP_STRIPES: usize = 4096;

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// Blocks from `gap` to `next` are not mapped; what follows was not looked at.
    At { gap: u64, next: u64 },
    /// There is a gap here.
    Found(u64),
    /// There is none.
    Nothing,
}

impl Volume {
    /// The first address at or after `from_lba` from which on at least `blocks` blocks (taken as one when 0) are not
    /// mapped, all of them below `before`; `None` when there is none. Takes time for each mapped stripe of 32 blocks it
    /// passes, none for what is not mapped, and lets changes through between some thousand stripes: so look again, where
    /// nothing else may write, before relying on it.
    #[must_use]
    pub fn next_absent(&self, space: u32, from_lba: u64, blocks: u64, before: u64) -> Option<u64> {
        let mut search = Search::At { gap: from_lba, next: from_lba };
        loop {
            search = match search {
                Search::At { gap, next } => self.map().search(space, (gap, next), blocks, before, STEP_STRIPES),
                Search::Found(lba) => return Some(lba),
                Search::Nothing => return None,
            }
        }
    }
}

impl Map {
    /// Goes on with a search, past at most `most` stripes.
    fn search(&self, space: u32, at: (u64, u64), blocks: u64, before: u64, most: usize) -> Search {
        let ((mut gap, next), blocks, before) = (at, blocks.max(1), before.min(MAX_BLOCKS));
        if before.saturating_sub(gap) < blocks {
            return Search::Nothing;
        }
        let mut seen = 0;
        if next < before {
            for (&(_, index), stripe) in self.stripes.range(stripe_keys(space, next, before - next)).take(most) {
                seen += 1;
                let presence = stripe.presence();
                let base = index * stripe.slots.len() as u64;
                let range = within(index, next, before - next);
                for block in range.filter(|block| presence >> block & 1 == 1) {
                    let lba = base + block as u64;
                    if lba - gap >= blocks {
                        return Search::Found(gap);
                    }
                    gap = lba + 1;
                }
                if seen == most {
                    return Search::At { gap, next: base + stripe.slots.len() as u64 };
                }
            }
        }
        if before.saturating_sub(gap) >= blocks { Search::Found(gap) } else { Search::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::format::Entry, *};
    use crate::volume::{BlockState, map::Effects};

    /// What a search finds, in steps of `most` stripes.
    fn find(map: &Map, from: u64, blocks: u64, before: u64, most: usize) -> Option<u64> {
        let mut search = Search::At { gap: from, next: from };
        loop {
            search = match search {
                Search::At { gap, next } => map.search(1, (gap, next), blocks, before, most),
                Search::Found(lba) => return Some(lba),
                Search::Nothing => return None,
            }
        }
    }

    #[test]
    fn the_first_gap_is_found_as_a_walk_over_all_blocks_finds_it() {
        let mut map = Map::default();
        for (lba, blocks) in [(0, 3), (5, 30), (40, 1), (64, 64), (130, 62), (200, 1), (MAX_BLOCKS - 1, 1)] {
            for space in [0, 1, 2] {
                let lba = if space == 1 { lba } else { lba / 2 };
                map.apply(&Entry::Zero { space, lba, blocks }, &mut std::iter::empty(), &mut Effects::default());
            }
        }
        let absent: Vec<bool> = map.slots(1, 0, 260).iter().map(|slot| slot.state() == BlockState::Absent).collect();
        for from in 0..230 {
            for blocks in [1, 2, 3, 8, 9, 23, 24, 60] {
                for before in [0, 5, 40, 64, 130, 199, 200, 201, 230, 260] {
                    let fits = |lba: &u64| absent[*lba as usize..(lba + blocks) as usize].iter().all(|absent| *absent);
                    let wanted = (from..(before + 1u64).saturating_sub(blocks)).find(fits);
                    for most in [1, 2, 3, 1000] {
                        assert_eq!(find(&map, from, blocks, before, most), wanted, "{blocks} in {from}..{before}");
                    }
                }
            }
        }
        assert_eq!(find(&map, 0, 1 << 51, u64::MAX, 2), Some(201));
        assert_eq!(find(&map, 201, MAX_BLOCKS - 202, u64::MAX, 2), Some(201));
        assert_eq!(find(&map, 202, MAX_BLOCKS - 202, u64::MAX, 2), None);
        assert_eq!(find(&map, u64::MAX, 1, u64::MAX, 2), None);
        assert_eq!(find(&map, 3, 0, 10, 2), Some(3));
    }
}
