//! A file of the operating system.

use crate::{Storage, StorageError};
use rustix::{
    fs::FallocateFlags,
    io::{Errno, ReadWriteFlags},
};
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, IoSliceMut},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A [`Storage`] in a file, by positioned reads and writes; [`sync`](Storage::sync) is `fdatasync`.
///
/// # Example
/// ```
/// use ciphermill_storage::{FileStorage, Storage};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("data");
/// let file = FileStorage::open(&path)?;
/// file.write_at(0, b"durable")?;
/// file.sync()?;
/// assert_eq!(std::fs::read(&path)?, b"durable");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileStorage {
    file: File,
    /// Absolute, so that a change of the working directory does not matter.
    path: PathBuf,
}

impl FileStorage {
    /// Opens the file at `path` for reading and writing; creates it, for its owner alone, if it does not exist. A symbolic
    /// link is not followed.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the operating system refuses.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{FileStorage, Storage};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("data");
    /// FileStorage::open(&path)?.write_at(0, b"content")?;
    /// // A second open keeps the content.
    /// assert_eq!(FileStorage::open(&path)?.len()?, 7);
    /// assert!(FileStorage::open(&directory.path().join("missing/data")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let open = || -> io::Result<Self> {
            let path = std::path::absolute(path)?;
            Ok(Self { file: private_file(&path)?, path })
        };
        open().map_err(|error| StorageError::io("open", error))
    }

    /// Opens the file at `path` for reading; writes to it fail. A symbolic link is not followed.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the operating system refuses, also when the file does not exist.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{FileStorage, Storage};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("data");
    /// std::fs::write(&path, b"content")?;
    /// let file = FileStorage::open_read_only(&path)?;
    /// assert_eq!(file.len()?, 7);
    /// assert!(file.write_at(0, b"C").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(path: &Path) -> Result<Self, StorageError> {
        let open = || -> io::Result<Self> {
            let path = std::path::absolute(path)?;
            let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            Ok(Self { file: file.map_err(|error| not_followed(error, &path))?, path })
        };
        open().map_err(|error| StorageError::io("open", error))
    }

    /// The same file under its new name.
    pub(crate) fn renamed(self, path: PathBuf) -> io::Result<Self> {
        fs::rename(&self.path, &path)?;
        Ok(Self { path, ..self })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn write_error(operation: &'static str, offset: u64, len: u64, error: io::Error) -> StorageError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StorageError::NoSpace { offset, len }
            }
            _ => StorageError::io(operation, error),
        }
    }
}

/// Opens the file at `path` for reading and writing, and creates it, for its owner alone, if it does not exist. A symbolic link
/// is refused: a user who may write to the directory could point it at a file that only this process may write. An
/// existing file that others may read or write is tightened.
///
/// # Errors
/// From the operating system.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags.cast_signed());
    let file = options.open(path).map_err(|error| not_followed(error, path))?;
    tighten(&file, path)?;
    Ok(file)
}

/// Takes the rights of others away from a file of an earlier version, or of a careless copy.
fn tighten(file: &File, path: &Path) -> io::Result<()> {
    let mode = file.metadata()?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode & 0o700)).map_err(|error| {
        let what = "may be read by others, and its rights cannot be changed";
        io::Error::new(error.kind(), format!("{} {what} ({error}); use `chmod go=` as its owner", path.display()))
    })
}

/// Names the symbolic link that an open did not follow.
fn not_followed(error: io::Error, path: &Path) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => {
            io::Error::new(error.kind(), format!("{} is a symbolic link, which is not followed", path.display()))
        }
        _ => error,
    }
}

/// Bytes of a disk that objects leave free, so that the object table can still commit on a full disk. Otherwise not even
/// a deletion would be possible.
const HEADROOM: u64 = 4 << 20;

impl Storage for FileStorage {
    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.file.metadata().map_err(|error| StorageError::io("length query", error))?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        match self.file.read_exact_at(out, offset) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(StorageError::OutOfRange { offset, len: out.len() as u64, size: self.len()? })
            }
            Err(error) => Err(StorageError::io("read", error)),
        }
    }

    /// Reads from the page cache (`preadv2` with `RWF_NOWAIT`); `false` on file systems without support.
    fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<bool, StorageError> {
        let mut done = 0;
        while done < out.len() {
            let slices = &mut [IoSliceMut::new(&mut out[done..])];
            match rustix::io::preadv2(&self.file, slices, offset + done as u64, ReadWriteFlags::NOWAIT) {
                Ok(0) => return Err(StorageError::OutOfRange { offset, len: out.len() as u64, size: self.len()? }),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(false),
                Err(error) => return Err(StorageError::io("read", error.into())),
            }
        }
        Ok(true)
    }

    fn reserve_len(&self, len: u64) -> Result<(), StorageError> {
        let size = self.len()?;
        if size >= len {
            return Ok(());
        }
        loop {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), size, len - size) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return self.set_len(len),
                Err(error) => return Err(Self::write_error("length change", size, len - size, error.into())),
            }
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| Self::write_error("write", offset, bytes.len() as u64, error))
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.file.set_len(len).map_err(|error| Self::write_error("length change", len, 0, error))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.file.sync_data().map_err(|source| StorageError::Sync { source: Arc::new(source) })
    }

    fn check_place(&self) -> Result<(), StorageError> {
        let gone = |what| Err(StorageError::Gone { path: self.path.clone(), what });
        let open = self.file.metadata().map_err(|error| StorageError::io("place query", error))?;
        if open.nlink() == 0 {
            return gone("was deleted");
        }
        match fs::symlink_metadata(&self.path) {
            Ok(named) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => Ok(()),
            Ok(_) => gone("was replaced by another file"),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                gone("was moved away")
            }
            Err(error) => Err(StorageError::io("place query", error)),
        }
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        let answer = loop {
            match rustix::fs::fstatvfs(&self.file) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(StorageError::io("free space query", error.into())),
                Ok(answer) => break answer,
            }
        };
        Ok(Some(answer.f_bavail.saturating_mul(answer.f_frsize).saturating_sub(HEADROOM)))
    }
}
