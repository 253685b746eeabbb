//! The plan of a command that changes declarations or bindings, made under its locks before any change.

use super::{
    BlockSpace, Outcome, Taking,
    access::Actor,
    bindings::{Binding, Bindings, Bound, Undone},
    blocks_of,
    complete::flags_of,
    count,
    labels::{Declaration, Kind, Label},
    origin::Origin,
    shares::PendingCharge,
    status,
    write::{Edit, Erase, overlap},
};
use crate::volume::{BLOCK_BYTES, Operation};
use ciphermill_device::ObjectFlags;
use ciphermill_nvme::{CommandError, Status};
use ciphermill_program::{Metadata, VrId};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Metadata blocks of a command by the first block of their object.
pub(super) type Declarations = BTreeMap<u64, Metadata>;

/// The effects of a command at one address, in one change of the volume.
#[derive(Default)]
pub(super) struct Step {
    pub(super) operations: Vec<Operation>,
    /// A place that loses its name.
    pub(super) removed: Option<u64>,
    /// And whether it is a reservation.
    pub(super) declared: Option<(u64, Declaration, Option<Actor>, Option<PendingCharge>)>,
    pub(super) bound: Option<(u64, Bound)>,
    /// The register that the step marks as being deleted, at its label.
    pub(super) deleted: Option<(u64, Undone)>,
    /// Labels of deletions that the step calls off.
    pub(super) spared: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) flags: Vec<(VrId, ObjectFlags)>,
    pub(super) _taking: Vec<Taking>,
}

/// The result of planning.
pub(super) enum Planned {
    Now(Plan),
    /// A range that the command would take is being taken by another.
    Later,
    /// The terms do not hold.
    OffTerms,
}

/// What else a command needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    /// For a reservation: the ticket of the range that the caller has marked as being occupied. The command does nothing if
    /// its blocks or its metadata block were written meanwhile.
    pub(super) own: Option<u64>,
    /// Nothing is done unless this stands there.
    pub(super) only: Option<Standing>,
}

/// The state that a command requires at a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// This register is declared, and nothing bound.
    Declared(u64, VrId),
    /// This register is bound.
    Bound(u64, VrId),
    /// A reservation that was idle for this long.
    Abandoned(u64, Duration),
}

impl Standing {
    fn holds(self, index: &Bindings) -> bool {
        match self {
            Self::Declared(first, id) => index.get(first).is_some_and(|place| {
                place.bound.is_none() && place.declared.as_ref().is_some_and(|declared| declared.metadata.id == id)
            }),
            Self::Bound(first, id) => index.place_of(id) == Some(first),
            Self::Abandoned(first, idle) => index.get(first).is_some_and(|place| {
                place.bound.is_none() && place.declared.as_ref().is_some_and(|declared| declared.is_abandoned(idle))
            }),
        }
    }
}

