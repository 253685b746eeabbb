//! Encrypted matrix-vector products.

mod classes;
mod client;
mod columns;
mod keys;
mod pickle;
mod plan;
mod server;
mod two_party;
mod vectors;

pub(crate) use classes::{
    BfvPublicKey, BfvSecretKey, EncryptedProduct, EncryptedVector, EvaluationKeys, MaskedProduct, MatVecClient,
    MatVecPlan, MatVecServer, PreparedMatrix,
};
pub(crate) use two_party::reconstruct;

/// Estimated microseconds of encrypting or decrypting one vector.
const VECTOR_US: f64 = 200.0;
