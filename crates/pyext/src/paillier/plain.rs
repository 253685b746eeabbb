//! Plain numbers of a declared precision.

use ciphermill_paillier::fixed_point::{FixedPoint, FixedPointPlaintext};
use num_bigint::BigInt;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use super::classes::PaillierPlain;
use super::places_of;
use crate::arrays::Integers;
use crate::errors::Failure;

#[pymethods]
impl PaillierPlain {
    /// Floating-point numbers, rounded to multiples of 2^-`fraction_bits`.
    #[staticmethod]
    fn from_floats(values: PyReadonlyArray1<'_, f64>, integer_bits: u32, fraction_bits: u32) -> Result<Self, Failure> {
        let values = Zeroizing::new(values.as_array().to_vec());
        let format = FixedPoint::new(integer_bits, fraction_bits)?;
        Ok(Self { plain: FixedPointPlaintext::from_f64(format, &values)? })
    }

    /// Integers of an array.
    #[staticmethod]
    fn from_integers(values: &Bound<'_, PyAny>, integer_bits: u32, fraction_bits: u32) -> Result<Self, Failure> {
        let values = Integers::new(values, "the array")?.to_vec();
        let values: Vec<BigInt> = values.iter().map(|&value| value.into()).collect();
        let format = FixedPoint::new(integer_bits, fraction_bits)?;
        Ok(Self { plain: FixedPointPlaintext::from_integers(format, &values)? })
    }

    /// Numerators and denominators.
    #[staticmethod]
    fn from_ratios(values: Vec<(BigInt, BigInt)>, integer_bits: u32, fraction_bits: u32) -> Result<Self, Failure> {
        let format = FixedPoint::new(integer_bits, fraction_bits)?.exact();
        Ok(Self { plain: FixedPointPlaintext::from_ratios(format, &values)? })
    }

    /// The numbers at these places, each any number of times.
    fn gather(&self, places: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let places = places_of(places)?;
        Ok(Self { plain: self.plain.gather(&places)? })
    }

    fn __len__(&self) -> usize {
        self.plain.len()
    }

    #[getter]
    fn fraction_bits(&self) -> u32 {
        self.plain.fraction_bits()
    }
}
