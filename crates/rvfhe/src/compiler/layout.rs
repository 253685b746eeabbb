//! Data layouts: each bit of an index is a bit of the row, core or lane number.
//!
//! A polynomial of N values is stored in vectors of one word per lane. Each core holds 2^r of them, its rows. Of the
//! log2 N bits of an index, r select the row, some the core, the others the lane. Butterflies pair rows of one core, so
//! a level needs its bit among the row bits; a [`Reshuffle`](super::plan::Reshuffle) brings it there.

/// A bit of an index into a polynomial; 0 is the least significant.
pub(crate) type IndexBit = u8;

/// One bit of a row number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSlot {
    /// The bit of the index.
    pub bit: IndexBit,
    /// The exchanged slot of the core number, if any. The row at position p then has the value p XOR that bit of the
    /// core number. As a result, all cores process the same positions in the same order, and at any time send to
    /// different cores.
    pub twin: Option<u8>,
}

/// The assignment of index bits. Slot j of each part has the weight 2^j.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: Vec<RowSlot>,
    pub cores: Vec<IndexBit>,
    pub lanes: Vec<IndexBit>,
}

impl Layout {
    /// The natural layout: consecutive values in consecutive lanes, consecutive vectors in consecutive cores.
    pub(crate) fn natural(log_rows: u32, log_cores: u32, log_lanes: u32) -> Self {
        let mut bits = 0..;
        let mut take = |count: u32| bits.by_ref().take(count as usize).collect::<Vec<IndexBit>>();
        let (lanes, cores) = (take(log_lanes), take(log_cores));
        let rows = take(log_rows).into_iter().map(|bit| RowSlot { bit, twin: None }).collect();
        Self { rows, cores, lanes }
    }

    /// The number of rows per core.
    pub(crate) fn row_count(&self) -> u32 {
        1 << self.rows.len()
    }

    /// The row slot of an index bit.
    pub(crate) fn row_slot(&self, bit: IndexBit) -> Option<usize> {
        self.rows.iter().position(|slot| slot.bit == bit)
    }

    /// The row number at a position of a core, with the twin bits resolved.
    pub(crate) fn row_value(&self, core: u32, position: u32) -> u32 {
        self.rows.iter().enumerate().fold(position, |value, (slot, row)| match row.twin {
            Some(twin) => value ^ ((core >> twin & 1) << slot),
            None => value,
        })
    }

    /// The position of a row in the scratchpad. Its bits are in the order of the index bits, so that rows of
    /// coefficients are in natural order.
    pub(crate) fn stored_row(&self, row: u32) -> u32 {
        let rank = |bit: IndexBit| self.rows.iter().filter(|slot| slot.bit < bit).count();
        self.rows.iter().enumerate().fold(0, |stored, (slot, of)| stored | (row >> slot & 1) << rank(of.bit))
    }

    /// The layout of rows in the scratchpad.
    pub(crate) fn stored(&self) -> Self {
        let mut rows: Vec<RowSlot> = self.rows.iter().map(|slot| RowSlot { bit: slot.bit, twin: None }).collect();
        rows.sort_by_key(|slot| slot.bit);
        Self { rows, ..self.clone() }
    }

    /// The index of the value in a lane of the row at a position of a core.
    pub(crate) fn index(&self, core: u32, position: u32, lane: u32) -> u32 {
        let row = self.row_value(core, position);
        let rows = self.rows.iter().enumerate().map(|(slot, row_slot)| (row >> slot & 1) << row_slot.bit);
        let cores = self.cores.iter().enumerate().map(|(slot, bit)| (core >> slot & 1) << bit);
        let lanes = self.lanes.iter().enumerate().map(|(slot, bit)| (lane >> slot & 1) << bit);
        rows.chain(cores).chain(lanes).fold(0, |index, bit| index | bit)
    }
}

/// The memory that holds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A polynomial of the scratchpad.
    Scratchpad(usize),
    /// A region of the data memories, by its number in the graph.
    Region(usize),
}
