//! An hour of a served device under load, with bounded memory.
//!
//! `CIPHERMILL_EVIDENCE_SERVE_MINUTES` sets another time, to try the runner.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ciphermill_evidence as support;
use serde_json::{Value, json};

use crate::crash_support::{Server, connect};
use crate::store::{after, load};

const MINUTES: u64 = 60;
/// Blocks that the load touches: 1 GiB.
const BLOCKS: u64 = 1 << 18;
const INTERVAL: Duration = Duration::from_secs(5);
/// The most that the server may grow from the first sixth of the time to the last.
const MOST_GROWTH_MIB: u64 = 32;

/// Fails if the server grows, or ends.
pub(crate) fn hour() -> Result<Value, Box<dyn Error>> {
    let minutes = std::env::var("CIPHERMILL_EVIDENCE_SERVE_MINUTES").map_or(Ok(MINUTES), |text| text.parse())?;
    let directory = tempfile::tempdir_in(".")?;
    let server = Server::start(&support::release_binary()?, &directory.path().join("s"));
    let (pid, over) = (server.pid(), Arc::new(AtomicBool::new(false)));
    let watcher = std::thread::spawn({
        let over = Arc::clone(&over);
        move || samples(pid, &over)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let rate = runtime.block_on(async {
        let (_controller, namespace) = connect(&server).await?;
        load(&namespace, BLOCKS, after(Duration::from_secs(60 * minutes))).await
    });
    over.store(true, Ordering::SeqCst);
    let resident = watcher.join().map_err(|_| "the watcher panicked")?;
    let commands_per_s = rate?;
    let sixth = (resident.len() / 6).max(1);
    let most = |samples: &[u64]| samples.iter().copied().max().unwrap_or(0);
    let (first, last) = (most(&resident[..sixth.min(resident.len())]), most(&resident[resident.len() - sixth..]));
    if last > first + MOST_GROWTH_MIB {
        return Err(format!("the server grew from {first} to {last} MiB").into());
    }
    Ok(json!({
        "minutes": minutes, "commands_per_s": commands_per_s, "resident_mib_first_sixth": first,
        "resident_mib_last_sixth": last, "resident_mib_most": most(&resident),
    }))
}

/// The resident memory in MiB, at each interval.
fn samples(pid: u32, over: &AtomicBool) -> Vec<u64> {
    let mut samples = Vec::new();
    while !over.load(Ordering::SeqCst) {
        samples.extend(support::resident_mib(pid));
        std::thread::sleep(INTERVAL);
    }
    samples
}
