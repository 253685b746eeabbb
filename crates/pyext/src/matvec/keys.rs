//! Keys of BFV.

use std::sync::Arc;

use ciphermill_bfv::{GaloisKeys, PublicKey, SecretKey};
use ciphermill_math::Isa;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::classes::{BfvPublicKey, BfvSecretKey, EncryptedVector, EvaluationKeys, MaskedProduct, MatVecPlan};
use super::pickle::{Reduced, reduced};
use crate::arrays::Integers;
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::policy::security;
use crate::run::run;
use crate::secrets::{WRITE_BYTES, not_pickled};

/// Estimated microseconds of reading and checking a key's bytes, per byte.
const READ_US: f64 = 0.01;

#[pymethods]
impl BfvSecretKey {
    /// The key in clear, as `ciphermill hmvp keygen` writes it.
    fn to_secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_secret_key_bytes())
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false))]
    fn from_secret_bytes(data: Bytes<'_>, insecure: bool) -> Result<Self, Failure> {
        let key = SecretKey::from_secret_key_bytes(&data, security(insecure).bfv(), Isa::current())?;
        Ok(Self { key: Arc::new(key) })
    }

    /// `MatVecClient.encrypt` without the client's other keys, which take most of its memory.
    fn encrypt(
        &self,
        py: Python<'_>,
        plan: &MatVecPlan,
        values: &Bound<'_, PyAny>,
    ) -> Result<EncryptedVector, Failure> {
        let values = Integers::new(values, "the vector")?;
        EncryptedVector::encrypt(py, &plan.plan, &self.key, values)
    }

    /// `MatVecClient.decrypt_masked` without the client's other keys.
    fn decrypt_masked<'py>(
        &self,
        py: Python<'py>,
        product: &MaskedProduct,
    ) -> Result<Bound<'py, PyArray1<u64>>, Failure> {
        product.decrypt(py, &self.key)
    }

    /// The name that all objects of this key set carry.
    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<BfvSecretKey of key set {}>", self.key.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("BfvSecretKey", WRITE_BYTES))
    }
}

#[pymethods]
impl BfvPublicKey {
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        let key = PublicKey::from_bytes(plan.plan.context(), &data)?;
        Ok(Self { key: Arc::new(key), plan: plan.plan.clone() })
    }

    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<BfvPublicKey of key set {}>", self.key.tag())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        reduced(slf.as_any(), &this.plan, this.to_bytes(slf.py()))
    }
}

#[pymethods]
impl EvaluationKeys {
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.keys.to_bytes(self.plan.context())?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, plan: &MatVecPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        let (plan, data) = (plan.plan.clone(), data.to_vec());
        let keys = run(py, READ_US * data.len() as f64, {
            let plan = plan.clone();
            move |_| {
                let keys = GaloisKeys::from_bytes(plan.context(), &data)?;
                plan.require_galois_keys(&keys)?;
                Ok(keys)
            }
        })?;
        Ok(Self { keys: Arc::new(keys), plan })
    }

    #[getter]
    fn tag(&self) -> String {
        self.keys.tag().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<EvaluationKeys of key set {}>", self.keys.tag())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        reduced(slf.as_any(), &this.plan, this.to_bytes(slf.py())?)
    }
}
