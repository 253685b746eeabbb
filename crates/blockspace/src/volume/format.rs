//! The bytes of the block file: the superblock and the records. `docs/blockspace-volume.md` draws them. All integers are
//! little-endian.

use super::{BLOCK_BYTES, MAX_BLOCKS, MAX_LABEL_BYTES, map::STRIPE_BLOCKS};
use ciphermill_storage::{FormatError, SuperblockFormat};
use ciphermill_wire::Decoder;

/// Version of the volume format that this build reads and writes.
pub(super) const VOLUME_VERSION: u16 = 1;

/// The superblock of the block file. Its identity, the volume id, is never shown to a host, so that no host can write a
/// block that passes for a record.
pub(super) const SUPERBLOCK: SuperblockFormat = SuperblockFormat {
    file: "the block file",
    magic: *b"CMVOLUM\x1a",
    version: VOLUME_VERSION,
    block_bytes: BLOCK_BYTES as u32,
    unit: STRIPE_BLOCKS as u32,
    units: "stripes",
    padding: 0,
};

const RECORD_MAGIC: [u8; 8] = *b"CMVOREC\x1a";
/// Bytes of a record header before its entries.
pub(super) const RECORD_HEAD_BYTES: usize = 64;

/// One step of a change, as a record holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Blocks with content: the next ones of the record, in order, with these checksums.
    Write {
        space: u32,
        lba: u64,
        checksums: Vec<u32>,
    },
    Zero {
        space: u32,
        lba: u64,
        blocks: u64,
    },
    Unmap {
        space: u32,
        lba: u64,
        blocks: u64,
    },
    SetLabel {
        space: u32,
        lba: u64,
        label: Vec<u8>,
    },
    ClearLabel {
        space: u32,
        lba: u64,
    },
    /// All blocks and labels of the space.
    Drop {
        space: u32,
    },
}

impl Entry {
    /// Bytes of the entry in a record header.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Write { checksums, .. } => 17 + 4 * checksums.len(),
            Self::Zero { .. } | Self::Unmap { .. } => 21,
            Self::SetLabel { label, .. } => 15 + label.len(),
            Self::ClearLabel { .. } => 13,
            Self::Drop { .. } => 5,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut head = |kind: u8, space: &u32| {
            out.push(kind);
            out.extend_from_slice(&space.to_le_bytes());
        };
        match self {
            Self::Write { space, lba, checksums } => {
                head(1, space);
                out.extend_from_slice(&lba.to_le_bytes());
                out.extend_from_slice(&(checksums.len() as u32).to_le_bytes());
                checksums.iter().for_each(|checksum| out.extend_from_slice(&checksum.to_le_bytes()));
            }
            Self::Zero { space, lba, blocks } => {
                head(2, space);
                out.extend_from_slice(&lba.to_le_bytes());
                out.extend_from_slice(&blocks.to_le_bytes());
            }
            Self::Unmap { space, lba, blocks } => {
                head(3, space);
                out.extend_from_slice(&lba.to_le_bytes());
                out.extend_from_slice(&blocks.to_le_bytes());
            }
            Self::SetLabel { space, lba, label } => {
                head(4, space);
                out.extend_from_slice(&lba.to_le_bytes());
                out.extend_from_slice(&(label.len() as u16).to_le_bytes());
                out.extend_from_slice(label);
            }
            Self::ClearLabel { space, lba } => {
                head(5, space);
                out.extend_from_slice(&lba.to_le_bytes());
            }
            Self::Drop { space } => head(6, space),
        }
    }

    fn decode(fields: &mut Decoder<'_>) -> Option<Self> {
        let (kind, space) = (fields.u8().ok()?, fields.u32().ok()?);
        if kind == 6 {
            return Some(Self::Drop { space });
        }
        let lba = fields.u64().ok()?;
        let range = |blocks: u64| (blocks > 0 && lba.checked_add(blocks)? <= MAX_BLOCKS).then_some(blocks);
        Some(match kind {
            1 => {
                let count = range(fields.u32().ok()?.into())?;
                Self::Write { space, lba, checksums: fields.u32s(count as usize).ok()? }
            }
            2 => Self::Zero { space, lba, blocks: range(fields.u64().ok()?)? },
            3 => Self::Unmap { space, lba, blocks: range(fields.u64().ok()?)? },
            4 => {
                let len = usize::from(fields.u16().ok()?);
                range(1)?;
                if len > MAX_LABEL_BYTES {
                    return None;
                }
                Self::SetLabel { space, lba, label: fields.bytes(len).ok()?.to_vec() }
            }
            5 => {
                range(1)?;
                Self::ClearLabel { space, lba }
            }
            _ => return None,
        })
    }
}

