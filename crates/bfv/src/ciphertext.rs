//! Plaintexts and ciphertexts.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{KeyTag, PublicSeed};
use zeroize::Zeroize;

use crate::parameters::ParameterId;

/// A polynomial modulo t: N coefficients in `[0, t)`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let plaintext = context.encode(&[1, 2])?;
/// assert_eq!(Plaintext::new(plaintext.coefficients().to_vec()), plaintext);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plaintext {
    pub(crate) coefficients: Vec<u64>,
}

impl Plaintext {
    /// The plaintext with these coefficients, the constant one first. Each must be in `[0, t)`; encryption checks that.
    pub fn new(coefficients: Vec<u64>) -> Self {
        Self { coefficients }
    }

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
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let x = secret.encrypt(&context.encode(&[1])?, top, &mut rng)?;
/// assert_eq!((x.parts().len(), x.limb_count(), x.key_tag()), (2, top, secret.tag()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) parts: Vec<RnsPoly<Coefficients>>,
}

impl Ciphertext {
    /// The ciphertext with these parts, whose residues must be reduced.
    ///
    /// # Panics
    /// If there are not two or three parts of equal length.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[1])?, top, &mut rng)?;
    /// let (parameters, tag) = (x.parameter_id(), x.key_tag());
    /// assert_eq!(Ciphertext::new(parameters, tag, x.parts().to_vec()), x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(parameters: ParameterId, tag: KeyTag, parts: Vec<RnsPoly<Coefficients>>) -> Self {
        assert!((2..=3).contains(&parts.len()), "a ciphertext has two or three parts");
        assert!(parts.iter().all(|part| part.limb_count() == parts[0].limb_count()), "parts have equal limb counts");
        Self { parameters, tag, parts }
    }

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

    /// The parts, to be changed in place.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let before = x.clone();
    /// x.parts_mut().swap(0, 1);
    /// assert_eq!((&x.parts()[0], &x.parts()[1]), (&before.parts()[1], &before.parts()[0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts_mut(&mut self) -> &mut [RnsPoly<Coefficients>] {
        &mut self.parts
    }

    /// The parts, without copying them.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let (parameters, tag) = (x.parameter_id(), x.key_tag());
    /// let parts = x.clone().into_parts();
    /// assert_eq!(Ciphertext::new(parameters, tag, parts), x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_parts(self) -> Vec<RnsPoly<Coefficients>> {
        self.parts
    }

    /// l, the limbs of each part.
    pub fn limb_count(&self) -> usize {
        self.parts[0].limb_count()
    }
}

/// A fresh ciphertext under the secret key whose c_1 is the expansion of a seed: half the size.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let seeded = secret.encrypt_seeded(&context.encode(&[5])?, top, &mut rng)?;
/// let x = seeded.expand(&context)?;
/// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededCiphertext {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) seed: PublicSeed,
    pub(crate) c0: RnsPoly<Coefficients>,
}

impl SeededCiphertext {
    /// The ciphertext whose c_1 is the expansion of `seed`.
    pub fn new(parameters: ParameterId, tag: KeyTag, seed: PublicSeed, c0: RnsPoly<Coefficients>) -> Self {
        Self { parameters, tag, seed, c0 }
    }

    /// The seed of c_1.
    pub fn seed(&self) -> PublicSeed {
        self.seed
    }

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
