//! Commands that change what stands where: metadata blocks, and erasures over objects.

use super::{
    BlockSpace, Outcome, Taking, blocks_of,
    complete::{flags_of, options_of},
    coverage::Coverage,
    crowded,
    labels::Label,
    locks::Ranges,
    places::{Bound, Declared, Places},
    point, status,
    write::{Edit, Erase, overlap},
};
use crate::volume::{BLOCK_BYTES, Operation};
use ciphermill_device::{DeviceError, ObjectFlags, StoreError};
use ciphermill_nvme::{CommandError, Status};
use ciphermill_program::{META_MAGIC, Metadata, VrId};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// A command that names more objects than this takes the lock on the whole namespace.
const MANY: usize = 64;
/// Operations of one change of the volume; a command with more of them is several.
const OPERATIONS: usize = 512;

/// Metadata blocks of a command: first block of the object, and what they say.
type Declarations = BTreeMap<u64, Metadata>;

/// What a command does at one place, in one change of the volume.
#[derive(Default)]
struct Step {
    operations: Vec<Operation>,
    /// A place that loses its name.
    removed: Option<u64>,
    /// And whether it is a reservation.
    declared: Option<(u64, Metadata, bool)>,
    bound: Option<(u64, Bound)>,
    /// The register that the step marks as being deleted, at its label.
    deleted: Option<(u64, VrId)>,
    /// Labels of deletions that the step calls off.
    spared: Vec<u64>,
}

#[derive(Default)]
struct Plan {
    steps: Vec<Step>,
    flags: Vec<(VrId, ObjectFlags)>,
    _taking: Vec<Taking>,
}

/// What else a command needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    /// The range that the caller has already marked as being taken, for a reservation.
    pub(super) own: Option<u64>,
    /// Nothing is done unless this stands there.
    pub(super) only: Option<Standing>,
}

/// What a command demands to stand at a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// This register is declared, and nothing bound.
    Declared(u64, VrId),
    /// This register is bound.
    Bound(u64, VrId),
    /// A reservation that nobody used for so long.
    Abandoned(u64, Duration),
}

