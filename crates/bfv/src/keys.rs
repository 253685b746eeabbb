//! Public keys: for encryption, for relinearisation and for automorphisms.

use std::collections::BTreeMap;

use ciphermill_lattice::rng::RngError;
use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_lattice::{Csprng, KeyTag, PublicSeed};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::context::Context;
use crate::error::{BfvError, require_range};
use crate::gadget::Gadget;
use crate::keyswitch::KeySwitchKey;
use crate::parameters::ParameterId;
use crate::secret_key::{KeySeeds, MASK_STREAM, error, mask};

pub use crate::secret_key::SecretKey;

/// A public key: an encryption of 0 over the whole chain, from which anyone encrypts.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let public = PublicKey::generate(&secret)?;
/// let x = public.encrypt(&context.encode(&[42])?, top, &mut rng)?;
/// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PublicKey {
    pub(crate) context: Context,
    pub(crate) tag: KeyTag,
    /// The seed of a, stored instead of it.
    pub(crate) seed: PublicSeed,
    /// (−a·s + e, a) over the whole chain.
    pub(crate) parts: [RnsPoly<Spectrum>; 2],
}

impl PublicKey {
    /// The public key of `secret`; randomness from the operating system.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(PublicKey::generate(&secret)?.tag(), secret.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(secret: &SecretKey) -> Result<Self, BfvError> {
        Ok(Self::from_seeds(secret, &KeySeeds::from_os()?))
    }

    pub(crate) fn from_seeds(secret: &SecretKey, seeds: &KeySeeds) -> Self {
        let (context, seed) = (secret.context.clone(), seeds.mask);
        let chain = context.chain();
        let mut noise = Csprng::from_secret(&seeds.noise, 0);
        let mask = mask(&context, &seed, MASK_STREAM);
        // e − a·s; the product a·s is a secret until e is in it.
        let mut product = Zeroizing::new(mask.clone());
        chain.multiply(&mut product, &secret.spectrum);
        let mut body = chain.forward(chain.from_signed(&error(context.n(), &mut noise)));
        chain.sub_assign(&mut body, &product);
        Self { tag: secret.tag, seed, parts: [body, mask], context }
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
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = RelinearizationKey::generate(&secret)?;
/// let x = secret.encrypt(&context.encode(&[6])?, top, &mut rng)?;
/// let square = context.relinearize(&context.multiply(&x, &x)?, &key)?;
/// assert_eq!(context.decode(&secret.decrypt(&square)?)[0], 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RelinearizationKey {
    pub(crate) key: KeySwitchKey,
}

impl RelinearizationKey {
    /// The relinearisation key of `secret`, with the gadget of its parameter set.
    ///
    /// # Errors
    /// If the set has no special modulus, or the operating system gives no randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(RelinearizationKey::generate(&secret)?.tag(), secret.tag());
    /// let small = Context::new(&ParameterSet::named("BFV_1024", policy)?, Isa::current())?;
    /// let secret = SecretKey::generate(&small, &SecretSeed::from_os()?);
    /// // This set has no special modulus.
    /// assert!(RelinearizationKey::generate(&secret).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(secret: &SecretKey) -> Result<Self, BfvError> {
        Self::from_seeds(secret, &KeySeeds::from_os()?)
    }

    pub(crate) fn from_seeds(secret: &SecretKey, seeds: &KeySeeds) -> Result<Self, BfvError> {
        let mut square = secret.spectrum.clone();
        secret.context.chain().multiply(&mut square, &secret.spectrum);
        let gadget = secret.context.parameters().gadget;
        Ok(Self { key: KeySwitchKey::generate(secret, &square, gadget, seeds)? })
    }

    /// The id of its parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.key.parameter_id()
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.key.tag()
    }
}

/// One automorphism for which a key is wanted.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let fine = Gadget::Bits { base_log: DecompositionBaseLog(10) };
/// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 5, gadget: fine }])?;
/// assert_eq!(keys.get(5).map(|key| key.gadget()), Some(fine));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GaloisRequest {
    /// g, odd, below 2N and not 1.
    pub element: usize,
    /// The decomposition of the key.
    pub gadget: Gadget,
}

/// An error unless X ↦ X^`element` is an automorphism other than the identity for N = `n`.
pub(crate) fn check_element(element: usize, n: usize) -> Result<(), BfvError> {
    require_range("element g of an automorphism", element as u64, 3, 2 * n as u64 - 1)?;
    if element.is_multiple_of(2) {
        let what = format!("X -> X^{element} is not an automorphism; use odd elements from 3 to {}", 2 * n - 1);
        return Err(BfvError::Unsupported { what });
    }
    Ok(())
}

/// Keys that switch from σ_g(s) to s, one for each of a set of elements g.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let requests = [3, 5, 63].map(|element| GaloisRequest { element, gadget });
/// let keys = GaloisKeys::generate(&secret, &requests)?;
/// assert_eq!(keys.elements().collect::<Vec<_>>(), [3, 5, 63]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }]).is_ok());
    /// // X -> X^4 is not an automorphism.
    /// assert!(GaloisKeys::generate(&secret, &[GaloisRequest { element: 4, gadget }]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(secret: &SecretKey, requests: &[GaloisRequest]) -> Result<Self, BfvError> {
        Self::with_seeds(secret, requests, |_| KeySeeds::from_os())
    }

    /// The keys with the seeds that `seeds` returns for each element.
    pub(crate) fn with_seeds(
        secret: &SecretKey,
        requests: &[GaloisRequest],
        seeds: impl Fn(usize) -> Result<KeySeeds, RngError> + Sync,
    ) -> Result<Self, BfvError> {
        let (context, n) = (&secret.context, secret.context.n());
        let mut wanted: BTreeMap<usize, Gadget> = BTreeMap::new();
        for request in requests {
            check_element(request.element, n)?;
            wanted.entry(request.element).or_insert(request.gadget);
        }
        let chain = context.chain();
        let coefficients = Zeroizing::new(chain.from_signed(&secret.coefficients));
        let keys = wanted
            .into_par_iter()
            .map(|(element, gadget)| {
                let from = Zeroizing::new(chain.forward(chain.automorphism(&coefficients, element)));
                Ok((element, KeySwitchKey::generate(secret, &from, gadget, &seeds(element)?)?))
            })
            .collect::<Result<_, BfvError>>()?;
        Ok(Self { parameters: context.parameters().id(), tag: secret.tag, keys })
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// assert_eq!(keys.get(3).map(|key| key.digits().len()), Some(top));
    /// assert!(keys.get(5).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, element: usize) -> Option<&KeySwitchKey> {
        self.keys.get(&element)
    }

    /// Those of `elements` that have no key, for the error that lists them; `Ok` if all have.
    ///
    /// # Errors
    /// [`BfvError::MissingGaloisKeys`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let error = keys.require([3, 9, 5]).unwrap_err();
    /// assert!(matches!(error, BfvError::MissingGaloisKeys { elements } if elements == [5, 9]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require(&self, elements: impl IntoIterator<Item = usize>) -> Result<(), BfvError> {
        let mut missing: Vec<usize> = elements.into_iter().filter(|g| !self.keys.contains_key(g)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() { Ok(()) } else { Err(BfvError::MissingGaloisKeys { elements: missing }) }
    }
}
