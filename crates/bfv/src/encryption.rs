//! Encryption, decryption, noise.

use ciphermill_lattice::rns::{Coefficients, RnsPoly, Spectrum};
use ciphermill_lattice::{Csprng, KeyTag, MaskStream, PublicSeed, sampler};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, Plaintext, SeededCiphertext};
use crate::context::Context;
use crate::error::{BfvError, require_length, require_range};
use crate::keys::PublicKey;
use crate::parameters::ParameterId;
use crate::secret_key::{MASK_STREAM, SecretKey, error};

/// The key under which a ciphertext is encrypted.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_bfv::encryption::Encryption;
/// use ciphermill_bfv::noise::fresh_variance;
///
/// let set = context.parameters();
/// assert!(fresh_variance(set, Encryption::Secret) < fresh_variance(set, Encryption::Public));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Under the secret key: less noise, half the size.
    Secret,
    /// Under the public key.
    Public,
}

impl Context {
    /// An error unless ciphertexts of `limbs` limbs exist.
    pub(crate) fn require_limbs(&self, limbs: usize) -> Result<(), BfvError> {
        require_range("number of limbs of a ciphertext", limbs as u64, 1, self.chain().len() as u64)
    }

    /// An error unless `given` is this context's parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let id = context.parameters().id();
    /// context.require_parameters("the ciphertext", id)?;
    /// assert!(context.require_parameters("the ciphertext", ParameterId(!id.0)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require_parameters(&self, what: &'static str, given: ParameterId) -> Result<(), BfvError> {
        let expected = self.parameters().id();
        if given == expected {
            Ok(())
        } else {
            Err(BfvError::WrongParameters { what, given: given.0, expected: expected.0 })
        }
    }

    /// An error unless `plaintext` has N coefficients below t.
    pub(crate) fn require_plaintext(&self, plaintext: &Plaintext) -> Result<(), BfvError> {
        require_length("number of coefficients of the plaintext", plaintext.coefficients.len(), self.n())?;
        let greatest = plaintext.coefficients.iter().copied().max().unwrap_or(0);
        require_range("greatest coefficient of the plaintext", greatest, 0, self.t() - 1)
    }
}

/// An error unless `given` is `expected`.
pub fn require_tag(what: &'static str, given: KeyTag, expected: KeyTag) -> Result<(), BfvError> {
    if given == expected { Ok(()) } else { Err(BfvError::WrongKey { what, given, expected }) }
}

