//! The record of an object in the object table and in the log.
//!
//! A record names its object and carries its checksum, so that it is found and understood without the table around it.

use super::{
    ContentDigest, ObjectFlags, ObjectKey, Owner, earlier,
    format::{BLOCK_BYTES, CHUNK_BYTES, Extent, KEY_BYTES, corrupt, decode_key, encode_key},
};
use ciphermill_storage::{FormatError, seal, unseal};
use ciphermill_wire::{Decoder, Encoder, WireError};
use std::ops::Range;

/// The largest object whose bytes are kept in its record: the record, its key and the bookkeeping of its page then fit a
/// page of 16 KiB of the table.
pub const INLINE_BYTES: u64 = 16_000;

/// The first bytes of every record.
pub(super) const RECORD_MAGIC: [u8; 8] = *b"CMOBJEC\x1a";
/// Version of the records that this build writes.
const RECORD_VERSION: u16 = 6;
/// Bytes before the extents.
const HEAD_BYTES: usize = 104;
/// Offset of the version.
const VERSION_AT: usize = 24;
/// Offset of the length of the owner's name.
const OWNER_AT: usize = 78;
const CHECKSUM_BYTES: usize = 4;
/// The object is the result of a program.
const COMPUTED: u16 = 1;
/// The object's bytes follow.
const CONTENT: u16 = 2;
/// The digest is known.
const DIGEST: u16 = 4;

/// The identity of a store.
pub(super) type StoreId = [u8; 16];

/// The record of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) flags: ObjectFlags,
    pub(crate) size: u64,
    pub(crate) generation: u64,
    /// Caller-defined tag; 0 means unset.
    pub(crate) origin: u64,
    /// Number of the change that made this record. Later changes have higher numbers, across all objects; the numbers
    /// come from the same counter as generations.
    pub(crate) change: u64,
    /// Whether a program made it.
    pub(crate) computed: bool,
    pub(crate) owner: Option<Owner>,
    /// None for an object that a store of format version 1 had, until it is written again.
    pub(crate) digest: Option<ContentDigest>,
    /// None if the table's record holds the object's bytes itself, which it may up to [`INLINE_BYTES`].
    pub(crate) extents: Vec<Extent>,
    /// CRC-32C of each chunk of [`CHUNK_BYTES`], the last one shorter.
    pub(crate) chunks: Vec<u32>,
}

/// A record, the object that it names, and where its bytes and the object's are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The store that wrote the record. No host knows it, so no object can contain a record that passes for one of the store.
    pub(super) store: StoreId,
    pub(super) key: ObjectKey,
    pub(super) record: Record,
    /// The object's bytes within the record, if the record holds them.
    pub(super) content: Option<Range<usize>>,
    /// Length of the record.
    pub(super) len: usize,
}

impl Record {
    /// The record's bytes. `content` is the object's if the record is to hold them, else empty.
    pub(crate) fn encode(&self, store: StoreId, key: ObjectKey, content: &[u8]) -> Vec<u8> {
        let owner = self.owner.as_ref().map_or(&[][..], Owner::as_bytes);
        let lists = 16 * self.extents.len() + 4 * self.chunks.len();
        let len = HEAD_BYTES + lists + owner.len() + content.len() + CHECKSUM_BYTES;
        let mark = |is: bool, mark: u16| u16::from(is) * mark;
        let marks =
            mark(self.computed, COMPUTED) | mark(!content.is_empty(), CONTENT) | mark(self.digest.is_some(), DIGEST);
        let mut out = Encoder::with_capacity(len);
        out.bytes(&RECORD_MAGIC).bytes(&store).u16(RECORD_VERSION).u16(marks).u32(self.flags.bits());
        out.u64(self.size).u64(self.generation).u64(self.origin).u64(self.change);
        out.bytes(&encode_key(key))
            .u16(owner.len() as u16)
            .u32(self.extents.len() as u32)
            .u32(self.chunks.len() as u32)
            .bytes(&self.digest.map_or([0; ContentDigest::BYTES], |digest| digest.0));
        for extent in &self.extents {
            out.u64(extent.start).u64(extent.blocks);
        }
        out.u32s(&self.chunks).bytes(owner).bytes(content);
        let mut bytes = out.into_vec();
        seal(&mut bytes, &[]);
        bytes
    }

    /// Whether the table's record holds the object's bytes itself.
    pub(crate) fn is_inline(&self) -> bool {
        self.extents.is_empty()
    }

    /// The object's bytes in the record `bytes`, which was decoded as an inline one.
    pub(crate) fn content(bytes: &[u8]) -> &[u8] {
        match bytes.starts_with(&RECORD_MAGIC) {
            // An inline record has one chunk and no extent.
            true => {
                let start = HEAD_BYTES + 4 + owner_bytes(bytes);
                bytes.get(start..bytes.len().saturating_sub(CHECKSUM_BYTES)).unwrap_or(&[])
            }
            false => earlier::content(bytes),
        }
    }

