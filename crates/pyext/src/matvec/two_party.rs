//! The two-party form: shares of a vector, masked products.

use std::sync::Arc;

use ciphermill_bfv::SecretKey;
use ciphermill_hmvp::two_party::{self, Assessment, Guarantee, MaskOptions, Response};
use ciphermill_hmvp::{EncryptedProduct as Product, Plan};
use ciphermill_lattice::Csprng;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::VECTOR_US;
use super::classes::{BfvPublicKey, EncryptedVector, MaskedProduct, MatVecPlan};
use super::pickle::{Reduced, reduced};
use crate::arrays::{self, Integers};
use crate::bytes::Bytes;
use crate::errors::{Class, Failure};
use crate::run::run;

#[pymethods]
impl MaskedProduct {
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.response.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { response: Arc::new(Response::from_bytes(&plan.plan, &data)?) })
    }

    /// Bytes as sent.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.response.sealed_len()
    }

    #[getter]
    fn tag(&self) -> String {
        self.response.tag().to_string()
    }

    /// Whether it has a part of a vector that was sent, instead of a product.
    fn echoes(&self, vector: &EncryptedVector) -> bool {
        vector.columns.items.iter().any(|item| self.response.echoes(item))
    }

    fn __repr__(&self) -> String {
        format!("<MaskedProduct of {} bytes, key set {}>", self.nbytes(), self.tag())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        reduced(slf.as_any(), this.response.plan(), this.to_bytes(slf.py()))
    }
}

impl MaskedProduct {
    /// The share that belongs to the owner of the key.
    pub(super) fn decrypt<'py>(
        &self,
        py: Python<'py>,
        key: &Arc<SecretKey>,
    ) -> Result<Bound<'py, PyArray1<u64>>, Failure> {
        let (response, key) = (self.response.clone(), key.clone());
        let share = run(py, VECTOR_US, move |_| Ok(response.decrypt(&key)?))?;
        Ok(PyArray1::from_vec(py, share))
    }
}

/// Masks a product, and re-randomises and floods it as far as its plan has room. Returns the masked product and the mask's
/// share, which the owner of the matrix keeps.
pub(super) fn mask<'py>(
    py: Python<'py>,
    product: &Arc<Product>,
    public: &BfvPublicKey,
) -> Result<(MaskedProduct, Bound<'py, PyArray1<u64>>), Failure> {
    let (product, public) = (product.clone(), public.key.clone());
    let (response, share) = run(py, 4.0 * VECTOR_US, move |_| {
        let options = MaskOptions::strongest(product.plan());
        Ok(two_party::mask(&product, &options, Some(&public), &mut Csprng::from_os()?)?)
    })?;
    Ok((MaskedProduct { response: Arc::new(response) }, PyArray1::from_vec(py, share)))
}

/// log2 of the failure probability of a masked product, the guarantee in words, and −log2 of the statistical distance if the
/// matrix is hidden.
pub(super) fn assess(plan: &Plan) -> Result<(f64, String, Option<f64>), Failure> {
    let Assessment { log2_failure, guarantee, .. } = two_party::assess(plan, &MaskOptions::strongest(plan))?;
    let bits = match guarantee {
        Guarantee::Hidden { statistical_bits } => Some(statistical_bits),
        _ => None,
    };
    Ok((log2_failure, guarantee.to_string(), bits))
}

/// The integers of two shares modulo t.
#[pyfunction]
pub(crate) fn reconstruct<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    modulus: u64,
) -> Result<Bound<'py, PyAny>, Failure> {
    let (first, second) = (share(first, "the first share")?, share(second, "the second share")?);
    Ok(arrays::vector(py, two_party::reconstruct([&first, &second], modulus)?))
}

/// The residues of a share. Valid ones are below 2^62.
fn share(values: &Bound<'_, PyAny>, what: &str) -> Result<Zeroizing<Vec<u64>>, Failure> {
    let values = Integers::new(values, what)?;
    if values.shape().len() != 1 {
        let given = arrays::shape(values.shape());
        return Err(Failure::parameter(format!("{what} has the shape {given}; use one axis")));
    }
    let residue = |&value: &i64| {
        let message = || format!("{what} has the entry {value}; use residues from 0 on");
        u64::try_from(value).map_err(|_| Failure::new(Class::Range, message()))
    };
    Ok(Zeroizing::new(values.to_vec().iter().map(residue).collect::<Result<_, _>>()?))
}
