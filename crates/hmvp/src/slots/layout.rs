//! Where the entries of matrix and vector stand in slots.
//!
//! The N slots are two rows of N/2; a rotation by k takes slot c + k of each row to slot c. The vector is cut into
//! *column tiles* of `width` entries, a power of two up to N/2, each of which is repeated in all N/`width` *segments* of
//! the slots. With D *diagonals*, D a power of two up to `width`, slot c of segment b belongs to row b·D + (c mod D) and
//! its diagonals k < D are the columns (c + k) mod `width`:
//!
//! ```text
//! Σ_k diagonal_k ∘ rotation_k(v)     has at slot c of segment b   Σ_(k<D) A[b·D + c mod D][(c + k) mod width]·v[…]
//! ```
//!
//! The slots c, c + D, c + 2D, … of a segment together cover the columns of a row once, so that `width`/D of them must
//! be added up. Rotations by D·w bring them to the slots c < D of the segment, which then hold entries. The other slots
//! hold sums that reach into the next segment. D = `width` is the method of diagonals with nothing to add up, D = 1
//! that of rotate and sum.

use std::ops::Range;

use crate::RowReader;
use ciphermill_bfv::ciphertext::Plaintext;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::error::{BfvError, require_length};

/// The layout of a product of m×n.
///
/// # Example
/// ```
/// use ciphermill_hmvp::layout::SlotLayout;
///
/// // Four rows of four columns in 16 slots, two diagonals.
/// let layout = SlotLayout::new(16, 4, 4, 2);
/// assert_eq!((layout.width, layout.column_tiles(), layout.rows_per_ciphertext()), (4, 1, 8));
/// assert_eq!((layout.summands(), layout.row_tiles(3)), (2, vec![0..3, 3..4]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// N.
    pub slots: usize,
    /// m.
    pub rows: usize,
    /// n.
    pub cols: usize,
    /// Columns of a column tile.
    pub width: usize,
    /// D.
    pub diagonals: usize,
}

impl Layout {
    /// The layout with `diagonals` = D, cut to the width of a column tile.
    pub fn new(slots: usize, rows: usize, cols: usize, diagonals: usize) -> Self {
        let width = cols.next_power_of_two().min(slots / 2);
        Self { slots, rows, cols, width, diagonals: diagonals.min(width) }
    }

    /// T, the number of column tiles.
    pub fn column_tiles(&self) -> usize {
        self.cols.div_ceil(self.width)
    }

    /// R, the rows that one ciphertext has room for.
    pub fn rows_per_ciphertext(&self) -> usize {
        self.slots / self.width * self.diagonals
    }

    /// The slots that are added up for an entry, `width`/D.
    pub fn summands(&self) -> usize {
        self.width / self.diagonals
    }

    /// Consecutive ranges of `size` rows, the last one shorter.
    pub fn row_tiles(&self, size: usize) -> Vec<Range<usize>> {
        (0..self.rows).step_by(size).map(|start| start..(start + size).min(self.rows)).collect()
    }

    /// The slots of column tile `tile` of a vector of `cols` entries.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::SlotLayout;
    ///
    /// let layout = SlotLayout::new(16, 4, 4, 2);
    /// // Each of the four segments has all entries.
    /// assert_eq!(layout.vector_slots(0, &[1, 2, 3, 4]), [1, 2, 3, 4].repeat(4));
    /// ```
    pub fn vector_slots(&self, tile: usize, values: &[i64]) -> Vec<i64> {
        let entry = |slot: usize| values.get(tile * self.width + slot % self.width).copied().unwrap_or(0);
        (0..self.slots).map(entry).collect()
    }

    /// The plaintexts of a vector, one for each column tile.
    ///
    /// # Errors
    /// If it has not `cols` entries, or one is out of the range of t.
    pub(crate) fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError> {
        require_length("number of entries of the vector", values.len(), self.cols)?;
        let encoder = BatchEncoder::new(context)?;
        (0..self.column_tiles()).map(|tile| encoder.encode(&self.vector_slots(tile, values))).collect()
    }

