//! Paillier: keys, plain numbers of a declared precision, vectors of encrypted numbers, packed values.
//!
//! Vectors are flat here. Shapes, broadcasting and indexing are those of NumPy, in `ciphermill.paillier`.

mod classes;
mod keys;
mod packed;
mod plain;
mod vector;

use ciphermill_paillier::{Blinding, PublicKey, SizePolicy};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::Integers;
use crate::errors::Failure;
use crate::policy::security;

pub(crate) use classes::{
    PaillierPacked, PaillierPacking, PaillierPlain, PaillierPublicKey, PaillierSecretKey, PaillierVector,
};

/// Elements between two looks at whether the caller has gone.
const CHUNK: usize = 64;

/// Estimated microseconds of an operation on one element of a key of 2048 bits.
mod us {
    pub(super) const ENCRYPT: f64 = 50.0;
    pub(super) const DECRYPT: f64 = 200.0;
    pub(super) const PRODUCT: f64 = 0.5;
    /// A square per bit of an exponent.
    pub(super) const POWER_BIT: f64 = 0.3;
}

/// The estimate for a key of `bits` bits.
fn estimate(us: f64, bits: u32, elements: usize) -> f64 {
    us * (f64::from(bits) / 2048.0).powi(3) * elements as f64
}

fn policy(insecure: bool) -> SizePolicy {
    security(insecure).paillier()
}

/// Places in a vector. One that is negative or beyond the vector is an error of the vector.
fn places_of(places: &Bound<'_, PyAny>) -> Result<Vec<usize>, Failure> {
    let places = Integers::new(places, "the places")?.to_vec();
    Ok(places.iter().map(|&place| usize::try_from(place).unwrap_or(usize::MAX)).collect())
}

/// What pickle stores of an object of a key: the class's `from_bytes`, the key and the bytes.
fn reduced<'py>(
    object: &Bound<'py, PyAny>,
    key: PaillierPublicKey,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyTuple>> {
    let load = object.get_type().getattr("from_bytes")?;
    (load, (key, bytes)).into_pyobject(object.py())
}

fn blinding(key: &PublicKey, strict: bool) -> Blinding {
    if strict { Blinding::Strict } else { key.default_blinding() }
}