impl BlockSpace {
    pub(super) fn plan(
        self: &Arc<Self>,
        origin: &Origin,
        edit: &Edit,
        declarations: &Declarations,
        terms: Terms,
    ) -> Outcome<Planned> {
        let mut guard = self.index_mut();
        let index = &mut *guard;
        let written = |first: u64, metadata: &Metadata| !self.is_empty(first..first + blocks_of(metadata.size));
        if terms.only.is_some_and(|only| !only.holds(index))
            || terms.own.is_some() && declarations.iter().any(|(first, metadata)| written(*first, metadata))
        {
            return Ok(Planned::OffTerms);
        }
        // Whether it will be given up.
        let renamed = |first: u64| named_at(edit, self.half + first) && !declarations.contains_key(&first);
        let mut added = 0;
        let mut before: Option<(u64, u64)> = None;
        for (first, metadata) in declarations {
            let range = *first..first + blocks_of(metadata.size);
            if let Some((other, end)) = before
                && end > range.start
            {
                return Err(clash(metadata.id, *first, other));
            }
            before = Some((*first, range.end));
            let other = index.overlapping(range.clone()).find(|(other, _)| other != first && !renamed(*other));
            if let Some((other, _)) = other {
                return Err(clash(metadata.id, *first, other));
            }
            if index
                .taking
                .iter()
                .any(|(ticket, taken)| Some(*ticket) != terms.own && taken.start < range.end && range.start < taken.end)
            {
                return Ok(Planned::Later);
            }
            added += usize::from(index.get(*first).is_none());
        }
        if added > 0 && index.len() + added > self.config.max_places {
            let text = format!(
                "{} objects are declared or bound, at most {} may be; delete some",
                index.len(),
                self.config.max_places
            );
            return Err(status_at(status::TOO_MANY_OBJECTS, text, declarations));
        }
        let mut plan = Plan::default();
        for first in declarations.keys() {
            let refused = index.get(*first).and_then(|place| place.declared.as_ref());
            if let Some(refused) = refused.filter(|declared| declared.failed.load(Ordering::SeqCst)) {
                // Before everything else, so that blocks of this command stay.
                let unmap = Operation::Unmap { lba: *first, blocks: refused.blocks };
                plan.steps.push(Step { operations: vec![unmap], ..Step::default() });
            }
        }
        self.plan_blocks(index, edit, declarations, &mut plan);
        for (first, place) in named(index, edit) {
            let declared = declarations.get(&first);
            let mut step = Step::default();
            if let Some(bound) = place.bound.filter(|bound| declared.is_none_or(|metadata| metadata.id != bound.id)) {
                // Gone from the device already when somebody deleted it there.
                let label = match self.device.stat(bound.id) {
                    Ok(stat) => Label::Deleted { id: bound.id, generation: stat.generation },
                    Err(_) => Label::Deleted { id: bound.id, generation: 0 },
                };
                step.operations.push(Operation::SetLabel { lba: first, label: label.encode_by(origin.actor.as_ref()) });
                step.removed = Some(first);
                step.deleted = Some((first, Undone { id: bound.id, by: origin.actor.clone() }));
            }
            if declared.is_none() {
                step.removed = Some(first);
                if place.declared.is_some() {
                    step.operations.push(Operation::ClearLabel { lba: self.half + first });
                }
            }
            plan.steps.push(step);
        }
        for (first, metadata) in declarations {
            let reserved = terms.own.is_some();
            let step = self.plan_declaration(index, origin, (*first, reserved), metadata, &mut plan.flags)?;
            plan.steps.push(step);
            let ticket = index.take(*first..first + blocks_of(metadata.size));
            plan._taking.push(Taking { space: Arc::clone(self), ticket, charge: None });
        }
        Ok(Planned::Now(plan))
    }

    /// Whether neither the blocks of an address nor its metadata block were written.
    pub(super) fn is_empty(&self, blocks: Range<u64>) -> bool {
        self.volume.mapped(self.id, blocks.start, blocks.end - blocks.start) == 0
            && self.volume.mapped(self.id, self.half + blocks.start, 1) == 0
    }

    /// Everything but names: what becomes of the blocks.
    fn plan_blocks(&self, index: &Bindings, edit: &Edit, declarations: &Declarations, plan: &mut Plan) {
        let (mut operations, mut zeros) = (Vec::new(), Vec::new());
        match edit {
            Edit::Write { lba, data } => {
                let mut plain: Option<(u64, Vec<u8>)> = None;
                for (block, lba) in data.chunks_exact(BLOCK_BYTES).zip(*lba..) {
                    if lba >= self.half && declarations.contains_key(&(lba - self.half)) {
                        operations.extend(plain.take().map(|(lba, data)| Operation::Write { lba, data }));
                        operations.push(Operation::Unmap { lba, blocks: 1 });
                    } else {
                        plain.get_or_insert_with(|| (lba, Vec::new())).1.extend_from_slice(block);
                    }
                }
                operations.extend(plain.map(|(lba, data)| Operation::Write { lba, data }));
            }
            Edit::Erase { ranges, how } => {
                for range in ranges {
                    let mut from = range.start;
                    let mut unmap = |end: u64, next: u64| {
                        if from < end {
                            operations.push(Operation::Unmap { lba: from, blocks: end - from });
                        }
                        from = next;
                    };
                    if *how == Erase::Zero {
                        // Zeros at once, so that no object shows where blocks were given up before.
                        let data = index.data_part(range);
                        for (first, place) in index.overlapping(data.clone()) {
                            let (start, end) = (first.max(data.start), (first + place.blocks()).min(data.end));
                            unmap(start, end);
                            zeros.push(Operation::Zero { lba: start, blocks: end - start });
                        }
                    }
                    unmap(range.end, range.end);
                }
                operations.append(&mut zeros);
            }
        }
        plan.steps
            .extend(operations.into_iter().map(|operation| Step { operations: vec![operation], ..Step::default() }));
    }

