//! The future form of an operation. It needs no runtime: anything that polls will do.

use crate::{
    blob::BlobId,
    error::MiddlewareError,
    queue::{Job, Queue, Refusal, locked},
};
use std::{
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// An operation on its way.
///
/// It is submitted when it is first polled, and waits for room while the queue is full. Dropped before it is accepted, it
/// never happens; dropped after, it happens all the same and its result is lost.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // In asynchronous code, await the operation.
/// let create: Operation<BlobId> = middleware.create(metadata);
/// let created = pollster::block_on(async { create.await })?;
/// // In other code, wait for it.
/// middleware.write(created, WriteMode::Stored, bytes).wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an operation does nothing until it is awaited, or waited for with `wait`"]
pub struct Operation<T> {
    queue: Arc<Queue>,
    lane: Option<BlobId>,
    /// `None` once the queue has it.
    job: Option<Job>,
    /// The position in the queue of waiting callers.
    ticket: Option<u64>,
    slot: Arc<Slot<T>>,
}

/// Where a worker leaves the result.
pub(crate) struct Slot<T>(Mutex<(Stage<T>, Option<Waker>)>);

enum Stage<T> {
    Open,
    Filled(Result<T, MiddlewareError>),
    Taken,
}

impl<T> Slot<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new((Stage::Open, None))))
    }

    pub(crate) fn fill(&self, result: Result<T, MiddlewareError>) {
        let mut slot = locked(&self.0);
        slot.0 = Stage::Filled(result);
        let waker = slot.1.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Result<T, MiddlewareError>> {
        let mut slot = locked(&self.0);
        match std::mem::replace(&mut slot.0, Stage::Taken) {
            Stage::Filled(result) => Poll::Ready(result),
            Stage::Open => {
                *slot = (Stage::Open, Some(waker.clone()));
                Poll::Pending
            }
            Stage::Taken => panic!("an operation was polled after it had given its result"),
        }
    }
}

impl<T> Operation<T> {
    pub(crate) fn new(queue: Arc<Queue>, lane: Option<BlobId>, job: Job, slot: Arc<Slot<T>>) -> Self {
        Self { queue, lane, job: Some(job), ticket: None, slot }
    }

    /// Blocks the calling thread until the operation is done. Not for callbacks: they run on the workers that are to do
    /// it.
    ///
    /// # Errors
    /// Those of the operation.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(middleware.list().wait()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(self) -> Result<T, MiddlewareError> {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut operation = pin!(self);
        loop {
            match operation.as_mut().poll(&mut context) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<T> Future for Operation<T> {
    type Output = Result<T, MiddlewareError>;

    /// # Panics
    /// When polled again after it gave its result.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { queue, lane, job, ticket, slot } = &mut *self;
        match queue.submit_or_wait(*lane, job, ticket, context.waker()) {
            Ok(()) => slot.poll(context.waker()),
            Err(Refusal::Full) => Poll::Pending,
            Err(Refusal::Closed) => {
                *ticket = None;
                slot.fill(Err(MiddlewareError::Closed));
                slot.poll(context.waker())
            }
        }
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.queue.leave(ticket);
        }
    }
}

impl<T> fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("lane", &self.lane).field("accepted", &self.job.is_none()).finish()
    }
}
