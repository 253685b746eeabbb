//! Serialisable values as Python's.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde::Serialize;
use serde_json::to_string;

use crate::errors::{Class, Failure};

/// `value` as dictionaries, lists, strings and numbers.
pub(crate) fn to_python<'py, T: Serialize>(py: Python<'py>, value: &T) -> Result<Bound<'py, PyAny>, Failure> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let text = to_string(value).map_err(|error| Failure::new(Class::Base, error.to_string()))?;
    Ok(LOADS.import(py, "json", "loads")?.call1((text,))?)
}

/// The costs of a plan as an `Explanation` of the package.
pub(crate) fn explanation<'py, T>(py: Python<'py>, costs: &T) -> Result<Bound<'py, PyAny>, Failure>
where
    T: Serialize + Display,
{
    static EXPLANATION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let fields = to_python(py, costs)?;
    Ok(EXPLANATION.import(py, "ciphermill._plans", "Explanation")?.call1((fields, costs.to_string()))?)
}
