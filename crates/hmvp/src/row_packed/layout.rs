//! Where the entries of vector, matrix and product stand.

use std::ops::Range;

use crate::MAX_DIMENSION;
use ciphermill_bfv::error::{BfvError, require_range};

/// The layout of an m×n matrix for polynomials of N coefficients.
///
/// Columns are cut into *column tiles* of N; a column tile has room for `span` ≤ N columns, a power of two. A plaintext
/// holds r = N/span rows of one column tile, and a row tile has P plaintexts of each.
///
/// # Example
/// ```
/// use ciphermill_hmvp::layout::RowPackedLayout;
///
/// // 16 rows of 8 columns for N = 32, two baby steps.
/// let layout = RowPackedLayout::new(16, 8, 32, 2)?;
/// assert_eq!((layout.span, layout.rows_per_plaintext(), layout.step()), (8, 4, 8));
/// assert_eq!((layout.column_tiles(), layout.columns(0), layout.tile_count()), (1, 0..8, 1));
/// assert_eq!((layout.divisor(), layout.babies()), (4, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// N.
    pub polynomial_size: usize,
    /// m.
    pub rows: usize,
    /// n.
    pub cols: usize,
    /// Columns for which a column tile has room.
    pub span: usize,
    /// Baby steps that were asked for, a power of two.
    baby_steps: usize,
}

/// One row tile.
///
/// # Example
/// ```
/// use ciphermill_hmvp::layout::{RowPackedLayout, RowPackedTile};
///
/// let layout = RowPackedLayout::new(40, 8, 32, 2)?;
/// assert_eq!(layout.tiles().count(), 2);
/// assert_eq!(layout.tile(0), RowPackedTile { rows: 0..32, plaintexts: 8, giants: 4, scale: 1 });
/// assert_eq!(layout.tile(1), RowPackedTile { rows: 32..40, plaintexts: 2, giants: 1, scale: 4 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its rows, of those of the matrix.
    pub rows: Range<usize>,
    /// P, a power of two: plaintexts for each column tile, the last ones perhaps 0.
    pub plaintexts: usize,
    /// G = P/B, a power of two: automorphisms of sums.
    pub giants: usize,
    /// The factor of its entries. All row tiles share the vector, which was divided by the P of the first one.
    pub scale: usize,
}

