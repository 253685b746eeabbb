//! Vectors of encrypted numbers.

use std::sync::Arc;

use ciphermill_bigint::WeightMatrix;
use ciphermill_paillier::fixed_point::{FixedPointError, FixedPointVector};
use ciphermill_paillier::{CiphertextVector, Csprng, PaillierError};
use num_bigint::BigUint;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::classes::{PaillierPlain, PaillierPublicKey, PaillierVector};
use super::{blinding, estimate, places_of, reduced, us};
use crate::arrays::{self, Integers};
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::run::run;

impl PaillierVector {
    fn map<F>(&self, py: Python<'_>, us: f64, operation: F) -> Result<Self, Failure>
    where
        F: FnOnce(&FixedPointVector) -> Result<FixedPointVector, FixedPointError> + Send + 'static,
    {
        let vector = self.vector.clone();
        let estimate = estimate(us, vector.key().bits().get(), vector.len());
        let vector = run(py, estimate, move |_| Ok(operation(&vector)?))?;
        Ok(Self { vector: Arc::new(vector) })
    }
}

#[pymethods]
impl PaillierVector {
    /// The vector of ciphertexts in 0 < c < n², of numbers that are multiples of 2^-`fraction_bits` and, multiplied by that,
    /// at most `bound` in magnitude.
    #[staticmethod]
    fn from_ciphertexts(
        key: &PaillierPublicKey,
        ciphertexts: Vec<BigUint>,
        fraction_bits: u32,
        bound: BigUint,
    ) -> Result<Self, Failure> {
        let ciphertexts = CiphertextVector::from_biguints(&key.key, &ciphertexts)?;
        Ok(Self { vector: Arc::new(FixedPointVector::from_parts(ciphertexts, fraction_bits, bound)?) })
    }

    fn ciphertexts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.vector.ciphertexts().to_biguints())
    }

    #[staticmethod]
    fn from_bytes(key: &PaillierPublicKey, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { vector: Arc::new(FixedPointVector::from_bytes(&key.key, &data)?) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.vector.to_bytes()?))
    }

    #[getter]
    fn key(&self) -> PaillierPublicKey {
        PaillierPublicKey::of(self.vector.key())
    }

    #[getter]
    fn fraction_bits(&self) -> u32 {
        self.vector.fraction_bits()
    }

    #[getter]
    fn bound(&self) -> BigUint {
        self.vector.bound().clone()
    }

    fn __len__(&self) -> usize {
        self.vector.len()
    }

    /// The elements at these places, each any number of times.
    fn gather(&self, places: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let places = places_of(places)?;
        let ciphertexts = self.vector.ciphertexts().gather(&places)?;
        let (fraction_bits, bound) = (self.vector.fraction_bits(), self.vector.bound().clone());
        Ok(Self { vector: Arc::new(FixedPointVector::from_parts(ciphertexts, fraction_bits, bound)?) })
    }

    /// The elements of all of `parts`, at the finest of their scales and the greatest of their bounds.
    #[staticmethod]
    fn concat(py: Python<'_>, parts: Vec<PyRef<'_, Self>>) -> Result<Self, Failure> {
        let parts: Vec<_> = parts.iter().map(|part| part.vector.clone()).collect();
        let vector = run(py, 0.0, move |_| {
            let fraction_bits = parts.iter().map(|part| part.fraction_bits()).max().unwrap_or_default();
            let aligned = parts.iter().map(|part| part.align(fraction_bits)).collect::<Result<Vec<_>, _>>()?;
            let bound = aligned.iter().map(FixedPointVector::bound).max().cloned().unwrap_or_default();
            let ciphertexts: Vec<_> = aligned.iter().map(|part| part.ciphertexts().clone()).collect();
            Ok(FixedPointVector::from_parts(CiphertextVector::concat(&ciphertexts)?, fraction_bits, bound)?)
        })?;
        Ok(Self { vector: Arc::new(vector) })
    }

    fn add(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let other = other.vector.clone();
        self.map(py, us::PRODUCT, move |vector| vector.add(&other))
    }

    fn subtract(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let other = other.vector.clone();
        // The inverse of a vector takes a few products an element.
        self.map(py, 4.0 * us::PRODUCT, move |vector| vector.subtract(&other))
    }

    fn negate(&self, py: Python<'_>) -> Result<Self, Failure> {
        self.map(py, 4.0 * us::PRODUCT, FixedPointVector::negate)
    }

    fn add_plain(&self, py: Python<'_>, plain: &PaillierPlain) -> Result<Self, Failure> {
        let plain = plain.plain.clone();
        self.map(py, 2.0 * us::PRODUCT, move |vector| vector.add_plain(&plain))
    }

    fn subtract_plain(&self, py: Python<'_>, plain: &PaillierPlain) -> Result<Self, Failure> {
        let plain = plain.plain.clone();
        self.map(py, 2.0 * us::PRODUCT, move |vector| vector.subtract_plain(&plain))
    }

    fn multiply(&self, py: Python<'_>, plain: &PaillierPlain) -> Result<Self, Failure> {
        let plain = plain.plain.clone();
        let bits = plain.format().integer_bits() + plain.fraction_bits();
        self.map(py, us::POWER_BIT * f64::from(bits), move |vector| vector.multiply(&plain))
    }

    /// The product of a matrix of weights, which are not secret, and the vector. Weights are multiples of
    /// 2^-`fraction_bits`, given as integers.
    fn matrix_product(&self, py: Python<'_>, weights: &Bound<'_, PyAny>, fraction_bits: u32) -> Result<Self, Failure> {
        let weights = Integers::new(weights, "the matrix")?;
        let [rows, columns] = *weights.shape() else {
            let given = arrays::shape(weights.shape());
            return Err(Failure::parameter(format!("weights of shape {given} are not a matrix; use two axes")));
        };
        if columns != self.vector.len() {
            return Err(PaillierError::Length { left: self.vector.len(), right: columns }.into());
        }
        let values = weights.to_vec().iter().map(|&weight| weight.into()).collect();
        let matrix = WeightMatrix::new(columns, values).map_err(PaillierError::from)?;
        let vector = self.vector.clone();
        let estimate = estimate(8.0 * us::PRODUCT, vector.key().bits().get(), rows * columns);
        let vector = run(py, estimate, move |_| Ok(vector.matrix_vector_public(&matrix, fraction_bits)?))?;
        Ok(Self { vector: Arc::new(vector) })
    }

    /// The same numbers with new blinding.
    #[pyo3(signature = (*, strict=false))]
    fn rerandomise(&self, py: Python<'_>, strict: bool) -> Result<Self, Failure> {
        self.map(py, us::ENCRYPT, move |vector| {
            let blinding = blinding(vector.key(), strict);
            vector.rerandomise(blinding, &mut Csprng::from_os().map_err(PaillierError::from)?)
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.get();
        reduced(slf.as_any(), this.key(), this.to_bytes(slf.py())?)
    }
}
