//! How many programs run at a time, and how many may wait.

use crate::error::DeviceError;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Lets a bounded number of callers in; a bounded number wait, first come first served.
#[derive(Debug)]
pub(super) struct Gate {
    max_running: usize,
    max_waiting: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Tickets given out and tickets let in; the difference waits.
    next_ticket: u64,
    admitted: u64,
}

impl State {
    fn waiting(&self) -> usize {
        (self.next_ticket - self.admitted) as usize
    }
}

/// The right to run; ends when dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(max_running: usize, max_waiting: usize) -> Self {
        Self { max_running, max_waiting, state: Mutex::default(), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    pub(super) fn enter(&self) -> Result<Pass<'_>, DeviceError> {
        let mut state = self.lock();
        let must_wait = state.running >= self.max_running || state.waiting() > 0;
        if must_wait && state.waiting() >= self.max_waiting {
            return Err(DeviceError::Busy { running: state.running, waiting: state.waiting() });
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        while state.running >= self.max_running || state.admitted != ticket {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.admitted += 1;
        state.running += 1;
        drop(state);
        // The next ticket may be admissible too, when several passes ended at once.
        self.freed.notify_all();
        Ok(Pass(self))
    }

    /// Programs running and waiting.
    pub(super) fn depth(&self) -> (u64, u64) {
        let state = self.lock();
        (state.running as u64, state.waiting() as u64)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    #[test]
    fn no_more_run_than_may_and_no_more_wait_than_may() {
        let gate = Gate::new(2, 3);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let first = (gate.enter().expect("free"), gate.enter().expect("free"));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _pass = gate.enter().expect("may wait");
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(std::time::Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
            while gate.depth() != (2, 3) {
                thread::yield_now();
            }
            assert!(matches!(gate.enter(), Err(DeviceError::Busy { running: 2, waiting: 3 })));
            drop(first);
        });
        assert_eq!(gate.depth(), (0, 0));
        assert!(most.load(Ordering::SeqCst) <= 2);
    }
}