/// What names a record: it counts only where all of these are as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordName {
    pub(super) volume_id: [u8; 16],
    pub(super) generation: u64,
    pub(super) sequence: u64,
}

/// The sizes in a record header's first block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordSizes {
    pub(super) header_blocks: u32,
    pub(super) data_blocks: u32,
}

/// Blocks of a record header with `entry_bytes` bytes of entries.
pub(super) fn header_blocks(entry_bytes: usize) -> u32 {
    (RECORD_HEAD_BYTES + entry_bytes).div_ceil(BLOCK_BYTES) as u32
}

/// Appends a record header, filled up to whole blocks.
pub(super) fn encode_record<'a>(
    out: &mut Vec<u8>,
    name: RecordName,
    data_blocks: u32,
    entries: impl Iterator<Item = &'a Entry>,
) {
    let begin = out.len();
    out.extend_from_slice(&RECORD_MAGIC);
    out.extend_from_slice(&name.volume_id);
    out.extend_from_slice(&name.generation.to_le_bytes());
    out.extend_from_slice(&name.sequence.to_le_bytes());
    out.resize(begin + RECORD_HEAD_BYTES, 0);
    let mut count = 0u32;
    for entry in entries {
        entry.encode(out);
        count += 1;
    }
    let entry_bytes = out.len() - begin - RECORD_HEAD_BYTES;
    let sizes = [header_blocks(entry_bytes), data_blocks, count, entry_bytes as u32];
    for (index, size) in sizes.into_iter().enumerate() {
        out[begin + 40 + 4 * index..][..4].copy_from_slice(&size.to_le_bytes());
    }
    let crc = crc32c::crc32c(&out[begin..]);
    out[begin + 56..begin + 60].copy_from_slice(&crc.to_le_bytes());
    out.resize(begin + sizes[0] as usize * BLOCK_BYTES, 0);
}

/// The sizes of the record that begins with this block, or `None` when that is not the one expected here.
pub(super) fn decode_record_sizes(block: &[u8], name: RecordName) -> Option<RecordSizes> {
    let mut fields = Decoder::new(block.get(..RECORD_HEAD_BYTES)?);
    let found = (fields.array().ok()?, fields.array().ok()?, fields.u64().ok()?, fields.u64().ok()?);
    if found != (RECORD_MAGIC, name.volume_id, name.generation, name.sequence) {
        return None;
    }
    Some(RecordSizes { header_blocks: fields.u32().ok()?, data_blocks: fields.u32().ok()? })
}

/// The sequence number of the record that begins with this block, if one of the segment does.
pub(super) fn record_sequence(block: &[u8], volume_id: [u8; 16], generation: u64) -> Option<u64> {
    let mut fields = Decoder::new(block.first_chunk::<RECORD_HEAD_BYTES>()?);
    let found = (fields.array().ok()?, fields.array().ok()?, fields.u64().ok()?);
    if found == (RECORD_MAGIC, volume_id, generation) { fields.u64().ok() } else { None }
}

/// The entries of a whole record header, or `None` when anything in it is not as it was written.
pub(super) fn decode_record(header: &[u8], name: RecordName) -> Option<Vec<Entry>> {
    let sizes = decode_record_sizes(header, name)?;
    let mut fields = Decoder::new(&header[48..RECORD_HEAD_BYTES]);
    let (count, entry_bytes, crc) = (fields.u32().ok()?, fields.u32().ok()? as usize, fields.u32().ok()?);
    let mut head = *header.first_chunk::<RECORD_HEAD_BYTES>()?;
    head[56..60].fill(0);
    let body = header[RECORD_HEAD_BYTES..].get(..entry_bytes)?;
    if crc32c::crc32c_append(crc32c::crc32c(&head), body) != crc
        || header.len() != sizes.header_blocks as usize * BLOCK_BYTES
        || sizes.header_blocks != header_blocks(entry_bytes)
    {
        return None;
    }
    let mut fields = Decoder::new(body);
    let mut entries = Vec::new();
    let mut data_blocks = 0;
    for _ in 0..count {
        let entry = Entry::decode(&mut fields)?;
        if let Entry::Write { checksums, .. } = &entry {
            data_blocks += checksums.len() as u64;
        }
        entries.push(entry);
    }
    (fields.remaining() == 0 && data_blocks == u64::from(sizes.data_blocks)).then_some(entries)
}

pub(super) fn check_version(given: u16) -> Result<(), FormatError> {
    FormatError::check_version(given, VOLUME_VERSION)
}

pub(super) fn corrupt(what: impl Into<String>) -> FormatError {
    FormatError::corrupt(what)
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
