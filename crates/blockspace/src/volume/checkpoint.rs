//! Checkpoints: the map is stored, closed segments are removed, new ones are registered.
//!
//! One runs at a time, on a separate thread. Until its transaction is durable, nothing is written to a segment that it
//! registers; so such a segment may consist of any blocks that the stored map does not name.

use super::{
    BLOCK_BYTES, Shared, VolumeConfig, VolumeError,
    map::{Key, Stripe},
    rows::State,
    segment::{Extent, Segment},
    table::{Rows, Table},
};
use ciphermill_storage::{FreeBlocks, Storage, StorageError};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{Ordering, fence},
    },
    thread,
    time::{Duration, Instant},
};

/// Blocks that every segment keeps for changes that make room, unless another segment follows it: so many that a group
/// of such changes always fits.
pub(super) const RELIEF_BLOCKS: u32 = 16;
/// Time after a failed checkpoint in which none is tried.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// Blocks that are filled at a time; the writer waits for no more than that.
const FILL_BLOCKS: u32 = 128;

/// The map as it was at one moment, as far as the stored one differs.
#[derive(Debug)]
pub(super) struct Job {
    /// Sequence number of the first record whose effects are not in it.
    pub(super) sequence: u64,
    pub(super) stripes: Vec<(Key, Option<Box<Stripe>>)>,
    pub(super) labels: Vec<(Key, Option<Box<[u8]>>)>,
    pub(super) closed: Vec<u64>,
    /// Blocks without references once this is stored.
    pub(super) freed: Vec<u32>,
    /// Number of segments to register.
    pub(super) wanted: usize,
    /// Held by readers that may still read `freed`.
    pub(super) epoch: Arc<()>,
}

/// A job once its segments are chosen: it can only be done as it is, or be done again.
#[derive(Debug)]
enum Task {
    New(Job),
    Chosen { rows: Rows, epoch: Arc<()> },
}

/// The maker of checkpoints.
#[derive(Debug)]
pub(super) struct Checkpointer {
    blocks: Arc<dyn Storage>,
    table: Table,
    free: FreeBlocks<u32>,
    /// As of the last checkpoint.
    state: State,
    config: VolumeConfig,
    shared: Arc<Shared>,
    /// New blocks of the file that were never written.
    fresh: Vec<Extent>,
    /// Blocks that only snapshots still need.
    held: Vec<u32>,
}

impl Checkpointer {
    pub(super) fn new(
        blocks: Arc<dyn Storage>,
        table: Table,
        free: FreeBlocks<u32>,
        state: State,
        config: VolumeConfig,
        shared: Arc<Shared>,
    ) -> Self {
        Self { blocks, table, free, state, config, shared, fresh: Vec::new(), held: Vec::new() }
    }

    /// Makes the checkpoint of an opening and returns its registered segments, not filled with zeros: the caller of `open`
    /// waits for this.
    pub(super) fn run(&mut self, job: Job) -> Result<Vec<Segment>, VolumeError> {
        let segments = self.attempt(&mut Task::New(job))?;
        self.fresh.clear();
        Ok(segments)
    }

    /// Writes zeros to new blocks of the file. A file system marks a reserved block as written in its journal, and the sync
    /// of the first content of the block waits for that: two to three times as long as for overwriting. This thread is not
    /// urgent, and the blocks are reserved, so the disk has the room.
    ///
    /// `enough` returns true when the writer waits for the segment: then the rest is not filled.
    fn fill(&mut self, enough: impl Fn() -> bool) {
        let fresh = std::mem::take(&mut self.fresh);
        if let Err(error) = self.write_zeros(&fresh, enough) {
            tracing::warn!(%error, "new blocks could not be written in advance");
        }
    }

