//! Failures, and the exceptions that they become: the classes of `ciphermill.errors`.

use std::error::Error;

use ciphermill_bfv::BfvError;
use ciphermill_client::{ClientError, ErrorKind, kind};
use ciphermill_hmvp::HmvpError;
use ciphermill_lattice::rng::RngError;
use ciphermill_middleware::TransportError;
use ciphermill_paillier::fixed_point::FixedPointError;
use ciphermill_paillier::packing::PackingError;
use ciphermill_paillier::{PaillierError, RandomError};
use ciphermill_tfhe::word::TableError;
use ciphermill_tfhe::{EncodingError, ParameterError, RangeError, TfheError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception class of `ciphermill.errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Base,
    Parameter,
    Dtype,
    Range,
    KeyMismatch,
    Wire,
    Memory,
    Fork,
    Peer,
    Secret,
    Closed,
    Device,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Base => "CiphermillError",
            Self::Parameter => "ParameterError",
            Self::Dtype => "DtypeError",
            Self::Range => "RangeError",
            Self::KeyMismatch => "KeyMismatchError",
            Self::Wire => "WireError",
            Self::Memory => "MemoryLimitError",
            Self::Fork => "ForkError",
            Self::Peer => "PeerError",
            Self::Secret => "SecretError",
            Self::Closed => "ClosedError",
            Self::Device => "DeviceError",
        }
    }

    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Parameter => Self::Parameter,
            ErrorKind::Range => Self::Range,
            ErrorKind::Mismatch => Self::KeyMismatch,
            ErrorKind::Malformed => Self::Wire,
            ErrorKind::Memory => Self::Memory,
            ErrorKind::Peer => Self::Peer,
            ErrorKind::Device => Self::Device,
            _ => Self::Base,
        }
    }
}

/// Why a call failed. It can be made on any thread; it becomes an exception when it reaches the interpreter.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An exception that Python raised.
    Raised(PyErr),
    /// An exception to be raised.
    New(Class, String),
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self::New(class, message.into())
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(Class::Parameter, message)
    }

    /// The failure of the client library or of one of its schemes.
    fn of(error: &(dyn Error + 'static)) -> Self {
        Self::new(Class::of(kind(error)), error.to_string())
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

macro_rules! from_errors {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(&error)
            }
        })+
    };
}

from_errors!(
    ClientError,
    HmvpError,
    BfvError,
    RngError,
    PaillierError,
    FixedPointError,
    PackingError,
    RandomError,
    TfheError,
    TransportError,
    ParameterError,
    RangeError,
    EncodingError,
    TableError
);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message) = match failure {
            Failure::Raised(error) => return error,
            Failure::New(class, message) => (class, message),
        };
        Python::attach(|py| match type_of(py, class) {
            Ok(class) => PyErr::from_type(class, message),
            // The package is not installed around the extension module.
            Err(_) => PyRuntimeError::new_err(message),
        })
    }
}

fn type_of(py: Python<'_>, class: Class) -> PyResult<Bound<'_, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("ciphermill.errors").map(Bound::unbind))?;
    Ok(module.bind(py).getattr(class.name())?.cast_into()?)
}
