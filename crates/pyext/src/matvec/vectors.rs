//! Encrypted vectors and products, one or several.

use std::sync::Arc;

use ciphermill_bfv::{PublicKey, SecretKey};
use ciphermill_hmvp::{self as hmvp, HmvpError, Plan};
use ciphermill_lattice::{Csprng, KeyTag};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use zeroize::Zeroizing;

use super::classes::{BfvPublicKey, Columns, EncryptedProduct, EncryptedVector, MaskedProduct, MatVecPlan};
use super::pickle::{Reduced, reduced, stack_reduced};
use super::{VECTOR_US, two_party};
use crate::arrays::{self, Integers};
use crate::errors::{Class, Failure};
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
            let message =
                format!("a vector of shape {given:?} does not fit the plan; use ({n},), or ({n}, k) for k vectors");
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
        self.columns.shape(py, self.columns.plan.request().cols)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.columns.plan.clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.columns.items[0].tag().to_string()
    }

    /// The vector plus plain integers. The plan must be unsplit; the sum must fit the plan as an entry does.
    fn add_plain(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let values = Integers::new(values, "the array")?;
        let (plan, vector) = (self.columns.plan.clone(), self.columns.single("an encrypted array")?.clone());
        let n = plan.request().cols;
        if values.shape() != [n] {
            let message = format!("an array of shape {:?} does not fit the plan; use ({n},)", values.shape());
            return Err(Failure::parameter(message));
        }
        let (min, max) = (-1i64 << (plan.request().vector_bits - 1), (1i64 << (plan.request().vector_bits - 1)) - 1);
        let values = values.to_vec();
        if let Some(value) = values.iter().find(|value| !(min..=max).contains(*value)) {
            return Err(Failure::new(Class::Range, format!("the array has the entry {value}; use {min} to {max}")));
        }
        let sum = run(py, VECTOR_US, move |_| {
            let t = plan.context().t();
            // Below t, as the plan holds products of such integers.
            let residues: Zeroizing<Vec<u64>> = Zeroizing::new(
                values
                    .iter()
                    .map(|&value| if value < 0 { t.wrapping_add_signed(value) } else { value as u64 })
                    .collect(),
            );
            Ok(hmvp::two_party::add_share(&vector, &residues)?)
        })?;
        Ok(Self { columns: Columns::one(self.columns.plan.clone(), sum) })
    }

    /// The vectors, one by one.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.columns.split().map(|columns| Self { columns }).collect::<Vec<_>>())
    }

    /// The vectors of a list as one array of shape (n, k).
    #[staticmethod]
    fn stack(vectors: Vec<PyRef<'_, Self>>) -> Result<Self, Failure> {
        let columns: Vec<_> = vectors.iter().map(|vector| &vector.columns).collect();
        Ok(Self { columns: stacked(&columns)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.columns.single("an encrypted array")?.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: &[u8]) -> Result<Self, Failure> {
        let vector = hmvp::EncryptedVector::from_bytes(&plan.plan, data)?;
        Ok(Self { columns: Columns::one(plan.plan.clone(), vector) })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<EncryptedVector of shape {}, key set {}>", self.shape(py)?.repr()?, self.tag()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, columns) = (slf.py(), &slf.get().columns);
        if columns.is_matrix {
            return stack_reduced(slf.as_any(), slf.get().columns(py)?);
        }
        let bytes = PyBytes::new(py, &columns.items[0].to_bytes());
        let one: Reduced<'py> = reduced(slf.as_any(), &columns.plan, bytes)?;
        Ok(one.into_pyobject(py)?.into_any())
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
        self.columns.shape(py, self.columns.plan.request().rows)
    }

    #[getter]
    fn plan(&self) -> MatVecPlan {
        MatVecPlan { plan: self.columns.plan.clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.columns.items[0].tag().to_string()
    }

    /// Masks the product for the owner of the vector, whose public key is given. Returns the masked product and the share of
    /// the owner of the matrix, residues modulo t.
    fn mask<'py>(
        &self,
        py: Python<'py>,
        public: &BfvPublicKey,
    ) -> Result<(MaskedProduct, Bound<'py, PyArray1<u64>>), Failure> {
        self.columns.single("an encrypted product")?;
        two_party::mask(py, &self.columns.items[0], public)
    }

    /// The products, one by one.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.columns.split().map(|columns| Self { columns }).collect::<Vec<_>>())
    }

    /// The products of a list as one array of shape (m, k).
    #[staticmethod]
    fn stack(products: Vec<PyRef<'_, Self>>) -> Result<Self, Failure> {
        let columns: Vec<_> = products.iter().map(|product| &product.columns).collect();
        Ok(Self { columns: stacked(&columns)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.columns.single("an encrypted product")?.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(plan: &MatVecPlan, data: &[u8]) -> Result<Self, Failure> {
        let product = hmvp::EncryptedProduct::from_bytes(&plan.plan, data)?;
        Ok(Self { columns: Columns::one(plan.plan.clone(), product) })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<EncryptedProduct of shape {}, key set {}>", self.shape(py)?.repr()?, self.tag()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, columns) = (slf.py(), &slf.get().columns);
        if columns.is_matrix {
            return stack_reduced(slf.as_any(), slf.get().columns(py)?);
        }
        let bytes = PyBytes::new(py, &columns.items[0].to_bytes());
        let one: Reduced<'py> = reduced(slf.as_any(), &columns.plan, bytes)?;
        Ok(one.into_pyobject(py)?.into_any())
    }
}

/// The objects of all of `parts`, which must be of one plan and key set.
fn stacked<T: OfPlan>(parts: &[&Columns<T>]) -> Result<Columns<T>, Failure> {
    let items: Vec<Arc<T>> = parts.iter().flat_map(|part| part.items.iter().cloned()).collect();
    let (Some(first), Some(head)) = (parts.first(), items.first()) else {
        return Err(Failure::parameter("there is nothing to stack; give at least one vector"));
    };
    for item in &items[1..] {
        item.require_same(head)?;
    }
    Ok(Columns { plan: first.plan.clone(), items, is_matrix: true })
}

trait OfPlan {
    fn plan(&self) -> &Arc<Plan>;
    fn tag(&self) -> KeyTag;

    fn require_same(&self, first: &Self) -> Result<(), Failure> {
        let (plan, of_first) = (self.plan(), first.plan());
        if !Arc::ptr_eq(plan, of_first) && plan.to_bytes() != of_first.to_bytes() {
            return Err(Failure::new(Class::KeyMismatch, "the columns are of different plans; use those of one plan"));
        }
        if self.tag() == first.tag() {
            return Ok(());
        }
        let message = format!("the columns are of the key sets {} and {}; use those of one", first.tag(), self.tag());
        Err(Failure::new(Class::KeyMismatch, message))
    }
}

impl OfPlan for hmvp::EncryptedVector {
    fn plan(&self) -> &Arc<Plan> {
        self.plan()
    }

    fn tag(&self) -> KeyTag {
        self.tag()
    }
}

impl OfPlan for hmvp::EncryptedProduct {
    fn plan(&self) -> &Arc<Plan> {
        self.plan()
    }

    fn tag(&self) -> KeyTag {
        self.tag()
    }
}
