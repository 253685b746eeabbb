//! The metadata block: 4,096 bytes that name and arm the object next to them.
//!
//! The paper's sc_metadata (section 4.1) has the fields type, key id, data id and size; version, flags and checksums are
//! ours. `docs/program.md` draws the block byte by byte.

use std::num::NonZeroU32;

use thiserror::Error;

use crate::id::{DataId, KeyId, TypeCode, VrId};

/// The length of a metadata block in bytes: one logical block of the device.
pub const META_BLOCK_BYTES: usize = 4096;

/// The first eight bytes of a metadata block.
pub const META_MAGIC: [u8; 8] = *b"CMOBJMD\x1a";

/// The version that [`Metadata::encode`] writes, and the only one that [`Metadata::decode`] reads.
pub const META_VERSION: u16 = 1;

const FLAG_ARMED: u32 = 1 << 0;
const FLAG_ONE_SHOT: u32 = 1 << 1;
const FLAG_STORED: u32 = 1 << 2;
const KNOWN_FLAGS: u32 = FLAG_ARMED | FLAG_ONE_SHOT | FLAG_STORED;

/// Where the record's own checksum stands; it covers every byte before.
const RECORD_CRC_AT: usize = 36;
const RECORD_BYTES: usize = 40;

/// The content of a metadata block.
///
/// # Example
/// ```
/// use ciphermill_program::Metadata;
///
/// let object = b"a sealed ciphertext";
/// let metadata = Metadata {
///     id: "3:0:2".parse()?,
///     armed: true,
///     one_shot: false,
///     stored: false,
///     size: object.len() as u64,
///     object_crc32c: Metadata::checksum_of(object),
/// };
/// assert_eq!(Metadata::decode(&metadata.encode())?, metadata);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The register the object belongs in.
    pub id: VrId,
    /// Whether a read (compute-on-read) or the completion of a write (compute-on-write) may run the program. Operating
    /// systems read blocks unasked; without this bit such a probe would start a computation.
    pub armed: bool,
    /// Whether the device disarms the object after one run.
    pub one_shot: bool,
    /// Whether the object is stored as it is even when its type computes on writes (to restore a copy, say). It is an
    /// order for this one completion and no property of the object: the record of a stored object never has it.
    pub stored: bool,
    /// The length of the complete object in bytes. Any value decodes; the device checks it against the
    /// parameter set of the key.
    pub size: u64,
    /// The CRC-32C of the object, `None` for "not given". Zero stands for `None` in the block, so the one object in 2^32
    /// whose CRC is zero goes unchecked.
    pub object_crc32c: Option<NonZeroU32>,
}

/// Bytes that are not a metadata block.
///
/// # Example
/// ```
/// use ciphermill_program::{META_BLOCK_BYTES, MetaError, Metadata};
///
/// assert_eq!(Metadata::decode(&[0; META_BLOCK_BYTES]), Err(MetaError::Blank));
/// assert_eq!(Metadata::decode(&[0; 40]), Err(MetaError::Length { given: 40 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetaError {
    /// Another length than one block.
    #[error("{given} bytes are not a metadata block; it has exactly {META_BLOCK_BYTES}")]
    Length {
        /// The number of bytes.
        given: usize,
    },
    /// All bytes are zero: the block was never written, or it was discarded. It names no object.
    #[error("the block is blank: it names no object")]
    Blank,
    /// The block is something else.
    #[error("the first eight bytes are {given:02x?}, a metadata block starts with {META_MAGIC:02x?}")]
    Magic {
        /// The given value.
        given: [u8; 8],
    },
    /// Written by another version.
    #[error("the metadata block has version {given}, this build reads version {META_VERSION}")]
    Version {
        /// The given value.
        given: u16,
    },
    /// The record is damaged.
    #[error("the record's checksum is {stored:#010x}, its bytes give {computed:#010x}; write the block again")]
    Checksum {
        /// The checksum in the block.
        stored: u32,
        /// The checksum of bytes 0 to 35.
        computed: u32,
    },
    /// A flag is set that this version does not know.
    #[error("the flags are {given:#010x}, only the bits {KNOWN_FLAGS:#x} are defined")]
    Flags {
        /// The given value.
        given: u32,
    },
    /// A byte after the record is not zero.
    #[error("byte {offset} is {given:#04x}; bytes {RECORD_BYTES} to 4095 must be zero")]
    Padding {
        /// The first such byte.
        offset: usize,
        /// Its value.
        given: u8,
    },
}

