//! Changes, configuration, usage and reports of a volume.

use std::ops::ControlFlow;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4096;
/// Number of addresses of a space: block addresses are below it, so that byte addresses fit 64 bits.
pub const MAX_BLOCKS: u64 = 1 << 52;
/// Most blocks of zeros that one change may map with [`Operation::Zero`].
pub const MAX_ZERO_BLOCKS: u64 = 1 << 20;
/// Longest label, in bytes.
pub const MAX_LABEL_BYTES: usize = 256;

/// A change of one space: all of it becomes durable, or nothing of it. The operations are made in their order.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // The label and the block appear together or not at all.
/// let operations = vec![
///     Operation::SetLabel { lba: 5, label: b"mine".to_vec() },
///     Operation::Write { lba: 5, data: block },
/// ];
/// volume.commit(Change { space: 1, operations })?;
/// assert_eq!(volume.label(1, 5).as_deref(), Some(&b"mine"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The space.
    pub space: u32,
    /// What to do, in this order.
    pub operations: Vec<Operation>,
}

/// One step of a [`Change`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let first = vec![Operation::Zero { lba: 0, blocks: 4 }, Operation::Write { lba: 1, data: block }];
/// volume.commit(Change { space: 1, operations: first })?;
/// volume.commit(Change { space: 1, operations: vec![Operation::Unmap { lba: 2, blocks: 2 }] })?;
/// assert_eq!(volume.mapped(1, 0, 4), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Gives blocks their content. Blocks of zeros use no disk.
    Write {
        /// First block.
        lba: u64,
        /// Whole blocks, at least one.
        data: Vec<u8>,
    },
    /// Maps blocks that read as zeros and use no disk.
    Zero {
        /// First block.
        lba: u64,
        /// Number of blocks, at least one, at most [`MAX_ZERO_BLOCKS`] in a change.
        blocks: u64,
    },
    /// Makes blocks unmapped; they read as zeros too.
    Unmap {
        /// First block.
        lba: u64,
        /// Number of blocks, at least one; the range may hold blocks that are not mapped.
        blocks: u64,
    },
    /// Sets the label of an address, whether or not the block is mapped.
    SetLabel {
        /// The address.
        lba: u64,
        /// At most [`MAX_LABEL_BYTES`] bytes, of meaning to the owner only.
        label: Vec<u8>,
    },
    /// Removes the label at an address, if there is one.
    ClearLabel {
        /// The address.
        lba: u64,
    },
}

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// Not mapped; reads as zeros.
    Absent,
    /// Mapped, and zeros.
    Zero,
    /// Mapped, with content on disk.
    Data,
}

/// Neighbouring blocks of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block.
    pub lba: u64,
    /// Number of blocks, at least one.
    pub blocks: u64,
    /// Their state.
    pub state: BlockState,
}

/// Limits of a space. Under a lowered quota, blocks can still be unmapped and mapped blocks overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Mapped blocks, those of zeros included: each costs memory, those of data cost disk.
    pub blocks: u64,
    /// Labels.
    pub labels: u64,
}

impl Quota {
    /// As much as the volume holds.
    pub const UNLIMITED: Self = Self { blocks: u64::MAX, labels: u64::MAX };
}

/// Sizes of a volume.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let config = VolumeConfig { segment_blocks: 64, ..VolumeConfig::default() };
/// let volume = Volume::open(VolumeFiles::in_memory(), config)?;
/// // A change holds at most half a segment of data.
/// assert_eq!(volume.max_change_blocks(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeConfig {
    /// Blocks of a segment, 64 to 2^20. Two segments are reserved in advance; each costs a checkpoint.
    pub segment_blocks: u32,
    /// Most bytes of data that are made durable with one sync, and so the most that one change may hold: at most 8 MiB,
    /// and half a segment when that is less.
    pub group_bytes: usize,
    /// Most bytes of data (and of entries) that may wait; above it [`submit`](super::Volume::submit) says busy. Spaces
    /// that have something waiting share it, and a space that has nothing waiting is always let in; all together never
    /// pass twice the bound by more than one change a space. Changes that map nothing (unmaps, labels) are counted apart,
    /// against the same bound for each space.
    pub queue_bytes: usize,
    /// Bytes of the medium that the block file leaves free, so that the map can still be written when it is full.
    pub headroom_bytes: u64,
    /// The quota of spaces for which none was set.
    pub default_quota: Quota,
    /// Whether another thread writes zeros to new blocks before they are used. That makes the syncs of later changes quick, as
    /// the file system then knows the place of every block, and doubles what the medium has to write.
    pub fill_ahead: bool,
}

impl VolumeConfig {
    /// For a copy, which is written once: new blocks are not written in advance.
    #[must_use]
    pub fn of_copy() -> Self {
        Self { fill_ahead: false, ..Self::default() }
    }
}

impl Default for VolumeConfig {
    fn default() -> Self {
        Self {
            segment_blocks: 4096,
            group_bytes: 8 << 20,
            queue_bytes: 64 << 20,
            headroom_bytes: 32 << 20,
            default_quota: Quota { blocks: u64::MAX, labels: 1 << 20 },
            fill_ahead: true,
        }
    }
}

/// The usage of a space, or of all spaces together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceUsage {
    /// Mapped blocks.
    pub mapped: u64,
    /// Those of them with content on disk.
    pub data: u64,
    /// Labels.
    pub labels: u64,
}

/// Sizes of a volume at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeUsage {
    /// The usage of all spaces together.
    pub spaces: SpaceUsage,
    /// Length of the block file, in bytes.
    pub file_bytes: u64,
    /// Bytes within it that can be reused (as of the last checkpoint).
    pub free_bytes: u64,
}

/// Counters of a volume since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeMetrics {
    /// Groups of changes made durable, each with one sync.
    pub groups: u64,
    /// Changes in them.
    pub changes: u64,
    /// Bytes of block content in them.
    pub data_bytes: u64,
    /// Bytes written to the block file: content and record headers.
    pub written_bytes: u64,
    /// Changes that were refused: busy, quota, no space, failed medium.
    pub refused: u64,
    /// Checkpoints of the map.
    pub checkpoints: u64,
    /// Time spent in syncs of the block file, in nanoseconds.
    pub sync_ns: u64,
    /// Time spent in checkpoints, in nanoseconds.
    pub checkpoint_ns: u64,
    /// Time that changes had to wait for a checkpoint, in nanoseconds.
    pub stall_ns: u64,
    /// Bytes that wait now.
    pub queued_bytes: u64,
}

/// An event of a running scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubEvent {
    /// Progress of the reading.
    Progress {
        /// Blocks read so far.
        done: u64,
        /// Blocks with content when the scrub began.
        total: u64,
    },
    /// This block does not match its checksum, or cannot be read.
    Damaged {
        /// The space.
        space: u32,
        /// The block.
        lba: u64,
    },
}

/// The result of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Blocks read and verified.
    pub blocks: u64,
    /// Blocks found damaged.
    pub damaged: u64,
    /// Whether the scrub finished; false if it was stopped.
    pub complete: bool,
}

/// Receives the events of a scrub; [`ControlFlow::Break`] stops it.
pub type ScrubObserver<'a> = &'a mut dyn FnMut(ScrubEvent) -> ControlFlow<()>;

/// The callback of a durable or refused change.
pub type Done = Box<dyn FnOnce(Result<(), super::VolumeError>) + Send>;
