//! The free-space map of the data file.

use super::{
    StoreError,
    format::{BLOCK_BYTES, Extent, corrupt},
};
use ciphermill_storage::{FreeBlocks, Storage};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct FreeMap {
    runs: FreeBlocks<u64>,
    /// Extents are neither handed out nor taken back any more.
    stopped: bool,
}

/// Hands out extents of the data file. The map is not stored: it is rebuilt from the object table at open.
#[derive(Debug)]
pub(crate) struct Allocator {
    data: Arc<dyn Storage>,
    map: Mutex<FreeMap>,
}

impl Allocator {
    /// Rebuilds the map around the `used` extents.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when an extent overlaps another one, the superblock or the end of the data file.
    pub(crate) fn rebuild(data: Arc<dyn Storage>, mut used: Vec<Extent>) -> Result<Self, StoreError> {
        let blocks_in_file = data.len()? / BLOCK_BYTES;
        used.sort_unstable();
        let mut runs = FreeBlocks::new();
        for extent in used {
            let end = extent.start.checked_add(extent.blocks).filter(|end| *end <= blocks_in_file);
            if end.is_none() || extent.blocks == 0 {
                return Err(corrupt(format!(
                    "an extent of {} blocks at block {} passes the end of the data file ({blocks_in_file} blocks)",
                    extent.blocks, extent.start
                ))
                .into());
            }
            runs.use_next(extent)
                .map_err(|block| corrupt(format!("two extents share block {block} of the data file")))?;
        }
        Ok(Self { data, map: Mutex::new(FreeMap { runs, stopped: false }) })
    }

    fn lock(&self) -> MutexGuard<'_, FreeMap> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// First byte behind the last extent.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.lock().runs.end() * BLOCK_BYTES
    }

    /// Stops handing out and taking back extents: it is no longer known which extents the object table names.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
    }

    /// Reserves room for `bytes` > 0: the shortest free run that holds it, else new blocks at the end, else the longest
    /// free runs together. On a bounded medium the file grows to the end of the extents and the medium reserves the room,
    /// so that no hole in the file counts as free space that the disk does not have.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when neither the file nor the medium has the room, [`StoreError::Failed`] after
    /// [`stop`](Self::stop), [`StoreError::Storage`].
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Result<ExtentLease, StoreError> {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let mut map = self.lock();
        if map.stopped {
            return Err(StoreError::Failed);
        }
        let runs = &mut map.runs;
        let end = runs.end();
        let extents = if let Some(extent) = runs.take_best(blocks) {
            vec![extent]
        } else {
            let growth = self.growable_blocks(end)?;
            if growth >= blocks {
                vec![runs.grow(blocks).ok_or(StoreError::NoSpace { needed: bytes, free: 0 })?]
            } else {
                let free = runs.free().saturating_add(growth);
                if free < blocks {
                    return Err(StoreError::NoSpace { needed: bytes, free: free.saturating_mul(BLOCK_BYTES) });
                }
                let mut extents = runs.take_longest(blocks, 1);
                let missing = blocks - extents.iter().map(|extent| extent.blocks).sum::<u64>();
                if missing > 0 {
                    extents.extend(runs.grow(missing));
                }
                extents
            }
        };
        if runs.end() > end
            && let Err(error) = self.back(runs.end())
        {
            extents.iter().for_each(|extent| runs.insert(*extent));
            return Err(error);
        }
        drop(map);
        Ok(ExtentLease { allocator: Arc::clone(self), extents })
    }

    /// Has the medium set aside the room of all blocks below `end`, if it is bounded.
    fn back(&self, end: u64) -> Result<(), StoreError> {
        if self.data.free_space()?.is_some() {
            self.data.reserve_len(end.saturating_mul(BLOCK_BYTES))?;
        }
        Ok(())
    }

    /// Whether [`reserve`](Self::reserve) would find room for `bytes` > 0 now.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when it would not.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), StoreError> {
        let map = self.lock();
        let free = map.runs.free().saturating_add(self.growable_blocks(map.runs.end())?);
        match free >= bytes.div_ceil(BLOCK_BYTES) {
            true => Ok(()),
            false => Err(StoreError::NoSpace { needed: bytes, free: free.saturating_mul(BLOCK_BYTES) }),
        }
    }

    /// Blocks by which the data file may still grow behind `end`, without the reserved, unwritten blocks.
    fn growable_blocks(&self, end: u64) -> Result<u64, StoreError> {
        let Some(free) = self.data.free_space()? else { return Ok(u64::MAX / BLOCK_BYTES - end) };
        let in_file = self.data.len()? / BLOCK_BYTES;
        Ok((free / BLOCK_BYTES).saturating_add(in_file).saturating_sub(end))
    }

    /// Takes over extents that the object table names.
    pub(crate) fn adopt(self: &Arc<Self>, extents: Vec<Extent>) -> ExtentLease {
        ExtentLease { allocator: Arc::clone(self), extents }
    }

    /// Bytes in free runs inside the file.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.lock().runs.free() * BLOCK_BYTES
    }
}

