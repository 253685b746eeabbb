//! Restoring a backup.

use super::{
    BackupError, BackupRecord, Observer, STORE,
    create::{copy_blocks, copy_objects},
    record::identity,
    staging::{Staging, copy_server_file},
};
use crate::volume::{Volume, VolumeConfig, VolumeFiles};
use ciphermill_device::store::Store;
use ciphermill_storage::fresh_id;
use std::path::Path;

/// Budget of a snapshot of a store without writers.
const UNLIMITED: u64 = u64::MAX;

/// A restored store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The record of the backup.
    pub record: BackupRecord,
    /// Damaged objects and blocks of the backup, which the new store lacks, beyond those of the record.
    pub damaged: Vec<String>,
}

/// Makes a new store in `target` from the backup in `backup`. The store gets a new identity, unless
/// `same_identity` is set; then it also gets the serial number and the UUIDs of the server.
///
/// # Errors
/// [`BackupError`]; then there is nothing at `target`, or an empty directory as before.
pub fn restore(
    backup: &Path,
    target: &Path,
    same_identity: bool,
    observer: Observer<'_>,
) -> Result<RestoreReport, BackupError> {
    let record = BackupRecord::load(backup)?;
    if !record.complete {
        return Err(BackupError::Incomplete { path: backup.to_owned() });
    }
    let place = backup.join(STORE);
    let store = Store::open_unchanged(&place)?;
    let volume = unchanged_volume(&place)?;
    if !record.fits(store.summary(), volume.as_ref().filter(|_| record.volume).map(Volume::summary)) {
        return Err(BackupError::Changed { path: backup.to_owned() });
    }
    let staging = Staging::begin(target)?;
    let id = match identity(&record.store).filter(|_| same_identity) {
        Some(id) => id,
        None => fresh_id().map_err(BackupError::file("read", Path::new("/dev/urandom")))?,
    };
    let mut copied = BackupRecord::begun(id, record.taken);
    let (snapshot, ()) = store.snapshot(UNLIMITED, || ())?;
    copy_objects(&snapshot, Store::open_directory_as(&staging.path, id)?, &mut copied, observer)?;
    if let Some(volume) = volume.filter(|_| record.volume) {
        copy_blocks(volume.snapshot(UNLIMITED), &staging.path, &mut copied, observer)?;
    }
    if same_identity {
        copy_server_file(&place, &staging.path)?;
    }
    staging.finish()?;
    Ok(RestoreReport { record, damaged: copied.damaged })
}

/// The volume of a directory over a scratch copy of its changes, if there is one.
pub(super) fn unchanged_volume(place: &Path) -> Result<Option<Volume>, BackupError> {
    let files = VolumeFiles::unchanged(place)?;
    Ok(files.map(|files| Volume::open(files, VolumeConfig::default())).transpose()?)
}
