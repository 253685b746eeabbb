//! The written blocks of a declared object and their checksum, tracked without examining each block on every write.
//!
//! A chunk of 256 blocks is looked at again only after a write touched it, so taking a stream of n blocks costs O(n) in
//! all, in whatever pieces and order it comes.

use crate::volume::{BLOCK_BYTES, Volume};
use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{Arc, OnceLock},
};

/// Blocks of a chunk.
const CHUNK: u64 = 256;

/// Blocks of a command that are not in the volume (yet).
#[derive(Clone, Debug)]
pub(super) struct Extra {
    pub(super) lba: u64,
    pub(super) data: Arc<Vec<u8>>,
}

impl Extra {
    pub(super) fn range(&self) -> Range<u64> {
        self.lba..self.lba + (self.data.len() / BLOCK_BYTES) as u64
    }

    /// The bytes of a block, if it is one of these.
    pub(super) fn block(&self, lba: u64) -> Option<&[u8]> {
        let offset = usize::try_from(lba.checked_sub(self.lba)?).ok()?.checked_mul(BLOCK_BYTES)?;
        self.data.get(offset..offset + BLOCK_BYTES)
    }
}

#[derive(Clone, Copy, Debug)]
enum Chunk {
    /// Number of unmapped blocks.
    Missing(u16),
    /// All are mapped; the CRC-32C of them, the object's last block left out.
    Full(u32),
}

/// The known state of the blocks of a declared object.
#[derive(Debug)]
pub(super) struct Coverage {
    first: u64,
    blocks: u64,
    chunks: Vec<Chunk>,
    /// Chunks that were written to since they were looked at.
    dirty: BTreeSet<u64>,
    /// Blocks missing in all other chunks.
    missing: u64,
}

impl Coverage {
    /// Of `blocks` blocks (at least one) from `first`; nothing of them is known.
    pub(super) fn new(volume: &Volume, space: u32, first: u64, blocks: u64) -> Self {
        let count = blocks.div_ceil(CHUNK);
        let mut coverage = Self { first, blocks, chunks: Vec::new(), dirty: BTreeSet::new(), missing: 0 };
        coverage.chunks = (0..count).map(|index| Chunk::Missing(coverage.length(index) as u16)).collect();
        coverage.missing = blocks;
        if volume.mapped(space, first, blocks) > 0 {
            coverage.touch(&(first..first + blocks));
        }
        coverage
    }

    fn range(&self, index: u64) -> Range<u64> {
        let start = self.first + index * CHUNK;
        start..(start + CHUNK).min(self.first + self.blocks)
    }

    fn length(&self, index: u64) -> u64 {
        let range = self.range(index);
        range.end - range.start
    }

    /// Blocks in this range may have changed.
    pub(super) fn touch(&mut self, range: &Range<u64>) {
        let (start, end) = (range.start.max(self.first), range.end.min(self.first + self.blocks));
        if start >= end {
            return;
        }
        for index in (start - self.first) / CHUNK..=(end - 1 - self.first) / CHUNK {
            if self.dirty.insert(index)
                && let Some(Chunk::Missing(count)) = self.chunks.get(index as usize)
            {
                self.missing -= u64::from(*count);
            }
        }
    }

    /// Whether `more` further blocks could complete the object, as far as is known. Costs nothing.
    pub(super) fn may_be_complete(&self, more: u64) -> bool {
        self.missing <= more
    }

    /// Whether the volume and `extra` together have all blocks. Correct only while no write to them is in progress.
    pub(super) fn is_complete(&mut self, volume: &Volume, space: u32, extra: Option<&Extra>) -> bool {
        let more = extra.map_or(0, |extra| {
            let range = extra.range();
            let blocks = range.end - range.start;
            blocks - volume.mapped(space, range.start, blocks)
        });
        while self.may_be_complete(more)
            && let Some(index) = self.dirty.pop_first()
        {
            let range = self.range(index);
            let sums = volume.checksums(space, range.start, range.end - range.start);
            let chunk = self.judged(&range, &sums);
            if let Chunk::Missing(count) = chunk {
                self.missing += u64::from(count);
            }
            if let Some(place) = self.chunks.get_mut(index as usize) {
                *place = chunk;
            }
        }
        self.dirty.is_empty() && self.missing == more
    }

    fn judged(&self, range: &Range<u64>, sums: &[Option<u32>]) -> Chunk {
        let present = sums.iter().flatten().count() as u64;
        let length = range.end - range.start;
        if present < length {
            return Chunk::Missing((length - present) as u16);
        }
        let last = self.first + self.blocks - 1;
        let sums = sums.iter().zip(range.start..).filter(|&(_, lba)| lba != last).filter_map(|(sum, _)| *sum);
        Chunk::Full(sums.fold(0, |all, sum| blocks_shift().apply(all) ^ sum))
    }

