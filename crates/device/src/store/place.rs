//! Where the bytes of an object are.

use super::{Inner, ObjectKey, StoreError, StoredObject, allocator::ExtentLease, format::Extent};
use ciphermill_storage::StorageError;
use std::sync::{Arc, OnceLock};

/// Bytes of an inline version, held in memory only while the object table does not hold them: before its commit, and from
/// just before it is replaced or deleted, for those who still read it.
pub(super) type Kept = OnceLock<Arc<[u8]>>;

/// Where the bytes of a version are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In extents of the data file, which are free again when the last owner is gone.
    Extents(Arc<ExtentLease>),
    /// In the object's record in the table.
    Inline(Arc<Kept>),
}

/// Room that the object table is left for pages that a commit copies, above the bytes of an inline object.
const TABLE_SLACK: u64 = 128 << 10;

impl Place {
    pub(super) fn extents(&self) -> Vec<Extent> {
        match self {
            Self::Extents(lease) => lease.extents().to_vec(),
            Self::Inline(_) => Vec::new(),
        }
    }
}

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
            && let Place::Inline(kept) = &current.place
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