impl SecretKey {
    /// Encrypts at `limbs` limbs (1 to L + K; usually [`Context::top`](crate::Context::top)), c_1 from a fresh public
    /// seed.
    ///
    /// `noise` must never be used twice: two ciphertexts with the same errors and different c_1 give the secret key away.
    /// Take the stream of a seed from the operating system.
    ///
    /// # Errors
    /// If the level does not exist, the plaintext is of another parameter set, or the operating system gives no
    /// randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let seeded = secret.encrypt_seeded(&context.encode(&[5])?, top, &mut rng)?;
    /// assert_eq!(seeded.limb_count(), top);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_seeded(
        &self,
        plaintext: &Plaintext,
        limbs: usize,
        noise: &mut Csprng,
    ) -> Result<SeededCiphertext, BfvError> {
        self.encrypt_from_seed(plaintext, limbs, PublicSeed::from_os()?, noise)
    }

    /// Encrypts with the mask that `seed` stands for. Like the noise, a seed serves one ciphertext.
    pub(crate) fn encrypt_from_seed(
        &self,
        plaintext: &Plaintext,
        limbs: usize,
        seed: PublicSeed,
        noise: &mut Csprng,
    ) -> Result<SeededCiphertext, BfvError> {
        let context = &self.context;
        context.require_limbs(limbs)?;
        context.require_plaintext(plaintext)?;
        let basis = context.basis(limbs);
        // ⌊Q·m/t⌉ + e − a·s; each of the three is a secret until they are together.
        let mut product = basis.forward(basis.uniform(&mut MaskStream::new(&seed, MASK_STREAM)));
        basis.multiply(&mut product, &self.spectrum_at(limbs));
        let product = Zeroizing::new(basis.inverse(product));
        let mut c0 = context.scale_up(plaintext, limbs);
        add_error(context, &mut c0, noise);
        basis.sub_assign(&mut c0, &product);
        Ok(SeededCiphertext { parameters: context.parameters().id(), tag: self.tag, seed, c0 })
    }

    /// Encrypts at `limbs` limbs.
    ///
    /// # Errors
    /// As [`encrypt_seeded`](Self::encrypt_seeded).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, 1, &mut rng)?;
    /// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(&self, plaintext: &Plaintext, limbs: usize, noise: &mut Csprng) -> Result<Ciphertext, BfvError> {
        self.encrypt_seeded(plaintext, limbs, noise)?.expand(self.context())
    }

    /// ⌊t·(c_0 + c_1·s + c_2·s²)/Q⌉ modulo t.
    ///
    /// # Errors
    /// If the ciphertext is of another key or parameter set. Noise beyond the budget is not an error; it gives another
    /// plaintext.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, top, &mut rng)?;
    /// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], 7);
    /// let other = SecretKey::generate(&context, &SecretSeed::from_os()?);
    /// assert!(matches!(other.decrypt(&x), Err(BfvError::WrongKey { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Plaintext, BfvError> {
        let phase = self.phase(ciphertext)?;
        let coefficients = self.context.scale_and_round(ciphertext.limb_count()).apply(&phase);
        Ok(Plaintext { coefficients })
    }

    /// c_0 + c_1·s + c_2·s², modulo the primes of the ciphertext.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, top, &mut rng)?;
    /// let phase = secret.phase(&x)?;
    /// assert_eq!(context.scale_and_round(top).apply(&phase)[0], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn phase(&self, ciphertext: &Ciphertext) -> Result<Zeroizing<RnsPoly<Coefficients>>, BfvError> {
        self.context.require_parameters("the ciphertext", ciphertext.parameters)?;
        require_tag("the ciphertext", ciphertext.tag, self.tag)?;
        let (limbs, parts) = (ciphertext.limb_count(), &ciphertext.parts);
        let (basis, secret) = (self.context.basis(limbs), self.spectrum_at(limbs));
        // Horner's rule from the last part down.
        let mut phase = basis.zero::<Spectrum>();
        for part in parts[1..].iter().rev() {
            basis.add_assign(&mut phase, &basis.forward(part.clone()));
            basis.multiply(&mut phase, &secret);
        }
        let mut phase = Zeroizing::new(basis.inverse(phase));
        basis.add_assign(&mut phase, &parts[0]);
        Ok(phase)
    }

    /// The greatest coefficient, in magnitude, of the noise v = c_0 + c_1·s + c_2·s² − ⌊Q·m/t⌉ for the plaintext m that it
    /// decrypts to.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, top, &mut rng)?;
    /// // Twenty standard deviations of an error.
    /// assert!(secret.noise(&x)? < 64.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise(&self, ciphertext: &Ciphertext) -> Result<BigInt, BfvError> {
        let noise = self.noise_polynomial(ciphertext)?;
        let basis = self.context.basis(ciphertext.limb_count());
        Ok((0..self.context.n()).map(|i| basis.compose(&noise, i).abs()).max().unwrap_or_default())
    }

    /// The noise v itself.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, top, &mut rng)?;
    /// let noise = secret.noise_polynomial(&x)?;
    /// assert!(context.basis(top).compose(&noise, 0) < 64.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise_polynomial(&self, ciphertext: &Ciphertext) -> Result<Zeroizing<RnsPoly<Coefficients>>, BfvError> {
        let mut noise = self.phase(ciphertext)?;
        let limbs = ciphertext.limb_count();
        let coefficients = self.context.scale_and_round(limbs).apply(&noise);
        let plaintext = Zeroizing::new(Plaintext { coefficients });
        let message = Zeroizing::new(self.context.scale_up(&plaintext, limbs));
        self.context.basis(limbs).sub_assign(&mut noise, &message);
        Ok(noise)
    }

    /// log2 of how much the noise may still grow before decryption fails: log2(Q/(2t)) − log2(noise), at least 0.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = secret.encrypt(&context.encode(&[7])?, top, &mut rng)?;
    /// let y = context.multiply(&x, &x)?;
    /// assert!(secret.noise_budget(&y)? < secret.noise_budget(&x)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise_budget(&self, ciphertext: &Ciphertext) -> Result<f64, BfvError> {
        let noise = self.noise(ciphertext)?;
        let budget = self.context.basis(ciphertext.limb_count()).log2() - 1.0 - (self.context.t() as f64).log2();
        // A noise of 0 may grow as much as one of 1.
        let noise = if noise.is_zero() { 0.0 } else { log2(&noise) };
        Ok((budget - noise).max(0.0))
    }
}

