//! Opening and creation of a store.

use super::{
    Inner, ObjectKey, SpaceId, SpaceLimits, Store, StoreError, StoreFiles,
    allocator::Allocator,
    format::{EARLIER_STORE_VERSION, EARLIER_SUPERBLOCK, Extent, SUPERBLOCK, corrupt},
    index::Index,
    log::{Log, LogContent},
    object::{Placement, StoredObject},
    owner::Owners,
    pinned::Snapshots,
    queue::CommitQueue,
    record::{Record, StoreId},
    swap,
    table::{Content, Table},
};
use ciphermill_storage::{self as storage, FileLock, FormatError, Storage, Superblock, TableError};
use std::{
    fs::File,
    path::Path,
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, AtomicU64},
    },
};

impl Store {
    /// Opens the store in a directory, and makes directory and store where there are none.
    ///
    /// # Errors
    /// [`StoreError::AlreadyOpen`], [`StoreError::Directory`], and those of [`open`](Self::open).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// let (store, _swap) = Store::open_directory(directory.path())?;
    /// assert!(matches!(Store::open_directory(directory.path()), Err(StoreError::AlreadyOpen { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_directory(path: &Path) -> Result<(Self, Arc<dyn Storage>), StoreError> {
        let (files, lock) = files_of(path)?;
        Self::open_files(files, Some(lock), None)
    }

    /// As [`open_directory`](Self::open_directory), for the copy of a store: a new store gets this identity, and an
    /// existing one must have it.
    ///
    /// # Errors
    /// [`StoreError::OtherStore`], and as [`open_directory`](Self::open_directory).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let (directory, id) = (tempfile::tempdir()?, [7; 16]);
    /// assert_eq!(Store::open_directory_as(directory.path(), id)?.id(), id);
    /// let other = Store::open_directory_as(directory.path(), [8; 16]);
    /// assert!(matches!(other, Err(StoreError::OtherStore { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_directory_as(path: &Path, id: [u8; 16]) -> Result<Self, StoreError> {
        let (files, lock) = files_of(path)?;
        let store = Self::open_files(files, Some(lock), Some(id))?.0;
        if store.id() == id { Ok(store) } else { Err(StoreError::OtherStore { path: path.to_owned() }) }
    }

    /// Opens the store in a directory and changes nothing there: an upgrade, a repair after a crash, and all writes stay
    /// in memory. A directory without a store is an error.
    ///
    /// # Errors
    /// [`StoreError::AlreadyOpen`], [`StoreError::Directory`], [`StoreError::NotAStore`], and those of
    /// [`open`](Self::open).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// assert!(Store::open_unchanged(directory.path()).is_err());
    /// drop(Store::open_directory(directory.path())?);
    /// let store = Store::open_unchanged(directory.path())?;
    /// store.set_space(SpaceId(7), SpaceLimits::UNLIMITED)?;
    /// drop(store);
    /// assert_eq!(Store::open_unchanged(directory.path())?.spaces(), [SpaceId::EMBEDDED]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_unchanged(path: &Path) -> Result<Self, StoreError> {
        let lock = lock_unchanged(path)?;
        let files = StoreFiles::unchanged(path)?;
        if files.data.is_empty()? && files.objects.is_empty()? {
            return Err(StoreError::NotAStore);
        }
        Ok(Self::open_files(files, Some(lock), None)?.0)
    }

    /// The identity of the store, drawn when it was made.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.inner.table.store_id()
    }
}

/// Makes the directory of a store if it does not exist, locks it, and opens the files in it.
fn files_of(path: &Path) -> Result<(StoreFiles, FileLock), StoreError> {
    let refused = |source| StoreError::Directory { path: path.to_owned(), source: Arc::new(source) };
    // The directory of an existing store has its entry already.
    match path.join("data").exists() {
        true => storage::create_private_directory(path),
        false => storage::create_durable_directory(path),
    }
    .map_err(refused)?;
    let lock = lock_directory(path)?;
    let files = StoreFiles::in_directory(path)?;
    // The names of the files must survive a crash as their bytes do.
    File::open(path).and_then(|directory| directory.sync_all()).map_err(refused)?;
    Ok((files, lock))
}

impl Store {
    /// Opens the store in these files, and creates one if all are empty. The caller ensures that they are not open
    /// elsewhere.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::Version`] and [`StoreError::Corrupt`], with no byte changed;
    /// [`StoreError::Storage`] and [`StoreError::Table`] when the medium fails.
    pub fn open(files: StoreFiles) -> Result<Self, StoreError> {
        Ok(Self::open_files(files, None, None)?.0)
    }

