//! Extents of a file and the map of its free blocks. The map is never stored: it follows from the extents in use.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    ops::{Add, Sub},
};

/// A number of blocks, or the index of one: `u32` or `u64`.
///
/// # Example
/// ```
/// use ciphermill_storage::{BlockNumber, Extent};
///
/// fn last_block<T: BlockNumber>(extent: Extent<T>) -> Option<T> {
///     Some(extent.start.checked_add(extent.blocks)? - T::ONE)
/// }
/// assert_eq!(last_block(Extent { start: 3u32, blocks: 2 }), Some(4));
/// assert_eq!(last_block(Extent { start: 3, blocks: u32::MAX }), None);
/// ```
pub trait BlockNumber: Copy + Ord + Debug + Add<Output = Self> + Sub<Output = Self> + Into<u64> {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// The sum, or `None` on overflow.
    #[must_use]
    fn checked_add(self, other: Self) -> Option<Self>;
}

macro_rules! block_number {
    ($($word:ty),*) => {$(
        impl BlockNumber for $word {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            fn checked_add(self, other: Self) -> Option<Self> {
                <$word>::checked_add(self, other)
            }
        }
    )*};
}

block_number!(u32, u64);

/// A run of blocks of a file.
///
/// # Example
/// ```
/// use ciphermill_storage::{Extent, FreeBlocks};
///
/// let mut map = FreeBlocks::<u32>::new();
/// // Block 0 is the superblock, so the file grows from block 1.
/// assert_eq!(map.grow(2), Some(Extent { start: 1, blocks: 2 }));
/// assert_eq!(map.grow(5), Some(Extent { start: 3, blocks: 5 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent<T> {
    /// First block; block 0 is the superblock, so never 0.
    pub start: T,
    /// Number of blocks, at least 1.
    pub blocks: T,
}

/// Free runs of blocks below `end`, by start and by length. All blocks from `end` on are free as well, as far as the
/// medium lets the file grow.
///
/// # Example
/// ```
/// use ciphermill_storage::{Extent, FreeBlocks};
///
/// let mut map = FreeBlocks::new();
/// assert_eq!(map.use_next(Extent { start: 3u32, blocks: 2 }), Ok(()));
/// // Blocks 1 and 2 are free below the end.
/// assert_eq!((map.free(), map.end()), (2, 5));
/// assert_eq!(map.take_best(2), Some(Extent { start: 1, blocks: 2 }));
/// assert_eq!(map.grow(1), Some(Extent { start: 5, blocks: 1 }));
/// ```
#[derive(Debug)]
pub struct FreeBlocks<T> {
    by_start: BTreeMap<T, T>,
    by_length: BTreeSet<(T, T)>,
    end: T,
    free: u64,
}

impl<T: BlockNumber> FreeBlocks<T> {
    /// A file whose only used block is the superblock.
    #[must_use]
    pub fn new() -> Self {
        Self { by_start: BTreeMap::new(), by_length: BTreeSet::new(), end: T::ONE, free: 0 }
    }

    /// Marks an extent behind all used ones as used; extents must come in ascending order.
    ///
    /// # Errors
    /// The first block of the extent, when another extent owns it already or the extent has no last block.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Extent, FreeBlocks};
    ///
    /// let mut map = FreeBlocks::new();
    /// assert_eq!(map.use_next(Extent { start: 4u32, blocks: 2 }), Ok(()));
    /// // Block 5 has an owner.
    /// assert_eq!(map.use_next(Extent { start: 5, blocks: 1 }), Err(5));
    /// ```
    pub fn use_next(&mut self, extent: Extent<T>) -> Result<(), T> {
        let end = extent.start.checked_add(extent.blocks).filter(|_| extent.start >= self.end).ok_or(extent.start)?;
        if extent.start > self.end {
            self.add(self.end, extent.start - self.end);
        }
        self.end = end;
        Ok(())
    }

    fn add(&mut self, start: T, blocks: T) {
        self.by_start.insert(start, blocks);
        self.by_length.insert((blocks, start));
        self.free += blocks.into();
    }

    fn remove(&mut self, start: T, blocks: T) {
        self.by_start.remove(&start);
        self.by_length.remove(&(blocks, start));
        self.free -= blocks.into();
    }

