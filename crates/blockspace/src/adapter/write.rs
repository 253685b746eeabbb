//! Commands that change blocks.

use super::{
    BlockSpace, Outcome, RangeGuard, blocks_of,
    complete::Completion,
    coverage::Extra,
    crowded,
    origin::{Origin, Use},
    ranges::Ranges,
    status,
};
use crate::volume::{BLOCK_BYTES, Operation};
use ciphermill_nvme::{Answer, CommandError, Status};
use ciphermill_program::META_MAGIC;
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

/// How blocks lose their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erase {
    /// They hold zeros, which count as written where an object is declared.
    Zero,
    /// They hold nothing: an object that is bound there shows again.
    Gone,
}

/// A command as it is carried out.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Write {
        lba: u64,
        data: Arc<Vec<u8>>,
    },
    /// Ranges ascend and do not touch each other.
    Erase {
        ranges: Vec<Range<u64>>,
        how: Erase,
    },
}

impl Edit {
    pub(super) fn ranges(&self) -> Ranges {
        match self {
            Self::Write { lba, data } => (*lba..lba + blocks_of(data.len() as u64)).into(),
            Self::Erase { ranges, .. } => {
                let mut all = Ranges::from(0..0);
                ranges.iter().for_each(|range| all.push(range.clone()));
                all
            }
        }
    }
}

fn out_of_range(lba: u64) -> CommandError {
    CommandError::from(Status::LBA_OUT_OF_RANGE.do_not_retry()).at(lba)
}

impl BlockSpace {
    pub(super) fn in_range(&self, lba: u64, blocks: u64) -> Outcome<Range<u64>> {
        match lba.checked_add(blocks) {
            Some(end) if end <= 2 * self.half => Ok(lba..end),
            _ => Err(out_of_range(lba)),
        }
    }

    pub(super) fn write_blocks(self: Arc<Self>, origin: &Arc<Origin>, lba: u64, data: Vec<u8>) -> Answer<()> {
        let range = match self.in_range(lba, blocks_of(data.len() as u64)) {
            Ok(range) if data.is_empty() => return Answer::failed(out_of_range(range.start)),
            Ok(_) if !data.len().is_multiple_of(BLOCK_BYTES) => {
                return Answer::failed(Status::DATA_SGL_LENGTH_INVALID.do_not_retry());
            }
            Ok(range) => range,
            Err(error) => return Answer::failed(error),
        };
        // Plain blocks, the common case, are handed to the volume at once.
        if !origin.is_bounded(Use::Change)
            && !self.names_objects(lba, &data)
            && let Some(guard) = self.changes.try_shared(origin.party(), range.clone())
            && self.index().is_plain(&range)
            && let Ok(permit) = Arc::clone(&self.staging).try_acquire_many_owned(self.permits(data.len()))
        {
            self.high_water.fetch_max(range.end.min(self.half), Ordering::Relaxed);
            let done = self.submit(vec![Operation::Write { lba, data }], (guard, permit));
            return Answer::later(async move { self.durable(done).await });
        }
        let (space, by) = (Arc::clone(&self), Arc::clone(origin));
        self.detached(origin, async move { space.put(&by, lba, Arc::new(data)).await })
    }

    /// Whether a write has a block in the second half that calls itself a metadata block.
    fn names_objects(&self, lba: u64, data: &[u8]) -> bool {
        let skipped = usize::try_from(self.half.saturating_sub(lba)).unwrap_or(usize::MAX);
        data.chunks_exact(BLOCK_BYTES).skip(skipped).any(|block| block.starts_with(&META_MAGIC))
    }

    async fn put(self: &Arc<Self>, origin: &Arc<Origin>, lba: u64, data: Arc<Vec<u8>>) -> Outcome {
        let range = lba..lba + blocks_of(data.len() as u64);
        let outcome = self.put_once(origin, lba, data).await;
        self.settle_after(origin, &range.into(), outcome).await
    }

