//! Reading an object.

use super::{
    Inner, ObjectKey, StoreError,
    allocator::ExtentLease,
    format::CHUNK_BYTES,
    object::{Kept, Placement, StoredObject},
};
use ciphermill_storage::StorageError;
use std::{
    io::{self, Read},
    sync::Arc,
};

/// Gives the bytes of one version of an object, each chunk only after its checksum was found right.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::store::ObjectReader;
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// let mut reader: ObjectReader = store.read(writer.commit(ObjectFlags::NONE)?);
/// reader.seek_to(3);
/// assert_eq!(reader.pull_all()?, b"lo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ObjectReader {
    inner: Arc<Inner>,
    object: Arc<StoredObject>,
    position: u64,
    chunk: Vec<u8>,
    /// Index of the chunk in `chunk`; `u64::MAX` at first.
    loaded: u64,
}

impl ObjectReader {
    pub(super) fn new(inner: Arc<Inner>, object: Arc<StoredObject>) -> Self {
        Self { inner, object, position: 0, chunk: Vec::new(), loaded: u64::MAX }
    }

    /// The version that is read.
    #[must_use]
    pub fn object(&self) -> &Arc<StoredObject> {
        &self.object
    }

    /// Continues at byte `position`; from the size on, there is nothing to read.
    pub fn seek_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Reads up to `out.len()` bytes; 0 at the end.
    ///
    /// # Errors
    /// [`StoreError::DamagedObject`] when a chunk does not match its checksum, [`StoreError::Storage`],
    /// [`StoreError::Table`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let mut reader = store.read(writer.commit(ObjectFlags::NONE)?);
    /// let mut piece = [0; 4];
    /// assert_eq!((reader.pull(&mut piece)?, &piece), (4, b"hell"));
    /// assert_eq!((reader.pull(&mut piece)?, piece[0]), (1, b'o'));
    /// assert_eq!(reader.pull(&mut piece)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pull(&mut self, out: &mut [u8]) -> Result<usize, StoreError> {
        if self.position >= self.object.size || out.is_empty() {
            return Ok(0);
        }
        let index = self.position / CHUNK_BYTES;
        if self.loaded != index {
            self.load(index)?;
        }
        let within = (self.position % CHUNK_BYTES) as usize;
        let count = out.len().min(self.chunk.len() - within);
        out[..count].copy_from_slice(&self.chunk[within..within + count]);
        self.position += count as u64;
        Ok(count)
    }

    /// Reads and checks chunk `index`, which the object has.
    pub(super) fn load(&mut self, index: u64) -> Result<&[u8], StoreError> {
        self.loaded = u64::MAX;
        let begin = index * CHUNK_BYTES;
        let len = CHUNK_BYTES.min(self.object.size - begin);
        match &self.object.placement {
            Placement::Extents(lease) => {
                self.chunk.resize(len as usize, 0);
                self.inner.read_extents(lease, begin, &mut self.chunk)?;
            }
            Placement::Inline(kept) => {
                self.chunk = self.inner.inline_content(&self.object, kept)?.to_vec();
            }
        }
        if self.object.chunks.get(index as usize) != Some(&crc32c::crc32c(&self.chunk)) {
            return Err(StoreError::DamagedObject { object: self.object.key, chunk: index });
        }
        self.loaded = index;
        Ok(&self.chunk)
    }

    /// The bytes of chunk `index`, which the object has.
    pub(super) fn chunk(&mut self, index: u64) -> Result<Vec<u8>, StoreError> {
        self.load(index)?;
        self.loaded = u64::MAX;
        Ok(std::mem::take(&mut self.chunk))
    }

    /// The bytes from the position to the end.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn pull_all(&mut self) -> Result<Vec<u8>, StoreError> {
        let missing = self.object.size.saturating_sub(self.position);
        let mut bytes = Vec::with_capacity(missing as usize);
        while (bytes.len() as u64) < missing {
            let done = bytes.len();
            let step = (missing - done as u64).min(CHUNK_BYTES) as usize;
            bytes.resize(done + step, 0);
            let count = self.pull(&mut bytes[done..])?;
            bytes.truncate(done + count);
        }
        Ok(bytes)
    }

    /// The bytes from the position to the end, shared. They are in memory once only.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let mut writer = store.write(ObjectKey { space: SpaceId::EMBEDDED, id: x }, 5)?;
    /// writer.push(b"hello")?;
    /// assert_eq!(*store.read(writer.commit(ObjectFlags::NONE)?).pull_shared()?, *b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pull_shared(&mut self) -> Result<Arc<[u8]>, StoreError> {
        let missing = self.object.size.saturating_sub(self.position) as usize;
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, missing).collect();
        let mut left = Arc::get_mut(&mut bytes).expect("not shared yet");
        while !left.is_empty() {
            let step = left.len().min(CHUNK_BYTES as usize);
            let count = self.pull(&mut left[..step])?;
            left = &mut left[count..];
        }
        Ok(bytes)
    }
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.pull(out).map_err(StoreError::into_io)
    }
}

