//! Snapshots: all objects as they were at one moment, read while others are written.

use super::{
    Inner, ObjectKey, ObjectReader, SpaceId, SpaceLimits, Store, StoreError,
    copy::{Copied, StoreCopy},
    object::{Placement, StoredObject},
    pinned::Pinned,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError},
};

/// The objects and spaces of a store at one moment between two commits.
///
/// The bytes of objects that are replaced or deleted later stay on the disk until the snapshot has been read past them. If
/// they come to more than its budget, the snapshot ends, and reading goes on no further. It also ends if the object table
/// grows by more than the budget beyond its first step: the table reuses no page while a snapshot exists.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// writer.commit(ObjectFlags::NONE)?;
/// let (snapshot, ()) = store.snapshot(1 << 20, || ())?;
/// store.delete(key)?;
/// // The copy has the object.
/// let mut copy = ciphermill_device::store::StoreCopy::new(Store::open(StoreFiles::in_memory())?)?;
/// while snapshot.copy_next(&mut copy)?.is_some() {}
/// let copied = snapshot.finish(copy)?;
/// assert_eq!(copied.read(copied.get(key)?).pull_all()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    inner: Arc<Inner>,
    shared: Arc<Pinned>,
    spaces: BTreeMap<SpaceId, SpaceLimits>,
    next_generation: u64,
    objects: u64,
    bytes: u64,
}

impl Store {
    /// Takes a snapshot between two commits, with a budget in bytes. `meanwhile` runs at the same moment, while no object
    /// can change; it must be quick.
    ///
    /// # Errors
    /// [`StoreError::Table`], [`StoreError::Failed`].
    pub fn snapshot<T>(&self, budget: u64, meanwhile: impl FnOnce() -> T) -> Result<(Snapshot, T), StoreError> {
        let inner = &self.inner;
        let mut queue = inner.queue.lock();
        while queue.busy {
            queue = inner.queue.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        // No group begins before the queue is free again.
        let view = inner.table.view()?;
        let index = inner.index();
        let objects: BTreeMap<_, _> = index.objects.iter().map(|(key, object)| (*key, held(object))).collect();
        let spaces = index.spaces.iter().map(|(space, state)| (*space, state.limits)).collect();
        let bytes = index.spaces.values().map(|state| state.bytes).sum();
        let result = meanwhile();
        drop(index);
        let count = objects.len() as u64;
        let shared = inner.snapshots.add(budget, inner.table.bytes(), objects, view);
        let next_generation = inner.next_generation.load(std::sync::atomic::Ordering::Relaxed);
        drop(queue);
        let snapshot = Snapshot { inner: Arc::clone(inner), shared, spaces, next_generation, objects: count, bytes };
        Ok((snapshot, result))
    }
}

/// The object as a snapshot holds it. Its own cell for the bytes, so that a replaced small object does not go to memory on
/// behalf of the snapshot.
fn held(object: &Arc<StoredObject>) -> Arc<StoredObject> {
    match &object.placement {
        Placement::Extents(_) => Arc::clone(object),
        Placement::Inline(_) => {
            Arc::new(StoredObject { placement: Placement::Inline(Arc::default()), ..StoredObject::clone(object) })
        }
    }
}

impl Snapshot {
    /// Number of its objects.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.objects
    }

    /// Sum of their sizes in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The names of the objects not read yet.
    ///
    /// # Errors
    /// [`StoreError::SnapshotOver`].
    pub fn remaining(&self) -> Result<Vec<ObjectKey>, StoreError> {
        let remaining = self.shared.lock();
        Ok(remaining.as_ref().ok_or(self.over())?.objects.keys().copied().collect())
    }

    fn over(&self) -> StoreError {
        StoreError::SnapshotOver { limit: self.shared.limit }
    }

    /// The next object, which the snapshot then forgets.
    fn take(&self) -> Result<Option<Arc<StoredObject>>, StoreError> {
        let (object, view) = {
            let mut remaining = self.shared.lock();
            let remaining = remaining.as_mut().ok_or(self.over())?;
            let Some((_, object)) = remaining.objects.pop_first() else { return Ok(None) };
            (object, Arc::clone(&remaining.view))
        };
        if let Placement::Inline(_) = &object.placement {
            let damaged = StoreError::DamagedObject { object: object.key, chunk: 0 };
            let content = view.content(object.key, object.generation)?;
            // The table may have been reopened meanwhile, and the pages of the view reused.
            if self.shared.lock().is_none() {
                return Err(self.over());
            }
            let bytes = content.filter(|bytes| crc32c::crc32c(bytes) == object.checksum).ok_or(damaged)?;
            let placement = Placement::Inline(Arc::new(OnceLock::from(Arc::from(bytes))));
            return Ok(Some(Arc::new(StoredObject { placement, ..StoredObject::clone(&object) })));
        }
        Ok(Some(object))
    }

    /// Copies the next object; `None` after the last one. An object that the target has already with this generation and
    /// checksum is not written again.
    ///
    /// # Errors
    /// [`StoreError::SnapshotOver`], [`StoreError::DamagedObject`] for an object that cannot be read, and those of writing
    /// to the target.
    pub fn copy_next(&self, copy: &mut StoreCopy) -> Result<Option<Copied>, StoreError> {
        let Some(object) = self.take()? else { return Ok(None) };
        let mut reader = ObjectReader::new(Arc::clone(&self.inner), Arc::clone(&object));
        copy.put(object.key, &object.record(), object.checksum, &mut |chunk| reader.chunk(chunk)).map(Some)
    }

    /// Ends the copy: it has the spaces and limits of the snapshot, and gives out no generation that the original has
    /// given out.
    ///
    /// # Errors
    /// Those of writing to the target.
    pub fn finish(&self, copy: StoreCopy) -> Result<Store, StoreError> {
        copy.finish(&self.spaces, self.next_generation)
    }
}
