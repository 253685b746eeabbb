//! A new store with all that a damaged one still has.

use super::{
    BackupError, BackupRecord, Observer, Progress, RECORD_FILE, STORE,
    create::copy_blocks,
    restore::unchanged_volume,
    staging::{Staging, copy_server_file},
};
use ciphermill_device::{
    StoreError,
    store::{Salvage, Salvaged, Store, StoreFiles},
};
use ciphermill_storage::{FileLock, fresh_id, lock_existing_file};
use std::{io, path::Path};

/// The outcome of a repair.
#[derive(Debug)]
pub struct RepairReport {
    /// The objects that were found.
    pub salvage: Salvage,
    /// Damaged blocks, which the new store does not map.
    pub damaged_blocks: Vec<String>,
    /// Why the blocks of namespaces are not in the new store, if it is so.
    pub volume: Option<String>,
}

impl RepairReport {
    /// All versions of objects that were found.
    #[must_use]
    pub fn versions(&self) -> &[Salvaged] {
        self.salvage.versions()
    }
}

/// Makes a new store in `target` from the store in `damaged`, which is not changed. The new store has the identity of the
/// old one, as far as that is readable.
///
/// # Errors
/// [`BackupError`]; then there is nothing at `target`, or an empty directory as before.
pub fn repair(damaged: &Path, target: &Path, observer: Observer<'_>) -> Result<RepairReport, BackupError> {
    let _lock = lock(damaged)?;
    let mut going = true;
    let salvage = Salvage::scan(StoreFiles::unchanged(damaged)?, &mut |done, of| {
        going &= observer(Progress::Objects(done, of));
    })?;
    if !going {
        return Err(BackupError::Stopped);
    }
    let staging = Staging::begin(target)?;
    let id = match salvage.id() {
        Some(id) => id,
        None => fresh_id().map_err(BackupError::file("read", Path::new("/dev/urandom")))?,
    };
    drop(salvage.write(Store::open_directory_as(&staging.path, id)?)?);
    let mut copied = BackupRecord::begun(id, 0);
    let volume = match unchanged_volume(damaged) {
        Ok(Some(volume)) => {
            copy_blocks(volume.snapshot(u64::MAX), &staging.path, &mut copied, observer)?;
            None
        }
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    copy_server_file(damaged, &staging.path)?;
    staging.finish()?;
    Ok(RepairReport { salvage, damaged_blocks: copied.damaged, volume })
}

/// Keeps others out of a store while it is read, if it still has its lock file.
///
/// # Errors
/// [`BackupError::NoStore`], [`BackupError::BackupGiven`], [`StoreError::AlreadyOpen`].
pub fn lock(directory: &Path) -> Result<Option<FileLock>, BackupError> {
    require_store(directory)?;
    let path = directory.join("lock");
    match lock_existing_file(&path) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(StoreError::AlreadyOpen { path: directory.to_owned() }.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::file("lock", &path)(error)),
    }
}

/// An error for a directory that holds no store: it is another one, perhaps that of a backup.
///
/// # Errors
/// [`BackupError::NoStore`], [`BackupError::BackupGiven`].
pub fn require_store(directory: &Path) -> Result<(), BackupError> {
    let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
    match has("data") || has("objects.redb") {
        true => Ok(()),
        false if has(RECORD_FILE) => Err(BackupError::BackupGiven { store: directory.join(STORE) }),
        false => Err(BackupError::NoStore { path: directory.to_owned() }),
    }
}
