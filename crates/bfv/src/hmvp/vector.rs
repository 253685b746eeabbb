//! The client's vector.

use std::sync::Arc;

use ciphermill_lattice::Csprng;

use super::Plan;
use crate::ciphertext::Ciphertext;
use crate::error::BfvError;
use crate::keys::{PublicKey, SecretKey};

/// A vector as the plan of a product wants it: the ciphertexts of each of its parts.
#[derive(Clone, Debug)]
pub struct EncryptedVector {
    pub(crate) plan: Arc<Plan>,
    pub(crate) parts: Vec<Vec<Ciphertext>>,
}

impl EncryptedVector {
    /// Encrypts n entries under the secret key.
    ///
    /// # Errors
    /// If there are not n of them, one is out of the plan's range, the key is of other parameters, or the operating system
    /// gives no randomness.
    pub fn encrypt(plan: &Arc<Plan>, key: &SecretKey, values: &[i64], noise: &mut Csprng) -> Result<Self, BfvError> {
        let _ = (plan, key, values, noise);
        todo!()
    }

    /// Encrypts n entries under the public key.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), or if the plan expects encryption under the secret key.
    pub fn encrypt_public(
        plan: &Arc<Plan>,
        key: &PublicKey,
        values: &[i64],
        rng: &mut Csprng,
    ) -> Result<Self, BfvError> {
        let _ = (plan, key, values, rng);
        todo!()
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}