/// log2 of a positive integer.
pub(crate) fn log2(x: &BigInt) -> f64 {
    let shift = x.bits().saturating_sub(64);
    let top = (x.magnitude() >> shift).iter_u64_digits().next().unwrap_or(0);
    (top as f64).log2() + shift as f64
}

/// poly ← poly + e.
fn add_error(context: &Context, poly: &mut RnsPoly<Coefficients>, noise: &mut Csprng) {
    let basis = context.basis(poly.limb_count());
    let error = Zeroizing::new(basis.from_signed(&error(context.n(), noise)));
    basis.add_assign(poly, &error);
}

impl SeededCiphertext {
    /// The ciphertext, c_1 written out.
    ///
    /// # Errors
    /// If it is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let seeded = secret.encrypt_seeded(&context.encode(&[5])?, top, &mut rng)?;
    /// assert_eq!(seeded.expand(&context)?.parts().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expand(&self, context: &Context) -> Result<Ciphertext, BfvError> {
        context.require_parameters("the ciphertext", self.parameters)?;
        let c1 = context.basis(self.limb_count()).uniform(&mut MaskStream::new(&self.seed, MASK_STREAM));
        Ok(Ciphertext { parameters: self.parameters, tag: self.tag, parts: vec![self.c0.clone(), c1] })
    }
}

impl PublicKey {
    /// Encrypts at `limbs` limbs.
    ///
    /// # Errors
    /// If the level does not exist or the plaintext is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let public = PublicKey::generate(&secret)?;
    /// let x = public.encrypt(&context.encode(&[-3])?, top, &mut rng)?;
    /// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], -3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(&self, plaintext: &Plaintext, limbs: usize, rng: &mut Csprng) -> Result<Ciphertext, BfvError> {
        self.context.require_limbs(limbs)?;
        self.context.require_plaintext(plaintext)?;
        let mut ciphertext = self.encrypt_zero(limbs, rng)?;
        let message = Zeroizing::new(self.context.scale_up(plaintext, limbs));
        self.context.basis(limbs).add_assign(&mut ciphertext.parts[0], &message);
        Ok(ciphertext)
    }

    /// A fresh encryption of 0 at `limbs` limbs, to re-randomise a ciphertext by addition.
    ///
    /// # Errors
    /// If the level does not exist.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let public = PublicKey::generate(&secret)?;
    /// let x = public.encrypt(&context.encode(&[3])?, top, &mut rng)?;
    /// let y = context.add(&x, &public.encrypt_zero(top, &mut rng)?)?;
    /// assert_ne!(x, y);
    /// assert_eq!(secret.decrypt(&x)?, secret.decrypt(&y)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_zero(&self, limbs: usize, rng: &mut Csprng) -> Result<Ciphertext, BfvError> {
        let context = &self.context;
        context.require_limbs(limbs)?;
        let basis = context.basis(limbs);
        let mut u = Zeroizing::new(vec![0; context.n()]);
        sampler::ternary(rng, &mut u);
        let u = Zeroizing::new(basis.forward(basis.from_signed(&u)));
        let part = |key: &RnsPoly<Spectrum>| {
            // The key's spectrum over the first primes of the chain is its spectrum in this basis.
            let mut product = key.clone();
            product.truncate(limbs);
            basis.multiply(&mut product, &u);
            let mut part = basis.inverse(product);
            add_error(context, &mut part, rng);
            part
        };
        let parts = self.parts.iter().map(part).collect();
        Ok(Ciphertext { parameters: context.parameters().id(), tag: self.tag, parts })
    }
}
