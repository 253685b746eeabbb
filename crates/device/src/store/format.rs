//! The bytes of the store: the superblock of the data file and the records of the object table.
//!
//! `docs/device.md` draws them. All integers are little-endian, except in table keys, which are big-endian so that
//! their byte order is the order of (space, type, key id, data id).

use super::{ObjectFlags, ObjectKey, SpaceId, SpaceLimits, StoreError};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};

/// Unit of allocation in the data file, in bytes; every extent starts and ends on a multiple of it.
pub const BLOCK_BYTES: u64 = 4096;
/// Bytes covered by one checksum of an object.
pub const CHUNK_BYTES: u64 = 1 << 20;
/// Version of the store format that this build reads and writes.
pub const STORE_VERSION: u16 = 1;

const MAGIC: [u8; 8] = *b"CMSTORE\x1a";
const SUPERBLOCK_BYTES: usize = 44;
const RECORD_HEAD_BYTES: usize = 32;
/// A record that names extents.
const RECORD_EXTENTS: u16 = 1;
/// A record that holds the object's bytes itself.
const RECORD_INLINE: u16 = 2;
/// The same two with the number that whoever wrote the object gave it.
const RECORD_EXTENTS_ORIGIN: u16 = 3;
const RECORD_INLINE_ORIGIN: u16 = 4;
const ORIGIN_BYTES: usize = 8;
/// The largest object whose bytes are kept in its record: the record, its key and the bookkeeping of its page then fit a
/// page of 16 KiB of the table.
pub const INLINE_BYTES: u64 = 16_000;

/// Whether the creation of a store came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreState {
    /// The object table may be incomplete; no object was ever acknowledged.
    Creating,
    Ready,
}

/// The first block of the data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) state: StoreState,
    /// Drawn at creation; the object table carries it too, so that files of two stores cannot be mixed.
    pub(crate) store_id: [u8; 16],
}

impl Superblock {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_BYTES as usize);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&STORE_VERSION.to_le_bytes());
        bytes.extend_from_slice(&u16::from(self.state == StoreState::Ready).to_le_bytes());
        bytes.extend_from_slice(&(BLOCK_BYTES as u32).to_le_bytes());
        bytes.extend_from_slice(&(CHUNK_BYTES as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.store_id);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.resize(BLOCK_BYTES as usize, 0);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let head = bytes.get(..SUPERBLOCK_BYTES).ok_or_else(|| corrupt("the data file ends within its superblock"))?;
        if head[..8] != MAGIC {
            return Err(StoreError::NotAStore);
        }
        let mut fields = Fields(&head[8..]);
        let version = fields.u16();
        // The version comes before the checksum, because another version may checksum other bytes.
        if version != STORE_VERSION {
            return Err(StoreError::Version { given: version, supported: STORE_VERSION });
        }
        if crc32c::crc32c(&head[..SUPERBLOCK_BYTES - 4]) != Fields(&head[SUPERBLOCK_BYTES - 4..]).u32() {
            return Err(corrupt("the superblock of the data file does not match its checksum"));
        }
        let state = match fields.u16() {
            0 => StoreState::Creating,
            1 => StoreState::Ready,
            state => return Err(corrupt(format!("the superblock holds the unknown state {state}"))),
        };
        let (block, chunk) = (fields.u32(), fields.u32());
        if (u64::from(block), u64::from(chunk)) != (BLOCK_BYTES, CHUNK_BYTES) {
            return Err(corrupt(format!(
                "blocks of {block} and chunks of {chunk} bytes; this version has {BLOCK_BYTES} and {CHUNK_BYTES}"
            )));
        }
        fields.u32();
        Ok(Self { state, store_id: fields.array() })
    }
}

/// The row of the object table that bounds the generations given out: the first that is free, and a checksum.
pub(crate) fn encode_generation(next: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&next.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..8]);
    bytes[8..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Reads what [`encode_generation`] wrote.
pub(crate) fn decode_generation(bytes: &[u8]) -> Result<u64, StoreError> {
    if bytes.len() != 12 || crc32c::crc32c(&bytes[..8]) != Fields(&bytes[8..]).u32() {
        return Err(corrupt("the bound of the generations does not match its checksum"));
    }
    Ok(Fields(bytes).u64())
}

/// A run of blocks of the data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    /// First block; block 0 is the superblock, so never 0.
    pub(crate) start: u64,
    /// Number of blocks, at least 1.
    pub(crate) blocks: u64,
}

