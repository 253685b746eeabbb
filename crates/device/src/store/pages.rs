//! Verified reads at any offset.

use super::{
    Inner, ObjectReader, Place, StoreError, StoredObject,
    format::{BLOCK_BYTES, CHUNK_BYTES},
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One version of an object, for reads of any size at any offset, from any number of threads.
///
/// What is stored is one checksum for each chunk of 1 MiB. The first read that touches a chunk reads and checks all of it,
/// and makes the checksums of its blocks of 4 KiB; from then on, a read there costs the blocks that it touches and no more,
/// each still checked every time. The chunk read last is held whole, so that reads in a row cost one pass. An object of at
/// most [`INLINE_BYTES`](super::INLINE_BYTES) is held in memory.
///
/// **What the caller should keep**: this, for as long as reads of the object are to be expected, with a bound on how many
/// it keeps; opened for each read, every read would check a chunk anew. It takes 1 KiB for each MiB that was touched, and
/// 1 MiB. While it is kept, the version it reads keeps its room on disk: drop it when [`is_current`](Self::is_current)
/// says that the object has been replaced or deleted, unless what was begun is to be read to its end.
#[derive(Debug)]
pub struct ObjectPages {
    inner: Arc<Inner>,
    object: Arc<StoredObject>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Memory(Arc<[u8]>),
    Chunks(Chunks),
}

#[derive(Debug)]
struct Chunks {
    /// The checksums of the blocks of each chunk that was found right.
    blocks: Box<[OnceLock<Box<[u32]>>]>,
    /// Held while a chunk is checked, so that readers of one chunk do not all read it; those of others seldom wait.
    checking: [Mutex<()>; 16],
    recent: Mutex<Option<(u64, Arc<[u8]>)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ObjectPages {
    pub(super) fn new(inner: Arc<Inner>, object: Arc<StoredObject>) -> Result<Self, StoreError> {
        let body = match &object.place {
            Place::Inline(kept) => Body::Memory(inner.inline_content(&object, kept)?),
            Place::Extents(_) => Body::Chunks(Chunks {
                blocks: object.chunks.iter().map(|_| OnceLock::new()).collect(),
                checking: Default::default(),
                recent: Mutex::default(),
            }),
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
        let total = self.object.size.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < total {
            let position = offset + done as u64;
            let (index, within) = (position / CHUNK_BYTES, (position % CHUNK_BYTES) as usize);
            let count = (total - done).min(CHUNK_BYTES as usize - within);
            let part = &mut out[done..done + count];
            match &self.body {
                Body::Memory(bytes) => part.copy_from_slice(&bytes[within..within + count]),
                Body::Chunks(chunks) => self.read_within(chunks, index, within, part)?,
            }
            done += count;
        }
        Ok(total)
    }

    /// Fills `out` from byte `within` of chunk `index`, which it does not pass.
    fn read_within(&self, chunks: &Chunks, index: u64, within: usize, out: &mut [u8]) -> Result<(), StoreError> {
        let recent = locked(&chunks.recent).as_ref().filter(|(held, _)| *held == index).map(|(_, bytes)| bytes.clone());
        if let Some(bytes) = recent {
            out.copy_from_slice(&bytes[within..within + out.len()]);
            return Ok(());
        }
        let damaged = StoreError::DamagedObject { object: self.object.key, chunk: index };
        let sums = chunks.blocks.get(index as usize).ok_or(damaged)?;
        if let Some(sums) = sums.get() {
            return self.read_blocks(sums, index, within, out);
        }
        let turn = locked(&chunks.checking[index as usize % chunks.checking.len()]);
        if let Some(sums) = sums.get() {
            drop(turn);
            return self.read_blocks(sums, index, within, out);
        }
        let bytes = self.check_chunk(index)?;
        sums.get_or_init(|| bytes.chunks(BLOCK_BYTES as usize).map(crc32c::crc32c).collect());
        drop(turn);
        out.copy_from_slice(&bytes[within..within + out.len()]);
        *locked(&chunks.recent) = Some((index, bytes));
        Ok(())
    }

    fn check_chunk(&self, index: u64) -> Result<Arc<[u8]>, StoreError> {
        let mut reader = ObjectReader::new(Arc::clone(&self.inner), Arc::clone(&self.object));
        reader.load(index)?;
        Ok(reader.into_chunk().into())
    }

    /// The same for a chunk whose blocks are known.
    fn read_blocks(&self, sums: &[u32], index: u64, within: usize, out: &mut [u8]) -> Result<(), StoreError> {
        let Place::Extents(lease) = &self.object.place else { return Ok(()) };
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
            self.inner.read_extents(lease, position, out)?;
            return found_right(out);
        }
        let mut whole = vec![0; end - begin];
        self.inner.read_extents(lease, position, &mut whole)?;
        found_right(&whole)?;
        out.copy_from_slice(&whole[within - begin..within - begin + out.len()]);
        Ok(())
    }
}
