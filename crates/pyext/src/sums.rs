//! Encrypted sums of vectors of several parties.

use std::sync::Arc;

use ciphermill_bfv::sums::{self, LABEL_LEN, Segment, SumRequest, Values};
use ciphermill_bfv::{BfvError, SecretKey};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use zeroize::Zeroizing;

use crate::arrays::{self, Integers};
use crate::bytes::Bytes;
use crate::errors::{Class, Failure};
use crate::json;
use crate::policy::{level, security};
use crate::run::run;
use crate::secrets::{WRITE_BYTES, not_pickled};

/// Estimated microseconds of encrypting, reading or decrypting the ciphertexts of a sum, per byte of it.
const BYTE_US: f64 = 0.004;

/// Estimated microseconds of adding two sums, per byte of one.
const ADD_US: f64 = 0.000_2;

/// The agreement between the parties, the aggregator and the key holder of encrypted sums.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct SumPlan {
    plan: Arc<sums::SumPlan>,
}

/// The owner of a key set: decrypts totals.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct SumKeyHolder {
    plan: Arc<sums::SumPlan>,
    secret: Arc<SecretKey>,
    public: Arc<sums::SumPublicKey>,
}

/// The key under which parties encrypt.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct SumPublicKey {
    key: Arc<sums::SumPublicKey>,
}

/// An encrypted contribution, or the sum of several.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EncryptedSums {
    sums: Arc<sums::EncryptedSums>,
}

/// What pickle stores of an object of a plan: the class's `from_bytes`, the plan and the bytes.
fn reduced<'py>(
    object: &Bound<'py, PyAny>,
    plan: &Arc<sums::SumPlan>,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyTuple>> {
    let load = object.get_type().getattr("from_bytes")?;
    (load, (SumPlan { plan: plan.clone() }, bytes)).into_pyobject(object.py())
}

/// The expected time of work on all ciphertexts of a sum.
fn estimate(plan: &sums::SumPlan) -> f64 {
    BYTE_US * plan.sealed_sums_len() as f64
}

