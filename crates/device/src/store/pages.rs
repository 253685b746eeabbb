//! Verified reads at any offset.

use super::{
    Inner, StoreError,
    allocator::ExtentLease,
    checksum,
    format::{BLOCK_BYTES, CHUNK_BYTES},
    object::{Placement, StoredObject},
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One version of an object, for reads of any size at any offset, from any number of threads.
///
/// The store has one checksum for each chunk of 1 MiB. The first read that touches a chunk reads and checks the whole chunk
/// and computes the checksums of its blocks of 4 KiB. Later reads cost only the blocks that they touch, each checked every
/// time. The last checked chunk is kept in memory, so that a sequence of reads costs one pass. An object of at most
/// [`INLINE_BYTES`](super::INLINE_BYTES) is held in memory.
///
/// A caller of many reads keeps this value as long as it expects reads of the object, and limits the number of kept values:
/// opened for each read, every read would check a whole chunk. It takes 1 KiB for each MiB read, and 1 MiB. While it is
/// kept, its version occupies its room on disk. Drop it when [`is_current`](Self::is_current) returns false, unless the
/// version is still to be read to its end.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// let pages: ObjectPages = space.open_object(x)?;
/// space.write_bytes(x, &two, WriteOptions::default())?;
/// // The open version is still read, although it is replaced.
/// let mut bytes = vec![0; one.len()];
/// assert_eq!(pages.read_at(0, &mut bytes)?, one.len());
/// assert_eq!((bytes, pages.is_current()), (one, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ObjectPages {
    inner: Arc<Inner>,
    object: Arc<StoredObject>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Memory(Arc<[u8]>),
    Chunks(Chunks, Arc<ExtentLease>),
}

#[derive(Debug)]
struct Chunks {
    /// The checksums of the blocks of each chunk that was found right.
    blocks: Box<[OnceLock<Box<[u32]>>]>,
    /// Held while a chunk is checked, so that readers of one chunk do not all read it; those of others seldom wait.
    checking: [Mutex<()>; 16],
    /// The chunk that was checked last.
    recent: Mutex<Option<(u64, Arc<Vec<u8>>)>>,
}

/// Whether a read may wait for the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Yes,
    No,
}

/// The bytes of an object on the medium.
#[derive(Clone, Copy)]
struct Extents<'a> {
    inner: &'a Inner,
    lease: &'a ExtentLease,
    wait: Wait,
}