    /// A command that ended early may have held a lock that kept another from completing an object.
    pub(super) async fn settle_after<T>(
        self: &Arc<Self>,
        origin: &Origin,
        ranges: &Ranges,
        outcome: Outcome<T>,
    ) -> Outcome<T> {
        match outcome {
            Ok(value) => Ok(value),
            Err(error) => {
                // What others wrote is not this command's to fail for.
                let _ = self.settle(origin, ranges).await;
                Err(error)
            }
        }
    }

    async fn put_once(self: &Arc<Self>, origin: &Arc<Origin>, lba: u64, data: Arc<Vec<u8>>) -> Outcome {
        let range = lba..lba + blocks_of(data.len() as u64);
        if self.names_objects(lba, &data) {
            return self.restructure(origin, Edit::Write { lba, data }).await;
        }
        let mut guard = crowded(self.changes.shared(origin.party(), range.clone()).await)?;
        if self.index().any_named(&range) {
            drop(guard);
            return self.restructure(origin, Edit::Write { lba, data }).await;
        }
        origin.ranges(Use::Change, &self.device, &self.index(), &range.clone().into())?;
        let declared = self.index().declared_in(&range.clone().into());
        declared.iter().for_each(|(_, object)| object.written_by(origin.actor.as_ref()));
        let extra = Extra { lba, data };
        // When this command brings all that is missing of one object, its bytes need not be stored as blocks first.
        if let [(first, declared)] = &declared[..]
            && *first <= range.start
            && range.end <= first + declared.blocks
            && declared.may_be_complete(range.end - range.start, false)
        {
            drop(guard);
            let whole = Self::whole(self.half, *first, declared.blocks);
            if let Some(held) = self.changes.try_completing(origin.party(), whole)
                && self.index().is_declared(*first, declared)
            {
                let outcome = match self.complete(origin, *first, declared, Some(&extra)).await {
                    Ok(Completion::Done(binding)) if binding.may_follow => {
                        self.bind_behind(binding, held);
                        return Ok(());
                    }
                    Ok(Completion::Done(binding)) => {
                        let bound = self.bound(binding).await;
                        drop(held);
                        bound
                    }
                    Ok(Completion::Missing | Completion::Mismatch) => {
                        self.stage(&extra, std::slice::from_ref(declared), held).await
                    }
                    Err(error) => {
                        drop(held);
                        Err(error)
                    }
                };
                // Others may have left a completion to this command while it held the lock.
                let settled = self.settle(origin, &range.into()).await;
                return outcome.and(settled);
            }
            guard = crowded(self.changes.shared(origin.party(), range.clone()).await)?;
            if self.index().any_named(&range) {
                drop(guard);
                return self.restructure(origin, Edit::Write { lba, data: extra.data }).await;
            }
            origin.ranges(Use::Change, &self.device, &self.index(), &range.into())?;
        }
        self.stage_and_settle(origin, extra, guard).await
    }

    async fn stage_and_settle(self: &Arc<Self>, origin: &Origin, extra: Extra, guard: RangeGuard) -> Outcome {
        let range = extra.range();
        let declared: Vec<_> =
            self.index().declared_in(&range.clone().into()).into_iter().map(|(_, declared)| declared).collect();
        let staged = self.stage(&extra, &declared, guard).await;
        // Whatever became of this write: others may have left the completion to it.
        let settled = self.settle(origin, &range.into()).await;
        staged.and(settled)
    }

    /// Stores blocks as blocks. `held` is let go when they are durable.
    async fn stage(
        &self,
        extra: &Extra,
        declared: &[Arc<super::bindings::Declared>],
        held: impl Send + 'static,
    ) -> Outcome {
        let range = extra.range();
        let permit = self.admitted(extra.data.len()).await?;
        self.high_water.fetch_max(range.end.min(self.half), Ordering::Relaxed);
        let touch = {
            let declared = declared.to_vec();
            move || declared.iter().for_each(|object| object.touch(&range))
        };
        // Before, so that nobody takes the object for what it was; and after, as somebody may have looked meanwhile.
        touch();
        declared.iter().for_each(|object| object.wanted.store(true, Ordering::SeqCst));
        let held = OnDrop(Some((touch, permit, held)));
        let data = extra.data.to_vec();
        self.durable(self.submit(vec![Operation::Write { lba: extra.lba, data }], held)).await
    }

