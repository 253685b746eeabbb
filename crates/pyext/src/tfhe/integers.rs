//! Encrypted integers.

use std::sync::Arc;

use ciphermill_tfhe::{Ciphertext, MessageRange};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::arrays::Integers;
use crate::bytes::BytesList;
use crate::errors::{Class, Failure};

/// Encrypted integers, or bits for gates.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheCiphertexts {
    pub(super) items: Arc<Vec<Ciphertext>>,
}

impl TfheCiphertexts {
    pub(super) fn new(items: Vec<Ciphertext>) -> Self {
        Self { items: Arc::new(items) }
    }

    /// Pairs of elements.
    fn zip<F>(&self, other: &Self, mut combine: F) -> Result<Self, Failure>
    where
        F: FnMut(&Ciphertext, &Ciphertext) -> Result<Ciphertext, Failure>,
    {
        if self.items.len() != other.items.len() {
            let message = unpaired("elements", self.items.len(), other.items.len());
            return Err(Failure::parameter(message));
        }
        let items = self.items.iter().zip(&*other.items).map(|(left, right)| combine(left, right));
        Ok(Self::new(items.collect::<Result<_, _>>()?))
    }
}

/// The message for arrays of different lengths.
pub(super) fn unpaired(what: &str, left: usize, right: usize) -> String {
    format!("{left} {what} cannot be paired with {right}; use arrays of one length")
}

/// The message for a place beyond an array.
fn outside(place: i64, len: usize) -> String {
    let remedy = len.checked_sub(1).map_or("use an array with elements".to_owned(), |last| format!("use 0 to {last}"));
    format!("place {place} is outside of an array of {len} elements; {remedy}")
}

/// The range and the variance that a ciphertext states.
pub(super) fn stated(ciphertext: &Ciphertext) -> Result<(MessageRange, f64), Failure> {
    let bounds = ciphertext.bounds();
    bounds.range().zip(bounds.variance()).ok_or_else(|| {
        let message =
            "the ciphertext does not state its range and noise; encrypt integers, not bits, for this operation";
        Failure::new(Class::Parameter, message)
    })
}

#[pymethods]
impl TfheCiphertexts {
    fn __len__(&self) -> usize {
        self.items.len()
    }

    #[getter]
    fn tag(&self) -> Option<String> {
        self.items.first().map(|item| item.key_tag().to_string())
    }

    /// The places, the smallest and the greatest message of all elements; None without a stated range.
    #[getter]
    fn range(&self) -> Option<(u64, i64, i64)> {
        let ranges = self.items.iter().map(|item| item.bounds().range()).collect::<Option<Vec<_>>>()?;
        let (min, max) = (ranges.iter().map(MessageRange::min).min()?, ranges.iter().map(MessageRange::max).max()?);
        Some((ranges.first()?.places(), min, max))
    }

    /// The elements at these places, each any number of times.
    fn gather(&self, places: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let places = Integers::new(places, "the places")?.to_vec();
        let at = |&place: &i64| {
            let item = usize::try_from(place).ok().and_then(|place| self.items.get(place));
            item.cloned().ok_or_else(|| Failure::parameter(outside(place, self.items.len())))
        };
        Ok(Self::new(places.iter().map(at).collect::<Result<_, _>>()?))
    }

    #[staticmethod]
    fn concat(parts: Vec<PyRef<'_, Self>>) -> Self {
        Self::new(parts.iter().flat_map(|part| part.items.iter().cloned()).collect())
    }

    fn add(&self, other: &Self) -> Result<Self, Failure> {
        self.zip(other, |left, right| {
            stated(left)?.0.add(&stated(right)?.0)?;
            let mut sum = left.clone();
            sum.add_assign(right)?;
            Ok(sum)
        })
    }

    fn subtract(&self, other: &Self) -> Result<Self, Failure> {
        self.zip(other, |left, right| {
            stated(left)?.0.sub(&stated(right)?.0)?;
            let mut difference = left.clone();
            difference.sub_assign(right)?;
            Ok(difference)
        })
    }

    /// Each element times one of `factors`, of 32 bits, which are not secret.
    fn scale(&self, factors: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let factors = Integers::new(factors, "the factors")?.to_vec();
        if factors.len() != self.items.len() {
            let message = unpaired("elements", self.items.len(), factors.len());
            return Err(Failure::parameter(message));
        }
        let scaled = |(item, &factor): (&Ciphertext, &i64)| {
            let narrow = i32::try_from(factor).map_err(|_| {
                let message = format!("the factor {factor} is not supported; use {} to {}", i32::MIN, i32::MAX);
                Failure::new(Class::Range, message)
            })?;
            stated(item)?.0.scale(narrow)?;
            let mut product = item.clone();
            product.scalar_mul_assign(narrow);
            Ok(product)
        };
        Ok(Self::new(self.items.iter().zip(factors.iter()).map(scaled).collect::<Result<_, Failure>>()?))
    }

    /// The bytes of each element, as `ciphermill tfhe encrypt` writes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.items.iter().map(|item| PyBytes::new(py, &item.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(elements: BytesList<'_>) -> Result<Self, Failure> {
        let items = elements.iter().map(|bytes| Ciphertext::from_bytes(bytes)).collect::<Result<_, _>>()?;
        Ok(Self::new(items))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let load = slf.get_type().getattr("from_bytes")?;
        (load, (slf.get().to_bytes(slf.py())?,)).into_pyobject(slf.py())
    }
}
