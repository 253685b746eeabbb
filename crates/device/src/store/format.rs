//! The bytes of the store: the superblock of the data file and the records of the object table.
//!
//! `docs/device.md` draws them. All integers are little-endian, except in table keys, which are big-endian so that
//! their byte order is the order of (space, type, key id, data id).

use super::{ObjectFlags, ObjectKey, SpaceId, SpaceLimits};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use ciphermill_storage::{self as storage, FormatError, SuperblockFormat, seal, unseal};
use ciphermill_wire::{Decoder, Encoder, WireError};

/// Unit of allocation in the data file, in bytes; every extent starts and ends on a multiple of it.
pub const BLOCK_BYTES: u64 = 4096;
/// Bytes covered by one checksum of an object.
pub const CHUNK_BYTES: u64 = 1 << 20;
/// Version of the store format that this build reads and writes.
pub const STORE_VERSION: u16 = 1;

/// The superblock of the data file.
pub(crate) const SUPERBLOCK: SuperblockFormat = SuperblockFormat {
    file: "the data file",
    magic: *b"CMSTORE\x1a",
    version: STORE_VERSION,
    block_bytes: BLOCK_BYTES as u32,
    unit: CHUNK_BYTES as u32,
    units: "chunks",
    padding: 4,
};

const RECORD_HEAD_BYTES: usize = 32;
/// A record that names extents.
const RECORD_EXTENTS: u16 = 1;
/// A record that contains the object's bytes.
const RECORD_INLINE: u16 = 2;
/// The same two with a caller-defined origin.
const RECORD_EXTENTS_ORIGIN: u16 = 3;
const RECORD_INLINE_ORIGIN: u16 = 4;
const ORIGIN_BYTES: usize = 8;
/// The largest object whose bytes are kept in its record: the record, its key and the bookkeeping of its page then fit a
/// page of 16 KiB of the table.
pub const INLINE_BYTES: u64 = 16_000;

/// The row of the object table that bounds the generations in use: the first unused one, and a checksum.
pub(crate) fn encode_generation(next: u64) -> Vec<u8> {
    let mut bytes = next.to_le_bytes().to_vec();
    seal(&mut bytes, &[]);
    bytes
}

/// Reads the row that [`encode_generation`] wrote.
pub(crate) fn decode_generation(bytes: &[u8]) -> Result<u64, FormatError> {
    unsealed(bytes, |fields| fields.u64())
        .ok_or_else(|| corrupt("the bound of the generations does not match its checksum"))
}

/// The fields of a row without its checksum; `None` when the checksum or the length is wrong.
fn unsealed<T>(bytes: &[u8], read: impl FnOnce(&mut Decoder<'_>) -> Result<T, WireError>) -> Option<T> {
    let mut fields = Decoder::new(unseal(bytes, &[])?);
    let row = read(&mut fields).ok()?;
    fields.finish().ok()?;
    Some(row)
}

/// A run of blocks of the data file.
pub(crate) type Extent = storage::Extent<u64>;

/// The record of one object in the object table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) flags: ObjectFlags,
    pub(crate) size: u64,
    pub(crate) generation: u64,
    /// Caller-defined tag; 0 means unset.
    pub(crate) origin: u64,
    /// Whether a program made it.
    pub(crate) computed: bool,
    /// None if the record holds the object's bytes itself, which it may up to [`INLINE_BYTES`].
    pub(crate) extents: Vec<Extent>,
    /// CRC-32C of each chunk of [`CHUNK_BYTES`], the last one shorter.
    pub(crate) chunks: Vec<u32>,
}