    /// The slots of diagonal `giant` + `baby` for column tile `tile` and the R rows from `start` on, at the places of
    /// [`diagonal_entry`](Self::diagonal_entry).
    pub(crate) fn diagonal_slots(
        &self,
        rows: &TileRows,
        start: usize,
        tile: usize,
        giant: usize,
        baby: usize,
    ) -> Vec<i64> {
        let first = tile * self.width;
        let entry = |slot: usize| {
            let (row, col) = self.diagonal_entry(slot, giant, baby);
            rows.entry(start + row, first + col)
        };
        (0..self.slots).map(entry).collect()
    }

    /// The entry of the matrix in slot `slot` of diagonal `giant` + `baby`: (row of the ciphertext, column of the
    /// column tile). The diagonal is rotated by `giant` to the right. A rotation by `giant` of its product with the
    /// vector, which has been rotated by `baby`, then moves the product to its slot. Entries of rows and columns beyond
    /// the matrix are 0.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::SlotLayout;
    ///
    /// let layout = SlotLayout::new(16, 4, 4, 2);
    /// assert_eq!([0, 1, 4].map(|slot| layout.diagonal_entry(slot, 0, 0)), [(0, 0), (1, 1), (2, 0)]);
    /// assert_eq!(layout.diagonal_entry(1, 0, 1), (1, 2), "the next diagonal");
    /// ```
    #[inline]
    pub fn diagonal_entry(&self, slot: usize, giant: usize, baby: usize) -> (usize, usize) {
        // All sizes are powers of two: shifts and masks instead of divisions.
        let (half, segment) = (self.slots / 2, self.width.trailing_zeros());
        let (in_width, in_row) = (self.width - 1, self.diagonals - 1);
        let place = slot & (half - 1);
        let home = (slot - place) + (place.wrapping_sub(giant) & (half - 1));
        ((home >> segment) * self.diagonals + (home & in_row), (place + baby) & in_width)
    }

    /// Where the entries of `rows` rows (at most R) stand: (slot, row).
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::SlotLayout;
    ///
    /// let layout = SlotLayout::new(16, 4, 4, 2);
    /// assert_eq!(layout.places(3), [(0, 0), (1, 1), (4, 2)]);
    /// ```
    pub fn places(&self, rows: usize) -> Vec<(usize, usize)> {
        let place = |row: usize| (row / self.diagonals * self.width + row % self.diagonals, row);
        (0..rows).map(place).collect()
    }
}

/// The rows of a tile, read once. Entries outside the matrix are 0.
pub(crate) struct TileRows {
    cols: usize,
    entries: Vec<i64>,
}

impl TileRows {
    /// Reads the rows `rows` of a matrix of `cols` columns.
    pub(crate) fn read(rows: Range<usize>, cols: usize, read: &RowReader<'_>) -> Self {
        let mut entries = vec![0; rows.len() * cols];
        for (row, out) in rows.zip(entries.chunks_exact_mut(cols)) {
            read(row, out);
        }
        Self { cols, entries }
    }

    fn entry(&self, row: usize, col: usize) -> i64 {
        let at = if col < self.cols { row * self.cols + col } else { usize::MAX };
        self.entries.get(at).copied().unwrap_or(0)
    }
}

/// The rotations of one step of adding up slots: by `stride`, 2·`stride`, … below `count`·`stride`.
///
/// # Example
/// ```
/// use ciphermill_hmvp::layout::SumStep;
///
/// let step = SumStep { stride: 2, count: 4 };
/// assert_eq!(step.rotations().collect::<Vec<_>>(), [2, 4, 6]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumStep {
    /// Distance of the summands.
    pub stride: usize,
    /// Summands: 2 or 4.
    pub count: usize,
}

impl SumStep {
    /// The steps that add up `summands` slots (a power of two) at distance `stride`, up to `radix` (2 or 4) at a time.
    pub(crate) fn all(stride: usize, summands: usize, radix: usize) -> Vec<Self> {
        let mut steps = Vec::new();
        let mut done = 1;
        while done < summands {
            let count = radix.min(summands / done);
            steps.push(Self { stride: stride * done, count });
            done *= count;
        }
        steps
    }

