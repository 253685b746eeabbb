//! The effect of a group of changes on the quotas, computed before any write.

use super::{
    MAX_BLOCKS, Quota, VolumeError,
    format::Entry,
    map::{Key, Map, STRIPE_BLOCKS, stripe_keys, stripes, within},
};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

/// The presence of blocks and labels after some changes, as far as it differs from the map or may.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// A bit for each mapped block of a stripe.
    stripes: BTreeMap<Key, u32>,
    labels: BTreeMap<Key, bool>,
    /// Mapped blocks and labels of a space.
    counts: HashMap<u32, (u64, u64)>,
}

fn bits(range: Range<usize>) -> u32 {
    (((1u64 << range.end) - 1) & !((1u64 << range.start) - 1)) as u32
}

impl Plan {
    /// Adds a change of one space, unless it would pass the quota; then the plan is as it was. Without `count_blocks`
    /// only labels are counted: right as long as neither this change nor any after it maps a block.
    pub(super) fn admit(
        &mut self,
        map: &Map,
        (space, entries): (u32, &[Entry]),
        quota: Quota,
        count_blocks: bool,
    ) -> Result<(), VolumeError> {
        if quota == Quota::UNLIMITED {
            return Ok(());
        }
        let usage = map.usage(space);
        let before = self.counts.get(&space).copied().unwrap_or((usage.mapped, usage.labels));
        let (stripes, labels) = (BTreeMap::new(), BTreeMap::new());
        let mut trial = Trial { map, plan: self, stripes, labels, count: before, count_blocks };
        entries.iter().for_each(|entry| trial.step(entry));
        let Trial { stripes, labels, count, .. } = trial;
        // Only growth is refused: a lowered quota must not keep anybody from unmapping or from overwriting.
        let over = |resource, before: u64, after: u64, limit: u64| match after > limit && after > before {
            true => {
                let (needed, free) = (after - before, limit.saturating_sub(before));
                Err(VolumeError::Quota { space, resource, needed, free, limit })
            }
            false => Ok(()),
        };
        over("blocks", before.0, count.0, quota.blocks)?;
        over("labels", before.1, count.1, quota.labels)?;
        self.stripes.extend(stripes);
        self.labels.extend(labels);
        self.counts.insert(space, count);
        Ok(())
    }
}

struct Trial<'a> {
    map: &'a Map,
    plan: &'a Plan,
    stripes: BTreeMap<Key, u32>,
    labels: BTreeMap<Key, bool>,
    count: (u64, u64),
    count_blocks: bool,
}

impl Trial<'_> {
    fn step(&mut self, entry: &Entry) {
        match entry {
            Entry::Write { space, lba, checksums } => self.map_range(*space, *lba, checksums.len() as u64),
            Entry::Zero { space, lba, blocks } => self.map_range(*space, *lba, *blocks),
            Entry::Unmap { space, lba, blocks } => self.unmap_range(*space, *lba, *blocks),
            Entry::SetLabel { space, lba, .. } => self.set_label((*space, *lba), true),
            Entry::ClearLabel { space, lba } => self.set_label((*space, *lba), false),
            Entry::Drop { space } => {
                self.unmap_range(*space, 0, MAX_BLOCKS);
                let range = (*space, 0)..=(*space, u64::MAX);
                let mut keys: Vec<Key> = self.map.labels.range(range.clone()).map(|(key, _)| *key).collect();
                keys.extend(self.plan.labels.range(range.clone()).map(|(key, _)| *key));
                keys.extend(self.labels.range(range).map(|(key, _)| *key));
                keys.into_iter().for_each(|key| self.set_label(key, false));
            }
        }
    }

    fn presence(&self, key: Key) -> u32 {
        let planned = self.stripes.get(&key).or_else(|| self.plan.stripes.get(&key)).copied();
        planned.unwrap_or_else(|| self.map.stripes.get(&key).map_or(0, |stripe| stripe.presence()))
    }

    fn set_presence(&mut self, key: Key, after: u32) {
        let before = self.presence(key);
        self.count.0 = self.count.0 + u64::from(after.count_ones()) - u64::from(before.count_ones());
        self.stripes.insert(key, after);
    }

    fn map_range(&mut self, space: u32, lba: u64, blocks: u64) {
        for (index, range) in stripes(lba, blocks) {
            let key = (space, index);
            self.set_presence(key, self.presence(key) | bits(range));
        }
    }

    fn unmap_range(&mut self, space: u32, lba: u64, blocks: u64) {
        if !self.count_blocks {
            return;
        }
        let range = stripe_keys(space, lba, blocks);
        let mut keys: Vec<Key> = self.map.stripes.range(range.clone()).map(|(key, _)| *key).collect();
        keys.extend(self.plan.stripes.range(range.clone()).map(|(key, _)| *key));
        keys.extend(self.stripes.range(range).map(|(key, _)| *key));
        keys.sort_unstable();
        keys.dedup();
        for key in keys.into_iter().filter(|key| self.presence(*key) != 0).collect::<Vec<_>>() {
            debug_assert!(key.1 < MAX_BLOCKS / STRIPE_BLOCKS);
            self.set_presence(key, self.presence(key) & !bits(within(key.1, lba, blocks)));
        }
    }

    fn set_label(&mut self, key: Key, after: bool) {
        let planned = self.labels.get(&key).or_else(|| self.plan.labels.get(&key)).copied();
        let before = planned.unwrap_or_else(|| self.map.labels.contains_key(&key));
        self.count.1 = self.count.1 + u64::from(after) - u64::from(before);
        self.labels.insert(key, after);
    }
}
