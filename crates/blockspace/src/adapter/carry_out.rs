//! Execution of a plan: in the volume, in the index and, for deletions, in the device.

use super::{
    BlockSpace, Outcome,
    access::Actor,
    audit::{Action, By, Version},
    bindings::{Declared, Undone},
    blocks_of,
    coverage::Coverage,
    crowded,
    origin::Origin,
    plan::{Plan, Step},
    ranges::Ranges,
    status,
    write::Edit,
};
use crate::volume::Operation;
use ciphermill_device::{DeviceError, StoreError};
use ciphermill_program::VrId;
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

/// Operations of one change of the volume; a command with more of them is several.
const OPERATIONS: usize = 512;
/// Concurrent deletions in the device.
const SIDE_BY_SIDE: usize = 64;

/// Number of blocks given up by one command from which they form separate changes. The volume applies a change of unmaps
/// alone to its map in pieces, and any other change at once, while the map is locked.
const WIDE_BLOCKS: u64 = 1 << 13;

/// The steps of a command, grouped into changes: first the blocks that are given up, if they are many, then the rest.
/// After a crash between the two the blocks are gone, as the command requires, and all names still exist. The repeated
/// command does the rest.
fn apart(steps: Vec<Step>) -> Vec<Vec<Step>> {
    let unmapped = |step: &Step| -> u64 {
        let blocks = step.operations.iter().map(|operation| match operation {
            Operation::Unmap { blocks, .. } => *blocks,
            _ => 0,
        });
        blocks.sum()
    };
    let total: u64 = steps.iter().map(unmapped).sum();
    match total > WIDE_BLOCKS {
        true => {
            let (unmaps, rest): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| unmapped(step) > 0);
            vec![unmaps, rest]
        }
        false => vec![steps],
    }
}

impl BlockSpace {
    pub(super) async fn carry_out(
        self: &Arc<Self>,
        origin: &Arc<Origin>,
        plan: Plan,
        edit: &Edit,
        needed: &Ranges,
    ) -> Outcome {
        let Plan { steps, flags, _taking } = plan;
        let made = self.make_all(origin, steps, edit, needed).await;
        // Whatever became of the rest: what is marked as being deleted is to be gone.
        let deleted = self.delete(origin, self.undone(edit)).await;
        made.and(deleted)?;
        if !flags.is_empty() {
            let (space, origin) = (Arc::clone(self), Arc::clone(origin));
            let set = move || {
                flags.iter().try_for_each(|(id, flags)| {
                    space.device.set_flags(*id, *flags)?;
                    space.audit.object(Action::Flags, origin.by(), *id, None, None);
                    Ok(())
                })
            };
            let set: Result<(), DeviceError> = self.blocking(&self.disk, set).await?;
            set.map_err(|error| status::of_device(&error))?;
        }
        Ok(())
    }

    /// Deletions to be done at the metadata blocks that the command changes.
    pub(super) fn undone(&self, edit: &Edit) -> Vec<(u64, Undone)> {
        let (index, ranges) = (self.index(), edit.ranges());
        let found: BTreeMap<_, _> = ranges.iter().flat_map(|range| index.undone_in(range)).collect();
        found.into_iter().map(|(first, undone)| (first, undone.clone())).collect()
    }

    async fn make_all(self: &Arc<Self>, origin: &Origin, steps: Vec<Step>, edit: &Edit, needed: &Ranges) -> Outcome {
        let _view = crowded(self.views.exclusive_always(origin.party(), needed.clone()).await)?;
        for mut steps in apart(steps) {
            let count: usize = steps.iter().map(|step| step.operations.len()).sum();
            // One change, but for commands that name very many objects: those may end half-way, between two objects.
            let most = if count <= OPERATIONS { count } else { OPERATIONS };
            while !steps.is_empty() {
                let mut taken = 0;
                let fit = steps.iter().take_while(|step| {
                    taken += step.operations.len();
                    taken <= most
                });
                let now = fit.count().max(1);
                let now: Vec<_> = steps.drain(..now).collect();
                self.make_steps(now, edit).await?;
            }
        }
        Ok(())
    }

