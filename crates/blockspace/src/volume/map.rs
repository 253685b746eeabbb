//! The map in memory: the physical block of every mapped block of a space, and the labels.

use super::{BlockState, MAX_BLOCKS, Run, SpaceUsage, format::Entry};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Blocks of a stripe, the unit in which the map is stored.
pub(super) const STRIPE_BLOCKS: u64 = 32;

/// A space and an address in it: of a stripe, or of a label.
pub(super) type Key = (u32, u64);

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) physical: u32,
    pub(super) checksum: u32,
}

impl Slot {
    /// Not mapped.
    pub(super) const ABSENT: Self = Self { physical: 0, checksum: 0 };
    /// Mapped, and zeros; the checksum is that of a block of zeros.
    pub(super) const ZERO: Self = Self { physical: u32::MAX, checksum: 0x98F9_4189 };

    pub(super) fn state(self) -> BlockState {
        match self.physical {
            0 => BlockState::Absent,
            u32::MAX => BlockState::Zero,
            _ => BlockState::Data,
        }
    }
}

/// Neighbouring blocks of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stripe {
    pub(super) slots: [Slot; STRIPE_BLOCKS as usize],
}

impl Stripe {
    pub(super) const EMPTY: Self = Self { slots: [Slot::ABSENT; STRIPE_BLOCKS as usize] };

    fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| *slot == Slot::ABSENT)
    }

    /// A bit for each mapped block.
    pub(super) fn presence(&self) -> u32 {
        self.slots.iter().enumerate().fold(0, |bits, (i, slot)| bits | u32::from(*slot != Slot::ABSENT) << i)
    }
}

/// Side effects of a change of the map.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Stripes and labels that the stored map has not as they are.
    pub(super) stripes: BTreeSet<Key>,
    pub(super) labels: BTreeSet<Key>,
    /// Physical blocks that nothing points at any more.
    pub(super) lost: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Map {
    pub(super) stripes: BTreeMap<Key, Box<Stripe>>,
    pub(super) labels: BTreeMap<Key, Box<[u8]>>,
    usage: BTreeMap<u32, SpaceUsage>,
    /// Held by readers while they read the blocks that they looked up. A checkpoint replaces it, so that blocks are reused
    /// only when no reader is left.
    pub(super) epoch: Arc<()>,
}

/// The stripes of a range: index of the stripe, and the blocks within it.
pub(super) fn stripes(lba: u64, blocks: u64) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = lba.saturating_add(blocks).min(MAX_BLOCKS);
    let mut at = lba.min(end);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let index = at / STRIPE_BLOCKS;
            let stop = ((index + 1) * STRIPE_BLOCKS).min(end);
            let range = (at % STRIPE_BLOCKS) as usize..(stop - index * STRIPE_BLOCKS) as usize;
            at = stop;
            (index, range)
        })
    })
}

/// The blocks of stripe `index` that lie in a range.
pub(super) fn within(index: u64, lba: u64, blocks: u64) -> std::ops::Range<usize> {
    let base = index * STRIPE_BLOCKS;
    let end = lba.saturating_add(blocks);
    (lba.max(base) - base) as usize..(end.min(base + STRIPE_BLOCKS) - base) as usize
}

/// The keys of the stripes that a range touches.
pub(super) fn stripe_keys(space: u32, lba: u64, blocks: u64) -> std::ops::RangeInclusive<Key> {
    let last = lba.saturating_add(blocks).min(MAX_BLOCKS).saturating_sub(1);
    (space, lba / STRIPE_BLOCKS)..=(space, last.max(lba) / STRIPE_BLOCKS)
}

impl Map {
    /// A map of these stripes and labels.
    pub(super) fn new(stripes: BTreeMap<Key, Box<Stripe>>, labels: BTreeMap<Key, Box<[u8]>>) -> Self {
        let mut map = Self { stripes, labels, usage: BTreeMap::new(), epoch: Arc::new(()) };
        for ((space, _), stripe) in &map.stripes {
            let usage = map.usage.entry(*space).or_default();
            stripe.slots.iter().for_each(|slot| usage.count(*slot, true));
        }
        for (space, _) in map.labels.keys() {
            map.usage.entry(*space).or_default().labels += 1;
        }
        map
    }

