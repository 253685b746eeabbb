//! Disks, and the parts that the storage formats share.
//!
//! - [`Storage`] is random access to one file: on disk ([`FileStorage`]), in memory ([`MemoryStorage`]), on a disk that
//!   loses power ([`SimulatedStorage`]), or over another storage without changing it ([`OverlayStorage`]). The device's
//!   object store, its swap area and the block volume reach their files through it and nothing else, so the simulated
//!   disk exposes every byte that they keep to power loss and I/O errors.
//! - [`SuperblockFormat`] encodes the first block of a file and orders the steps of creating a store.
//! - [`TableFile`] opens a `redb` database in a storage, after checking it over an overlay.
//! - [`FreeBlocks`] and [`Extent`] manage the free blocks of a file.
//! - [`seal`], [`unseal`] and [`FormatError`] protect and judge records; their fields go through the codec of
//!   `ciphermill-wire`.
//!
//! The object store of `ciphermill-device` and the volume of `ciphermill-blockspace` are two formats on this one code.
//!
//! ```
//! use ciphermill_storage::{SimulatedDisk, Storage, StorageError};
//!
//! let disk = SimulatedDisk::new();
//! let file = disk.file("data");
//! file.write_at(0, b"synced")?;
//! file.sync()?;
//! file.write_at(6, b" lost or not")?;
//! let after = disk.crash(7).file("data");
//! let mut head = [0; 6];
//! after.read_at(0, &mut head)?;
//! assert_eq!(&head, b"synced");
//! # Ok::<(), StorageError>(())
//! ```
//!
//! The examples of [`TableFile`] share a hidden start: a `table` in a `storage` in memory, and the functions `fill`,
//! which writes a number, and `read`, which reads it. The examples of [`SuperblockFormat`] share a `format` and the
//! superblock `ready`.

mod database;
mod directory;
mod extents;
mod file;
mod format;
mod memory;
mod overlay;
mod replaceable;
mod simulated;
mod superblock;

use std::{fmt, io, path::PathBuf, sync::Arc};

pub use database::{DatabaseError, TableError, TableFile, failure, guarded};
pub use directory::{
    FileLock, create_durable_directory, create_private_directory, fresh_id, lock_existing_file, lock_file,
};
pub use extents::{BlockNumber, Extent, FreeBlocks};
pub use file::FileStorage;
pub use format::{FormatError, seal, unseal};
pub use memory::MemoryStorage;
pub use overlay::OverlayStorage;
pub use replaceable::ReplaceableFile;
pub use simulated::{Fault, SimulatedDisk, SimulatedStorage};
pub use superblock::{Superblock, SuperblockFormat};

/// The writer of the new content for [`Storage::replace`].
pub type Fill<'a> = &'a mut dyn FnMut(&dyn Storage) -> Result<(), StorageError>;

