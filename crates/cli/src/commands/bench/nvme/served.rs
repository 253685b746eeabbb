//! Rates and latencies of a served device, seen by our own initiator.

use crate::fault::judged;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::initiator::{InitiatorError, RemoteNamespace};
use tokio::task::JoinSet;

use super::placement::Placement;
use super::raw::PIECE;
use super::record::Asked;

/// Blocks of the plain region that is read and written: 256 MiB.
const REGION: u64 = (256 << 20) / BLOCK_BYTES as u64;
const PIECE_BLOCKS: u64 = (PIECE / BLOCK_BYTES) as u64;

/// A load on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) write: bool,
    pub(super) blocks: u64,
    pub(super) depth: usize,
    /// Anywhere in the region rather than one piece after the other.
    pub(super) random: bool,
}

static LOADS: [Load; 6] = [
    Load::short(false, 1),
    Load::short(false, 32),
    Load::long(false),
    Load::long(true),
    Load::short(true, 1),
    Load::short(true, 32),
];

impl Load {
    const fn short(write: bool, depth: usize) -> Self {
        Self { write, blocks: 1, depth, random: true }
    }

    const fn long(write: bool) -> Self {
        Self { write, blocks: PIECE_BLOCKS, depth: 32, random: false }
    }

    /// The loads of a placement. Throughput is of all cores at work, and a durable write waits for the disk: neither gains
    /// from a core that it has to share.
    pub(super) fn of(placement: Placement) -> &'static [Self] {
        match placement {
            Placement::Free => &LOADS,
            Placement::Awake => &LOADS[..4],
            Placement::OneCore => &LOADS[..2],
        }
    }

    /// The target of the load.
    pub(super) fn asked(self) -> Option<Asked> {
        match (self.write, self.blocks, self.depth) {
            (false, 1, 1) => Some(Asked::OpsPerS(15e3)),
            (false, 1, 32) => Some(Asked::OpsPerS(60e3)),
            (false, PIECE_BLOCKS, 32) => Some(Asked::BytesPerS(1e9)),
            (true, PIECE_BLOCKS, 32) => Some(Asked::BytesPerS(0.4e9)),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> String {
        let verb = if self.write { "write" } else { "read" };
        format!("nvme/{verb}/{}k/depth{}", self.blocks * 4, self.depth)
    }
}

/// The results of a load.
pub(super) struct Seen {
    /// Time of each command.
    pub(super) times: Vec<Duration>,
    /// Commands per second of each window.
    pub(super) rates: Vec<f64>,
    /// The number of blocks with wrong content.
    pub(super) wrong: usize,
}

/// The content of a block of the region: its number over and over, mixed so that no two blocks begin alike.
fn block(lba: u64) -> [u8; BLOCK_BYTES] {
    let word = (lba + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    std::array::from_fn(|index| word[index % 8])
}

/// Writes the whole region once.
pub(super) async fn fill(namespace: &RemoteNamespace) -> Result<(), InitiatorError> {
    for lba in (0..REGION).step_by(PIECE_BLOCKS as usize) {
        namespace.write(lba, content(lba, PIECE_BLOCKS)).await?;
    }
    Ok(())
}

fn content(lba: u64, blocks: u64) -> Vec<u8> {
    (lba..lba + blocks).flat_map(block).collect()
}

/// A command that ended.
struct Ended {
    at: Instant,
    took: Duration,
    right: bool,
}

/// Keeps `depth` commands in progress, one per worker, for `windows` windows.
pub(super) async fn run(
    namespace: &RemoteNamespace,
    load: Load,
    windows: u32,
    window: Duration,
) -> Result<Seen, InitiatorError> {
    let pieces = REGION / load.blocks;
    // Contents made beforehand: making them is not the server's time.
    let contents = (0..if load.write { CONTENTS } else { 0 })
        .map(|index| (index * (pieces / CONTENTS)) * load.blocks)
        .map(|lba| (lba, Bytes::from(content(lba, load.blocks))))
        .collect();
    let plan = Arc::new(Plan { load, contents, begun: Instant::now(), length: window * windows });
    let mut workers = JoinSet::new();
    for worker in 0..load.depth as u64 {
        workers.spawn(work(namespace.clone(), Arc::clone(&plan), worker));
    }
    let mut seen = Seen { times: Vec::new(), rates: Vec::new(), wrong: 0 };
    let mut counts = vec![0u64; windows as usize];
    while let Some(worker) = workers.join_next().await {
        for ended in worker.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))? {
            let into = ended.at.duration_since(plan.begun).as_nanos() / window.as_nanos().max(1);
            // Those that end after the last window count in none.
            if let Some(count) = counts.get_mut(into as usize) {
                *count += 1;
            }
            seen.times.push(ended.took);
            seen.wrong += usize::from(!judged(ended.right));
        }
    }
    seen.rates = counts.into_iter().map(|count| count as f64 / window.as_secs_f64()).collect();
    Ok(seen)
}

/// Contents that a writing load has.
const CONTENTS: u64 = 64;

struct Plan {
    load: Load,
    contents: Vec<(u64, Bytes)>,
    begun: Instant,
    length: Duration,
}

/// The commands of one of the workers.
async fn work(namespace: RemoteNamespace, plan: Arc<Plan>, worker: u64) -> Result<Vec<Ended>, InitiatorError> {
    let (load, pieces) = (plan.load, REGION / plan.load.blocks);
    let (mut ended, mut next) = (Vec::new(), worker);
    let mut state = (worker + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while plan.begun.elapsed() < plan.length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let chosen = if load.random { state } else { next };
        next += load.depth as u64;
        let begun = Instant::now();
        let right = if load.write {
            let (lba, bytes) = &plan.contents[(chosen % CONTENTS) as usize];
            namespace.write(*lba, bytes.clone()).await?;
            None
        } else {
            let lba = chosen % pieces * load.blocks;
            Some((lba, namespace.read(lba, load.blocks as u32).await?))
        };
        let (at, took) = (Instant::now(), begun.elapsed());
        let right = right.is_none_or(|(lba, found)| {
            found.len() as u64 == load.blocks * BLOCK_BYTES as u64
                && (lba..).zip(found.chunks_exact(BLOCK_BYTES)).all(|(lba, bytes)| bytes == block(lba))
        });
        ended.push(Ended { at, took, right });
    }
    Ok(ended)
}
