//! The columns of an array of encrypted vectors or products: the parts that both have in common.

use std::sync::Arc;

use ciphermill_hmvp::{self as hmvp, HmvpError, Plan};
use ciphermill_lattice::KeyTag;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::pickle::{reduced, stack_reduced};
use crate::errors::{Class, Failure};

/// An object of a plan and a key set: one column.
pub(super) trait Column: Sized {
    /// The object, in errors.
    const WHAT: &'static str;

    fn plan(&self) -> &Arc<Plan>;
    fn tag(&self) -> KeyTag;
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(plan: &Arc<Plan>, bytes: &[u8]) -> Result<Self, HmvpError>;

    /// The number of entries.
    fn entries(plan: &Plan) -> usize;
}

macro_rules! columns {
    ($($object:ty: $what:literal, $entries:ident;)+) => {
        $(impl Column for $object {
            const WHAT: &'static str = $what;

            fn plan(&self) -> &Arc<Plan> {
                self.plan()
            }

            fn tag(&self) -> KeyTag {
                self.tag()
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }

            fn from_bytes(plan: &Arc<Plan>, bytes: &[u8]) -> Result<Self, HmvpError> {
                Self::from_bytes(plan, bytes)
            }

            fn entries(plan: &Plan) -> usize {
                plan.request().$entries
            }
        })+
    };
}

columns! {
    hmvp::EncryptedVector: "an encrypted array", cols;
    hmvp::EncryptedProduct: "an encrypted product", rows;
}

/// Objects of one plan and key set: one, or those of the columns of a matrix.
#[derive(Clone)]
pub(super) struct Columns<T> {
    pub(super) plan: Arc<Plan>,
    pub(super) items: Vec<Arc<T>>,
    /// Whether the array has a second axis.
    pub(super) is_matrix: bool,
}

impl<T: Column> Columns<T> {
    pub(super) fn one(plan: Arc<Plan>, item: T) -> Self {
        Self { plan, items: vec![Arc::new(item)], is_matrix: false }
    }

    pub(super) fn from_bytes(plan: &Arc<Plan>, data: &[u8]) -> Result<Self, Failure> {
        Ok(Self::one(plan.clone(), T::from_bytes(plan, data)?))
    }

    /// The objects of all of `parts`, which must be of one plan and key set.
    pub(super) fn stacked<'a>(parts: impl Iterator<Item = &'a Self>) -> Result<Self, Failure>
    where
        T: 'a,
    {
        let items: Vec<Arc<T>> = parts.flat_map(|part| part.items.iter().cloned()).collect();
        let Some((first, others)) = items.split_first() else {
            return Err(Failure::parameter("there is nothing to stack; give at least one vector"));
        };
        others.iter().try_for_each(|item| require_same(&**item, &**first))?;
        Ok(Self { plan: first.plan().clone(), items, is_matrix: true })
    }

    pub(super) fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let len = T::entries(&self.plan);
        let shape = if self.is_matrix {
            (len, self.items.len()).into_pyobject(py)?.into_any()
        } else {
            (len,).into_pyobject(py)?.into_any()
        };
        Ok(shape)
    }

    pub(super) fn tag(&self) -> KeyTag {
        self.items[0].tag()
    }

    pub(super) fn split(&self) -> impl Iterator<Item = Self> + '_ {
        let one = |item: &Arc<T>| Self { plan: self.plan.clone(), items: vec![item.clone()], is_matrix: false };
        self.items.iter().map(one)
    }

    /// The only object.
    pub(super) fn single(&self) -> Result<&Arc<T>, Failure> {
        if self.is_matrix {
            let (what, columns) = (T::WHAT, self.items.len());
            let message = format!("{what} of {columns} columns cannot be used here; use each of columns()");
            return Err(Failure::parameter(message));
        }
        Ok(&self.items[0])
    }

    pub(super) fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.single()?.to_bytes()))
    }

    pub(super) fn described(&self, py: Python<'_>, class: &str) -> PyResult<String> {
        Ok(format!("<{class} of shape {}, key set {}>", self.shape(py)?.repr()?, self.tag()))
    }

    /// The state that pickle stores of `object`, which has these columns.
    pub(super) fn reduced<'py>(&self, object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Failure> {
        let py = object.py();
        if self.is_matrix {
            return Ok(stack_reduced(object, object.call_method0("columns")?)?);
        }
        Ok(reduced(object, &self.plan, self.to_bytes(py)?)?.into_pyobject(py)?.into_any())
    }
}

fn require_same<T: Column>(item: &T, first: &T) -> Result<(), Failure> {
    let (plan, of_first) = (item.plan(), first.plan());
    if !Arc::ptr_eq(plan, of_first) && plan.to_bytes() != of_first.to_bytes() {
        return Err(Failure::new(Class::KeyMismatch, "the columns are of different plans; use those of one plan"));
    }
    if item.tag() == first.tag() {
        return Ok(());
    }
    let message = format!("the columns are of the key sets {} and {}; use those of one", first.tag(), item.tag());
    Err(Failure::new(Class::KeyMismatch, message))
}
