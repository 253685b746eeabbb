//! The state that pickle stores of an object of a plan.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What pickle stores of an object of a plan: a function, the class, and the bytes of the plan and of the object.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyBytes>, Bound<'py, PyBytes>));

pub(super) fn reduced<'py>(
    object: &Bound<'py, PyAny>,
    plan: &ciphermill_hmvp::Plan,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Reduced<'py>> {
    let py = object.py();
    let load = py.import("ciphermill._plans")?.getattr("_load_of_plan")?;
    Ok((load, (object.get_type().into_any(), PyBytes::new(py, &plan.to_bytes()), bytes)))
}

/// What pickle stores of several columns: the class's `stack` and the columns.
pub(super) fn stack_reduced<'py>(
    object: &Bound<'py, PyAny>,
    columns: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let stack = object.get_type().getattr("stack")?;
    Ok((stack, (columns,)).into_pyobject(object.py())?.into_any())
}
