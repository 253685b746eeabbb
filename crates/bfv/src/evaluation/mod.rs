//! Computing on ciphertexts. Results have the operands' level, which must be the same; operands of another key or
//! parameter set are refused.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::context::Context;
use crate::encryption::require_tag;
use crate::error::{BfvError, require_length, require_range};
use crate::keys::{GaloisKeys, RelinearizationKey, check_element};

mod multiply;
mod scale;

impl Context {
    /// lhs + rhs.
    ///
    /// # Errors
    /// If they do not belong together; so for all functions below.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let y = secret.encrypt(&context.encode(&[2])?, top, &mut rng)?;
    /// let result = context.add(&x, &y)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [7, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.require_pair(lhs, rhs)?;
        let basis = self.basis(lhs.limb_count());
        let (mut sum, rest) = if lhs.parts.len() >= rhs.parts.len() { (lhs.clone(), rhs) } else { (rhs.clone(), lhs) };
        sum.parts.iter_mut().zip(&rest.parts).for_each(|(sum, part)| basis.add_assign(sum, part));
        Ok(sum)
    }

    /// lhs − rhs.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let y = secret.encrypt(&context.encode(&[2])?, top, &mut rng)?;
    /// let result = context.sub(&x, &y)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [3, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sub(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.add(lhs, &self.negate(rhs)?)
    }

    /// −ciphertext.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.negate(&x)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [-5, -1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn negate(&self, ciphertext: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        let basis = self.basis(ciphertext.limb_count());
        let mut out = ciphertext.clone();
        out.parts.iter_mut().for_each(|part| basis.negate(part));
        Ok(out)
    }

    /// ciphertext + plaintext: adds ⌊Q·m/t⌉.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.add_plain(&x, &context.encode(&[2])?)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [7, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        let message = self.scaled_operand(ciphertext, plaintext)?;
        let mut out = ciphertext.clone();
        self.basis(out.limb_count()).add_assign(&mut out.parts[0], &message);
        Ok(out)
    }

    /// ciphertext − plaintext.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.sub_plain(&x, &context.encode(&[2])?)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [3, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sub_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        let message = self.scaled_operand(ciphertext, plaintext)?;
        let mut out = ciphertext.clone();
        self.basis(out.limb_count()).sub_assign(&mut out.parts[0], &message);
        Ok(out)
    }

    /// ciphertext·plaintext, the plaintext's coefficients taken in (−t/2, t/2].
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.mul_plain(&x, &context.encode(&[0, 2])?)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [0, 10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mul_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        self.require_plaintext(plaintext)?;
        let basis = self.basis(ciphertext.limb_count());
        let centred = Zeroizing::new(self.centred(plaintext));
        let factor = Zeroizing::new(basis.forward(basis.from_signed(&centred)));
        let parts = ciphertext.parts.iter().map(|part| {
            let mut product = basis.forward(part.clone());
            basis.multiply(&mut product, &factor);
            basis.inverse(product)
        });
        Ok(Ciphertext { parts: parts.collect(), ..*ciphertext })
    }

    /// Three parts to two.
    ///
    /// # Errors
    /// As [`add`](Self::add), if there are not three parts, or above L limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let y = secret.encrypt(&context.encode(&[2])?, top, &mut rng)?;
    /// let key = RelinearizationKey::generate(&secret)?;
    /// let product = context.relinearize(&context.multiply(&x, &y)?, &key)?;
    /// assert_eq!(product.parts().len(), 2);
    /// assert_eq!(context.decode(&secret.decrypt(&product)?)[..2], [10, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relinearize(&self, ciphertext: &Ciphertext, key: &RelinearizationKey) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        self.require_parameters("the relinearisation key", key.parameter_id())?;
        require_tag("the relinearisation key", key.tag(), ciphertext.tag)?;
        let limbs = ciphertext.limb_count();
        self.require_switchable("number of limbs of a ciphertext to relinearise", limbs)?;
        require_length("number of parts of a ciphertext to relinearise", ciphertext.parts.len(), 3)?;
        let mut parts = self.key_switch(&ciphertext.parts[2], &key.key);
        parts.iter_mut().zip(&ciphertext.parts).for_each(|(sum, part)| self.basis(limbs).add_assign(sum, part));
        Ok(Ciphertext { parts: parts.into(), ..*ciphertext })
    }

    /// The ciphertext with `limbs` limbs, fewer than now: divided by the primes that go, and rounded.
    ///
    /// # Errors
    /// As [`add`](Self::add), or if it has no more than `limbs` limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.switch_modulus(&x, 1)?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [5, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch_modulus(&self, ciphertext: &Ciphertext, limbs: usize) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        let now = ciphertext.limb_count();
        require_range("number of limbs to switch to", limbs as u64, 1, now as u64 - 1)?;
        let division = self.tables().modulus_switch(self.bases(), now, limbs);
        let parts = ciphertext.parts.iter().map(|part| division.apply(part.clone())).collect();
        Ok(Ciphertext { parts, ..*ciphertext })
    }

    /// σ_g of the plaintext, X ↦ X^g, under the same key.
    ///
    /// # Errors
    /// As [`add`](Self::add), if `keys` has no key for g, if there are not two parts, or above L limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let result = context.automorphism(&x, 3, &keys)?;
    /// // 5 + X becomes 5 + X^3.
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..4], [5, 0, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn automorphism(&self, ciphertext: &Ciphertext, g: usize, keys: &GaloisKeys) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        self.require_parameters("the Galois keys", keys.parameter_id())?;
        require_tag("the Galois keys", keys.tag(), ciphertext.tag)?;
        let limbs = ciphertext.limb_count();
        self.require_switchable("number of limbs of a ciphertext for an automorphism", limbs)?;
        require_length("number of parts of a ciphertext for an automorphism", ciphertext.parts.len(), 2)?;
        if g == 1 {
            return Ok(ciphertext.clone());
        }
        check_element(g, self.n())?;
        let key = keys.get(g).ok_or_else(|| BfvError::MissingGaloisKeys { elements: vec![g] })?;
        let basis = self.basis(limbs);
        // On coefficients, where it is l permutations and not one for each digit and limb.
        let [c0, c1] = [0, 1].map(|k| basis.automorphism(&ciphertext.parts[k], g));
        let mut parts = self.key_switch(&c1, key);
        basis.add_assign(&mut parts[0], &c0);
        Ok(Ciphertext { parts: parts.into(), ..*ciphertext })
    }

    /// X^e times the plaintext; e counts modulo 2N.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let result = context.multiply_monomial(&x, context.n())?;
    /// assert_eq!(context.decode(&secret.decrypt(&result)?)[..2], [-5, -1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_monomial(&self, ciphertext: &Ciphertext, e: usize) -> Result<Ciphertext, BfvError> {
        self.require_ciphertext(ciphertext)?;
        let basis = self.basis(ciphertext.limb_count());
        let parts = ciphertext.parts.iter().map(|part| basis.multiply_monomial(part, e)).collect();
        Ok(Ciphertext { parts, ..*ciphertext })
    }

    fn require_ciphertext(&self, ciphertext: &Ciphertext) -> Result<(), BfvError> {
        self.require_parameters("the ciphertext", ciphertext.parameters)
    }

    /// An error unless two ciphertexts are of this set, one key and one level.
    fn require_pair(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<(), BfvError> {
        self.require_parameters("the left operand", lhs.parameters)?;
        self.require_parameters("the right operand", rhs.parameters)?;
        require_tag("the right operand", rhs.tag, lhs.tag)?;
        require_length("number of limbs of the right operand", rhs.limb_count(), lhs.limb_count())
    }

    fn scaled_operand(
        &self,
        ciphertext: &Ciphertext,
        plaintext: &Plaintext,
    ) -> Result<Zeroizing<RnsPoly<Coefficients>>, BfvError> {
        self.require_ciphertext(ciphertext)?;
        self.require_plaintext(plaintext)?;
        Ok(Zeroizing::new(self.scale_up(plaintext, ciphertext.limb_count())))
    }
}