    async fn make_steps(&self, mut steps: Vec<Step>, edit: &Edit) -> Outcome {
        let operations: Vec<_> = steps.iter_mut().flat_map(|step| std::mem::take(&mut step.operations)).collect();
        let mut bytes = 0;
        for operation in &operations {
            if let Operation::Write { lba, data } = operation {
                self.high_water.fetch_max((lba + blocks_of(data.len() as u64)).min(self.half), Ordering::Relaxed);
                bytes += data.len();
            }
        }
        // Who has a permit waits for the volume alone, so it may be waited for under locks.
        let permit = self.admitted(bytes).await?;
        self.commit(operations).await?;
        drop(permit);
        for step in steps {
            if let Some(first) = step.removed {
                self.sessions.forget(first);
                let mut index = self.index_mut();
                index.unbind(first);
                index.declare(first, None);
                if let Some((first, undone)) = step.deleted {
                    index.delete_later(first, undone);
                }
            }
            if let Some((first, declaration, owner, charge)) = step.declared {
                let blocks = blocks_of(declaration.metadata.size);
                let coverage = Coverage::new(&self.volume, self.id, first, blocks);
                let declared = Declared::new(declaration, blocks, coverage).owned(owner, charge);
                declared.wanted.store(true, Ordering::SeqCst);
                self.index_mut().declare(first, Some(Arc::new(declared)));
            }
            if let Some((first, bound)) = step.bound {
                self.sessions.forget(first);
                self.high_water.fetch_max(first + bound.blocks, Ordering::Relaxed);
                let mut index = self.index_mut();
                index.bind(first, bound);
                step.spared.iter().chain([&first]).for_each(|lba| index.deleted(*lba));
            }
        }
        let ranges = edit.ranges();
        for (_, declared) in self.index().declared_in(&ranges) {
            ranges.iter().for_each(|range| declared.touch(range));
            declared.wanted.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The version of an object that the device has.
    pub(super) fn version(&self, id: VrId) -> Option<Version> {
        self.device.stat(id).ok().map(|stat| Version::from(&stat))
    }

    /// Deletes objects that lost their address, and then the labels of the deletions. The caller holds the registers. An
    /// object that was completed elsewhere meanwhile stays; failed deletions stay pending. `origin` is the command's; the
    /// host that began a deletion may be another.
    pub(super) async fn delete(self: &Arc<Self>, origin: &Origin, deleted: Vec<(u64, Undone)>) -> Outcome {
        let mut outcome = Ok(());
        for group in deleted.chunks(SIDE_BY_SIDE) {
            // Side by side, so that the device commits them together.
            let mut jobs = tokio::task::JoinSet::new();
            for (first, Undone { id, by }) in group.iter().cloned() {
                let (space, account, share) = (Arc::clone(self), origin.account().cloned(), origin.share.clone());
                let delete = async move {
                    if space.index().place_of(id).is_some() {
                        return Ok(first);
                    }
                    let (device, version) = (space.device.clone(), space.version(id));
                    let deleted = space.deletion(share.as_ref(), move || device.delete(id)).await?;
                    if deleted.is_ok() {
                        let by =
                            By { host: by.as_ref().map(Actor::as_str), account: account.as_ref(), recovery: false };
                        space.audit.object(Action::Deleted, by, id, version, Some(first));
                    }
                    match deleted {
                        Ok(()) | Err(DeviceError::Store(StoreError::NotFound { .. })) => {
                            space.pages.forget(id);
                            Ok(first)
                        }
                        Err(error) => Err(status::of_device(&error).at(first)),
                    }
                };
                jobs.spawn_on(delete, &self.runtime);
            }
            let (mut operations, mut done) = (Vec::new(), Vec::new());
            while let Some(job) = jobs.join_next().await {
                match job.unwrap_or_else(|error| Err(status::internal(error.to_string()))) {
                    Ok(first) => {
                        operations.push(Operation::ClearLabel { lba: first });
                        done.push(first);
                    }
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
            // Waited for: a label that outlived the answer could meet a later version.
            match self.commit(operations).await {
                Ok(()) => {
                    let mut index = self.index_mut();
                    done.iter().for_each(|first| index.deleted(*first));
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }
}
