//! The object table in memory: all objects, and the limits and usage of all spaces.

use super::{
    ContentDigest, ObjectFlags, ObjectKey, Owner, SpaceId, SpaceLimits, StoreError, format::encode_key,
    object::StoredObject,
};
use ciphermill_program::VrId;
use std::{collections::BTreeMap, ops::Bound, sync::Arc};

/// The content of the object table.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) objects: BTreeMap<ObjectKey, Arc<StoredObject>>,
    pub(super) spaces: BTreeMap<SpaceId, SpaceState>,
}

/// The objects and spaces of a store in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSummary {
    /// Number of objects.
    pub objects: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// CRC-32C of the names, generations, origins, owners, flags, checksums and digests of all objects, and of the limits of
    /// all spaces.
    pub checksum: u32,
}

impl Index {
    pub(super) fn summary(&self) -> StoreSummary {
        let mut summary = StoreSummary::default();
        let mut add = |bytes: &[u8]| summary.checksum = crc32c::crc32c_append(summary.checksum, bytes);
        for (key, object) in &self.objects {
            add(&encode_key(*key));
            for word in [object.size, object.generation, object.origin, object.checksum.into()] {
                add(&word.to_le_bytes());
            }
            add(&[object.flags.bits() as u8, object.computed.into()]);
            add(&object.digest.map_or([0; ContentDigest::BYTES], |digest| digest.0));
            let owner = object.owner.as_ref().map_or(&[][..], Owner::as_bytes);
            add(&[owner.len() as u8]);
            add(owner);
            summary.objects += 1;
            summary.bytes += object.size;
        }
        for (space, state) in &self.spaces {
            add(&space.0.to_le_bytes());
            add(&state.limits.bytes.to_le_bytes());
            add(&state.limits.objects.to_le_bytes());
        }
        summary
    }

    pub(super) fn range(
        &self,
        space: SpaceId,
        first: VrId,
        last: VrId,
    ) -> impl DoubleEndedIterator<Item = (&ObjectKey, &Arc<StoredObject>)> {
        let (first, last) = (ObjectKey { space, id: first }, ObjectKey { space, id: last });
        self.objects.range((Bound::Included(first), Bound::Included(last)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpaceState {
    pub(super) limits: SpaceLimits,
    pub(super) bytes: u64,
    pub(super) objects: u64,
}

impl SpaceState {
    pub(super) fn new(limits: SpaceLimits) -> Self {
        Self { limits, bytes: 0, objects: 0 }
    }

    /// The state after an object of `new` bytes replaces one of `old` bytes.
    pub(super) fn replaced(self, space: SpaceId, old: Option<u64>, new: Option<u64>) -> Result<Self, StoreError> {
        let bytes = (self.bytes - old.unwrap_or(0)).saturating_add(new.unwrap_or(0));
        let objects = self.objects - u64::from(old.is_some()) + u64::from(new.is_some());
        let refuse = |resource, used: u64, limit: u64, freed: u64, needed: u64| StoreError::Quota {
            space,
            resource,
            needed,
            free: limit.saturating_sub(used - freed),
            limit,
        };
        // Only growth is refused: a lowered limit must not keep anybody from deleting or from shrinking.
        if bytes > self.limits.bytes && bytes > self.bytes {
            let (freed, needed) = (old.unwrap_or(0), new.unwrap_or(0));
            return Err(refuse("bytes", self.bytes, self.limits.bytes, freed, needed));
        }
        if objects > self.limits.objects && objects > self.objects {
            return Err(refuse("objects", self.objects, self.limits.objects, 0, 1));
        }
        Ok(Self { bytes, objects, ..self })
    }
}

impl Index {
    pub(super) fn apply_flags(&mut self, key: ObjectKey, flags: ObjectFlags, change: u64) {
        if let Some(object) = self.objects.get_mut(&key) {
            *object = Arc::new(StoredObject { flags, change, ..StoredObject::clone(object) });
        }
    }
}