    /// CRC-32C of the first `size` bytes of a complete object, `last` being its last block. `None` when something is
    /// missing after all.
    pub(super) fn checksum(
        &self,
        volume: &Volume,
        space: u32,
        extra: Option<&Extra>,
        size: u64,
        last: &[u8],
    ) -> Option<u32> {
        let last_block = self.first + self.blocks - 1;
        let mut all = 0;
        for (index, chunk) in (0..).zip(&self.chunks) {
            let range = self.range(index);
            let touched = extra.filter(|extra| extra.range().start < range.end && range.start < extra.range().end);
            let sum = match (chunk, touched) {
                (Chunk::Full(sum), None) => *sum,
                (_, extra) => {
                    let mut sums = volume.checksums(space, range.start, range.end - range.start);
                    for (sum, lba) in sums.iter_mut().zip(range.clone()) {
                        if let Some(block) = extra.and_then(|extra| extra.block(lba)) {
                            *sum = Some(crc32c::crc32c(block));
                        }
                    }
                    match self.judged(&range, &sums) {
                        Chunk::Full(sum) => sum,
                        Chunk::Missing(_) => return None,
                    }
                }
            };
            let blocks = (range.end - range.start) - u64::from(range.contains(&last_block));
            all = match blocks {
                CHUNK => chunks_shift().apply(all) ^ sum,
                _ => crc32c::crc32c_combine(all, sum, blocks as usize * BLOCK_BYTES),
            };
        }
        let tail = usize::try_from(size - (self.blocks - 1) * BLOCK_BYTES as u64).ok()?;
        let last = last.get(..tail)?;
        Some(crc32c::crc32c_combine(all, crc32c::crc32c(last), tail))
    }
}

/// The effect of appending a fixed number of bytes on the CRC-32C of the bytes before them: a linear map over GF(2), as a
/// table for each byte. crc(a ‖ b) = shift(crc(a)) + crc(b).
struct Shift([[u32; 256]; 4]);

impl Shift {
    fn by(bytes: usize) -> Self {
        let columns: [u32; 32] = std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, bytes));
        let mut tables = [[0; 256]; 4];
        for (byte, table) in tables.iter_mut().enumerate() {
            for (value, entry) in table.iter_mut().enumerate() {
                *entry = (0..8).filter(|bit| value >> bit & 1 == 1).fold(0, |sum, bit| sum ^ columns[8 * byte + bit]);
            }
        }
        Self(tables)
    }

    fn apply(&self, crc: u32) -> u32 {
        crc.to_le_bytes().iter().zip(&self.0).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    }
}

fn blocks_shift() -> &'static Shift {
    static SHIFT: OnceLock<Shift> = OnceLock::new();
    SHIFT.get_or_init(|| Shift::by(BLOCK_BYTES))
}

fn chunks_shift() -> &'static Shift {
    static SHIFT: OnceLock<Shift> = OnceLock::new();
    SHIFT.get_or_init(|| Shift::by(CHUNK as usize * BLOCK_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{Change, Operation, VolumeConfig, VolumeFiles};

    fn pattern(blocks: u64, seed: u8) -> Vec<u8> {
        (0..blocks as usize * BLOCK_BYTES).map(|index| (index * 31 / 7 % 251) as u8 ^ seed).collect()
    }

    #[test]
    fn whatever_the_order_the_checksum_is_that_of_the_bytes() {
        let volume = Volume::open(VolumeFiles::in_memory(), VolumeConfig::default()).expect("a volume");
        for (blocks, tail) in [(1, 1), (1, 4096), (2, 5), (256, 4096), (257, 9), (600, 4000), (513, 1)] {
            let (first, data) = (1000 * blocks + tail, pattern(blocks, blocks as u8));
            let size = (blocks - 1) * 4096 + tail;
            let expected = crc32c::crc32c(&data[..size as usize]);
            let mut coverage = Coverage::new(&volume, 1, first, blocks);
            let missing = blocks / 2;
            for lba in (0..blocks).rev().filter(|&lba| lba != missing) {
                assert!(!coverage.is_complete(&volume, 1, None));
                let at = lba as usize * 4096;
                let operations = vec![Operation::Write { lba: first + lba, data: data[at..at + 4096].to_vec() }];
                volume.commit(Change { space: 1, operations }).expect("durable");
                coverage.touch(&(first + lba..first + lba + 1));
            }
            assert!(!coverage.is_complete(&volume, 1, None));
            let at = missing as usize * 4096;
            let extra = Extra { lba: first + missing, data: Arc::new(data[at..at + 4096].to_vec()) };
            assert!(coverage.is_complete(&volume, 1, Some(&extra)));
            let last = &data[data.len() - 4096..];
            assert_eq!(coverage.checksum(&volume, 1, Some(&extra), size, last), Some(expected), "{blocks} {tail}");
            assert_eq!(coverage.checksum(&volume, 1, None, size, last), None);
            let operations = vec![Operation::Write { lba: first + missing, data: data[at..at + 4096].to_vec() }];
            volume.commit(Change { space: 1, operations }).expect("durable");
            coverage.touch(&extra.range());
            assert!(coverage.is_complete(&volume, 1, None));
            assert_eq!(coverage.checksum(&volume, 1, None, size, last), Some(expected));
            let mut again = Coverage::new(&volume, 1, first, blocks);
            assert!(again.is_complete(&volume, 1, None));
        }
    }
}