#[pymethods]
impl SumPlan {
    #[new]
    #[pyo3(signature = (segments, parties, *, label=None, security=128, log2_failure=-64.0))]
    fn new(
        py: Python<'_>,
        segments: Vec<(usize, u128)>,
        parties: u32,
        label: Option<Bytes<'_>>,
        security: u32,
        log2_failure: f64,
    ) -> Result<Self, Failure> {
        let label = label.map_or(Ok([0; LABEL_LEN]), |label| {
            let message = || format!("a label of {} bytes is not supported; use {LABEL_LEN} bytes", label.len());
            label[..].try_into().map_err(|_| Failure::parameter(message()))
        })?;
        let segments = segments.into_iter().map(|(len, bound)| Segment { len, bound }).collect();
        let request =
            SumRequest { label, security: level(security)?, log2_failure, ..SumRequest::new(segments, parties) };
        let plan = run(py, f64::INFINITY, move |_| Ok(sums::SumPlan::new(&request, Isa::current())?))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    /// The length and the bound of each segment.
    #[getter]
    fn segments(&self) -> Vec<(usize, u128)> {
        self.plan.request().segments.iter().map(|segment| (segment.len, segment.bound)).collect()
    }

    #[getter]
    fn parties(&self) -> u32 {
        self.plan.request().parties
    }

    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.plan.request().label)
    }

    #[getter]
    fn parameters(&self) -> &str {
        &self.plan.context().parameters().name
    }

    #[getter]
    fn ciphertexts(&self) -> usize {
        self.plan.ciphertexts()
    }

    /// Bytes of a contribution, and of a sum.
    #[getter]
    fn sums_bytes(&self) -> u64 {
        self.plan.sealed_sums_len()
    }

    /// The costs of the plan.
    fn explain<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        json::explanation(py, &self.plan.explain())
    }

    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.log2_failure()
    }

    /// New keys.
    fn keygen(&self, py: Python<'_>) -> Result<SumKeyHolder, Failure> {
        let plan = self.plan.clone();
        run(py, f64::INFINITY, move |_| {
            let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
            SumKeyHolder::of(plan, secret)
        })
    }

    /// The key holder of a secret key that exists; the public key is made again from it.
    fn key_holder(&self, py: Python<'_>, secret: Bytes<'_>) -> Result<SumKeyHolder, Failure> {
        let (plan, secret) = (self.plan.clone(), Zeroizing::new(secret.to_vec()));
        run(py, f64::INFINITY, move |_| {
            let key = SecretKey::from_secret_key_bytes(&secret, security(false).bfv(), Isa::current())?;
            SumKeyHolder::of(plan, key)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.plan.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Bytes<'_>) -> Result<Self, Failure> {
        let (data, policy) = (data.to_vec(), security(false).bfv());
        let plan = run(py, f64::INFINITY, move |_| Ok(sums::SumPlan::from_bytes(&data, policy, Isa::current())?))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.plan == other.plan
    }

    fn __hash__(&self) -> u64 {
        crate::hash(&self.plan.to_bytes())
    }

    fn __repr__(&self) -> String {
        format!("SumPlan({:?}, {})", self.segments(), self.parties())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let load = slf.get_type().getattr("from_bytes")?;
        (load, (slf.get().to_bytes(slf.py()),)).into_pyobject(slf.py())
    }
}

impl SumKeyHolder {
    fn of(plan: Arc<sums::SumPlan>, secret: SecretKey) -> Result<Self, Failure> {
        let public = sums::SumPublicKey::generate(&plan, &secret)?;
        Ok(Self { plan, secret: Arc::new(secret), public: Arc::new(public) })
    }
}

#[pymethods]
impl SumKeyHolder {
    #[getter]
    fn plan(&self) -> SumPlan {
        SumPlan { plan: self.plan.clone() }
    }

    #[getter]
    fn public(&self) -> SumPublicKey {
        SumPublicKey { key: self.public.clone() }
    }

    /// The name that all objects of this key set carry.
    #[getter]
    fn tag(&self) -> String {
        self.secret.tag().to_string()
    }

    /// The totals of each segment.
    fn decrypt<'py>(&self, py: Python<'py>, sums: &EncryptedSums) -> Result<Bound<'py, PyList>, Failure> {
        let (key, sums) = (self.secret.clone(), sums.sums.clone());
        if self.plan != *sums.plan() {
            return Err(BfvError::WrongPlan { what: "the sum" }.into());
        }
        let (plan, estimate) = (sums.plan().clone(), estimate(sums.plan()));
        let totals = run(py, estimate, move |_| Ok(sums.decrypt(&key)?))?;
        let parties = u128::from(plan.request().parties);
        let arrays = plan.request().segments.iter().zip(totals).map(|(segment, totals)| {
            let wide = parties * segment.bound > i64::MAX as u128;
            Ok(arrays::integers(py, totals, wide)?)
        });
        Ok(PyList::new(py, arrays.collect::<Result<Vec<_>, Failure>>()?)?)
    }

    /// The secret key in clear.
    fn to_secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.secret.to_secret_key_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<SumKeyHolder of key set {}>", self.secret.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("SumKeyHolder", WRITE_BYTES))
    }
}

/// The values of a segment, which are erased after use.
enum Entries {
    Narrow(Zeroizing<Vec<i64>>),
    Wide(Zeroizing<Vec<i128>>),
}

impl Entries {
    fn new(values: &Bound<'_, PyAny>, segment: usize) -> Result<Self, Failure> {
        let what = format!("segment {segment}");
        if values.cast::<PyUntypedArray>().is_err() {
            // NumPy makes floating-point numbers of some lists of integers beyond 64 bits.
            match values.extract::<Vec<i128>>() {
                Ok(wide) => return Ok(Self::Wide(Zeroizing::new(wide))),
                Err(error) if error.is_instance_of::<PyOverflowError>(values.py()) => return Err(beyond(&what)),
                Err(_) => {}
            }
        }
        let array = arrays::as_array(values, &what)?;
        if array.ndim() != 1 {
            return Err(Failure::parameter(format!(
                "{what} has the shape {}; use one axis",
                arrays::shape(array.shape())
            )));
        }
        let dtype = array.dtype();
        // Integers beyond 64 bits with sign, as NumPy stores them.
        if dtype.kind() == b'O' || (dtype.kind(), dtype.itemsize()) == (b'u', 8) {
            let list = array.call_method0("tolist")?;
            let wide: Vec<i128> = list.extract().map_err(|error| refused(values.py(), &what, error))?;
            return Ok(Self::Wide(Zeroizing::new(wide)));
        }
        Ok(Self::Narrow(Integers::new(array.as_any(), &what)?.to_vec()))
    }

