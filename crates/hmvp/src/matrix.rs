//! The stored form of a matrix.

use std::sync::Arc;

use super::Plan;
use super::entries::PackedEntries;
use crate::error::HmvpError;
use crate::source::MatrixSource;

/// A matrix of a plan: its entries, checked and in as few bytes as they need. It is the form that is stored; an engine
/// [prepares](crate::HmvpEngine::prepare_matrix) it.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::SecurityPolicy;
/// use ciphermill_hmvp::{DenseMatrix, MatrixSource, PlainMatrix, Plan, Request};
/// use ciphermill_math::Isa;
///
/// let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current())?);
/// let matrix = PlainMatrix::new(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// let read = PlainMatrix::from_bytes(&matrix.to_bytes(), SecurityPolicy::Require128Bits, Isa::current())?;
/// let mut row = [0; 3];
/// read.read_row(1, &mut row);
/// assert_eq!(row, [4, 5, 6]);
/// assert!(PlainMatrix::new(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 128])?).is_err(), "128 needs 9 bits");
/// # Ok::<(), ciphermill_hmvp::HmvpError>(())
/// ```
pub struct PlainMatrix {
    plan: Arc<Plan>,
    pub(super) entries: PackedEntries,
}

impl std::fmt::Debug for PlainMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let request = self.plan.request();
        f.debug_struct("PlainMatrix").field("rows", &request.rows).field("cols", &request.cols).finish_non_exhaustive()
    }
}

impl PlainMatrix {
    /// Reads all entries of `source`.
    ///
    /// # Errors
    /// If the dimensions differ from the plan's, or an entry is out of the plan's range.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(PlainMatrix::new(&plan, &dense).is_ok());
    /// let transposed = DenseMatrix::new(3, 2, vec![1, 4, 2, 5, 3, 6])?;
    /// assert!(PlainMatrix::new(&plan, &transposed).is_err(), "the plan is for two rows and three columns");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(plan: &Arc<Plan>, source: &dyn MatrixSource) -> Result<Self, HmvpError> {
        plan.require_matrix(source)?;
        let entries = PackedEntries::read(source, 0..source.rows(), plan.request().matrix_bits)?;
        Ok(Self::from_entries(plan.clone(), entries))
    }

    /// The matrix of entries that fit `plan`.
    pub(super) fn from_entries(plan: Arc<Plan>, entries: PackedEntries) -> Self {
        Self { plan, entries }
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Bytes of the entries in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.entries.as_bytes().len() as u64
    }
}

impl MatrixSource for PlainMatrix {
    fn rows(&self) -> usize {
        self.plan.request().rows
    }

    fn cols(&self) -> usize {
        self.plan.request().cols
    }

    fn read_row(&self, row: usize, out: &mut [i64]) {
        self.entries.read_row(row, out);
    }
}