    fn plan_declaration(
        &self,
        index: &Bindings,
        origin: &Origin,
        (first, reserved): (u64, bool),
        metadata: &Metadata,
        flags: &mut Vec<(VrId, ObjectFlags)>,
    ) -> Outcome<Step> {
        let blocks = blocks_of(metadata.size);
        let wanted = flags_of(metadata);
        let stored = self.device.stat(metadata.id).ok().filter(|stat| stat.size == metadata.size);
        let named = metadata.object_crc32c.map(|crc| crc.get());
        if let Some(stat) = stored.filter(|stat| named.is_none_or(|crc| crc == stat.checksum))
            && self.volume.mapped(self.id, first, blocks) == 0
        {
            let here = index.place_of(metadata.id) == Some(first);
            // An object that is stored and has no place yet gets one without its bytes being sent.
            let placed = index.place_of(metadata.id).is_none() && index.get(first).is_none() && named.is_some();
            if (here || placed) && stat.flags != wanted {
                flags.push((metadata.id, wanted));
            }
            if placed {
                let bound = Bound { id: metadata.id, blocks };
                // Who gives it a place wants it kept, whatever deletion was begun and not done.
                let spared = index.undone_of(metadata.id);
                let clear = spared.iter().map(|lba| Operation::ClearLabel { lba: *lba });
                let label = Label::Bound(bound).encode();
                let operations = clear.chain([Operation::SetLabel { lba: first, label }]).collect();
                return Ok(Step { operations, bound: Some((first, bound)), spared, ..Step::default() });
            }
        }
        let kind = if reserved { Kind::Reserved } else { Kind::Declared };
        let number = self.declarations.fetch_add(1, Ordering::Relaxed).max(1);
        let declaration = Declaration { metadata: *metadata, kind, number };
        let charge = self.charge(index, origin, first, blocks)?;
        let label = Label::Declared(declaration).encode_by(origin.actor.as_ref());
        let operations = vec![Operation::SetLabel { lba: self.half + first, label }];
        let declared = Some((first, declaration, origin.actor.clone(), charge));
        Ok(Step { operations, declared, ..Step::default() })
    }

    /// Charges a declaration to the share of its host.
    fn charge(&self, index: &Bindings, origin: &Origin, first: u64, blocks: u64) -> Outcome<Option<PendingCharge>> {
        let Some(share) = &origin.share else { return Ok(None) };
        let before = index.get(first).and_then(|place| place.declared.as_ref());
        let instead = before.and_then(|declared| declared.charged(share));
        share.charge(blocks, instead).map(Some).map_err(|full| {
            count(&self.counters.shares_refused);
            CommandError::new(status::TOO_MANY_OBJECTS, full).at(first)
        })
    }
}

fn clash(id: VrId, first: u64, other: u64) -> CommandError {
    overlap(format!("the blocks of {id} at {first} overlap those of the object at {other}"), other)
}

fn status_at(status: Status, text: String, declarations: &Declarations) -> CommandError {
    let error = CommandError::new(status, text);
    match declarations.first_key_value() {
        Some((first, _)) => error.at(*first),
        None => error,
    }
}

/// Whether the command changes the block at an address.
fn named_at(edit: &Edit, lba: u64) -> bool {
    match edit {
        Edit::Write { lba: start, data } => (*start..start + blocks_of(data.len() as u64)).contains(&lba),
        Edit::Erase { ranges, .. } => {
            let after = ranges.partition_point(|range| range.start <= lba);
            after.checked_sub(1).and_then(|index| ranges.get(index)).is_some_and(|range| range.contains(&lba))
        }
    }
}

/// The places whose metadata blocks the command changes.
pub(super) fn named<'a>(index: &'a Bindings, edit: &Edit) -> impl Iterator<Item = (u64, &'a Binding)> + use<'a> {
    let ranges: Vec<_> = edit.ranges().iter().cloned().collect();
    let mut found = BTreeMap::new();
    for range in &ranges {
        found.extend(index.named_in(range));
    }
    found.into_iter()
}
