//! A soak of the served device: `make soak`. Honest load with an oracle, hostile clients, kills and backups run together for
//! 30 minutes; `SOAK_MINUTES` sets another time.
//!
//! The record counts every kind of event. The run fails if an acknowledged write is lost or torn, a complete backup is
//! unsound, the server ends by itself, its memory exceeds the bound, or `/healthz` does not answer.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ciphermill_evidence as support;
use serde_json::json;

mod backups;
#[path = "../../../cli/tests/crash_support/mod.rs"]
mod crash_support;
mod hostile;
mod watch;

use crash_support::{Crashes, Tally};

const MINUTES: u64 = 30;
/// The longest life of a server before it is killed.
const LIFE: Duration = Duration::from_secs(60);
/// Bound of the server's resident memory. Its budgets: 16 MiB of main memory, no keys, buffers of the connections.
const MOST_RESIDENT_MIB: u64 = 512;

/// Threads that run together with the writers of a round. They end when it is dropped.
#[derive(Default)]
struct Beside {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Beside {
    fn start(&mut self, work: impl FnOnce(&AtomicBool) + Send + 'static) {
        let over = Arc::clone(&self.over);
        self.threads.push(std::thread::spawn(move || work(&over)));
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            // A panic is on standard error; the result of its thread is missing.
            let _ = thread.join();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let minutes = std::env::var("SOAK_MINUTES").map_or(Ok(MINUTES), |text| text.parse())?;
    let binary = support::release_binary()?;
    let directory = tempfile::tempdir_in(".")?;
    let store = directory.path().join("s");
    let seed = ciphermill_testing::fresh_seed("soak");
    eprintln!("{minutes} minutes, seed {seed:#x}");
    let (mut crashes, mut tally) = (Crashes::new(&binary, &store, seed), Tally::default());
    let (begun, total) = (Instant::now(), Duration::from_secs(60 * minutes));
    let hostile = Arc::new(hostile::Counts::default());
    let mut backups = backups::Backups::new(&binary, &store, directory.path());
    let mut watched = watch::Watched::default();
    let mut round = 0;
    while begun.elapsed() < total {
        let left = total.saturating_sub(begun.elapsed()).max(Duration::from_secs(1));
        let (seen, saved) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        // Other attacks in each round.
        let begin = seed.wrapping_add(hostile::ATTACKERS * round);
        round += 1;
        crashes.round_beside(LIFE.min(left), &mut tally, |server| {
            let mut beside = Beside::default();
            for number in 0..hostile::ATTACKERS {
                let target = hostile::Target { address: server.address.clone(), subsystem: server.subsystem.clone() };
                let hostile = Arc::clone(&hostile);
                beside.start(move |over| hostile::attack(&target, begin.wrapping_add(number), over, &hostile));
            }
            let (pid, metrics, seen) = (server.pid(), server.metrics.clone(), Arc::clone(&seen));
            beside.start(move |over| *seen.lock().expect("whole") = Some(watch::watch(pid, &metrics, over)));
            let (job, saved) = (backups.job(), Arc::clone(&saved));
            beside.start(move |over| *saved.lock().expect("whole") = Some(job.run(over)));
            Some(beside)
        });
        watched.add(seen.lock().expect("whole").take().ok_or("the watcher ended early")?)?;
        backups.add(saved.lock().expect("whole").take().ok_or("the saver ended early")?)?;
        backups.verify()?;
    }
    crashes.finish(&mut tally);
    if watched.resident_mib > MOST_RESIDENT_MIB {
        return Err(format!("{} MiB resident, at most {MOST_RESIDENT_MIB} are allowed", watched.resident_mib).into());
    }
    if hostile.admitted() > 0 {
        return Err(format!("{} hosts that no list names were let in", hostile.admitted()).into());
    }
    backups.judge()?;
    support::write(&json!({
        "minutes": minutes, "seed": format!("{seed:#x}"), "kills": tally.kills,
        "acknowledged_writes": tally.acknowledged, "blocks_checked": tally.blocks_checked,
        "objects_checked": tally.objects_checked, "lost": 0, "torn": 0,
        "refused_connections_of_the_honest_host": tally.refused_connections,
        "hostile": hostile.record(), "backups": backups.record(), "server": watched.record(),
    }))
}