    fn write_zeros(&self, extents: &[Extent], enough: impl Fn() -> bool) -> Result<(), VolumeError> {
        let zeros = vec![0; FILL_BLOCKS as usize * BLOCK_BYTES];
        for extent in extents {
            let end = extent.start + extent.blocks;
            for start in (extent.start..end).step_by(FILL_BLOCKS as usize) {
                // The lock is not fair: whoever wants to write goes first.
                while self.shared.writing.load(Ordering::Acquire) && !self.shared.failed.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_micros(50));
                }
                if enough() || self.shared.failed.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let zeros = &zeros[..FILL_BLOCKS.min(end - start) as usize * BLOCK_BYTES];
                // Alone, so that a failure of the sync is about these blocks: the writer would not hear of its own.
                let alone = self.shared.syncing.lock().unwrap_or_else(PoisonError::into_inner);
                self.blocks.write_at(u64::from(start) * BLOCK_BYTES as u64, zeros)?;
                self.blocks.sync().inspect_err(|_| self.shared.failed.store(true, Ordering::SeqCst))?;
                drop(alone);
            }
        }
        Ok(())
    }

    fn attempt(&mut self, task: &mut Task) -> Result<Vec<Segment>, VolumeError> {
        let begun = Instant::now();
        if let Task::New(job) = task {
            let freed = std::mem::take(&mut job.freed);
            self.free_unless_held(freed);
            let opened = self.segments(job.wanted)?;
            let (generation, checkpoint) = (self.state.generation, self.state.checkpoint + 1);
            self.state = State { sequence: job.sequence, generation, checkpoint, ..self.state };
            let rows = Rows {
                state: self.state,
                stripes: std::mem::take(&mut job.stripes),
                labels: std::mem::take(&mut job.labels),
                closed: std::mem::take(&mut job.closed),
                opened,
            };
            *task = Task::Chosen { rows, epoch: Arc::clone(&job.epoch) };
        }
        let Task::Chosen { rows, epoch } = task else { return Ok(Vec::new()) };
        self.table.commit(rows)?;
        // The map's clone is gone already; who still has one looked up a block before it was freed.
        while Arc::strong_count(epoch) > 1 {
            thread::sleep(Duration::from_micros(100));
        }
        fence(Ordering::Acquire);
        self.shorten();
        let metrics = &self.shared.metrics;
        metrics.checkpoints.fetch_add(1, Ordering::Relaxed);
        metrics.checkpoint_ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        metrics.free_blocks.store(self.free.free(), Ordering::Relaxed);
        metrics.end_block.store(u64::from(self.free.end()), Ordering::Relaxed);
        Ok(std::mem::take(&mut rows.opened))
    }

    /// Frees blocks, except those that a snapshot has yet to read.
    fn free_unless_held(&mut self, blocks: Vec<u32>) {
        self.held.extend(blocks);
        let (held, free) = self.shared.pins.divide(std::mem::take(&mut self.held));
        self.held = held;
        self.free_blocks(free);
    }

    fn free_blocks(&mut self, mut blocks: Vec<u32>) {
        blocks.sort_unstable();
        for run in blocks.chunk_by(|a, b| a + 1 == *b) {
            if let Some(start) = run.first() {
                self.free.insert(Extent { start: *start, blocks: run.len() as u32 });
            }
        }
    }

    /// Chooses up to `wanted` segments; fewer where the medium is full.
    fn segments(&mut self, wanted: usize) -> Result<Vec<Segment>, VolumeError> {
        let mut segments = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            let extents = match self.extents() {
                Ok(extents) => extents,
                Err(error) => {
                    segments.iter().flat_map(Segment::extents).for_each(|extent| self.free.insert(*extent));
                    return Err(error);
                }
            };
            if let Some(segment) = Segment::new(self.state.generation, extents)
                && segment.blocks() > 0
            {
                self.state.generation += 1;
                segments.push(segment);
            }
        }
        Ok(segments)
    }

    /// The extents of one segment: long runs, else new blocks at the end, else what there is; none when that is less
    /// than a segment needs to be of use.
    fn extents(&mut self) -> Result<Vec<Extent>, VolumeError> {
        let blocks = |extents: &[Extent]| extents.iter().map(|extent| extent.blocks).sum::<u32>();
        let size = self.config.segment_blocks;
        let (growable, low) = growable(&*self.blocks, self.free.end(), &self.config)?;
        let size = if low { RELIEF_BLOCKS } else { size };
        let mut extents = self.free.take_longest(size, size.div_ceil(16));
        // While few blocks are free, the file grows and short runs stay. Beyond a quarter of the blocks in use, and four
        // segments, short runs are used up first.
        let used = u64::from(self.free.end()) - self.free.free();
        let grow_first = self.free.free() < used / 4 + 4 * u64::from(size);
        if blocks(&extents) < size && grow_first && growable >= size {
            extents.drain(..).for_each(|extent| self.free.insert(extent));
            extents.extend(self.grow(size)?);
        }
        let missing = size - blocks(&extents);
        extents.extend(self.free.take_longest(missing, 1));
        let missing = (size - blocks(&extents)).min(growable);
        if missing > 0 {
            extents.extend(self.grow(missing)?);
        }
        if blocks(&extents) < RELIEF_BLOCKS {
            extents.drain(..).for_each(|extent| self.free.insert(extent));
        }
        Ok(extents)
    }

    /// New blocks at the end, or none when the medium turns out to be full.
    fn grow(&mut self, blocks: u32) -> Result<Option<Extent>, VolumeError> {
        let Some(extent) = self.free.grow(blocks) else { return Ok(None) };
        match self.blocks.reserve_len(u64::from(self.free.end()) * BLOCK_BYTES as u64) {
            Ok(()) => {
                if self.config.fill_ahead {
                    self.fresh.push(extent);
                }
                Ok(Some(extent))
            }
            Err(error) => {
                self.free.insert(extent);
                if matches!(error, StorageError::NoSpace { .. }) { Ok(None) } else { Err(error.into()) }
            }
        }
    }

    /// Cuts the file behind the last block in use, if that frees much.
    fn shorten(&self) {
        let wanted = u64::from(self.free.end()) * BLOCK_BYTES as u64;
        let slack = 4 * u64::from(self.config.segment_blocks) * BLOCK_BYTES as u64;
        let outcome = self.blocks.len().and_then(|len| match len > wanted.saturating_add(slack) {
            true => self.blocks.set_len(wanted),
            false => Ok(()),
        });
        if let Err(error) = outcome {
            tracing::warn!(%error, "the block file could not be shortened");
        }
    }
}