    /// The store, and its swap area. A new store gets the identity `id`, or a fresh one.
    pub(crate) fn open_files(
        files: StoreFiles,
        lock: Option<FileLock>,
        id: Option<[u8; 16]>,
    ) -> Result<(Self, Arc<dyn Storage>), StoreError> {
        let failed = Arc::new(AtomicBool::new(false));
        let (superblock, earlier) = superblock(&files)?;
        let log = LogContent::read(&*files.log)?;
        let mut swap = None;
        let (table, content) = match superblock {
            Some(Superblock { ready: true, id: store_id }) => {
                // First on scratch: a damaged store must be found out before opening it repairs, hence changes, it.
                let checked = Table::check(Arc::clone(&files.objects), store_id)?;
                refuse_lost_commits(&log, store_id, &checked)?;
                Allocator::rebuild(Arc::clone(&files.data), extents(&checked))?;
                checked.space_states()?;
                swap = Some(swap::open(Arc::clone(&files.swap), store_id, earlier)?);
                Table::open(Arc::clone(&files.objects), store_id, Arc::clone(&failed))?
            }
            Some(Superblock { ready: false, id: store_id }) => create(&files, id.unwrap_or(store_id), &failed)?,
            None => create(&files, id.map_or_else(fresh_id, Ok)?, &failed)?,
        };
        let store_id = table.store_id();
        let swap = swap.map_or_else(|| swap::open(Arc::clone(&files.swap), store_id, earlier), Ok)?;
        if earlier {
            // Before the first record of the new version, so that earlier builds refuse the store from now on.
            files.data.write_at(0, &SUPERBLOCK.encode(Superblock { ready: true, id: store_id }))?;
            files.data.sync()?;
        }
        let allocator = Arc::new(Allocator::rebuild(Arc::clone(&files.data), extents(&content))?);
        // What a crash left behind the last object is nobody's.
        if files.data.len()? > allocator.end_bytes() {
            files.data.set_len(allocator.end_bytes())?;
        }
        let next_generation = first_unused(&content)?;
        table.upgrade(&content, next_generation)?;
        let spaces = content.space_states()?;
        let owners = Owners::default();
        let objects = content
            .objects
            .into_iter()
            .map(|(key, mut record)| {
                record.owner = record.owner.map(|owner| owners.share(owner));
                let placement = match record.is_inline() {
                    true => Placement::Inline(Arc::default()),
                    false => Placement::Extents(Arc::new(allocator.adopt(record.extents.clone()))),
                };
                (key, Arc::new(StoredObject::new(key, record, placement)))
            })
            .collect::<std::collections::BTreeMap<ObjectKey, _>>();
        let index = Index { objects, spaces };
        let log = Log::open(Arc::clone(&files.log), &log, store_id, &index, next_generation);
        let store = Self {
            inner: Arc::new(Inner {
                data: files.data,
                objects: files.objects,
                index: RwLock::new(index),
                allocator,
                table,
                log,
                snapshots: Snapshots::default(),
                owners,
                queue: CommitQueue::default(),
                next_generation: AtomicU64::new(next_generation),
                failed,
                _lock: lock,
            }),
        };
        if store.space(SpaceId::EMBEDDED).is_none() {
            store.set_space(SpaceId::EMBEDDED, SpaceLimits::UNLIMITED)?;
        }
        Ok((store, swap))
    }
}

fn lock_directory(path: &Path) -> Result<FileLock, StoreError> {
    let refused = |source| StoreError::Directory { path: path.to_owned(), source: Arc::new(source) };
    let lock = storage::lock_file(&path.join("lock")).map_err(refused)?;
    lock.ok_or_else(|| StoreError::AlreadyOpen { path: path.to_owned() })
}

/// Locks an existing store; the directory is not changed.
fn lock_unchanged(path: &Path) -> Result<FileLock, StoreError> {
    let refused = |source| StoreError::Directory { path: path.to_owned(), source: Arc::new(source) };
    let lock = storage::lock_existing_file(&path.join("lock")).map_err(refused)?;
    lock.ok_or_else(|| StoreError::AlreadyOpen { path: path.to_owned() })
}

/// The superblock of the data file, and whether it is of the earlier version.
fn superblock(files: &StoreFiles) -> Result<(Option<Superblock>, bool), StoreError> {
    let read = |format: &storage::SuperblockFormat| format.read(&*files.data, &*files.objects, "an object table");
    match read(&SUPERBLOCK) {
        Err(TableError::Format(FormatError::Version { given: EARLIER_STORE_VERSION, .. })) => {
            Ok((read(&EARLIER_SUPERBLOCK)?, true))
        }
        found => Ok((found?, false)),
    }
}

/// The first number that neither a generation nor a change had.
fn first_unused(content: &Content) -> Result<u64, StoreError> {
    let numbers = |record: &Record| record.generation.max(record.change);
    let newest = content.objects.values().map(numbers).max().unwrap_or(0);
    // What was deleted has had a generation too, and somebody may remember it.
    let next = newest.checked_add(1).map(|next| next.max(content.next_generation));
    Ok(next.filter(|next| *next < u64::MAX).ok_or_else(|| corrupt("the generations are used up"))?)
}

/// Refuses a table that lacks a commit which the log has. See the order of writes in the documentation of the log.
fn refuse_lost_commits(log: &LogContent, store_id: StoreId, content: &Content) -> Result<(), StoreError> {
    let next = first_unused(content)?;
    match log.ahead_of(store_id, next) {
        None => Ok(()),
        Some(bound) => Err(corrupt(format!(
            "the object table ends before change {next}, but changes up to {} were made durable in it",
            bound - 1
        ))
        .into()),
    }
}

fn extents(content: &Content) -> Vec<Extent> {
    content.objects.values().flat_map(|record| record.extents.iter().copied()).collect()
}

fn fresh_id() -> Result<[u8; 16], StoreError> {
    storage::fresh_id()
        .map_err(|source| StoreError::Directory { path: "/dev/urandom".into(), source: Arc::new(source) })
}

/// Makes the files of a new store.
fn create(files: &StoreFiles, store_id: [u8; 16], failed: &Arc<AtomicBool>) -> Result<(Table, Content), StoreError> {
    let make_table = || Table::create(Arc::clone(&files.objects), store_id, Arc::clone(failed));
    Ok((SUPERBLOCK.create(&*files.data, store_id, make_table)?, Content::default()))
}