impl Record {
    /// The record's bytes. `content` is the object's if the record is to hold them, else empty.
    pub(crate) fn encode(&self, content: &[u8]) -> Vec<u8> {
        let rest = 16 * self.extents.len() + 4 * self.chunks.len() + content.len() + 4;
        let version = match (self.is_inline(), self.origin) {
            (false, 0) => RECORD_EXTENTS,
            (true, 0) => RECORD_INLINE,
            (false, _) => RECORD_EXTENTS_ORIGIN,
            (true, _) => RECORD_INLINE_ORIGIN,
        };
        let mut out = Encoder::with_capacity(RECORD_HEAD_BYTES + ORIGIN_BYTES + rest);
        out.u16(version).u16(self.computed.into()).u32(self.flags.bits()).u64(self.size).u64(self.generation);
        if self.origin != 0 {
            out.u64(self.origin);
        }
        if self.is_inline() {
            out.u32(self.chunks.first().copied().unwrap_or(0)).u32(0).bytes(content);
        } else {
            out.u32(self.extents.len() as u32).u32(self.chunks.len() as u32);
            for extent in &self.extents {
                out.u64(extent.start).u64(extent.blocks);
            }
            out.u32s(&self.chunks);
        }
        let mut bytes = out.into_vec();
        seal(&mut bytes, &[]);
        bytes
    }

    /// Whether the record holds the object's bytes itself.
    pub(crate) fn is_inline(&self) -> bool {
        self.extents.is_empty()
    }

    /// The object's bytes in the record `bytes`, which was decoded as an inline one.
    pub(crate) fn content(bytes: &[u8]) -> &[u8] {
        let head = match bytes.first_chunk().map(|version| u16::from_le_bytes(*version)) {
            Some(RECORD_INLINE_ORIGIN) => RECORD_HEAD_BYTES + ORIGIN_BYTES,
            _ => RECORD_HEAD_BYTES,
        };
        bytes.len().checked_sub(4).and_then(|end| bytes.get(head..end)).unwrap_or(&[])
    }

    /// Reads a record; `object` is for messages.
    pub(crate) fn decode(bytes: &[u8], object: ObjectKey) -> Result<Self, FormatError> {
        let damaged = |what: &str| corrupt(format!("the table record of {object} {what}"));
        let cut = |_| damaged("is too short");
        if bytes.len() < RECORD_HEAD_BYTES + 4 {
            return Err(damaged("is too short"));
        }
        let mut fields = Decoder::new(unseal(bytes, &[]).ok_or_else(|| damaged("does not match its checksum"))?);
        let version = fields.u16().map_err(cut)?;
        if !(RECORD_EXTENTS..=RECORD_INLINE_ORIGIN).contains(&version) {
            return Err(FormatError::Version { given: version, supported: RECORD_INLINE_ORIGIN });
        }
        let computed = match fields.u16().map_err(cut)? {
            0 => false,
            1 => true,
            _ => return Err(damaged("holds unknown marks")),
        };
        let flags = ObjectFlags::from_bits(fields.u32().map_err(cut)?).ok_or_else(|| damaged("holds unknown flags"))?;
        let (size, generation) = (fields.u64().map_err(cut)?, fields.u64().map_err(cut)?);
        let origin = match version {
            RECORD_EXTENTS | RECORD_INLINE => 0,
            _ => fields.u64().map_err(cut)?,
        };
        let (first, second) = (fields.u32().map_err(cut)?, fields.u32().map_err(cut)?);
        let rest = fields.remaining();
        if matches!(version, RECORD_INLINE | RECORD_INLINE_ORIGIN) {
            if !(1..=INLINE_BYTES).contains(&size) || rest as u64 != size {
                return Err(damaged("has another length than its size field"));
            }
            if crc32c::crc32c(fields.bytes(rest).map_err(cut)?) != first {
                return Err(damaged("holds bytes that do not match their checksum"));
            }
            return Ok(Self { flags, size, generation, origin, computed, extents: Vec::new(), chunks: vec![first] });
        }
        let (extents, chunks) = (u64::from(first), u64::from(second));
        if rest as u64 != extents * 16 + chunks * 4 {
            return Err(damaged("has another length than its counts"));
        }
        if size == 0 || extents == 0 || chunks != size.div_ceil(CHUNK_BYTES) {
            return Err(damaged("has no extents, or not one checksum for each chunk"));
        }
        let words = fields.u64s(2 * extents as usize).map_err(cut)?;
        let extents: Vec<Extent> =
            words.as_chunks().0.iter().map(|[start, blocks]| Extent { start: *start, blocks: *blocks }).collect();
        let blocks = extents.iter().try_fold(0u64, |sum, extent| sum.checked_add(extent.blocks));
        if blocks != Some(size.div_ceil(BLOCK_BYTES)) {
            return Err(damaged("has extents that do not add up to its size"));
        }
        let chunks = fields.u32s(chunks as usize).map_err(cut)?;
        Ok(Self { flags, size, generation, origin, computed, extents, chunks })
    }
}