/// Blocks by which the file may still grow behind `end`, and whether the medium is so full that the map needs the rest.
pub(super) fn growable(blocks: &dyn Storage, end: u32, config: &VolumeConfig) -> Result<(u32, bool), VolumeError> {
    let most = u64::from(u32::MAX - 1 - end.min(u32::MAX - 1));
    let Some(free) = blocks.free_space()? else { return Ok((most as u32, false)) };
    let in_file = blocks.len()? / BLOCK_BYTES as u64;
    let reach = (free.saturating_sub(config.headroom_bytes) / BLOCK_BYTES as u64).saturating_add(in_file);
    Ok((reach.saturating_sub(u64::from(end)).min(most) as u32, free < config.headroom_bytes / 2))
}

#[derive(Default)]
struct Progress {
    task: Option<Task>,
    running: bool,
    error: Option<(VolumeError, Instant)>,
    ready: VecDeque<Segment>,
    /// Whether the writer waits for the checkpoint in progress.
    awaited: bool,
    closed: bool,
}

/// Between the writer and the thread that makes checkpoints.
#[derive(Default)]
pub(super) struct Checkpoints {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Checkpoints {
    pub(super) fn new(ready: Vec<Segment>) -> Self {
        let progress = Progress { ready: ready.into(), ..Progress::default() };
        Self { progress: Mutex::new(progress), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of the thread until [`close`](Self::close).
    pub(super) fn work(&self, mut checkpointer: Checkpointer) {
        let mut progress = self.lock();
        while !progress.closed {
            let task = if progress.error.is_none() { progress.task.take() } else { None };
            let Some(mut task) = task else {
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            progress.running = true;
            drop(progress);
            // Once more at once: a fault that is over must not cost a change.
            let attempts = AssertUnwindSafe(|| {
                let segments = checkpointer.attempt(&mut task).or_else(|error| {
                    tracing::warn!(%error, "checkpoint failed, trying again");
                    checkpointer.attempt(&mut task)
                })?;
                // Nobody writes to them before they are handed over.
                checkpointer.fill(|| {
                    let progress = self.lock();
                    progress.closed || progress.awaited
                });
                Ok(segments)
            });
            let outcome = catch_unwind(attempts).unwrap_or_else(|_| {
                // The writer must not wait for ever for a thread that is gone.
                checkpointer.shared.failed.store(true, Ordering::SeqCst);
                Err(VolumeError::Failed)
            });
            progress = self.lock();
            progress.running = false;
            match outcome {
                Ok(segments) => progress.ready.extend(segments),
                Err(error) => {
                    tracing::error!(%error, "checkpoint failed");
                    progress.error = Some((error, Instant::now()));
                    progress.task = Some(task);
                }
            }
            self.changed.notify_all();
        }
    }

    /// Hands in a job; there must be none ([`settle`](Self::settle)).
    pub(super) fn submit(&self, job: Job) {
        self.lock().task = Some(Task::New(job));
        self.changed.notify_all();
    }

    /// Whether a segment waits to be written.
    pub(super) fn has_next(&self) -> bool {
        !self.lock().ready.is_empty()
    }

    /// The next segment, if there is one.
    pub(super) fn next(&self) -> Option<Segment> {
        self.lock().ready.pop_front()
    }

    /// Waits until no checkpoint is in progress; retries a failed one, at intervals.
    pub(super) fn settle(&self) -> Result<(), VolumeError> {
        let mut progress = self.lock();
        if let Some((error, at)) = &progress.error {
            if at.elapsed() < RETRY_AFTER {
                return Err(error.clone());
            }
            progress.error = None;
            self.changed.notify_all();
        }
        while (progress.running || progress.task.is_some()) && progress.error.is_none() {
            progress.awaited = true;
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        progress.awaited = false;
        progress.error.as_ref().map_or(Ok(()), |(error, _)| Err(error.clone()))
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