/// A linear array of bytes that can be read and written at any offset and be made durable.
///
/// Calls may come from many threads at once. A write is visible to later reads at once, but survives a crash only when
/// a later [`sync`](Storage::sync) has returned. Overlapping concurrent writes leave either content.
///
/// # Example
/// ```
/// use ciphermill_storage::{MemoryStorage, Storage};
///
/// let storage: Box<dyn Storage> = Box::new(MemoryStorage::new());
/// storage.write_at(0, b"content")?;
/// storage.sync()?;
/// let mut start = [0; 3];
/// storage.read_at(0, &mut start)?;
/// assert_eq!(&start, b"con");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Storage: Send + Sync + fmt::Debug {
    /// Length in bytes.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the medium fails.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::new();
    /// storage.write_at(2, b"ab")?;
    /// assert_eq!(storage.len()?, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn len(&self) -> Result<u64, StorageError>;

    /// Whether the storage holds no byte.
    ///
    /// # Errors
    /// As [`len`](Storage::len).
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::new();
    /// assert!(storage.is_empty()?);
    /// storage.write_at(0, b"a")?;
    /// assert!(!storage.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn is_empty(&self) -> Result<bool, StorageError> {
        Ok(self.len()? == 0)
    }

    /// Fills `out` from `offset`.
    ///
    /// # Errors
    /// [`StorageError::OutOfRange`] when the range passes the end, [`StorageError::Io`] when the medium fails.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage, StorageError};
    ///
    /// let storage = MemoryStorage::from_bytes(b"content".to_vec());
    /// let mut end = [0; 3];
    /// storage.read_at(4, &mut end)?;
    /// assert_eq!(&end, b"ent");
    /// assert!(matches!(storage.read_at(5, &mut end), Err(StorageError::OutOfRange { size: 7, .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError>;

    /// As [`read_at`](Storage::read_at), but without waiting for the medium: otherwise `false`, and the content of `out` is
    /// unspecified. The default never tries.
    ///
    /// # Errors
    /// As [`read_at`](Storage::read_at).
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, OverlayStorage, Storage};
    /// use std::sync::Arc;
    ///
    /// let memory = Arc::new(MemoryStorage::from_bytes(b"content".to_vec()));
    /// let mut start = [0; 3];
    /// assert!(memory.try_read_at(0, &mut start)?);
    /// assert_eq!(&start, b"con");
    /// // An overlay keeps the default.
    /// assert!(!OverlayStorage::new(memory)?.try_read_at(0, &mut start)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<bool, StorageError> {
        let _ = (offset, out);
        Ok(false)
    }

    /// Makes the storage at least `len` bytes long. If the medium supports it, the room for the added bytes is reserved, so
    /// that writing them finds space. The added bytes read as zeros.
    ///
    /// # Errors
    /// As [`write_at`](Storage::write_at).
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::new();
    /// storage.reserve_len(8)?;
    /// // A shorter length changes nothing.
    /// storage.reserve_len(4)?;
    /// assert_eq!(storage.to_bytes(), [0; 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn reserve_len(&self, len: u64) -> Result<(), StorageError> {
        if self.len()? < len { self.set_len(len) } else { Ok(()) }
    }

    /// Writes all of `bytes` at `offset`; a write past the end extends the storage, a gap reads as zeros.
    ///
    /// # Errors
    /// [`StorageError::NoSpace`] when the medium is full, [`StorageError::Io`] when it fails. Either may leave a part of
    /// the range written.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::new();
    /// storage.write_at(2, b"ab")?;
    /// assert_eq!(storage.to_bytes(), b"\0\0ab");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError>;

    /// Cuts the storage to `len` bytes or extends it with zeros.
    ///
    /// # Errors
    /// As [`write_at`](Storage::write_at).
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::from_bytes(b"content".to_vec());
    /// storage.set_len(3)?;
    /// storage.set_len(5)?;
    /// assert_eq!(storage.to_bytes(), b"con\0\0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn set_len(&self, len: u64) -> Result<(), StorageError>;

    /// Returns when all earlier writes are durable.
    ///
    /// # Errors
    /// [`StorageError::Sync`]: the state of the unsynced writes is then unknown, and a second attempt proves nothing,
    /// because the system may have dropped the pages that it could not write.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{SimulatedDisk, Storage};
    ///
    /// let disk = SimulatedDisk::new();
    /// disk.file("data").write_at(0, b"durable")?;
    /// disk.file("data").sync()?;
    /// assert_eq!(disk.crash(7).file("data").len()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn sync(&self) -> Result<(), StorageError>;

    /// Replaces the whole content with the bytes that `fill` writes into an empty storage. If `fill` or the medium fails, the
    /// former content remains. In a [`ReplaceableFile`] and on a [`SimulatedDisk`] a crash leaves the former content or
    /// the new one, never a mixture, and the new one is durable on return. The default, for storages that do not
    /// outlive the process, gathers the new content in memory. No other thread may use the storage meanwhile.
    ///
    /// # Errors
    /// Those of `fill`, and as [`write_at`](Storage::write_at) and [`sync`](Storage::sync). After an error other than
    /// [`StorageError::NoSpace`] the storage may have either content.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage, StorageError};
    ///
    /// let storage = MemoryStorage::from_bytes(b"former content".to_vec());
    /// storage.replace(&mut |file| file.write_at(0, b"content"))?;
    /// assert_eq!(storage.to_bytes(), b"content");
    /// let full = Err(StorageError::NoSpace { offset: 0, len: 1 });
    /// assert!(storage.replace(&mut |_| full.clone()).is_err());
    /// assert_eq!(storage.to_bytes(), b"content");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn replace(&self, fill: Fill<'_>) -> Result<(), StorageError> {
        let scratch = MemoryStorage::new();
        fill(&scratch)?;
        self.set_len(0)?;
        self.write_at(0, &scratch.to_bytes())?;
        self.sync()
    }

    /// Whether the storage is still at the place where it was opened. A file that was deleted, moved or replaced goes on to
    /// take writes, which are lost when it is closed. A storage without a place is always there.
    ///
    /// # Errors
    /// [`StorageError::Gone`]; [`StorageError::Io`] if the operating system returns an error.
    fn check_place(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Bytes by which the medium can still grow, or `None` if that is unknown.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the medium fails.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::with_capacity_limit(10);
    /// storage.write_at(0, b"content")?;
    /// assert_eq!(storage.free_space()?, Some(3));
    /// assert_eq!(MemoryStorage::new().free_space()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn free_space(&self) -> Result<Option<u64>, StorageError>;
}

