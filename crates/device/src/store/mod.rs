//! The object store: named, checksummed objects that survive any crash whole.
//!
//! An object is written to free extents of the data file, synced, and only then named in the object table by one `redb`
//! transaction. The extents of the replaced version stay untouched until that transaction is durable and the last reader
//! is dropped. Concurrent commits share one sync and one transaction.

mod allocator;
mod checksum;
mod commit;
mod copy;
mod digest;
mod earlier;
mod error;
mod format;
mod index;
mod log;
mod names;
mod object;
mod open;
mod owner;
mod pages;
mod pinned;
mod queue;
mod reader;
mod record;
mod salvage;
mod scrub;
mod snapshot;
mod swap;
mod table;
mod writer;

use allocator::Allocator;
use ciphermill_program::{KeyId, TypeCode, VrId};
use ciphermill_storage::{
    FileLock, FileStorage, MemoryStorage, OverlayStorage, ReplaceableFile, SimulatedDisk, Storage,
};
use index::Index;
use log::Log;
use owner::Owners;
use pinned::Snapshots;
use queue::{Change, CommitQueue};
use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use table::Table;

pub use copy::{Copied, StoreCopy};
pub use digest::ContentDigest;
pub use error::StoreError;
pub use format::{BLOCK_BYTES, CHUNK_BYTES, EARLIER_STORE_VERSION, STORE_VERSION};
pub use index::StoreSummary;
pub use names::{ObjectFlags, ObjectKey, SpaceId, SpaceLimits};
pub use object::StoredObject;
pub use owner::Owner;
pub use pages::ObjectPages;
pub use reader::ObjectReader;
pub use record::INLINE_BYTES;
pub use salvage::{Salvage, SalvageReport, SalvageState, Salvaged};
pub use scrub::{ScrubEvent, ScrubReport};
pub use snapshot::Snapshot;
pub use writer::{FinishedObject, ObjectWriter};

/// The files of a store.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let files = StoreFiles::in_memory();
/// let device = Device::open(DeviceConfig::in_files(files), handlers())?;
/// assert_eq!(device.metrics().store.objects, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoreFiles {
    /// Superblock and extents of objects.
    pub data: Arc<dyn Storage>,
    /// The `redb` database that names the objects.
    pub objects: Arc<dyn Storage>,
    /// The records of all objects once more, to salvage a store whose database is damaged.
    pub log: Arc<dyn Storage>,
    /// Pages of registers that main memory had no room for; worthless after a restart.
    pub swap: Arc<dyn Storage>,
}

impl StoreFiles {
    /// The files `data`, `objects.redb`, `log` and `swap` of a directory.
    ///
    /// # Errors
    /// [`StoreError::Storage`] when the operating system refuses one of them.
    pub fn in_directory(directory: &Path) -> Result<Self, StoreError> {
        let open = |name: &str| FileStorage::open(&directory.join(name));
        Ok(Self {
            data: Arc::new(open("data")?),
            objects: Arc::new(open("objects.redb")?),
            log: Arc::new(ReplaceableFile::open(&directory.join("log"))?),
            swap: Arc::new(open("swap")?),
        })
    }

