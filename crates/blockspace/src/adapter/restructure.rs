//! Commands that change declarations and bindings: metadata blocks, and erasures over objects.

use super::{
    BlockSpace, Outcome,
    access::Actor,
    blocks_of,
    complete::options_of,
    crowded,
    origin::{Origin, Use},
    plan::{Declarations, Planned, Terms, named},
    point,
    ranges::Ranges,
    status,
    write::{Edit, overlap},
};
use crate::volume::BLOCK_BYTES;
use ciphermill_device::StoreError;
use ciphermill_nvme::{CommandError, Status};
use ciphermill_program::{META_MAGIC, Metadata, VrId};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// A command that names more objects than this takes the lock on the whole namespace.
const MANY: usize = 64;

/// The result of a command under its locks.
enum Carried {
    /// A range that it would take is being taken by another command; it is to try again when that has ended.
    Later,
    /// Another command has one of these registers, maybe for as long as its program runs; it is to try again after that.
    Busy(Ranges),
    /// It has ended; `done` unless its terms did not hold.
    Out { done: bool },
}

impl BlockSpace {
    /// Executes a command that may concern metadata blocks or erase blocks of objects, and completes the objects that it
    /// makes whole.
    pub(super) async fn restructure(self: &Arc<Self>, origin: &Arc<Origin>, edit: Edit) -> Outcome {
        self.restructure_on(origin, edit, Terms::default()).await.map(drop)
    }

    /// The same on terms; `false` when they did not hold, and nothing was done.
    pub(super) async fn restructure_on(
        self: &Arc<Self>,
        origin: &Arc<Origin>,
        edit: Edit,
        terms: Terms,
    ) -> Outcome<bool> {
        let declarations = Arc::new(self.declarations(&edit)?);
        if !declarations.is_empty() {
            let (space, declarations) = (Arc::clone(self), Arc::clone(&declarations));
            self.blocking(&self.disk, move || space.judge(&declarations)).await??;
        }
        loop {
            // Before it waits and has others wait for it.
            self.may_apply(origin, &edit, &declarations)?;
            // All that will be locked: what others left to be completed there is this command's to look at.
            let needed = self.concerned(&edit, &declarations).coarse();
            let guard = match crowded(self.changes.exclusive(origin.party(), needed.clone()).await) {
                Ok(guard) => guard,
                // It may have held them before, and so have kept others from completing something.
                Err(error) => return self.settle_after(origin, &needed, Err(error)).await,
            };
            if !needed.cover(&self.concerned(&edit, &declarations)) {
                drop(guard);
                let _ = self.settle(origin, &needed).await;
                continue;
            }
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            match self.apply(origin, &edit, &declarations, &needed, terms).await {
                Ok(Carried::Busy(registers)) => {
                    drop(guard);
                    // What others wrote is not this command's to fail for.
                    let _ = self.settle(origin, &needed).await;
                    crowded(self.registers.exclusive(origin.party(), registers).await)?;
                }
                Ok(Carried::Later) => {
                    drop(guard);
                    let _ = self.settle(origin, &needed).await;
                    let _waiting = match crowded(self.waits.enter(0)) {
                        Ok(waiting) => waiting,
                        Err(error) => return self.settle_after(origin, &needed, Err(error)).await,
                    };
                    settled.await;
                }
                Ok(Carried::Out { done }) => {
                    drop(guard);
                    return self.settle(origin, &needed).await.map(|()| done);
                }
                Err(error) => {
                    drop(guard);
                    return self.settle_after(origin, &needed, Err(error)).await;
                }
            }
        }
    }

    fn declarations(&self, edit: &Edit) -> Outcome<Declarations> {
        let mut found = Declarations::new();
        let Edit::Write { lba, data } = edit else { return Ok(found) };
        for (block, lba) in data.chunks_exact(BLOCK_BYTES).zip(*lba..) {
            if lba < self.half || !block.starts_with(&META_MAGIC) {
                continue;
            }
            let refuse = |status: Status, text: String| CommandError::new(status, text).at(lba);
            let metadata =
                Metadata::decode(block).map_err(|error| refuse(status::METADATA_INVALID, error.to_string()))?;
            let (first, blocks) = (lba - self.half, blocks_of(metadata.size));
            if blocks == 0 {
                return Err(refuse(status::OBJECT_REFUSED, StoreError::EmptyObject.to_string()));
            }
            if blocks > self.half - first {
                let text = format!("{} bytes from block {first} on pass the half of the namespace", metadata.size);
                return Err(overlap(text, self.half));
            }
            found.insert(first, metadata);
        }
        Ok(found)
    }

