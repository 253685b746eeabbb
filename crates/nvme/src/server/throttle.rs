//! Limits of log lines that hosts can cause.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A source of log lines writes at most `burst` lines at once and one more per `pause`; the lines left out are counted.
#[derive(Debug)]
pub(crate) struct Throttle {
    burst: u32,
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Lines that may be written now.
    free: u32,
    /// When `free` last grew.
    since: Instant,
    left_out: u64,
}

impl Throttle {
    pub(crate) fn new(burst: u32, pause: Duration) -> Self {
        let state = State { free: burst, since: Instant::now(), left_out: 0 };
        Self { burst, pause, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = state.since.elapsed().as_nanos() / self.pause.as_nanos().max(1);
        let pauses = u32::try_from(passed).unwrap_or(u32::MAX);
        state.since = if pauses >= self.burst { Instant::now() } else { state.since + self.pause * pauses };
        state.free = state.free.saturating_add(pauses).min(self.burst);
        state
    }

    /// Whether a line may be written now; if so, how many were left out since the last one.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut state = self.state();
        if state.free == 0 {
            state.left_out += 1;
            return None;
        }
        state.free -= 1;
        Some(std::mem::take(&mut state.left_out))
    }

    /// The number of lines left out that no line has reported; it counts as reported.
    pub(crate) fn take_left_out(&self) -> Option<u64> {
        let left_out = std::mem::take(&mut self.state().left_out);
        (left_out > 0).then_some(left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_burst_and_one_line_a_pause_go_through_and_the_others_are_counted() {
        let throttle = Throttle::new(3, PAUSE);
        assert!((0..3).all(|_| throttle.pass() == Some(0)));
        assert!((0..1000).all(|_| throttle.pass().is_none()));
        tokio::time::advance(PAUSE).await;
        assert_eq!((throttle.pass(), throttle.pass()), (Some(1000), None));
        assert_eq!((throttle.take_left_out(), throttle.take_left_out()), (Some(1), None));
        tokio::time::advance(100 * PAUSE).await;
        assert_eq!((0..10).filter(|_| throttle.pass().is_some()).count(), 3, "no more than a burst is saved up");
        tokio::time::advance(PAUSE * 3 / 2).await;
        assert_eq!((throttle.pass(), throttle.pass()), (Some(7), None));
        tokio::time::advance(PAUSE / 2).await;
        assert_eq!(throttle.pass(), Some(1), "half a pause is not lost");
    }
}