impl Metadata {
    /// The checksum to put into [`Metadata::object_crc32c`] for an object of these bytes.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::Metadata;
    /// use std::num::NonZeroU32;
    ///
    /// assert_eq!(Metadata::checksum_of(b"123456789"), NonZeroU32::new(0xe306_9283));
    /// ```
    #[must_use]
    pub fn checksum_of(object: &[u8]) -> Option<NonZeroU32> {
        NonZeroU32::new(crc32c::crc32c(object))
    }

    /// The block.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # let id: VrId = "3:0:2".parse()?;
    /// # let metadata = Metadata { id, armed: true, one_shot: false, stored: false, size: 5, object_crc32c: None };
    /// let block = metadata.encode();
    /// assert!(block.starts_with(&META_MAGIC));
    /// assert_eq!(block.len(), META_BLOCK_BYTES);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encode(&self) -> [u8; META_BLOCK_BYTES] {
        let mut flags = 0;
        if self.armed {
            flags |= FLAG_ARMED;
        }
        if self.one_shot {
            flags |= FLAG_ONE_SHOT;
        }
        if self.stored {
            flags |= FLAG_STORED;
        }
        let mut block = [0; META_BLOCK_BYTES];
        block[0..8].copy_from_slice(&META_MAGIC);
        block[8..10].copy_from_slice(&META_VERSION.to_le_bytes());
        block[10..12].copy_from_slice(&self.id.type_code.0.to_le_bytes());
        block[12..16].copy_from_slice(&self.id.key_id.0.to_le_bytes());
        block[16..20].copy_from_slice(&self.id.data_id.0.to_le_bytes());
        block[20..24].copy_from_slice(&flags.to_le_bytes());
        block[24..32].copy_from_slice(&self.size.to_le_bytes());
        block[32..36].copy_from_slice(&self.object_crc32c.map_or(0, NonZeroU32::get).to_le_bytes());
        let crc = crc32c::crc32c(&block[..RECORD_CRC_AT]);
        block[RECORD_CRC_AT..RECORD_BYTES].copy_from_slice(&crc.to_le_bytes());
        block
    }

    /// Reads a block. [`Metadata::encode`] returns the same block for the result.
    ///
    /// # Errors
    /// See [`MetaError`]; a block of zeros is [`MetaError::Blank`], so that a caller can distinguish "no object" from damage.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # let id: VrId = "3:0:2".parse()?;
    /// # let metadata = Metadata { id, armed: true, one_shot: false, stored: false, size: 5, object_crc32c: None };
    /// let mut block = metadata.encode();
    /// assert_eq!(Metadata::decode(&block)?, metadata);
    /// block[24] ^= 1;
    /// assert!(matches!(Metadata::decode(&block), Err(MetaError::Checksum { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(bytes: &[u8]) -> Result<Self, MetaError> {
        let block: &[u8; META_BLOCK_BYTES] = bytes.try_into().map_err(|_| MetaError::Length { given: bytes.len() })?;
        let magic = array(block, 0);
        if magic != META_MAGIC {
            return Err(if block.iter().all(|&byte| byte == 0) {
                MetaError::Blank
            } else {
                MetaError::Magic { given: magic }
            });
        }
        // The version is judged before the checksum: another version may well place its checksum elsewhere.
        let version = u16::from_le_bytes(array(block, 8));
        if version != META_VERSION {
            return Err(MetaError::Version { given: version });
        }
        let stored = u32::from_le_bytes(array(block, RECORD_CRC_AT));
        let computed = crc32c::crc32c(&block[..RECORD_CRC_AT]);
        if stored != computed {
            return Err(MetaError::Checksum { stored, computed });
        }
        let flags = u32::from_le_bytes(array(block, 20));
        if flags & !KNOWN_FLAGS != 0 {
            return Err(MetaError::Flags { given: flags });
        }
        if let Some((offset, &given)) = block.iter().enumerate().skip(RECORD_BYTES).find(|&(_, &byte)| byte != 0) {
            return Err(MetaError::Padding { offset, given });
        }
        Ok(Self {
            id: VrId {
                type_code: TypeCode(u16::from_le_bytes(array(block, 10))),
                key_id: KeyId(u32::from_le_bytes(array(block, 12))),
                data_id: DataId(u32::from_le_bytes(array(block, 16))),
            },
            armed: flags & FLAG_ARMED != 0,
            one_shot: flags & FLAG_ONE_SHOT != 0,
            stored: flags & FLAG_STORED != 0,
            size: u64::from_le_bytes(array(block, 24)),
            object_crc32c: NonZeroU32::new(u32::from_le_bytes(array(block, 32))),
        })
    }
}

/// The `N` bytes at `offset`; all callers stay below [`RECORD_BYTES`].
fn array<const N: usize>(block: &[u8; META_BLOCK_BYTES], offset: usize) -> [u8; N] {
    std::array::from_fn(|i| block[offset + i])
}
