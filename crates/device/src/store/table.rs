//! The object table: a `redb` database whose records are read once at open. Later it is written, and read for the bytes of
//! small objects.

use super::{
    ObjectKey, SpaceId, SpaceLimits, StoreError,
    format::{self, EARLIER_STORE_VERSION, KEY_BYTES, STORE_VERSION, corrupt},
    index::SpaceState,
    log::Item,
    record::{Record, positions},
};
use ciphermill_storage::{DatabaseError, Storage, TableError, TableFile, failure, guarded};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

const FORMAT: TableDefinition<&str, &[u8]> = TableDefinition::new("format");
const OBJECTS: TableDefinition<&[u8; KEY_BYTES], &[u8]> = TableDefinition::new("objects");
const SPACES: TableDefinition<u32, &[u8]> = TableDefinition::new("spaces");
const IDENTITY: &str = "store";
/// The first unused generation. Stores of earlier builds lack this row.
const GENERATION: &str = "generation";
/// The store keeps its own index, so the database needs a cache for the pages of a commit and of small objects only.
const CACHE_BYTES: usize = 16 << 20;

/// Bytes of records that one transaction of an upgrade replaces.
const UPGRADE_BYTES: usize = 4 << 20;

/// One change of the table.
#[derive(Debug)]
pub(super) enum Row {
    /// With the bytes of the record, which hold those of a small object.
    Put(ObjectKey, Record, Vec<u8>),
    /// With the number of the change.
    Remove(ObjectKey, u64),
    Space(SpaceId, SpaceLimits),
}

impl Row {
    /// The change as the log has it.
    pub(super) fn item(&self) -> Item {
        match self {
            Self::Put(key, record, _) => Item::Put(*key, record.clone()),
            Self::Remove(key, change) => Item::Delete(*key, *change),
            Self::Space(space, limits) => Item::Space(*space, *limits),
        }
    }
}

/// All records of the table.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) objects: BTreeMap<ObjectKey, Record>,
    pub(super) spaces: BTreeMap<SpaceId, SpaceLimits>,
    /// The first unused generation; 0 in stores without this row, where it follows from the objects.
    pub(super) next_generation: u64,
    /// Format version of the table; 0 in a new one.
    pub(super) version: u16,
}

#[derive(Debug)]
pub(super) struct Table {
    file: TableFile,
    store_id: [u8; 16],
    /// Commits and reads share the lock; reopening the database takes it exclusively. `None` if reopening failed.
    database: RwLock<Option<Database>>,
    failed: Arc<AtomicBool>,
}

/// Reads the table as it was at one moment, while commits go on. Its pages stay in the file until this is dropped.
pub(super) struct TableView {
    store_id: [u8; 16],
    transaction: ReadTransaction,
}

impl fmt::Debug for TableView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableView").finish_non_exhaustive()
    }
}

impl TableView {
    /// The bytes of an inline object, if the table held this version.
    pub(super) fn content(&self, key: ObjectKey, generation: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let find = || look_up(&self.transaction, key, |value| inline_content(value, self.store_id, key, generation));
        Ok(guarded("read", find)?.flatten())
    }
}

impl Table {
    fn file(storage: Arc<dyn Storage>, failed: Arc<AtomicBool>) -> TableFile {
        TableFile::new(storage, "the object table", CACHE_BYTES, failed)
    }

    fn new(file: TableFile, store_id: [u8; 16], database: Database, failed: Arc<AtomicBool>) -> Self {
        Self { file, store_id, database: RwLock::new(Some(database)), failed }
    }

