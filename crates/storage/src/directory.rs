//! The lock file of a store's directory, and the identity of a new store.

use crate::file::private_file;
use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// Makes the directory at `path` and those above it where they are missing, for their owner alone.
///
/// # Errors
/// From the operating system.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Locks the file at `path`, created if it does not exist, until the returned file is dropped. `None` when another file
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
pub fn lock_file(path: &Path) -> io::Result<Option<File>> {
    let lock = private_file(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(source),
    }
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
