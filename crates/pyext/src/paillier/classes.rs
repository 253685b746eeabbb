//! The classes of Paillier. Their methods are in the modules of the same names.

use std::sync::Arc;

use ciphermill_paillier::fixed_point::{FixedPointPlaintext, FixedPointVector};
use ciphermill_paillier::packing::{PackedCiphertextVector, Packing};
use ciphermill_paillier::{PublicKey, SecretKey};
use pyo3::prelude::*;

/// A public key.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct PaillierPublicKey {
    pub(super) key: PublicKey,
    pub(super) insecure: bool,
}

impl PaillierPublicKey {
    /// The key of an object, which was admitted by the policy of its size.
    pub(super) fn of(key: &PublicKey) -> Self {
        Self { key: key.clone(), insecure: key.bits().is_insecure() }
    }
}

/// A secret key. It is neither printed nor pickled; only `to_secret_bytes` writes it.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct PaillierSecretKey {
    pub(super) key: Arc<SecretKey>,
    pub(super) insecure: bool,
}

/// Plain numbers of a declared precision and bound.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct PaillierPlain {
    pub(super) plain: FixedPointPlaintext,
}

/// A vector of encrypted numbers with a common scale and bound.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct PaillierVector {
    pub(super) vector: Arc<FixedPointVector>,
}

/// How values share a ciphertext.
#[pyclass(frozen, eq, hash, module = "ciphermill._native")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PaillierPacking {
    pub(super) packing: Packing,
}

/// Encrypted values, several in each ciphertext.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct PaillierPacked {
    pub(super) packed: Arc<PackedCiphertextVector>,
}