    /// The locks that completing an object takes.
    pub(super) fn whole(half: u64, first: u64, blocks: u64) -> Ranges {
        let mut ranges = Ranges::from(first..first + blocks);
        ranges.push(half + first..half + first + 1);
        ranges
    }

    pub(super) fn erase(self: Arc<Self>, origin: &Arc<Origin>, ranges: Vec<Range<u64>>, how: Erase) -> Answer<()> {
        let mut kept: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            let Some(blocks) = range.end.checked_sub(range.start) else {
                return Answer::failed(out_of_range(range.start));
            };
            match self.in_range(range.start, blocks) {
                Ok(range) if range.is_empty() => {}
                Ok(range) => kept.push(range),
                Err(error) => return Answer::failed(error),
            }
        }
        if kept.is_empty() {
            return Answer::Ready(Ok(()));
        }
        // Hosts may name blocks again and again; each is looked at once.
        kept.sort_unstable_by_key(|range| range.start);
        kept.dedup_by(|next, range| {
            let joined = next.start <= range.end;
            if joined {
                range.end = range.end.max(next.end);
            }
            joined
        });
        let (space, by) = (Arc::clone(&self), Arc::clone(origin));
        self.detached(origin, async move {
            let edit = Edit::Erase { ranges: kept, how };
            let ranges = edit.ranges().coarse();
            let outcome = space.erase_once(&by, edit).await;
            space.settle_after(&by, &ranges, outcome).await
        })
    }

    async fn erase_once(self: &Arc<Self>, origin: &Arc<Origin>, edit: Edit) -> Outcome {
        let ranges = edit.ranges();
        // Before it waits and has others wait for it.
        origin.ranges(Use::Change, &self.device, &self.index(), &ranges)?;
        let guard = crowded(self.changes.shared(origin.party(), ranges.clone()).await)?;
        if ranges.iter().any(|range| self.index().any_in(range)) {
            drop(guard);
            return self.restructure(origin, edit).await;
        }
        // Plain blocks hold zeros by holding nothing.
        let blocks = ranges.iter().filter(|range| !range.is_empty());
        let unmap = |range: &Range<u64>| Operation::Unmap { lba: range.start, blocks: range.end - range.start };
        self.durable(self.submit(blocks.map(unmap).collect(), guard)).await
    }
}

/// Does something, then lets go of the rest.
struct OnDrop<F: FnOnce(), P, H>(Option<(F, P, H)>);

impl<F: FnOnce(), P, H> Drop for OnDrop<F, P, H> {
    fn drop(&mut self) {
        if let Some((then, permit, held)) = self.0.take() {
            then();
            drop((permit, held));
        }
    }
}

impl super::bindings::Bindings {
    /// Whether a write to the range concerns no declared object and no metadata block: its blocks are just blocks,
    /// possibly above a bound object.
    pub(super) fn is_plain(&self, range: &Range<u64>) -> bool {
        !self.any_named(range) && self.overlapping(self.data_part(range)).all(|(_, place)| place.declared.is_none())
    }

    /// Whether this very declaration is the one here.
    pub(super) fn is_declared(&self, first: u64, declared: &Arc<super::bindings::Declared>) -> bool {
        let here = self.get(first).and_then(|place| place.declared.as_ref());
        here.is_some_and(|here| Arc::ptr_eq(here, declared))
    }

    /// Bound objects, declared ones, blocks of the bound ones.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        let (mut bound, mut declared) = (0, 0);
        for (_, place) in self.iter() {
            bound += u64::from(place.bound.is_some());
            declared += u64::from(place.declared.is_some());
        }
        (bound, declared, self.bound_blocks())
    }
}

pub(super) fn overlap(what: String, other: u64) -> CommandError {
    CommandError::new(status::OVERLAP, what).at(other)
}