/// Room that the object table is left for pages that a commit copies, above the bytes of an inline object.
const TABLE_SLACK: u64 = 128 << 10;

impl Inner {
    /// Whether the medium can take an object of `bytes` bytes in the table. Where it cannot, free extents may.
    pub(super) fn has_room_for_inline(&self, bytes: u64) -> Result<bool, StoreError> {
        Ok(self.table.free_space()?.is_none_or(|free| free >= bytes + TABLE_SLACK))
    }

    /// The bytes of an inline object, which were found right.
    pub(super) fn inline_content(&self, object: &StoredObject, kept: &Kept) -> Result<Arc<[u8]>, StoreError> {
        if let Some(bytes) = kept.get() {
            return Ok(Arc::clone(bytes));
        }
        let found = self.table.content(object.key, object.generation);
        // A commit that replaces the version in the table keeps its bytes before it does.
        if let Some(bytes) = kept.get() {
            return Ok(Arc::clone(bytes));
        }
        match found? {
            Some(bytes) if bytes.len() as u64 == object.size && crc32c::crc32c(&bytes) == object.checksum => {
                Ok(bytes.into())
            }
            _ => Err(StoreError::DamagedObject { object: object.key, chunk: 0 }),
        }
    }

    /// Keeps the bytes of the current version of `key`, if the table holds them: it will not for long.
    pub(super) fn keep_inline(&self, key: ObjectKey, next: Option<u64>) {
        let current = self.index().objects.get(&key).cloned();
        if let Some(current) = current.filter(|current| Some(current.generation) != next)
            && let Placement::Inline(kept) = &current.placement
            && let Ok(bytes) = self.inline_content(&current, kept)
        {
            // If they cannot be read now, they could not be read later.
            kept.get_or_init(|| bytes);
        }
    }

    /// Fills `out` from byte `offset` of an object in extents; nothing is checked.
    pub(super) fn read_extents(&self, lease: &ExtentLease, offset: u64, out: &mut [u8]) -> Result<(), StoreError> {
        self.read_pieces(lease, offset, out, |at, piece| self.data.read_at(at, piece).map(|()| true)).map(drop)
    }

    /// The same if the medium need not be waited for, else `false`.
    pub(super) fn try_read_extents(
        &self,
        lease: &ExtentLease,
        offset: u64,
        out: &mut [u8],
    ) -> Result<bool, StoreError> {
        self.read_pieces(lease, offset, out, |at, piece| self.data.try_read_at(at, piece))
    }

    fn read_pieces(
        &self,
        lease: &ExtentLease,
        offset: u64,
        out: &mut [u8],
        read: impl Fn(u64, &mut [u8]) -> Result<bool, StorageError>,
    ) -> Result<bool, StoreError> {
        let mut rest = out;
        for (at, count) in lease.pieces(offset, rest.len() as u64) {
            let (now, later) = rest.split_at_mut(count);
            if !read(at, now)? {
                return Ok(false);
            }
            rest = later;
        }
        Ok(true)
    }
}
