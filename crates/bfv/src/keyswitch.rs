//! Hybrid key switching (C. Gentry, S. Halevi, N. Smart, CRYPTO 2012; K. Han, D. Ki, CT-RSA 2020): with P the product
//! of the special primes, Σ_j d_j·K_j over the digits d_j of a polynomial modulo Q is computed modulo Q·P and divided
//! by P, which divides the error of the keys by P as well.

use ciphermill_lattice::rns::{Coefficients, RnsPoly, Spectrum};
use ciphermill_lattice::{DecompositionBaseLog, KeyTag, PublicSeed};

use crate::context::Context;
use crate::error::BfvError;
use crate::keys::SecretKey;
use crate::parameters::ParameterId;

/// How a polynomial modulo Q = q_0·…·q_(l−1) is cut into digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gadget {
    /// Digit j is the polynomial modulo the product of the limbs `limbs_per_digit`·j …, centred. The product P of the
    /// special primes should be at least as large as the largest such product.
    Limbs {
        /// At least 1.
        limbs_per_digit: usize,
    },
    /// Each limb is cut into ⌈bits(q_i)/`base_log`⌉ balanced digits: smaller digits than a limb, for less noise.
    Bits {
        /// log2 of the base, at least 1 and at most 32.
        base_log: DecompositionBaseLog,
    },
}

/// A key that switches from one secret polynomial to the secret key: for each digit j of its gadget an encryption
/// (b_j, a_j) of P·g_j·s′ modulo Q·P, as spectra over the whole chain. The gadget entry g_j is 1 modulo the limbs of
/// digit j (2^(base_log·i) for the i-th digit of a limb) and 0 modulo the other limbs, so that one key serves every
/// level.
#[derive(Clone, Debug)]
pub struct KeySwitchKey {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) gadget: Gadget,
    /// The seed of the a_j, stored instead of them.
    pub(crate) seed: PublicSeed,
    /// (b_j, a_j) over the chain, by digit.
    pub(crate) digits: Vec<[RnsPoly<Spectrum>; 2]>,
}

impl KeySwitchKey {
    /// The key that switches from `from`, a small polynomial over the whole chain, to `secret`.
    pub(crate) fn generate(secret: &SecretKey, from: &RnsPoly<Spectrum>, gadget: Gadget) -> Result<Self, BfvError> {
        let _ = (secret, from, gadget);
        todo!()
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
#[derive(Clone, Debug)]
pub struct HoistedDigits {
    pub(crate) limbs: usize,
    pub(crate) gadget: Gadget,
    pub(crate) digits: Vec<RnsPoly<Spectrum>>,
}

impl Context {
    /// The number of digits of `gadget` for polynomials of `limbs` limbs.
    ///
    /// # Errors
    /// If the gadget does not fit the parameter set.
    pub fn digit_count(&self, gadget: Gadget, limbs: usize) -> Result<usize, BfvError> {
        let _ = (gadget, limbs);
        todo!()
    }

    /// The digits of `poly` (1 to L limbs), transformed.
    pub fn decompose(&self, poly: &RnsPoly<Coefficients>, gadget: Gadget) -> HoistedDigits {
        let _ = (poly, gadget);
        todo!()
    }

    /// Σ_j σ_g(d_j)·K_j in the extended basis of the digits' level: P times the key-switched σ_g(poly), not yet divided
    /// by P. `g` = 1 for none. The key has the digits' gadget.
    pub fn key_switch_extended(&self, digits: &HoistedDigits, key: &KeySwitchKey, g: usize) -> [RnsPoly<Spectrum>; 2] {
        let _ = (digits, key, g);
        todo!()
    }

    /// The pair (u_0, u_1) with u_0 + u_1·s ≈ poly·s′, for a polynomial of 1 to L limbs and the key from s′.
    pub fn key_switch(&self, poly: &RnsPoly<Coefficients>, key: &KeySwitchKey) -> [RnsPoly<Coefficients>; 2] {
        let _ = (poly, key);
        todo!()
    }
}