/// Extents in use; they return to the map when the last owner is gone (a writer that gave up, or a replaced object and
/// its readers).
#[derive(Debug)]
pub(crate) struct ExtentLease {
    allocator: Arc<Allocator>,
    extents: Vec<Extent>,
}

impl ExtentLease {
    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Cuts the byte range [`offset`, `offset + len`) of the object into (offset in the data file, length) pieces.
    pub(crate) fn pieces(&self, offset: u64, len: u64) -> Vec<(u64, usize)> {
        let mut pieces = Vec::new();
        let (mut skip, mut missing) = (offset, len);
        for extent in &self.extents {
            let bytes = extent.blocks * BLOCK_BYTES;
            if missing == 0 {
                break;
            }
            if skip >= bytes {
                skip -= bytes;
                continue;
            }
            let count = (bytes - skip).min(missing);
            pieces.push((extent.start * BLOCK_BYTES + skip, count as usize));
            skip = 0;
            missing -= count;
        }
        pieces
    }
}

impl Drop for ExtentLease {
    fn drop(&mut self) {
        let mut map = self.allocator.lock();
        if map.stopped {
            return;
        }
        for extent in &self.extents {
            map.runs.insert(*extent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_storage::MemoryStorage;

    #[test]
    fn freed_runs_join_and_are_used_again() {
        let data = Arc::new(MemoryStorage::from_bytes(vec![0; 4096]));
        let allocator = Arc::new(Allocator::rebuild(data, vec![]).expect("empty"));
        let leases: Vec<_> = (0..6).map(|_| allocator.reserve(8192).expect("room")).collect();
        assert_eq!(allocator.end_bytes(), 13 * 4096);
        let mut leases = leases.into_iter();
        let (first, second, third) = (leases.next(), leases.next(), leases.next());
        drop(first);
        drop(third);
        drop(second);
        assert_eq!(allocator.free_bytes(), 6 * 4096);
        let joined = allocator.reserve(6 * 4096).expect("the joined run");
        assert_eq!(joined.extents(), [Extent { start: 1, blocks: 6 }]);
        drop(leases);
        drop(joined);
        assert_eq!((allocator.end_bytes(), allocator.free_bytes()), (4096, 0), "all is free again");
    }

    #[test]
    fn fragments_are_gathered_when_the_medium_is_full() {
        let data = Arc::new(MemoryStorage::with_capacity_limit(9 * 4096));
        data.set_len(9 * 4096).expect("full");
        let used = [2, 4, 6, 8].map(|start| Extent { start, blocks: 1 }).to_vec();
        let allocator = Arc::new(Allocator::rebuild(data, used).expect("sound"));
        let lease = allocator.reserve(3 * 4096).expect("fragments");
        assert_eq!(lease.extents().len(), 3);
        assert_eq!(lease.pieces(4095, 4098).iter().map(|piece| piece.1).collect::<Vec<_>>(), [1, 4096, 1]);
        assert!(matches!(allocator.reserve(2 * 4096), Err(StoreError::NoSpace { needed: 8192, free: 4096 })));
    }

    #[test]
    fn pieces_of_an_object_follow_its_extents() {
        let data = Arc::new(MemoryStorage::from_bytes(vec![0; 20 * 4096]));
        let used =
            vec![Extent { start: 2, blocks: 2 }, Extent { start: 10, blocks: 3 }, Extent { start: 5, blocks: 1 }];
        let allocator = Arc::new(Allocator::rebuild(data, used.clone()).expect("sound"));
        let lease = allocator.adopt(used);
        let pieces =
            |offset, len| lease.pieces(offset, len).into_iter().map(|(at, len)| (at, len as u64)).collect::<Vec<_>>();
        assert_eq!(pieces(0, 1), [(8192, 1)]);
        assert_eq!(pieces(100, 300), [(8292, 300)]);
        assert_eq!(pieces(8190, 10_000), [(16_382, 2), (40_960, 9998)]);
        assert_eq!(pieces(8192, 4096), [(40_960, 4096)]);
        assert_eq!(pieces(12_289, 8192), [(45_057, 8191), (20_480, 1)]);
        assert_eq!(pieces(20_480, 4096), [(20_480, 4096)]);
    }

    /// Blocks 1 to 8 of a file of nine; every second one is used.
    fn fragmented(capacity: u64) -> Arc<Allocator> {
        let data = Arc::new(MemoryStorage::with_capacity_limit(capacity * 4096));
        data.set_len(9 * 4096).expect("room");
        let used = [2, 4, 6, 8].map(|start| Extent { start, blocks: 1 }).to_vec();
        Arc::new(Allocator::rebuild(data, used).expect("sound"))
    }

    #[test]
    fn all_that_is_free_can_be_reserved_at_once() {
        let full = fragmented(9);
        assert_eq!(full.reserve(4 * 4096).expect("all fragments").extents().len(), 4);
        // Three blocks at the end are too few; they come after the fragments.
        let growing = fragmented(12);
        let lease = growing.reserve(6 * 4096).expect("four fragments and two blocks");
        assert_eq!(lease.extents().iter().map(|extent| extent.blocks).sum::<u64>(), 6);
        assert_eq!(lease.extents()[4], Extent { start: 9, blocks: 2 });
        assert!(matches!(growing.reserve(2 * 4096), Err(StoreError::NoSpace { needed: 8192, free: 4096 })));
    }

    #[test]
    fn a_check_finds_the_room_that_a_reservation_would() {
        let growing = fragmented(12);
        assert!(growing.check(7 * 4096).is_ok());
        let refused = growing.check(7 * 4096 + 1);
        assert!(matches!(refused, Err(StoreError::NoSpace { needed: 28_673, free: 28_672 })), "{refused:?}");
        // A medium without an end: all blocks of 64 bits but the first.
        let data = Arc::new(MemoryStorage::from_bytes(vec![0; 4096]));
        let endless = Allocator::rebuild(data, vec![]).expect("empty");
        let last = (u64::MAX / 4096 - 1) * 4096;
        assert!(endless.check(last).is_ok());
        assert!(matches!(endless.check(last + 1), Err(StoreError::NoSpace { free, .. }) if free == last));
    }

    #[test]
    fn room_inside_the_file_needs_nothing_of_the_medium() {
        let disk = ciphermill_storage::SimulatedDisk::new();
        let data = Arc::new(disk.file("data"));
        data.set_len(4096).expect("room");
        disk.inject(ciphermill_storage::Fault::Capacity(1 << 20));
        let allocator = Arc::new(Allocator::rebuild(data, vec![]).expect("empty"));
        let [first, _second] = [(); 2].map(|()| allocator.reserve(8192).expect("room"));
        drop(first);
        let operations = disk.operations();
        allocator.reserve(8192).expect("the free run");
        assert_eq!(disk.operations(), operations);
    }

    #[test]
    fn what_is_handed_out_is_backed_even_before_it_is_written() {
        let data = Arc::new(MemoryStorage::with_capacity_limit(100 * 4096));
        data.set_len(4096).expect("room");
        let allocator = Arc::new(Allocator::rebuild(data.clone(), vec![]).expect("empty"));
        let gone = allocator.reserve(50 * 4096).expect("room");
        let behind = allocator.reserve(4096).expect("room");
        assert_eq!(data.len().expect("len"), 52 * 4096);
        drop(gone);
        assert_eq!(allocator.free_bytes(), 50 * 4096);
        data.reserve_len(100 * 4096).expect("somebody takes the rest of the disk");
        let lease = allocator.reserve(50 * 4096).expect("what counts as free");
        data.write_at(lease.pieces(0, 50 * 4096)[0].0, &[7; 50 * 4096]).expect("has its room");
        drop(behind);
    }

    #[test]
    fn a_medium_that_fails_to_grow_gets_its_blocks_back() {
        let disk = ciphermill_storage::SimulatedDisk::new();
        let data = Arc::new(disk.file("data"));
        data.set_len(4096).expect("room");
        let allocator = Arc::new(Allocator::rebuild(data, vec![]).expect("empty"));
        disk.inject(ciphermill_storage::Fault::Capacity(1 << 20));
        disk.inject(ciphermill_storage::Fault::FailAt(disk.operations()));
        assert!(matches!(allocator.reserve(8192), Err(StoreError::Storage(_))));
        assert_eq!((allocator.end_bytes(), allocator.free_bytes()), (4096, 0));
        allocator.reserve(8192).expect("the next one");
    }

    #[test]
    fn a_stopped_allocator_gives_nothing_out_again() {
        let data = Arc::new(MemoryStorage::from_bytes(vec![0; 4096]));
        let allocator = Arc::new(Allocator::rebuild(data, vec![]).expect("empty"));
        let lease = allocator.reserve(8192).expect("room");
        allocator.stop();
        drop(lease);
        assert_eq!(allocator.end_bytes(), 3 * 4096);
        assert!(matches!(allocator.reserve(4096), Err(StoreError::Failed)));
    }

    #[test]
    fn impossible_extents_are_refused() {
        let data: Arc<dyn Storage> = Arc::new(MemoryStorage::from_bytes(vec![0; 10 * 4096]));
        for used in [
            vec![Extent { start: 0, blocks: 1 }],
            vec![Extent { start: 3, blocks: 2 }, Extent { start: 4, blocks: 1 }],
            vec![Extent { start: 9, blocks: 2 }],
            vec![Extent { start: u64::MAX, blocks: 2 }],
            vec![Extent { start: 2, blocks: 0 }],
        ] {
            assert!(matches!(Allocator::rebuild(data.clone(), used), Err(StoreError::Corrupt { .. })));
        }
    }
}
