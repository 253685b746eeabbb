//! How many commands may wait for others.
//!
//! A command that waits costs no thread, but memory, and a place among those that its host may have under way. A program
//! may run for long, and whatever concerns its object or its result waits for it; so the commands that wait are bounded,
//! in all and for each object, and one more is answered at once: Command Interrupted, which hosts send again.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Too many commands wait.
#[derive(Debug)]
pub(super) struct Crowded;

/// The bound of a namespace, shared by everything that is waited for.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    room: Arc<Semaphore>,
    of_object: usize,
}

/// The place of one that waits.
#[derive(Debug)]
pub(super) struct Waiting(#[allow(dead_code, reason = "held until dropped")] OwnedSemaphorePermit);

impl Waits {
    /// At most `most` wait, and `of_object` of them for the same.
    pub(super) fn new(most: usize, of_object: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), of_object }
    }

    /// One more waits, for what `same` wait for already.
    pub(super) fn enter(&self, same: usize) -> Result<Waiting, Crowded> {
        if same >= self.of_object {
            return Err(Crowded);
        }
        Arc::clone(&self.room).try_acquire_owned().map(Waiting).map_err(|_| Crowded)
    }
}