    /// The files of a directory as they are now, for reading: every change stays in memory. Files that do not exist are
    /// empty. Without the lock that [`Store::open_unchanged`] takes, another process may change them meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Storage`] when the operating system refuses one of them.
    pub fn unchanged(directory: &Path) -> Result<Self, StoreError> {
        let open = |name: &str| -> Result<Arc<dyn Storage>, StoreError> {
            let path = directory.join(name);
            let base: Arc<dyn Storage> = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Arc::new(MemoryStorage::new()),
                _ => Arc::new(FileStorage::open_read_only(&path)?),
            };
            Ok(Arc::new(OverlayStorage::new(base)?))
        };
        // Nothing of a swap area is read.
        let swap = Arc::new(MemoryStorage::new());
        Ok(Self { data: open("data")?, objects: open("objects.redb")?, log: open("log")?, swap })
    }

    /// The identity of the store in these files, as the superblock states it; `None` if there is none, or it is damaged.
    ///
    /// # Errors
    /// [`StoreError::Version`] for a store of a later version, and errors of the medium.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let files = StoreFiles::in_memory();
    /// assert_eq!(files.identity()?, None);
    /// let store = Store::open(files.clone())?;
    /// assert_eq!(files.identity()?, Some(store.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn identity(&self) -> Result<Option<[u8; 16]>, StoreError> {
        salvage::superblock(&*self.data)
    }

    /// Files that live as long as the process.
    #[must_use]
    pub fn in_memory() -> Self {
        let file = || Arc::new(MemoryStorage::new());
        Self { data: file(), objects: file(), log: file(), swap: file() }
    }

    /// Files on a simulated disk.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_device::storage::SimulatedDisk;
    /// let disk = SimulatedDisk::new();
    /// let store = Store::open(StoreFiles::on_simulated_disk(&disk))?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// writer.commit(ObjectFlags::NONE)?;
    /// // The power fails. The committed object survives.
    /// let after = Store::open(StoreFiles::on_simulated_disk(&disk.crash(1)))?;
    /// assert_eq!(after.get(key)?.size(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_simulated_disk(disk: &SimulatedDisk) -> Self {
        let file = |name| Arc::new(disk.file(name));
        Self { data: file("data"), objects: file("objects.redb"), log: file("log"), swap: file("swap") }
    }
}

/// Sizes of a store at one moment.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::store::StoreUsage;
/// let StoreUsage { objects, object_bytes, .. } = Store::open(StoreFiles::in_memory())?.usage();
/// assert_eq!((objects, object_bytes), (0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// Number of objects.
    pub objects: u64,
    /// Sum of their sizes in bytes.
    pub object_bytes: u64,
    /// Length of the used part of the data file in bytes.
    pub data_bytes: u64,
    /// Bytes of free extents within it.
    pub free_bytes: u64,
    /// Length of the object table in bytes, free pages included; 0 when its medium does not say.
    pub table_bytes: u64,
}

/// The object store. Cheap to clone; all clones are one store, which closes when the last clone, reader and writer of it is
/// gone.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// let object = writer.commit(ObjectFlags::NONE)?;
/// assert_eq!(store.read(object).pull_all()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    data: Arc<dyn Storage>,
    /// The medium of the table.
    objects: Arc<dyn Storage>,
    index: RwLock<Index>,
    allocator: Arc<Allocator>,
    table: Table,
    log: Log,
    snapshots: Snapshots,
    owners: Owners,
    queue: CommitQueue,
    next_generation: AtomicU64,
    /// Set when it is no longer known which writes are durable; from then on the store only reads.
    failed: Arc<AtomicBool>,
    /// Held for its lock on the store's directory.
    _lock: Option<FileLock>,
}

