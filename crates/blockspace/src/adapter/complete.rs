//! Completion: a declared object with all its blocks becomes an object of the device.

use super::{
    BlockSpace, Outcome, Taking,
    access::Actor,
    audit::{Action, AuditEvent, Version},
    bindings::{Bound, Declared},
    blocks_of, count,
    coverage::Extra,
    crowded,
    labels::{Declaration, Kind, Label},
    locked,
    locks::RangeGuard,
    origin::Origin,
    point,
    ranges::Ranges,
    shares::Share,
    status,
};
use crate::volume::{BLOCK_BYTES, Operation, VolumeError};
use ciphermill_device::{DeviceError, ObjectFlags, WriteMode, WriteOptions, Written};
use ciphermill_nvme::CommandError;
use ciphermill_program::Metadata;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::oneshot::{Receiver, error::RecvError};

/// Bytes that go to the device at a time.
const PIECE_BYTES: u64 = 1 << 20;
/// Pauses before a change that the volume refused is tried again: each twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The result of examining a declared object.
#[derive(Debug)]
pub(super) enum Completion {
    /// It is durable in the device; the volume is to follow.
    Done(Binding),
    /// Blocks are missing.
    Missing,
    /// The blocks do not match the checksum of the metadata block; other blocks are to follow.
    Mismatch,
}

/// An object that the device has stored and the volume has not bound yet. It is locked meanwhile.
#[derive(Debug)]
pub(super) struct Binding {
    first: u64,
    bound: Bound,
    /// Where its register was bound before.
    earlier: Option<u64>,
    /// Whether the change of the volume concerns nothing but blocks that the command has locked, so that it may be made at
    /// any time later.
    locked: bool,
    /// Whether that change consists of labels only, so that reads do not depend on it.
    pub(super) may_follow: bool,
    operations: Vec<Operation>,
    durable: Receiver<Result<(), VolumeError>>,
    _locks: [RangeGuard; 2],
    /// The room that it may have taken, until it is shown there.
    room: Option<Taking>,
}

enum Attempt {
    /// And the room that it may have taken.
    Written(Written, Taking),
    Missing,
    Mismatch,
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

pub(super) fn options_of(metadata: &Metadata, result_limit: Option<u64>, origin: u64) -> WriteOptions {
    let mode = if metadata.stored { WriteMode::Stored } else { WriteMode::Compute };
    WriteOptions { flags: flags_of(metadata), mode, result_limit, origin, ..WriteOptions::default() }
}

impl BlockSpace {
    /// Completes every declared object in the ranges that was written to and has all its blocks, unless another command
    /// holds a lock on it and will complete it.
    pub(super) async fn settle(self: &Arc<Self>, origin: &Origin, ranges: &Ranges) -> Outcome {
        let candidates = self.index().declared_in(ranges);
        let mut outcome = Ok(());
        for (first, declared) in candidates {
            if !declared.wanted.load(Ordering::SeqCst) || !declared.may_be_complete(0, true) {
                continue;
            }
            let whole = Self::whole(self.half, first, declared.blocks);
            let Some(held) = self.changes.try_completing(origin.party(), whole) else { continue };
            if self.index().is_declared(first, &declared) && declared.wanted.swap(false, Ordering::SeqCst) {
                outcome = outcome.and(match self.complete(origin, first, &declared, None).await {
                    Ok(Completion::Done(binding)) => self.bound(binding).await,
                    Ok(Completion::Missing | Completion::Mismatch) => Ok(()),
                    Err(error) => Err(error),
                });
            }
            drop(held);
        }
        outcome
    }

    /// Completes an object if the volume and `extra` together have all its blocks. The caller holds the locks of
    /// [`whole`](Self::whole).
    ///
    /// After an error the object is declared as before, `extra` is not stored, and the device is unchanged. After an error
    /// of [`bound`](Self::bound), which the caller handles, the same holds except for the device.
    pub(super) async fn complete(
        self: &Arc<Self>,
        origin: &Origin,
        first: u64,
        declared: &Arc<Declared>,
        extra: Option<&Extra>,
    ) -> Outcome<Completion> {
        let id = declared.metadata.id;
        let undone = self.index().undone_at(first).cloned();
        let mut registers = Ranges::from(point(id));
        registers.extend(undone.as_ref().map(|undone| point(undone.id)));
        let register = crowded(self.registers.completing_always(origin.party(), registers).await)?;
        // The label at the first block is needed for this object.
        self.delete(origin, undone.map(|undone| (first, undone)).into_iter().collect()).await?;
        self.may_complete(declared).map_err(|error| error.at(first))?;
        let replaces = self.device.stat(id).is_ok();
        let work = {
            let (space, declared, extra) = (Arc::clone(self), Arc::clone(declared), extra.cloned());
            let share = origin.share.clone();
            move || space.attempt(share.as_ref(), first, &declared, extra.as_ref())
        };
        let error = match self.device_job(origin, work).await? {
            Ok(Attempt::Missing) => return Ok(Completion::Missing),
            Ok(Attempt::Mismatch) => return Ok(Completion::Mismatch),
            Ok(Attempt::Written(written, room)) => {
                count(&self.counters.completed);
                if extra.is_some() {
                    count(&self.counters.direct);
                }
                self.report(origin, first, declared, &written, replaces);
                let bound = Bound { id, blocks: blocks_of(written.stat.size) };
                return self.bind(origin, first, bound, declared.blocks, register, room).await.map(Completion::Done);
            }
            Err(failure) => failure.told(),
        };
        if error.status.is_final() {
            self.fail(first, declared).await;
        }
        count(&self.counters.failed);
        tracing::debug!(space = self.id, register = %id, lba = first, %error, "an object was not completed");
        Err(if error.lba.is_some() { error } else { error.at(first) })
    }