    /// Reads a record of the table of a store; `object` is its key there.
    pub(crate) fn decode(bytes: &[u8], store: StoreId, object: ObjectKey) -> Result<Self, FormatError> {
        let damaged = |what: &str| corrupt(format!("the table record of {object} {what}"));
        if !bytes.starts_with(&RECORD_MAGIC) {
            return earlier::decode(bytes, object);
        }
        if let Some(version) =
            bytes.get(VERSION_AT..VERSION_AT + 2).map(|version| u16::from_le_bytes([version[0], version[1]]))
            && version != RECORD_VERSION
            && unseal(bytes, &[]).is_some()
        {
            return Err(FormatError::Version { given: version, supported: RECORD_VERSION });
        }
        let found = Found::at(bytes).ok_or_else(|| damaged("does not match its checksum, or contradicts itself"))?;
        if found.len != bytes.len() {
            return Err(damaged("has another length than its counts"));
        }
        if found.store != store {
            return Err(damaged("belongs to another store"));
        }
        if found.key != object {
            return Err(damaged(&format!("is the record of {}", found.key)));
        }
        if found.record.is_inline() && found.content.is_none() {
            return Err(damaged("lacks the object's bytes"));
        }
        Ok(found.record)
    }

    /// Whether the counts and sizes agree.
    fn is_possible(&self) -> bool {
        let chunks = self.chunks.len() as u64 == self.size.div_ceil(CHUNK_BYTES);
        let blocks = self.extents.iter().try_fold(0u64, |sum, extent| sum.checked_add(extent.blocks));
        let placed = match self.is_inline() {
            true => self.size <= INLINE_BYTES,
            false => blocks == Some(self.size.div_ceil(BLOCK_BYTES)),
        };
        self.size > 0 && chunks && placed
    }
}

impl Found {
    /// The record that begins with `bytes`, which may go on behind it; `None` when there is none, or a damaged one.
    pub(super) fn at(bytes: &[u8]) -> Option<Self> {
        let len = record_bytes(bytes)?;
        let body = unseal(bytes.get(..len)?, &[])?;
        Self::decode(body, len).ok().flatten()
    }

    fn decode(body: &[u8], len: usize) -> Result<Option<Self>, WireError> {
        let mut fields = Decoder::new(body);
        fields.bytes(RECORD_MAGIC.len())?;
        let store = fields.array()?;
        let (version, marks, flags) = (fields.u16()?, fields.u16()?, fields.u32()?);
        let (size, generation, origin, change) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        let key: [u8; KEY_BYTES] = fields.array()?;
        let (owner, extents, chunks) = (fields.u16()?, fields.u32()?, fields.u32()?);
        let digest = ContentDigest(fields.array()?);
        let has_digest = marks & DIGEST != 0;
        let words = fields.u64s(2 * extents as usize)?;
        let extents = words.as_chunks().0.iter().map(|[start, blocks]| Extent { start: *start, blocks: *blocks });
        let extents = extents.collect();
        let chunks = fields.u32s(chunks as usize)?;
        let owner = match fields.bytes(owner.into())? {
            [] => None,
            name => match Owner::new(name) {
                Some(owner) => Some(owner),
                None => return Ok(None),
            },
        };
        let rest = fields.remaining();
        let Some(flags) = ObjectFlags::from_bits(flags) else { return Ok(None) };
        let computed = marks & COMPUTED != 0;
        let no_digest_is_zero = has_digest || digest == ContentDigest([0; ContentDigest::BYTES]);
        let digest = has_digest.then_some(digest);
        let record = Record { flags, size, generation, origin, change, computed, owner, digest, extents, chunks };
        let has_content = marks & CONTENT != 0;
        let content = has_content.then(|| body.len() - rest..body.len());
        let fits = match has_content {
            true => record.is_inline() && rest as u64 == size,
            false => rest == 0,
        };
        let known = version == RECORD_VERSION && marks & !(COMPUTED | CONTENT | DIGEST) == 0;
        let content_is_sound =
            || content.clone().is_none_or(|at| Some(&crc32c::crc32c(&body[at])) == record.chunks.first());
        let sound = known && no_digest_is_zero && fits && record.is_possible() && content_is_sound();
        Ok(sound.then(|| Self { store, key: decode_key(&key), record, content, len }))
    }

    /// All records in `bytes`, wherever they begin, with their offsets.
    pub(super) fn all(bytes: &[u8]) -> impl Iterator<Item = (usize, Self)> {
        positions(bytes, RECORD_MAGIC).filter_map(|at| Some((at, Self::at(&bytes[at..])?)))
    }
}

/// Where `magic` occurs in `bytes`.
pub(super) fn positions(bytes: &[u8], magic: [u8; 8]) -> impl Iterator<Item = usize> {
    // The last byte is rare in text and in zeros, so it decides quickly.
    let last = magic[7];
    let ends = bytes.iter().enumerate().skip(7).filter(move |(_, byte)| **byte == last);
    ends.map(|(end, _)| end - 7).filter(move |at| bytes[*at..].starts_with(&magic))
}

/// The length that the head of a record states.
fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..HEAD_BYTES)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
    let has_content = u16::from_le_bytes([head[26], head[27]]) & CONTENT != 0;
    let size = u64::from_le_bytes(*head[32..].first_chunk()?);
    let content = if has_content { usize::try_from(size.min(INLINE_BYTES + 1)).ok()? } else { 0 };
    let lists = word(80).checked_mul(16)?.checked_add(word(84).checked_mul(4)?)?;
    (HEAD_BYTES + owner_bytes(head) + content + CHECKSUM_BYTES).checked_add(lists)
}

/// The length of the owner's name that the head of a record states.
fn owner_bytes(bytes: &[u8]) -> usize {
    let field = bytes.get(OWNER_AT..).and_then(|bytes| bytes.first_chunk());
    field.map_or(0, |field| u16::from_le_bytes(*field).into())
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
