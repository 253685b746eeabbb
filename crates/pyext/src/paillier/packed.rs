//! Packed values.

use std::sync::Arc;

use ciphermill_paillier::packing::{PackedCiphertextVector, PackedPlaintext, Packing, PackingError};
use ciphermill_paillier::{Csprng, PaillierError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::classes::{PaillierPacked, PaillierPacking, PaillierPublicKey};
use super::{blinding, estimate, reduced, us};
use crate::arrays::Integers;
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::run::run;

#[pymethods]
impl PaillierPacking {
    #[new]
    fn new(value_bits: u32, guard_bits: u32, slots: usize) -> Result<Self, Failure> {
        Ok(Self { packing: Packing::new(value_bits, guard_bits, slots)? })
    }

    /// As many slots as a key of `key_bits` bits has room for.
    #[staticmethod]
    fn fill(value_bits: u32, guard_bits: u32, key_bits: u32) -> Result<Self, Failure> {
        Ok(Self { packing: Packing::fill(value_bits, guard_bits, key_bits)? })
    }

    #[getter]
    fn value_bits(&self) -> u32 {
        self.packing.value_bits()
    }

    #[getter]
    fn guard_bits(&self) -> u32 {
        self.packing.guard_bits()
    }

    #[getter]
    fn slots(&self) -> usize {
        self.packing.slots()
    }

    fn __repr__(&self) -> String {
        format!("PaillierPacking({}, {}, {})", self.value_bits(), self.guard_bits(), self.slots())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.get();
        (slf.get_type(), (this.value_bits(), this.guard_bits(), this.slots())).into_pyobject(slf.py())
    }
}

impl PaillierPacked {
    fn map<F>(&self, py: Python<'_>, us: f64, operation: F) -> Result<Self, Failure>
    where
        F: FnOnce(&PackedCiphertextVector) -> Result<PackedCiphertextVector, PackingError> + Send + 'static,
    {
        let packed = self.packed.clone();
        let estimate = estimate(us, packed.key().bits().get(), packed.ciphertexts().len());
        let packed = run(py, estimate, move |_| Ok(operation(&packed)?))?;
        Ok(Self { packed: Arc::new(packed) })
    }

    fn plain(&self, values: &Bound<'_, PyAny>) -> Result<PackedPlaintext, Failure> {
        let values = Integers::new(values, "the array")?.to_vec();
        Ok(PackedPlaintext::pack(self.packed.packing(), &values)?)
    }
}

#[pymethods]
impl PaillierPacked {
    #[staticmethod]
    fn from_bytes(key: &PaillierPublicKey, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { packed: Arc::new(PackedCiphertextVector::from_bytes(&key.key, &data)?) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.packed.to_bytes()?))
    }

    #[getter]
    fn key(&self) -> PaillierPublicKey {
        PaillierPublicKey::of(self.packed.key())
    }

    #[getter]
    fn packing(&self) -> PaillierPacking {
        PaillierPacking { packing: self.packed.packing() }
    }

    /// The greatest magnitude that a value may have.
    #[getter]
    fn bound(&self) -> u128 {
        self.packed.bound()
    }

    fn __len__(&self) -> usize {
        self.packed.len()
    }

    fn add(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let other = other.packed.clone();
        self.map(py, us::PRODUCT, move |packed| packed.add(&other))
    }

    fn subtract(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let other = other.packed.clone();
        self.map(py, 4.0 * us::PRODUCT, move |packed| packed.subtract(&other))
    }

    fn negate(&self, py: Python<'_>) -> Result<Self, Failure> {
        self.map(py, 4.0 * us::PRODUCT, PackedCiphertextVector::negate)
    }

    fn add_plain(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let plain = self.plain(values)?;
        self.map(py, 2.0 * us::PRODUCT, move |packed| packed.add_plain(&plain))
    }

    fn subtract_plain(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let plain = self.plain(values)?;
        self.map(py, 2.0 * us::PRODUCT, move |packed| packed.subtract_plain(&plain))
    }

    /// Every value times one integer, which is not secret.
    fn multiply(&self, py: Python<'_>, factor: i64) -> Result<Self, Failure> {
        self.map(py, 64.0 * us::POWER_BIT, move |packed| packed.multiply_public(factor))
    }

    /// The same values with new blinding.
    #[pyo3(signature = (*, strict=false))]
    fn rerandomise(&self, py: Python<'_>, strict: bool) -> Result<Self, Failure> {
        self.map(py, us::ENCRYPT, move |packed| {
            let blinding = blinding(packed.key(), strict);
            packed.rerandomise(blinding, &mut Csprng::from_os().map_err(PaillierError::from)?)
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.get();
        reduced(slf.as_any(), this.key(), this.to_bytes(slf.py())?)
    }
}
