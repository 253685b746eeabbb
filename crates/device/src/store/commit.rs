//! Group commit: the first waiting thread commits for all.
//!
//! A sync costs the same for one object as for a hundred. So every change goes into a queue. If no commit is in progress,
//! a waiting thread takes the whole queue, syncs the data file once, commits one transaction to the object table, and wakes
//! the others. Changes that arrive meanwhile form the next group. If no change of a group has written to the data file, the
//! sync of the transaction is the only one.

use super::{
    Inner, ObjectKey, SpaceId, StoreError,
    index::SpaceState,
    object::{Placement, StoredObject},
    queue::{Change, Outcome, Ticket},
    record::Record,
    table::Row,
};
use ciphermill_storage::StorageError;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Instant,
};

/// The index after a group of changes, decided before any write.
struct Plan {
    store_id: [u8; 16],
    rows: Vec<Row>,
    spaces: BTreeMap<SpaceId, SpaceState>,
    /// The objects after the changes of this group so far; `None` if deleted.
    objects: BTreeMap<ObjectKey, Option<(Record, Placement)>>,
    /// Whether bytes in the data file wait for their sync.
    extents: bool,
}

impl Inner {
    /// Makes a change durable; returns the new object for a put.
    pub(super) fn submit(&self, change: Change) -> Outcome {
        self.submit_all(vec![change]).pop().unwrap_or(Err(StoreError::Failed))
    }