    /// Makes one step of a change; `physical` gives the blocks that hold its content.
    pub(super) fn apply(&mut self, entry: &Entry, physical: &mut impl Iterator<Item = u32>, effects: &mut Effects) {
        match entry {
            Entry::Write { space, lba, checksums } => {
                let mut slots =
                    checksums.iter().zip(physical).map(|(checksum, physical)| Slot { physical, checksum: *checksum });
                self.set(*space, *lba, checksums.len() as u64, || slots.next().unwrap_or(Slot::ZERO), effects);
            }
            Entry::Zero { space, lba, blocks } => self.set(*space, *lba, *blocks, || Slot::ZERO, effects),
            Entry::Unmap { space, lba, blocks } => self.unmap(*space, *lba, *blocks, effects),
            Entry::SetLabel { space, lba, label } => {
                if self.labels.insert((*space, *lba), label.as_slice().into()).is_none() {
                    self.usage.entry(*space).or_default().labels += 1;
                }
                effects.labels.insert((*space, *lba));
            }
            Entry::ClearLabel { space, lba } => self.clear_label((*space, *lba), effects),
            Entry::Drop { space } => {
                self.unmap(*space, 0, MAX_BLOCKS, effects);
                let labels: Vec<Key> =
                    self.labels.range((*space, 0)..=(*space, u64::MAX)).map(|(key, _)| *key).collect();
                labels.into_iter().for_each(|key| self.clear_label(key, effects));
            }
        }
        if let Entry::Unmap { space, .. } | Entry::ClearLabel { space, .. } | Entry::Drop { space } = entry
            && self.usage.get(space) == Some(&SpaceUsage::default())
        {
            self.usage.remove(space);
        }
    }

    fn set(&mut self, space: u32, lba: u64, blocks: u64, mut next: impl FnMut() -> Slot, effects: &mut Effects) {
        let usage = self.usage.entry(space).or_default();
        for (index, range) in stripes(lba, blocks) {
            let stripe = self.stripes.entry((space, index)).or_insert_with(|| Box::new(Stripe::EMPTY));
            for slot in &mut stripe.slots[range] {
                let new = next();
                usage.count(*slot, false);
                usage.count(new, true);
                if slot.state() == BlockState::Data {
                    effects.lost.push(slot.physical);
                }
                *slot = new;
            }
            effects.stripes.insert((space, index));
        }
    }

    fn unmap(&mut self, space: u32, lba: u64, blocks: u64, effects: &mut Effects) {
        self.unmap_some(space, lba, blocks, usize::MAX, effects);
    }

    /// Unmaps the blocks of the first `most` stripes of a range that hold any; where to go on, if there may be more.
    pub(super) fn unmap_some(
        &mut self,
        space: u32,
        lba: u64,
        blocks: u64,
        most: usize,
        effects: &mut Effects,
    ) -> Option<u64> {
        let keys: Vec<Key> =
            self.stripes.range(stripe_keys(space, lba, blocks)).take(most).map(|(key, _)| *key).collect();
        let rest = keys.last().filter(|_| keys.len() == most).map(|key| (key.1 + 1) * STRIPE_BLOCKS);
        if keys.is_empty() {
            return rest;
        }
        let usage = self.usage.entry(space).or_default();
        for key in keys {
            let Some(stripe) = self.stripes.get_mut(&key) else { continue };
            for slot in &mut stripe.slots[within(key.1, lba, blocks)] {
                usage.count(*slot, false);
                if slot.state() == BlockState::Data {
                    effects.lost.push(slot.physical);
                }
                *slot = Slot::ABSENT;
            }
            if stripe.is_empty() {
                self.stripes.remove(&key);
            }
            effects.stripes.insert(key);
        }
        rest
    }

    fn clear_label(&mut self, key: Key, effects: &mut Effects) {
        if self.labels.remove(&key).is_some() {
            self.usage.entry(key.0).or_default().labels -= 1;
            effects.labels.insert(key);
        }
    }

    pub(super) fn usage(&self, space: u32) -> SpaceUsage {
        self.usage.get(&space).copied().unwrap_or_default()
    }

    pub(super) fn total_usage(&self) -> SpaceUsage {
        self.usage.values().fold(SpaceUsage::default(), |sum, usage| SpaceUsage {
            mapped: sum.mapped + usage.mapped,
            data: sum.data + usage.data,
            labels: sum.labels + usage.labels,
        })
    }

    pub(super) fn spaces(&self) -> Vec<u32> {
        self.usage.keys().copied().collect()
    }

    /// The slots of a range that has at most as many blocks as memory has room for.
    pub(super) fn slots(&self, space: u32, lba: u64, blocks: u64) -> Vec<Slot> {
        let mut slots = Vec::with_capacity(blocks as usize);
        for (index, range) in stripes(lba, blocks) {
            match self.stripes.get(&(space, index)) {
                Some(stripe) => slots.extend_from_slice(&stripe.slots[range]),
                None => slots.resize(slots.len() + range.len(), Slot::ABSENT),
            }
        }
        slots
    }

