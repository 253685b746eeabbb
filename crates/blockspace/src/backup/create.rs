//! Making a backup.

use super::{
    BackupError, BackupRecord, Observer, Progress, RECORD_FILE, STORE,
    staging::{copy_server_file, sync},
};
use crate::volume::{BlocksCopied, Volume, VolumeConfig, VolumeError, VolumeSnapshot};
use ciphermill_device::{
    Device, StoreError,
    store::{Copied, Snapshot, Store, StoreCopy, StoreSummary},
};
use ciphermill_storage::{create_private_directory, lock_file};
use std::{
    fs, io,
    ops::ControlFlow,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// The store of a backup's objects: a served device, or an open store.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// A device that may be at work.
    Device(&'a Device),
    /// An open store.
    Store(&'a Store),
}

impl Origin<'_> {
    fn id(self) -> [u8; 16] {
        match self {
            Self::Device(device) => device.store_id(),
            Self::Store(store) => store.id(),
        }
    }

    fn snapshot<T>(self, budget: u64, meanwhile: impl FnOnce() -> T) -> Result<(Snapshot, T), BackupError> {
        match self {
            Self::Device(device) => Ok(device.snapshot(budget, meanwhile)?),
            Self::Store(store) => Ok(store.snapshot(budget, meanwhile)?),
        }
    }
}

/// Backs up all spaces and the volume as they are at one moment, into the directory `target`. `directory` is that of the
/// store, for the identity of its server. `budget` bounds the bytes that stay on the disk of the store for the backup
/// alone, separately for objects and blocks.
///
/// The returned record is durable in the target. Damaged objects and blocks are listed in it and left out.
///
/// # Errors
/// [`BackupError`]; the backup then says that it is incomplete, if its directory could be written at all.
pub fn create(
    origin: Origin<'_>,
    volume: Option<&Volume>,
    directory: &Path,
    target: &Path,
    budget: u64,
    observer: Observer<'_>,
) -> Result<BackupRecord, BackupError> {
    let _lock = prepare(target, origin.id())?;
    let taken = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut record = BackupRecord::begun(origin.id(), taken);
    record.save(target)?;
    let place = target.join(STORE);
    let store = reusable(&place, origin.id())?;
    // The volume within the moment of the store: a command that changes both is in both, or can be finished after opening.
    let (snapshot, blocks) = origin.snapshot(budget, || volume.map(|volume| volume.snapshot(budget)))?;
    let objects = copy_objects(&snapshot, store, &mut record, observer)?;
    drop(snapshot);
    let blocks = blocks.map(|blocks| copy_blocks(&blocks, &place, &mut record, observer)).transpose()?;
    copy_server_file(directory, &place)?;
    sync(&place)?;
    record.describe(objects, blocks);
    record.complete = true;
    record.save(target)?;
    Ok(record)
}

/// Makes or checks the directory of the backup, and locks it.
fn prepare(target: &Path, id: [u8; 16]) -> Result<fs::File, BackupError> {
    let foreign = |what| BackupError::Target { path: target.to_owned(), what };
    create_private_directory(target).map_err(BackupError::file("create", target))?;
    match BackupRecord::load(target) {
        Ok(record) if record.is_of(id) => {}
        Ok(_) => return Err(foreign("holds a backup of another store")),
        Err(BackupError::NoBackup { .. }) => {
            let entries = fs::read_dir(target).map_err(BackupError::file("read", target))?;
            // A backup that was interrupted before its first record leaves the lock and a draft.
            let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
            let known = |name: &std::ffi::OsString| name == "lock" || name.to_string_lossy().starts_with(".backup-");
            if names.into_iter().any(|name| !known(&name)) {
                return Err(foreign("is not empty and holds no backup"));
            }
        }
        // The store in it may serve the new backup all the same.
        Err(BackupError::Record { .. }) => {}
        Err(error) => return Err(error),
    }
    let path = target.join("lock");
    let lock = lock_file(&path).map_err(BackupError::file("lock", &path))?;
    lock.ok_or_else(|| BackupError::InProgress { path: target.join(RECORD_FILE) })
}

/// The store of earlier backups. One that no longer opens is replaced: it is a copy.
fn reusable(place: &Path, id: [u8; 16]) -> Result<Store, BackupError> {
    match Store::open_directory_as(place, id) {
        Err(
            StoreError::Corrupt { .. }
            | StoreError::NotAStore
            | StoreError::ForeignSwap
            | StoreError::OtherStore { .. },
        ) => {
            tracing::warn!(place = %place.display(), "the store of the earlier backup is damaged; it is replaced");
            fs::remove_dir_all(place).map_err(BackupError::file("remove", place))?;
            Ok(Store::open_directory_as(place, id)?)
        }
        store => Ok(store?),
    }
}

/// Copies the objects of a snapshot; damaged objects are left out and listed.
pub(super) fn copy_objects(
    snapshot: &Snapshot,
    target: Store,
    record: &mut BackupRecord,
    observer: Observer<'_>,
) -> Result<StoreSummary, BackupError> {
    let mut copy = StoreCopy::new(target)?;
    copy.retain(&snapshot.remaining()?.into_iter().collect())?;
    for done in 1.. {
        match snapshot.copy_next(&mut copy) {
            Ok(None) => break,
            Ok(Some(Copied::Written(bytes))) => record.written_bytes += bytes,
            Ok(Some(Copied::Reused(_))) => {}
            Err(StoreError::DamagedObject { object, .. }) => {
                copy.remove(object)?;
                record.damaged.push(object.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        if !observer(Progress::Objects(done, snapshot.objects())) {
            return Err(BackupError::Stopped);
        }
    }
    Ok(snapshot.finish(copy)?.summary())
}

/// Copies the volume into a directory. The summary is of the target, which lacks damaged blocks.
pub(super) fn copy_blocks(
    snapshot: &VolumeSnapshot,
    place: &Path,
    record: &mut BackupRecord,
    observer: Observer<'_>,
) -> Result<crate::volume::VolumeSummary, BackupError> {
    let volume = match Volume::open_directory(place, VolumeConfig::default()) {
        Err(VolumeError::Corrupt { .. } | VolumeError::NotAVolume) => {
            for name in ["blocks", "blocks.redb"] {
                let path = place.join(name);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(BackupError::file("remove", &path)(error));
                    }
                    _ => {}
                }
            }
            Volume::open_directory(place, VolumeConfig::default())?
        }
        volume => volume?,
    };
    let mut stopped = false;
    let BlocksCopied { written, damaged, .. } = snapshot.copy_to(&volume, &mut |done, of| {
        stopped |= !observer(Progress::Blocks(done, of));
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    record.written_blocks += written;
    record.damaged.extend(damaged.iter().map(|(space, lba)| format!("block {lba} of space {space}")));
    if stopped { Err(BackupError::Stopped) } else { Ok(volume.summary()) }
}
