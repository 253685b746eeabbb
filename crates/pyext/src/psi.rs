//! Private set intersection.

use std::sync::{Arc, Mutex, PoisonError};

use ciphermill_psi::{self as psi, BlindedIds, Ids, Points, PsiError, RunKey};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{self, Integers};
use crate::bytes::{Bytes, BytesList};
use crate::errors::{Class, Failure};
use crate::run::run;
use crate::secrets::not_pickled;

/// Estimated microseconds of hashing an id and multiplying it, or of multiplying a point.
const MULTIPLY_US: f64 = 60.0;

/// Estimated microseconds of reading a point.
const READ_US: f64 = 5.0;

/// Estimated microseconds of sorting an id or a point.
const SORT_US: f64 = 0.5;

/// The ids of a party.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct PsiIds {
    ids: Arc<Ids>,
}

/// A party in one run with one other party: its secret scalar, and the points of its ids.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct PsiParty {
    /// Taken by the one call of `raise_points`.
    key: Mutex<Option<RunKey>>,
    blinded: BlindedIds,
}

/// Checked points, as they are sent.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct PsiPoints {
    points: Arc<Points>,
}

/// Errors of ids are those of an argument, errors of points those of received bytes.
impl From<PsiError> for Failure {
    fn from(error: PsiError) -> Self {
        let class = match error {
            PsiError::Count { .. } | PsiError::IdLength { .. } | PsiError::RepeatedId(_) => Class::Parameter,
            PsiError::Random(_) => Class::Base,
            _ => Class::Wire,
        };
        Self::new(class, error.to_string())
    }
}

#[pymethods]
impl PsiIds {
    #[new]
    fn new(py: Python<'_>, ids: BytesList<'_>) -> Result<Self, Failure> {
        let ids: Vec<Vec<u8>> = ids.iter().map(|id| id.to_vec()).collect();
        let ids = run(py, SORT_US * ids.len() as f64, move |_| Ok(Ids::new(ids)?))?;
        Ok(Self { ids: Arc::new(ids) })
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    /// A party of a new run, with a fresh scalar.
    fn blind(&self, py: Python<'_>) -> Result<PsiParty, Failure> {
        let ids = self.ids.clone();
        run(py, MULTIPLY_US * ids.len() as f64, move |cancel| {
            let key = RunKey::new()?;
            let blinded = key.blind(&ids, &|| cancel.check())?;
            Ok(PsiParty { key: Mutex::new(Some(key)), blinded })
        })
    }

    /// The rows in ascending order of their ids.
    fn sort<'py>(&self, py: Python<'py>, rows: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Failure> {
        let rows = Integers::new(rows, "the array of rows")?.to_vec();
        let last = self.ids.len() as i64 - 1;
        if let Some(row) = rows.iter().find(|row| !(0..=last).contains(*row)) {
            return Err(Failure::new(Class::Range, format!("the array of rows has the entry {row}; use 0 to {last}")));
        }
        let ids = self.ids.clone();
        let rows = run(py, SORT_US * rows.len() as f64, move |_| {
            let mut rows: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
            ids.sort(&mut rows);
            Ok(rows.into_iter().map(i64::from).collect())
        })?;
        Ok(arrays::vector(py, rows))
    }

    fn __repr__(&self) -> String {
        format!("<PsiIds of {} rows>", self.ids.len())
    }
}

#[pymethods]
impl PsiParty {
    /// The points of the ids, for the other party.
    #[getter]
    fn points(&self) -> PsiPoints {
        PsiPoints { points: Arc::new(self.blinded.points().clone()) }
    }

    /// The row of each point.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        arrays::vector(py, self.blinded.rows().iter().copied().map(i64::from).collect())
    }

    /// The points of the other party times the scalar, which is then erased.
    fn raise_points(&self, py: Python<'_>, points: &PsiPoints) -> Result<PsiPoints, Failure> {
        let key = self.key.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(key) = key else {
            let message = "the secret of this run is used up; begin a new run by PsiIds.blind()";
            return Err(Failure::parameter(message));
        };
        let points = points.points.clone();
        let raised =
            run(py, MULTIPLY_US * points.len() as f64, move |cancel| Ok(key.raise(&points, &|| cancel.check())))?;
        Ok(PsiPoints { points: Arc::new(raised) })
    }

    fn __repr__(&self) -> String {
        format!("<PsiParty of {} rows>", self.blinded.rows().len())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("PsiParty", "begin a new run by PsiIds.blind()"))
    }
}

#[pymethods]
impl PsiPoints {
    /// Reads the `count` points of another party.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Bytes<'_>, count: usize) -> Result<Self, Failure> {
        let data = data.to_vec();
        let points =
            run(py, READ_US * count as f64, move |cancel| Ok(Points::from_bytes(&data, count, &|| cancel.check())?))?;
        Ok(Self { points: Arc::new(points) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.points.as_bytes())
    }

    /// The places of equal points here and in the other list: an array of shape (k, 2).
    fn common<'py>(&self, py: Python<'py>, other: &Self) -> Result<Bound<'py, PyAny>, Failure> {
        let (here, there) = (self.points.clone(), other.points.clone());
        let estimate = SORT_US * (here.len() + there.len()) as f64;
        let places: Vec<i64> = run(py, estimate, move |_| {
            let pairs = psi::common(&here, &there).into_iter();
            Ok(pairs.flat_map(|(left, right)| [left, right]).map(i64::from).collect())
        })?;
        let pairs = places.len() / 2;
        Ok(PyArray1::from_vec(py, places).reshape([pairs, 2])?.into_any())
    }

    fn __len__(&self) -> usize {
        self.points.len()
    }

    fn __repr__(&self) -> String {
        format!("<PsiPoints of {} points>", self.points.len())
    }
}
