//! Tables of functions of one integer.

use ciphermill_tfhe::{Encoding, ParameterSet, Table, TestVector};
use pyo3::prelude::*;

use super::policy;
use crate::arrays::Integers;
use crate::errors::{Class, Failure};

/// A table: the values of a function at the messages of an encoding.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheTable {
    pub(super) vector: TestVector,
    pub(super) table: Option<Table>,
}

#[pymethods]
impl TfheTable {
    /// The table of the values at `min`, `min` + 1, …, for inputs in `places` places of the torus. The values lie between
    /// `output_min` and `output_max`.
    #[new]
    #[pyo3(signature = (parameters, values, places, min, output_min, output_max, *, insecure=false))]
    fn new(
        parameters: &str,
        values: &Bound<'_, PyAny>,
        places: u64,
        min: i64,
        output_min: i64,
        output_max: i64,
        insecure: bool,
    ) -> Result<Self, Failure> {
        let parameters = ParameterSet::named(parameters, policy(insecure))?;
        let values = Integers::new(values, "the table")?.to_vec();
        // With a padding bit a table has a value for each of half of the places.
        let (count, half) = (values.len() as i64, (places / 2) as i64);
        if count == 0 || count > half {
            let message = format!(
                "the integers may be any of {count}, a table of this encoding has 1 to {half} values; encrypt with more bits, \
                 or state a smaller range by within="
            );
            return Err(Failure::new(Class::Range, message));
        }
        let first = min.min(0).max(min.saturating_add(count - half));
        let input = Encoding::new(first, first + half - 1, true)?;
        let output = Encoding::new(output_min, output_max, true)?;
        // Messages outside the given ones do not occur; any value does for them.
        let value = |message: i64| values[(message - min).clamp(0, count - 1) as usize];
        let vector = parameters.test_vector(&input, &output, value)?;
        let table = Table::of(&vector)?;
        Ok(Self { vector, table })
    }
}
