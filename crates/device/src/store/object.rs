//! One stored version of an object, and where its bytes are.

use super::{
    ContentDigest, ObjectFlags, ObjectKey, Owner,
    allocator::ExtentLease,
    checksum,
    format::{CHUNK_BYTES, Extent},
    record::Record,
};
use std::sync::{Arc, OnceLock};

/// Bytes of an inline version, held in memory only while the object table does not hold them: before its commit, and,
/// for its remaining readers, from just before it is replaced or deleted.
pub(super) type Kept = OnceLock<Arc<[u8]>>;

/// Where the bytes of a version are.
#[derive(Clone, Debug)]
pub(super) enum Placement {
    /// In extents of the data file, which are free again when the last owner is gone.
    Extents(Arc<ExtentLease>),
    /// In the object's record in the table.
    Inline(Arc<Kept>),
}

impl Placement {
    pub(super) fn extents(&self) -> Vec<Extent> {
        match self {
            Self::Extents(lease) => lease.extents().to_vec(),
            Self::Inline(_) => Vec::new(),
        }
    }
}

/// One durable version of an object. Holding it keeps its bytes readable, even when it is replaced or deleted meanwhile:
/// those in extents stay on disk, those in the object table move to memory then.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 5)?;
/// writer.push(b"hello")?;
/// let first = writer.commit(ObjectFlags::ARMED)?;
/// assert_eq!((first.size(), first.flags()), (5, ObjectFlags::ARMED));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredObject {
    pub(super) key: ObjectKey,
    pub(super) flags: ObjectFlags,
    pub(super) size: u64,
    pub(super) generation: u64,
    pub(super) origin: u64,
    /// Number of the change that made it so; a change of flags has a later one.
    pub(super) change: u64,
    pub(super) computed: bool,
    pub(super) owner: Option<Owner>,
    /// CRC-32C of the whole object.
    pub(super) checksum: u32,
    pub(super) digest: Option<ContentDigest>,
    pub(super) chunks: Arc<[u32]>,
    pub(super) placement: Placement,
}

impl StoredObject {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.key
    }

    /// Its flags.
    #[must_use]
    pub fn flags(&self) -> ObjectFlags {
        self.flags
    }

    /// Its size in bytes, at least 1.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tag given by its writer ([`ObjectWriter::came_from`](super::ObjectWriter::came_from)); 0 means unset.
    #[must_use]
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// Whether its writer marked it as the result of a program
    /// ([`ObjectWriter::came_from`](super::ObjectWriter::came_from)).
    #[must_use]
    pub fn computed(&self) -> bool {
        self.computed
    }

    /// Its owner, if it has one ([`ObjectWriter::belongs_to`](super::ObjectWriter::belongs_to)).
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }

    /// CRC-32C of all its bytes, derived from the checksums of its chunks. Sealed objects of one kind and size have the same
    /// one; only the [`digest`](Self::digest) differs.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// The digest of all its bytes. Objects that a store of format version 1 had lack it until they are written again.
    #[must_use]
    pub fn digest(&self) -> Option<ContentDigest> {
        self.digest
    }

    /// A number that no other content in the store has had or will have; a change of flags keeps it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// store.set_flags(key, ObjectFlags::ARMED)?;
    /// assert_eq!(store.get(key)?.generation(), object.generation(), "the content is the same");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

impl StoredObject {
    pub(super) fn new(key: ObjectKey, record: Record, placement: Placement) -> Self {
        let Record { flags, size, generation, origin, change, computed, owner, digest, chunks, .. } = record;
        let checksum = checksum::of_chunks(&chunks, CHUNK_BYTES, size);
        let chunks = chunks.into();
        Self { key, flags, size, generation, origin, change, computed, owner, checksum, digest, chunks, placement }
    }

    pub(super) fn record(&self) -> Record {
        Record {
            flags: self.flags,
            size: self.size,
            generation: self.generation,
            origin: self.origin,
            change: self.change,
            computed: self.computed,
            owner: self.owner.clone(),
            digest: self.digest,
            extents: self.placement.extents(),
            chunks: self.chunks.to_vec(),
        }
    }
}
