//! Plaintexts and ciphertexts.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{KeyTag, PublicSeed};
use zeroize::Zeroize;

use crate::parameters::ParameterId;

/// A polynomial modulo t: N coefficients in `[0, t)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plaintext {
    pub(crate) coefficients: Vec<u64>,
}

impl Plaintext {
    /// The coefficients, the constant one first, in `[0, t)`.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }
}

impl Zeroize for Plaintext {
    /// Leaves 0 for every coefficient: wrap a plaintext in [`Zeroizing`](zeroize::Zeroizing) to have it wiped when dropped.
    fn zeroize(&mut self) {
        self.coefficients.as_mut_slice().zeroize();
    }
}

/// A BFV ciphertext: parts c_0, c_1 (and c_2 before relinearisation) such that c_0 + c_1·s + c_2·s² is ⌊Q·m/t⌉ plus a small
/// error modulo Q, the product of the first l primes of the chain for l limbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) parts: Vec<RnsPoly<Coefficients>>,
}

impl Ciphertext {
    /// The id of its parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.parameters
    }

    /// Its key set.
    pub fn key_tag(&self) -> KeyTag {
        self.tag
    }

    /// c_0, c_1 and perhaps c_2.
    pub fn parts(&self) -> &[RnsPoly<Coefficients>] {
        &self.parts
    }

    /// l, the limbs of each part.
    pub fn limb_count(&self) -> usize {
        self.parts[0].limb_count()
    }
}

/// A fresh ciphertext under the secret key whose c_1 is the expansion of a seed: half the size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededCiphertext {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) seed: PublicSeed,
    pub(crate) c0: RnsPoly<Coefficients>,
}

impl SeededCiphertext {
    /// The id of its parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.parameters
    }

    /// Its key set.
    pub fn key_tag(&self) -> KeyTag {
        self.tag
    }

    /// l.
    pub fn limb_count(&self) -> usize {
        self.c0.limb_count()
    }
}
