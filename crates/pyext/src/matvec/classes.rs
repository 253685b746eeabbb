//! The classes of matrix-vector products. Their methods are in the modules of the same names.

use std::sync::Arc;

use ciphermill_bfv::{GaloisKeys, PublicKey, SecretKey};
use ciphermill_client::hmvp::KeySet;
use ciphermill_hmvp::two_party::Response;
use ciphermill_hmvp::{self as hmvp, CpuEngine, MatrixHandle, Plan, PreparedKeys};
use pyo3::prelude::*;

use super::columns::Columns;

/// The agreement between the client and the server of a matrix-vector product.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct MatVecPlan {
    pub(super) plan: Arc<Plan>,
}

/// A secret key. It is neither printed nor pickled; only `to_secret_bytes` writes it.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct BfvSecretKey {
    pub(super) key: Arc<SecretKey>,
}

/// A public key.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct BfvPublicKey {
    pub(super) key: Arc<PublicKey>,
    pub(super) plan: Arc<ciphermill_hmvp::Plan>,
}

/// The keys with which a server computes: they let it multiply, not decrypt.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EvaluationKeys {
    pub(super) keys: Arc<GaloisKeys>,
    pub(super) plan: Arc<ciphermill_hmvp::Plan>,
}

/// The owner of a key set: encrypts vectors and decrypts products.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct MatVecClient {
    pub(super) plan: Arc<Plan>,
    pub(super) keys: KeySet,
}

/// A server with the evaluation keys of one client.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct MatVecServer {
    pub(super) engine: CpuEngine,
    pub(super) keys: Arc<dyn PreparedKeys>,
}

/// A matrix in the form in which it multiplies. `matrix @ vector` is the encrypted product.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct PreparedMatrix {
    pub(super) plan: Arc<Plan>,
    /// The keys of its client, or `None` for a matrix that servers share.
    pub(super) keys: Option<Arc<dyn PreparedKeys>>,
    pub(super) handle: MatrixHandle,
}

/// An encrypted vector of shape (n,), or k vectors as the columns of an array of shape (n, k).
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EncryptedVector {
    pub(super) columns: Columns<hmvp::EncryptedVector>,
}

/// An encrypted product of shape (m,), or k products as the columns of an array of shape (m, k).
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EncryptedProduct {
    pub(super) columns: Columns<hmvp::EncryptedProduct>,
}

/// A masked product on its way to the owner of the vector.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct MaskedProduct {
    pub(super) response: Arc<Response>,
}
