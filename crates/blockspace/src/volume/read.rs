//! Reading, scrubbing, and the search for unmapped addresses.

use super::{
    BLOCK_BYTES, BlockState, MAX_BLOCKS, ScrubEvent, ScrubObserver, ScrubReport, Shared, Volume, VolumeError,
    map::{Key, Map, STRIPE_BLOCKS, Slot, stripe_keys, within},
};
use ciphermill_storage::StorageError;
use std::{
    ops::ControlFlow,
    sync::{Arc, PoisonError},
};

/// Stripes that a scrub looks up at once.
const SCRUB_STRIPES: usize = 32;

impl Shared {
    /// Reads blocks; `false` when `wait` is false and the disk would have to be waited for.
    pub(super) fn read(&self, space: u32, lba: u64, out: &mut [u8], wait: bool) -> Result<bool, VolumeError> {
        let blocks = (out.len() / BLOCK_BYTES) as u64;
        if out.is_empty() || !out.len().is_multiple_of(BLOCK_BYTES) {
            return Err(VolumeError::Unaligned { len: out.len() });
        }
        if lba.checked_add(blocks).is_none_or(|end| end > MAX_BLOCKS) {
            return Err(VolumeError::Range { lba, blocks });
        }
        let (slots, _epoch) = {
            let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
            // As long as the epoch is held, no block that was looked up is written anew.
            (map.slots(space, lba, blocks), Arc::clone(&map.epoch))
        };
        let mut at = 0;
        for run in slots.chunk_by(|a, b| follows(*a, *b)) {
            let (begin, end) = (at * BLOCK_BYTES, (at + run.len()) * BLOCK_BYTES);
            if !self.read_run(run, &mut out[begin..end], wait, |block| VolumeError::Damaged {
                space,
                lba: lba + (at + block) as u64,
            })? {
                return Ok(false);
            }
            at += run.len();
        }
        Ok(true)
    }

    /// Reads neighbouring slots whose physical blocks are neighbours too, or that have none.
    pub(super) fn read_run(
        &self,
        run: &[Slot],
        out: &mut [u8],
        wait: bool,
        damaged: impl Fn(usize) -> VolumeError,
    ) -> Result<bool, VolumeError> {
        let Some(first) = run.first().filter(|slot| slot.state() == BlockState::Data) else {
            out.fill(0);
            return Ok(true);
        };
        let offset = u64::from(first.physical) * BLOCK_BYTES as u64;
        let read = match wait {
            true => self.blocks.read_at(offset, out).map(|()| true),
            false => self.blocks.try_read_at(offset, out),
        };
        match read {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(StorageError::OutOfRange { .. }) => return Err(damaged(0)),
            Err(error) => return Err(error.into()),
        }
        let sound = |(block, slot): (&[u8], &Slot)| crc32c::crc32c(block) == slot.checksum;
        match out.chunks(BLOCK_BYTES).zip(run).position(|pair| !sound(pair)) {
            None => Ok(true),
            Some(block) => Err(damaged(block)),
        }
    }

    /// Reads and verifies every block with content.
    pub(super) fn scrub(&self, each: ScrubObserver<'_>) -> ScrubReport {
        let total = self.map.read().unwrap_or_else(PoisonError::into_inner).total_usage().data;
        let mut report = ScrubReport::default();
        let mut from: Option<Key> = Some((0, 0));
        let mut buffer = vec![0; STRIPE_BLOCKS as usize * BLOCK_BYTES];
        while let Some(begin) = from {
            let (stripes, _epoch) = {
                let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
                let found = map.stripes.range(begin..).take(SCRUB_STRIPES);
                let stripes: Vec<_> = found.map(|(key, stripe)| (*key, stripe.clone())).collect();
                (stripes, Arc::clone(&map.epoch))
            };
            from = stripes.last().map(|((space, index), _)| (*space, index + 1));
            for (key, stripe) in stripes {
                let mut at = 0;
                for run in stripe.slots.chunk_by(|a, b| follows(*a, *b)) {
                    let base = key.1 * STRIPE_BLOCKS + at as u64;
                    at += run.len();
                    if run.first().is_none_or(|slot| slot.state() != BlockState::Data) {
                        continue;
                    }
                    report.blocks += run.len() as u64;
                    for lba in self.damaged_blocks(key.0, base, run, &mut buffer) {
                        report.damaged += 1;
                        if each(ScrubEvent::Damaged { space: key.0, lba }).is_break() {
                            return report;
                        }
                    }
                }
            }
            if each(ScrubEvent::Progress { done: report.blocks, total }) == ControlFlow::Break(()) {
                return report;
            }
        }
        report.complete = true;
        report
    }

    fn damaged_blocks(&self, space: u32, lba: u64, run: &[Slot], buffer: &mut [u8]) -> Vec<u64> {
        let out = &mut buffer[..run.len() * BLOCK_BYTES];
        let never = |_| VolumeError::Damaged { space, lba };
        if self.read_run(run, out, true, never).is_ok() {
            return Vec::new();
        }
        let mut damaged = Vec::new();
        for (index, slot) in run.iter().enumerate() {
            let block = lba + index as u64;
            if self.read_run(std::slice::from_ref(slot), &mut buffer[..BLOCK_BYTES], true, never).is_ok() {
                continue;
            }
            // A block that was written anew meanwhile is no longer anybody's.
            let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
            if map.slots(space, block, 1).first() == Some(slot) {
                damaged.push(block);
            }
        }
        damaged
    }
}

/// Whether two neighbouring slots can be read at once.
fn follows(a: Slot, b: Slot) -> bool {
    match (a.state(), b.state()) {
        (BlockState::Data, BlockState::Data) => a.physical + 1 == b.physical,
        (BlockState::Data, _) | (_, BlockState::Data) => false,
        _ => true,
    }
}

/// Stripes examined while the map is held.
const STEP_STRIPES: usize = 4096;

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// Blocks from `gap` to `next` are not mapped; later blocks were not examined.
    At { gap: u64, next: u64 },
    /// There is a gap here.
    Found(u64),
    /// There is none.
    Nothing,
}

impl Volume {
    /// The first address at or after `from_lba` of at least `blocks` unmapped blocks (0 counts as 1) below `before`; `None`
    /// if there is none. The time grows with the mapped stripes of 32 blocks on the way. Changes are admitted every few
    /// thousand stripes, so check again under a lock before relying on the result.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// assert_eq!(volume.next_absent(1, 5, 2, 100), Some(6));
    /// assert_eq!(volume.next_absent(1, 5, 2, 7), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    use super::*;
    use crate::volume::{format::Entry, map::Effects};

    /// The result of a search in steps of `most` stripes.
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
