//! From a declared object with all its blocks to one in the device.

use super::{
    BlockSpace, Outcome, Taking, blocks_of, count,
    coverage::Extra,
    crowded,
    labels::Label,
    locked,
    locks::Ranges,
    places::{Bound, Declared},
    point, status,
};
use crate::volume::{BLOCK_BYTES, Operation, VolumeError};
use ciphermill_device::{DeviceError, ObjectFlags, WriteMode, WriteOptions, Written};
use ciphermill_nvme::CommandError;
use ciphermill_program::{Metadata, VrId};
use std::sync::{Arc, atomic::Ordering};

/// Bytes that go to the device at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// What a look at a declared object came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// It is bound.
    Done,
    /// Blocks are missing.
    Missing,
    /// The blocks are not those that the metadata block gives the checksum of; others will come.
    Mismatch,
}

enum Attempt {
    /// And the room that it may have taken.
    Written(Written, Taking),
    Not(Completion),
}

impl From<VolumeError> for Failure {
    fn from(error: VolumeError) -> Self {
        Self::Volume(error)
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

enum Failure {
    Volume(VolumeError),
    Device(DeviceError),
}

impl Failure {
    fn told(&self) -> CommandError {
        match self {
            Self::Volume(error) => status::of_volume(error),
            Self::Device(error) => status::of_device(error),
        }
    }
}

pub(super) fn flags_of(metadata: &Metadata) -> ObjectFlags {
    let flag = |set: bool, flag| if set { flag } else { ObjectFlags::NONE };
    flag(metadata.armed, ObjectFlags::ARMED).with(flag(metadata.one_shot, ObjectFlags::ONE_SHOT))
}

pub(super) fn options_of(metadata: &Metadata, result_limit: Option<u64>) -> WriteOptions {
    let mode = if metadata.stored { WriteMode::Stored } else { WriteMode::Compute };
    WriteOptions { flags: flags_of(metadata), mode, result_limit }
}

impl BlockSpace {
    /// Completes every declared object in the ranges to which something was written and that has all its blocks, unless
    /// somebody else holds a lock on it and will do so.
    pub(super) async fn settle(self: &Arc<Self>, ranges: &Ranges) -> Outcome {
        let candidates = self.index().declared_in(ranges);
        let mut outcome = Ok(());
        for (first, declared) in candidates {
            if !declared.wanted.load(Ordering::SeqCst) || !declared.may_be_complete(0, true) {
                continue;
            }
            let whole = Self::whole(self.half, first, declared.blocks);
            let Some(held) = self.changes.try_exclusive(whole.clone()) else { continue };
            if self.index().is_declared(first, &declared) && declared.wanted.swap(false, Ordering::SeqCst) {
                outcome = outcome.and(self.complete(first, &declared, None).await.map(drop));
            }
            drop(held);
        }
        outcome
    }

    /// Completes an object if the volume and `extra` together have all its blocks. The caller holds the locks of
    /// [`whole`](Self::whole).
    ///
    /// After an error the object is declared as before, `extra` is not stored, and the device holds what it held; unless
    /// the volume failed after the device had stored it.
    pub(super) async fn complete(
        self: &Arc<Self>,
        first: u64,
        declared: &Arc<Declared>,
        extra: Option<&Extra>,
    ) -> Outcome<Completion> {
        let id = declared.metadata.id;
        let undone = self.index().undone_at(first);
        let mut registers = Ranges::from(point(id));
        registers.extend(undone.map(point));
        let _register = crowded(self.registers.exclusive(registers).await)?;
        // The label at the first block is needed for this object.
        self.delete(undone.map(|id| (first, id)).into_iter().collect()).await?;
        let work = {
            let (space, declared, extra) = (Arc::clone(self), Arc::clone(declared), extra.cloned());
            move || space.attempt(first, &declared, extra.as_ref())
        };
        let outcome = match self.blocking(&self.jobs, work).await? {
            Ok(Attempt::Not(completion)) => return Ok(completion),
            Ok(Attempt::Written(written, _room)) => {
                let bound = self.bind(first, id, declared.blocks, written.stat.size).await;
                if bound.is_err() {
                    // The device has the new version all the same: where an earlier one is shown, it is this one now.
                    // Opening does the same to the label.
                    self.pages.forget(id);
                    self.index_mut().resize(id, blocks_of(written.stat.size));
                }
                bound
            }
            Err(failure) => Err(failure.told()),
        };
        match &outcome {
            Ok(()) => {
                count(&self.counters.completed);
                if extra.is_some() {
                    count(&self.counters.direct);
                }
            }
            Err(error) => {
                count(&self.counters.failed);
                tracing::debug!(space = self.id, register = %id, lba = first, %error, "an object was not completed");
            }
        }
        outcome.map(|()| Completion::Done).map_err(|error| if error.lba.is_some() { error } else { error.at(first) })
    }

    /// How many bytes the device may make of an object, and the mark that keeps other objects out of that room meanwhile.
    fn room(self: &Arc<Self>, first: u64, declared: &Declared) -> (u64, Taking) {
        let mut index = self.index_mut();
        let Metadata { id, stored, .. } = declared.metadata;
        let own = first + declared.blocks;
        let end = match !stored && self.computing.contains(&id.type_code) {
            true => index.limit(first).min(first.saturating_add(blocks_of(self.max_object_bytes))).max(own),
            false => own,
        };
        let ticket = index.take(first..end);
        ((end - first).saturating_mul(BLOCK_BYTES as u64), Taking { space: Arc::clone(self), ticket })
    }

    /// Blocks: looks whether the object is whole, and if so, has the device take it.
    fn attempt(self: &Arc<Self>, first: u64, declared: &Declared, extra: Option<&Extra>) -> Result<Attempt, Failure> {
        let mut coverage = locked(&declared.coverage);
        if !coverage.is_complete(&self.volume, self.id, extra) {
            return Ok(Attempt::Not(Completion::Missing));
        }
        let Metadata { id, size, object_crc32c, .. } = declared.metadata;
        if let Some(expected) = object_crc32c {
            let last_block = first + declared.blocks - 1;
            let mut last = vec![0; BLOCK_BYTES];
            match extra.and_then(|extra| extra.block(last_block)) {
                Some(block) => last.copy_from_slice(block),
                None => self.volume.read(self.id, last_block, &mut last)?,
            }
            if coverage.checksum(&self.volume, self.id, extra, size, &last) != Some(expected.get()) {
                return Ok(Attempt::Not(Completion::Mismatch));
            }
        }
        // The locks of the caller keep the blocks as they are; the coverage is not needed while a program runs.
        drop(coverage);
        // Not before it is known to be whole: others wait for what is being taken.
        let (limit, room) = self.room(first, declared);
        let mut sink = self.device.write(id, size, options_of(&declared.metadata, Some(limit)))?;
        let mut piece = vec![0; PIECE_BYTES.min(declared.blocks * BLOCK_BYTES as u64) as usize];
        let mut done = 0;
        while done < size {
            let lba = first + done / BLOCK_BYTES as u64;
            let blocks = blocks_of((size - done).min(PIECE_BYTES));
            let part = &mut piece[..blocks as usize * BLOCK_BYTES];
            self.collect(lba, part, extra)?;
            let take = (size - done).min(part.len() as u64);
            sink.push(&part[..take as usize]).map_err(DeviceError::from)?;
            done += take;
        }
        drop(piece);
        Ok(Attempt::Written(sink.commit()?, room))
    }

    /// Blocks as the volume and `extra` have them.
    fn collect(&self, lba: u64, out: &mut [u8], extra: Option<&Extra>) -> Result<(), VolumeError> {
        let blocks = (out.len() / BLOCK_BYTES) as u64;
        let inside = |extra: &&Extra| extra.block(lba).is_some() && extra.block(lba + blocks - 1).is_some();
        if extra.filter(inside).is_none() {
            self.volume.read(self.id, lba, out)?;
        }
        if let Some(extra) = extra {
            for (block, lba) in out.chunks_exact_mut(BLOCK_BYTES).zip(lba..) {
                if let Some(bytes) = extra.block(lba) {
                    block.copy_from_slice(bytes);
                }
            }
        }
        Ok(())
    }

    /// Makes the object in the device the one that is read here. The blocks that it was made of go, and so do plain
    /// blocks under a result that is longer.
    async fn bind(self: &Arc<Self>, first: u64, id: VrId, declared: u64, size: u64) -> Outcome {
        let bound = Bound { id, blocks: blocks_of(size) };
        let (earlier, mut shown) = {
            let index = self.index();
            let here = index.get(first).map_or(0, |place| place.blocks());
            let mut shown = Self::whole(self.half, first, here.max(bound.blocks));
            let earlier = index.place_of(id).filter(|earlier| *earlier != first);
            if let Some(earlier) = earlier {
                let blocks = index.get(earlier).map_or(1, |place| place.blocks());
                shown.push(earlier..earlier + blocks);
                shown.push(self.half + earlier..self.half + earlier + 1);
            }
            (earlier, shown)
        };
        let mut operations = vec![
            Operation::SetLabel { lba: first, label: Label::Bound(bound).encode() },
            Operation::ClearLabel { lba: self.half + first },
            Operation::Unmap { lba: first, blocks: declared.max(bound.blocks) },
        ];
        if let Some(earlier) = earlier {
            operations.push(Operation::ClearLabel { lba: earlier });
        }
        shown.push(first..first + 1);
        let _view = crowded(self.views.exclusive(shown).await)?;
        self.commit(operations).await?;
        [Some(first), earlier].into_iter().flatten().for_each(|place| self.sessions.forget(place));
        self.pages.forget(id);
        self.high_water.fetch_max(first + bound.blocks, Ordering::Relaxed);
        self.index_mut().bind(first, bound);
        Ok(())
    }
}
