//! Durable, thin, checksummed blocks for all namespaces of a server.
//!
//! A [`Volume`] keeps blocks of [`BLOCK_BYTES`] bytes named by (space, address), and labels at addresses, in two files. It
//! knows nothing of objects. A [`Change`] is atomic, and durable when its callback is called:
//!
//! - changes that wait together are one *record*, appended to a *segment* of the block file with one write and one sync;
//!   the record's data stay where they are, and the map in memory then points at them;
//! - when a segment is full, a *checkpoint* stores the map's changes in a database and registers a new segment, while the
//!   next one is being filled;
//! - opening reads the stored map and makes the changes again that the registered segments hold.
//!
//! `docs/blockspace-volume.md` draws the files and lists the cost of each step.

mod checkpoint;
mod error;
mod format;
#[cfg(test)]
mod golden_tests;
mod map;
mod open;
mod plan;
mod queue;
mod read;
mod replay;
mod rows;
mod segment;
mod snapshot;
mod table;
mod types;
mod writer;

pub use error::VolumeError;
pub use open::VolumeFiles;
pub use snapshot::{BlocksCopied, VolumeSnapshot, VolumeSummary};
pub use types::{
    BLOCK_BYTES, BlockState, Change, Done, MAX_BLOCKS, MAX_LABEL_BYTES, MAX_ZERO_BLOCKS, Operation, Quota, Run,
    ScrubEvent, ScrubObserver, ScrubReport, SpaceUsage, VolumeConfig, VolumeMetrics, VolumeUsage,
};

use ciphermill_storage::{FileLock, Storage};
use map::{Map, Slot};
use queue::{ChangeLimits, Pending, Prepared, Queue};
use snapshot::Pins;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::sync_channel,
    },
    thread::{self, JoinHandle},
};

/// Blocks of many spaces. Cheap to clone; all clones are one volume, which closes when the last one is dropped. Submitted
/// changes are still made durable then.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// volume.commit(Change { space: 1, operations: vec![Operation::Write { lba: 5, data: block.clone() }] })?;
/// let mut out = vec![0; 2 * BLOCK_BYTES];
/// volume.read(1, 5, &mut out)?;
/// assert_eq!(out[..BLOCK_BYTES], block);
/// // Block 6 is not mapped.
/// assert!(out[BLOCK_BYTES..].iter().all(|byte| *byte == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Volume {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What readers, submitters and the two threads of a volume share.
struct Shared {
    blocks: Arc<dyn Storage>,
    /// The medium of the map.
    map_file: Arc<dyn Storage>,
    volume_id: [u8; 16],
    /// Changed by the writer only.
    map: RwLock<Map>,
    quotas: Mutex<HashMap<u32, Quota>>,
    queue: Queue,
    limits: ChangeLimits,
    config: VolumeConfig,
    metrics: Metrics,
    /// Held from the first write to the block file to its sync. The system reports a failed sync once, to the thread that
    /// asked for it, so no thread may sync the writes of another.
    syncing: Mutex<()>,
    /// Whether the writer has a group to write.
    writing: AtomicBool,
    /// Set when it is no longer known which writes are durable; from then on the volume only reads.
    failed: Arc<AtomicBool>,
    /// The snapshots whose blocks may not be overwritten.
    pins: Pins,
    /// Held for its lock on the volume's directory.
    _lock: Option<FileLock>,
}

#[derive(Debug, Default)]
struct Metrics {
    groups: AtomicU64,
    changes: AtomicU64,
    data_bytes: AtomicU64,
    written_bytes: AtomicU64,
    refused: AtomicU64,
    checkpoints: AtomicU64,
    sync_ns: AtomicU64,
    checkpoint_ns: AtomicU64,
    stall_ns: AtomicU64,
    /// Free blocks below the end, as of the last checkpoint.
    free_blocks: AtomicU64,
    /// First block behind the last one in use, as of the last checkpoint.
    end_block: AtomicU64,
}