    /// Makes the table of a new store and waits until it is durable.
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        store_id: [u8; 16],
        failed: Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        let file = Self::file(storage, Arc::clone(&failed));
        let database = file.create(|database| {
            let transaction = database.begin_write().map_err(failure("begin"))?;
            {
                let mut table = transaction.open_table(FORMAT).map_err(failure("create"))?;
                table.insert(IDENTITY, format::encode_identity(store_id).as_slice()).map_err(failure("create"))?;
                transaction.open_table(OBJECTS).map_err(failure("create"))?;
                transaction.open_table(SPACES).map_err(failure("create"))?;
            }
            Ok(transaction.commit().map_err(failure("commit"))?)
        })?;
        Ok(Self::new(file, store_id, database, failed))
    }

    /// Checks every page of the table without changing a byte of `storage`, and reads all records.
    pub(super) fn check(storage: Arc<dyn Storage>, store_id: [u8; 16]) -> Result<Content, StoreError> {
        Ok(Self::file(storage, Arc::default()).check(|database| read_all(database, store_id))?)
    }

    /// Opens the table of a store that [`check`](Self::check) found sound.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        store_id: [u8; 16],
        failed: Arc<AtomicBool>,
    ) -> Result<(Self, Content), StoreError> {
        let file = Self::file(storage, Arc::clone(&failed));
        let (database, content) = file.open_and_read("open", |database| read_all(database, store_id))?;
        Ok((Self::new(file, store_id, database, failed), content))
    }

    /// Replaces the records of a store of format version 1 by those of this version. Each step is durable and leaves a
    /// table that opens; the version comes last, so a crash in between repeats the upgrade.
    pub(super) fn upgrade(&self, content: &Content, next_generation: u64) -> Result<(), StoreError> {
        if content.version != EARLIER_STORE_VERSION {
            return Ok(());
        }
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for (key, record) in &content.objects {
            let inline = match record.is_inline() {
                true => self.content(*key, record.generation)?.unwrap_or_default(),
                false => Vec::new(),
            };
            let encoded = record.encode(self.store_id, *key, &inline);
            bytes += encoded.len();
            rows.push(Row::Put(*key, record.clone(), encoded));
            if bytes >= UPGRADE_BYTES {
                self.commit(&std::mem::take(&mut rows), next_generation)?;
                bytes = 0;
            }
        }
        self.commit(&rows, next_generation)?;
        tracing::info!(objects = content.objects.len(), version = STORE_VERSION, "the store was upgraded");
        self.mark_version()
    }

    fn mark_version(&self) -> Result<(), StoreError> {
        let database = self.shared();
        let database = database.as_ref().ok_or(StoreError::Failed)?;
        guarded("upgrade", || {
            let transaction = database.begin_write().map_err(failure("begin"))?;
            {
                let mut table = transaction.open_table(FORMAT).map_err(failure("write"))?;
                let identity = format::encode_identity(self.store_id);
                table.insert(IDENTITY, identity.as_slice()).map_err(failure("write"))?;
            }
            Ok(transaction.commit().map_err(failure("commit"))?)
        })
    }

    fn shared(&self) -> RwLockReadGuard<'_, Option<Database>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&self) -> RwLockWriteGuard<'_, Option<Database>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store_id(&self) -> [u8; 16] {
        self.store_id
    }

    /// Length of the database in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.file.storage().len().unwrap_or(0)
    }

    /// Bytes by which the database may still grow, if its medium says.
    pub(super) fn free_space(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.file.storage().free_space()?)
    }

    /// The present record of an object.
    pub(super) fn record(&self, key: ObjectKey) -> Result<Option<Record>, StoreError> {
        self.look_up(key, |value| Ok(Record::decode(value, self.store_id, key)?))
    }

    /// The bytes of an inline object, if the table holds this version.
    pub(super) fn content(&self, key: ObjectKey, generation: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.look_up(key, |value| inline_content(value, self.store_id, key, generation))?.flatten())
    }

    /// The table as it is now.
    pub(super) fn view(&self) -> Result<TableView, StoreError> {
        let database = self.shared();
        let database = database.as_ref().ok_or(StoreError::Failed)?;
        guarded("read", || {
            let transaction = database.begin_read().map_err(failure("read"))?;
            Ok(TableView { store_id: self.store_id, transaction })
        })
    }

    fn look_up<T>(
        &self,
        key: ObjectKey,
        work: impl FnOnce(&[u8]) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let database = self.shared();
        let database = database.as_ref().ok_or(StoreError::Failed)?;
        guarded("read", || {
            let transaction = database.begin_read().map_err(failure("read"))?;
            look_up(&transaction, key, work)
        })
    }

    /// Checks every page on the medium, and all records. The outcome is valid only if nothing was committed meanwhile.
    pub(super) fn check_now(&self) -> Result<(), StoreError> {
        Ok(self.file.check(|database| read_all(database, self.store_id)).map(drop)?)
    }

    /// Makes the rows durable, all or none, and with them that all generations below `next_generation` are used.
    ///
    /// After an error the database is read again: `Ok` then means that it contains the rows nevertheless. After a failed
    /// sync, reading proves nothing, and the store stops writing.
    pub(super) fn commit(&self, rows: &[Row], next_generation: u64) -> Result<(), StoreError> {
        let outcome = {
            let database = self.shared();
            guarded("commit", || match database.as_ref() {
                None => Err(StoreError::Failed),
                Some(database) => Ok(apply(database, rows, next_generation)?),
            })
        };
        let Err(error) = outcome else { return Ok(()) };
        let mut database = self.alone();
        // A database that met an I/O error refuses further work; a fresh handle reads what the medium really holds.
        *database = None;
        if self.failed.load(Ordering::SeqCst) {
            *database = self.file.open_for_reading();
            return Err(error);
        }
        let reread = self.file.open_and_read("reopen", |database| read_all(database, self.store_id));
        match reread {
            Ok((fresh, content)) => {
                *database = Some(fresh);
                if contains(&content, rows) { Ok(()) } else { Err(error) }
            }
            Err(_) => {
                self.failed.store(true, Ordering::SeqCst);
                *database = self.file.open_for_reading();
                Err(error)
            }
        }
    }
}

fn look_up<T>(
    transaction: &ReadTransaction,
    key: ObjectKey,
    work: impl FnOnce(&[u8]) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let objects = transaction.open_table(OBJECTS).map_err(failure("read"))?;
    let value = objects.get(&format::encode_key(key)).map_err(failure("read"))?;
    value.map(|value| work(value.value())).transpose()
}

