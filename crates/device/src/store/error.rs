//! Errors of the object store.

use super::{ObjectKey, SpaceId};
use ciphermill_storage::{DatabaseError, FormatError, StorageError, TableError};
use std::{io, path::PathBuf, sync::Arc};

/// Errors of the object store.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The medium under the store failed or is full.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store's directory cannot be used.
    #[error("cannot use the store directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// Another process, or another device in this one, has the store open.
    #[error("the store in {} is already open; stop the other process that uses it, such as a server", path.display())]
    AlreadyOpen {
        /// The store's directory.
        path: PathBuf,
    },
    /// The data file is something else.
    #[error("the data file is not a Ciphermill store; nothing was changed")]
    NotAStore,
    /// The store was written by another version.
    #[error("the store has format version {given}, this build reads version {supported}; nothing was changed")]
    Version {
        /// Version found.
        given: u16,
        /// Version this build reads and writes.
        supported: u16,
    },
    /// The store's own records are damaged.
    #[error(
        "the store is damaged: {what}; nothing was changed; restore a backup, or recover the objects (`ciphermill store repair`)"
    )]
    Corrupt {
        /// The finding.
        what: String,
    },
    /// The directory holds another store than the one asked for.
    #[error("{} holds another store; give the directory of the same store, or an empty one", path.display())]
    OtherStore {
        /// The directory.
        path: PathBuf,
    },
    /// The swap file belongs to another store, or is not a swap file.
    #[error(
        "the swap file is not of this store; nothing was changed: move the file `swap` away if its content is of no use"
    )]
    ForeignSwap,
    /// A snapshot ended before it was read whole.
    #[error(
        "more than {limit} bytes were replaced before the snapshot had been read; give a larger budget, or read it when \
         fewer objects are written"
    )]
    SnapshotOver {
        /// The budget in bytes.
        limit: u64,
    },
    /// The bytes of an object are damaged.
    #[error("{object} is damaged in its chunk {chunk} (bytes from {}); write it again", chunk * super::CHUNK_BYTES)]
    DamagedObject {
        /// The object.
        object: ObjectKey,
        /// Index of the first damaged chunk.
        chunk: u64,
    },
    /// The bytes in an object's place are those of another one.
    #[error(
        "the place of {object} on the disk holds other bytes, which match the checksums but not the digest; write it again"
    )]
    OtherContent {
        /// The object.
        object: ObjectKey,
    },
    /// No such object.
    #[error("{object} is not stored")]
    NotFound {
        /// The object.
        object: ObjectKey,
    },
    /// No such space.
    #[error("space {space} does not exist; create it first")]
    NoSuchSpace {
        /// The space.
        space: SpaceId,
    },
    /// A space is full.
    #[error(
        "space {space} has {free} of its {limit} {resource} free, {needed} needed; delete objects or raise the quota"
    )]
    Quota {
        /// The space.
        space: SpaceId,
        /// The exhausted resource: `bytes` or `objects`.
        resource: &'static str,
        /// How much the object needs.
        needed: u64,
        /// How much is left, with the replaced object counted as free.
        free: u64,
        /// The quota.
        limit: u64,
    },
    /// The medium is full.
    #[error("the store needs {needed} bytes and has {free} free; delete objects or enlarge the disk")]
    NoSpace {
        /// Bytes needed.
        needed: u64,
        /// Bytes free, in the data file and on the medium.
        free: u64,
    },
    /// An object without bytes.
    #[error("an object has at least one byte, this one has none")]
    EmptyObject,
    /// More bytes were written than declared.
    #[error("{object} was declared with {declared} bytes, but more were written")]
    TooManyBytes {
        /// The object.
        object: ObjectKey,
        /// Declared size in bytes.
        declared: u64,
    },
    /// Fewer bytes were written than declared.
    #[error("{object} was declared with {declared} bytes, but only {written} were written")]
    Incomplete {
        /// The object.
        object: ObjectKey,
        /// Declared size in bytes.
        declared: u64,
        /// Bytes written.
        written: u64,
    },
    /// The object table failed.
    #[error("the object table failed to {operation}: {what}")]
    Table {
        /// The operation.
        operation: &'static str,
        /// Its message.
        what: String,
    },
    /// A sync failed earlier, so it is unknown which writes are durable.
    #[error(
        "the store stopped writing after its medium failed to sync; reads continue, reopen the store to write again"
    )]
    Failed,
}

impl From<FormatError> for StoreError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Foreign => Self::NotAStore,
            FormatError::Version { given, supported } => Self::Version { given, supported },
            FormatError::Corrupt { what } => Self::Corrupt { what },
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(DatabaseError { operation, what }: DatabaseError) -> Self {
        Self::Table { operation, what }
    }
}

impl From<TableError> for StoreError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            TableError::Database(error) => error.into(),
            TableError::Format(error) => error.into(),
        }
    }
}

impl StoreError {
    /// Wraps the error so that it can pass through [`io::Read`] and [`io::Write`]; [`from_io`](Self::from_io) finds it.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::NoSpace { .. } | Self::Storage(StorageError::NoSpace { .. }) => io::ErrorKind::StorageFull,
            Self::Quota { .. } => io::ErrorKind::QuotaExceeded,
            Self::DamagedObject { .. } | Self::OtherContent { .. } | Self::Corrupt { .. } => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, self)
    }

    /// The store error inside an I/O error that a reader or writer of this crate returned, if there is one.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// let error = writer.write_all(b"hello!").expect_err("five bytes were declared");
    /// assert!(matches!(StoreError::from_io(&error), Some(StoreError::TooManyBytes { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_io(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}
