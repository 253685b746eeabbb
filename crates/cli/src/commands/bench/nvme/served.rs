//! Rates and latencies of a served device, seen by our own initiator.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::initiator::{InitiatorError, RemoteNamespace};

use super::raw::PIECE;

/// Blocks of the plain region that is read and written: 256 MiB.
const REGION: u64 = (256 << 20) / BLOCK_BYTES as u64;
const PIECE_BLOCKS: u64 = (PIECE / BLOCK_BYTES) as u64;

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) write: bool,
    pub(super) blocks: u64,
    pub(super) depth: usize,
    /// Anywhere in the region rather than one piece after the other.
    pub(super) random: bool,
}

impl Load {
    pub(super) const ALL: [Self; 6] = [
        Self { write: false, blocks: 1, depth: 1, random: true },
        Self { write: false, blocks: 1, depth: 32, random: true },
        Self { write: false, blocks: PIECE_BLOCKS, depth: 32, random: false },
        Self { write: true, blocks: 1, depth: 1, random: true },
        Self { write: true, blocks: 1, depth: 32, random: true },
        Self { write: true, blocks: PIECE_BLOCKS, depth: 32, random: false },
    ];

    pub(super) fn name(&self) -> String {
        let verb = if self.write { "write" } else { "read" };
        format!("nvme/{verb}/{}k/depth{}", self.blocks * 4, self.depth)
    }
}

/// What a load saw.
pub(super) struct Seen {
    /// Time of each command.
    pub(super) times: Vec<Duration>,
    /// Commands per second of each window.
    pub(super) rates: Vec<f64>,
    /// Blocks that were not what they should be.
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

type Outcome = Result<(u64, Duration, bool), InitiatorError>;

/// Keeps `depth` commands under way for `windows` windows.
pub(super) async fn run(
    namespace: &RemoteNamespace,
    load: Load,
    windows: u32,
    window: Duration,
) -> Result<Seen, InitiatorError> {
    let pieces = REGION / load.blocks;
    // Contents made beforehand: making them is not the server's time.
    let contents: Vec<(u64, Vec<u8>)> = (0..64u64)
        .map(|index| (index * (pieces / 64)) * load.blocks)
        .map(|lba| (lba, if load.write { content(lba, load.blocks) } else { Vec::new() }))
        .collect();
    let mut seen = Seen { times: Vec::new(), rates: Vec::new(), wrong: 0 };
    let (mut next, mut state) = (0u64, 0x1234_5678_9abc_def1u64);
    let mut choose = || {
        next += 1;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if load.random { state } else { next }
    };
    for _ in 0..windows {
        let begun = Instant::now();
        let mut count = 0u64;
        let mut under_way: VecDeque<Pin<Box<dyn Future<Output = Outcome> + Send>>> = VecDeque::new();
        while begun.elapsed() < window || !under_way.is_empty() {
            while under_way.len() < load.depth && begun.elapsed() < window {
                let (lba, bytes) = if load.write {
                    contents[choose() as usize % contents.len()].clone()
                } else {
                    (choose() % pieces * load.blocks, Vec::new())
                };
                under_way.push_back(one(namespace.clone(), load, lba, bytes));
            }
            let Some(first) = under_way.pop_front() else { break };
            let (lba, time, right) = first.await?;
            let _ = lba;
            seen.times.push(time);
            seen.wrong += usize::from(!right);
            count += 1;
        }
        seen.rates.push(count as f64 / begun.elapsed().as_secs_f64());
    }
    Ok(seen)
}

/// One command, begun at once.
fn one(
    namespace: RemoteNamespace,
    load: Load,
    lba: u64,
    bytes: Vec<u8>,
) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
    let task = tokio::spawn(async move {
        let begun = Instant::now();
        if load.write {
            namespace.write(lba, bytes).await?;
            return Ok((lba, begun.elapsed(), true));
        }
        let found = namespace.read(lba, load.blocks as u32).await?;
        let time = begun.elapsed();
        let right = (lba..).zip(found.chunks_exact(BLOCK_BYTES)).all(|(lba, bytes)| bytes == block(lba));
        Ok((lba, time, right && found.len() as u64 == load.blocks * BLOCK_BYTES as u64))
    });
    Box::pin(async move { task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) })
}