    /// Whether the host that declared an object may replace the one that its register holds by now: another host may have
    /// declared and completed it elsewhere meanwhile.
    fn may_complete(&self, declared: &Declared) -> Outcome {
        let declarer = declared.owner.as_ref().and_then(Actor::owner);
        let Some(declarer) = declarer.filter(|owner| self.config.access.confines(owner)) else { return Ok(()) };
        let id = declared.metadata.id;
        match self.device.stat(id) {
            Ok(stat) if stat.owner.as_ref() != Some(&declarer) => {
                Err(CommandError::new(status::ACCESS_DENIED, format!("{id} belongs to another host")))
            }
            _ => Ok(()),
        }
    }

    /// The options of the write that completes an object. Its result can be read by the host that declared it and by the
    /// owner of the object that it replaces. If one of them may use its own objects only, its program reads only those.
    fn options(&self, declared: &Declared, limit: u64) -> WriteOptions {
        let owner = declared.owner.as_ref().and_then(Actor::owner);
        let replaced = self.device.stat(declared.metadata.id).ok().and_then(|stat| stat.owner);
        let readers = [owner.clone(), replaced].into_iter().flatten();
        let reach = readers.into_iter().find(|reader| self.config.access.confines(reader));
        WriteOptions { owner, reach, ..options_of(&declared.metadata, Some(limit), declared.number) }
    }

    /// Records a completion for the audit log, and that a program was missing.
    fn report(&self, origin: &Origin, first: u64, declared: &Declared, written: &Written, replaces: bool) {
        let Metadata { id, stored, .. } = declared.metadata;
        if !written.computed && !stored && self.computing.contains(&id.type_code) {
            count(&self.counters.stored_without_program);
            tracing::debug!(space = self.id, register = %id, "stored as it was written: its key has no program");
        }
        let (host, writer) = (declared.owner.as_ref(), declared.writer());
        self.audit.record(&AuditEvent {
            action: match (written.computed, replaces) {
                (true, _) => Action::Computed,
                (false, true) => Action::Replaced,
                (false, false) => Action::Put,
            },
            space: self.id,
            host: host.map(Actor::as_str),
            account: origin.account(),
            recovery: false,
            writer: writer.as_ref().filter(|writer| Some(*writer) != host).map(Actor::as_str),
            object: Some(id),
            version: Some(Version::from(&written.stat)),
            lba: Some(first),
            reason: None,
        });
    }

    /// Records that the content of a declared object was refused. A host that starts over begins with the metadata block:
    /// the present blocks must not be mistaken for the blocks that it is about to write.
    async fn fail(&self, first: u64, declared: &Declared) {
        if declared.failed.swap(true, Ordering::SeqCst) || declared.reserved.is_some() {
            return;
        }
        let Declared { metadata, number, .. } = *declared;
        let label = Label::Declared(Declaration { metadata, kind: Kind::Failed, number });
        let label = label.encode_by(declared.owner.as_ref());
        if let Err(error) = self.commit(vec![Operation::SetLabel { lba: self.half + first, label }]).await {
            // Known until the namespace is closed; after that, the blocks count for what is declared, as ever.
            tracing::warn!(space = self.id, lba = first, %error, "that an object was refused is not durable");
        }
    }

