//! A command from the caller's side: handed to a queue, waited for.

use super::{
    error::InitiatorError,
    queue::Queue,
    request::{Outcome, Payload, Request},
};
use crate::command::Command;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout_at},
};

/// A queue with its bound.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) queue: Queue,
    permits: Arc<Semaphore>,
    count: u32,
    order: AtomicU64,
}

/// A command without its place.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) command: Command,
    pub(super) payload: Payload,
    /// The time it has; none waits for ever.
    pub(super) time: Option<Duration>,
    pub(super) repeatable: bool,
}

/// A command that was handed over.
#[derive(Debug)]
pub(super) struct Pending {
    answer: oneshot::Receiver<Outcome>,
    time: Option<(Instant, Duration)>,
}

impl Port {
    /// A port for at most `permits` commands at a time, waiting ones included.
    pub(super) fn new(permits: usize) -> Self {
        let count = permits.clamp(1, 1 << 20);
        Self {
            queue: Queue::default(),
            permits: Arc::new(Semaphore::new(count)),
            count: count as u32,
            order: AtomicU64::new(0),
        }
    }

    /// Waits for a place and hands the command over. The deadline counts from now.
    ///
    /// # Errors
    /// [`InitiatorError::TimedOut`] when there is no place before the deadline.
    pub(super) async fn submit(&self, call: Call) -> Result<Pending, InitiatorError> {
        let deadline = call.time.map(|time| (Instant::now() + time, time));
        self.submit_until(call, deadline).await
    }

    /// The same with a deadline that counts from earlier.
    pub(super) async fn submit_until(
        &self,
        call: Call,
        time: Option<(Instant, Duration)>,
    ) -> Result<Pending, InitiatorError> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_place(time).await?,
        };
        let (reply, answer) = oneshot::channel();
        self.queue.push(Request {
            command: call.command,
            payload: call.payload,
            deadline: time.map(|(deadline, _)| deadline),
            repeatable: call.repeatable,
            damaged: 0,
            order: self.order.fetch_add(1, Ordering::Relaxed),
            reply: Some(reply),
            _permit: Some(permit),
        });
        Ok(Pending { answer, time })
    }

    async fn wait_for_place(&self, time: Option<(Instant, Duration)>) -> Result<OwnedSemaphorePermit, InitiatorError> {
        let acquire = Arc::clone(&self.permits).acquire_owned();
        let permit = match time {
            None => acquire.await,
            Some((deadline, after)) => {
                timeout_at(deadline, acquire).await.map_err(|_| InitiatorError::TimedOut { after })?
            }
        };
        permit.map_err(|_| self.queue.closed().unwrap_or(InitiatorError::Closed))
    }

    /// Hands the command over and waits for its answer.
    pub(super) async fn call(&self, call: Call) -> Outcome {
        self.submit(call).await?.wait().await
    }

    /// Returns when no command is waiting or in progress, at the latest after `most`.
    pub(super) async fn wait_idle(&self, most: Duration) -> bool {
        let all = tokio::time::timeout(most, self.permits.acquire_many(self.count)).await;
        all.is_ok_and(|permits| permits.is_ok())
    }

    /// Refuses everything from now on with this error.
    pub(super) fn close(&self, error: &InitiatorError) {
        self.queue.close(error);
    }
}

impl Pending {
    /// Waits for the answer.
    pub(super) async fn wait(self) -> Outcome {
        let Self { answer, time } = self;
        let answered = match time {
            None => answer.await,
            Some((deadline, after)) => {
                timeout_at(deadline, answer).await.map_err(|_| InitiatorError::TimedOut { after })?
            }
        };
        answered.unwrap_or_else(|_| match time {
            // A request that is too late is dropped where it is found.
            Some((deadline, after)) if deadline <= Instant::now() => Err(InitiatorError::TimedOut { after }),
            // The tasks that serve the connection are gone, with the runtime that ran them.
            _ => Err(InitiatorError::Closed),
        })
    }
}