    /// The runs that cover a range.
    pub(super) fn states(&self, space: u32, lba: u64, blocks: u64) -> Vec<Run> {
        let end = lba.saturating_add(blocks).min(MAX_BLOCKS);
        let mut runs: Vec<Run> = Vec::new();
        let mut at = lba;
        let mut push = |to: u64, state: BlockState| {
            if to > at {
                match runs.last_mut() {
                    Some(run) if run.state == state => run.blocks += to - at,
                    _ => runs.push(Run { lba: at, blocks: to - at, state }),
                }
                at = to;
            }
        };
        if lba < end {
            for (&(_, index), stripe) in self.stripes.range(stripe_keys(space, lba, end - lba)) {
                let range = within(index, lba, end - lba);
                push(index * STRIPE_BLOCKS + range.start as u64, BlockState::Absent);
                for block in range {
                    push(index * STRIPE_BLOCKS + block as u64 + 1, stripe.slots[block].state());
                }
            }
        }
        push(end, BlockState::Absent);
        runs
    }

    /// Number of mapped blocks of a range.
    pub(super) fn mapped(&self, space: u32, lba: u64, blocks: u64) -> u64 {
        let end = lba.saturating_add(blocks).min(MAX_BLOCKS);
        if lba >= end {
            return 0;
        }
        let stripes = self.stripes.range(stripe_keys(space, lba, end - lba));
        let slots = stripes.flat_map(|(key, stripe)| &stripe.slots[within(key.1, lba, end - lba)]);
        slots.filter(|slot| **slot != Slot::ABSENT).count() as u64
    }
}

impl SpaceUsage {
    fn count(&mut self, slot: Slot, add: bool) {
        let change = |count: &mut u64| *count = if add { *count + 1 } else { *count - 1 };
        if slot.state() != BlockState::Absent {
            change(&mut self.mapped);
        }
        if slot.state() == BlockState::Data {
            change(&mut self.data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_zeros_is_that_of_a_block_of_zeros() {
        assert_eq!(crc32c::crc32c(&[0; super::super::BLOCK_BYTES]), Slot::ZERO.checksum);
    }

    #[test]
    fn ranges_split_into_stripes() {
        let split: Vec<_> = stripes(30, 36).collect();
        assert_eq!(split, [(0, 30..32), (1, 0..32), (2, 0..2)]);
        for (index, range) in split {
            assert_eq!(within(index, 30, 36), range);
        }
        assert_eq!(stripes(MAX_BLOCKS - 1, 5).count(), 1);
        assert_eq!(stripes(u64::MAX, 5).count(), 0);
    }

    #[test]
    fn a_range_is_covered_by_runs() {
        let mut map = Map::default();
        let mut effects = Effects::default();
        let write = Entry::Write { space: 1, lba: 30, checksums: vec![1, 2, 3] };
        map.apply(&write, &mut [7, 8, 9].into_iter(), &mut effects);
        map.apply(&Entry::Zero { space: 1, lba: 33, blocks: 2 }, &mut std::iter::empty(), &mut effects);
        map.apply(&Entry::Unmap { space: 1, lba: 31, blocks: 1 }, &mut std::iter::empty(), &mut effects);
        let runs = [(28, 2, 'a'), (30, 1, 'd'), (31, 1, 'a'), (32, 1, 'd'), (33, 2, 'z'), (35, 100, 'a')];
        let seen: Vec<_> = map
            .states(1, 28, 107)
            .into_iter()
            .map(|run| match run.state {
                BlockState::Absent => (run.lba, run.blocks, 'a'),
                BlockState::Zero => (run.lba, run.blocks, 'z'),
                BlockState::Data => (run.lba, run.blocks, 'd'),
            })
            .collect();
        assert_eq!(seen, runs);
        assert_eq!(effects.lost, [8]);
        assert_eq!((map.mapped(1, 0, u64::MAX), map.mapped(1, 33, 1), map.mapped(2, 0, 100)), (4, 1, 0));
        assert_eq!(map.usage(1), SpaceUsage { mapped: 4, data: 2, labels: 0 });
        map.apply(&Entry::Drop { space: 1 }, &mut std::iter::empty(), &mut effects);
        assert!(map.stripes.is_empty() && map.spaces().is_empty());
    }
}
