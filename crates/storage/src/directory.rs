//! The lock file of a store's directory, and the identity of a new store.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

/// Locks the file at `path`, created if it does not exist, until the returned file is dropped. `None` when another file
/// handle holds the lock.
///
/// # Errors
/// From the operating system.
pub fn lock_file(path: &Path) -> io::Result<Option<File>> {
    let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
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
pub fn fresh_id() -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(id)
}
