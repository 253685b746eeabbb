//! The digest of an object's content, which is different for any two contents.
//!
//! A CRC-32C does not: all sealed objects of one kind and size have the same one, because each ends with the checksum of its
//! content. So wherever the question is whose bytes a place on the disk holds, the digest decides.

use super::{StoreError, format::CHUNK_BYTES};
use std::fmt;

/// The first 16 bytes of the BLAKE3 hash of an object's bytes, as `b3sum --length 16` prints them.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let store = Store::open(StoreFiles::in_memory())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 3)?;
/// writer.push(b"abc")?;
/// let object = writer.commit(ObjectFlags::NONE)?;
/// let digest = object.digest().expect("every new object has one");
/// assert_eq!(digest.to_string(), "6437b3ac38465133ffb63b75273a8db5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest(pub [u8; Self::BYTES]);

impl ContentDigest {
    /// Bytes of a digest.
    pub const BYTES: usize = 16;

    /// The digest of an object of `size` bytes, whose chunks `chunk` gives in order.
    pub(super) fn of_chunks(
        size: u64,
        mut chunk: impl FnMut(u64) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut digester = Digester::default();
        (0..size.div_ceil(CHUNK_BYTES)).try_for_each(|index| chunk(index).map(|bytes| digester.push(&bytes)))?;
        Ok(digester.finish())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Computes a digest from bytes that arrive in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Digester(Box<blake3::Hasher>);

impl Digester {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(&self) -> ContentDigest {
        let mut digest = [0; ContentDigest::BYTES];
        self.0.finalize_xof().fill(&mut digest);
        ContentDigest(digest)
    }
}
