//! The owner of a key set.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::classes::{
    BfvPublicKey, BfvSecretKey, EncryptedProduct, EncryptedVector, EvaluationKeys, MaskedProduct, MatVecClient,
    MatVecPlan,
};
use crate::arrays::Integers;
use crate::errors::Failure;
use crate::secrets::not_pickled;

#[pymethods]
impl MatVecClient {
    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.plan.clone() }
    }

    #[getter]
    fn secret(&self) -> BfvSecretKey {
        BfvSecretKey { key: self.keys.secret.clone() }
    }

    #[getter]
    fn public(&self) -> BfvPublicKey {
        BfvPublicKey { key: self.keys.public.clone(), plan: self.plan.clone() }
    }

    #[getter]
    fn evaluation(&self) -> EvaluationKeys {
        EvaluationKeys { keys: self.keys.galois.clone(), plan: self.plan.clone() }
    }

    /// Encrypts a vector of shape (n,), or the k columns of an array of shape (n, k).
    fn encrypt(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<EncryptedVector, Failure> {
        let values = Integers::new(values, "the vector")?;
        EncryptedVector::encrypt(py, &self.plan, &self.keys.secret, values)
    }

    /// The entries of a product, of shape (m,) or (m, k).
    fn decrypt<'py>(&self, py: Python<'py>, product: &EncryptedProduct) -> Result<Bound<'py, PyAny>, Failure> {
        product.decrypt(py, &self.keys.secret)
    }

    /// The share of a masked product that belongs to the owner of the vector: residues modulo t.
    fn decrypt_masked<'py>(
        &self,
        py: Python<'py>,
        product: &MaskedProduct,
    ) -> Result<Bound<'py, PyArray1<u64>>, Failure> {
        product.decrypt(py, &self.keys.secret)
    }

    fn __repr__(&self) -> String {
        format!("<MatVecClient of key set {}>", self.keys.secret.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        let remedy =
            "write its secret.to_secret_bytes() to a safe place, and make the client again by MatVecPlan.client";
        Err(not_pickled("MatVecClient", remedy))
    }
}