    /// How many bytes the device may make of an object, and the mark that keeps other objects out of that room meanwhile.
    /// The blocks behind those of the object are charged to the share of the host: no other command can use them while the
    /// program waits and runs.
    fn room(self: &Arc<Self>, share: Option<&Arc<Share>>, first: u64, declared: &Declared) -> (u64, Taking) {
        let mut index = self.index_mut();
        let Metadata { id, stored, .. } = declared.metadata;
        let own = first + declared.blocks;
        let free = match !stored && self.computing.contains(&id.type_code) {
            true => index.limit(first).min(first.saturating_add(blocks_of(self.max_object_bytes))).saturating_sub(own),
            false => 0,
        };
        let charge = share.map(|share| share.charge_room(free));
        let end = own + charge.as_ref().map_or_else(|| self.shares.unshared_room(free), |charge| charge.blocks);
        let ticket = index.take(first..end);
        ((end - first).saturating_mul(BLOCK_BYTES as u64), Taking { space: Arc::clone(self), ticket, charge })
    }

    /// Blocks: looks whether the object is whole, and if so, has the device take it.
    fn attempt(
        self: &Arc<Self>,
        share: Option<&Arc<Share>>,
        first: u64,
        declared: &Declared,
        extra: Option<&Extra>,
    ) -> Result<Attempt, Failure> {
        let mut coverage = locked(&declared.coverage);
        if !coverage.is_complete(&self.volume, self.id, extra) {
            return Ok(Attempt::Missing);
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
                return Ok(Attempt::Mismatch);
            }
        }
        // The locks of the caller keep the blocks as they are; the coverage is not needed while a program runs.
        drop(coverage);
        // Not before it is known to be whole: others wait for what is being taken.
        let (limit, room) = self.room(share, first, declared);
        let mut sink = self.device.write(id, size, self.options(declared, limit))?;
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

    /// Starts to bind the object of the device to its address. The blocks that it was made of are given up, and so are plain
    /// blocks under a longer result. Readers of these blocks wait until the volume has applied the change.
    async fn bind(
        self: &Arc<Self>,
        origin: &Origin,
        first: u64,
        bound: Bound,
        declared: u64,
        register: RangeGuard,
        room: Taking,
    ) -> Outcome<Binding> {
        let id = bound.id;
        let (earlier, shown) = {
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
        let view = crowded(self.views.exclusive_always(origin.party(), shown).await)?;
        let locked = earlier.is_none() && bound.blocks <= declared;
        let may_follow = locked && self.volume.mapped(self.id, first, declared) == 0;
        let durable = self.submit(operations.clone(), ());
        Ok(Binding {
            first,
            bound,
            earlier,
            locked,
            may_follow,
            operations,
            durable,
            _locks: [register, view],
            room: Some(room),
        })
    }

    /// Reads show the object from now on.
    fn show(&self, binding: &Binding) {
        let Binding { first, bound, earlier, .. } = *binding;
        [Some(first), earlier].into_iter().flatten().for_each(|place| self.sessions.forget(place));
        self.pages.forget(bound.id);
        self.high_water.fetch_max(first + bound.blocks, Ordering::Relaxed);
        self.index_mut().bind(first, bound);
    }

    /// Waits until the volume has bound the object. After an error the object is declared as before, although the device has
    /// the new version; the next opening completes the change.
    pub(super) async fn bound(&self, mut binding: Binding) -> Outcome {
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(error) = refused((&mut binding.durable).await) else {
                self.show(&binding);
                return Ok(());
            };
            if !binding.locked || pause > LONGEST_PAUSE || self.is_over(&error) {
                // Where an earlier version is shown, it is this one now.
                self.pages.forget(binding.bound.id);
                self.index_mut().resize(binding.bound);
                return Err(status::of_volume(&error));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            binding.durable = self.submit(binding.operations.clone(), ());
        }
    }

    /// Does the same in the background, where it [may follow](Binding::may_follow): the command may be answered, because the
    /// device has the object and the number of its declaration. `held` are the command's locks. This does not keep the
    /// namespace open: a closing volume makes submitted changes durable, and the next opening completes the changes that a
    /// failed volume did not accept.
    pub(super) fn bind_behind(self: &Arc<Self>, mut binding: Binding, held: RangeGuard) {
        self.show(&binding);
        binding.room = None;
        let space = Arc::downgrade(self);
        self.runtime.spawn(async move {
            let mut pause = FIRST_PAUSE;
            while let Some(error) = refused((&mut binding.durable).await) {
                let over = space.upgrade().is_none_or(|space| space.is_over(&error));
                if over {
                    tracing::error!(lba = binding.first, %error, "the place of an object is not durable before opening");
                    break;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                let Some(space) = space.upgrade() else { break };
                binding.durable = space.submit(binding.operations.clone(), ());
            }
            drop((binding, held));
        });
    }

    /// Whether the volume takes nothing more before it is opened again.
    fn is_over(&self, error: &VolumeError) -> bool {
        self.volume.is_failed() || matches!(error, VolumeError::Closed)
    }
}

fn refused(outcome: Result<Result<(), VolumeError>, RecvError>) -> Option<VolumeError> {
    outcome.unwrap_or(Err(VolumeError::Closed)).err()
}
