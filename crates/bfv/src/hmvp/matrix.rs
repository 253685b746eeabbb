//! The server's matrix.

use std::sync::Arc;

use super::{Plan, Prepared};
use crate::error::BfvError;

/// A matrix whose rows are read on demand, so that one larger than memory can be multiplied tile by tile.
pub trait MatrixSource: Sync {
    /// m.
    fn rows(&self) -> usize;
    /// n.
    fn cols(&self) -> usize;
    /// Row `row` (below m) to `out` (n entries).
    fn read_row(&self, row: usize, out: &mut [i64]);
}

/// A matrix in memory, row after row.
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
    pub fn new(rows: usize, cols: usize, entries: Vec<i64>) -> Result<Self, BfvError> {
        let _ = (rows, cols, entries);
        todo!()
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

/// A matrix in the form in which a plan multiplies it, made once and used many times, together with its entries in as
/// few bytes as they need, which are what is saved.
pub struct PlainMatrix {
    pub(crate) plan: Arc<Plan>,
    /// By part, then row tile.
    pub(crate) parts: Vec<Vec<Arc<dyn Prepared>>>,
    // The entries, packed: see `serial`.
}

impl PlainMatrix {
    /// Prepares `source` for `plan`.
    ///
    /// # Errors
    /// If it has other dimensions than the plan, an entry is out of the plan's range, or there is no room for it.
    pub fn prepare(plan: &Arc<Plan>, source: &dyn MatrixSource) -> Result<Self, BfvError> {
        let _ = (plan, source);
        todo!()
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}
