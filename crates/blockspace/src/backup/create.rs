//! Making a backup.

use super::{
    BackupError, BackupRecord, Observer, Progress, RECORD_FILE, STORE,
    staging::{copy_server_file, sync},
};
use crate::volume::{BlocksCopied, Volume, VolumeConfig, VolumeError, VolumeSnapshot};
use ciphermill_device::{
    Device, StoreError,
    store::{Copied, Snapshot, Store, StoreCopy, StoreFiles, StoreSummary},
};
use ciphermill_storage::{FileLock, create_durable_directory, lock_file};
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
/// [`BackupError`]. If the snapshot was taken, the backup then says that it is incomplete; before that, the earlier backup
/// stays as it is.
pub fn create(
    origin: Origin<'_>,
    volume: Option<&Volume>,
    directory: &Path,
    target: &Path,
    budget: u64,
    observer: Observer<'_>,
) -> Result<BackupRecord, BackupError> {
    if is_within(target, directory) {
        return Err(foreign(target, "is within the store"));
    }
    let (_lock, earlier) = prepare(target, origin.id())?;
    let place = target.join(STORE);
    let store = reusable(target, origin.id(), earlier)?;
    // The volume within the moment of the store: a command that changes both is in both, or can be finished after opening.
    let (snapshot, blocks) = origin.snapshot(budget, || volume.map(|volume| volume.snapshot(budget)))?;
    let mut record = begin(target, origin.id())?;
    let objects = copy_objects(&snapshot, store, &mut record, observer)?;
    drop(snapshot);
    let blocks = blocks.map(|blocks| copy_blocks(blocks, &place, &mut record, observer)).transpose()?;
    copy_server_file(directory, &place)?;
    sync(&place)?;
    record.describe(objects, blocks);
    record.complete = true;
    record.save(target)?;
    Ok(record)
}

/// Whether a path that may not exist is that of the directory, or below it.
fn is_within(path: &Path, directory: &Path) -> bool {
    let existing = path.ancestors().find_map(|above| above.canonicalize().ok());
    existing.zip(directory.canonicalize().ok()).is_some_and(|(path, directory)| path.starts_with(directory))
}

/// Writes the record of a backup that is not whole.
fn begin(target: &Path, id: [u8; 16]) -> Result<BackupRecord, BackupError> {
    let taken = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut record = BackupRecord::begun(id, taken);
    record.save(target)?;
    Ok(record)
}

/// The record that a directory had before this backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    /// None: the directory is new.
    None,
    /// One of this store.
    OfThisStore,
    /// A damaged one.
    Damaged,
}

fn foreign(target: &Path, what: &'static str) -> BackupError {
    BackupError::Target { path: target.to_owned(), what }
}

/// Makes or checks the directory of the backup, and locks it.
fn prepare(target: &Path, id: [u8; 16]) -> Result<(FileLock, Earlier), BackupError> {
    create_durable_directory(target).map_err(BackupError::file("create", target))?;
    let earlier = match BackupRecord::load(target) {
        Ok(record) if record.is_of(id) => Earlier::OfThisStore,
        Ok(_) => return Err(foreign(target, "holds a backup of another store")),
        Err(BackupError::NoBackup { .. }) => {
            let entries = fs::read_dir(target).map_err(BackupError::file("read", target))?;
            // A backup that was interrupted before its first record leaves the lock and a draft.
            let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
            let known = |name: &std::ffi::OsString| name == "lock" || name.to_string_lossy().starts_with(".backup-");
            if names.into_iter().any(|name| !known(&name)) {
                return Err(foreign(target, "is not empty and holds no backup"));
            }
            Earlier::None
        }
        // The store in it may serve the new backup all the same, if it is one of this store.
        Err(BackupError::Record { .. }) => Earlier::Damaged,
        Err(error) => return Err(error),
    };
    let path = target.join("lock");
    let lock = lock_file(&path).map_err(BackupError::file("lock", &path))?;
    let lock = lock.ok_or_else(|| BackupError::InProgress { path: target.join(RECORD_FILE) })?;
    if earlier == Earlier::None {
        // Before the store is made: a directory with a store and no record is not a backup.
        begin(target, id)?;
    }
    Ok((lock, earlier))
}

/// The store of earlier backups. One of this store that no longer opens is replaced: it is a copy.
fn reusable(target: &Path, id: [u8; 16], earlier: Earlier) -> Result<Store, BackupError> {
    let place = &target.join(STORE);
    // Before it is opened, which may change its files.
    let found = StoreFiles::unchanged(place)?.identity()?;
    if found.is_some_and(|found| found != id) {
        return Err(foreign(target, "holds a backup of another store"));
    }
    match Store::open_directory_as(place, id) {
        Err(StoreError::Corrupt { .. } | StoreError::NotAStore | StoreError::ForeignSwap) => {
            if found.is_none() && earlier == Earlier::Damaged {
                return Err(foreign(target, "holds a damaged record and a damaged store, perhaps of another store"));
            }
            tracing::warn!(place = %place.display(), "the store of the earlier backup is damaged; it is replaced");
            begin(target, id)?;
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
            Err(StoreError::DamagedObject { object, .. } | StoreError::OtherContent { object }) => {
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
    snapshot: VolumeSnapshot,
    place: &Path,
    record: &mut BackupRecord,
    observer: Observer<'_>,
) -> Result<crate::volume::VolumeSummary, BackupError> {
    let volume = match Volume::open_directory(place, VolumeConfig::of_copy()) {
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
            Volume::open_directory(place, VolumeConfig::of_copy())?
        }
        volume => volume?,
    };
    let mut stopped = false;
    let BlocksCopied { written, damaged, kept, .. } = snapshot.copy_to(&volume, &mut |done, of| {
        stopped |= !observer(Progress::Blocks(done, of));
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    record.written_blocks += written;
    record.damaged.extend(damaged.iter().map(|(space, lba)| format!("block {lba} of space {space}")));
    let kept = kept.iter().map(|(space, lba)| format!("block {lba} of space {space} (an earlier copy is kept)"));
    record.damaged.extend(kept);
    if stopped { Err(BackupError::Stopped) } else { Ok(volume.summary()) }
}
