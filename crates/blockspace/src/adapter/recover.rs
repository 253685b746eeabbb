//! Recovery of declarations and bindings from the labels and the device when a namespace is opened.
//!
//! A crash or a failed volume may leave the two apart; this brings them together:
//! - a declared object that the device has, with the number of its declaration as origin, was completed: it is bound;
//! - an object with a pending deletion is deleted, unless it has another version or an address again;
//!   both of these have an entry in the audit log, marked as a recovery;
//! - an address whose object no longer exists is freed;
//! - an address whose object has another number of blocks gets that number if there is room; otherwise it is freed, and the
//!   object has no address;
//! - an object without an address that is declared with its register, size and checksum is bound there. The declaration and
//!   its blocks stay, so no acknowledged block is lost; giving up the metadata block deletes the object.

use super::{
    BlockSpaceError,
    access::Actor,
    audit::{Action, Audit, By, Version},
    bindings::{Bindings, Bound, Declared},
    blocks_of,
    coverage::Coverage,
    labels::{Declaration, Label},
};
use crate::volume::{BlockState, Change, Operation, Volume};
use ciphermill_device::{DeviceError, Space, StoreError};
use ciphermill_program::VrId;
use std::{collections::BTreeSet, sync::Arc};

/// Operations of one change.
const OPERATIONS: usize = 256;

#[derive(Default)]
struct Labels {
    bound: Vec<(u64, Bound)>,
    /// Block, register, generation, and the host that began the deletion.
    deleted: Vec<(u64, VrId, u64, Option<Actor>)>,
    /// First block, and the host that declared the object.
    declared: Vec<(u64, Declaration, Option<Actor>)>,
}

impl Labels {
    /// Binds objects whose completion did not reach the volume; `repairs` are the changes that the volume missed.
    fn complete(&mut self, space: &Space, half: u64, audit: &Audit, repairs: &mut Vec<Operation>) {
        let bound = &mut self.bound;
        self.declared.retain(|(first, declaration, declarer)| {
            let (first, id) = (*first, declaration.metadata.id);
            let Some(stat) = space.stat(id).ok().filter(|stat| stat.origin == declaration.number) else { return true };
            tracing::info!(space = space.id().0, lba = first, register = %id, "a completed object is bound");
            let action = match (stat.computed, bound.iter().any(|(_, bound)| bound.id == id)) {
                (true, _) => Action::Computed,
                (false, true) => Action::Replaced,
                (false, false) => Action::Put,
            };
            audit.object(action, recovered(declarer.as_ref()), id, Some(Version::from(&stat)), Some(first));
            bound.retain(|(lba, bound)| {
                let earlier = bound.id == id && *lba != first;
                if earlier {
                    repairs.push(Operation::ClearLabel { lba: *lba });
                }
                !earlier && *lba != first
            });
            let now = Bound { id, blocks: blocks_of(stat.size) };
            let blocks = now.blocks.max(blocks_of(declaration.metadata.size));
            repairs.push(Operation::SetLabel { lba: first, label: Label::Bound(now).encode() });
            repairs.push(Operation::Unmap { lba: first, blocks });
            // Last, as a crash in between must find it declared still.
            repairs.push(Operation::ClearLabel { lba: half + first });
            bound.push((first, now));
            false
        });
        bound.sort_unstable_by_key(|(lba, ..)| *lba);
    }
}

/// The host of a change that is finished now.
fn recovered(host: Option<&Actor>) -> By<'_> {
    By { host: host.map(Actor::as_str), account: None, recovery: true }
}