    fn values(&self) -> Values<'_> {
        match self {
            Self::Narrow(values) => Values::Narrow(values),
            Self::Wide(values) => Values::Wide(values),
        }
    }
}

/// The failure for an integer of more than 128 bits.
fn beyond(what: &str) -> Failure {
    let message = format!("{what} has an entry of more than 128 bits; use {} to {}", i128::MIN, i128::MAX);
    Failure::new(Class::Range, message)
}

/// The failure for objects that are not integers of 128 bits.
fn refused(py: Python<'_>, what: &str, error: PyErr) -> Failure {
    if error.is_instance_of::<PyOverflowError>(py) {
        return beyond(what);
    }
    if error.is_instance_of::<PyTypeError>(py) {
        let message = format!("{what} has an entry that is not an integer ({error}); use integers");
        return Failure::new(Class::Dtype, message);
    }
    error.into()
}

#[pymethods]
impl SumPublicKey {
    #[getter]
    fn plan(&self) -> SumPlan {
        SumPlan { plan: self.key.plan().clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    /// Encrypts a contribution: the values of each segment.
    fn encrypt(&self, py: Python<'_>, values: Vec<Bound<'_, PyAny>>) -> Result<EncryptedSums, Failure> {
        let values = values.iter().enumerate().map(|(i, values)| Entries::new(values, i));
        let values = values.collect::<Result<Vec<_>, Failure>>()?;
        let key = self.key.clone();
        let sums = run(py, estimate(key.plan()), move |_| {
            let values: Vec<Values<'_>> = values.iter().map(Entries::values).collect();
            Ok(key.encrypt(&values, &mut Csprng::from_os()?)?)
        })?;
        Ok(EncryptedSums { sums: Arc::new(sums) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(plan: &SumPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        Ok(Self { key: Arc::new(sums::SumPublicKey::from_bytes(&plan.plan, &data)?) })
    }

    fn __repr__(&self) -> String {
        format!("<SumPublicKey of key set {}>", self.key.tag())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.get();
        reduced(slf.as_any(), this.key.plan(), this.to_bytes(slf.py()))
    }
}

#[pymethods]
impl EncryptedSums {
    #[getter]
    fn plan(&self) -> SumPlan {
        SumPlan { plan: self.sums.plan().clone() }
    }

    #[getter]
    fn tag(&self) -> String {
        self.sums.tag().to_string()
    }

    /// The number of contributions.
    #[getter]
    fn contributions(&self) -> u32 {
        self.sums.contributions()
    }

    /// The contributions of both.
    fn __add__(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        let (first, second) = (self.sums.clone(), other.sums.clone());
        let sums = run(py, ADD_US * first.plan().sealed_sums_len() as f64, move |_| {
            let mut sums = (*first).clone();
            sums.add_assign(&second)?;
            Ok(sums)
        })?;
        Ok(Self { sums: Arc::new(sums) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        let sums = self.sums.clone();
        let bytes = run(py, BYTE_US * sums.plan().sealed_sums_len() as f64, move |_| Ok(sums.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, plan: &SumPlan, data: Bytes<'_>) -> Result<Self, Failure> {
        let (plan, data) = (plan.plan.clone(), data.to_vec());
        let sums = run(py, BYTE_US * data.len() as f64, move |_| Ok(sums::EncryptedSums::from_bytes(&plan, &data)?))?;
        Ok(Self { sums: Arc::new(sums) })
    }

    fn __repr__(&self) -> String {
        format!("<EncryptedSums of {} contributions>", self.sums.contributions())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyTuple>, Failure> {
        let this = slf.get();
        Ok(reduced(slf.as_any(), this.sums.plan(), this.to_bytes(slf.py())?)?)
    }
}
