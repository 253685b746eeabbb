//! Free blocks of the block file. Nothing of it is stored: it follows from the map and the registered segments.

use super::{VolumeError, format::corrupt, segment::Extent};
use std::collections::{BTreeMap, BTreeSet};

/// Free runs of blocks below `end`, by start and by length; all blocks from `end` on are free too, as far as the medium
/// lets the file grow.
#[derive(Debug)]
pub(super) struct FreeMap {
    by_start: BTreeMap<u32, u32>,
    by_length: BTreeSet<(u32, u32)>,
    end: u32,
    free: u64,
}

impl FreeMap {
    /// The map around the `used` blocks.
    ///
    /// # Errors
    /// [`VolumeError::Corrupt`] when two are the same.
    pub(super) fn around(mut used: Vec<u32>) -> Result<Self, VolumeError> {
        used.sort_unstable();
        let mut map = Self { by_start: BTreeMap::new(), by_length: BTreeSet::new(), end: 1, free: 0 };
        for block in used {
            if block < map.end {
                return Err(corrupt(format!("block {block} of the block file has two owners")));
            }
            let (start, blocks) = (map.end, block - map.end);
            map.end = block + 1;
            if blocks > 0 {
                map.add(start, blocks);
            }
        }
        Ok(map)
    }

    fn add(&mut self, start: u32, blocks: u32) {
        self.by_start.insert(start, blocks);
        self.by_length.insert((blocks, start));
        self.free += u64::from(blocks);
    }

    fn remove(&mut self, start: u32, blocks: u32) {
        self.by_start.remove(&start);
        self.by_length.remove(&(blocks, start));
        self.free -= u64::from(blocks);
    }

    /// Gives a run back.
    pub(super) fn insert(&mut self, extent: Extent) {
        let (mut start, mut blocks) = (extent.start, extent.blocks);
        if let Some((&before, &len)) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.remove(before, len);
            start = before;
            blocks += len;
        }
        if let Some(&len) = self.by_start.get(&(start + blocks)) {
            self.remove(start + blocks, len);
            blocks += len;
        }
        if start + blocks == self.end {
            self.end = start;
        } else {
            self.add(start, blocks);
        }
    }

    /// First block behind the last one in use.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// Number of free blocks below the end.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Takes the longest free runs of at least `shortest` blocks until `blocks` are together, or as many as there are.
    pub(super) fn take(&mut self, mut blocks: u32, shortest: u32) -> Vec<Extent> {
        let mut extents = Vec::new();
        while blocks > 0
            && let Some((len, start)) = self.by_length.last().copied().filter(|(len, _)| *len >= shortest)
        {
            let taken = len.min(blocks);
            self.remove(start, len);
            if len > taken {
                self.add(start + taken, len - taken);
            }
            extents.push(Extent { start, blocks: taken });
            blocks -= taken;
        }
        extents
    }

    /// Takes `blocks` behind the end.
    pub(super) fn grow(&mut self, blocks: u32) -> Option<Extent> {
        let start = self.end;
        self.end = start.checked_add(blocks)?;
        Some(Extent { start, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u32, blocks: u32) -> Extent {
        Extent { start, blocks }
    }

    #[test]
    fn runs_join_and_the_longest_goes_first() {
        let mut map = FreeMap::around(vec![9, 3, 4, 20]).expect("no block twice");
        assert_eq!((map.free(), map.end()), (2 + 4 + 10, 21));
        assert_eq!(map.take(12, 3), [extent(10, 10), extent(5, 2)]);
        assert_eq!(map.take(9, 3), [], "what is left is shorter");
        assert_eq!(map.take(9, 1), [extent(7, 2), extent(1, 2)]);
        map.insert(extent(5, 2));
        map.insert(extent(7, 2));
        assert_eq!(map.take(4, 4), [extent(5, 4)]);
        map.insert(extent(10, 10));
        map.insert(extent(20, 1));
        assert_eq!((map.end(), map.free()), (10, 0), "the end comes back to the last block in use");
        assert_eq!(map.grow(6), Some(extent(10, 6)));
        assert_eq!(map.grow(u32::MAX), None);
    }

    #[test]
    fn no_block_has_two_owners() {
        assert!(matches!(FreeMap::around(vec![5, 4, 5]), Err(VolumeError::Corrupt { .. })));
        assert!(matches!(FreeMap::around(vec![0]), Err(VolumeError::Corrupt { .. })));
    }
}
