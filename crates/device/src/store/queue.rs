//! The queue of changes that wait for a commit.

use super::{
    ObjectFlags, ObjectKey, SpaceId, SpaceLimits, StoreError,
    object::{Placement, StoredObject},
    record::Record,
};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A change that waits to be made durable.
#[derive(Debug)]
pub(super) enum Change {
    /// The extents are written, not synced; inline bytes are kept in the placement.
    Put {
        key: ObjectKey,
        record: Record,
        placement: Placement,
        /// Of a copy, which has the owner of its original whatever it replaces.
        copy: bool,
    },
    /// With the number of the change, given when it is admitted; likewise below.
    Delete {
        key: ObjectKey,
        change: u64,
    },
    /// With a generation, only that version is changed.
    Flags {
        key: ObjectKey,
        flags: ObjectFlags,
        generation: Option<u64>,
        change: u64,
    },
    Space {
        space: SpaceId,
        limits: SpaceLimits,
    },
}

pub(super) type Outcome = Result<Option<Arc<StoredObject>>, StoreError>;

#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) change: Change,
    pub(super) outcome: Arc<Mutex<Option<Outcome>>>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) waiting: Vec<Ticket>,
    pub(super) busy: bool,
}

#[derive(Debug, Default)]
pub(super) struct CommitQueue {
    queue: Mutex<Queue>,
    pub(super) changed: Condvar,
    pub(super) groups: AtomicU64,
    pub(super) changes: AtomicU64,
    pub(super) nanoseconds: AtomicU64,
}

impl CommitQueue {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of groups so far, if none is being committed.
    pub(super) fn quiet(&self) -> Option<u64> {
        let queue = self.lock();
        (!queue.busy).then(|| self.groups.load(Ordering::Relaxed))
    }

    pub(super) fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        (self.groups.load(Ordering::Relaxed), self.changes.load(Ordering::Relaxed))
    }
}

impl Ticket {
    pub(super) fn answer(self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }
}
