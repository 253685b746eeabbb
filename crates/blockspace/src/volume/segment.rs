//! Segments: lists of extents to which records are appended.

/// A run of blocks of the block file.
pub(super) type Extent = ciphermill_storage::Extent<u32>;

/// A list of extents that is filled from its first block to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// No other segment of the volume ever had it.
    pub(super) generation: u64,
    /// Ascending, so that positions ascend with physical blocks.
    extents: Vec<Extent>,
    /// The position behind each extent.
    ends: Vec<u32>,
}

impl Segment {
    /// A segment of these extents, or `None` when they overlap, are empty or hold block 0.
    pub(super) fn new(generation: u64, mut extents: Vec<Extent>) -> Option<Self> {
        extents.sort_unstable();
        let (mut free_from, mut position) = (1u32, 0u32);
        let mut ends = Vec::with_capacity(extents.len());
        for extent in &extents {
            if extent.start < free_from || extent.blocks == 0 {
                return None;
            }
            free_from = extent.start.checked_add(extent.blocks)?;
            position = position.checked_add(extent.blocks)?;
            ends.push(position);
        }
        Some(Self { generation, extents, ends })
    }

    pub(super) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    pub(super) fn blocks(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The runs of physical blocks behind the positions from `position` on; what passes the end is left out.
    pub(super) fn pieces(&self, position: u32, blocks: u32) -> impl Iterator<Item = Extent> {
        let first = self.ends.partition_point(|end| *end <= position);
        let (mut position, mut left) = (position, blocks);
        self.extents.iter().zip(&self.ends).skip(first).map_while(move |(extent, end)| {
            if left == 0 {
                return None;
            }
            let within = extent.blocks - (end - position);
            let count = (end - position).min(left);
            position += count;
            left -= count;
            Some(Extent { start: extent.start + within, blocks: count })
        })
    }

    /// The physical blocks behind the positions from `position` on.
    pub(super) fn physical(&self, position: u32, blocks: u32) -> impl Iterator<Item = u32> {
        self.pieces(position, blocks).flat_map(|piece| piece.start..piece.start + piece.blocks)
    }

    /// The position of a physical block, if it is in the segment.
    pub(super) fn position(&self, physical: u32) -> Option<u32> {
        let index = self.extents.partition_point(|extent| extent.start <= physical).checked_sub(1)?;
        let (extent, end) = (self.extents.get(index)?, self.ends.get(index)?);
        let within = physical - extent.start;
        (within < extent.blocks).then(|| end - extent.blocks + within)
    }
}

/// The segment that is being filled.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Segment,
    /// First position not yet written.
    pub(super) cursor: u32,
    /// A bit for each position: whether the map points at it.
    live: Vec<u64>,
}

impl Active {
    pub(super) fn new(segment: Segment) -> Self {
        let live = vec![0; segment.blocks().div_ceil(64) as usize];
        Self { segment, cursor: 0, live }
    }

    /// Blocks not yet written.
    pub(super) fn room(&self) -> u32 {
        self.segment.blocks() - self.cursor
    }

    /// Takes `blocks` positions from the front; the last `data` of them are pointed at.
    pub(super) fn fill(&mut self, blocks: u32, data: u32) {
        self.cursor += blocks;
        for position in self.cursor - data..self.cursor {
            self.live[position as usize / 64] |= 1 << (position % 64);
        }
    }

    /// Notes that nothing points at the block any more; false when it is not in this segment.
    pub(super) fn lose(&mut self, physical: u32) -> bool {
        let position = self.segment.position(physical);
        if let Some(position) = position {
            self.live[position as usize / 64] &= !(1 << (position % 64));
        }
        position.is_some()
    }

    /// Blocks that nothing points at.
    pub(super) fn dead(&self) -> u32 {
        self.segment.blocks() - self.live.iter().map(|word| word.count_ones()).sum::<u32>()
    }

    /// The physical blocks that nothing points at, ascending.
    pub(super) fn dead_blocks(&self) -> impl Iterator<Item = u32> {
        let all = self.segment.physical(0, self.segment.blocks()).enumerate();
        all.filter(|(position, _)| self.live[position / 64] >> (position % 64) & 1 == 0).map(|(_, physical)| physical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Segment {
        let extents = [(20, 3), (5, 2), (9, 1)].map(|(start, blocks)| Extent { start, blocks });
        Segment::new(7, extents.to_vec()).expect("sound")
    }

    #[test]
    fn positions_and_blocks_belong_together() {
        let segment = segment();
        let physical: Vec<u32> = segment.physical(0, 100).collect();
        assert_eq!(physical, [5, 6, 9, 20, 21, 22]);
        for (position, block) in physical.iter().enumerate() {
            assert_eq!(segment.position(*block), Some(position as u32));
            assert_eq!(segment.physical(position as u32, 1).collect::<Vec<_>>(), [*block]);
        }
        for block in [0, 4, 7, 8, 10, 19, 23, u32::MAX] {
            assert_eq!(segment.position(block), None, "{block}");
        }
        let pieces: Vec<_> = segment.pieces(1, 3).map(|piece| (piece.start, piece.blocks)).collect();
        assert_eq!(pieces, [(6, 1), (9, 1), (20, 1)]);
    }

    #[test]
    fn extents_that_cannot_be_are_refused() {
        for extents in [vec![(0, 1)], vec![(5, 0)], vec![(5, 2), (6, 1)], vec![(u32::MAX, 1)]] {
            let extents = extents.into_iter().map(|(start, blocks)| Extent { start, blocks }).collect();
            assert_eq!(Segment::new(1, extents), None);
        }
    }

    #[test]
    fn an_active_segment_knows_what_is_pointed_at() {
        let mut active = Active::new(segment());
        active.fill(4, 3);
        assert_eq!((active.room(), active.dead()), (2, 3));
        assert!(active.lose(9) && !active.lose(8));
        assert_eq!(active.dead_blocks().collect::<Vec<_>>(), [5, 9, 21, 22]);
    }
}
