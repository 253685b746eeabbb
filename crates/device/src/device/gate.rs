//! How many programs run at a time, how many may wait, and whose turn it is.

use crate::{error::DeviceError, store::SpaceId};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Lets a bounded number of callers in; a bounded number wait. Spaces with waiting callers take turns; within a space, callers
/// are served in the order of their arrival. So a space with many programs delays another by one program at a time, not by its queue.
#[derive(Debug)]
pub(super) struct Gate {
    max_running: usize,
    max_waiting: usize,
    max_waiting_of_space: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Programs that run or are about to run.
    running: usize,
    waiting: usize,
    next_ticket: u64,
    /// Tickets that wait, by space; no queue is empty.
    queues: BTreeMap<SpaceId, VecDeque<u64>>,
    /// The spaces that have a queue, in the order of their turns.
    turns: VecDeque<SpaceId>,
    /// Tickets whose turn it is.
    admitted: BTreeSet<u64>,
}

impl State {
    /// Gives turns while there is room. Returns whether it gave any.
    fn admit(&mut self, max_running: usize) -> bool {
        let mut any = false;
        while self.running < max_running
            && let Some(space) = self.turns.pop_front()
        {
            let Some(queue) = self.queues.get_mut(&space) else { continue };
            let ticket = queue.pop_front();
            if queue.is_empty() {
                self.queues.remove(&space);
            } else {
                self.turns.push_back(space);
            }
            let Some(ticket) = ticket else { continue };
            self.waiting -= 1;
            self.running += 1;
            self.admitted.insert(ticket);
            any = true;
        }
        any
    }
}

/// The right to run; ends when dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(max_running: usize, max_waiting: usize, max_waiting_of_space: usize) -> Self {
        Self { max_running, max_waiting, max_waiting_of_space, state: Mutex::default(), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn of `space`.
    pub(super) fn enter(&self, space: SpaceId) -> Result<Pass<'_>, DeviceError> {
        let mut state = self.lock();
        // Nobody waits while there is room: whoever frees some gives the turns.
        if state.running < self.max_running {
            state.running += 1;
            return Ok(Pass(self));
        }
        let own = state.queues.get(&space).map_or(0, VecDeque::len);
        if state.waiting >= self.max_waiting || own >= self.max_waiting_of_space {
            let waiting = if own >= self.max_waiting_of_space { own } else { state.waiting };
            return Err(DeviceError::Busy { running: state.running, waiting });
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting += 1;
        state.queues.entry(space).or_default().push_back(ticket);
        if own == 0 {
            state.turns.push_back(space);
        }
        while !state.admitted.remove(&ticket) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(Pass(self))
    }

    /// Programs running and waiting.
    pub(super) fn depth(&self) -> (u64, u64) {
        let state = self.lock();
        (state.running as u64, state.waiting as u64)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running -= 1;
        let any = state.admit(self.0.max_running);
        drop(state);
        if any {
            self.0.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    const A: SpaceId = SpaceId(1);
    const B: SpaceId = SpaceId(2);

    #[test]
    fn no_more_run_than_may_and_no_more_wait_than_may() {
        let gate = Gate::new(2, 3, 3);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let first = (gate.enter(A).expect("free"), gate.enter(A).expect("free"));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _pass = gate.enter(A).expect("may wait");
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(std::time::Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
            while gate.depth() != (2, 3) {
                thread::yield_now();
            }
            assert!(matches!(gate.enter(A), Err(DeviceError::Busy { running: 2, waiting: 3 })));
            assert!(matches!(gate.enter(B), Err(DeviceError::Busy { running: 2, waiting: 3 })), "the queue is full");
            drop(first);
        });
        assert_eq!(gate.depth(), (0, 0));
        assert!(most.load(Ordering::SeqCst) <= 2);
    }

    #[test]
    fn spaces_take_turns_and_none_fills_the_queue() {
        let gate = Gate::new(1, 100, 4);
        let order = Mutex::new(Vec::new());
        let first = gate.enter(A).expect("free");
        thread::scope(|scope| {
            for (waiting, space) in [A, A, A, A, B, B].into_iter().enumerate() {
                let (gate, order) = (&gate, &order);
                scope.spawn(move || {
                    let _pass = gate.enter(space).expect("may wait");
                    order.lock().expect("no panic").push((space, waiting));
                });
                while gate.depth().1 != waiting as u64 + 1 {
                    thread::yield_now();
                }
            }
            assert!(matches!(gate.enter(A), Err(DeviceError::Busy { running: 1, waiting: 4 })), "its share is used up");
            drop(first);
        });
        let order = order.into_inner().expect("no panic");
        assert_eq!(order, [(A, 0), (B, 4), (A, 1), (B, 5), (A, 2), (A, 3)]);
        assert_eq!(gate.depth(), (0, 0));
        assert!(gate.lock().queues.is_empty() && gate.lock().admitted.is_empty());
    }
}