    /// Returns an extent to the map and joins it with its free neighbours.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Extent, FreeBlocks};
    ///
    /// let mut map = FreeBlocks::<u32>::new();
    /// let extents = [2, 3, 4].map(|blocks| map.grow(blocks).expect("no overflow"));
    /// map.insert(extents[0]);
    /// map.insert(extents[1]);
    /// // The two neighbours are one run.
    /// assert_eq!(map.take_best(5), Some(Extent { start: 1, blocks: 5 }));
    /// ```
    pub fn insert(&mut self, extent: Extent<T>) {
        let Extent { mut start, mut blocks } = extent;
        if let Some((&before, &len)) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.remove(before, len);
            start = before;
            blocks = blocks + len;
        }
        if let Some(&len) = self.by_start.get(&(start + blocks)) {
            self.remove(start + blocks, len);
            blocks = blocks + len;
        }
        if start + blocks == self.end {
            self.end = start;
        } else {
            self.add(start, blocks);
        }
    }

    /// First block behind the last one in use.
    #[must_use]
    pub fn end(&self) -> T {
        self.end
    }

    /// Number of free blocks below the end.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Takes `blocks` from the front of the free run (`start`, `len`).
    fn take(&mut self, start: T, len: T, blocks: T) -> Extent<T> {
        self.remove(start, len);
        if len > blocks {
            self.add(start + blocks, len - blocks);
        }
        Extent { start, blocks }
    }

    /// Takes `blocks` from the shortest free run that holds them.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Extent, FreeBlocks};
    ///
    /// let mut map = FreeBlocks::new();
    /// for start in [4u32, 10] {
    ///     assert_eq!(map.use_next(Extent { start, blocks: 1 }), Ok(()));
    /// }
    /// // Blocks 1 to 3 and 5 to 9 are free.
    /// assert_eq!(map.take_best(2), Some(Extent { start: 1, blocks: 2 }));
    /// assert_eq!(map.take_best(6), None);
    /// ```
    pub fn take_best(&mut self, blocks: T) -> Option<Extent<T>> {
        let (len, start) = self.by_length.range((blocks, T::ZERO)..).next().copied()?;
        Some(self.take(start, len, blocks))
    }

    /// Takes the longest free runs of at least `shortest` blocks until they add up to `blocks`, or until no such run is
    /// left.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Extent, FreeBlocks};
    ///
    /// let mut map = FreeBlocks::new();
    /// for start in [4u32, 10] {
    ///     assert_eq!(map.use_next(Extent { start, blocks: 1 }), Ok(()));
    /// }
    /// let taken = map.take_longest(7, 2);
    /// assert_eq!(taken, [Extent { start: 5, blocks: 5 }, Extent { start: 1, blocks: 2 }]);
    /// // Block 3 is free, but shorter than the shortest run.
    /// assert!(map.take_longest(1, 2).is_empty());
    /// ```
    pub fn take_longest(&mut self, mut blocks: T, shortest: T) -> Vec<Extent<T>> {
        let mut extents = Vec::new();
        while blocks > T::ZERO
            && let Some((len, start)) = self.by_length.last().copied().filter(|(len, _)| *len >= shortest)
        {
            let extent = self.take(start, len, len.min(blocks));
            blocks = blocks - extent.blocks;
            extents.push(extent);
        }
        extents
    }

    /// Takes `blocks` behind the end; `None` when their numbers overflow.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Extent, FreeBlocks};
    ///
    /// let mut map = FreeBlocks::<u32>::new();
    /// assert_eq!(map.grow(6), Some(Extent { start: 1, blocks: 6 }));
    /// assert_eq!((map.end(), map.grow(u32::MAX)), (7, None));
    /// ```
    pub fn grow(&mut self, blocks: T) -> Option<Extent<T>> {
        let start = self.end;
        self.end = start.checked_add(blocks)?;
        Some(Extent { start, blocks })
    }
}

impl<T: BlockNumber> Default for FreeBlocks<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u32, blocks: u32) -> Extent<u32> {
        Extent { start, blocks }
    }

    #[test]
    fn runs_join_and_the_longest_goes_first() {
        let mut map = FreeBlocks::new();
        for block in [3, 4, 9, 20] {
            map.use_next(extent(block, 1)).expect("no block twice");
        }
        assert_eq!((map.free(), map.end()), (2 + 4 + 10, 21));
        assert_eq!(map.take_longest(12, 3), [extent(10, 10), extent(5, 2)]);
        assert_eq!(map.take_longest(9, 3), [], "the remaining runs are shorter");
        assert_eq!(map.take_longest(9, 1), [extent(7, 2), extent(1, 2)]);
        map.insert(extent(5, 2));
        map.insert(extent(7, 2));
        assert_eq!(map.take_longest(4, 4), [extent(5, 4)]);
        map.insert(extent(10, 10));
        map.insert(extent(20, 1));
        assert_eq!((map.end(), map.free()), (10, 0), "the end comes back to the last block in use");
        assert_eq!(map.grow(6), Some(extent(10, 6)));
        assert_eq!(map.grow(u32::MAX), None);
    }

    #[test]
    fn the_shortest_run_that_fits_is_taken_from_its_front() {
        let mut map = FreeBlocks::new();
        for block in [4, 10, 30] {
            map.use_next(extent(block, 1)).expect("no block twice");
        }
        assert_eq!(map.take_best(4), Some(extent(5, 4)));
        assert_eq!(map.take_best(1), Some(extent(9, 1)));
        assert_eq!(map.take_best(20), None);
        assert_eq!(map.free(), 3 + 19);
    }

    #[test]
    fn no_block_has_two_owners() {
        let mut map = FreeBlocks::new();
        assert_eq!(map.use_next(extent(0, 1)), Err(0), "the superblock");
        map.use_next(extent(4, 2)).expect("free");
        assert_eq!(map.use_next(extent(5, 1)), Err(5));
        assert_eq!(map.use_next(extent(6, u32::MAX)), Err(6));
    }
}