impl Volume {
    /// Hands in a change and returns without waiting for the disk. `done` is called once: with `Ok` when the change is
    /// durable and seen by readers, with an error when nothing of it was done. It may be called before this returns
    /// (when the change is refused at once), else from the volume's thread: it must be quick and must not wait for the
    /// volume. Changes are made in the order in which they were handed in.
    ///
    /// Errors given to `done`: [`VolumeError::Busy`], [`VolumeError::Range`], [`VolumeError::Unaligned`],
    /// [`VolumeError::LabelTooLong`], [`VolumeError::TooLarge`], [`VolumeError::Quota`], [`VolumeError::NoSpace`],
    /// [`VolumeError::Storage`], [`VolumeError::Map`], [`VolumeError::Failed`]. After a failed sync it is unknown
    /// whether the change will be there when the volume is opened again; it will be whole or absent.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (sender, receiver) = mpsc::channel();
    /// volume.submit(write, Box::new(move |outcome| drop(sender.send(outcome))));
    /// // The call returned at once. The change is durable when the callback has the outcome.
    /// receiver.recv()??;
    /// assert_eq!(volume.mapped(1, 0, 10), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(&self, change: Change, done: Done) {
        self.push(Prepared::new(change, self.shared().limits), done, false);
    }

    /// Makes a change durable; waits where [`submit`](Self::submit) says busy. Never to be called from a callback.
    ///
    /// # Errors
    /// Those of [`submit`](Self::submit), busy excepted.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// // Data that are not a multiple of a block are refused, and nothing is written.
    /// let operations = vec![Operation::Zero { lba: 0, blocks: 1 }, Operation::Write { lba: 1, data: vec![1] }];
    /// assert!(matches!(volume.commit(Change { space: 1, operations }), Err(VolumeError::Unaligned { .. })));
    /// assert_eq!(volume.mapped(1, 0, 10), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(&self, change: Change) -> Result<(), VolumeError> {
        self.wait_for(Prepared::new(change, self.shared().limits))
    }

    /// Unmaps all blocks of a space and removes all its labels, in one change.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// assert_eq!(volume.spaces(), [1]);
    /// volume.drop_space(1)?;
    /// assert!(volume.spaces().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_space(&self, space: u32) -> Result<(), VolumeError> {
        self.wait_for(Ok(Prepared::drop_space(space)))
    }

    fn wait_for(&self, prepared: Result<Prepared, VolumeError>) -> Result<(), VolumeError> {
        let (sender, receiver) = sync_channel(1);
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        self.push(prepared, done, true);
        receiver.recv().unwrap_or(Err(VolumeError::Failed))
    }

    fn push(&self, prepared: Result<Prepared, VolumeError>, done: Done, wait: bool) {
        let shared = self.shared();
        let refused = match prepared {
            Ok(_) if shared.failed.load(Ordering::SeqCst) => Err((done, VolumeError::Failed)),
            Ok(change) => shared.queue.push(Pending { change, done }, wait),
            Err(error) => Err((done, error)),
        };
        if let Err((done, error)) = refused {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            done(Err(error));
        }
    }

    /// The states of the blocks of a range: ascending runs that cover it, neighbours of different states. Blocks from
    /// [`MAX_BLOCKS`] on are left out.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let zero = Operation::Zero { lba: 6, blocks: 2 };
    /// volume.commit(write)?;
    /// volume.commit(Change { space: 1, operations: vec![zero] })?;
    /// let runs = volume.states(1, 5, 3);
    /// assert_eq!(runs[0], Run { lba: 5, blocks: 1, state: BlockState::Data });
    /// assert_eq!(runs[1], Run { lba: 6, blocks: 2, state: BlockState::Zero });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn states(&self, space: u32, lba: u64, blocks: u64) -> Vec<Run> {
        self.map().states(space, lba, blocks)
    }

    /// Number of mapped blocks of a range.
    #[must_use]
    pub fn mapped(&self, space: u32, lba: u64, blocks: u64) -> u64 {
        self.map().mapped(space, lba, blocks)
    }

    /// CRC-32C of each block of a range, `None` where it is not mapped. As long as the range: the caller bounds it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// assert_eq!(volume.checksums(1, 5, 2), [Some(crc32c::crc32c(&block)), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checksums(&self, space: u32, lba: u64, blocks: u64) -> Vec<Option<u32>> {
        let slots = self.map().slots(space, lba, blocks);
        slots.into_iter().map(|slot| (slot != Slot::ABSENT).then_some(slot.checksum)).collect()
    }

    /// Reads the blocks from `lba` on, all as they were at one moment; blocks that are not mapped read as zeros. May
    /// wait for the disk.
    ///
    /// # Errors
    /// [`VolumeError::Range`], [`VolumeError::Unaligned`], [`VolumeError::Damaged`] when a block does not match its
    /// checksum, [`VolumeError::Storage`]. `out` then holds anything.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// let mut out = vec![0; BLOCK_BYTES];
    /// volume.read(1, 5, &mut out)?;
    /// assert_eq!(out, block);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, space: u32, lba: u64, out: &mut [u8]) -> Result<(), VolumeError> {
        self.shared().read(space, lba, out, true).map(drop)
    }

    /// As [`read`](Self::read), but only if the disk need not be waited for: else `false`, and `out` holds anything.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut out = vec![0; BLOCK_BYTES];
    /// // A caller that must not block reads again on another thread if the answer is `false`.
    /// if !volume.try_read(1, 5, &mut out)? {
    ///     volume.read(1, 5, &mut out)?;
    /// }
    /// assert!(out.iter().all(|byte| *byte == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_read(&self, space: u32, lba: u64, out: &mut [u8]) -> Result<bool, VolumeError> {
        self.shared().read(space, lba, out, false)
    }

    /// The labels of a space, ascending by address.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let label = Operation::SetLabel { lba: 9, label: b"declared".to_vec() };
    /// volume.commit(Change { space: 1, operations: vec![label] })?;
    /// assert_eq!(volume.labels(1), [(9, b"declared".to_vec())]);
    /// assert_eq!(volume.label(1, 8), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn labels(&self, space: u32) -> Vec<(u64, Vec<u8>)> {
        let map = self.map();
        map.labels.range((space, 0)..=(space, u64::MAX)).map(|((_, lba), label)| (*lba, label.to_vec())).collect()
    }

    /// The label at an address, if there is one.
    #[must_use]
    pub fn label(&self, space: u32, lba: u64) -> Option<Vec<u8>> {
        self.map().labels.get(&(space, lba)).map(|label| label.to_vec())
    }

    /// The spaces that hold anything, ascending.
    #[must_use]
    pub fn spaces(&self) -> Vec<u32> {
        self.map().spaces()
    }

    /// Sets the quota of a space until the volume is closed: quotas are configuration and are not stored.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.set_quota(1, Quota { blocks: 1, ..Quota::UNLIMITED });
    /// volume.commit(write)?;
    /// let more = Change { space: 1, operations: vec![Operation::Zero { lba: 6, blocks: 1 }] };
    /// assert!(matches!(volume.commit(more), Err(VolumeError::Quota { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_quota(&self, space: u32, quota: Quota) {
        self.shared().quotas.lock().unwrap_or_else(PoisonError::into_inner).insert(space, quota);
    }

    /// The usage of a space.
    #[must_use]
    pub fn space_usage(&self, space: u32) -> SpaceUsage {
        self.map().usage(space)
    }

    /// How full the volume is.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// let usage = volume.usage();
    /// assert_eq!((usage.spaces.mapped, usage.spaces.data), (1, 1));
    /// assert!(usage.file_bytes >= BLOCK_BYTES as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn usage(&self) -> VolumeUsage {
        let metrics = &self.shared().metrics;
        let in_use = metrics.end_block.load(Ordering::Relaxed) * BLOCK_BYTES as u64;
        VolumeUsage {
            spaces: self.map().total_usage(),
            file_bytes: self.shared().blocks.len().unwrap_or(in_use),
            free_bytes: metrics.free_blocks.load(Ordering::Relaxed) * BLOCK_BYTES as u64,
        }
    }

    /// The counters of the volume.
    #[must_use]
    pub fn metrics(&self) -> VolumeMetrics {
        let metrics = &self.shared().metrics;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        VolumeMetrics {
            groups: get(&metrics.groups),
            changes: get(&metrics.changes),
            data_bytes: get(&metrics.data_bytes),
            written_bytes: get(&metrics.written_bytes),
            refused: get(&metrics.refused),
            checkpoints: get(&metrics.checkpoints),
            sync_ns: get(&metrics.sync_ns),
            checkpoint_ns: get(&metrics.checkpoint_ns),
            stall_ns: get(&metrics.stall_ns),
            queued_bytes: self.shared().queue.bytes() as u64,
        }
    }

    /// Most blocks of data that one change may hold.
    #[must_use]
    pub fn max_change_blocks(&self) -> u64 {
        u64::from(self.shared().limits.data_blocks)
    }

    /// Whether a sync failed, so that the volume is read-only until it is opened again.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.shared().failed.load(Ordering::SeqCst)
    }

    /// Reads and verifies every block with content, during normal operation: a damaged or unreadable block is an event, and
    /// the scrub continues behind it. Blocks in the system's page cache are verified there.
    ///
    /// # Errors
    /// None yet: whatever can be read is read.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// volume.commit(write)?;
    /// let report = volume.scrub(&mut |event| match event {
    ///     ScrubEvent::Damaged { .. } => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// })?;
    /// assert_eq!((report.blocks, report.damaged, report.complete), (1, 0, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub(&self, each: ScrubObserver<'_>) -> Result<ScrubReport, VolumeError> {
        Ok(self.shared().scrub(each))
    }

    fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.shared().map.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn quota(&self, space: u32) -> Quota {
        let quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        quotas.get(&space).copied().unwrap_or(self.config.default_quota)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The volume id is left out: who knows it could write blocks that pass for records.
        f.debug_struct("Shared").field("config", &self.config).field("metrics", &self.metrics).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.queue.close();
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // The last volume may be dropped in a callback, hence on the writer's own thread, which then ends by itself.
        if let Some(writer) = writer.filter(|writer| writer.thread().id() != thread::current().id())
            && writer.join().is_err()
        {
            tracing::error!("the writer of the volume panicked");
        }
    }
}
