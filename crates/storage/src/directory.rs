//! The lock file of a store's directory, and the identity of a new store.

use crate::file::private_file;
use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Makes the directory at `path` and those above it where they are missing, for their owner alone. The rights of an existing
/// directory stay as they are: it may hold other files.
///
/// # Errors
/// From the operating system; [`io::ErrorKind::PermissionDenied`] for a directory in which others may replace files.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let metadata = fs::metadata(path)?;
    let mode = metadata.permissions().mode();
    // In a directory with the sticky bit, only its owner can replace a file.
    if mode & 0o022 != 0 && mode & 0o1000 == 0 {
        let what = format!("others may replace files in it (mode {:04o}); use `chmod go-w`", mode & 0o7777);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// As [`create_private_directory`], and durable: the entries of all directories that it makes survive a power cut.
///
/// # Errors
/// As [`create_private_directory`].
pub fn create_durable_directory(path: &Path) -> io::Result<()> {
    let parents = parents_of_new(path);
    create_private_directory(path)?;
    parents.iter().try_for_each(|directory| sync_if_readable(directory))
}

/// Syncs a directory. One that this process may not read gets no entry from it either.
fn sync_if_readable(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        outcome => outcome,
    }
}

/// The directories that get an entry when the directory `path` is made: its parent and the parents of missing directories on
/// the way. The parent also if `path` exists: its entry may not be durable yet.
fn parents_of_new(path: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for made in path.ancestors() {
        let Some(parent) = made.parent() else { break };
        directories.push(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() });
        if parent.as_os_str().is_empty() || parent.exists() {
            break;
        }
    }
    directories
}

/// A locked file. Dropping it in the process that locked it releases the lock.
///
/// The lock belongs to the open file, which a forked process shares until it executes a program. The release is therefore
/// explicit: without it, the lock would stay as long as such a process has the file open. A forked process that drops its copy
/// releases nothing.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    owner: u32,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            // If it fails, closing the file is all that can be done.
            let _ = self.file.unlock();
        }
    }
}

/// Locks the file at `path`, created if it does not exist, until the returned lock is dropped. `None` when another file
/// handle holds the lock. A symbolic link is not followed.
///
/// # Errors
/// From the operating system.
///
/// # Example
/// ```
/// use ciphermill_storage::lock_file;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("lock");
/// let lock = lock_file(&path)?;
/// assert!(lock.is_some() && lock_file(&path)?.is_none());
/// drop(lock);
/// assert!(lock_file(&path)?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lock_file(path: &Path) -> io::Result<Option<FileLock>> {
    held(private_file(path)?)
}

fn held(file: File) -> io::Result<Option<FileLock>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock { file, owner: std::process::id() })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(source),
    }
}

/// Locks the file at `path` as [`lock_file`] does, but opens it for reading only and does not create it.
///
/// # Errors
/// From the operating system; [`io::ErrorKind::NotFound`] when there is no such file.
///
/// # Example
/// ```
/// use ciphermill_storage::{lock_existing_file, lock_file};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("lock");
/// assert!(lock_existing_file(&path).is_err());
/// let lock = lock_file(&path)?;
/// assert!(lock.is_some() && lock_existing_file(&path)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lock_existing_file(path: &Path) -> io::Result<Option<FileLock>> {
    held(File::open(path)?)
}

/// A random identity for a new store.
///
/// # Errors
/// From the operating system.
///
/// # Example
/// ```
/// use ciphermill_storage::fresh_id;
///
/// assert_ne!(fresh_id()?, fresh_id()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fresh_id() -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a forked process between fork and exec, which has the file open too.
    #[test]
    fn a_released_lock_is_free_while_a_copy_of_the_file_is_open() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("lock");
        let lock = lock_file(&path).expect("a file").expect("free");
        let copy = lock.file.try_clone().expect("a copy");
        drop(lock);
        assert!(lock_file(&path).expect("a file").is_some());
        // A process that is not the owner releases nothing.
        let lock = lock_file(&path).expect("a file").expect("free");
        drop(FileLock { file: lock.file.try_clone().expect("a copy"), owner: lock.owner ^ 1 });
        assert!(lock_file(&path).expect("a file").is_none());
        drop((copy, lock));
    }

    #[test]
    fn the_entries_of_all_new_directories_are_synced() {
        let directory = tempfile::tempdir().expect("directory");
        let (top, store) = (directory.path(), directory.path().join("a/b/store"));
        assert_eq!(parents_of_new(&store), [top.join("a/b"), top.join("a"), top.to_owned()]);
        create_durable_directory(&store).expect("made");
        assert_eq!(parents_of_new(&store), [top.join("a/b")]);
        assert_eq!(parents_of_new(Path::new("no such directory")), [Path::new(".")]);
        assert_eq!(parents_of_new(Path::new("/")), Vec::<PathBuf>::new());
    }
}
