//! Snapshots: all blocks and labels as they were at one moment, copied while others are written.

use super::{
    BLOCK_BYTES, BlockState, Change, Operation, Quota, Shared, Volume, VolumeError,
    map::{Key, STRIPE_BLOCKS, Slot, Stripe},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The snapshots of a volume that are not dropped yet. The thread of the checkpoints frees no block that one of them has yet to
/// read.
#[derive(Debug, Default)]
pub(super) struct Pins {
    list: Mutex<Vec<Weak<Pin>>>,
    /// Blocks that the last checkpoint kept for them.
    held: AtomicU64,
    /// Whether a snapshot was read or dropped since, so that some of these may be free.
    lessened: AtomicBool,
}

#[derive(Debug)]
struct Pin {
    limit: u64,
    /// Blocks that are yet to be read; `None` until that is known, which stands for all.
    needed: Mutex<Option<Blocks>>,
    /// Set before the first block is freed that the snapshot needs.
    over: AtomicBool,
}

impl Pins {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Pin>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, limit: u64) -> Arc<Pin> {
        let pin = Arc::new(Pin { limit, needed: Mutex::default(), over: AtomicBool::new(false) });
        self.lock().push(Arc::downgrade(&pin));
        pin
    }

    /// Of blocks that no map names, those that a snapshot needs, and the others. A snapshot that needs more than its budget
    /// ends.
    pub(super) fn divide(&self, blocks: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
        self.lessened.store(false, Ordering::SeqCst);
        let mut pins = self.lock();
        pins.retain(|pin| pin.upgrade().is_some_and(|pin| pin.bears(&blocks)));
        let pins: Vec<_> = pins.iter().filter_map(Weak::upgrade).collect();
        let needed: Vec<_> = pins.iter().map(|pin| pin.needed()).collect();
        let is_needed = |block: &u32| needed.iter().any(|needed| has(needed.as_ref(), *block));
        let (held, free): (Vec<_>, Vec<_>) = blocks.into_iter().partition(is_needed);
        self.held.store(held.len() as u64, Ordering::SeqCst);
        (held, free)
    }

    /// Blocks that are kept for snapshots and that the next checkpoint may free, or more.
    pub(super) fn released(&self) -> u64 {
        let lessened = self.lessened.load(Ordering::SeqCst) || self.lock().iter().all(|pin| pin.strong_count() == 0);
        if lessened { self.held.load(Ordering::SeqCst) } else { 0 }
    }
}

impl Pin {
    fn needed(&self) -> MutexGuard<'_, Option<Blocks>> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the snapshot goes on when these blocks are kept as far as it needs them.
    fn bears(&self, blocks: &[u32]) -> bool {
        let needed = self.needed();
        let kept = blocks.iter().filter(|block| has(needed.as_ref(), **block)).count();
        let within = (kept * BLOCK_BYTES) as u64 <= self.limit;
        self.over.fetch_or(!within, Ordering::SeqCst);
        within
    }
}

fn has(needed: Option<&Blocks>, block: u32) -> bool {
    needed.is_none_or(|needed| needed.has(block))
}

/// A set of blocks of the file, a bit for each.
#[derive(Debug, Default)]
struct Blocks(BTreeMap<u32, Box<[u64; 1024]>>);

impl Blocks {
    /// The part of the set, the word in it, and the bit of a block.
    fn place(block: u32) -> (u32, usize, u64) {
        (block >> 16, (block as usize & 0xffff) / 64, 1 << (block % 64))
    }

    fn has(&self, block: u32) -> bool {
        let (part, word, bit) = Self::place(block);
        self.0.get(&part).is_some_and(|words| words[word] & bit != 0)
    }

    fn insert(&mut self, block: u32) {
        let (part, word, bit) = Self::place(block);
        self.0.entry(part).or_insert_with(|| Box::new([0; 1024]))[word] |= bit;
    }

    fn remove(&mut self, block: u32) {
        let (part, word, bit) = Self::place(block);
        if let Some(words) = self.0.get_mut(&part) {
            words[word] &= !bit;
        }
    }
}

fn data_blocks(stripe: &Stripe) -> impl Iterator<Item = u32> {
    stripe.slots.iter().filter(|slot| slot.state() == BlockState::Data).map(|slot| slot.physical)
}

/// The content of a volume in numbers: equal for equal content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeSummary {
    /// Mapped blocks.
    pub blocks: u64,
    /// Labels.
    pub labels: u64,
    /// CRC-32C of the addresses and checksums of all blocks, and of all labels.
    pub checksum: u32,
}

/// The outcome of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlocksCopied {
    /// Blocks whose content was written to the target.
    pub written: u64,
    /// Blocks that the target had already, byte by byte.
    pub reused: u64,
    /// Space and address of blocks that do not match their checksum. They are not in the target.
    pub damaged: Vec<(u32, u64)>,
    /// Space and address of blocks that do not match their checksum, and of which the target keeps its own copy with that
    /// checksum.
    pub kept: Vec<(u32, u64)>,
}

