//! Pauses of work that the server does while it serves hosts: the work takes a share of the time, and the hosts lose no more
//! than about that.

use std::thread;
use std::time::{Duration, Instant};

/// The longest pause before the next look at whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Pauses that would be shorter are saved up.
const SHORTEST: Duration = Duration::from_millis(2);

/// Pauses after each step of work.
#[derive(Debug)]
pub(super) struct Pace {
    /// Percent of the time that work may take, 1 to 100.
    share: u32,
    begun: Instant,
    owed: Duration,
}

impl Pace {
    pub(super) fn new(share: u32) -> Self {
        Self { share: share.clamp(1, 100), begun: Instant::now(), owed: Duration::ZERO }
    }

    /// After a step: pauses as long as the share asks for, while `goes_on`.
    pub(super) fn pause(&mut self, goes_on: impl Fn() -> bool) {
        self.owed += self.begun.elapsed() * (100 - self.share) / self.share;
        while self.owed >= SHORTEST && goes_on() {
            let paused = Instant::now();
            thread::sleep(self.owed.min(LOOK));
            // A sleep may be longer than asked for.
            self.owed = self.owed.saturating_sub(paused.elapsed());
        }
        self.begun = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 3 ms, and the time from the first to the last.
    fn run(share: u32, steps: u32) -> Duration {
        let (begun, mut pace) = (Instant::now(), Pace::new(share));
        for _ in 0..steps {
            let step = Instant::now();
            while step.elapsed() < Duration::from_millis(3) {}
            pace.pause(|| true);
        }
        begun.elapsed()
    }

    #[test]
    fn work_takes_its_share_of_the_time() {
        // Only the least time is sure on a busy machine.
        assert!(run(25, 20) >= Duration::from_millis(4 * 20 * 3 - 3));
        let mut pace = Pace::new(1);
        thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        pace.pause(|| false);
        assert!(pace.owed > Duration::from_secs(1) && begun.elapsed() < pace.owed, "it would be two seconds");
        let mut pace = Pace::new(100);
        thread::sleep(Duration::from_millis(5));
        pace.pause(|| true);
        assert_eq!(pace.owed, Duration::ZERO);
    }
}
