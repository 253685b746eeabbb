//! The directory: the objects of a namespace and their addresses.
//!
//! ```text
//! header, 64 bytes
//! offset  bytes  field
//!      0      8  magic  43 4D 4F 42 4A 44 49 52  ("CMOBJDIR")
//!      8      2  version, 1
//!     10      2  bytes of an entry, 64
//!     12      4  number of entries that follow
//!     16      8  number of objects of the namespace
//!     24      8  first block above all mapped blocks and all objects in the data half
//!     32      8  first block of the other half
//!     40      8  bytes of the largest object that the device accepts
//!     48     16  zeros
//!
//! entry, 64 bytes
//!      0      2  type
//!      2      2  zero
//!      4      4  Key ID
//!      8      4  Data ID
//!     12      4  flags: bit 0 armed, bit 1 one-shot
//!     16      8  size in bytes
//!     24      8  first block, or all ones for an object without an address
//!     32      8  number of blocks there
//!     40      4  CRC-32C of the stored bytes
//!     44      4  bit 0: a new version is declared there; bit 1: the version completed there is the result of a program
//!     48     16  zeros
//! ```
//! Entries ascend by (type, Key ID, Data ID). All numbers are little-endian.

use super::{
    BlockSpace,
    origin::{Origin, Use},
};
use ciphermill_device::ObjectFlags;
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use ciphermill_wire::Decoder;
use std::sync::atomic::Ordering;

/// The first eight bytes of a directory.
pub const DIRECTORY_MAGIC: [u8; 8] = *b"CMOBJDIR";
/// First block in the entry of an object without an address.
pub const NO_PLACE: u64 = u64::MAX;

const VERSION: u16 = 1;
const RECORD: usize = 64;

/// The directory's entry of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its register.
    pub id: VrId,
    /// Its flags.
    pub flags: ObjectFlags,
    /// Its size in bytes.
    pub size: u64,
    /// Its first block, if it has an address.
    pub lba: Option<u64>,
    /// Its blocks there.
    pub blocks: u64,
    /// CRC-32C of the stored bytes.
    pub checksum: u32,
    /// Whether a new version is declared there and not complete.
    pub declared: bool,
    /// Whether the stored version is the result of a program that its write ran.
    pub computed: bool,
}

/// A part of the directory.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// write(space.half() + 8, &metadata.encode())?;
/// write(8, &program)?;
/// let bytes = send(OPCODE_DIRECTORY, directory_dwords(id))?;
/// let directory = Directory::decode(&bytes)?;
/// assert_eq!(directory.total, 1);
/// assert_eq!((directory.entries[0].id, directory.entries[0].lba), (id, Some(8)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Number of objects of the namespace.
    pub total: u64,
    /// First block above all mapped blocks and all declared or bound objects of the data half.
    pub free_from: u64,
    /// First block of the half with the metadata blocks.
    pub half: u64,
    /// Bytes of the largest object that the device accepts.
    pub max_object_bytes: u64,
    /// Objects from the requested register on, as many as fit.
    pub entries: Vec<DirectoryEntry>,
}

/// Errors of decoding a directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// Fewer bytes than the header or the entries it announces take.
    #[error("{given} bytes are too short for a directory; it needs {needed}")]
    Short {
        /// Bytes given.
        given: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// Something else, or of another version.
    #[error("the header is not that of a directory of version {VERSION}")]
    Header,
    /// An entry has an impossible field.
    #[error("entry {index} of the directory: {what}")]
    Entry {
        /// Its index.
        index: usize,
        /// The finding.
        what: &'static str,
    },
}

/// Command dwords 10 to 15 of the command that lists objects from `start` on.
#[must_use]
pub fn directory_dwords(start: VrId) -> [u32; 6] {
    [start.type_code.0.into(), start.key_id.0, start.data_id.0, 0, 0, 0]
}

/// The register in the dwords; `None` when they are not those of [`directory_dwords`].
pub(super) fn start_of(dwords: [u32; 6]) -> Option<VrId> {
    let [type_code, key, data, 0, 0, 0] = dwords else { return None };
    Some(VrId::new(TypeCode(type_code.try_into().ok()?), KeyId(key), DataId(data)))
}