/// Length of a key of the object table.
pub(crate) const KEY_BYTES: usize = 14;

pub(crate) fn encode_key(key: ObjectKey) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes[..4].copy_from_slice(&key.space.0.to_be_bytes());
    bytes[4..6].copy_from_slice(&key.id.type_code.0.to_be_bytes());
    bytes[6..10].copy_from_slice(&key.id.key_id.0.to_be_bytes());
    bytes[10..].copy_from_slice(&key.id.data_id.0.to_be_bytes());
    bytes
}

pub(crate) fn decode_key(bytes: &[u8; KEY_BYTES]) -> ObjectKey {
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    ObjectKey {
        space: SpaceId(word(0)),
        id: VrId::new(TypeCode(u16::from_be_bytes([bytes[4], bytes[5]])), KeyId(word(6)), DataId(word(10))),
    }
}

/// The value under `store` in the format table: version, store id, checksum.
pub(crate) fn encode_identity(store_id: [u8; 16]) -> Vec<u8> {
    let mut bytes = STORE_VERSION.to_le_bytes().to_vec();
    bytes.extend_from_slice(&store_id);
    seal(&mut bytes, &[]);
    bytes
}

pub(crate) fn check_identity(bytes: &[u8], store_id: [u8; 16]) -> Result<(), FormatError> {
    let (version, id) = unsealed(bytes, |fields| Ok((fields.u16()?, fields.array()?)))
        .ok_or_else(|| corrupt("the format record of the object table does not match its checksum"))?;
    FormatError::check_version(version, STORE_VERSION)?;
    match store_id == id {
        true => Ok(()),
        false => Err(corrupt("the object table and the data file belong to two different stores")),
    }
}

pub(crate) fn encode_limits(limits: SpaceLimits) -> Vec<u8> {
    let mut bytes = limits.bytes.to_le_bytes().to_vec();
    bytes.extend_from_slice(&limits.objects.to_le_bytes());
    seal(&mut bytes, &[]);
    bytes
}

pub(crate) fn decode_limits(bytes: &[u8], space: SpaceId) -> Result<SpaceLimits, FormatError> {
    unsealed(bytes, |fields| Ok(SpaceLimits { bytes: fields.u64()?, objects: fields.u64()? }))
        .ok_or_else(|| corrupt(format!("the record of space {space} does not match its checksum")))
}

pub(crate) fn corrupt(what: impl Into<String>) -> FormatError {
    FormatError::corrupt(what)
}

