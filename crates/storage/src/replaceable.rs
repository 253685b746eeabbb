//! A file of the operating system that is replaced as a whole.

use crate::{FileStorage, Fill, Storage, StorageError};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

/// A [`FileStorage`] whose [`replace`](Storage::replace) writes a second file, `NAME.new`, syncs it and renames it over the
/// first one.
///
/// # Example
/// ```
/// use ciphermill_storage::{ReplaceableFile, Storage};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("log");
/// let file = ReplaceableFile::open(&path)?;
/// file.write_at(0, b"former content")?;
/// file.replace(&mut |file| file.write_at(0, b"content"))?;
/// file.write_at(7, b"!")?;
/// assert_eq!(std::fs::read(&path)?, b"content!");
/// assert_eq!(std::fs::read_dir(directory.path())?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReplaceableFile {
    file: RwLock<FileStorage>,
}

impl ReplaceableFile {
    /// Opens the file at `path` as [`FileStorage::open`] does, and removes the remains of an interrupted replacement.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the operating system refuses.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::ReplaceableFile;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let remains = directory.path().join("log.new");
    /// std::fs::write(&remains, b"half of the new con")?;
    /// ReplaceableFile::open(&directory.path().join("log"))?;
    /// assert!(!remains.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let file = FileStorage::open(path)?;
        match fs::remove_file(successor(file.path())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io("remove", error)),
            _ => Ok(Self { file: RwLock::new(file) }),
        }
    }

    fn now(&self) -> RwLockReadGuard<'_, FileStorage> {
        self.file.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path of the file that becomes the one at `path`.
fn successor(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

impl Storage for ReplaceableFile {
    fn len(&self) -> Result<u64, StorageError> {
        self.now().len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.now().read_at(offset, out)
    }

    fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<bool, StorageError> {
        self.now().try_read_at(offset, out)
    }

    fn reserve_len(&self, len: u64) -> Result<(), StorageError> {
        self.now().reserve_len(len)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.now().write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.now().set_len(len)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.now().sync()
    }

    fn replace(&self, fill: Fill<'_>) -> Result<(), StorageError> {
        let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
        let path = file.path().to_owned();
        // A file that was deleted or moved must not come back as a new one.
        file.check_place()?;
        let new = FileStorage::open(&successor(&path))?;
        let written = new.set_len(0).and_then(|()| fill(&new)).and_then(|()| new.sync());
        if let Err(error) = written {
            // On a full disk its room matters. If it cannot be removed, the next opening tries again.
            let _ = fs::remove_file(new.path());
            return Err(error);
        }
        *file = new.renamed(path.clone()).map_err(|error| StorageError::io("rename", error))?;
        sync_parent(&path).map_err(|error| StorageError::io("directory sync", error))
    }

    fn check_place(&self) -> Result<(), StorageError> {
        self.now().check_place()
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.now().free_space()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_replacement_leaves_the_former_content_and_no_remains() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let file = ReplaceableFile::open(&path).expect("a file");
        file.write_at(0, b"former").expect("room");
        let outcome = file.replace(&mut |new| {
            new.write_at(0, b"new")?;
            Err(StorageError::NoSpace { offset: 3, len: 1 })
        });
        assert!(matches!(outcome, Err(StorageError::NoSpace { .. })));
        file.write_at(6, b"!").expect("the former file goes on");
        assert_eq!(fs::read(&path).expect("a file"), b"former!");
        assert!(!successor(&path).exists());
    }

    #[test]
    fn a_file_that_was_moved_is_not_replaced_by_a_new_one_in_its_place() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let file = ReplaceableFile::open(&path).expect("a file");
        fs::rename(&path, directory.path().join("aside")).expect("moved");
        let outcome = file.replace(&mut |new| new.write_at(0, b"new"));
        assert!(matches!(outcome, Err(StorageError::Gone { .. })), "{outcome:?}");
        assert!(!path.exists());
    }

    #[test]
    fn the_place_of_a_replaced_file_is_that_of_its_new_content() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let file = ReplaceableFile::open(&path).expect("a file");
        file.replace(&mut |new| new.write_at(0, b"new")).expect("replaced");
        file.check_place().expect("in its place");
        fs::remove_file(&path).expect("deleted");
        assert!(matches!(file.check_place(), Err(StorageError::Gone { .. })));
    }
}
