//! Where the values of a polynomial are: each bit of an index is a bit of a row, of a core or of a lane.
//!
//! A polynomial of N values lies in vectors of one word a lane; 2^r of them, its rows, are in each core. Of the log2 N bits of an
//! index, r say the row, some the core, the others the lane. Butterflies pair rows of one core, so a level needs its bit among the
//! rows; a [`Reshuffle`](super::plan::Reshuffle) brings it there.

/// A bit of an index into a polynomial; 0 is the least significant.
pub(crate) type IndexBit = u8;

/// One bit of a row's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSlot {
    /// Which bit of the index it is.
    pub bit: IndexBit,
    /// The slot of the core's number that it is exchanged with, if it is: the row at position p then has p XOR that bit of the core's
    /// number as its value. So all cores do the same with the same positions, and at one time send to different cores.
    pub twin: Option<u8>,
}

/// Which bit of an index is where. Slot j of each part has the weight 2^j.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: Vec<RowSlot>,
    pub cores: Vec<IndexBit>,
    pub lanes: Vec<IndexBit>,
}

impl Layout {
    /// The natural one: consecutive values in consecutive lanes, consecutive vectors in consecutive cores.
    pub(crate) fn natural(log_rows: u32, log_cores: u32, log_lanes: u32) -> Self {
        let mut bits = 0..;
        let mut take = |count: u32| bits.by_ref().take(count as usize).collect::<Vec<IndexBit>>();
        let (lanes, cores) = (take(log_lanes), take(log_cores));
        let rows = take(log_rows).into_iter().map(|bit| RowSlot { bit, twin: None }).collect();
        Self { rows, cores, lanes }
    }

    /// How many rows a core has.
    pub(crate) fn row_count(&self) -> u32 {
        1 << self.rows.len()
    }

    /// The row's slot that has a bit of the index.
    pub(crate) fn row_slot(&self, bit: IndexBit) -> Option<usize> {
        self.rows.iter().position(|slot| slot.bit == bit)
    }

    /// What a position of a core stands for: the row's number with the twins' bits taken out.
    pub(crate) fn row_value(&self, core: u32, position: u32) -> u32 {
        self.rows.iter().enumerate().fold(position, |value, (slot, row)| match row.twin {
            Some(twin) => value ^ ((core >> twin & 1) << slot),
            None => value,
        })
    }

    /// Where a row stands in the scratchpad: its bits in the order of the index's, so that rows of coefficients are in natural order.
    pub(crate) fn stored_row(&self, row: u32) -> u32 {
        let rank = |bit: IndexBit| self.rows.iter().filter(|slot| slot.bit < bit).count();
        self.rows.iter().enumerate().fold(0, |stored, (slot, of)| stored | (row >> slot & 1) << rank(of.bit))
    }

    /// The layout of rows as they stand in the scratchpad.
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

/// Where rows come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A polynomial of the scratchpad.
    Scratchpad(usize),
    /// A region of the data memories, by its number in the graph.
    Region(usize),
}
