//! Who computes.

use std::fmt;
use std::sync::Arc;

use super::{EncryptedProduct, EncryptedVector, MatrixSource, PlainMatrix, Plan, Prepared};
use crate::error::BfvError;
use crate::keys::GaloisKeys;

/// The Galois keys of one client in the form in which a plan uses them.
pub struct EvaluationKeys {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tag: ciphermill_lattice::KeyTag,
    pub(crate) keys: Arc<dyn Prepared>,
}

impl EvaluationKeys {
    /// Prepares `keys` for `plan`.
    ///
    /// # Errors
    /// If they are of other parameters, or some are missing (all of them are listed).
    pub fn prepare(plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Self, BfvError> {
        let _ = (plan, keys);
        todo!()
    }

    /// Their plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// Computes products: the kernel seam for matrix-vector accelerators.
pub trait MatVecEngine: Send + Sync + fmt::Debug {
    /// Its name, for reports.
    fn name(&self) -> &'static str;

    /// The product of one matrix with each of `vectors`, in one pass over the matrix.
    ///
    /// # Errors
    /// If the arguments are of different plans or keys; nothing partial is returned.
    fn multiply(
        &self,
        keys: &EvaluationKeys,
        matrix: &PlainMatrix,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, BfvError>;

    /// The same for a matrix that is not prepared and need not fit into memory: tile by tile.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply), and as [`PlainMatrix::prepare`].
    fn multiply_streamed(
        &self,
        keys: &EvaluationKeys,
        matrix: &dyn MatrixSource,
        vectors: &[&EncryptedVector],
    ) -> Result<Vec<EncryptedProduct>, BfvError>;
}

/// The CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuEngine {
    _private: (),
}