/// The object's bytes in its record, if the record is of this version.
fn inline_content(
    value: &[u8],
    store: [u8; 16],
    key: ObjectKey,
    generation: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let damaged = StoreError::DamagedObject { object: key, chunk: 0 };
    let record = Record::decode(value, store, key).map_err(|_| damaged)?;
    let is_it = record.is_inline() && record.generation == generation;
    Ok(is_it.then(|| Record::content(value).to_vec()))
}

fn apply(database: &Database, rows: &[Row], next_generation: u64) -> Result<(), DatabaseError> {
    let transaction = database.begin_write().map_err(failure("begin"))?;
    {
        let mut format = transaction.open_table(FORMAT).map_err(failure("write"))?;
        let bound = format::encode_generation(next_generation);
        format.insert(GENERATION, bound.as_slice()).map_err(failure("write"))?;
        let mut objects = transaction.open_table(OBJECTS).map_err(failure("write"))?;
        let mut spaces = transaction.open_table(SPACES).map_err(failure("write"))?;
        for row in rows {
            match row {
                Row::Put(key, _, record) => {
                    objects.insert(&format::encode_key(*key), record.as_slice()).map_err(failure("write"))?;
                }
                Row::Remove(key, _) => {
                    objects.remove(&format::encode_key(*key)).map_err(failure("write"))?;
                }
                Row::Space(space, limits) => {
                    spaces.insert(space.0, format::encode_limits(*limits).as_slice()).map_err(failure("write"))?;
                }
            }
        }
    }
    transaction.commit().map_err(failure("commit"))
}

fn read_all(database: &Database, store_id: [u8; 16]) -> Result<Content, TableError> {
    let transaction = database.begin_read().map_err(failure("read"))?;
    let format = transaction.open_table(FORMAT).map_err(failure("read"))?;
    let identity = format.get(IDENTITY).map_err(failure("read"))?;
    let version = format::check_identity(identity.as_ref().map_or(&[][..], |value| value.value()), store_id)?;
    let mut content = Content { version, ..Content::default() };
    if let Some(bound) = format.get(GENERATION).map_err(failure("read"))? {
        content.next_generation = format::decode_generation(bound.value())?;
    }
    for row in transaction.open_table(SPACES).map_err(failure("read"))?.iter().map_err(failure("read"))? {
        let (space, limits) = row.map_err(failure("read"))?;
        let space = SpaceId(space.value());
        content.spaces.insert(space, format::decode_limits(limits.value(), space)?);
    }
    for row in transaction.open_table(OBJECTS).map_err(failure("read"))?.iter().map_err(failure("read"))? {
        let (key, record) = row.map_err(failure("read"))?;
        let key = format::decode_key(key.value());
        if !content.spaces.contains_key(&key.space) {
            return Err(corrupt(format!("{key} belongs to a space without a record")).into());
        }
        content.objects.insert(key, Record::decode(record.value(), store_id, key)?);
    }
    Ok(content)
}

/// The bounds of generations in all copies of the table's format rows within `bytes`, also in pages that no longer count.
/// A page of the database has the keys of its rows one after the other, then their values in the same order.
pub(super) fn bounds_in(bytes: &[u8], store_id: [u8; 16]) -> impl Iterator<Item = u64> {
    let keys = [GENERATION, IDENTITY].concat();
    let start = positions(bytes, *keys.as_bytes().first_chunk().unwrap_or(&[0; 8]));
    start.filter_map(move |at| {
        let rows = bytes[at..].strip_prefix(keys.as_bytes())?;
        let (generation, identity) = rows.split_at_checked(format::GENERATION_BYTES)?;
        format::check_identity(identity.get(..format::IDENTITY_BYTES)?, store_id).ok()?;
        format::decode_generation(generation).ok()
    })
}

/// Whether all `rows` took effect. All or none did, so the last row about each key decides.
fn contains(content: &Content, rows: &[Row]) -> bool {
    let mut last: BTreeMap<ObjectKey, Option<&Record>> = BTreeMap::new();
    let mut spaces = BTreeMap::new();
    for row in rows {
        match row {
            Row::Put(key, record, _) => drop(last.insert(*key, Some(record))),
            Row::Remove(key, _) => drop(last.insert(*key, None)),
            Row::Space(space, limits) => drop(spaces.insert(*space, *limits)),
        }
    }
    last.iter().all(|(key, record)| content.objects.get(key) == *record)
        && spaces.iter().all(|(space, limits)| content.spaces.get(space) == Some(limits))
}

impl Content {
    /// The usage of each space.
    pub(super) fn space_states(&self) -> Result<BTreeMap<SpaceId, SpaceState>, StoreError> {
        let mut states: BTreeMap<_, _> =
            self.spaces.iter().map(|(space, limits)| (*space, SpaceState::new(*limits))).collect();
        for (key, record) in &self.objects {
            if let Some(state) = states.get_mut(&key.space) {
                state.objects += 1;
                state.bytes = state
                    .bytes
                    .checked_add(record.size)
                    .ok_or_else(|| corrupt("the sizes of the objects add up to more than 2^64 bytes"))?;
            }
        }
        Ok(states)
    }
}
