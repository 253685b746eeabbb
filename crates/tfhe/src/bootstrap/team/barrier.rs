//! A barrier for steps of tens of microseconds, which those of the operating system would double.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks at the others' progress before the processor is offered to another thread: some 10 µs.
const SPINS: usize = 256;
/// Offers of the processor before sleeping.
const YIELDS: usize = 64;

/// Where a number of parties wait for each other, again and again. Waiting spins, then yields, then sleeps: with a core
/// for each party none sleeps; with fewer, none uses time that another needs.
pub(super) struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// A party left before the end.
#[derive(Debug)]
pub(super) struct Broken;

impl Barrier {
    pub(super) fn new(parties: usize) -> Self {
        Self {
            parties,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Returns when all parties have called it, or one has left.
    pub(super) fn wait(&self) -> Result<(), Broken> {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // Nobody can arrive again before the generation changes.
            self.arrived.store(0, Ordering::Relaxed);
            let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.generation.fetch_add(1, Ordering::Release);
            drop(guard);
            self.wake.notify_all();
        } else {
            self.wait_for_next(generation);
        }
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(()) }
    }

    fn wait_for_next(&self, generation: usize) {
        let waiting = || self.generation.load(Ordering::Acquire) == generation && !self.broken.load(Ordering::Acquire);
        for _ in 0..SPINS {
            if !waiting() {
                return;
            }
            std::hint::spin_loop();
        }
        for _ in 0..YIELDS {
            if !waiting() {
                return;
            }
            std::thread::yield_now();
        }
        let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends everyone home who waits now or later.
    pub(super) fn break_up(&self) {
        let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.broken.store(true, Ordering::Release);
        drop(guard);
        self.wake.notify_all();
    }

    /// Breaks the barrier if its thread panics before it is dropped.
    pub(super) fn breaker(&self) -> Breaker<'_> {
        Breaker(self)
    }
}

/// See [`Barrier::breaker`].
pub(super) struct Breaker<'a>(&'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Barrier;

    /// More parties than cores: no party passes before all have arrived, and the barrier ends.
    #[test]
    fn no_party_is_a_step_ahead() {
        const PARTIES: usize = 7;
        let (barrier, steps) = (Barrier::new(PARTIES), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..PARTIES {
                scope.spawn(|| {
                    for step in 0..500 {
                        steps.fetch_add(1, Ordering::Relaxed);
                        barrier.wait().expect("all stay");
                        let seen = steps.load(Ordering::Relaxed);
                        assert!((PARTIES * (step + 1)..PARTIES * (step + 2)).contains(&seen), "{step}: {seen}");
                        barrier.wait().expect("all stay");
                    }
                });
            }
        });
    }

    #[test]
    fn a_party_that_panics_leaves_nobody_waiting() {
        let barrier = Barrier::new(3);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..2).map(|_| scope.spawn(|| barrier.wait().is_err())).collect();
            let panicking = scope.spawn(|| {
                let _breaker = barrier.breaker();
                panic!("meant");
            });
            assert!(panicking.join().is_err());
            assert!(waiting.into_iter().all(|w| w.join().expect("no panic")));
        });
    }
}
