//! Words of several digits, and their tables.

use std::sync::Arc;

use ciphermill_tfhe::word::{DenseTable, Table, Word};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::Integers;
use crate::bytes::Bytes;
use crate::errors::{Class, Failure};

/// An encrypted word: digits of two bits.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheWord {
    pub(super) word: Arc<Word>,
}

impl TfheWord {
    pub(super) fn new(word: Word) -> Self {
        Self { word: Arc::new(word) }
    }
}

#[pymethods]
impl TfheWord {
    /// The number of digits.
    #[getter]
    fn digits(&self) -> usize {
        self.word.digits().len()
    }

    #[getter]
    fn tag(&self) -> String {
        self.word.key_tag().to_string()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.word.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self::new(Word::from_bytes(&data)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let load = slf.get_type().getattr("from_bytes")?;
        (load, (slf.get().to_bytes(slf.py()),)).into_pyobject(slf.py())
    }
}

/// A table of a function of a word: all its values.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheWordTable {
    pub(super) table: Arc<Table>,
}

#[pymethods]
impl TfheWordTable {
    /// The values at 0, 1, …, 2^`input_bits` − 1, of `output_bits` bits each.
    #[new]
    fn new(values: &Bound<'_, PyAny>, input_bits: u32, output_bits: u32) -> Result<Self, Failure> {
        let values = Integers::new(values, "the table")?.to_vec();
        let narrow = |&value: &i64| {
            u32::try_from(value).map_err(|_| {
                Failure::new(Class::Range, format!("the table has the entry {value}; use 0 to {}", u32::MAX))
            })
        };
        let values = values.iter().map(narrow).collect::<Result<Vec<_>, _>>()?;
        let positions = (0..input_bits.div_ceil(2).min(255) as u8).collect();
        let table = DenseTable::new(input_bits, output_bits, positions, values)?;
        Ok(Self { table: Arc::new(Table::Dense(table)) })
    }
}
