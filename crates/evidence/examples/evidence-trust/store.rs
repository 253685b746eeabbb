//! The backup of a busy store and its price for the hosts, and the repair of 200 damaged stores.
//!
//! `CIPHERMILL_EVIDENCE_STORE_GB` makes the store of the backup smaller, to try the runner.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use ciphermill_evidence as support;

use crate::crash_support::{Numbers, Server, connect};
use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::initiator::RemoteNamespace;

/// Size of the store that is backed up, in units of 10^9 bytes.
const STORE_GB: u64 = 4;
/// Bytes of a write that fills the store.
const FILL_BYTES: u64 = 1 << 20;
/// Bytes of a command of the load.
const LOAD_BYTES: u64 = 16 << 10;
/// Commands of the load at one time.
const LOAD_DEPTH: u64 = 8;
/// Time of each measurement of the load alone.
const ALONE: Duration = Duration::from_secs(30);
/// The most that a backup may take from the load, as a share.
const MOST_SLOWDOWN: f64 = 0.20;

/// 200 random damages; the test fails if an undamaged object is missing.
pub(crate) fn repair() -> Result<Value, Box<dyn Error>> {
    let binary = ["-p", "ciphermill-device", "--test", "device"];
    let name = "salvage::every_undamaged_object_comes_back_after_200_random_damages";
    let (mut record, said) = support::tests(&binary, &["--exact", name], &[])?;
    for (before, after, name) in
        [("", " of 200 stores did not open", "did_not_open"), ("did not open; ", " objects recovered", "recovered")]
    {
        record[name] = json!(support::number(&said, before, after));
    }
    record["damages"] = json!(200);
    Ok(record)
}

/// The rate of a load on a served store alone, during a backup, and alone again.
pub(crate) fn backup() -> Result<Value, Box<dyn Error>> {
    let binary = support::release_binary()?;
    let directory = tempfile::tempdir_in(".")?;
    let (store, target) = (directory.path().join("s"), directory.path().join("b"));
    let gigabytes = std::env::var("CIPHERMILL_EVIDENCE_STORE_GB").ok().and_then(|text| text.parse().ok());
    let blocks = gigabytes.unwrap_or(STORE_GB) * 1_000_000_000 / BLOCK_BYTES as u64;
    let server = Server::start(&binary, &store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let (_controller, namespace) = connect(&server).await?;
        fill(&namespace, blocks).await?;
        let before = load(&namespace, blocks, after(ALONE)).await?;
        let run = tokio::task::spawn_blocking({
            let (binary, store, target) = (binary.clone(), store.clone(), target.clone());
            move || run_backup(&binary, &store, &target).map_err(|error| error.to_string())
        });
        let done = Arc::new(AtomicBool::new(false));
        let watch = Arc::clone(&done);
        let waiting = tokio::spawn(async move {
            let outcome = run.await;
            watch.store(true, Ordering::SeqCst);
            outcome
        });
        let during = load(&namespace, blocks, move || done.load(Ordering::SeqCst)).await?;
        let (record, wall_s) = waiting.await???;
        let later = load(&namespace, blocks, after(ALONE)).await?;
        Ok::<_, Box<dyn Error>>((before, during, later, record, wall_s))
    });
    let (before, during, later, record, wall_s) = outcome?;
    drop(server);
    let alone = f64::midpoint(before, later);
    let slowdown = 1.0 - during / alone;
    if record["complete"] != json!(true) {
        return Err("the backup is not complete".into());
    }
    if slowdown > MOST_SLOWDOWN {
        return Err(
            format!("the backup took {:.0} % from the load: {before}, {during}, {later}", 100.0 * slowdown).into()
        );
    }
    Ok(json!({
        "store_bytes": blocks * BLOCK_BYTES as u64, "load_bytes": LOAD_BYTES, "load_depth": LOAD_DEPTH,
        "commands_per_s_before": before, "commands_per_s_during": during, "commands_per_s_after": later,
        "slowdown": slowdown, "backup_wall_s": wall_s, "blocks": record["blocks"],
    }))
}

pub(crate) fn after(time: Duration) -> impl Fn() -> bool + Send + Sync + 'static {
    let begun = Instant::now();
    move || begun.elapsed() >= time
}

fn run_backup(binary: &Path, store: &Path, target: &Path) -> Result<(Value, f64), Box<dyn Error>> {
    let begun = Instant::now();
    let mut command = Command::new(binary);
    command.args(["store", "backup", "--json", "--store"]).arg(store).arg("--backup").arg(target);
    let output = command.stderr(Stdio::inherit()).output()?;
    let wall_s = begun.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok((serde_json::from_slice(&output.stdout)?, wall_s)),
        false => Err(format!("store backup: {}", output.status).into()),
    }
}

fn content(numbers: &mut Numbers, len: u64) -> Vec<u8> {
    (0..len / 8).flat_map(|_| numbers.below(u64::MAX >> 16).to_le_bytes()).collect()
}

async fn fill(namespace: &RemoteNamespace, blocks: u64) -> Result<(), Box<dyn Error>> {
    let mut numbers = Numbers::new(4);
    let bytes = content(&mut numbers, FILL_BYTES);
    for lba in (0..blocks).step_by((FILL_BYTES / BLOCK_BYTES as u64) as usize) {
        // Other content at every address, at no cost.
        let mut bytes = bytes.clone();
        bytes.chunks_mut(BLOCK_BYTES).enumerate().for_each(|(block, bytes)| {
            bytes[..8].copy_from_slice(&(lba + block as u64).to_le_bytes());
        });
        namespace.write(lba, bytes).await?;
    }
    Ok(())
}

/// Commands per second of a load of half reads and half writes at random addresses, until `stop`.
pub(crate) async fn load(
    namespace: &RemoteNamespace,
    blocks: u64,
    stop: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<f64, Box<dyn Error>> {
    let (begun, stop, count) = (Instant::now(), Arc::new(stop), Arc::new(AtomicU64::new(0)));
    let tasks: Vec<_> = (0..LOAD_DEPTH)
        .map(|worker| {
            let (namespace, stop, count) = (namespace.clone(), Arc::clone(&stop), Arc::clone(&count));
            tokio::spawn(async move {
                let mut numbers = Numbers::new(worker + 1);
                let bytes = content(&mut numbers, LOAD_BYTES);
                let step = LOAD_BYTES / BLOCK_BYTES as u64;
                while !stop() {
                    let lba = numbers.below(blocks / step) * step;
                    match numbers.below(2) {
                        0 => namespace.write(lba, bytes.clone()).await?,
                        _ => drop(namespace.read(lba, step as u32).await?),
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, ciphermill_nvme::initiator::InitiatorError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}
