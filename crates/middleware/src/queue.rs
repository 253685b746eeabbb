//! The bounded queue between callers and workers.
//!
//! Operations on one blob run one at a time, in the order in which they were accepted; operations on different blobs run
//! side by side. A blob's operations wait in its lane; a lane exists for as long as one of its jobs waits or runs.

use crate::blob::BlobId;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

/// Locks a mutex whose holders leave its content whole even if they panic.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports a finished operation to the caller.
pub(crate) type Completion = Box<dyn FnOnce() + Send>;

/// An operation to be done by a worker. It must not panic.
pub(crate) type Job = Box<dyn FnOnce() -> Completion + Send>;

/// Why a job was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Full,
    Closed,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    work: Condvar,
    limit: usize,
}

#[derive(Default)]
struct State {
    /// Jobs that a worker may begin now, each with its lane; an operation on no blob in particular has none.
    ready: VecDeque<(Option<BlobId>, Job)>,
    /// Of each blob with a job in `ready` or at work: the jobs behind that one.
    lanes: HashMap<BlobId, VecDeque<Job>>,
    /// Jobs that wait or run, completions not counted.
    accepted: usize,
    /// Futures that wait for room, by ticket, that is in the order in which they came.
    waiters: BTreeMap<u64, Waker>,
    next_ticket: u64,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), work: Condvar::new(), limit }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Jobs that wait or run.
    pub(crate) fn accepted(&self) -> usize {
        locked(&self.state).accepted
    }

    pub(crate) fn submit(&self, lane: Option<BlobId>, job: Job) -> Result<(), Refusal> {
        locked(&self.state).submit(self.limit, lane, job).map_err(|(_, refusal)| refusal)?;
        self.work.notify_one();
        Ok(())
    }

    /// As [`submit`](Self::submit), but leaves the job where it is when the queue is full, and sees to it that `waker`
    /// is called when there is room. `ticket` keeps the caller's position among the waiting ones.
    pub(crate) fn submit_or_wait(
        &self,
        lane: Option<BlobId>,
        job: &mut Option<Job>,
        ticket: &mut Option<u64>,
        waker: &Waker,
    ) -> Result<(), Refusal> {
        let Some(taken) = job.take() else { return Ok(()) };
        let mut state = locked(&self.state);
        match state.submit(self.limit, lane, taken) {
            Ok(()) => {
                if let Some(ticket) = ticket.take() {
                    state.waiters.remove(&ticket);
                }
                drop(state);
                self.work.notify_one();
                Ok(())
            }
            Err((back, refusal)) => {
                if refusal == Refusal::Full {
                    *job = Some(back);
                    let place = *ticket.get_or_insert(state.next_ticket);
                    state.next_ticket = state.next_ticket.max(place + 1);
                    state.waiters.insert(place, waker.clone());
                }
                Err(refusal)
            }
        }
    }

    /// Gives up a position in the queue of waiting callers.
    pub(crate) fn leave(&self, ticket: u64) {
        let mut state = locked(&self.state);
        if state.waiters.remove(&ticket).is_none() {
            // It had been called and did not come: the room is the next one's.
            let next = state.waiters.pop_first();
            drop(state);
            wake(next.map(|(_, waker)| waker));
        }
    }

    /// Refuses all further jobs. Accepted jobs still run.
    pub(crate) fn close(&self) {
        let mut state = locked(&self.state);
        state.closed = true;
        let waiters = std::mem::take(&mut state.waiters);
        drop(state);
        self.work.notify_all();
        wake(waiters.into_values());
    }

    /// The loop of a worker, until the queue is closed and empty.
    pub(crate) fn serve(&self) {
        while let Some((lane, job)) = self.next() {
            let completion = job();
            // The room is free before the caller is told, so that a callback can submit the next operation.
            let mut state = locked(&self.state);
            state.accepted -= 1;
            let waiter = state.waiters.pop_first();
            drop(state);
            wake(waiter.map(|(_, waker)| waker));
            // The lane is held until the caller has been told, so that callbacks come in order. A callback that panics
            // has told so on standard error, and is no reason to stop serving others.
            let _ = catch_unwind(AssertUnwindSafe(completion));
            if let Some(blob) = lane {
                self.leave_lane(blob);
            }
        }
    }

    fn next(&self) -> Option<(Option<BlobId>, Job)> {
        let mut state = locked(&self.state);
        loop {
            if let Some(next) = state.ready.pop_front() {
                return Some(next);
            }
            // Jobs behind one at work are left to the worker that does it.
            if state.closed {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave_lane(&self, blob: BlobId) {
        let mut state = locked(&self.state);
        match state.lanes.get_mut(&blob).and_then(VecDeque::pop_front) {
            Some(job) => {
                state.ready.push_back((Some(blob), job));
                drop(state);
                self.work.notify_one();
            }
            None => {
                state.lanes.remove(&blob);
            }
        }
    }
}

impl State {
    fn submit(&mut self, limit: usize, lane: Option<BlobId>, job: Job) -> Result<(), (Job, Refusal)> {
        if self.closed {
            return Err((job, Refusal::Closed));
        }
        if self.accepted >= limit {
            return Err((job, Refusal::Full));
        }
        self.accepted += 1;
        if let Some(blob) = lane {
            if let Some(waiting) = self.lanes.get_mut(&blob) {
                waiting.push_back(job);
                return Ok(());
            }
            self.lanes.insert(blob, VecDeque::new());
        }
        self.ready.push_back((lane, job));
        Ok(())
    }
}

/// Calls wakers, which are foreign code, with no lock held.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}
