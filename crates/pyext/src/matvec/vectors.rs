//! Encrypted vectors and products, one or several.

use std::sync::Arc;

use ciphermill_bfv::{PublicKey, SecretKey};
use ciphermill_hmvp::{self as hmvp, HmvpError, Plan};
use ciphermill_lattice::Csprng;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use zeroize::Zeroizing;

use super::classes::{BfvPublicKey, EncryptedProduct, EncryptedVector, MaskedProduct, MatVecPlan};
use super::columns::Columns;
use super::{VECTOR_US, two_party};
use crate::arrays::{self, Integers};
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::run::run;

/// The entries of a vector, which are erased after use.
type Secrets = Zeroizing<Vec<i64>>;

/// The vectors of an array: one of shape (n,), or the columns of one of shape (n, k).
fn vectors(plan: &Plan, values: &Integers) -> Result<(Vec<Secrets>, bool), Failure> {
    let n = plan.request().cols;
    match *values.shape() {
        [len] if len == n => Ok((vec![values.to_vec()], false)),
        [len, columns] if len == n && columns > 0 => {
            Ok(((0..columns).map(|column| values.column(column)).collect(), true))
        }
        ref given => {
            let given = arrays::shape(given);
            let message =
                format!("a vector of shape {given} does not fit the plan; use ({n},), or ({n}, k) for k vectors");
            Err(Failure::parameter(message))
        }
    }
}

impl EncryptedVector {
    pub(super) fn encrypt(
        py: Python<'_>,
        plan: &Arc<Plan>,
        key: &Arc<SecretKey>,
        values: Integers,
    ) -> Result<Self, Failure> {
        let key = key.clone();
        Self::each(py, plan, &values, move |plan, values, rng| hmvp::EncryptedVector::encrypt(plan, &key, values, rng))
    }

    pub(super) fn encrypt_public(
        py: Python<'_>,
        plan: &Arc<Plan>,
        key: &Arc<PublicKey>,
        values: Integers,
    ) -> Result<Self, Failure> {
        let key = key.clone();
        let encrypt = move |plan: &Arc<Plan>, values: &[i64], rng: &mut Csprng| {
            hmvp::EncryptedVector::encrypt_public(plan, &key, values, rng)
        };
        Self::each(py, plan, &values, encrypt)
    }

    fn each<F>(py: Python<'_>, plan: &Arc<Plan>, values: &Integers, encrypt: F) -> Result<Self, Failure>
    where
        F: Fn(&Arc<Plan>, &[i64], &mut Csprng) -> Result<hmvp::EncryptedVector, HmvpError> + Send + 'static,
    {
        let (vectors, is_matrix) = vectors(plan, values)?;
        let plan = plan.clone();
        let items = run(py, VECTOR_US * vectors.len() as f64, {
            let plan = plan.clone();
            move |cancel| {
                let mut rng = Csprng::from_os()?;
                let one = |values: &Secrets| {
                    cancel.check();
                    Ok(Arc::new(encrypt(&plan, values, &mut rng)?))
                };
                vectors.iter().map(one).collect::<Result<Vec<_>, Failure>>()
            }
        })?;
        Ok(Self { columns: Columns { plan, items, is_matrix } })
    }
}

#[pymethods]
impl EncryptedVector {
    /// NumPy leaves operators to this class.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    const ARRAY_UFUNC: Option<bool> = None;

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.columns.shape(py)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.columns.plan.clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.columns.tag().to_string()
    }

    /// The vector plus plain integers. The plan must be unsplit; the sum must fit the plan as an entry does.
    fn add_plain(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let values = Integers::new(values, "the array")?;
        let (n, vector) = (self.columns.plan.request().cols, self.columns.single()?.clone());
        if values.shape() != [n] {
            let given = arrays::shape(values.shape());
            let message = format!("an array of shape {given} does not fit the plan; use ({n},)");
            return Err(Failure::parameter(message));
        }
        let values = values.to_vec();
        let sum = run(py, VECTOR_US, move |_| Ok(hmvp::two_party::add_plain(&vector, &values)?))?;
        Ok(Self { columns: Columns::one(self.columns.plan.clone(), sum) })
    }

    /// The sum with another vector of the same key set.
    fn add(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let (left, right) = (self.columns.single()?.clone(), other.columns.single()?.clone());
        let sum = run(py, VECTOR_US, move |_| Ok(left.add(&right)?))?;
        Ok(Self { columns: Columns::one(self.columns.plan.clone(), sum) })
    }

    /// The vectors, one by one.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.columns.split().map(|columns| Self { columns }).collect::<Vec<_>>())
    }

    /// The vectors of a list as one array of shape (n, k).
    #[staticmethod]
    fn stack(vectors: Vec<PyRef<'_, Self>>) -> Result<Self, Failure> {
        Ok(Self { columns: Columns::stacked(vectors.iter().map(|vector| &vector.columns))? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        self.columns.to_bytes(py)
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { columns: Columns::from_bytes(&plan.plan, &data)? })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.columns.described(py, "EncryptedVector")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        slf.get().columns.reduced(slf.as_any())
    }
}

impl EncryptedProduct {
    pub(super) fn decrypt<'py>(&self, py: Python<'py>, key: &Arc<SecretKey>) -> Result<Bound<'py, PyAny>, Failure> {
        let (items, key) = (self.columns.items.clone(), key.clone());
        let mut decrypted = run(py, VECTOR_US * items.len() as f64, move |cancel| {
            let one = |item: &Arc<hmvp::EncryptedProduct>| {
                cancel.check();
                Ok(item.decrypt(&key)?)
            };
            items.iter().map(one).collect::<Result<Vec<_>, Failure>>()
        })?;
        Ok(match decrypted.pop() {
            Some(only) if !self.columns.is_matrix => arrays::vector(py, only),
            last => {
                decrypted.extend(last);
                arrays::columns(py, &decrypted)?
            }
        })
    }
}

#[pymethods]
impl EncryptedProduct {
    /// NumPy leaves operators to this class.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    const ARRAY_UFUNC: Option<bool> = None;

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.columns.shape(py)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.columns.plan.clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.columns.tag().to_string()
    }

    /// Masks the product for the owner of the vector, whose public key is given. Returns the masked product and the share of
    /// the owner of the matrix, residues modulo t.
    fn mask<'py>(
        &self,
        py: Python<'py>,
        public: &BfvPublicKey,
    ) -> Result<(MaskedProduct, Bound<'py, PyArray1<u64>>), Failure> {
        two_party::mask(py, self.columns.single()?, public)
    }

    /// The products, one by one.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.columns.split().map(|columns| Self { columns }).collect::<Vec<_>>())
    }

    /// The products of a list as one array of shape (m, k).
    #[staticmethod]
    fn stack(products: Vec<PyRef<'_, Self>>) -> Result<Self, Failure> {
        Ok(Self { columns: Columns::stacked(products.iter().map(|product| &product.columns))? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        self.columns.to_bytes(py)
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { columns: Columns::from_bytes(&plan.plan, &data)? })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.columns.described(py, "EncryptedProduct")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        slf.get().columns.reduced(slf.as_any())
    }
}
