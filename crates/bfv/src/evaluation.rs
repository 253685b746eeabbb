//! Computing on ciphertexts. Results have the operands' level, which must be the same; operands of another key or
//! parameter set are refused.

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::context::Context;
use crate::error::BfvError;
use crate::keys::{GaloisKeys, RelinearizationKey};

impl Context {
    /// lhs + rhs.
    ///
    /// # Errors
    /// If they do not belong together; so for all functions below.
    pub fn add(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        let _ = (lhs, rhs);
        todo!()
    }

    /// lhs − rhs.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        let _ = (lhs, rhs);
        todo!()
    }

    /// −ciphertext.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn negate(&self, ciphertext: &Ciphertext) -> Result<Ciphertext, BfvError> {
        let _ = ciphertext;
        todo!()
    }

    /// ciphertext + plaintext: adds ⌊Q·m/t⌉.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, plaintext);
        todo!()
    }

    /// ciphertext − plaintext.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, plaintext);
        todo!()
    }

    /// ciphertext·plaintext, the plaintext's coefficients taken in (−t/2, t/2].
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn mul_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, plaintext);
        todo!()
    }

    /// lhs·rhs of two parts each: three parts, for [`relinearize`](Self::relinearize).
    ///
    /// # Errors
    /// As [`add`](Self::add), or if an operand has three parts.
    pub fn multiply(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        let _ = (lhs, rhs);
        todo!()
    }

    /// Three parts to two.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn relinearize(&self, ciphertext: &Ciphertext, key: &RelinearizationKey) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, key);
        todo!()
    }

    /// The ciphertext with `limbs` limbs, fewer than now: divided by the primes that go, and rounded.
    ///
    /// # Errors
    /// As [`add`](Self::add), or if it has no more than `limbs` limbs.
    pub fn switch_modulus(&self, ciphertext: &Ciphertext, limbs: usize) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, limbs);
        todo!()
    }

    /// σ_g of the plaintext, X ↦ X^g, under the same key.
    ///
    /// # Errors
    /// As [`add`](Self::add), or if `keys` has no key for g.
    pub fn automorphism(&self, ciphertext: &Ciphertext, g: usize, keys: &GaloisKeys) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, g, keys);
        todo!()
    }

    /// X^e times the plaintext; e counts modulo 2N.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn multiply_monomial(&self, ciphertext: &Ciphertext, e: usize) -> Result<Ciphertext, BfvError> {
        let _ = (ciphertext, e);
        todo!()
    }

    /// The coefficients as ⌊Q·m/t⌉ modulo each prime of `limbs` limbs: −[Q·m]_t·t^-1, with [·]_t in (−t/2, t/2]. This,
    /// not ⌊Q/t⌋·m, keeps the error of the encoding below 1 for every t.
    pub(crate) fn scale_up(
        &self,
        plaintext: &Plaintext,
        limbs: usize,
    ) -> ciphermill_lattice::rns::RnsPoly<ciphermill_lattice::rns::Coefficients> {
        let _ = (plaintext, limbs);
        todo!()
    }

    /// The coefficients of `plaintext` in (−t/2, t/2].
    pub(crate) fn centred(&self, plaintext: &Plaintext) -> Vec<i64> {
        let _ = plaintext;
        todo!()
    }
}