/// Blocks the caller, for the disk.
pub(super) fn recover(space: &Space, volume: &Volume, half: u64, audit: &Audit) -> Result<Bindings, BlockSpaceError> {
    let id = space.id().0;
    let refuse = |lba: u64, what: &str| Err(BlockSpaceError::Binding { space: id, lba, what: what.to_owned() });
    let beyond = volume.states(id, 2 * half, u64::MAX - 2 * half);
    if let Some(run) = beyond.iter().find(|run| run.state != BlockState::Absent) {
        return Err(BlockSpaceError::Size {
            space: id,
            lba: run.lba,
            blocks: 2 * half,
            what: "a block that is in use",
        });
    }
    let mut labels = read(id, volume, half)?;
    let mut places = Bindings::new(half);
    let mut repairs = Vec::new();
    labels.complete(space, half, audit, &mut repairs);
    let firsts: BTreeSet<u64> =
        labels.bound.iter().map(|(lba, ..)| *lba).chain(labels.declared.iter().map(|(first, ..)| *first)).collect();
    for (lba, bound) in labels.bound {
        let drop = |why: &str| {
            tracing::warn!(space = id, lba, register = %bound.id, "{why}; its place is dropped");
            Operation::ClearLabel { lba }
        };
        let Ok(stat) = space.stat(bound.id) else {
            repairs.push(drop("there is no such object any more"));
            continue;
        };
        if places.place_of(bound.id).is_some() {
            repairs.push(drop("the object has another place"));
            continue;
        }
        if bound.blocks > half - lba {
            return Err(BlockSpaceError::Size { space: id, lba, blocks: 2 * half, what: "an object that begins" });
        }
        if bound.blocks == 0 || lba < places.end() {
            return refuse(lba, "overlaps another");
        }
        let blocks = blocks_of(stat.size);
        if blocks == bound.blocks {
            places.bind(lba, bound);
        } else if blocks <= firsts.range(lba + 1..).next().copied().unwrap_or(half) - lba {
            let bound = Bound { blocks, ..bound };
            repairs.push(Operation::SetLabel { lba, label: Label::Bound(bound).encode() });
            places.bind(lba, bound);
        } else {
            repairs.push(drop("the object has grown beyond the next one"));
        }
    }
    for (lba, register, generation, host) in labels.deleted {
        let stat = space.stat(register).ok().filter(|stat| stat.generation == generation);
        if let Some(stat) = stat.filter(|_| places.place_of(register).is_none()) {
            match space.delete(register) {
                Ok(()) => {
                    let version = Some(Version::from(&stat));
                    audit.object(Action::Deleted, recovered(host.as_ref()), register, version, Some(lba));
                }
                Err(DeviceError::Store(StoreError::NotFound { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        repairs.push(Operation::ClearLabel { lba });
    }
    for (first, declaration, owner) in labels.declared {
        let metadata = declaration.metadata;
        let blocks = blocks_of(metadata.size);
        if blocks == 0 || blocks > half - first {
            return refuse(first, "passes the half");
        }
        if places.overlapping(first..first + blocks).any(|(other, _)| other != first) {
            return refuse(first, "overlaps another");
        }
        let agrees = |checksum: u32| metadata.object_crc32c.is_some_and(|crc| crc.get() == checksum);
        let stored = space.stat(metadata.id).is_ok_and(|stat| stat.size == metadata.size && agrees(stat.checksum));
        if stored && places.place_of(metadata.id).is_none() && places.get(first).is_none() {
            let bound = Bound { id: metadata.id, blocks };
            repairs.push(Operation::SetLabel { lba: first, label: Label::Bound(bound).encode() });
            places.bind(first, bound);
        }
        let coverage = Coverage::new(volume, id, first, blocks);
        let declared = Declared::new(declaration, blocks, coverage).owned(owner, None);
        places.declare(first, Some(Arc::new(declared)));
    }
    for operations in repairs.chunks(OPERATIONS) {
        volume.commit(Change { space: id, operations: operations.to_vec() })?;
    }
    Ok(places)
}

fn read(id: u32, volume: &Volume, half: u64) -> Result<Labels, BlockSpaceError> {
    let mut labels = Labels::default();
    for (lba, label) in volume.labels(id) {
        let (label, host) = Label::decode_by(&label).ok_or(BlockSpaceError::Label { space: id, lba })?;
        if matches!(label, Label::Declared(_)) != (lba >= half) || lba >= 2 * half {
            return Err(BlockSpaceError::Size { space: id, lba, blocks: 2 * half, what: "the place of an object" });
        }
        match label {
            Label::Bound(bound) => labels.bound.push((lba, bound)),
            Label::Deleted { id: register, generation } => {
                labels.deleted.push((lba, register, generation, host));
            }
            Label::Declared(declaration) => labels.declared.push((lba - half, declaration, host)),
        }
    }
    Ok(labels)
}
