//! Log lines that anybody can cause are written at most once in a while.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The least time between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// Lets a line through now and then.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// When the last one went through, and how many were held back since.
    state: Mutex<(Option<Instant>, u64)>,
}

impl Throttle {
    /// Whether a line may be written now; if so, how many were not since the last one.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.0.is_some_and(|last| now - last < PAUSE) {
            state.1 += 1;
            return None;
        }
        let (_, held_back) = std::mem::replace(&mut *state, (Some(now), 0));
        Some(held_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_a_second_goes_through_and_the_others_are_counted() {
        let throttle = Throttle::default();
        assert_eq!(throttle.pass(), Some(0));
        assert!((0..1000).all(|_| throttle.pass().is_none()));
        tokio::time::advance(PAUSE).await;
        assert_eq!(throttle.pass(), Some(1000));
        assert_eq!(throttle.pass(), None);
    }
}
