//! The limit on commands that wait for others.
//!
//! A waiting command occupies no thread, but memory and one of the commands that its host may have in progress. A program
//! may run for long, and all commands on its object or its result wait for it. So the number of waiting commands is
//! limited, in total and for each object. A command beyond the limit is refused at once with Command Interrupted, which
//! hosts send again.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The refusal of one more waiting command.
#[derive(Debug)]
pub(super) struct TooManyWaiting;

/// The limit of one namespace, shared by all that its commands wait for.
#[derive(Clone, Debug)]
pub(super) struct WaitLimit {
    room: Arc<Semaphore>,
    of_object: usize,
}

/// The permit of one waiting command.
#[derive(Debug)]
pub(super) struct WaitPermit(#[allow(dead_code, reason = "held until dropped")] OwnedSemaphorePermit);

impl WaitLimit {
    /// At most `most` waiting commands, at most `of_object` of them for one object.
    pub(super) fn new(most: usize, of_object: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), of_object }
    }

    /// Admits one more command that waits for an object with `same` waiting commands.
    pub(super) fn enter(&self, same: usize) -> Result<WaitPermit, TooManyWaiting> {
        if same >= self.of_object {
            return Err(TooManyWaiting);
        }
        Arc::clone(&self.room).try_acquire_owned().map(WaitPermit).map_err(|_| TooManyWaiting)
    }
}
