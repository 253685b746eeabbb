//! Keys: secret, public, for relinearisation and for automorphisms.

use std::collections::BTreeMap;

use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_lattice::{KeyTag, SecretSeed};
use zeroize::{Zeroize, Zeroizing};

use crate::context::Context;
use crate::error::BfvError;
use crate::keyswitch::{Gadget, KeySwitchKey};
use crate::parameters::ParameterId;

/// The secret key: a ternary polynomial s. It is wiped when dropped and does not show its content.
pub struct SecretKey {
    pub(crate) context: Context,
    pub(crate) tag: KeyTag,
    /// Coefficients in {−1, 0, 1}.
    pub(crate) coefficients: Zeroizing<Vec<i64>>,
    /// s over the whole chain.
    pub(crate) spectrum: Zeroizing<RnsPoly<Spectrum>>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretKey").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// A key drawn from `seed`, deterministically.
    pub fn generate(context: &Context, seed: &SecretSeed) -> Self {
        let _ = (context, seed);
        todo!()
    }

    /// Its context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.coefficients.zeroize();
    }
}

/// A public key: an encryption of 0 over the whole chain, from which anyone encrypts.
#[derive(Clone, Debug)]
pub struct PublicKey {
    pub(crate) context: Context,
    pub(crate) tag: KeyTag,
    /// (−a·s + e, a).
    pub(crate) parts: [RnsPoly<Spectrum>; 2],
}

impl PublicKey {
    /// The public key of `secret`; randomness from the operating system.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn generate(secret: &SecretKey) -> Result<Self, BfvError> {
        let _ = secret;
        todo!()
    }

    /// Its context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

/// The key that takes c_2 of a product back to two parts: it switches from s² to s.
#[derive(Clone, Debug)]
pub struct RelinearizationKey {
    pub(crate) key: KeySwitchKey,
}

impl RelinearizationKey {
    /// The relinearisation key of `secret`, with the gadget of its parameter set.
    ///
    /// # Errors
    /// If the set has no special modulus, or the operating system gives no randomness.
    pub fn generate(secret: &SecretKey) -> Result<Self, BfvError> {
        let _ = secret;
        todo!()
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.key.tag()
    }
}

/// One automorphism for which a key is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GaloisRequest {
    /// g, odd, below 2N and not 1.
    pub element: usize,
    /// The decomposition of the key.
    pub gadget: Gadget,
}

/// Keys that switch from σ_g(s) to s, one for each of a set of elements g.
#[derive(Clone, Debug)]
pub struct GaloisKeys {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) keys: BTreeMap<usize, KeySwitchKey>,
}

impl GaloisKeys {
    /// Keys for the elements asked for; one that is asked for twice gets the first gadget.
    ///
    /// # Errors
    /// If an element is even, 1 or not below 2N, if the set has no special modulus or a gadget does not fit it, or if the
    /// operating system gives no randomness.
    pub fn generate(secret: &SecretKey, requests: &[GaloisRequest]) -> Result<Self, BfvError> {
        let _ = (secret, requests);
        todo!()
    }

    /// The id of their parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.parameters
    }

    /// Their key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The elements, ascending.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.keys.keys().copied()
    }

    /// The key of one element.
    pub fn get(&self, element: usize) -> Option<&KeySwitchKey> {
        self.keys.get(&element)
    }

    /// Those of `elements` that have no key, for the error that lists them; `Ok` if all have.
    ///
    /// # Errors
    /// [`BfvError::MissingGaloisKeys`].
    pub fn require(&self, elements: impl IntoIterator<Item = usize>) -> Result<(), BfvError> {
        let mut missing: Vec<usize> = elements.into_iter().filter(|g| !self.keys.contains_key(g)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() { Ok(()) } else { Err(BfvError::MissingGaloisKeys { elements: missing }) }
    }
}
