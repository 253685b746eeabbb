//! Replay of the changes in the registered segments, and the distinction between torn writes and damage.

use super::{
    BLOCK_BYTES, VolumeError,
    checkpoint::RELIEF_BLOCKS,
    format::{self, Entry, RecordName, corrupt},
    map::{Effects, Map},
    rows::State,
    segment::Segment,
};
use ciphermill_storage::Storage;

/// Blocks that the search for the newest record reads at once.
const SEARCH_BLOCKS: u32 = 256;

/// The finding where a record is expected.
enum Found {
    /// A record, or one whose header only is as it was written: its entries, the blocks of its header, of its data.
    Record { entries: Vec<Entry>, header: u32, data: u32, sound: bool },
    /// No record, or one of which not even the header can be used.
    Nothing,
}

/// Repeats the changes since the last checkpoint; returns the number of the next record.
///
/// A record is written only after the record before it is durable. So only the last one may be torn, and then it was never
/// acknowledged; any other record that differs from its written form is damaged. If only content is damaged, the change is
/// applied, and readers of that content get an error.
///
/// # Errors
/// [`VolumeError::Corrupt`] when the header of a record is damaged and others follow it; [`VolumeError::Storage`].
pub(super) fn replay(
    blocks: &dyn Storage,
    state: State,
    segments: &[Segment],
    map: &mut Map,
    effects: &mut Effects,
) -> Result<u64, VolumeError> {
    let newest = newest(blocks, state, segments)?;
    let mut sequence = state.sequence;
    for segment in segments {
        let mut cursor = 0;
        loop {
            let name = RecordName { volume_id: state.volume_id, generation: segment.generation, sequence };
            let Found::Record { entries, header, data, sound } = read_record(blocks, segment, cursor, name)? else {
                break;
            };
            if !sound {
                if newest <= Some(sequence) {
                    break;
                }
                tracing::error!(sequence, "content of a durable record of the volume is damaged");
            }
            let mut physical = segment.physical(cursor + header, data);
            entries.iter().for_each(|entry| map.apply(entry, &mut physical, effects));
            cursor += header + data;
            sequence += 1;
        }
    }
    effects.lost.clear();
    match newest {
        Some(newest) if newest > sequence => Err(corrupt(format!(
            "record {sequence} of the block file cannot be read, but record {newest} follows it: acknowledged changes \
             would be lost"
        ))
        .into()),
        _ => Ok(sequence),
    }
}

/// The highest number of a record in the segments, according to the first blocks of the headers.
fn newest(blocks: &dyn Storage, state: State, segments: &[Segment]) -> Result<Option<u64>, VolumeError> {
    let mut newest = None;
    for segment in segments {
        let mut position = 0;
        while position < segment.blocks() {
            for piece in segment.pieces(position, SEARCH_BLOCKS.min(segment.blocks() - position)) {
                position += piece.blocks;
                let offset = u64::from(piece.start) * BLOCK_BYTES as u64;
                let in_file = blocks.len()?.saturating_sub(offset) / BLOCK_BYTES as u64;
                if in_file == 0 {
                    continue;
                }
                let mut bytes = vec![0; in_file.min(piece.blocks.into()) as usize * BLOCK_BYTES];
                blocks.read_at(offset, &mut bytes)?;
                let named = |block| format::record_sequence(block, state.volume_id, segment.generation);
                newest = newest.max(bytes.chunks(BLOCK_BYTES).filter_map(named).max());
            }
        }
    }
    Ok(newest)
}

/// The finding at a position.
fn read_record(blocks: &dyn Storage, segment: &Segment, cursor: u32, name: RecordName) -> Result<Found, VolumeError> {
    let left = segment.blocks() - cursor;
    let Some(first) = read_positions(blocks, segment, cursor, left.min(1))? else { return Ok(Found::Nothing) };
    let Some(sizes) = format::decode_record_sizes(&first, name) else { return Ok(Found::Nothing) };
    let (header, data) = (sizes.header_blocks, sizes.data_blocks);
    if header > RELIEF_BLOCKS || header.saturating_add(data) > left {
        return Ok(Found::Nothing);
    }
    let Some(bytes) = read_positions(blocks, segment, cursor, header)? else { return Ok(Found::Nothing) };
    let Some(entries) = format::decode_record(&bytes, name) else { return Ok(Found::Nothing) };
    let (mut at, mut sound) = (cursor + header, true);
    for entry in &entries {
        let Entry::Write { checksums, .. } = entry else { continue };
        let Some(content) = read_positions(blocks, segment, at, checksums.len() as u32)? else {
            return Ok(Found::Nothing);
        };
        let mut pairs = content.chunks(BLOCK_BYTES).zip(checksums);
        sound = sound && pairs.all(|(block, checksum)| crc32c::crc32c(block) == *checksum);
        at += checksums.len() as u32;
    }
    Ok(Found::Record { entries, header, data, sound })
}

/// The blocks at positions of a segment; `None` when there are none, or when the file ends before them.
fn read_positions(
    blocks: &dyn Storage,
    segment: &Segment,
    position: u32,
    count: u32,
) -> Result<Option<Vec<u8>>, VolumeError> {
    let len = blocks.len()?;
    let mut bytes = vec![0; count as usize * BLOCK_BYTES];
    let mut rest = bytes.as_mut_slice();
    for piece in segment.pieces(position, count) {
        let offset = u64::from(piece.start) * BLOCK_BYTES as u64;
        let (now, later) = rest.split_at_mut(piece.blocks as usize * BLOCK_BYTES);
        if offset + now.len() as u64 > len {
            return Ok(None);
        }
        blocks.read_at(offset, now)?;
        rest = later;
    }
    Ok((count > 0).then_some(bytes))
}
