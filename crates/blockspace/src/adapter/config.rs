//! Limits, opening errors and counters of a namespace.

use super::access::Access;
use crate::{vendor, volume::VolumeError};
use ciphermill_device::DeviceError;
use std::{sync::atomic::AtomicU64, time::Duration};

/// Limits of a namespace. Start from [`new`](Self::new) and change fields.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let config = BlockSpaceConfig { capacity: 1000, ..BlockSpaceConfig::new(20) };
/// drop(space);
/// BlockSpace::open(&device, namespace, volume.clone(), config, runtime.handle().clone())?;
/// let refused = BlockSpace::open(&device, namespace, volume, BlockSpaceConfig::new(1), runtime.handle().clone());
/// assert!(matches!(refused, Err(BlockSpaceError::Configuration { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSpaceConfig {
    /// The namespace has 2 to this many blocks, 2 to 52.
    pub blocks_log2: u32,
    /// Most blocks mapped in the volume (those of bound objects count against the quota of the device's space).
    pub capacity: u64,
    /// Most objects with an address, declared or bound.
    pub max_places: usize,
    /// Most results of compute-on-read objects kept until all their blocks are read, and most open objects; the hosts of one
    /// account may have three quarters of either.
    pub max_sessions: usize,
    /// Most bytes of results in memory for either; three quarters for the hosts of one account.
    pub session_bytes: u64,
    /// A session is dropped when it was idle for this long.
    pub session_idle: Duration,
    /// A reservation is cancelled when it had no writes for this long; a restart restarts the time.
    pub reservation_idle: Duration,
    /// Most commands that wait for others: for a lock on blocks, for a result being computed, for room that a program may
    /// need, or for another computed read. A further one is answered with Command Interrupted, to be sent again.
    pub max_waiting: usize,
    /// Most of them of one account that wait for locks on overlapping blocks, and most that wait for one result.
    pub max_waiting_of_object: usize,
    /// Most bytes that wait to be made durable by the volume. All namespaces of a volume together must stay below the
    /// volume's `queue_bytes`, or some writes are answered busy.
    pub staging_bytes: usize,
    /// Completions and computed reads that run or wait in the device at one time, each on a thread of the runtime.
    pub device_jobs: usize,
    /// Those of the hosts of one account; more wait for others of that account.
    pub device_jobs_of_host: usize,
    /// Most blocks of the objects of one account that are declared or reserved and not complete. An account's only such
    /// object may be larger, up to half of the data half. Half as many blocks behind objects are kept for longer results of
    /// the account's programs while these run.
    pub pending_blocks_of_host: u64,
    /// Most such objects of one account.
    pub pending_objects_of_host: usize,
    /// The rights of hosts.
    pub access: Access,
    /// Reads that wait for a disk at one time, each on a thread of the runtime.
    pub disk_reads: usize,
}

impl BlockSpaceConfig {
    /// 2^`blocks_log2` blocks, all of which may be mapped; 65,536 objects; 64 sessions with 256 MiB and a minute;
    /// reservations five minutes; 4,096 commands waiting, 1,024 for one object; 32 MiB waiting for the disk; 64 device jobs; 32
    /// reads. One account has 48 of the device jobs, and 16,384 pending objects in a quarter of the data half.
    #[must_use]
    pub fn new(blocks_log2: u32) -> Self {
        Self {
            blocks_log2,
            capacity: 1u64.checked_shl(blocks_log2).unwrap_or(u64::MAX),
            max_places: 1 << 16,
            max_sessions: 64,
            session_bytes: 256 << 20,
            session_idle: Duration::from_secs(vendor::SESSION_IDLE_SECONDS),
            reservation_idle: Duration::from_secs(vendor::RESERVATION_IDLE_SECONDS),
            max_waiting: 4096,
            max_waiting_of_object: 1024,
            staging_bytes: 32 << 20,
            device_jobs: 64,
            device_jobs_of_host: 48,
            pending_blocks_of_host: 1u64.checked_shl(blocks_log2).unwrap_or(u64::MAX) / 8,
            pending_objects_of_host: 1 << 14,
            access: Access::default(),
            disk_reads: 32,
        }
    }
}

/// Why a namespace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockSpaceError {
    /// The configuration cannot work.
    #[error("namespace configuration: {what}")]
    Configuration {
        /// The setting and its requirement.
        what: String,
    },
    /// A label in the volume is not one of this build's.
    #[error("the label at block {lba} of space {space} cannot be read; the volume was written by another version")]
    Label {
        /// The space.
        space: u32,
        /// Where the label is.
        lba: u64,
    },
    /// Something stands where it cannot in a namespace of this size: it had another one when that was written. Nothing was
    /// changed.
    #[error(
        "{what} at block {lba} of space {space} cannot be in a namespace of {blocks} blocks: it had another size before; \
         give it that again, or remove its objects and deallocate its blocks first"
    )]
    Size {
        /// The space.
        space: u32,
        /// Where it is.
        lba: u64,
        /// Blocks of the namespace as it was to be opened.
        blocks: u64,
        /// The finding.
        what: &'static str,
    },
    /// Bindings of objects contradict each other: the volume does not belong to this device.
    #[error("the place of an object at block {lba} of space {space} {what}")]
    Binding {
        /// The space.
        space: u32,
        /// Its first block.
        lba: u64,
        /// The finding.
        what: String,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The volume failed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// Counters and usage of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSpaceMetrics {
    /// Objects that can be read at a place.
    pub bound: u64,
    /// Objects declared whose blocks are awaited.
    pub declared: u64,
    /// Blocks of bound objects.
    pub bound_blocks: u64,
    /// Blocks mapped in the volume.
    pub mapped_blocks: u64,
    /// Objects completed since it was opened.
    pub completed: u64,
    /// Completions by a single command, without storing blocks first.
    pub completed_directly: u64,
    /// Completions that failed.
    pub failed: u64,
    /// Reads of blocks that ran a program.
    pub computed_reads: u64,
    /// Results and open objects held now.
    pub sessions: u64,
    /// Declarations and reservations refused, because the host's share was used up.
    pub shares_refused: u64,
    /// Commands refused, because the host lacks a right.
    pub denied: u64,
    /// Objects of compute-on-write types that were stored as they were written, because their key has no program.
    pub stored_without_program: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) completed: AtomicU64,
    pub(super) direct: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) computed_reads: AtomicU64,
    pub(super) shares_refused: AtomicU64,
    pub(super) denied: AtomicU64,
    pub(super) stored_without_program: AtomicU64,
}