#[cfg(test)]
#[path = "format_golden.rs"]
mod golden;

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_storage::Superblock;

    fn key() -> ObjectKey {
        ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(0x0102_0304), DataId(5)) }
    }

    #[test]
    fn keys_sort_as_their_fields_do_and_come_back() {
        let bytes = encode_key(key());
        assert_eq!(bytes, [0, 0, 0, 9, 0, 3, 1, 2, 3, 4, 0, 0, 0, 5]);
        assert_eq!(decode_key(&bytes), key());
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_noticed() {
        let extents = Record {
            flags: ObjectFlags::ARMED,
            size: CHUNK_BYTES + 1,
            generation: 77,
            origin: 0,
            computed: false,
            extents: vec![Extent { start: 1, blocks: 200 }, Extent { start: 900, blocks: 57 }],
            chunks: vec![1, 2],
        };
        every_flipped_bit_is_noticed(&extents, &[]);
        let content = *b"bytes of an object";
        let chunks = vec![crc32c::crc32c(&content)];
        let inline = Record { size: content.len() as u64, extents: Vec::new(), chunks, ..extents.clone() };
        every_flipped_bit_is_noticed(&inline, &content);
        for record in [extents, inline] {
            let content = if record.is_inline() { &content[..] } else { &[] };
            let record = Record { origin: 0x0102_0304_0506_0708, computed: true, ..record };
            every_flipped_bit_is_noticed(&record, content);
            let bytes = record.encode(content);
            assert_eq!(bytes[2..4], [1, 0]);
            assert_eq!(bytes[24..32], [8, 7, 6, 5, 4, 3, 2, 1]);
            if record.is_inline() {
                assert_eq!(Record::content(&bytes), content);
            }
        }
    }

    #[test]
    fn an_inline_record_byte_by_byte() {
        let chunks = vec![crc32c::crc32c(b"123456789")];
        let (flags, extents) = (ObjectFlags::ONE_SHOT, Vec::new());
        let record = Record { flags, size: 9, generation: 0x0102, origin: 0, computed: false, extents, chunks };
        let mut expected = vec![2, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0];
        expected.extend_from_slice(&[0x83, 0x92, 0x06, 0xE3, 0, 0, 0, 0]);
        expected.extend_from_slice(b"123456789");
        let crc = crc32c::crc32c(&expected).to_le_bytes();
        expected.extend_from_slice(&crc);
        assert_eq!(record.encode(b"123456789"), expected);
        assert_eq!(Record::content(&expected), b"123456789");
    }

    #[test]
    fn records_that_say_what_cannot_be_are_refused() {
        let sealed = |mut bytes: Vec<u8>| {
            let crc = crc32c::crc32c(&bytes).to_le_bytes();
            bytes.extend_from_slice(&crc);
            Record::decode(&bytes, key())
        };
        let record = |version: u8, size: u64, rest: &[u8]| {
            let mut bytes = vec![version, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(rest);
            bytes
        };
        let inline = |size: u64, content: &[u8]| {
            let mut rest = crc32c::crc32c(content).to_le_bytes().to_vec();
            rest.extend_from_slice(&[0; 4]);
            rest.extend_from_slice(content);
            sealed(record(2, size, &rest))
        };
        inline(INLINE_BYTES, &[7; INLINE_BYTES as usize]).expect("the largest");
        assert!(inline(INLINE_BYTES + 1, &[7; INLINE_BYTES as usize + 1]).is_err());
        assert!(inline(0, &[]).is_err() && inline(2, &[7]).is_err() && inline(u64::MAX, &[7]).is_err());
        assert!(sealed(record(1, 5, &[0, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9])).is_err(), "no extents");
        assert!(matches!(sealed(record(5, 5, &[0; 8])), Err(FormatError::Version { given: 5, supported: 4 })));
        assert!(
            sealed(record(3, 5, &[0; 8])).is_err() && sealed(record(4, 5, &[0; 12])).is_err(),
            "shorter than its head"
        );
    }

    fn every_flipped_bit_is_noticed(record: &Record, content: &[u8]) {
        let bytes = record.encode(content);
        assert_eq!(Record::decode(&bytes, key()).expect("sound"), *record);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&damaged, key()).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len], key()).is_err(), "length {len}");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_superblock_is_noticed() {
        let superblock = Superblock { ready: true, id: [7; 16] };
        let bytes = SUPERBLOCK.encode(superblock);
        assert_eq!(bytes.len() as u64, BLOCK_BYTES);
        assert_eq!(SUPERBLOCK.decode(&bytes).expect("sound"), superblock);
        for bit in 0..SUPERBLOCK.bytes() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(SUPERBLOCK.decode(&damaged).is_err(), "bit {bit}");
        }
    }
}
