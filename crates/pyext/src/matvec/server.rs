//! The owner of a matrix.

use std::sync::Arc;

use ciphermill_hmvp::{CpuEngine, HmvpEngine, MatrixHandle, Plan};
use pyo3::prelude::*;

use super::classes::{EncryptedProduct, EncryptedVector, MatVecPlan, MatVecServer, PreparedMatrix};
use super::columns::Columns;
use crate::arrays::{self, Integers, Rows};
use crate::errors::{Class, Failure};
use crate::run::run;

/// Estimated microseconds of preparing a matrix, per entry.
const PREPARE_US: f64 = 0.006;

/// A matrix of the shape of a plan.
fn checked(plan: &Plan, matrix: &Bound<'_, PyAny>) -> Result<Integers, Failure> {
    let matrix = Integers::new(matrix, "the matrix")?;
    let request = plan.request();
    if matrix.shape() != [request.rows, request.cols] {
        let (given, rows, cols) = (arrays::shape(matrix.shape()), request.rows, request.cols);
        let message = format!("a matrix of shape {given} does not fit the plan; use ({rows}, {cols})");
        return Err(Failure::parameter(message));
    }
    Ok(matrix)
}

/// Prepares a matrix in at most `memory` bytes.
pub(super) fn prepare(
    py: Python<'_>,
    plan: &Arc<Plan>,
    mut engine: CpuEngine,
    matrix: &Bound<'_, PyAny>,
    memory: Option<u64>,
) -> Result<MatrixHandle, Failure> {
    let matrix = checked(plan, matrix)?;
    if let Some(bytes) = memory {
        engine = engine.with_max_matrix_bytes(bytes);
    }
    let plan = plan.clone();
    run(py, PREPARE_US * matrix.len() as f64, move |cancel| {
        Ok(engine.prepare_matrix(&plan, &Rows::new(&matrix, cancel))?)
    })
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
        let plan = self.keys.plan().clone();
        let handle = prepare(py, &plan, self.engine.clone(), matrix, memory)?;
        Ok(PreparedMatrix { plan, keys: Some(self.keys.clone()), handle })
    }

    /// The product of a matrix that is not prepared, row tile by row tile, so that only one tile is in memory.
    fn multiply(
        &self,
        py: Python<'_>,
        matrix: &Bound<'_, PyAny>,
        vector: &EncryptedVector,
    ) -> Result<EncryptedProduct, Failure> {
        let matrix = checked(self.keys.plan(), matrix)?;
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
        let request = self.plan.request();
        (request.rows, request.cols)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.plan.clone() }
    }

    /// The key set whose vectors it multiplies.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.keys.as_ref().map(|keys| keys.tag().to_string())
    }

    /// The same matrix for the client of a server. The prepared words are shared.
    fn for_server(&self, server: &MatVecServer) -> Result<Self, Failure> {
        if self.plan.to_bytes() != server.keys.plan().to_bytes() {
            let message = "the server is of another plan than the matrix; use the plan of the matrix for both";
            return Err(Failure::new(Class::KeyMismatch, message));
        }
        Ok(Self { plan: self.plan.clone(), keys: Some(server.keys.clone()), handle: self.handle.clone() })
    }

    /// Bytes that the matrix occupies.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.handle.memory_bytes()
    }

    fn __matmul__(&self, py: Python<'_>, vector: &EncryptedVector) -> Result<EncryptedProduct, Failure> {
        let keys = self.keys.clone().ok_or_else(|| {
            let message = "the matrix is prepared for no client; use for_server with the server of the client's keys";
            Failure::new(Class::KeyMismatch, message)
        })?;
        let (handle, columns) = (self.handle.clone(), vector.columns.clone());
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