/// Errors of a [`Storage`].
///
/// # Example
/// ```
/// use ciphermill_storage::{MemoryStorage, Storage, StorageError};
///
/// let error = MemoryStorage::new().read_at(4, &mut [0; 2]).unwrap_err();
/// assert!(matches!(error, StorageError::OutOfRange { offset: 4, len: 2, size: 0 }));
/// assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::UnexpectedEof);
/// ```
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// A read went past the end.
    #[error("read of {len} bytes at offset {offset} passes the end of a storage of {size} bytes")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// Number of bytes asked for.
        len: u64,
        /// Length of the storage.
        size: u64,
    },
    /// The medium is full, or a quota of the operating system is used up.
    #[error("no space left on the storage medium while writing {len} bytes at offset {offset}; free some space")]
    NoSpace {
        /// First byte that was to be written (the new length for `set_len`).
        offset: u64,
        /// Number of bytes that were to be written (0 for `set_len`).
        len: u64,
    },
    /// The medium failed.
    #[error("storage {operation} failed: {source}")]
    Io {
        /// Which operation failed.
        operation: &'static str,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The file that is open is no longer the one at its path.
    #[error("{} {what} while it was open; further writes would be lost: put it back and reopen the store", path.display())]
    Gone {
        /// The path under which it was opened.
        path: PathBuf,
        /// What happened to it.
        what: &'static str,
    },
    /// The medium failed to make writes durable.
    #[error("storage sync failed: {source}; unsynced writes may be lost, so the store must be reopened")]
    Sync {
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
}

impl StorageError {
    pub(crate) fn io(operation: &'static str, source: io::Error) -> Self {
        Self::Io { operation, source: Arc::new(source) }
    }

    /// Refuses a read that passes `size`.
    pub(crate) fn check_range(offset: u64, len: usize, size: u64) -> Result<(), Self> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= size => Ok(()),
            _ => Err(Self::OutOfRange { offset, len: len as u64, size }),
        }
    }

    fn to_io(&self) -> io::Error {
        let kind = match self {
            Self::OutOfRange { .. } => io::ErrorKind::UnexpectedEof,
            Self::NoSpace { .. } => io::ErrorKind::StorageFull,
            Self::Gone { .. } => io::ErrorKind::NotFound,
            Self::Io { source, .. } | Self::Sync { source } => source.kind(),
        };
        io::Error::new(kind, self.clone())
    }
}

impl From<StorageError> for io::Error {
    fn from(error: StorageError) -> Self {
        error.to_io()
    }
}
