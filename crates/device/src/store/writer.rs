//! Writing an object.

use super::{
    ContentDigest, Inner, ObjectFlags, ObjectKey, Owner, StoreError,
    digest::Digester,
    format::{BLOCK_BYTES, CHUNK_BYTES},
    object::{Placement, StoredObject},
    queue::Change,
    reader::ObjectReader,
    record::{INLINE_BYTES, Record},
};
use std::{
    io::{self, Write},
    sync::{Arc, atomic::Ordering},
};

/// Takes the bytes of a new object. Dropped before its commit, it leaves nothing behind.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::store::ObjectWriter;
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer: ObjectWriter = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// // A finished object can be read back and judged before it becomes visible.
/// let finished = writer.finish(ObjectFlags::NONE)?;
/// assert_eq!(finished.read().pull_all()?, b"hello");
/// assert!(store.get(key).is_err());
/// finished.commit()?;
/// assert_eq!(store.get(key)?.size(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    inner: Arc<Inner>,
    key: ObjectKey,
    size: u64,
    placement: Placement,
    origin: u64,
    computed: bool,
    owner: Option<Owner>,
    /// Of a copy, which keeps the generation of the object that it was made from.
    generation: Option<u64>,
    /// Bytes taken so far.
    written: u64,
    /// The chunk being filled.
    chunk: Vec<u8>,
    chunks: Vec<u32>,
    digester: Digester,
}

/// All bytes of a new object, on the medium (or in memory, if it is small), but neither durable nor visible. They can be
/// read, to check the content before the commit. Dropped, it leaves nothing behind.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// let finished = writer.finish(ObjectFlags::NONE)?;
/// assert_eq!(finished.read().pull_all()?, b"hello");
/// // Dropped instead of committed, it leaves nothing behind.
/// drop(finished);
/// assert!(store.list(SpaceId::EMBEDDED).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FinishedObject {
    inner: Arc<Inner>,
    object: StoredObject,
    /// Whether it is a copy, with the owner of its original.
    copy: bool,
}

impl Inner {
    /// Refuses an object of `size` bytes if its commit would be refused now.
    fn check_quota(&self, key: ObjectKey, size: u64) -> Result<(), StoreError> {
        if size == 0 {
            return Err(StoreError::EmptyObject);
        }
        if self.failed.load(Ordering::SeqCst) {
            return Err(StoreError::Failed);
        }
        // The commit decides; asking now spares the host sending gigabytes that cannot be kept.
        let index = self.index();
        let state = index.spaces.get(&key.space).ok_or(StoreError::NoSuchSpace { space: key.space })?;
        state.replaced(key.space, index.objects.get(&key).map(|object| object.size), Some(size)).map(drop)
    }

    /// The same, and refuses an object without room on the medium. Nothing is reserved.
    pub(super) fn check_write(&self, key: ObjectKey, size: u64) -> Result<(), StoreError> {
        self.check_quota(key, size)?;
        match size <= INLINE_BYTES && self.has_room_for_inline(size)? {
            true => Ok(()),
            false => self.allocator.check(size),
        }
    }
}

impl ObjectWriter {
    pub(super) fn new(inner: Arc<Inner>, key: ObjectKey, size: u64) -> Result<Self, StoreError> {
        inner.check_quota(key, size)?;
        let placement = match size <= INLINE_BYTES && inner.has_room_for_inline(size)? {
            true => Placement::Inline(Arc::default()),
            false => Placement::Extents(Arc::new(inner.allocator.reserve(size)?)),
        };
        Ok(Self {
            inner,
            key,
            size,
            placement,
            origin: 0,
            computed: false,
            owner: None,
            generation: None,
            written: 0,
            chunk: Vec::new(),
            chunks: Vec::new(),
            digester: Digester::default(),
        })
    }

