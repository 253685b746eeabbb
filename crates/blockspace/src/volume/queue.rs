//! Changes that wait for the writer.

use super::{
    BLOCK_BYTES, Change, Done, MAX_BLOCKS, MAX_LABEL_BYTES, MAX_ZERO_BLOCKS, Operation, VolumeError, format::Entry,
    map::Slot,
};
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// What a change may hold.
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
        prepared.entry_bytes = prepared.entries.iter().map(Entry::bytes).sum();
        if prepared.entry_bytes > limits.entry_bytes {
            let (given, limit) = (prepared.entry_bytes as u64, limits.entry_bytes as u64);
            return Err(VolumeError::TooLarge { resource: "bytes of entries", given, limit });
        }
        Ok(prepared)
    }

    fn empty(space: u32) -> Self {
        let (entries, data, parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { space, entries, entry_bytes: 0, data, parts, data_blocks: 0, relief: true }
    }

    /// All blocks and labels of a space removed.
    pub(super) fn drop_space(space: u32) -> Self {
        let entry = Entry::Drop { space };
        Self { entry_bytes: entry.bytes(), entries: vec![entry], ..Self::empty(space) }
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

    /// What it counts for while it waits.
    fn cost(&self) -> usize {
        self.data.iter().map(Vec::len).sum::<usize>() + self.entry_bytes + 256
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    /// Cost of what waits or is being written.
    bytes: usize,
    closed: bool,
}

/// Changes that wait, in their order. Bounded in bytes.
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
        let cost = pending.change.cost();
        let mut state = self.lock();
        loop {
            if state.closed {
                return Err((pending.done, VolumeError::Closed));
            }
            // A change that is larger than the bound still gets through alone.
            if state.bytes == 0 || state.bytes.saturating_add(cost) <= self.limit {
                break;
            }
            if !wait {
                let busy = VolumeError::Busy { queued: state.bytes as u64, limit: self.limit as u64 };
                return Err((pending.done, busy));
            }
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += cost;
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
        drop(change);
        {
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(cost);
        }
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
        self.lock().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_within_a_write_become_entries_of_their_own() {
        let mut data = vec![0; 6 * BLOCK_BYTES];
        data[BLOCK_BYTES..3 * BLOCK_BYTES].fill(7);
        data[5 * BLOCK_BYTES] = 1;
        let limits = ChangeLimits { data_blocks: 6, entry_bytes: 1000 };
        let change = Change { space: 3, operations: vec![Operation::Write { lba: 100, data: data.clone() }] };
        let prepared = Prepared::new(change.clone(), limits).expect("sound");
        let seven = crc32c::crc32c(&[7; BLOCK_BYTES]);
        let last = crc32c::crc32c(&data[5 * BLOCK_BYTES..]);
        assert_eq!(
            prepared.entries,
            [
                Entry::Zero { space: 3, lba: 100, blocks: 1 },
                Entry::Write { space: 3, lba: 101, checksums: vec![seven; 2] },
                Entry::Zero { space: 3, lba: 103, blocks: 2 },
                Entry::Write { space: 3, lba: 105, checksums: vec![last] },
            ]
        );
        let content: Vec<u8> = prepared.content().flatten().copied().collect();
        assert_eq!(content[..], [&data[BLOCK_BYTES..3 * BLOCK_BYTES], &data[5 * BLOCK_BYTES..]].concat());
        assert_eq!((prepared.data_blocks, prepared.relief), (3, false));
        let limits = ChangeLimits { data_blocks: 5, ..limits };
        assert!(matches!(Prepared::new(change, limits), Err(VolumeError::TooLarge { given: 6, limit: 5, .. })));
    }
}
