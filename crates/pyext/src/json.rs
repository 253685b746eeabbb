//! Serialisable values as Python's.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde_json::to_string;

use crate::errors::{Class, Failure};

/// `value` as dictionaries, lists, strings and numbers.
pub(crate) fn to_python<'py, T: serde::Serialize>(py: Python<'py>, value: &T) -> Result<Bound<'py, PyAny>, Failure> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let text = to_string(value).map_err(|error| Failure::new(Class::Base, error.to_string()))?;
    Ok(LOADS.import(py, "json", "loads")?.call1((text,))?)
}
