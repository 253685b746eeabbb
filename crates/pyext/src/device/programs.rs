//! Programs of a device.

use ciphermill_device::handlers;
use ciphermill_program::{Binding, Bindings, Program};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Bytes;
use crate::errors::{Class, Failure};

/// Names of a text with the registers that they stand for.
type Names = Vec<(String, String)>;

/// Translates an assembly text into a program. Returns its bytes and the register of every name.
#[pyfunction]
#[pyo3(signature = (text, bindings=None))]
pub(crate) fn assemble<'py>(
    py: Python<'py>,
    text: &str,
    bindings: Option<Names>,
) -> Result<(Bound<'py, PyBytes>, Names), Failure> {
    let parsed = bindings.unwrap_or_default().into_iter().map(|(name, register)| {
        format!("{name}={register}").parse::<Binding>().map_err(|error| Failure::parameter(error.to_string()))
    });
    let bindings = Bindings::collect(parsed.collect::<Result<Vec<_>, _>>()?)
        .map_err(|error| Failure::parameter(error.to_string()))?;
    let assembly = ciphermill_program::assemble(handlers::instruction_set(), text, &bindings)
        .map_err(|error| Failure::parameter(error.to_string()))?;
    let names = assembly.names.iter().map(|(name, register)| (name.clone(), register.to_string())).collect();
    Ok((PyBytes::new(py, &assembly.program.encode()), names))
}

/// The text of a program.
#[pyfunction]
pub(crate) fn disassemble(program: Bytes<'_>) -> Result<String, Failure> {
    let program = Program::decode(handlers::instruction_set(), &program)
        .map_err(|error| Failure::new(Class::Wire, error.to_string()))?;
    Ok(ciphermill_program::disassemble_named(handlers::instruction_set(), &program))
}
