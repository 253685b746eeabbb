//! The server's matrix.

use std::sync::Arc;

use super::entries::PackedEntries;
use super::plan::Terms;
use super::{MAX_DIMENSION, Plan, Prepared};
use crate::error::HmvpError;
use ciphermill_bfv::error::{BfvError, require_length, require_range};

/// Memory that a prepared matrix may take unless the caller says otherwise.
pub const MAX_PREPARED_BYTES: u64 = 8 << 30;

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

/// A matrix in the form in which a plan multiplies it, made once and used many times, together with its entries in as
/// few bytes as they need, which are what is saved.
pub struct PlainMatrix {
    plan: Arc<Plan>,
    pub(super) entries: PackedEntries,
    /// By row tile, then part.
    pub(super) tiles: Vec<Vec<Arc<dyn Prepared>>>,
}

impl std::fmt::Debug for PlainMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let request = self.plan.request();
        f.debug_struct("PlainMatrix").field("rows", &request.rows).field("cols", &request.cols).finish_non_exhaustive()
    }
}

impl PlainMatrix {
    /// Prepares `source` for `plan`, within [`MAX_PREPARED_BYTES`].
    ///
    /// # Errors
    /// If it has other dimensions than the plan, an entry is out of the plan's range, or it would take too much memory.
    pub fn prepare(plan: &Arc<Plan>, source: &dyn MatrixSource) -> Result<Self, HmvpError> {
        Self::prepare_within(plan, source, MAX_PREPARED_BYTES)
    }

    /// Prepares `source` for `plan` if the result takes at most `max_bytes` of memory, which is checked before any is
    /// allocated; a larger matrix can be multiplied by
    /// [`multiply_streamed`](super::MatVecEngine::multiply_streamed).
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_within(plan: &Arc<Plan>, source: &dyn MatrixSource, max_bytes: u64) -> Result<Self, HmvpError> {
        require_source(plan, source)?;
        require_room(plan.terms(), max_bytes)?;
        let entries = PackedEntries::read(source, 0..source.rows(), plan.request().matrix_bits)?;
        Self::from_entries(plan, entries)
    }

    /// Prepares entries that fit `plan`.
    pub(super) fn from_entries(plan: &Arc<Plan>, entries: PackedEntries) -> Result<Self, HmvpError> {
        let count = plan.algorithm().tiles().len();
        let tiles = (0..count).map(|tile| prepare_tile(plan, tile, &entries)).collect::<Result<_, _>>()?;
        Ok(Self { plan: plan.clone(), entries, tiles })
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Bytes of memory that it takes, but for tables: the prepared form and the entries.
    pub fn memory_bytes(&self) -> u64 {
        needed_bytes(self.plan.terms())
    }
}

/// Bytes of a prepared matrix with its entries.
fn needed_bytes(terms: &Terms) -> u64 {
    let request = terms.request();
    let prepared = terms.algorithm().costs().matrix_bytes * terms.choice().matrix_parts.len() as u64;
    prepared + PackedEntries::bytes(request.rows, request.cols, request.matrix_bits)
}

/// An error unless a prepared matrix takes at most `max_bytes`.
pub(super) fn require_room(terms: &Terms, max_bytes: u64) -> Result<(), HmvpError> {
    let needed = needed_bytes(terms);
    if needed <= max_bytes {
        Ok(())
    } else {
        Err(BfvError::Memory { what: "a prepared matrix", needed, limit: max_bytes }.into())
    }
}

/// An error unless the dimensions are the plan's.
pub(super) fn require_source(plan: &Plan, source: &dyn MatrixSource) -> Result<(), BfvError> {
    require_length("number of rows of the matrix", source.rows(), plan.request().rows)?;
    require_length("number of columns of the matrix", source.cols(), plan.request().cols)
}

/// One row tile in the form in which it multiplies, part by part.
pub(super) fn prepare_tile(
    plan: &Plan,
    tile: usize,
    entries: &PackedEntries,
) -> Result<Vec<Arc<dyn Prepared>>, BfvError> {
    let bits = &plan.choice().matrix_parts;
    let parts = (0..bits.len()).map(|part| {
        let read = |row: usize, out: &mut [i64]| entries.read_part(row, bits, part, out);
        plan.algorithm().prepare(plan.context(), tile, &read)
    });
    parts.collect()
}