    /// Blocks: asks the device whether it would take such objects. It sets nothing aside for them.
    fn judge(&self, declarations: &Declarations) -> Outcome {
        for (first, metadata) in declarations {
            if let Err(error) = self.device.check_write(metadata.id, metadata.size, &options_of(metadata, None, 0)) {
                let told = status::of_device(&error);
                // A change of flags needs no room for a second copy.
                let same = || self.device.stat(metadata.id).is_ok_and(|stat| stat.size == metadata.size);
                if !(told.status.is(Status::CAPACITY_EXCEEDED) && same()) {
                    return Err(told.at(self.half + first));
                }
            }
        }
        Ok(())
    }

    /// All blocks on which the command must be alone.
    fn concerned(&self, edit: &Edit, declarations: &Declarations) -> Ranges {
        let index = self.index();
        let mut ranges = edit.ranges();
        let own: Vec<_> = ranges.iter().cloned().collect();
        let mut places = BTreeMap::new();
        for range in &own {
            let touched = index.overlapping(index.data_part(range)).chain(index.named_in(range));
            places.extend(touched.take(MANY + 1).map(|(first, place)| (first, place.blocks())));
        }
        for (first, metadata) in declarations {
            let blocks = places.entry(*first).or_insert(0);
            *blocks = (*blocks).max(blocks_of(metadata.size));
        }
        if places.len() > MANY {
            return (0..2 * self.half).into();
        }
        let mut push = |range: Range<u64>| {
            if !own.iter().any(|own| own.start <= range.start && range.end <= own.end) {
                ranges.push(range);
            }
        };
        for (first, blocks) in places {
            push(first..first + blocks);
            push(self.half + first..self.half + first + 1);
        }
        ranges
    }

    /// Whether the host may change the objects that the command touches, and declare the named ones.
    fn may_apply(&self, origin: &Origin, edit: &Edit, declarations: &Declarations) -> Outcome {
        if declarations.is_empty() && !origin.is_bounded(Use::Change) {
            return Ok(());
        }
        if origin.caller.is_some() && origin.actor.is_none() && !declarations.is_empty() {
            return Err(Actor::too_long());
        }
        let index = self.index();
        origin.ranges(Use::Change, &self.device, &index, &edit.ranges())?;
        declarations.iter().try_for_each(|(first, metadata)| {
            let mut place: Ranges = (*first..first + blocks_of(metadata.size)).into();
            place.push(self.half + first..self.half + first + 1);
            origin.ranges(Use::Change, &self.device, &index, &place)?;
            origin.register(Use::Change, &self.device, metadata.id).map_err(|error| error.at(*first))
        })
    }

    /// Does it, under the locks.
    async fn apply(
        self: &Arc<Self>,
        origin: &Arc<Origin>,
        edit: &Edit,
        declarations: &Declarations,
        needed: &Ranges,
        terms: Terms,
    ) -> Outcome<Carried> {
        self.may_apply(origin, edit, declarations)?;
        let mut registers = Ranges::from(0..0);
        {
            let index = self.index();
            let bound = named(&index, edit).filter_map(|(_, place)| place.bound).map(|bound| bound.id);
            let undone = edit.ranges();
            let undone = undone.iter().flat_map(|range| index.undone_in(range)).map(|(_, undone)| undone.id);
            for id in bound.chain(undone).chain(declarations.values().map(|metadata| metadata.id)) {
                registers.push(point(id));
            }
        }
        let Ok(_registers) = self.registers.exclusive_soon(origin.party(), registers.clone()).await else {
            return Ok(Carried::Busy(registers));
        };
        // What an earlier command here was to delete and did not, unless it is what is named now.
        let named = |id: VrId| declarations.values().any(|metadata| metadata.id == id);
        let undone = self.undone(edit).into_iter().filter(|(_, undone)| !named(undone.id)).collect();
        self.delete(origin, undone).await?;
        match self.plan(origin, edit, declarations, terms)? {
            Planned::Later => Ok(Carried::Later),
            Planned::OffTerms => Ok(Carried::Out { done: false }),
            Planned::Now(plan) => {
                self.carry_out(origin, plan, edit, needed).await.map(|()| Carried::Out { done: true })
            }
        }
    }
}
