//! The periodic verification of all stored data, concurrent with the traffic.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciphermill_blockspace::volume::{self, Volume};
use ciphermill_device::Device;

use super::exposition::Exposition;
use crate::error::CliError;

/// The results of the scrubs, and their stop flag.
#[derive(Debug, Default)]
pub(super) struct State {
    stop: AtomicBool,
    lock: Mutex<()>,
    stopped: Condvar,
    runs: AtomicU64,
    finished: AtomicU64,
    damage: AtomicU64,
}

impl State {
    /// Waits; false when it is time to stop.
    fn wait(&self, time: Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.stopped.wait_timeout_while(guard, time, |()| !self.stop.load(Ordering::Relaxed));
        drop(waited);
        !self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn metrics(&self, out: &mut Exposition) {
        let runs = self.runs.load(Ordering::Relaxed);
        out.counter("ciphermill_scrub_runs_total", "Scrubs of objects and blocks that came to their end.", runs);
        let finished = self.finished.load(Ordering::Relaxed);
        let help = "When the last of them ended, in seconds since 1970; 0 before the first.";
        out.gauge("ciphermill_scrub_last_end_seconds", help, finished);
        let damage = self.damage.load(Ordering::Relaxed);
        out.gauge("ciphermill_scrub_damaged", "Damaged objects and blocks that the last scrub found.", damage);
    }
}

/// The thread that scrubs; stopped and awaited when dropped, at the latest after the object being read.
pub(super) struct Scrubber {
    state: Arc<State>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Scrubber {
    /// Scrubs after each `every`.
    pub(super) fn start(state: Arc<State>, every: Duration, device: Device, volume: Volume) -> Result<Self, CliError> {
        let mine = Arc::clone(&state);
        let run = move || {
            while mine.wait(every) {
                scrub(&mine, &device, &volume);
            }
        };
        let thread = thread::Builder::new().name("scrub".to_owned()).spawn(run);
        let thread = thread.map_err(|error| CliError::Server(format!("cannot start the scrubbing thread: {error}")))?;
        Ok(Self { state, thread: Some(thread) })
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        {
            // Under the lock, or the thread could miss it between looking and waiting.
            let _guard = self.state.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.state.stop.store(true, Ordering::Relaxed);
        }
        self.state.stopped.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of it was told on standard error.
            let _ = thread.join();
        }
    }
}

fn scrub(state: &State, device: &Device, volume: &Volume) {
    tracing::info!("scrub begins");
    let blocks = volume.scrub(&mut |event| {
        if let volume::ScrubEvent::Damaged { space, lba } = event {
            tracing::error!(space, lba, "damaged block");
        }
        if state.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let blocks = match blocks {
        Ok(blocks) if blocks.complete => blocks,
        Ok(_) => return,
        Err(error) => {
            tracing::error!(%error, "the scrub of the blocks failed");
            return;
        }
    };
    let objects = match device.scrub(&mut |event| super::super::scrub::log(&event)) {
        Ok(objects) => objects,
        Err(error) => {
            tracing::error!(%error, "the scrub of the objects failed");
            return;
        }
    };
    let table = u64::from(objects.table_sound == Some(false));
    let damaged = blocks.damaged + objects.damaged_objects + table;
    state.runs.fetch_add(1, Ordering::Relaxed);
    state.damage.store(damaged, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    state.finished.store(now, Ordering::Relaxed);
    tracing::info!(blocks = blocks.blocks, objects = objects.objects, damaged, "scrub ended");
}
