//! Changes that wait for the writer.

use super::{
    BLOCK_BYTES, Change, Done, MAX_BLOCKS, MAX_LABEL_BYTES, MAX_ZERO_BLOCKS, Operation, VolumeError, format::Entry,
    map::Slot,
};
use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Blocks of unmapped ranges from which on a change is wide.
const WIDE_BLOCKS: u64 = 1 << 13;

/// Limits of a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeLimits {
    pub(super) data_blocks: u32,
    pub(super) entry_bytes: usize,
}

/// A change as it will be written: checked, with its checksums.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) space: u32,
    pub(super) entries: Vec<Entry>,
    pub(super) entry_bytes: usize,
    data: Vec<Vec<u8>>,
    /// Which bytes of `data` to store, in the order of the entries.
    parts: Vec<(usize, Range<usize>)>,
    pub(super) data_blocks: u32,
    /// Whether it can only make room: it maps nothing.
    pub(super) relief: bool,
    /// Whether it unmaps so much that counting it in advance costs more than it is worth; only where it is relief.
    pub(super) wide: bool,
}

/// A prepared change and who waits for it.
pub(super) struct Pending {
    pub(super) change: Prepared,
    pub(super) done: Done,
}

fn check_range(lba: u64, blocks: u64) -> Result<(), VolumeError> {
    match lba.checked_add(blocks) {
        Some(end) if blocks > 0 && end <= MAX_BLOCKS => Ok(()),
        _ => Err(VolumeError::Range { lba, blocks }),
    }
}

impl Prepared {
    /// Checks a change and computes its checksums, on the caller's time and not the writer's.
    pub(super) fn new(change: Change, limits: ChangeLimits) -> Result<Self, VolumeError> {
        let Change { space, operations } = change;
        let mut prepared = Self::empty(space);
        let mut zeros = 0u64;
        let (mut bytes, mut relief) = (0, true);
        for operation in operations {
            match operation {
                Operation::Write { lba, data } => {
                    if data.is_empty() || !data.len().is_multiple_of(BLOCK_BYTES) {
                        return Err(VolumeError::Unaligned { len: data.len() });
                    }
                    check_range(lba, (data.len() / BLOCK_BYTES) as u64)?;
                    relief = false;
                    bytes += data.len() as u64;
                    let (given, limit) = (bytes / BLOCK_BYTES as u64, u64::from(limits.data_blocks));
                    if given > limit {
                        return Err(VolumeError::TooLarge { resource: "blocks of data", given, limit });
                    }
                    prepared.write(lba, data);
                }
                Operation::Zero { lba, blocks } => {
                    check_range(lba, blocks)?;
                    relief = false;
                    zeros = zeros.saturating_add(blocks);
                    if zeros > MAX_ZERO_BLOCKS {
                        let (given, limit) = (zeros, MAX_ZERO_BLOCKS);
                        return Err(VolumeError::TooLarge { resource: "blocks of zeros", given, limit });
                    }
                    prepared.entries.push(Entry::Zero { space, lba, blocks });
                }
                Operation::Unmap { lba, blocks } => {
                    check_range(lba, blocks)?;
                    prepared.entries.push(Entry::Unmap { space, lba, blocks });
                }
                Operation::SetLabel { lba, label } => {
                    check_range(lba, 1)?;
                    if label.len() > MAX_LABEL_BYTES {
                        return Err(VolumeError::LabelTooLong { len: label.len() });
                    }
                    prepared.entries.push(Entry::SetLabel { space, lba, label });
                }
                Operation::ClearLabel { lba } => {
                    check_range(lba, 1)?;
                    prepared.entries.push(Entry::ClearLabel { space, lba });
                }
            }
        }
        prepared.relief = relief;
        prepared.merge_unmaps();
        prepared.entry_bytes = prepared.entries.iter().map(Entry::bytes).sum();
        if prepared.entry_bytes > limits.entry_bytes {
            let (given, limit) = (prepared.entry_bytes as u64, limits.entry_bytes as u64);
            return Err(VolumeError::TooLarge { resource: "bytes of entries", given, limit });
        }
        Ok(prepared)
    }