impl Layout {
    /// The layout; more baby steps than a tile has plaintexts count as that many.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn new(rows: usize, cols: usize, polynomial_size: usize, baby_steps: usize) -> Result<Self, BfvError> {
        require_range("number of rows", rows as i128, 1, MAX_DIMENSION as i128)?;
        require_range("number of columns", cols as i128, 1, MAX_DIMENSION as i128)?;
        require_range("number of baby steps", baby_steps as i128, 1, polynomial_size as i128)?;
        if !baby_steps.is_power_of_two() {
            let what = format!("{baby_steps} baby steps; use a power of two");
            return Err(BfvError::Unsupported { what });
        }
        let span = cols.next_power_of_two().min(polynomial_size);
        Ok(Self { polynomial_size, rows, cols, span, baby_steps })
    }

    /// c = 2N/span: σ_g for g ≡ 1 modulo c leaves the places of a plaintext's products alone.
    pub fn step(&self) -> usize {
        2 * self.polynomial_size / self.span
    }

    /// r, the rows in a plaintext.
    pub fn rows_per_plaintext(&self) -> usize {
        self.polynomial_size / self.span
    }

    /// The number of column tiles, each of which is one ciphertext of a vector.
    pub fn column_tiles(&self) -> usize {
        self.cols.div_ceil(self.polynomial_size)
    }

    /// The columns of one column tile.
    pub fn columns(&self, column_tile: usize) -> Range<usize> {
        let start = column_tile * self.polynomial_size;
        start..(start + self.polynomial_size).min(self.cols)
    }

    /// The number of row tiles: of N rows each, as P ≤ span, but the last.
    pub fn tile_count(&self) -> usize {
        self.rows.div_ceil(self.polynomial_size)
    }

    /// Row tile `tile`.
    pub fn tile(&self, tile: usize) -> Tile {
        let start = tile * self.polynomial_size;
        let rows = start..(start + self.polynomial_size).min(self.rows);
        let plaintexts = self.plaintexts(rows.len());
        Tile { plaintexts, giants: plaintexts / self.babies(), scale: self.divisor() / plaintexts, rows }
    }

    /// All row tiles.
    pub fn tiles(&self) -> impl Iterator<Item = Tile> + '_ {
        (0..self.tile_count()).map(|tile| self.tile(tile))
    }

    /// P for `rows` rows: at least one plaintext for each baby step.
    fn plaintexts(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows_per_plaintext()).next_power_of_two().max(self.babies())
    }

    /// P of the first row tile, the greatest one: the divisor of a vector's ciphertexts.
    pub fn divisor(&self) -> usize {
        let rows = self.rows.min(self.polynomial_size);
        rows.div_ceil(self.rows_per_plaintext()).next_power_of_two()
    }

    /// B, a power of two: automorphisms of the vector.
    pub fn babies(&self) -> usize {
        self.baby_steps.min(self.divisor())
    }

    /// Exponents of the automorphisms of the vector, the identity first.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::RowPackedLayout;
    ///
    /// let layout = RowPackedLayout::new(16, 8, 32, 2)?;
    /// assert_eq!(layout.baby_elements().collect::<Vec<_>>(), [1, 9]);
    /// assert_eq!(layout.baby(1), 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn baby_elements(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.babies()).map(|i| self.baby(i))
    }

    /// Exponents of the automorphisms of sums, the identity first.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::RowPackedLayout;
    ///
    /// let layout = RowPackedLayout::new(16, 8, 32, 2)?;
    /// assert_eq!(layout.giant_elements().collect::<Vec<_>>(), [1, 17]);
    /// assert_eq!(layout.giant(1), 17);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn giant_elements(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tile(0).giants).map(|i| self.giant(i))
    }

    /// Baby step i.
    pub fn baby(&self, i: usize) -> usize {
        self.element(i)
    }

    /// Giant step i. Tiles with fewer plaintexts have the first of them.
    pub fn giant(&self, i: usize) -> usize {
        self.element(self.babies() * i)
    }

    /// 1 + c·i modulo 2N.
    fn element(&self, i: usize) -> usize {
        (1 + self.step() * i) % (2 * self.polynomial_size)
    }

    /// t such that the automorphism of baby step `baby` and giant step `giant` together undoes X ↦ X^(1 + c·t) on
    /// monomials whose exponents are multiples of span/P: t modulo P.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::RowPackedLayout;
    ///
    /// let layout = RowPackedLayout::new(16, 8, 32, 2)?;
    /// let tile = layout.tile(0);
    /// let frequencies = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(baby, giant)| layout.frequency(&tile, baby, giant));
    /// assert_eq!(frequencies, [0, 3, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frequency(&self, tile: &Tile, baby: usize, giant: usize) -> usize {
        let turn = 2 * self.polynomial_size;
        let g = self.baby(baby) * self.giant(giant) % turn;
        // The inverse of an odd number modulo a power of two by Newton's iteration, each step of which doubles the number
        // of right bits, three at first.
        let inverse = (0..5).fold(g, |x, _| x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)))) % turn;
        (inverse - 1) / self.step() % tile.plaintexts
    }

    /// The coefficient of a product's ciphertext that holds the entry of row `row` of the tile.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hmvp::layout::RowPackedLayout;
    ///
    /// let layout = RowPackedLayout::new(16, 8, 32, 2)?;
    /// let tile = layout.tile(0);
    /// assert_eq!([0, 1, 4, 5].map(|row| layout.place(&tile, row)), [0, 8, 2, 10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place(&self, tile: &Tile, row: usize) -> usize {
        let (plaintext, within) = (row / self.rows_per_plaintext(), row % self.rows_per_plaintext());
        plaintext * (self.span / tile.plaintexts) + within * self.span
    }
}