impl Standing {
    fn holds(self, index: &Places) -> bool {
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
    /// Carries out a command that may concern metadata blocks or erase blocks of objects, and completes what it
    /// completes.
    pub(super) async fn restructure(self: &Arc<Self>, edit: Edit) -> Outcome {
        self.restructure_on(edit, Terms::default()).await
    }

    /// The same on terms.
    pub(super) async fn restructure_on(self: &Arc<Self>, edit: Edit, terms: Terms) -> Outcome {
        let declarations = Arc::new(self.declarations(&edit)?);
        if !declarations.is_empty() {
            let (space, declarations) = (Arc::clone(self), Arc::clone(&declarations));
            self.blocking(&self.disk, move || space.judge(&declarations)).await??;
        }
        loop {
            let needed = self.concerned(&edit, &declarations);
            let guard = crowded(self.changes.exclusive(needed.clone()).await)?;
            if !needed.cover(&self.concerned(&edit, &declarations)) {
                continue;
            }
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            match self.apply(&edit, &declarations, &needed, terms).await {
                None => {
                    drop(guard);
                    settled.await;
                }
                Some(outcome) => {
                    drop(guard);
                    let settled = self.settle(&needed).await;
                    return outcome.and(settled);
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
            if let Err(error) = self.device.check_write(metadata.id, metadata.size, &options_of(metadata, None)) {
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

    /// Does it, under the locks. `None`: a range it would take is being taken by another command; try again when that has
    /// ended.
    async fn apply(
        self: &Arc<Self>,
        edit: &Edit,
        declarations: &Declarations,
        needed: &Ranges,
        terms: Terms,
    ) -> Option<Outcome> {
        let mut registers = Ranges::from(0..0);
        {
            let index = self.index();
            let bound = named(&index, edit).filter_map(|(_, place)| place.bound).map(|bound| bound.id);
            let undone = edit.ranges();
            let undone = undone.iter().flat_map(|range| index.undone_in(range)).map(|(_, id)| id);
            for id in bound.chain(undone).chain(declarations.values().map(|metadata| metadata.id)) {
                registers.push(point(id));
            }
        }
        let _registers = match crowded(self.registers.exclusive(registers).await) {
            Ok(guard) => guard,
            Err(error) => return Some(Err(error)),
        };
        // What an earlier command here was to delete and did not, unless it is what is named now.
        let named = |id: VrId| declarations.values().any(|metadata| metadata.id == id);
        let undone = self.undone(edit).into_iter().filter(|(_, id)| !named(*id)).collect();
        if let Err(error) = self.delete(undone).await {
            return Some(Err(error));
        }
        let plan = match self.plan(edit, declarations, terms) {
            Ok(Some(plan)) => plan,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        Some(self.carry_out(plan, edit, needed).await)
    }

    fn plan(self: &Arc<Self>, edit: &Edit, declarations: &Declarations, terms: Terms) -> Outcome<Option<Plan>> {
        let mut guard = self.index_mut();
        let index = &mut *guard;
        if terms.only.is_some_and(|only| !only.holds(index)) {
            return Ok(Some(Plan::default()));
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
                return Ok(None);
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
                step.operations.push(Operation::SetLabel { lba: first, label: label.encode() });
                step.removed = Some(first);
                step.deleted = Some((first, bound.id));
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
            let step = self.plan_declaration(index, (*first, reserved), metadata, &mut plan.flags);
            plan.steps.push(step);
            let ticket = index.take(*first..first + blocks_of(metadata.size));
            plan._taking.push(Taking { space: Arc::clone(self), ticket });
        }
        Ok(Some(plan))
    }

    /// Everything but names: what becomes of the blocks.
    fn plan_blocks(&self, index: &Places, edit: &Edit, declarations: &Declarations, plan: &mut Plan) {
        let mut operations = Vec::new();
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
                    operations.push(Operation::Unmap { lba: range.start, blocks: range.end - range.start });
                    if *how == Erase::Zero {
                        let data = index.data_part(range);
                        for (first, place) in index.overlapping(data.clone()) {
                            let (start, end) = (first.max(data.start), (first + place.blocks()).min(data.end));
                            operations.push(Operation::Zero { lba: start, blocks: end - start });
                        }
                    }
                }
            }
        }
        plan.steps
            .extend(operations.into_iter().map(|operation| Step { operations: vec![operation], ..Step::default() }));
    }

    fn plan_declaration(
        &self,
        index: &Places,
        (first, reserved): (u64, bool),
        metadata: &Metadata,
        flags: &mut Vec<(VrId, ObjectFlags)>,
    ) -> Step {
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
                return Step { operations, bound: Some((first, bound)), spared, ..Step::default() };
            }
        }
        let label = if reserved { Label::Reserved(*metadata) } else { Label::Declared(*metadata) };
        let operations = vec![Operation::SetLabel { lba: self.half + first, label: label.encode() }];
        Step { operations, declared: Some((first, *metadata, reserved)), ..Step::default() }
    }

    async fn carry_out(self: &Arc<Self>, plan: Plan, edit: &Edit, needed: &Ranges) -> Outcome {
        let Plan { steps, flags, _taking } = plan;
        let made = self.make_all(steps, edit, needed).await;
        // Whatever became of the rest: what is marked as being deleted is to be gone.
        let deleted = self.delete(self.undone(edit)).await;
        made.and(deleted)?;
        if !flags.is_empty() {
            let space = Arc::clone(self);
            let set = move || flags.iter().try_for_each(|(id, flags)| space.device.set_flags(*id, *flags));
            self.blocking(&self.disk, set).await?.map_err(|error| status::of_device(&error))?;
        }
        Ok(())
    }

    /// Deletions to be done at the metadata blocks that the command changes.
    fn undone(&self, edit: &Edit) -> Vec<(u64, VrId)> {
        let (index, ranges) = (self.index(), edit.ranges());
        let found: BTreeMap<_, _> = ranges.iter().flat_map(|range| index.undone_in(range)).collect();
        found.into_iter().collect()
    }

    async fn make_all(self: &Arc<Self>, mut steps: Vec<Step>, edit: &Edit, needed: &Ranges) -> Outcome {
        {
            let _view = crowded(self.views.exclusive(needed.clone()).await)?;
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
                if let Some((first, id)) = step.deleted {
                    index.delete_later(first, id);
                }
            }
            if let Some((first, metadata, reserved)) = step.declared {
                let blocks = blocks_of(metadata.size);
                let coverage = Coverage::new(&self.volume, self.id, first, blocks);
                let declared = Declared::new(metadata, blocks, coverage, reserved);
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

    /// Deletes objects whose places are gone, and then the labels that say so. The caller holds the registers. One that
    /// was completed elsewhere meanwhile stays; what fails is to be done still.
    pub(super) async fn delete(self: &Arc<Self>, deleted: Vec<(u64, VrId)>) -> Outcome {
        let mut outcome = Ok(());
        for group in deleted.chunks(MANY) {
            // Side by side, so that the device commits them together.
            let mut jobs = tokio::task::JoinSet::new();
            for &(first, id) in group {
                let space = Arc::clone(self);
                let delete = async move {
                    if space.index().place_of(id).is_some() {
                        return Ok(first);
                    }
                    let device = space.device.clone();
                    let deleted = space.blocking(&space.jobs, move || device.delete(id)).await?;
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
fn named<'a>(index: &'a Places, edit: &Edit) -> impl Iterator<Item = (u64, &'a super::places::Place)> + use<'a> {
    let ranges: Vec<_> = edit.ranges().iter().cloned().collect();
    let mut found = BTreeMap::new();
    for range in &ranges {
        found.extend(index.named_in(range));
    }
    found.into_iter()
}