    /// Makes several changes durable, in their order and in one group; each has its own outcome.
    pub(super) fn submit_all(&self, changes: Vec<Change>) -> Vec<Outcome> {
        let outcomes: Vec<Arc<Mutex<Option<Outcome>>>> = changes.iter().map(|_| Arc::default()).collect();
        let Some(last) = outcomes.last() else { return Vec::new() };
        let mut queue = self.queue.lock();
        let tickets = changes.into_iter().zip(&outcomes);
        queue.waiting.extend(tickets.map(|(change, outcome)| Ticket { change, outcome: Arc::clone(outcome) }));
        loop {
            // A group has all of them or none.
            if last.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                let taken = |outcome: &Arc<Mutex<Option<Outcome>>>| {
                    outcome.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Err(StoreError::Failed))
                };
                return outcomes.iter().map(taken).collect();
            }
            if queue.busy {
                queue = self.queue.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.busy = true;
            let group = std::mem::take(&mut queue.waiting);
            drop(queue);
            self.commit_group(group);
            queue = self.queue.lock();
            queue.busy = false;
            self.queue.changed.notify_all();
        }
    }

    fn commit_group(&self, group: Vec<Ticket>) {
        let mut plan = Plan {
            store_id: self.table.store_id(),
            rows: Vec::with_capacity(group.len()),
            spaces: self.index().spaces.clone(),
            objects: BTreeMap::new(),
            extents: false,
        };
        let mut admitted = Vec::with_capacity(group.len());
        for mut ticket in group {
            match self.admit(&mut plan, &mut ticket.change) {
                Ok(()) => admitted.push(ticket),
                Err(error) => ticket.answer(Err(error)),
            }
        }
        for (key, planned) in &plan.objects {
            self.keep_inline(*key, planned.as_ref().map(|(record, _)| record.generation));
        }
        let begun = Instant::now();
        let durable = self.make_durable(&plan);
        self.queue.nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.queue.groups.fetch_add(1, Ordering::Relaxed);
        self.queue.changes.fetch_add(admitted.len() as u64, Ordering::Relaxed);
        match durable {
            Ok(_) if plan.rows.is_empty() => self.publish(plan, admitted),
            Ok(next) => {
                // After the table is durable, so that the log never has a change that the table may lack, and before
                // the changes are acknowledged, so that it lacks none of those.
                self.log.append(&plan.rows, next);
                self.publish(plan, admitted);
                self.log.keep_up(&self.index(), next);
            }
            Err(error) => {
                // A table that was reopened no longer keeps the pages of earlier views.
                self.snapshots.cancel();
                tracing::error!(%error, changes = admitted.len(), "group commit failed");
                if self.failed.load(Ordering::SeqCst) {
                    // The medium may hold the commit after all: nothing may be written where its objects are.
                    self.allocator.stop();
                }
                admitted.into_iter().for_each(|ticket| ticket.answer(Err(error.clone())));
            }
        }
    }

    /// Decides whether the change can be made after those already in the plan, and adds it.
    fn admit(&self, plan: &mut Plan, change: &mut Change) -> Result<(), StoreError> {
        if self.failed.load(Ordering::SeqCst) {
            return Err(StoreError::Failed);
        }
        match change {
            Change::Space { space, limits } => {
                // Unused, but every commit must raise the bound of the table.
                self.next_number();
                plan.spaces.entry(*space).or_insert(SpaceState::new(*limits)).limits = *limits;
                plan.rows.push(Row::Space(*space, *limits));
            }
            Change::Put { key, record, placement, copy } => {
                record.change = self.next_number();
                let old = self.planned(plan, *key).map(|(record, _)| record);
                plan.change_usage(*key, old.as_ref().map(|old| old.size), Some(record.size))?;
                if !*copy {
                    record.owner = old.and_then(|old| old.owner).or(record.owner.take());
                }
                let content = match placement {
                    Placement::Inline(kept) => kept.get().cloned(),
                    Placement::Extents(_) => None,
                };
                plan.extents |= matches!(placement, Placement::Extents(_));
                plan.put(*key, record.clone(), placement.clone(), content.as_deref().unwrap_or(&[]));
            }
            Change::Delete { key, change } => {
                *change = self.next_number();
                let (record, _) = self.planned(plan, *key).ok_or(StoreError::NotFound { object: *key })?;
                plan.change_usage(*key, Some(record.size), None)?;
                plan.rows.push(Row::Remove(*key, *change));
                plan.objects.insert(*key, None);
            }
            Change::Flags { key, flags, generation, change } => {
                *change = self.next_number();
                let (record, placement) = self
                    .planned(plan, *key)
                    .filter(|(record, _)| generation.is_none_or(|wanted| wanted == record.generation))
                    .ok_or(StoreError::NotFound { object: *key })?;
                let record = Record { flags: *flags, change: *change, ..record };
                let content = match &placement {
                    Placement::Inline(kept) => {
                        let object = StoredObject::new(*key, record.clone(), placement.clone());
                        Some(self.inline_content(&object, kept)?)
                    }
                    Placement::Extents(_) => None,
                };
                plan.put(*key, record, placement, content.as_deref().unwrap_or(&[]));
            }
        }
        Ok(())
    }

    /// The object as the plan leaves it.
    fn planned(&self, plan: &Plan, key: ObjectKey) -> Option<(Record, Placement)> {
        if let Some(planned) = plan.objects.get(&key) {
            return planned.clone();
        }
        let object = self.index().objects.get(&key).cloned()?;
        Some((object.record(), object.placement.clone()))
    }

    /// Returns the first unused number, which the table then holds.
    fn make_durable(&self, plan: &Plan) -> Result<u64, StoreError> {
        let next = self.next_generation.load(Ordering::Relaxed);
        if plan.rows.is_empty() {
            return Ok(next);
        }
        // Here, not where bytes are written: only what is acknowledged has to be there.
        for file in [&*self.data, &*self.objects, self.log.file()] {
            file.check_place().inspect_err(|error| {
                if matches!(error, StorageError::Gone { .. }) {
                    self.failed.store(true, Ordering::SeqCst);
                }
            })?;
        }
        if plan.extents {
            self.data.sync().inspect_err(|error| {
                if matches!(error, StorageError::Sync { .. }) {
                    self.failed.store(true, Ordering::SeqCst);
                }
            })?;
        }
        // At least the numbers of these rows are below.
        self.table.commit(&plan.rows, next)?;
        Ok(next)
    }

    fn publish(&self, plan: Plan, admitted: Vec<Ticket>) {
        // Replaced versions are dropped after the lock is gone: freeing extents is not the readers' business.
        let mut replaced = Vec::with_capacity(admitted.len());
        let mut answers = Vec::with_capacity(admitted.len());
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.spaces = plan.spaces;
        for Ticket { change, outcome } in admitted {
            let mut result = None;
            match change {
                Change::Put { key, record, placement, .. } => {
                    // The table holds the bytes now, unless a later change of the group replaced them at once.
                    let last = plan.objects.get(&key).and_then(Option::as_ref);
                    let in_table = last.is_some_and(|(last, _)| last.generation == record.generation);
                    let placement = match placement {
                        Placement::Inline(_) if in_table => Placement::Inline(Arc::default()),
                        placement => placement,
                    };
                    let object = Arc::new(StoredObject::new(key, record, placement));
                    replaced.push(index.objects.insert(key, Arc::clone(&object)));
                    result = Some(object);
                }
                Change::Delete { key, .. } => replaced.push(index.objects.remove(&key)),
                Change::Flags { key, flags, change, .. } => index.apply_flags(key, flags, change),
                Change::Space { .. } => {}
            }
            answers.push((outcome, result));
        }
        drop(index);
        self.snapshots.count(replaced.iter().flatten(), self.table.bytes());
        drop(replaced);
        for (outcome, result) in answers {
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(Ok(result));
        }
    }
}

impl Inner {
    /// The next number of a generation or a change.
    pub(super) fn next_number(&self) -> u64 {
        self.next_generation.fetch_add(1, Ordering::Relaxed)
    }
}

impl Plan {
    fn change_usage(&mut self, key: ObjectKey, old: Option<u64>, new: Option<u64>) -> Result<(), StoreError> {
        let state = self.spaces.get_mut(&key.space).ok_or(StoreError::NoSuchSpace { space: key.space })?;
        *state = state.replaced(key.space, old, new)?;
        Ok(())
    }

    fn put(&mut self, key: ObjectKey, record: Record, placement: Placement, content: &[u8]) {
        self.rows.push(Row::Put(key, record.clone(), record.encode(self.store_id, key, content)));
        self.objects.insert(key, Some((record, placement)));
    }
}