/// What the object table says of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) flags: ObjectFlags,
    pub(crate) size: u64,
    pub(crate) generation: u64,
    /// A number of whoever wrote it; 0 is none.
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
        let mut bytes = Vec::with_capacity(RECORD_HEAD_BYTES + ORIGIN_BYTES + rest);
        let version = match (self.is_inline(), self.origin) {
            (false, 0) => RECORD_EXTENTS,
            (true, 0) => RECORD_INLINE,
            (false, _) => RECORD_EXTENTS_ORIGIN,
            (true, _) => RECORD_INLINE_ORIGIN,
        };
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&u16::from(self.computed).to_le_bytes());
        bytes.extend_from_slice(&self.flags.bits().to_le_bytes());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        if self.origin != 0 {
            bytes.extend_from_slice(&self.origin.to_le_bytes());
        }
        if self.is_inline() {
            bytes.extend_from_slice(&self.chunks.first().copied().unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(content);
        } else {
            bytes.extend_from_slice(&(self.extents.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&(self.chunks.len() as u32).to_le_bytes());
            for extent in &self.extents {
                bytes.extend_from_slice(&extent.start.to_le_bytes());
                bytes.extend_from_slice(&extent.blocks.to_le_bytes());
            }
            for chunk in &self.chunks {
                bytes.extend_from_slice(&chunk.to_le_bytes());
            }
        }
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
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
    pub(crate) fn decode(bytes: &[u8], object: ObjectKey) -> Result<Self, StoreError> {
        let damaged = |what: &str| corrupt(format!("the table record of {object} {what}"));
        let body = bytes
            .len()
            .checked_sub(4)
            .filter(|len| *len >= RECORD_HEAD_BYTES)
            .map(|len| &bytes[..len])
            .ok_or_else(|| damaged("is too short"))?;
        if crc32c::crc32c(body) != Fields(&bytes[body.len()..]).u32() {
            return Err(damaged("does not match its checksum"));
        }
        let mut fields = Fields(body);
        let version = fields.u16();
        if !(RECORD_EXTENTS..=RECORD_INLINE_ORIGIN).contains(&version) {
            return Err(StoreError::Version { given: version, supported: RECORD_INLINE_ORIGIN });
        }
        let computed = match fields.u16() {
            0 => false,
            1 => true,
            _ => return Err(damaged("holds unknown marks")),
        };
        let flags = ObjectFlags::from_bits(fields.u32()).ok_or_else(|| damaged("holds unknown flags"))?;
        let (size, generation) = (fields.u64(), fields.u64());
        let origin = match version {
            RECORD_EXTENTS | RECORD_INLINE => 0,
            _ if body.len() < RECORD_HEAD_BYTES + ORIGIN_BYTES => return Err(damaged("is too short")),
            _ => fields.u64(),
        };
        if matches!(version, RECORD_INLINE | RECORD_INLINE_ORIGIN) {
            let checksum = fields.u32();
            fields.u32();
            if !(1..=INLINE_BYTES).contains(&size) || fields.0.len() as u64 != size {
                return Err(damaged("has another length than it says"));
            }
            if crc32c::crc32c(fields.0) != checksum {
                return Err(damaged("holds bytes that do not match their checksum"));
            }
            return Ok(Self { flags, size, generation, origin, computed, extents: Vec::new(), chunks: vec![checksum] });
        }
        let (extents, chunks) = (u64::from(fields.u32()), u64::from(fields.u32()));
        if fields.0.len() as u64 != extents * 16 + chunks * 4 {
            return Err(damaged("has another length than it says"));
        }
        if size == 0 || extents == 0 || chunks != size.div_ceil(CHUNK_BYTES) {
            return Err(damaged("has no extents, or not one checksum for each chunk"));
        }
        let extents: Vec<Extent> = (0..extents).map(|_| Extent { start: fields.u64(), blocks: fields.u64() }).collect();
        let blocks = extents.iter().try_fold(0u64, |sum, extent| sum.checked_add(extent.blocks));
        if blocks != Some(size.div_ceil(BLOCK_BYTES)) {
            return Err(damaged("has extents that do not add up to its size"));
        }
        let chunks = (0..chunks).map(|_| fields.u32()).collect();
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
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

pub(crate) fn check_identity(bytes: &[u8], store_id: [u8; 16]) -> Result<(), StoreError> {
    if bytes.len() != 22 || crc32c::crc32c(&bytes[..18]) != Fields(&bytes[18..]).u32() {
        return Err(corrupt("the format record of the object table does not match its checksum"));
    }
    let mut fields = Fields(bytes);
    let version = fields.u16();
    if version != STORE_VERSION {
        return Err(StoreError::Version { given: version, supported: STORE_VERSION });
    }
    if fields.array::<16>() != store_id {
        return Err(corrupt("the object table and the data file belong to two different stores"));
    }
    Ok(())
}

pub(crate) fn encode_limits(limits: SpaceLimits) -> Vec<u8> {
    let mut bytes = limits.bytes.to_le_bytes().to_vec();
    bytes.extend_from_slice(&limits.objects.to_le_bytes());
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

pub(crate) fn decode_limits(bytes: &[u8], space: SpaceId) -> Result<SpaceLimits, StoreError> {
    if bytes.len() != 20 || crc32c::crc32c(&bytes[..16]) != Fields(&bytes[16..]).u32() {
        return Err(corrupt(format!("the record of space {space} does not match its checksum")));
    }
    let mut fields = Fields(bytes);
    Ok(SpaceLimits { bytes: fields.u64(), objects: fields.u64() })
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into() }
}

/// Takes integers off the front of a slice whose length the caller has checked.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let (head, tail) = self.0.split_at(N.min(self.0.len()));
        out[..head.len()].copy_from_slice(head);
        self.0 = tail;
        out
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

#[cfg(test)]
#[path = "format_golden.rs"]
mod golden;

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(matches!(sealed(record(5, 5, &[0; 8])), Err(StoreError::Version { given: 5, supported: 4 })));
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
        let superblock = Superblock { state: StoreState::Ready, store_id: [7; 16] };
        let bytes = superblock.encode();
        assert_eq!(bytes.len() as u64, BLOCK_BYTES);
        assert_eq!(Superblock::decode(&bytes).expect("sound"), superblock);
        for bit in 0..SUPERBLOCK_BYTES * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&damaged).is_err(), "bit {bit}");
        }
    }
}
