//! Timed samples, and the threads that they run on.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

use crate::error::CliError;
use crate::fault::judged;
use crate::output::Progress;

/// Times of the samples, and how many results were wrong.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) times: Vec<Duration>,
    pub(super) wrong: usize,
}

impl Samples {
    /// Runs `work` once to warm up and then `count` times; `check` judges each result.
    pub(super) fn take<T: Send>(
        count: u32,
        pool: &ThreadPool,
        mut work: impl FnMut(u32) -> Result<T, CliError> + Send,
        mut check: impl FnMut(u32, T) -> Result<bool, CliError>,
    ) -> Result<Self, CliError> {
        let progress = Progress::bar("samples");
        let mut samples = Self::default();
        for sample in 0..=count {
            let (result, time) = pool.install(|| {
                let begun = Instant::now();
                let result = work(sample);
                (result, begun.elapsed())
            });
            // The warm-up's result counts, its time does not.
            samples.wrong += usize::from(!judged(check(sample, result?)?));
            if sample > 0 {
                samples.times.push(time);
            }
            progress.set(u64::from(sample), u64::from(count));
        }
        samples.times.sort_unstable();
        Ok(samples)
    }

    /// The shortest time and the median, the mean of the two middle times where they are even in number.
    pub(super) fn min_and_median(&self) -> (u64, u64) {
        let nanos = |index: usize| self.times.get(index).map_or(0, |time| time.as_nanos() as u64);
        let len = self.times.len();
        (nanos(0), nanos(len.saturating_sub(1) / 2).midpoint(nanos(len / 2)))
    }
}

/// How many operations of `ns` nanoseconds each fit into a second.
pub(super) fn per_second(ns: f64) -> f64 {
    1e9 / ns.max(1e-3)
}

/// The threads asked for, or all that this process may use.
pub(super) fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// A pool of that many threads; a single one stays on the CPU where it begins.
pub(super) fn pool(threads: usize) -> Result<ThreadPool, CliError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CliError::Threads(error.to_string()))?;
    if threads == 1 {
        let pinned = pool.install(|| {
            let mut here = CpuSet::new();
            here.set(sched_getcpu());
            sched_setaffinity(None, &here)
        });
        pinned.map_err(|error| CliError::Threads(error.to_string()))?;
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        let samples =
            |times: &[u64]| Samples { times: times.iter().map(|&ns| Duration::from_nanos(ns)).collect(), wrong: 0 };
        assert_eq!(samples(&[3]).min_and_median(), (3, 3));
        assert_eq!(samples(&[1, 2, 9]).min_and_median(), (1, 2));
        assert_eq!(samples(&[1, 2, 4, 9]).min_and_median(), (1, 3));
    }
}