/// The blocks and labels of a volume at one moment.
///
/// Its map is a copy in memory (docs/blockspace-volume.md, "Costs"). Blocks that are written or unmapped later keep their
/// place on the disk until they are copied. If they come to more than its budget, the snapshot ends.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// volume.commit(write)?;
/// let snapshot = volume.snapshot(1 << 30);
/// volume.drop_space(1)?;
/// let target = Volume::open(VolumeFiles::in_memory(), config)?;
/// let copied = snapshot.copy_to(&target, &mut |_, _| ControlFlow::Continue(()))?;
/// assert_eq!((copied.written, target.mapped(1, 5, 1)), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct VolumeSnapshot {
    shared: Arc<Shared>,
    stripes: BTreeMap<Key, Box<Stripe>>,
    labels: BTreeMap<Key, Box<[u8]>>,
    pin: Arc<Pin>,
}

impl Volume {
    /// The blocks and labels as they are now, with a budget in bytes.
    #[must_use]
    pub fn snapshot(&self, budget: u64) -> VolumeSnapshot {
        let shared = &self.inner.shared;
        // Before the map is looked at: blocks that are lost from then on are held.
        let pin = shared.pins.add(budget);
        let map = self.map();
        let (stripes, labels) = (map.stripes.clone(), map.labels.clone());
        drop(map);
        let mut needed = Blocks::default();
        stripes.values().flat_map(|stripe| data_blocks(stripe)).for_each(|block| needed.insert(block));
        *pin.needed() = Some(needed);
        VolumeSnapshot { shared: Arc::clone(shared), stripes, labels, pin }
    }

    /// Its content in numbers.
    #[must_use]
    pub fn summary(&self) -> VolumeSummary {
        let map = self.map();
        summary(&map.stripes, &map.labels)
    }
}

fn summary(stripes: &BTreeMap<Key, Box<Stripe>>, labels: &BTreeMap<Key, Box<[u8]>>) -> VolumeSummary {
    let mut summary = VolumeSummary { labels: labels.len() as u64, ..VolumeSummary::default() };
    let mut add = |bytes: &[u8]| summary.checksum = crc32c::crc32c_append(summary.checksum, bytes);
    for ((space, index), stripe) in stripes {
        let mapped = stripe.slots.iter().enumerate().filter(|(_, slot)| slot.state() != BlockState::Absent);
        for (block, slot) in mapped {
            add(&space.to_le_bytes());
            add(&(index * STRIPE_BLOCKS + block as u64).to_le_bytes());
            add(&slot.checksum.to_le_bytes());
            summary.blocks += 1;
        }
    }
    for ((space, lba), label) in labels {
        add(&space.to_le_bytes());
        add(&lba.to_le_bytes());
        add(label);
    }
    summary
}

impl VolumeSnapshot {
    /// Its content in numbers.
    #[must_use]
    pub fn summary(&self) -> VolumeSummary {
        summary(&self.stripes, &self.labels)
    }

    /// Makes the target equal: blocks and labels that it has beyond the snapshot go. `each` gets the stripes of blocks done
    /// and all of them, and stops the copy by [`ControlFlow::Break`].
    ///
    /// # Errors
    /// [`VolumeError::SnapshotOver`], [`VolumeError::Storage`], and those of changes of the target.
    pub fn copy_to(
        self,
        target: &Volume,
        each: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<BlocksCopied, VolumeError> {
        let mut copy = Copy { snapshot: &self, target, change: None, bytes: 0, copied: BlocksCopied::default() };
        let spaces = self.stripes.keys().chain(self.labels.keys()).map(|(space, _)| *space);
        let spaces: BTreeSet<u32> = spaces.chain(target.spaces()).collect();
        spaces.iter().for_each(|space| target.set_quota(*space, Quota::UNLIMITED));
        let here: Vec<Key> = target.map().stripes.keys().copied().collect();
        let keys: BTreeSet<Key> = self.stripes.keys().copied().chain(here).collect();
        for (done, key) in keys.iter().enumerate() {
            copy.stripe(*key)?;
            self.read_already(*key);
            if each(done as u64 + 1, keys.len() as u64).is_break() {
                break;
            }
        }
        copy.labels()?;
        copy.flush()?;
        Ok(copy.copied)
    }

    /// Gives up the blocks of a stripe.
    fn read_already(&self, key: Key) {
        if let (Some(stripe), Some(needed)) = (self.stripes.get(&key), self.pin.needed().as_mut()) {
            data_blocks(stripe).for_each(|block| needed.remove(block));
        }
        self.shared.pins.lessened.store(true, Ordering::SeqCst);
    }

    /// Reads blocks that lie next to each other.
    fn read(&self, run: &[Slot], out: &mut [u8]) -> Result<bool, VolumeError> {
        // The block number is set by the caller, who knows it.
        let damaged = |_| VolumeError::Damaged { space: 0, lba: 0 };
        let outcome = self.shared.read_run(run, out, true, damaged);
        // Bytes of a block that was written anew meanwhile are of no use, even if the checksum holds.
        if self.pin.over.load(Ordering::SeqCst) {
            return Err(VolumeError::SnapshotOver { limit: self.pin.limit });
        }
        match outcome {
            Err(VolumeError::Damaged { .. }) => Ok(false),
            outcome => outcome,
        }
    }
}

/// A copy in progress.
struct Copy<'a> {
    snapshot: &'a VolumeSnapshot,
    target: &'a Volume,
    /// The change that is being filled, of one space.
    change: Option<Change>,
    bytes: usize,
    copied: BlocksCopied,
}