impl DirectoryEntry {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.type_code.0.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.id.key_id.0.to_le_bytes());
        out.extend_from_slice(&self.id.data_id.0.to_le_bytes());
        out.extend_from_slice(&self.flags.bits().to_le_bytes());
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.lba.unwrap_or(NO_PLACE).to_le_bytes());
        out.extend_from_slice(&self.blocks.to_le_bytes());
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&(u32::from(self.declared) | u32::from(self.computed) << 1).to_le_bytes());
        out.extend_from_slice(&[0; 16]);
    }

    fn decode(record: &[u8; RECORD], index: usize) -> Result<Self, DirectoryError> {
        let refuse = |what| DirectoryError::Entry { index, what };
        let cut = |_| refuse("it ends within a field");
        let mut fields = Decoder::new(record);
        let mut word = || fields.u32().map_err(cut);
        // The type is followed by two zero bytes, which are ignored.
        let type_code = TypeCode(word()? as u16);
        let (key_id, data_id) = (KeyId(word()?), DataId(word()?));
        let flags = ObjectFlags::from_bits(word()?);
        let mut long = || fields.u64().map_err(cut);
        let (size, lba, blocks) = (long()?, long()?, long()?);
        let (checksum, bits) = (fields.u32().map_err(cut)?, fields.u32().map_err(cut)?);
        if size == 0 {
            return Err(refuse("the size is 0"));
        }
        Ok(Self {
            id: VrId::new(type_code, key_id, data_id),
            flags: flags.ok_or(refuse("a flag is not known"))?,
            size,
            lba: (lba != NO_PLACE).then_some(lba),
            blocks,
            checksum,
            declared: bits & 1 == 1,
            computed: bits & 2 == 2,
        })
    }
}

impl Directory {
    /// Bytes that hold this many entries.
    #[must_use]
    pub const fn bytes_for(entries: usize) -> usize {
        RECORD + entries * RECORD
    }

    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::bytes_for(self.entries.len()));
        out.extend_from_slice(&DIRECTORY_MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(RECORD as u16).to_le_bytes());
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.total.to_le_bytes());
        out.extend_from_slice(&self.free_from.to_le_bytes());
        out.extend_from_slice(&self.half.to_le_bytes());
        out.extend_from_slice(&self.max_object_bytes.to_le_bytes());
        out.extend_from_slice(&[0; 16]);
        self.entries.iter().for_each(|entry| entry.encode(&mut out));
        out
    }

    /// Reads a directory; bytes after the last entry are ignored.
    ///
    /// # Errors
    /// See [`DirectoryError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DirectoryError> {
        let short = |needed| DirectoryError::Short { given: bytes.len(), needed };
        let header: &[u8; RECORD] = bytes.first_chunk().ok_or(short(RECORD))?;
        let cut = |_| short(RECORD);
        let mut fields = Decoder::new(header);
        let magic = fields.array().map_err(cut)?;
        let sizes = [fields.u16().map_err(cut)?, fields.u16().map_err(cut)?];
        if magic != DIRECTORY_MAGIC || sizes != [VERSION, RECORD as u16] {
            return Err(DirectoryError::Header);
        }
        let count = fields.u32().map_err(cut)? as usize;
        let (records, _) = bytes[RECORD..].as_chunks();
        let records = records.get(..count).ok_or(short(count.saturating_add(1).saturating_mul(RECORD)))?;
        let entries = records.iter().enumerate().map(|(index, record)| DirectoryEntry::decode(record, index));
        let mut long = || fields.u64().map_err(cut);
        Ok(Self {
            total: long()?,
            free_from: long()?,
            half: long()?,
            max_object_bytes: long()?,
            entries: entries.collect::<Result<_, _>>()?,
        })
    }
}

