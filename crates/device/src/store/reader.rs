//! Reading an object.

use super::{Inner, Place, StoreError, StoredObject, format::CHUNK_BYTES};
use std::{
    io::{self, Read},
    sync::Arc,
};

/// Gives the bytes of one version of an object, each chunk only after its checksum was found right.
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
    pub(super) fn load(&mut self, index: u64) -> Result<(), StoreError> {
        self.loaded = u64::MAX;
        let begin = index * CHUNK_BYTES;
        let len = CHUNK_BYTES.min(self.object.size - begin);
        match &self.object.place {
            Place::Extents(lease) => {
                self.chunk.resize(len as usize, 0);
                self.inner.read_extents(lease, begin, &mut self.chunk)?;
            }
            Place::Inline(kept) => {
                self.chunk = self.inner.inline_content(&self.object, kept)?.to_vec();
            }
        }
        if self.object.chunks.get(index as usize) != Some(&crc32c::crc32c(&self.chunk)) {
            return Err(StoreError::DamagedObject { object: self.object.key, chunk: index });
        }
        self.loaded = index;
        Ok(())
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
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.pull(out).map_err(StoreError::into_io)
    }
}
