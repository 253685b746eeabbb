//! Backups of a store with its volume, restored stores, and repaired ones.
//!
//! A backup is a directory with a record and a store. The record says whether the backup is whole; it is written last, and
//! says *incomplete* from before the first change of the objects in the store. An attempt that fails earlier, because the
//! store in the backup or the snapshot is not to be had, leaves the earlier backup whole. So a backup that was interrupted never passes for a whole
//! one, and the next backup into the directory writes only the objects and blocks that the store in it lacks.
//!
//! A restored or repaired store is made next to its final place and renamed when it is whole.

mod check;
mod create;
mod record;
mod repair;
mod restore;
mod staging;

use crate::volume::VolumeError;
use ciphermill_device::{DeviceError, StoreError};
use std::{io, path::PathBuf, sync::Arc};

pub use check::{CheckReport, check};
pub use create::{Origin, create};
pub use record::{BackupRecord, RECORD_FILE};
pub use repair::{RepairReport, lock, repair, require_store};
pub use restore::{RestoreReport, restore};

/// The store within a backup.
const STORE: &str = "store";
/// The identity of a server, kept with its store.
const SERVER_FILE: &str = "server.json";
/// No such file is longer.
const SERVER_BYTES: u64 = 1 << 20;

/// Progress of a backup, a restore or a repair. Returns whether to go on.
pub type Observer<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// Where a backup, a restore or a repair stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Objects done, and all objects.
    Objects(u64, u64),
    /// Stripes of 32 blocks done, and all stripes.
    Blocks(u64, u64),
}

/// Errors of backups.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The object store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The volume refused or failed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A file or directory cannot be used.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// The operation that failed.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The directory holds something other than a backup of this store.
    #[error("{} {what}; give the directory of earlier backups of this store, or an empty one", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// The reason for the refusal.
        what: &'static str,
    },
    /// The directory of a new store is in use.
    #[error("{} exists and is not empty; give a directory that does not exist", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Another backup writes to the directory.
    #[error("another backup to {} is in progress; wait for its end", path.display())]
    InProgress {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds no store.
    #[error("{} holds no store; give the directory of a store", path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is that of a backup.
    #[error("this is the directory of a backup, whose store is {}", store.display())]
    BackupGiven {
        /// The store in it.
        store: PathBuf,
    },
    /// The directory holds no backup.
    #[error("{} holds no backup: it has no {}", path.display(), RECORD_FILE)]
    NoBackup {
        /// The directory.
        path: PathBuf,
    },
    /// The record cannot be read.
    #[error("the record of the backup in {} is damaged ({what}); make the backup again, or restore another one", path.display())]
    Record {
        /// The directory.
        path: PathBuf,
        /// The finding.
        what: String,
    },
    /// The record is of a later version.
    #[error(
        "the backup in {} has version {given}, this build reads version {supported}; use the version that made it",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Version found.
        given: u16,
        /// Version this build reads and writes.
        supported: u16,
    },
    /// The backup was interrupted.
    #[error("the backup in {} is incomplete: it was interrupted; make it again, or restore another one", path.display())]
    Incomplete {
        /// The directory.
        path: PathBuf,
    },
    /// The store in the backup does not fit the record.
    #[error("the backup in {} was changed after it was made; make it again, or restore another one", path.display())]
    Changed {
        /// The directory.
        path: PathBuf,
    },
    /// The observer stopped the work.
    #[error("stopped; nothing counts that was written")]
    Stopped,
}

impl BackupError {
    fn file(operation: &'static str, path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { operation, path: path.clone(), source: Arc::new(source) }
    }
}
