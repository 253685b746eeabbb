//! Copies of objects that keep their generations: backups, restored and salvaged stores.

use super::{
    Change, Inner, ObjectKey, SpaceId, SpaceLimits, Store, StoreError,
    format::CHUNK_BYTES,
    record::{INLINE_BYTES, Record},
    writer::ObjectWriter,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
};

/// Bytes of small objects, and number of objects, that one commit of a copy holds.
const GROUP_BYTES: u64 = 8 << 20;
const GROUP_OBJECTS: usize = 512;

/// The outcome for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Its bytes were written.
    Written(u64),
    /// The target had it already, with this generation, checksum and digest.
    Reused(u64),
}

/// A store that becomes the copy of another one: objects keep their generation, origin, owner and flags.
///
/// The quotas of spaces do not apply while it is written. [`Snapshot::finish`](super::Snapshot::finish) sets them.
#[derive(Debug)]
pub struct StoreCopy {
    store: Store,
    pending: Vec<Change>,
    /// Of small objects among them, which are in memory.
    bytes: u64,
}

impl StoreCopy {
    /// Begins or continues a copy in `store`.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn new(store: Store) -> Result<Self, StoreError> {
        let unlimited = |space| Change::Space { space, limits: SpaceLimits::UNLIMITED };
        let mut copy = Self { pending: store.spaces().into_iter().map(unlimited).collect(), store, bytes: 0 };
        copy.flush()?;
        Ok(copy)
    }

    /// Removes all objects but these.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn retain(&mut self, keys: &BTreeSet<ObjectKey>) -> Result<(), StoreError> {
        let all: Vec<ObjectKey> = self.inner().index().objects.keys().copied().collect();
        for key in all.into_iter().filter(|key| !keys.contains(key)) {
            self.push(Change::Delete { key, change: 0 }, 0)?;
        }
        self.flush()
    }

    /// Removes an object if it exists.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn remove(&mut self, key: ObjectKey) -> Result<(), StoreError> {
        self.flush()?;
        match self.store.delete(key) {
            Err(StoreError::NotFound { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.store.inner
    }

    /// Writes an object, unless it is there already; `chunk` gives its chunks in order. Bytes that do not match the digest of
    /// the record are refused.
    pub(super) fn put(
        &mut self,
        key: ObjectKey,
        record: &Record,
        checksum: u32,
        chunk: &mut dyn FnMut(u64) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Copied, StoreError> {
        if let Ok(object) = self.store.get(key)
            && (object.generation, object.checksum, object.size) == (record.generation, checksum, record.size)
            && record.digest.is_none_or(|digest| object.digest == Some(digest))
            && (object.origin, object.computed, &object.owner) == (record.origin, record.computed, &record.owner)
        {
            if object.flags != record.flags {
                let generation = Some(record.generation);
                self.push(Change::Flags { key, flags: record.flags, generation, change: 0 }, 0)?;
            }
            return Ok(Copied::Reused(record.size));
        }
        if !self.inner().index().spaces.contains_key(&key.space) {
            self.store.set_space(key.space, SpaceLimits::UNLIMITED)?;
        }
        let mut writer = ObjectWriter::new(Arc::clone(self.inner()), key, record.size)?;
        writer.came_from(record.origin, record.computed);
        writer.belongs_to(record.owner.clone());
        writer.keep_generation(record.generation);
        for index in 0..record.size.div_ceil(CHUNK_BYTES) {
            writer.push(&chunk(index)?)?;
        }
        let finished = writer.finish(record.flags)?;
        if record.digest.is_some_and(|digest| finished.digest() != Some(digest)) {
            return Err(StoreError::OtherContent { object: key });
        }
        let change = finished.change();
        self.push(change, if record.size <= INLINE_BYTES { record.size } else { 0 })?;
        Ok(Copied::Written(record.size))
    }

    fn push(&mut self, change: Change, bytes: u64) -> Result<(), StoreError> {
        self.pending.push(change);
        self.bytes += bytes;
        match self.bytes >= GROUP_BYTES || self.pending.len() >= GROUP_OBJECTS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        let changes = std::mem::take(&mut self.pending);
        self.inner().submit_all(changes).into_iter().try_for_each(|outcome| outcome.map(drop))
    }

    /// Makes everything durable and gives the spaces their limits.
    pub(super) fn finish(
        mut self,
        spaces: &BTreeMap<SpaceId, SpaceLimits>,
        next_generation: u64,
    ) -> Result<Store, StoreError> {
        self.flush()?;
        self.inner().next_generation.fetch_max(next_generation, Ordering::Relaxed);
        self.pending.extend(spaces.iter().map(|(space, limits)| Change::Space { space: *space, limits: *limits }));
        self.flush()?;
        Ok(self.store)
    }
}
