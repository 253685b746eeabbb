//! The secret key, and what its owner draws for other keys.

use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_lattice::sampler::{self, Gaussian};
use ciphermill_lattice::{Csprng, KeyTag, MaskStream, PublicSeed, SecretSeed, rng::RngError};
use zeroize::Zeroizing;

use crate::context::Context;
use crate::parameters::ERROR_STD_DEV;

/// The streams of the seed of a secret key: the key, and its tag.
const KEY_STREAM: u64 = 0;
const TAG_STREAM: u64 = 1;

/// The stream of a public seed in which a mask starts, for objects that have one mask.
pub(crate) const MASK_STREAM: u64 = 0;

/// N coefficients of an error: rounded Gaussians of standard deviation [`ERROR_STD_DEV`].
pub(crate) fn error(n: usize, rng: &mut Csprng) -> Zeroizing<Vec<i64>> {
    // The sampler's unit is the torus of 64 bits.
    let gaussian = Gaussian::new(ERROR_STD_DEV * 2f64.powi(-64)).expect("far less than a quarter of the torus");
    let mut words = Zeroizing::new(vec![0u64; n]);
    gaussian.sample_into(rng, &mut words);
    Zeroizing::new(words.iter().map(|&word| word as i64).collect())
}

/// The secret key: a ternary polynomial s. It is wiped when dropped and does not show its content.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let secret = SecretKey::generate(&context, &SecretSeed::from_os()?);
/// let x = secret.encrypt(&context.encode(&[42])?, top, &mut rng)?;
/// assert_eq!(secret.decrypt(&x)?, context.encode(&[42])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let [first, second] = [1, 1].map(|byte| SecretKey::generate(&context, &SecretSeed::from_bytes([byte; 32])));
    /// assert_eq!(first.tag(), second.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(context: &Context, seed: &SecretSeed) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; context.n()]);
        sampler::ternary(&mut Csprng::from_secret(seed, KEY_STREAM), &mut coefficients);
        let tag = KeyTag(Csprng::from_secret(seed, TAG_STREAM).next_u64());
        Self::from_coefficients(context, tag, coefficients)
    }

    /// The key with these N coefficients in {−1, 0, 1}.
    pub(crate) fn from_coefficients(context: &Context, tag: KeyTag, coefficients: Zeroizing<Vec<i64>>) -> Self {
        let chain = context.chain();
        let spectrum = Zeroizing::new(chain.forward(chain.from_signed(&coefficients)));
        Self { context: context.clone(), tag, coefficients, spectrum }
    }

    /// s over the first `limbs` primes of the chain.
    pub(crate) fn spectrum_at(&self, limbs: usize) -> Zeroizing<RnsPoly<Spectrum>> {
        let words = self.spectrum.words()[..limbs * self.context.n()].to_vec();
        Zeroizing::new(RnsPoly::from_words(self.context.parameters().polynomial_size, words))
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

/// The uniform polynomial over the whole chain that stream `stream` of a public seed stands for: the mask a of a public
/// key, a_j of digit j = `stream` of a switching key.
pub(crate) fn mask(context: &Context, seed: &PublicSeed, stream: u64) -> RnsPoly<Spectrum> {
    let chain = context.chain();
    chain.forward(chain.uniform(&mut MaskStream::new(seed, stream)))
}

/// The seeds of a public, relinearisation or Galois key. They serve no other key.
pub(crate) struct KeySeeds {
    /// Of the masks, stored with the key.
    pub(crate) mask: PublicSeed,
    /// Of the errors, never stored.
    pub(crate) noise: SecretSeed,
}

impl KeySeeds {
    /// Fresh seeds.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub(crate) fn from_os() -> Result<Self, RngError> {
        Ok(Self { mask: PublicSeed::from_os()?, noise: SecretSeed::from_os()? })
    }
}