impl BlockSpace {
    /// The objects from `start` on, at most `most` of them.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// write(space.half() + 8, &metadata.encode())?;
    /// write(8, &program)?;
    /// let directory = space.directory(id, 100);
    /// assert_eq!(directory.entries[0].size, program.len() as u64);
    /// // Block 9 and all above it are free.
    /// assert_eq!(directory.free_from, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn directory(&self, start: VrId, most: usize) -> Directory {
        self.directory_for(&Self::itself(), start, most)
    }

    /// The same of the objects that a host may read.
    pub(super) fn directory_for(&self, origin: &Origin, start: VrId, most: usize) -> Directory {
        let mut objects = self.device.list();
        let index = self.index();
        if origin.is_bounded(Use::Read) {
            objects.retain(|stat| origin.object(Use::Read, stat.id, stat.owner.as_ref()).is_ok());
        }
        let from = objects.partition_point(|stat| stat.id < start);
        let entries = objects[from..].iter().take(most).map(|stat| {
            let lba = index.place_of(stat.id);
            let place = lba.and_then(|lba| index.get(lba));
            let bound = place.and_then(|place| place.bound);
            DirectoryEntry {
                id: stat.id,
                flags: stat.flags,
                size: stat.size,
                lba,
                blocks: bound.map_or(0, |bound| bound.blocks),
                checksum: stat.checksum,
                declared: place.is_some_and(|place| place.declared.is_some()),
                computed: stat.computed,
            }
        });
        Directory {
            total: objects.len() as u64,
            free_from: self.high_water.load(Ordering::Relaxed).max(index.end()),
            half: self.half,
            max_object_bytes: self.max_object_bytes,
            entries: entries.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_these_bytes() {
        let entry = DirectoryEntry {
            id: VrId::new(TypeCode(4), KeyId(7), DataId(3)),
            flags: ObjectFlags::ARMED,
            size: 0x1234,
            lba: Some(0x99),
            blocks: 2,
            checksum: 0xaabb_ccdd,
            declared: true,
            computed: false,
        };
        let without = DirectoryEntry { lba: None, blocks: 0, declared: false, computed: true, ..entry };
        let entries = vec![entry, without];
        let directory = Directory { total: 9, free_from: 0x101, half: 0x1000, max_object_bytes: 0x77, entries };
        let bytes = directory.encode();
        assert_eq!(bytes.len(), Directory::bytes_for(2));
        assert_eq!(bytes[..16], *b"CMOBJDIR\x01\0\x40\0\x02\0\0\0");
        assert_eq!(bytes[16..40], [9, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[40..50], [0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[64..80], [4, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[80..96], [0x34, 0x12, 0, 0, 0, 0, 0, 0, 0x99, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[96..112], [2, 0, 0, 0, 0, 0, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa, 1, 0, 0, 0]);
        assert_eq!(bytes[152..160], [0xff; 8]);
        assert_eq!(bytes[172..176], [2, 0, 0, 0]);
        assert_eq!(Directory::decode(&bytes), Ok(directory));
        for end in 0..bytes.len() {
            assert!(matches!(Directory::decode(&bytes[..end]), Err(DirectoryError::Short { .. })));
        }
        let spoilt = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            Directory::decode(&bytes)
        };
        assert_eq!(spoilt(0, 0), Err(DirectoryError::Header));
        assert_eq!(spoilt(8, 2), Err(DirectoryError::Header));
        assert!(matches!(spoilt(64 + 12, 4), Err(DirectoryError::Entry { index: 0, .. })));
        assert!(matches!(spoilt(15, 0xff), Err(DirectoryError::Short { .. })));
    }

    #[test]
    fn dwords_name_the_first_register() {
        let id = VrId::new(TypeCode(4), KeyId(7), DataId(u32::MAX));
        assert_eq!(directory_dwords(id), [4, 7, u32::MAX, 0, 0, 0]);
        assert_eq!(start_of(directory_dwords(id)), Some(id));
        assert_eq!(start_of([0x1_0000, 0, 0, 0, 0, 0]), None);
        assert_eq!(start_of([0, 0, 0, 0, 0, 1]), None);
    }
}