impl Extents<'_> {
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<bool, StoreError> {
        match self.wait {
            Wait::Yes => self.inner.read_extents(self.lease, offset, out).map(|()| true),
            Wait::No => self.inner.try_read_extents(self.lease, offset, out),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ObjectPages {
    pub(super) fn new(inner: Arc<Inner>, object: Arc<StoredObject>) -> Result<Self, StoreError> {
        let body = match &object.placement {
            Placement::Inline(kept) => Body::Memory(inner.inline_content(&object, kept)?),
            Placement::Extents(lease) => {
                let blocks = object.chunks.iter().map(|_| OnceLock::new()).collect();
                let chunks = Chunks { blocks, checking: Default::default(), recent: Mutex::default() };
                Body::Chunks(chunks, Arc::clone(lease))
            }
        };
        Ok(Self { inner, object, body })
    }

    /// The version that is read.
    #[must_use]
    pub fn object(&self) -> &Arc<StoredObject> {
        &self.object
    }

    /// Whether the object still has this content: it was neither replaced nor deleted. A change of flags does not count.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let index = self.inner.index();
        index.objects.get(&self.object.key).is_some_and(|object| object.generation == self.object.generation)
    }

    /// Fills `out` with the bytes from `offset` on, as far as the object goes; gives their number, which is `out.len()`
    /// except where the object ends.
    ///
    /// # Errors
    /// [`StoreError::DamagedObject`] when bytes do not match their checksum, [`StoreError::Storage`]; `out` may then be
    /// filled in part, with bytes that were found right or not looked at.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize, StoreError> {
        Ok(self.read(offset, out, Wait::Yes)?.unwrap_or(0))
    }

    /// The same, but only if it takes no wait for the medium and no check of a chunk; else `None`, and `out` holds anything.
    /// For callers that must not block: they leave the rest to a thread that may.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let pages = store.pages(writer.commit(ObjectFlags::NONE)?)?;
    /// let mut head = [0; 4];
    /// // A small object is held in memory.
    /// assert_eq!(pages.try_read_at(0, &mut head)?, Some(4));
    /// assert_eq!(&head, b"hell");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<Option<usize>, StoreError> {
        self.read(offset, out, Wait::No)
    }

    fn read(&self, offset: u64, out: &mut [u8], wait: Wait) -> Result<Option<usize>, StoreError> {
        let total = self.object.size.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < total {
            let position = offset + done as u64;
            let (index, within) = (position / CHUNK_BYTES, (position % CHUNK_BYTES) as usize);
            let count = (total - done).min(CHUNK_BYTES as usize - within);
            let part = &mut out[done..done + count];
            match &self.body {
                Body::Memory(bytes) => part.copy_from_slice(&bytes[within..within + count]),
                Body::Chunks(chunks, lease) => {
                    let extents = Extents { inner: &self.inner, lease, wait };
                    if !self.read_within(chunks, extents, index, within, part)? {
                        return Ok(None);
                    }
                }
            }
            done += count;
        }
        Ok(Some(total))
    }

    /// Fills `out` from byte `within` of chunk `index`, which it does not pass; `false` if it must not wait but had to.
    fn read_within(
        &self,
        chunks: &Chunks,
        extents: Extents<'_>,
        index: u64,
        within: usize,
        out: &mut [u8],
    ) -> Result<bool, StoreError> {
        let recent =
            locked(&chunks.recent).as_ref().filter(|(held, _)| *held == index).map(|(_, bytes)| Arc::clone(bytes));
        if let Some(bytes) = recent {
            out.copy_from_slice(&bytes[within..within + out.len()]);
            return Ok(true);
        }
        let damaged = StoreError::DamagedObject { object: self.object.key, chunk: index };
        let sums = chunks.blocks.get(index as usize).ok_or(damaged)?;
        if let Some(sums) = sums.get() {
            return self.read_blocks(sums, extents, index, within, out);
        }
        if extents.wait == Wait::No {
            return Ok(false);
        }
        let turn = locked(&chunks.checking[index as usize % chunks.checking.len()]);
        if let Some(sums) = sums.get() {
            drop(turn);
            return self.read_blocks(sums, extents, index, within, out);
        }
        // The buffer of the chunk before serves again, if nobody reads it any more.
        let before = locked(&chunks.recent).take();
        let mut bytes = before.and_then(|(_, bytes)| Arc::try_unwrap(bytes).ok()).unwrap_or_default();
        let found = self.check_chunk(extents, index, &mut bytes)?;
        sums.get_or_init(|| found);
        drop(turn);
        out.copy_from_slice(&bytes[within..within + out.len()]);
        *locked(&chunks.recent) = Some((index, Arc::new(bytes)));
        Ok(true)
    }

    /// Reads a chunk, and gives the checksums of its blocks, which together make that of the chunk.
    fn check_chunk(&self, extents: Extents<'_>, index: u64, bytes: &mut Vec<u8>) -> Result<Box<[u32]>, StoreError> {
        let begin = index * CHUNK_BYTES;
        let len = CHUNK_BYTES.min(self.object.size - begin);
        bytes.resize(len as usize, 0);
        extents.read(begin, bytes)?;
        let sums: Box<[u32]> = bytes.chunks(BLOCK_BYTES as usize).map(crc32c::crc32c).collect();
        let whole = checksum::of_chunks(&sums, BLOCK_BYTES, len);
        match self.object.chunks.get(index as usize) == Some(&whole) {
            true => Ok(sums),
            false => Err(StoreError::DamagedObject { object: self.object.key, chunk: index }),
        }
    }

    /// The same for a chunk whose blocks are known.
    fn read_blocks(
        &self,
        sums: &[u32],
        extents: Extents<'_>,
        index: u64,
        within: usize,
        out: &mut [u8],
    ) -> Result<bool, StoreError> {
        let block = BLOCK_BYTES as usize;
        let chunk = CHUNK_BYTES.min(self.object.size - index * CHUNK_BYTES) as usize;
        let first = within / block;
        let begin = first * block;
        let end = (within + out.len()).next_multiple_of(block).min(chunk);
        let found_right = |bytes: &[u8]| match bytes.chunks(block).map(crc32c::crc32c).eq(sums
            .iter()
            .skip(first)
            .take((end - begin).div_ceil(block))
            .copied())
        {
            true => Ok(()),
            false => Err(StoreError::DamagedObject { object: self.object.key, chunk: index }),
        };
        let position = index * CHUNK_BYTES + begin as u64;
        if begin == within && end == within + out.len() {
            return Ok(extents.read(position, out)? && found_right(out).map(|()| true)?);
        }
        let mut whole = vec![0; end - begin];
        if !extents.read(position, &mut whole)? {
            return Ok(false);
        }
        found_right(&whole)?;
        out.copy_from_slice(&whole[within - begin..within - begin + out.len()]);
        Ok(true)
    }
}