    /// The rotations of the step.
    pub fn rotations(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { stride, count } = *self;
        (1..count).map(move |i| i * stride)
    }

    /// How many they are.
    pub(crate) fn rotation_count(&self) -> u64 {
        self.count as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Slots without encryption.
    fn rotate(slots: &[i64], steps: usize) -> Vec<i64> {
        let half = slots.len() / 2;
        (0..slots.len()).map(|i| slots[i / half * half + (i % half + steps) % half]).collect()
    }

    fn add(lhs: &mut [i64], rhs: &[i64]) {
        lhs.iter_mut().zip(rhs).for_each(|(l, r)| *l += r);
    }

    /// The product as it is computed on ciphertexts, with `babies` baby steps and sums of `radix`.
    fn simulate(layout: &Layout, babies: usize, radix: usize, matrix: &[Vec<i64>], vector: &[i64]) -> Vec<i64> {
        let mut out = Vec::new();
        for rows in layout.row_tiles(layout.rows_per_ciphertext()) {
            let tile = TileRows::read(rows.clone(), layout.cols, &|row, out: &mut [i64]| {
                out.copy_from_slice(&matrix[row]);
            });
            let mut acc = vec![0; layout.slots];
            for giant in (0..layout.diagonals).step_by(babies) {
                let mut inner = vec![0; layout.slots];
                for column_tile in 0..layout.column_tiles() {
                    let vector = layout.vector_slots(column_tile, vector);
                    for baby in 0..babies {
                        let rotated = rotate(&vector, baby);
                        let diagonal = layout.diagonal_slots(&tile, 0, column_tile, giant, baby);
                        let product: Vec<i64> = rotated.iter().zip(&diagonal).map(|(a, b)| a * b).collect();
                        add(&mut inner, &product);
                    }
                }
                add(&mut acc, &rotate(&inner, giant));
            }
            for step in SumStep::all(layout.diagonals, layout.summands(), radix) {
                let before = acc.clone();
                step.rotations().for_each(|k| add(&mut acc, &rotate(&before, k)));
            }
            let places = layout.places(rows.len());
            assert_eq!(places.iter().map(|&(_, row)| row).collect::<Vec<_>>(), (0..rows.len()).collect::<Vec<_>>());
            out.extend(places.iter().map(|&(slot, _)| acc[slot]));
        }
        out
    }

    fn check(layout: &Layout, babies: usize, radix: usize) {
        let entry = |i: usize, j: usize| ((i * 7919 + j * 104_729 + 13) % 255) as i64 - 127;
        let matrix: Vec<Vec<i64>> = (0..layout.rows).map(|i| (0..layout.cols).map(|j| entry(i, j)).collect()).collect();
        let vector: Vec<i64> = (0..layout.cols).map(|j| entry(j, 3)).collect();
        let expected: Vec<i64> = matrix.iter().map(|row| row.iter().zip(&vector).map(|(a, v)| a * v).sum()).collect();
        assert_eq!(simulate(layout, babies, radix, &matrix, &vector), expected, "{layout:?} {babies} {radix}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn every_layout_gives_the_product(
            log_slots in 2u32..8,
            rows in 1usize..150,
            cols in 1usize..150,
            log_diagonals in 0u32..8,
            log_babies in 0u32..8,
            wide in any::<bool>(),
        ) {
            let layout = Layout::new(1 << log_slots, rows, cols, 1 << log_diagonals);
            let babies = layout.diagonals.min(1 << log_babies);
            check(&layout, babies, if wide { 4 } else { 2 });
        }
    }

    #[test]
    fn entries_have_places_of_their_own() {
        for diagonals in [1, 2, 8, 16] {
            let layout = Layout::new(64, 64, 16, diagonals);
            let mut slots: Vec<usize> =
                layout.places(layout.rows_per_ciphertext()).into_iter().map(|(slot, _)| slot).collect();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), layout.rows_per_ciphertext());
            assert!(slots.iter().all(|&slot| slot < 64));
        }
    }
}
