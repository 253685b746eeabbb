//! The result.

use std::sync::Arc;

use super::Plan;
use crate::ciphertext::Ciphertext;
use crate::error::BfvError;
use crate::keys::SecretKey;

/// An encrypted product: the ciphertexts of each pair of a vector part and a matrix part.
#[derive(Clone, Debug)]
pub struct EncryptedProduct {
    pub(crate) plan: Arc<Plan>,
    /// By vector part, matrix part, row tile.
    pub(crate) parts: Vec<Vec<Vec<Vec<Ciphertext>>>>,
}

impl EncryptedProduct {
    /// The m entries.
    ///
    /// # Errors
    /// If the key is of another key set.
    pub fn decrypt(&self, key: &SecretKey) -> Result<Vec<i64>, BfvError> {
        let _ = key;
        todo!()
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}
