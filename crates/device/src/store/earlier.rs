//! Records of stores of format version 1. They do not name their object, and are replaced when such a store is opened.

use super::{
    ObjectFlags, ObjectKey,
    format::{BLOCK_BYTES, CHUNK_BYTES, Extent, corrupt},
    record::{INLINE_BYTES, Record},
};
use ciphermill_storage::{FormatError, unseal};
use ciphermill_wire::Decoder;

const HEAD_BYTES: usize = 32;
/// A record that names extents.
const EXTENTS: u16 = 1;
/// A record that contains the object's bytes.
const INLINE: u16 = 2;
/// Such a record with a caller-defined origin; one with extents and an origin has version 3.
const INLINE_ORIGIN: u16 = 4;
const ORIGIN_BYTES: usize = 8;

/// The object's bytes in an inline record.
pub(super) fn content(bytes: &[u8]) -> &[u8] {
    let head = match bytes.first_chunk().map(|version| u16::from_le_bytes(*version)) {
        Some(INLINE_ORIGIN) => HEAD_BYTES + ORIGIN_BYTES,
        _ => HEAD_BYTES,
    };
    bytes.len().checked_sub(4).and_then(|end| bytes.get(head..end)).unwrap_or(&[])
}

/// Reads a record; `object` is for messages. Its change has the number of its generation.
pub(super) fn decode(bytes: &[u8], object: ObjectKey) -> Result<Record, FormatError> {
    let damaged = |what: &str| corrupt(format!("the table record of {object} {what}"));
    let cut = |_| damaged("is too short");
    if bytes.len() < HEAD_BYTES + 4 {
        return Err(damaged("is too short"));
    }
    let mut fields = Decoder::new(unseal(bytes, &[]).ok_or_else(|| damaged("does not match its checksum"))?);
    let version = fields.u16().map_err(cut)?;
    if !(EXTENTS..=INLINE_ORIGIN).contains(&version) {
        return Err(FormatError::Version { given: version, supported: INLINE_ORIGIN });
    }
    let computed = match fields.u16().map_err(cut)? {
        0 => false,
        1 => true,
        _ => return Err(damaged("holds unknown marks")),
    };
    let flags = ObjectFlags::from_bits(fields.u32().map_err(cut)?).ok_or_else(|| damaged("holds unknown flags"))?;
    let (size, generation) = (fields.u64().map_err(cut)?, fields.u64().map_err(cut)?);
    let change = generation;
    let origin = match version {
        EXTENTS | INLINE => 0,
        _ => fields.u64().map_err(cut)?,
    };
    let (first, second) = (fields.u32().map_err(cut)?, fields.u32().map_err(cut)?);
    let rest = fields.remaining();
    if matches!(version, INLINE | INLINE_ORIGIN) {
        if !(1..=INLINE_BYTES).contains(&size) || rest as u64 != size {
            return Err(damaged("has another length than its size field"));
        }
        if crc32c::crc32c(fields.bytes(rest).map_err(cut)?) != first {
            return Err(damaged("holds bytes that do not match their checksum"));
        }
        return Ok(Record {
            flags,
            size,
            generation,
            origin,
            change,
            computed,
            owner: None,
            digest: None,
            extents: Vec::new(),
            chunks: vec![first],
        });
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
    Ok(Record { flags, size, generation, origin, change, computed, owner: None, digest: None, extents, chunks })
}

#[cfg(test)]
#[path = "earlier_tests.rs"]
mod tests;