    fn empty(space: u32) -> Self {
        let (entries, data, parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { space, entries, entry_bytes: 0, data, parts, data_blocks: 0, relief: true, wide: false }
    }

    /// All blocks and labels of a space removed.
    pub(super) fn drop_space(space: u32) -> Self {
        let entry = Entry::Drop { space };
        Self { entry_bytes: entry.bytes(), entries: vec![entry], wide: true, ..Self::empty(space) }
    }

    /// Sorts consecutive unmapped ranges and joins adjacent ones, so that none is visited twice.
    fn merge_unmaps(&mut self) {
        let (space, mut merged, mut ranges) = (self.space, Vec::with_capacity(self.entries.len()), Vec::new());
        let mut unmapped = 0u64;
        let mut flush = |ranges: &mut Vec<Range<u64>>, merged: &mut Vec<Entry>| {
            ranges.sort_unstable_by_key(|range| range.start);
            for range in ranges.drain(..) {
                unmapped = unmapped.saturating_add(range.end - range.start);
                match merged.last_mut() {
                    Some(Entry::Unmap { lba, blocks, .. }) if *lba <= range.start && range.start <= *lba + *blocks => {
                        *blocks = (*blocks).max(range.end - *lba);
                    }
                    _ => merged.push(Entry::Unmap { space, lba: range.start, blocks: range.end - range.start }),
                }
            }
        };
        for entry in self.entries.drain(..) {
            match entry {
                Entry::Unmap { lba, blocks, .. } => ranges.push(lba..lba + blocks),
                entry => {
                    // Labels and unmapped blocks do not touch each other; what maps blocks does.
                    if matches!(entry, Entry::Write { .. } | Entry::Zero { .. }) {
                        flush(&mut ranges, &mut merged);
                    }
                    merged.push(entry);
                }
            }
        }
        flush(&mut ranges, &mut merged);
        self.entries = merged;
        self.wide = self.relief && unmapped > WIDE_BLOCKS;
    }

    /// Adds entries for runs of blocks with and without content.
    fn write(&mut self, lba: u64, data: Vec<u8>) {
        let space = self.space;
        let index = self.data.len();
        let mut checksums = Vec::with_capacity(data.len() / BLOCK_BYTES);
        let (mut begin, mut zeros) = (0, 0u64);
        let mut end_of = |end: usize, checksums: &mut Vec<u32>, zeros: &mut u64| {
            if !checksums.is_empty() {
                let lba = lba + (begin / BLOCK_BYTES) as u64;
                self.parts.push((index, begin..end));
                self.data_blocks += checksums.len() as u32;
                self.entries.push(Entry::Write { space, lba, checksums: std::mem::take(checksums) });
            } else if *zeros > 0 {
                let lba = lba + (begin / BLOCK_BYTES) as u64;
                self.entries.push(Entry::Zero { space, lba, blocks: std::mem::take(zeros) });
            }
            begin = end;
        };
        for (block, bytes) in data.chunks_exact(BLOCK_BYTES).enumerate() {
            let checksum = crc32c::crc32c(bytes);
            let zero = checksum == Slot::ZERO.checksum && bytes.iter().all(|byte| *byte == 0);
            if zero != (zeros > 0) {
                end_of(block * BLOCK_BYTES, &mut checksums, &mut zeros);
            }
            if zero { zeros += 1 } else { checksums.push(checksum) }
        }
        end_of(data.len(), &mut checksums, &mut zeros);
        self.data.push(data);
    }

    /// The content to store, in order.
    pub(super) fn content(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|(index, range)| self.data.get(*index)?.get(range.clone()))
    }

    /// Its cost while it waits.
    fn cost(&self) -> usize {
        self.data.iter().map(Vec::len).sum::<usize>() + self.entry_bytes + 256
    }
}

/// Cost of the waiting changes and of those being written.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    data: usize,
    /// Of changes that map nothing. They are counted separately: waiting data must not prevent changes that make room or
    /// label stored blocks.
    relief: usize,
}

impl Load {
    fn of(&mut self, relief: bool) -> &mut usize {
        if relief { &mut self.relief } else { &mut self.data }
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    total: Load,
    /// Of spaces that have anything waiting.
    spaces: HashMap<u32, Load>,
    closed: bool,
}

impl State {
    /// Whether a change may wait too. Spaces that have something waiting share `limit`; one that comes late gets its
    /// share though others have more than theirs by then, up to twice the limit in all. One that has nothing waiting is
    /// always let in, also with a change above its share.
    fn admits(&self, space: u32, relief: bool, cost: usize, limit: usize) -> bool {
        let mut load = self.spaces.get(&space).copied().unwrap_or_default();
        let (mine, mut total) = (*load.of(relief), self.total);
        let others = self.spaces.iter().filter(|(other, load)| **other != space && load.data > 0).count();
        let share = if relief { limit } else { limit / (others + 1) };
        mine == 0
            || mine.saturating_add(cost) <= share && total.of(relief).saturating_add(cost) <= limit.saturating_mul(2)
    }

    fn add(&mut self, space: u32, relief: bool, cost: usize) {
        *self.total.of(relief) += cost;
        *self.spaces.entry(space).or_default().of(relief) += cost;
    }

    fn remove(&mut self, space: u32, relief: bool, cost: usize) {
        let less = |bytes: &mut usize| *bytes = bytes.saturating_sub(cost);
        less(self.total.of(relief));
        if let Some(load) = self.spaces.get_mut(&space) {
            less(load.of(relief));
            if load.data == 0 && load.relief == 0 {
                self.spaces.remove(&space);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.total.data + self.total.relief
    }
}

/// Changes that wait, in their order. Bounded in bytes, in fair shares for the spaces.
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    drained: Condvar,
    limit: usize,
}

impl Queue {
    pub(super) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), filled: Condvar::new(), drained: Condvar::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a change; where there is no room, waits for some or gives its callback back.
    pub(super) fn push(&self, pending: Pending, wait: bool) -> Result<(), (Done, VolumeError)> {
        let Prepared { space, relief, .. } = pending.change;
        let cost = pending.change.cost();
        let mut state = self.lock();
        loop {
            if state.closed {
                return Err((pending.done, VolumeError::Closed));
            }
            if state.admits(space, relief, cost, self.limit) {
                break;
            }
            if !wait {
                let busy = VolumeError::Busy { queued: state.bytes() as u64, limit: self.limit as u64 };
                return Err((pending.done, busy));
            }
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.add(space, relief, cost);
        state.waiting.push_back(pending);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Moves all that waits to `backlog`; when there is nothing in either, waits for something. False when it is closed
    /// and nothing is left.
    pub(super) fn take(&self, backlog: &mut VecDeque<Pending>) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() && backlog.is_empty() && !state.closed {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        backlog.append(&mut state.waiting);
        !backlog.is_empty()
    }

    /// Answers a change that was taken.
    pub(super) fn answer(&self, pending: Pending, outcome: Result<(), VolumeError>) {
        let cost = pending.change.cost();
        let Pending { change, done } = pending;
        let Prepared { space, relief, .. } = change;
        drop(change);
        self.lock().remove(space, relief, cost);
        self.drained.notify_all();
        // A callback that panics must not take the writer with it, nor the changes behind its own.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| done(outcome))).is_err() {
            tracing::error!("the callback of a change panicked");
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.drained.notify_all();
    }

    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