impl Store {
    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.inner.index()
    }

    /// Creates a space, or changes the limits of one.
    ///
    /// # Errors
    /// Those of a commit: [`StoreError::Storage`], [`StoreError::Table`], [`StoreError::Failed`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let space = SpaceId(5);
    /// store.set_space(space, SpaceLimits { bytes: 4, objects: 1 })?;
    /// let refused = store.write(ObjectKey { space, id: x }, 5);
    /// assert!(matches!(refused, Err(StoreError::Quota { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_space(&self, space: SpaceId, limits: SpaceLimits) -> Result<(), StoreError> {
        self.inner.submit(Change::Space { space, limits }).map(drop)
    }

    /// The limits and the use (bytes and objects) of a space, if there is such a space.
    #[must_use]
    pub fn space(&self, space: SpaceId) -> Option<(SpaceLimits, SpaceLimits)> {
        let state = *self.index().spaces.get(&space)?;
        Some((state.limits, SpaceLimits { bytes: state.bytes, objects: state.objects }))
    }

    /// All spaces, ascending.
    #[must_use]
    pub fn spaces(&self) -> Vec<SpaceId> {
        self.index().spaces.keys().copied().collect()
    }

    /// The object called `key`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// assert_eq!(store.get(key)?.checksum(), object.checksum());
    /// assert!(matches!(store.get(ObjectKey { id: y, ..key }), Err(StoreError::NotFound { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, key: ObjectKey) -> Result<Arc<StoredObject>, StoreError> {
        self.index().objects.get(&key).cloned().ok_or(StoreError::NotFound { object: key })
    }

    /// Several objects of a space as they were at one moment: the objects named in `ids`, and all objects of each (type,
    /// key) in `families`. Missing objects are left out.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// // One moment for all: `y` does not exist.
    /// let view = store.view(key.space, [x, y], &[]);
    /// assert_eq!((view.len(), view[&x].size()), (1, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn view(
        &self,
        space: SpaceId,
        ids: impl IntoIterator<Item = VrId>,
        families: &[(TypeCode, KeyId)],
    ) -> HashMap<VrId, Arc<StoredObject>> {
        let index = self.index();
        let mut view: HashMap<_, _> = ids
            .into_iter()
            .filter_map(|id| Some((id, Arc::clone(index.objects.get(&ObjectKey { space, id })?))))
            .collect();
        for &(type_code, key_id) in families {
            let (first, last) = (VrId::new(type_code, key_id, MIN_DATA), VrId::new(type_code, key_id, MAX_DATA));
            view.extend(index.range(space, first, last).map(|(key, object)| (key.id, Arc::clone(object))));
        }
        view
    }

    /// Whether the register of an object still holds this version.
    pub(crate) fn is_current(&self, object: &StoredObject) -> bool {
        self.get(object.key()).is_ok_and(|now| now.generation() == object.generation())
    }

    /// All objects of a space, ascending.
    #[must_use]
    pub fn list(&self, space: SpaceId) -> Vec<Arc<StoredObject>> {
        self.range(space, VrId::new(TypeCode(0), KeyId(0), MIN_DATA), VrId::new(TypeCode(u16::MAX), MAX_KEY, MAX_DATA))
    }

    /// All objects of one type and key in a space, ascending.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// assert_eq!(store.list_key(key.space, x.type_code, x.key_id)[0].key(), key);
    /// assert!(store.list_key(key.space, x.type_code, KeyId(9)).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_key(&self, space: SpaceId, type_code: TypeCode, key_id: KeyId) -> Vec<Arc<StoredObject>> {
        self.range(space, VrId::new(type_code, key_id, MIN_DATA), VrId::new(type_code, key_id, MAX_DATA))
    }

    fn range(&self, space: SpaceId, first: VrId, last: VrId) -> Vec<Arc<StoredObject>> {
        self.index().range(space, first, last).map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Starts to write an object of `size` bytes. Nothing is visible before [`ObjectWriter::commit`].
    ///
    /// # Errors
    /// [`StoreError::EmptyObject`], [`StoreError::NoSuchSpace`], [`StoreError::Quota`], [`StoreError::NoSpace`],
    /// [`StoreError::Failed`].
    pub fn write(&self, key: ObjectKey, size: u64) -> Result<ObjectWriter, StoreError> {
        ObjectWriter::new(Arc::clone(&self.inner), key, size)
    }

    /// Judges whether an object of `size` bytes could be written now, as [`write`](Self::write) does, and reserves nothing.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// assert!(store.check_write(key, 5).is_ok());
    /// assert!(matches!(store.check_write(key, 0), Err(StoreError::EmptyObject)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_write(&self, key: ObjectKey, size: u64) -> Result<(), StoreError> {
        self.inner.check_write(key, size)
    }

    /// Refuses when the store has stopped writing.
    pub(crate) fn check_writing(&self) -> Result<(), StoreError> {
        if self.has_failed() { Err(StoreError::Failed) } else { Ok(()) }
    }

    /// Reads an object from its beginning.
    #[must_use]
    pub fn read(&self, object: Arc<StoredObject>) -> ObjectReader {
        ObjectReader::new(Arc::clone(&self.inner), object)
    }

    /// Opens an object for reads at any offset; see [`ObjectPages`] for the costs.
    ///
    /// # Errors
    /// [`StoreError::DamagedObject`], [`StoreError::Storage`] and [`StoreError::Table`] when the bytes of a small object,
    /// which are read at once, cannot be had.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// let mut middle = [0; 3];
    /// assert_eq!(store.pages(object)?.read_at(1, &mut middle)?, 3);
    /// assert_eq!(&middle, b"ell");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pages(&self, object: Arc<StoredObject>) -> Result<ObjectPages, StoreError> {
        ObjectPages::new(Arc::clone(&self.inner), object)
    }

    /// Removes an object; its bytes stay readable for the holders of a [`StoredObject`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and those of a commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// store.delete(key)?;
    /// assert!(store.get(key).is_err());
    /// // The bytes stay readable for the holder of the object.
    /// assert_eq!(store.read(object).pull_all()?, b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, key: ObjectKey) -> Result<(), StoreError> {
        self.inner.submit(Change::Delete { key, change: 0 }).map(drop)
    }

    /// Replaces the flags of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and those of a commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// store.set_flags(key, ObjectFlags::ARMED)?;
    /// assert_eq!(store.get(key)?.flags(), ObjectFlags::ARMED);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_flags(&self, key: ObjectKey, flags: ObjectFlags) -> Result<(), StoreError> {
        self.inner.submit(Change::Flags { key, flags, generation: None, change: 0 }).map(drop)
    }

    /// Replaces the flags of exactly this version of an object; a version written meanwhile keeps its own.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when this version is gone, and those of a commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// // Another writer replaces the object.
    /// let mut writer = store.write(key, 1)?;
    /// writer.push(b"!")?;
    /// writer.commit(ObjectFlags::NONE)?;
    /// assert!(store.set_flags_of(&object, ObjectFlags::ARMED).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_flags_of(&self, object: &StoredObject, flags: ObjectFlags) -> Result<(), StoreError> {
        let generation = Some(object.generation);
        self.inner.submit(Change::Flags { key: object.key, flags, generation, change: 0 }).map(drop)
    }

    /// How full the store is.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// let usage = store.usage();
    /// assert_eq!((usage.objects, usage.object_bytes), (1, object.size()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn usage(&self) -> StoreUsage {
        let index = self.index();
        StoreUsage {
            objects: index.objects.len() as u64,
            object_bytes: index.spaces.values().map(|state| state.bytes).sum(),
            data_bytes: self.inner.allocator.end_bytes(),
            free_bytes: self.inner.allocator.free_bytes(),
            table_bytes: self.inner.table.bytes(),
        }
    }

    /// Whether the log agreed with the object table when the store was opened; if not, it was rewritten.
    #[must_use]
    pub fn log_agreed(&self) -> bool {
        self.inner.log.agreed()
    }

    /// Its objects and spaces in numbers: equal for equal content, wherever that is on the disk.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let before = store.summary();
    /// store.set_space(SpaceId(5), SpaceLimits::UNLIMITED)?;
    /// assert_ne!(store.summary().checksum, before.checksum);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn summary(&self) -> StoreSummary {
        self.index().summary()
    }

    /// Whether the store has stopped writing ([`StoreError::Failed`]).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_device::storage::{Fault, SimulatedDisk};
    /// let disk = SimulatedDisk::new();
    /// let store = Store::open(StoreFiles::on_simulated_disk(&disk))?;
    /// let mut writer = store.write(ObjectKey { space: SpaceId::EMBEDDED, id: x }, 20_000)?;
    /// writer.push(&[1; 20_000])?;
    /// // The next operation of the disk, the sync of the commit, fails.
    /// disk.inject(Fault::FailAt(disk.operations()));
    /// assert!(writer.commit(ObjectFlags::NONE).is_err() && store.has_failed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.inner.failed.load(Ordering::SeqCst)
    }

    /// Time that group commits took so far, their syncs included.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let before = store.commit_time();
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// writer.commit(ObjectFlags::NONE)?;
    /// assert!(store.commit_time() > before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn commit_time(&self) -> Duration {
        self.inner.queue.time()
    }

    /// Group commits so far, and the changes they carried.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let before = store.commits();
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// writer.commit(ObjectFlags::NONE)?;
    /// assert_eq!(store.commits(), (before.0 + 1, before.1 + 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn commits(&self) -> (u64, u64) {
        self.inner.queue.counts()
    }
}

const MIN_DATA: ciphermill_program::DataId = ciphermill_program::DataId(0);
const MAX_DATA: ciphermill_program::DataId = ciphermill_program::DataId(u32::MAX);
const MAX_KEY: KeyId = KeyId(u32::MAX);

impl Inner {
    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }
}