/// Bytes of content in a change of the target.
const CHANGE_BYTES: usize = 1 << 20;
/// Operations in a change of the target.
const CHANGE_OPERATIONS: usize = 512;

impl Copy<'_> {
    fn stripe(&mut self, key: Key) -> Result<(), VolumeError> {
        let (space, base) = (key.0, key.1 * STRIPE_BLOCKS);
        let wanted = self.snapshot.stripes.get(&key).map_or(Stripe::EMPTY, |stripe| Stripe::clone(stripe));
        let here = self.target.map().slots(space, base, STRIPE_BLOCKS);
        let mut buffer = vec![0; BLOCK_BYTES];
        for (block, (slot, now)) in wanted.slots.iter().zip(here).enumerate() {
            let lba = base + block as u64;
            match (slot.state(), now.state()) {
                (BlockState::Absent, BlockState::Absent) | (BlockState::Zero, BlockState::Zero) => {}
                (BlockState::Absent, _) => self.push(space, Operation::Unmap { lba, blocks: 1 })?,
                (BlockState::Zero, _) => self.push(space, Operation::Zero { lba, blocks: 1 })?,
                (BlockState::Data, _) if !self.snapshot.read(std::slice::from_ref(slot), &mut buffer)? => {
                    // What an earlier copy has may be the last whole copy of the block.
                    if self.read_equal(space, lba, now, *slot).is_some() {
                        self.copied.kept.push((space, lba));
                        continue;
                    }
                    self.copied.damaged.push((space, lba));
                    self.push(space, Operation::Unmap { lba, blocks: 1 })?;
                }
                (BlockState::Data, _) if self.has(space, lba, now, *slot, &buffer) => self.copied.reused += 1,
                (BlockState::Data, _) => {
                    self.push(space, Operation::Write { lba, data: buffer.clone() })?;
                    self.copied.written += 1;
                }
            }
        }
        Ok(())
    }

    /// Whether the target has this content. Equal checksums are not enough: hosts choose the content.
    fn has(&self, space: u32, lba: u64, now: Slot, wanted: Slot, content: &[u8]) -> bool {
        self.read_equal(space, lba, now, wanted).is_some_and(|bytes| bytes == content)
    }

    /// The content of a block of the target, if it is whole and has the wanted checksum.
    fn read_equal(&self, space: u32, lba: u64, now: Slot, wanted: Slot) -> Option<Vec<u8>> {
        let mut bytes = vec![0; BLOCK_BYTES];
        let equal = now.state() == BlockState::Data
            && now.checksum == wanted.checksum
            && self.target.read(space, lba, &mut bytes).is_ok();
        equal.then_some(bytes)
    }

    fn labels(&mut self) -> Result<(), VolumeError> {
        let wanted = &self.snapshot.labels;
        let here: Vec<(Key, Box<[u8]>)> =
            self.target.map().labels.iter().map(|(key, label)| (*key, label.clone())).collect();
        for ((space, lba), _) in here.iter().filter(|(key, _)| !wanted.contains_key(key)) {
            self.push(*space, Operation::ClearLabel { lba: *lba })?;
        }
        let here: BTreeMap<Key, Box<[u8]>> = here.into_iter().collect();
        for ((space, lba), label) in wanted.iter().filter(|(key, label)| here.get(*key) != Some(label)) {
            self.push(*space, Operation::SetLabel { lba: *lba, label: label.to_vec() })?;
        }
        Ok(())
    }

    fn push(&mut self, space: u32, operation: Operation) -> Result<(), VolumeError> {
        let bytes = if let Operation::Write { data, .. } = &operation { data.len() } else { 0 };
        let limit = CHANGE_BYTES.min(self.target.max_change_blocks() as usize * BLOCK_BYTES);
        let full = |change: &Change| change.operations.len() >= CHANGE_OPERATIONS || change.space != space;
        if self.change.as_ref().is_some_and(full) || self.bytes + bytes > limit {
            self.flush()?;
        }
        self.bytes += bytes;
        let change = self.change.get_or_insert_with(|| Change { space, operations: Vec::new() });
        match (change.operations.last_mut(), operation) {
            // Neighbours are one operation.
            (Some(Operation::Write { lba, data }), Operation::Write { lba: next, data: more })
                if *lba + (data.len() / BLOCK_BYTES) as u64 == next =>
            {
                data.extend(more);
            }
            (_, operation) => change.operations.push(operation),
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), VolumeError> {
        self.bytes = 0;
        self.change.take().map_or(Ok(()), |change| self.target.commit(change))
    }
}
