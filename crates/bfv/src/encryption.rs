//! Encryption, decryption, noise.

use ciphermill_lattice::Csprng;
use num_bigint::BigInt;

use crate::ciphertext::{Ciphertext, Plaintext, SeededCiphertext};
use crate::error::BfvError;
use crate::keys::{PublicKey, SecretKey};

impl SecretKey {
    /// Encrypts at `limbs` limbs (1 to L + K; usually [`Context::top`](crate::Context::top)), c_1 from a fresh public
    /// seed.
    ///
    /// # Errors
    /// If the level does not exist or the operating system gives no randomness.
    pub fn encrypt_seeded(
        &self,
        plaintext: &Plaintext,
        limbs: usize,
        noise: &mut Csprng,
    ) -> Result<SeededCiphertext, BfvError> {
        let _ = (plaintext, limbs, noise);
        todo!()
    }

    /// Encrypts at `limbs` limbs.
    ///
    /// # Errors
    /// As [`encrypt_seeded`](Self::encrypt_seeded).
    pub fn encrypt(&self, plaintext: &Plaintext, limbs: usize, noise: &mut Csprng) -> Result<Ciphertext, BfvError> {
        self.encrypt_seeded(plaintext, limbs, noise)?.expand(self.context())
    }

    /// ⌊t·(c_0 + c_1·s + c_2·s²)/Q⌉ modulo t.
    ///
    /// # Errors
    /// If the ciphertext is of another key or parameter set. Noise beyond the budget is not an error; it gives another
    /// plaintext.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Plaintext, BfvError> {
        let _ = ciphertext;
        todo!()
    }

    /// The greatest coefficient, in magnitude, of the noise v = c_0 + c_1·s + c_2·s² − ⌊Q·m/t⌉ for the plaintext m that it
    /// decrypts to.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    pub fn noise(&self, ciphertext: &Ciphertext) -> Result<BigInt, BfvError> {
        let _ = ciphertext;
        todo!()
    }

    /// log2 of how much the noise may still grow before decryption fails: log2(Q/(2t)) − log2(noise), at least 0.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    pub fn noise_budget(&self, ciphertext: &Ciphertext) -> Result<f64, BfvError> {
        let _ = ciphertext;
        todo!()
    }
}

impl SeededCiphertext {
    /// The ciphertext, c_1 written out.
    ///
    /// # Errors
    /// If it is of another parameter set.
    pub fn expand(&self, context: &crate::Context) -> Result<Ciphertext, BfvError> {
        let _ = context;
        todo!()
    }
}

impl PublicKey {
    /// Encrypts at `limbs` limbs.
    ///
    /// # Errors
    /// If the level does not exist.
    pub fn encrypt(&self, plaintext: &Plaintext, limbs: usize, rng: &mut Csprng) -> Result<Ciphertext, BfvError> {
        let _ = (plaintext, limbs, rng);
        todo!()
    }

    /// A fresh encryption of 0 at `limbs` limbs, which re-randomises what it is added to.
    ///
    /// # Errors
    /// If the level does not exist.
    pub fn encrypt_zero(&self, limbs: usize, rng: &mut Csprng) -> Result<Ciphertext, BfvError> {
        let _ = (limbs, rng);
        todo!()
    }
}
