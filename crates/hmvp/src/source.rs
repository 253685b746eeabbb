//! Matrices as their rows.

use super::MAX_DIMENSION;
use crate::error::HmvpError;
use ciphermill_bfv::error::{require_length, require_range};

/// A matrix whose rows are read on demand, so that one larger than memory can be multiplied tile by tile.
///
/// # Example
/// ```
/// use ciphermill_hmvp::MatrixSource;
///
/// /// The identity, scaled.
/// struct Scaling(i64, usize);
///
/// impl MatrixSource for Scaling {
///     fn rows(&self) -> usize {
///         self.1
///     }
///
///     fn cols(&self) -> usize {
///         self.1
///     }
///
///     fn read_row(&self, row: usize, out: &mut [i64]) {
///         out.fill(0);
///         out[row] = self.0;
///     }
/// }
///
/// let mut row = [1; 3];
/// Scaling(7, 3).read_row(1, &mut row);
/// assert_eq!(row, [0, 7, 0]);
/// ```
pub trait MatrixSource: Sync {
    /// m.
    fn rows(&self) -> usize;
    /// n.
    fn cols(&self) -> usize;
    /// Row `row` (below m) to `out` (n entries).
    fn read_row(&self, row: usize, out: &mut [i64]);
}

/// A matrix in memory, row after row.
///
/// # Example
/// ```
/// use ciphermill_hmvp::DenseMatrix;
///
/// let matrix = DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!(matrix.row(1), [4, 5, 6]);
/// assert!(DenseMatrix::new(2, 3, vec![1, 2, 3]).is_err(), "six entries are needed");
/// # Ok::<(), ciphermill_hmvp::HmvpError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenseMatrix {
    rows: usize,
    cols: usize,
    entries: Vec<i64>,
}

impl DenseMatrix {
    /// From m·n entries, row after row.
    ///
    /// # Errors
    /// If there are not rows·cols of them, or a dimension is out of range.
    pub fn new(rows: usize, cols: usize, entries: Vec<i64>) -> Result<Self, HmvpError> {
        require_range("number of rows", rows as u64, 1, MAX_DIMENSION as u64)?;
        require_range("number of columns", cols as u64, 1, MAX_DIMENSION as u64)?;
        require_length("number of entries of the matrix", entries.len(), rows * cols)?;
        Ok(Self { rows, cols, entries })
    }

    /// Row `row`.
    pub fn row(&self, row: usize) -> &[i64] {
        &self.entries[row * self.cols..][..self.cols]
    }
}

impl MatrixSource for DenseMatrix {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn read_row(&self, row: usize, out: &mut [i64]) {
        out.copy_from_slice(self.row(row));
    }
}
