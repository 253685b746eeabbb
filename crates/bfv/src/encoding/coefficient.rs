//! One number per coefficient.

use crate::ciphertext::Plaintext;
use crate::context::Context;
use crate::error::BfvError;

impl Context {
    /// Σ_j values_j·X^j.
    ///
    /// # Errors
    /// If there are more than N values or one is out of range.
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let _ = values;
        todo!()
    }

    /// values_0 − Σ_(j>0) values_j·X^(N−j): times [`encode`](Self::encode) of a vector it has their dot product for its
    /// constant coefficient.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_reversed(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let _ = values;
        todo!()
    }

    /// The N coefficients, signed.
    pub fn decode(&self, plaintext: &Plaintext) -> Vec<i64> {
        let _ = plaintext;
        todo!()
    }

    /// The plaintext with these coefficients modulo t.
    ///
    /// # Errors
    /// If there are not N of them or one is not below t.
    pub fn plaintext(&self, coefficients: Vec<u64>) -> Result<Plaintext, BfvError> {
        let _ = coefficients;
        todo!()
    }
}
