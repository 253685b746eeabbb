//! The owner of a matrix.

use std::sync::Arc;

use ciphermill_hmvp::HmvpEngine;
use pyo3::prelude::*;

use super::classes::{Columns, EncryptedProduct, EncryptedVector, MatVecPlan, MatVecServer, PreparedMatrix};
use crate::arrays::{Integers, Rows};
use crate::errors::Failure;
use crate::run::run;

/// Estimated microseconds of preparing a matrix, per entry.
const PREPARE_US: f64 = 0.006;

impl MatVecServer {
    fn matrix(&self, matrix: &Bound<'_, PyAny>) -> Result<Integers, Failure> {
        let matrix = Integers::new(matrix, "the matrix")?;
        let request = self.keys.plan().request();
        if matrix.shape() != [request.rows, request.cols] {
            let (rows, cols) = (request.rows, request.cols);
            let message = format!("a matrix of shape {:?} does not fit the plan; use ({rows}, {cols})", matrix.shape());
            return Err(Failure::parameter(message));
        }
        Ok(matrix)
    }
}

#[pymethods]
impl MatVecServer {
    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.keys.plan().clone() }
    }

    /// The key set of the client.
    #[getter]
    fn tag(&self) -> String {
        self.keys.tag().to_string()
    }

    /// The most memory that `prepare` takes, in bytes.
    #[getter]
    fn matrix_nbytes(&self) -> u64 {
        self.engine.matrix_bytes(self.keys.plan())
    }

    /// Prepares a matrix for any number of products.
    #[pyo3(signature = (matrix, *, memory=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        matrix: &Bound<'_, PyAny>,
        memory: Option<u64>,
    ) -> Result<PreparedMatrix, Failure> {
        let matrix = self.matrix(matrix)?;
        let (keys, mut engine) = (self.keys.clone(), self.engine.clone());
        if let Some(bytes) = memory {
            engine = engine.with_max_matrix_bytes(bytes);
        }
        let handle = run(py, PREPARE_US * matrix.len() as f64, {
            let keys = keys.clone();
            move |cancel| Ok(engine.prepare_matrix(keys.plan(), &Rows::new(&matrix, cancel))?)
        })?;
        Ok(PreparedMatrix { keys, handle })
    }

    /// The product of a matrix that is not prepared, row tile by row tile, so that only one tile is in memory.
    fn multiply(
        &self,
        py: Python<'_>,
        matrix: &Bound<'_, PyAny>,
        vector: &EncryptedVector,
    ) -> Result<EncryptedProduct, Failure> {
        let matrix = self.matrix(matrix)?;
        let (keys, columns) = (self.keys.clone(), vector.columns.clone());
        let items = run(py, PREPARE_US * (matrix.len() * columns.items.len()) as f64, move |cancel| {
            let one = |vector: &Arc<_>| Ok(Arc::new(keys.multiply_streamed(&Rows::new(&matrix, cancel), vector)?));
            columns.items.iter().map(one).collect::<Result<Vec<_>, Failure>>()
        })?;
        Ok(product(&vector.columns, items))
    }

    fn __repr__(&self) -> String {
        format!("<MatVecServer for key set {}>", self.keys.tag())
    }
}

#[pymethods]
impl PreparedMatrix {
    /// NumPy leaves operators to this class.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    const ARRAY_UFUNC: Option<bool> = None;

    #[getter]
    fn shape(&self) -> (usize, usize) {
        let request = self.keys.plan().request();
        (request.rows, request.cols)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.keys.plan().clone() }
    }

    /// Bytes that the matrix occupies.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.handle.memory_bytes()
    }

    fn __matmul__(&self, py: Python<'_>, vector: &EncryptedVector) -> Result<EncryptedProduct, Failure> {
        let (keys, handle, columns) = (self.keys.clone(), self.handle.clone(), vector.columns.clone());
        let estimate = keys.plan().estimated_us() * columns.items.len() as f64;
        let items = run(py, estimate, move |_| {
            let vectors: Vec<_> = columns.items.iter().map(|vector| &**vector).collect();
            Ok(keys.multiply_all(&handle, &vectors)?.into_iter().map(Arc::new).collect())
        })?;
        Ok(product(&vector.columns, items))
    }

    fn __repr__(&self) -> String {
        let (rows, cols) = self.shape();
        format!("<PreparedMatrix of shape ({rows}, {cols})>")
    }
}

/// One product for each of the vectors.
fn product(
    vectors: &Columns<ciphermill_hmvp::EncryptedVector>,
    items: Vec<Arc<ciphermill_hmvp::EncryptedProduct>>,
) -> EncryptedProduct {
    EncryptedProduct { columns: Columns { plan: vectors.plan.clone(), items, is_matrix: vectors.is_matrix } }
}
