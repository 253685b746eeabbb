//! Durable, thin, checksummed blocks for all namespaces of a server.
//!
//! A [`Volume`] keeps blocks of [`BLOCK_BYTES`] bytes named by (space, address), and labels at addresses, in two files.
//! A [`Change`] is atomic and durable when its callback is called. It knows nothing of objects.

mod error;
mod files;
mod types;

pub use error::VolumeError;
pub use files::VolumeFiles;
pub use types::{
    BLOCK_BYTES, BlockState, Change, Done, MAX_BLOCKS, MAX_LABEL_BYTES, Operation, Quota, Run, ScrubEvent,
    ScrubObserver, ScrubReport, SpaceUsage, VolumeConfig, VolumeMetrics, VolumeUsage,
};

use std::path::Path;

/// Blocks of many spaces. Cheap to clone; all clones are one volume, closed when the last one is dropped: what was
/// submitted is then still made durable.
#[derive(Clone, Debug)]
pub struct Volume {}

impl Volume {
    /// Opens the volume in a directory, and makes directory and volume where there are none. Holds a lock on
    /// `blocks.lock` in it, so that no other volume can be opened there.
    ///
    /// # Errors
    /// [`VolumeError::AlreadyOpen`], [`VolumeError::Directory`], and those of [`open`](Self::open).
    pub fn open_directory(path: &Path, config: VolumeConfig) -> Result<Self, VolumeError> {
        Self::open(VolumeFiles::in_directory(path)?, config)
    }

    /// Opens the volume in these files, and makes one when both are empty. The caller sees to it that nobody else has
    /// them open.
    ///
    /// # Errors
    /// [`VolumeError::NotAVolume`], [`VolumeError::Version`] and [`VolumeError::Corrupt`], with no byte changed;
    /// [`VolumeError::Storage`], [`VolumeError::NoSpace`] and [`VolumeError::Map`] when the medium fails or is full.
    pub fn open(_files: VolumeFiles, _config: VolumeConfig) -> Result<Self, VolumeError> {
        Err(VolumeError::Unimplemented)
    }

    /// Hands in a change and returns without waiting for the disk. `done` is called once: with `Ok` when the change is
    /// durable and seen by readers, with an error when nothing of it was done. It may be called before this returns
    /// (when the change is refused at once), else from the volume's thread: it must be quick and must not wait for the
    /// volume.
    ///
    /// Errors given to `done`: [`VolumeError::Busy`], [`VolumeError::Range`], [`VolumeError::Unaligned`],
    /// [`VolumeError::LabelTooLong`], [`VolumeError::TooLarge`], [`VolumeError::Quota`], [`VolumeError::NoSpace`],
    /// [`VolumeError::Storage`], [`VolumeError::Failed`], [`VolumeError::Closed`]. After a failed sync it is unknown
    /// whether the change will be there when the volume is opened again; it will be whole or absent.
    pub fn submit(&self, _change: Change, done: Done) {
        done(Err(VolumeError::Unimplemented));
    }

    /// Makes a change durable; waits where [`submit`](Self::submit) says busy. Never to be called from a callback.
    ///
    /// # Errors
    /// Those of [`submit`](Self::submit), busy excepted.
    pub fn commit(&self, _change: Change) -> Result<(), VolumeError> {
        Err(VolumeError::Unimplemented)
    }

    /// What the blocks of a range are: runs that cover it, ascending, neighbours of different states. What passes
    /// [`MAX_BLOCKS`] is left out.
    #[must_use]
    pub fn states(&self, _space: u32, _lba: u64, _blocks: u64) -> Vec<Run> {
        Vec::new()
    }

    /// Number of mapped blocks of a range.
    #[must_use]
    pub fn mapped(&self, _space: u32, _lba: u64, _blocks: u64) -> u64 {
        0
    }

    /// CRC-32C of each block of a range, `None` where it is not mapped. As long as the range: the caller bounds it.
    #[must_use]
    pub fn checksums(&self, _space: u32, _lba: u64, _blocks: u64) -> Vec<Option<u32>> {
        Vec::new()
    }

    /// Reads the blocks from `lba` on, all as they were at one moment; blocks that are not mapped read as zeros. May
    /// wait for the disk.
    ///
    /// # Errors
    /// [`VolumeError::Range`], [`VolumeError::Unaligned`], [`VolumeError::Damaged`] when a block does not match its
    /// checksum, [`VolumeError::Storage`]. `out` then holds anything.
    pub fn read(&self, _space: u32, _lba: u64, _out: &mut [u8]) -> Result<(), VolumeError> {
        Err(VolumeError::Unimplemented)
    }

    /// As [`read`](Self::read), but only if the disk need not be waited for: else `false`, and `out` holds anything.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read(&self, _space: u32, _lba: u64, _out: &mut [u8]) -> Result<bool, VolumeError> {
        Err(VolumeError::Unimplemented)
    }

    /// The labels of a space, ascending by address.
    #[must_use]
    pub fn labels(&self, _space: u32) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }

    /// The label at an address, if there is one.
    #[must_use]
    pub fn label(&self, _space: u32, _lba: u64) -> Option<Vec<u8>> {
        None
    }

    /// The spaces that hold anything, ascending.
    #[must_use]
    pub fn spaces(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Sets what a space may hold, until the volume is closed: quotas are configuration and are not stored.
    pub fn set_quota(&self, _space: u32, _quota: Quota) {}

    /// What a space holds.
    #[must_use]
    pub fn space_usage(&self, _space: u32) -> SpaceUsage {
        SpaceUsage::default()
    }

    /// How full the volume is.
    #[must_use]
    pub fn usage(&self) -> VolumeUsage {
        VolumeUsage::default()
    }

    /// What the volume has done.
    #[must_use]
    pub fn metrics(&self) -> VolumeMetrics {
        VolumeMetrics::default()
    }

    /// Most blocks of data that one change may hold.
    #[must_use]
    pub fn max_change_blocks(&self) -> u64 {
        0
    }

    /// Whether a sync failed, so that the volume only reads until it is opened again.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        false
    }

    /// Unmaps all blocks of a space and removes all its labels, in one change.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn drop_space(&self, _space: u32) -> Result<(), VolumeError> {
        Err(VolumeError::Unimplemented)
    }

    /// Reads and verifies every block with content, beside the traffic.
    ///
    /// # Errors
    /// None today but those of the medium that make going on useless; a damaged or unreadable block is an event.
    pub fn scrub(&self, _each: ScrubObserver<'_>) -> Result<ScrubReport, VolumeError> {
        Err(VolumeError::Unimplemented)
    }
}