    /// Stores with the object a caller-defined tag, 0 if unset, and whether it is the result of a program. Both become
    /// durable with the object; the store does not interpret them. A caller with its own records finds out by the tag
    /// after a crash which of its writes made the object.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// writer.came_from(42, true);
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// assert_eq!((object.origin(), object.computed()), (42, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn came_from(&mut self, origin: u64, computed: bool) {
        (self.origin, self.computed) = (origin, computed);
    }

    /// Gives the object an owner, unless it replaces an object that has one: later versions keep the owner.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_device::store::Owner;
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let mut writer = store.write(ObjectKey { space: SpaceId::EMBEDDED, id: x }, 5)?;
    /// writer.push(b"hello")?;
    /// writer.belongs_to(Owner::new(b"alice"));
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// assert_eq!(object.owner().map(Owner::as_bytes), Some(&b"alice"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn belongs_to(&mut self, owner: Option<Owner>) {
        self.owner = owner.map(|owner| self.inner.owners.share(owner));
    }

    /// Gives the object the generation of its original.
    pub(super) fn keep_generation(&mut self, generation: u64) {
        self.inner.next_generation.fetch_max(generation.saturating_add(1), Ordering::Relaxed);
        self.generation = Some(generation);
    }

    /// Takes bytes, in order.
    ///
    /// # Errors
    /// [`StoreError::TooManyBytes`] beyond the declared size, [`StoreError::Storage`] when the medium fails or is full.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hel")?;
    /// writer.push(b"lo")?;
    /// assert!(matches!(writer.push(b"!"), Err(StoreError::TooManyBytes { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.len() as u64 > self.size - self.written {
            return Err(StoreError::TooManyBytes { object: self.key, declared: self.size });
        }
        while !bytes.is_empty() {
            let begun = self.written - self.chunk.len() as u64;
            let whole = CHUNK_BYTES.min(self.size - begun) as usize;
            let count = bytes.len().min(whole - self.chunk.len());
            self.chunk.extend_from_slice(&bytes[..count]);
            self.written += count as u64;
            bytes = &bytes[count..];
            if self.chunk.len() == whole {
                self.flush_chunk(begun)?;
            }
        }
        Ok(())
    }

    fn flush_chunk(&mut self, begun: u64) -> Result<(), StoreError> {
        self.chunks.push(crc32c::crc32c(&self.chunk));
        self.digester.push(&self.chunk);
        let lease = match &self.placement {
            Placement::Extents(lease) => lease,
            Placement::Inline(kept) => {
                kept.get_or_init(|| std::mem::take(&mut self.chunk).into());
                return Ok(());
            }
        };
        // Whole blocks only, so that the file always covers its extents.
        self.chunk.resize(self.chunk.len().next_multiple_of(BLOCK_BYTES as usize), 0);
        let mut bytes = self.chunk.as_slice();
        for (offset, count) in lease.pieces(begun, bytes.len() as u64) {
            let (now, rest) = bytes.split_at(count);
            self.inner.data.write_at(offset, now)?;
            bytes = rest;
        }
        self.chunk.clear();
        Ok(())
    }

    /// Ends the writing.
    ///
    /// # Errors
    /// [`StoreError::Incomplete`] when bytes are missing.
    pub fn finish(self, flags: ObjectFlags) -> Result<FinishedObject, StoreError> {
        if self.written != self.size {
            return Err(StoreError::Incomplete { object: self.key, declared: self.size, written: self.written });
        }
        let generation = self.generation.unwrap_or_else(|| self.inner.next_number());
        let extents = self.placement.extents();
        let copy = self.generation.is_some();
        let Self { inner, key, size, placement, origin, computed, owner, chunks, digester, .. } = self;
        let digest = Some(digester.finish());
        // The commit numbers the change.
        let record = Record { flags, size, generation, origin, change: 0, computed, owner, digest, extents, chunks };
        Ok(FinishedObject { inner, object: StoredObject::new(key, record, placement), copy })
    }

    /// [`finish`](Self::finish) and [`FinishedObject::commit`] in one.
    ///
    /// # Errors
    /// Those of the two.
    pub fn commit(self, flags: ObjectFlags) -> Result<Arc<StoredObject>, StoreError> {
        self.finish(flags)?.commit()
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(StoreError::into_io)?;
        Ok(bytes.len())
    }

    /// Does nothing: only the commit makes an object durable.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FinishedObject {
    /// Reads the object from its beginning.
    #[must_use]
    pub fn read(&self) -> ObjectReader {
        ObjectReader::new(Arc::clone(&self.inner), Arc::new(self.object.clone()))
    }

    /// Makes the object durable and replaces the object of the same name, if any. When this returns, the object
    /// survives any crash.
    ///
    /// # Errors
    /// [`StoreError::Quota`] when other objects came first, [`StoreError::Storage`], [`StoreError::Table`] and
    /// [`StoreError::Failed`]; the store then is as it was, except when a sync failed: then either version may be there
    /// after the next open, and nothing in between.
    pub fn commit(self) -> Result<Arc<StoredObject>, StoreError> {
        let key = self.object.key;
        let inner = Arc::clone(&self.inner);
        inner.submit(self.change())?.ok_or(StoreError::NotFound { object: key })
    }

    pub(super) fn digest(&self) -> Option<ContentDigest> {
        self.object.digest
    }

    pub(super) fn change(self) -> Change {
        let (key, record) = (self.object.key, self.object.record());
        Change::Put { key, record, placement: self.object.placement, copy: self.copy }
    }
}
