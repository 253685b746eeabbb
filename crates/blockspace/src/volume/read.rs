//! Reading and scrubbing.

use super::{
    BLOCK_BYTES, BlockState, MAX_BLOCKS, ScrubEvent, ScrubObserver, ScrubReport, Shared, VolumeError,
    map::{Key, STRIPE_BLOCKS, Slot},
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
    fn read_run(
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
