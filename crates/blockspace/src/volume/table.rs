//! The stored map: a `redb` database, read once at open and then written by checkpoints only.

use super::{
    VolumeError,
    format::corrupt,
    map::{Key, Stripe},
    rows::{self, KEY_BYTES, State},
    segment::Segment,
};
use ciphermill_storage::{DatabaseError, Storage, TableError, TableFile, failure, guarded};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

const FORMAT: TableDefinition<&str, &[u8]> = TableDefinition::new("format");
const STRIPES: TableDefinition<&[u8; KEY_BYTES], &[u8]> = TableDefinition::new("stripes");
const LABELS: TableDefinition<&[u8; KEY_BYTES], &[u8]> = TableDefinition::new("labels");
const SEGMENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("segments");
const STATE: &str = "volume";
/// The volume keeps its own map, so the database needs a cache for the pages of one checkpoint only.
const CACHE_BYTES: usize = 32 << 20;

/// The changes of a checkpoint to the stored map.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) state: State,
    pub(super) stripes: Vec<(Key, Option<Box<Stripe>>)>,
    pub(super) labels: Vec<(Key, Option<Box<[u8]>>)>,
    /// Generations of segments that are forgotten.
    pub(super) closed: Vec<u64>,
    /// Segments that will be written from now on.
    pub(super) opened: Vec<Segment>,
}

/// All of the stored map.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) state: State,
    pub(super) stripes: BTreeMap<Key, Box<Stripe>>,
    pub(super) labels: BTreeMap<Key, Box<[u8]>>,
    /// Ascending by generation.
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug)]
pub(super) struct Table {
    file: TableFile,
    volume_id: [u8; 16],
    /// `None` after a failed commit, until the next one opens it again.
    database: Option<Database>,
}

impl Table {
    fn file(storage: Arc<dyn Storage>, failed: Arc<AtomicBool>) -> TableFile {
        TableFile::new(storage, "the map", CACHE_BYTES, failed)
    }

    /// Makes the map of a new volume and waits until it is durable.
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        state: State,
        failed: Arc<AtomicBool>,
    ) -> Result<Self, VolumeError> {
        let changes = Rows { state, stripes: Vec::new(), labels: Vec::new(), closed: Vec::new(), opened: Vec::new() };
        let file = Self::file(storage, failed);
        let database = file.create(|database| Ok(apply(database, &changes)?))?;
        Ok(Self { file, volume_id: state.volume_id, database: Some(database) })
    }

    /// Checks every page of the stored map without changing a byte of `storage`, and reads all of it.
    pub(super) fn check(storage: Arc<dyn Storage>, volume_id: [u8; 16]) -> Result<Content, VolumeError> {
        Ok(Self::file(storage, Arc::default()).check(|database| read_all(database, volume_id))?)
    }

    /// Opens the map of a volume that [`check`](Self::check) found sound.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        volume_id: [u8; 16],
        failed: Arc<AtomicBool>,
    ) -> Result<(Self, Content), VolumeError> {
        let file = Self::file(storage, failed);
        let (database, content) = file.open_and_read("open", |database| read_all(database, volume_id))?;
        Ok((Self { file, volume_id, database: Some(database) }, content))
    }

    /// Makes the rows durable, all or none. After an error it is unknown which. Only the same rows may be submitted again;
    /// the repetition finds out whether the failed attempt succeeded.
    pub(super) fn commit(&mut self, changes: &Rows) -> Result<(), VolumeError> {
        let outcome: Result<(), TableError> = guarded("commit", || {
            if let Some(database) = &self.database {
                return Ok(apply(database, changes)?);
            }
            // A database that met an I/O error refuses further work; a fresh one reads what the medium really holds.
            let database = self.file.open()?;
            let state = read_state(&database, self.volume_id)?;
            let database = self.database.insert(database);
            if state.checkpoint == changes.state.checkpoint { Ok(()) } else { Ok(apply(database, changes)?) }
        });
        if outcome.is_err() {
            let database = self.database.take();
            // Dropping it may write, and fail, and panic: none of that tells anything more.
            let _: Result<(), DatabaseError> = guarded("close", || {
                drop(database);
                Ok(())
            });
        }
        outcome?;
        if self.file.sync_failed() { Err(VolumeError::Failed) } else { Ok(()) }
    }
}

fn apply(database: &Database, changes: &Rows) -> Result<(), DatabaseError> {
    let transaction = database.begin_write().map_err(failure("begin"))?;
    {
        let mut stripes = transaction.open_table(STRIPES).map_err(failure("write"))?;
        for (key, stripe) in &changes.stripes {
            let name = rows::encode_key(*key);
            match stripe {
                Some(stripe) => drop(
                    stripes.insert(&name, rows::encode_stripe(*key, stripe).as_slice()).map_err(failure("write"))?,
                ),
                None => drop(stripes.remove(&name).map_err(failure("write"))?),
            }
        }
        let mut labels = transaction.open_table(LABELS).map_err(failure("write"))?;
        for (key, label) in &changes.labels {
            let name = rows::encode_key(*key);
            match label {
                Some(label) => {
                    drop(labels.insert(&name, rows::encode_label(*key, label).as_slice()).map_err(failure("write"))?)
                }
                None => drop(labels.remove(&name).map_err(failure("write"))?),
            }
        }
        let mut segments = transaction.open_table(SEGMENTS).map_err(failure("write"))?;
        for generation in &changes.closed {
            segments.remove(generation).map_err(failure("write"))?;
        }
        for segment in &changes.opened {
            let row = rows::encode_segment(segment);
            segments.insert(segment.generation, row.as_slice()).map_err(failure("write"))?;
        }
        let mut state = transaction.open_table(FORMAT).map_err(failure("write"))?;
        state.insert(STATE, changes.state.encode().as_slice()).map_err(failure("write"))?;
    }
    transaction.commit().map_err(failure("commit"))
}

fn read_state(database: &Database, volume_id: [u8; 16]) -> Result<State, TableError> {
    let transaction = database.begin_read().map_err(failure("read"))?;
    let table = transaction.open_table(FORMAT).map_err(failure("read"))?;
    let row = table.get(STATE).map_err(failure("read"))?;
    Ok(State::decode(row.as_ref().map_or(&[][..], |row| row.value()), volume_id)?)
}

fn read_all(database: &Database, volume_id: [u8; 16]) -> Result<Content, TableError> {
    let state = read_state(database, volume_id)?;
    let transaction = database.begin_read().map_err(failure("read"))?;
    let (mut stripes, mut labels, mut segments) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for row in transaction.open_table(STRIPES).map_err(failure("read"))?.iter().map_err(failure("read"))? {
        let (key, row) = row.map_err(failure("read"))?;
        let key = rows::decode_key(key.value());
        stripes.insert(key, Box::new(rows::decode_stripe(key, row.value())?));
    }
    for row in transaction.open_table(LABELS).map_err(failure("read"))?.iter().map_err(failure("read"))? {
        let (key, row) = row.map_err(failure("read"))?;
        let key = rows::decode_key(key.value());
        labels.insert(key, rows::decode_label(key, row.value())?.into_boxed_slice());
    }
    for row in transaction.open_table(SEGMENTS).map_err(failure("read"))?.iter().map_err(failure("read"))? {
        let (generation, row) = row.map_err(failure("read"))?;
        segments.push(rows::decode_segment(generation.value(), row.value())?);
    }
    if segments.iter().any(|segment: &Segment| segment.generation >= state.generation) {
        return Err(corrupt("a segment has a generation that was never given").into());
    }
    Ok(Content { state, stripes, labels, segments })
}
