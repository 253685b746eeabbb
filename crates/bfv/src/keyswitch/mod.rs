//! Hybrid key switching (C. Gentry, S. Halevi, N. Smart, CRYPTO 2012; K. Han, D. Ki, CT-RSA 2020): with P the product
//! of the special primes, Σ_j d_j·K_j over the digits d_j of a polynomial modulo Q is computed modulo Q·P and divided
//! by P, which divides the error of the keys by P as well.

use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_lattice::{Csprng, KeyTag, PublicSeed};
use num_bigint::BigInt;
use zeroize::Zeroizing;

use crate::context::Context;
use crate::error::{BfvError, require_range};
use crate::parameters::ParameterId;
use crate::secret_key::{KeySeeds, SecretKey, error, mask};

pub use crate::gadget::{Gadget, MAX_BASE_LOG, limb_digits};

pub mod digits;
mod switch;
#[cfg(test)]
mod tests;

/// A key that switches from one secret polynomial to the secret key: for each digit j of its gadget an encryption
/// (b_j, a_j) of P·g_j·s′ modulo Q·P, as spectra over the whole chain. The gadget entry g_j is 1 modulo the limbs of
/// digit j (2^(base_log·i) for the i-th digit of a limb) and 0 modulo the other limbs, so that one key serves every
/// level.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
/// let key = keys.get(3).expect("generated");
/// assert_eq!((key.gadget(), key.tag(), key.digits().len()), (gadget, secret.tag(), 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeySwitchKey {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) gadget: Gadget,
    /// The seed of the a_j, stored instead of them; a_j is its stream j.
    pub(crate) seed: PublicSeed,
    /// (b_j, a_j) over the chain, by digit.
    pub(crate) digits: Vec<[RnsPoly<Spectrum>; 2]>,
}

impl KeySwitchKey {
    /// The key that switches from `from`, a small polynomial over the whole chain, to `secret`. `seeds` serve no other
    /// key.
    pub(crate) fn generate(
        secret: &SecretKey,
        from: &RnsPoly<Spectrum>,
        gadget: Gadget,
        seeds: &KeySeeds,
    ) -> Result<Self, BfvError> {
        let context = &secret.context;
        let entries = context.gadget_entries(gadget)?;
        let (chain, n, seed) = (context.chain(), context.n(), seeds.mask);
        let special = chain.residues(&context.special_product());
        let mut digits = Vec::with_capacity(entries.len());
        for (j, entry) in entries.iter().enumerate() {
            let a = mask(context, &seed, j as u64);
            // P·g_j·s′ + e_j − a_j·s; each of the three is a secret until they are together.
            let error = error(n, &mut Csprng::from_secret(&seeds.noise, j as u64));
            let mut b = chain.forward(chain.from_signed(&error));
            for limb in entry.limbs.clone() {
                let kernels = chain.limbs()[limb].kernels();
                let factor = chain.limbs()[limb].modulus().mul(special[limb], 1 << entry.shift);
                let mut term = Zeroizing::new(from.limb(limb).to_vec());
                kernels.multiply_scalar(&mut term, factor);
                kernels.add(b.limb_mut(limb), &term);
            }
            let mut product = Zeroizing::new(a.clone());
            chain.multiply(&mut product, &secret.spectrum);
            chain.sub_assign(&mut b, &product);
            digits.push([b, a]);
        }
        Ok(Self { parameters: context.parameters().id(), tag: secret.tag, gadget, seed, digits })
    }

    /// The id of its parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.parameters
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// Its decomposition.
    pub fn gadget(&self) -> Gadget {
        self.gadget
    }

    /// (b_j, a_j) over the whole chain, by digit.
    pub fn digits(&self) -> &[[RnsPoly<Spectrum>; 2]] {
        &self.digits
    }
}

/// The digits of a polynomial, transformed, in the extended basis of its level: made once, used for many automorphisms
/// (hoisting; S. Halevi, V. Shoup, CRYPTO 2018).
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
/// let key = keys.get(3).expect("generated");
/// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
/// // One decomposition serves any number of automorphisms.
/// let digits = context.decompose(&x.parts()[1], key.gadget());
/// let sums = [context.key_switch_extended(&digits, key, 1), context.key_switch_extended(&digits, key, 3)];
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HoistedDigits {
    pub(crate) limbs: usize,
    pub(crate) gadget: Gadget,
    pub(crate) digits: Vec<RnsPoly<Spectrum>>,
}

/// One entry g_j of a gadget: 2^`shift` modulo `limbs`, 0 modulo the others.
struct GadgetEntry {
    limbs: std::ops::Range<usize>,
    shift: usize,
}

impl Context {
    /// The number of digits of `gadget` for polynomials of `limbs` limbs.
    ///
    /// # Errors
    /// If the gadget does not fit the parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.digit_count(gadget, 2)?, 2);
    /// assert!(context.digit_count(Gadget::Limbs { limbs_per_digit: 9 }, 2).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn digit_count(&self, gadget: Gadget, limbs: usize) -> Result<usize, BfvError> {
        self.require_gadget(gadget)?;
        self.require_switchable("number of limbs of a polynomial that is cut into digits", limbs)?;
        Ok(match gadget {
            Gadget::Limbs { limbs_per_digit } => limbs.div_ceil(limbs_per_digit),
            Gadget::Bits { base_log } => self.basis(limbs).moduli().map(|q| limb_digits(q.bits(), base_log)).sum(),
        })
    }

    /// An error unless keys can be switched with `gadget`.
    fn require_gadget(&self, gadget: Gadget) -> Result<(), BfvError> {
        if self.parameters().special_moduli.is_empty() {
            let name = &self.parameters().name;
            let what = format!("set {name} has no special modulus, so keys cannot be switched; use a set that has one");
            return Err(BfvError::Unsupported { what });
        }
        match gadget {
            Gadget::Limbs { limbs_per_digit } => {
                require_range("limbs per digit of a gadget", limbs_per_digit as u64, 1, self.top() as u64)
            }
            Gadget::Bits { base_log } => {
                require_range("log2 of the base of a gadget", base_log.0 as u64, 1, MAX_BASE_LOG as u64)
            }
        }
    }

    /// An error unless `limbs` is from 1 to L: the levels at which keys are switched.
    pub(crate) fn require_switchable(&self, what: &'static str, limbs: usize) -> Result<(), BfvError> {
        require_range(what, limbs as u64, 1, self.top() as u64)
    }

    /// The gadget's entries at the top level; those of a lower level are the first of them.
    fn gadget_entries(&self, gadget: Gadget) -> Result<Vec<GadgetEntry>, BfvError> {
        self.require_gadget(gadget)?;
        let top = self.top();
        Ok(match gadget {
            Gadget::Limbs { limbs_per_digit } => (0..top)
                .step_by(limbs_per_digit)
                .map(|first| GadgetEntry { limbs: first..top.min(first + limbs_per_digit), shift: 0 })
                .collect(),
            Gadget::Bits { base_log } => {
                let moduli = self.basis(top).moduli().enumerate();
                let entries = moduli.flat_map(|(limb, q)| {
                    let digits = 0..limb_digits(q.bits(), base_log);
                    digits.map(move |i| GadgetEntry { limbs: limb..limb + 1, shift: i * base_log.0 })
                });
                entries.collect()
            }
        })
    }

    /// P, the product of the special primes; 1 if there are none.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.special_product(), context.parameters().special_moduli[0].into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn special_product(&self) -> BigInt {
        self.parameters().special_moduli.iter().map(|&p| BigInt::from(p)).product()
    }
}
