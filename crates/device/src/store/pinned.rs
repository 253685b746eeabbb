//! The objects that snapshots keep on the disk, and their budgets.

use super::{ObjectKey, format::BLOCK_BYTES, object::StoredObject, table::TableView};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The remaining objects of a snapshot; the store takes them away when they cost too much.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) limit: u64,
    remaining: Mutex<Option<Remaining>>,
}

#[derive(Debug)]
pub(super) struct Remaining {
    /// Those in the table without their bytes, which the view has.
    pub(super) objects: BTreeMap<ObjectKey, Arc<StoredObject>>,
    pub(super) view: Arc<TableView>,
    /// Bytes on the disk that only this snapshot needs.
    pinned: u64,
    table: Growth,
}

/// The growth of the table during a snapshot. The database reuses no page that was freed since the view was taken.
///
/// The file grows in steps of up to its own length. The first step may be due without the snapshot, so the growth beyond
/// it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Growth {
    base: u64,
    grown: bool,
}

impl Growth {
    fn beyond_the_first_step(&mut self, bytes: u64) -> u64 {
        if !self.grown && bytes > self.base {
            *self = Self { base: bytes, grown: true };
        }
        bytes.saturating_sub(self.base)
    }
}

impl Pinned {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Remaining>> {
        self.remaining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts objects that were replaced or deleted, and ends the snapshot above its budget. The growth of the table counts
    /// apart: every commit frees pages, also for objects that the snapshot does not have.
    fn count(&self, replaced: &[&Arc<StoredObject>], table_bytes: u64) {
        let mut remaining = self.lock();
        let Some(Remaining { objects, pinned, table, .. }) = remaining.as_mut() else { return };
        let needed = |object: &&&Arc<StoredObject>| {
            objects.get(&object.key).is_some_and(|held| held.generation == object.generation)
        };
        *pinned += replaced.iter().filter(needed).map(|object| occupied(object)).sum::<u64>();
        if *pinned > self.limit || table.beyond_the_first_step(table_bytes) > self.limit {
            *remaining = None;
        }
    }
}

/// Bytes on the disk: whole blocks; in the table, the page around the record too.
fn occupied(object: &StoredObject) -> u64 {
    object.size.next_multiple_of(BLOCK_BYTES) + BLOCK_BYTES
}

/// The snapshots of a store that are not dropped yet.
#[derive(Debug, Default)]
pub(super) struct Snapshots(Mutex<Vec<Weak<Pinned>>>);

impl Snapshots {
    fn living(&self) -> Vec<Arc<Pinned>> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|snapshot| snapshot.strong_count() > 0);
        list.iter().filter_map(Weak::upgrade).collect()
    }

    /// Registers a snapshot. Objects that are replaced from now on count.
    pub(super) fn add(
        &self,
        limit: u64,
        table_bytes: u64,
        objects: BTreeMap<ObjectKey, Arc<StoredObject>>,
        view: TableView,
    ) -> Arc<Pinned> {
        let table = Growth { base: table_bytes, grown: false };
        let remaining = Remaining { objects, view: Arc::new(view), pinned: 0, table };
        let pinned = Arc::new(Pinned { limit, remaining: Mutex::new(Some(remaining)) });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pinned));
        pinned
    }

    /// Counts the objects that a commit replaced or deleted, after which the table has a length of `table_bytes`.
    pub(super) fn count<'a>(&self, replaced: impl Iterator<Item = &'a Arc<StoredObject>>, table_bytes: u64) {
        let living = self.living();
        if !living.is_empty() {
            let replaced: Vec<_> = replaced.collect();
            living.iter().for_each(|snapshot| snapshot.count(&replaced, table_bytes));
        }
    }

    /// Ends all snapshots.
    pub(super) fn cancel(&self) {
        self.living().iter().for_each(|snapshot| *snapshot.lock() = None);
    }
}
