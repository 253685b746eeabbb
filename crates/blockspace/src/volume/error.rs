//! Errors of a volume.

use ciphermill_storage::{DatabaseError, FormatError, StorageError, TableError};
use std::{io, path::PathBuf, sync::Arc};

/// Errors of a [`Volume`](super::Volume).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The medium under the volume failed or is full.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The volume's directory cannot be used.
    #[error("cannot use the volume directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// Another process, or another volume in this one, has the files open.
    #[error("the volume in {} is already open; close the other process that uses it", path.display())]
    AlreadyOpen {
        /// The volume's directory.
        path: PathBuf,
    },
    /// The block file is something else.
    #[error("the block file is not a Ciphermill volume; nothing was changed")]
    NotAVolume,
    /// The volume was written by another version.
    #[error("the volume has format version {given}, this build reads version {supported}; nothing was changed")]
    Version {
        /// Version found.
        given: u16,
        /// Version this build reads and writes.
        supported: u16,
    },
    /// The volume's own records are damaged.
    #[error("the volume is damaged: {what}; nothing was changed, restore it from a copy")]
    Corrupt {
        /// The finding.
        what: String,
    },
    /// A snapshot ended before it was read whole.
    #[error(
        "more than {limit} bytes of blocks were written before the snapshot had been read; give a larger budget, or read it \
         when fewer blocks are written"
    )]
    SnapshotOver {
        /// The budget in bytes.
        limit: u64,
    },
    /// The bytes of a block are damaged on the medium.
    #[error("block {lba} of space {space} is damaged on the medium; write it again")]
    Damaged {
        /// The space.
        space: u32,
        /// The first damaged block of those asked for.
        lba: u64,
    },
    /// A range without blocks, or one that passes the last address.
    #[error("{blocks} blocks from {lba} on are not a range within the {} blocks of a space", super::MAX_BLOCKS)]
    Range {
        /// First block.
        lba: u64,
        /// Number of blocks.
        blocks: u64,
    },
    /// Data or a buffer that is not a whole number of blocks, at least one.
    #[error("{len} bytes are not a whole number of blocks of {} bytes, at least one", super::BLOCK_BYTES)]
    Unaligned {
        /// Length given, in bytes.
        len: usize,
    },
    /// A label that is too long.
    #[error("a label has at most {} bytes, this one has {len}", super::MAX_LABEL_BYTES)]
    LabelTooLong {
        /// Length given, in bytes.
        len: usize,
    },
    /// A change with more in it than can be made durable at once.
    #[error("a change holds at most {limit} {resource}, this one holds {given}; split it")]
    TooLarge {
        /// What there is too much of: `blocks of data`, `blocks of zeros` or `bytes of entries`.
        resource: &'static str,
        /// How much the change holds.
        given: u64,
        /// The limit.
        limit: u64,
    },
    /// Too many changes wait already.
    #[error("{queued} bytes wait to be written and at most {limit} may; try again when some of them are done")]
    Busy {
        /// Bytes that wait.
        queued: u64,
        /// The limit.
        limit: u64,
    },
    /// A space is full.
    #[error("space {space} has {free} of its {limit} {resource} free, {needed} needed; unmap some or raise the quota")]
    Quota {
        /// The space.
        space: u32,
        /// The exhausted resource: `blocks` or `labels`.
        resource: &'static str,
        /// How many more the change needs.
        needed: u64,
        /// How many are left.
        free: u64,
        /// The quota.
        limit: u64,
    },
    /// The medium is full. Unmapping and labels still work.
    #[error("the volume needs {needed} bytes and has {free} free; unmap blocks or enlarge the disk")]
    NoSpace {
        /// Bytes needed.
        needed: u64,
        /// Bytes free, in the block file and on the medium.
        free: u64,
    },
    /// The database that keeps the map failed.
    #[error("the block map failed to {operation}: {what}")]
    Map {
        /// The operation.
        operation: &'static str,
        /// Its message.
        what: String,
    },
    /// A sync failed earlier, so it is unknown which writes are durable.
    #[error("the volume stopped writing after its medium failed to sync; reads continue, reopen it to write again")]
    Failed,
    /// The volume is being closed.
    #[error("the volume is being closed")]
    Closed,
    /// The system gave the volume no thread.
    #[error("cannot start a thread: {source}")]
    Thread {
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
}

impl From<FormatError> for VolumeError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Foreign => Self::NotAVolume,
            FormatError::Version { given, supported } => Self::Version { given, supported },
            FormatError::Corrupt { what } => Self::Corrupt { what },
        }
    }
}

impl From<DatabaseError> for VolumeError {
    fn from(DatabaseError { operation, what }: DatabaseError) -> Self {
        Self::Map { operation, what }
    }
}

impl From<TableError> for VolumeError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            TableError::Database(error) => error.into(),
            TableError::Format(error) => error.into(),
        }
    }
}
