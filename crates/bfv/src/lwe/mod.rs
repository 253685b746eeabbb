//! LWE ciphertexts: extraction from RLWE ciphertexts, key switching, and packing into one RLWE ciphertext
//! (H. Chen, W. Dai, M. Kim, Y. Song, "Efficient homomorphic conversion between (ring) LWE ciphertexts", IACR ePrint
//! 2020/015; the paper's ExtractLWEs, PackTwoLWEs and PackLWEs).
//!
//! **LWE ciphertexts.** (b, a) with the *phase* b + ⟨a, s⟩ ≡ ⌊Q·m/t⌉ + noise modulo Q, for the vector s of the coefficients
//! of a secret polynomial, the constant one first, or an [`LweSecretKey`]. The sign is that of RLWE: c_0 + c_1·s.
//!
//! **Extraction.** The coefficient at X^k of c_0 + c_1·s is c_(0,k) + Σ_(j≤k) c_(1,k−j)·s_j − Σ_(j>k) c_(1,N+k−j)·s_j:
//! b = c_(0,k), and a_j is the factor of s_j. [`Context::lwe_to_rlwe`] is the inverse for k = 0, but for the other
//! coefficients of c_0, which it does not know: only the constant coefficient of its plaintext means anything.
//!
//! **Packing.** PackTwoLWEs takes a pair of RLWE ciphertexts at *level* j ≥ 1, each with 2^(j−1) values at multiples of
//! N/2^(j−1), to
//!
//! ```text
//! (even + X^(N/2^j)·odd) + σ_(2^j+1)(even − X^(N/2^j)·odd)
//! ```
//!
//! where σ_g is X ↦ X^g and a key switch. σ_(2^j+1) keeps X^(i·N/2^j) for even i and negates it for odd i, so the values
//! of `even` stay where they are, those of `odd` go to the odd multiples of N/2^j, and all are doubled. PackLWEs splits its
//! 2^l inputs into those of even and of odd index, packs both and packs the two at level l: input i ends at coefficient
//! i·N/2^l, times 2^l. Fewer than 2^l inputs are filled up with ciphertexts of 0.
//!
//! *The factor* is taken back beforehand: [`Context::divide_lwe`] multiplies (b, a) by 2^-l modulo Q, which exists as Q is
//! odd. Its noise becomes anything then, but the factor of the packing undoes that exactly; what grows is only what
//! key switches add, by 2^(l−j) for one at level j.
//!
//! *Other coefficients* hold sums of other coefficients of the inputs. With [`Unused::Clear`] the field trace
//! (σ_(2^j+1)(c) + c for j = l + 1 … log2 N) makes them 0, at log2 N − l more key switches and a factor of N instead of
//! 2^l.
//!
//! *Keys.* The elements 2^j + 1 for j = 1 … l, or … log2 N with the trace, are all that packing needs:
//! [`Context::packing_elements`]. No element serves two levels, as that of level j is 2^j + 1 modulo 2^(j+1): no
//! smaller set lets a merge take one key switch.
//!
//! [`mod@reference`] has plain definitions of all of this. The tests compare the fast paths here and the accelerator's
//! RTL with them.

mod pack;
pub mod reference;
mod switch;
pub mod tree;

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_math::Modulus;
use num_bigint::BigInt;

pub use pack::Unused;
pub use switch::{LweKeySwitchKey, LweSecretKey, MAX_LWE_DIMENSION};

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::encryption::require_tag;
use crate::error::{BfvError, require_length, require_range};
use crate::parameters::ParameterId;
use crate::secret_key::SecretKey;

/// An LWE ciphertext modulo the product of the first l primes of the chain.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
/// let lwe = context.extract_lwe(&x, 2)?;
/// assert_eq!((lwe.dimension(), lwe.limb_count()), (context.n(), top));
/// assert_eq!(secret.decrypt_lwe(&lwe)?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweCiphertext {
    pub(crate) parameters: ParameterId,
    pub(crate) tag: KeyTag,
    pub(crate) dimension: usize,
    /// a, limb after limb.
    pub(crate) mask: Vec<u64>,
    /// b, one residue per limb.
    pub(crate) body: Vec<u64>,
}

impl LweCiphertext {
    /// The id of its parameter set.
    pub fn parameter_id(&self) -> ParameterId {
        self.parameters
    }

    /// Its key set: that of a [`SecretKey`] or of an [`LweSecretKey`].
    pub fn key_tag(&self) -> KeyTag {
        self.tag
    }

    /// The length of a.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// l.
    pub fn limb_count(&self) -> usize {
        self.body.len()
    }

    /// a modulo prime `limb` of the chain.
    ///
    /// # Panics
    /// If it has no such limb.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// // The factor of the constant coefficient of the secret.
    /// let lwe = context.extract_lwe(&x, 0)?;
    /// assert_eq!(lwe.mask(0)[0], x.parts()[1].limb(0)[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mask(&self, limb: usize) -> &[u64] {
        &self.mask[limb * self.dimension..][..self.dimension]
    }

    /// b, one residue for each limb.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let lwe = context.extract_lwe(&x, 2)?;
    /// assert_eq!((lwe.body().len(), lwe.body()[0]), (top, x.parts()[0].limb(0)[2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn body(&self) -> &[u64] {
        &self.body
    }
}

impl Context {
    /// ExtractLWEs: the LWE ciphertext of the coefficient at X^`coefficient` of the plaintext, under the coefficients of
    /// the same secret.
    ///
    /// # Errors
    /// If the ciphertext is of another parameter set or has not two parts, or if there is no such coefficient.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// assert_eq!(secret.decrypt_lwe(&context.extract_lwe(&x, 1)?)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract_lwe(&self, ciphertext: &Ciphertext, coefficient: usize) -> Result<LweCiphertext, BfvError> {
        self.require_parameters("the ciphertext", ciphertext.parameters)?;
        require_length("number of parts of the ciphertext", ciphertext.parts.len(), 2)?;
        let n = self.n();
        require_range("coefficient to extract", coefficient as u64, 0, n as u64 - 1)?;
        let (basis, parts) = (self.basis(ciphertext.limb_count()), &ciphertext.parts);
        let mut mask = Vec::with_capacity(parts[1].words().len());
        for (p, words) in basis.moduli().zip(parts[1].limbs()) {
            let (low, high) = words.split_at(coefficient + 1);
            mask.extend(low.iter().rev());
            mask.extend(high.iter().rev().map(|&x| p.neg(x)));
        }
        let body = parts[0].limbs().map(|words| words[coefficient]).collect();
        Ok(LweCiphertext { parameters: ciphertext.parameters, tag: ciphertext.tag, dimension: n, mask, body })
    }

    /// The RLWE ciphertext whose plaintext has that of `lwe`, of dimension N, for its constant coefficient; its other
    /// coefficients are meaningless.
    ///
    /// # Errors
    /// If the ciphertext is of another parameter set, or its dimension is not N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let y = context.lwe_to_rlwe(&context.extract_lwe(&x, 2)?)?;
    /// assert_eq!(context.decode(&secret.decrypt(&y)?)[0], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lwe_to_rlwe(&self, lwe: &LweCiphertext) -> Result<Ciphertext, BfvError> {
        self.require_parameters("the LWE ciphertext", lwe.parameters)?;
        require_length("dimension of the LWE ciphertext", lwe.dimension, self.n())?;
        let mut c0 = self.basis(lwe.limb_count()).zero::<Coefficients>();
        c0.limbs_mut().zip(&lwe.body).for_each(|(limb, &body)| limb[0] = body);
        Ok(Ciphertext { parameters: lwe.parameters, tag: lwe.tag, parts: vec![c0, self.embed_mask(lwe)] })
    }

    /// c_1 of the RLWE ciphertext of an LWE ciphertext of dimension N.
    fn embed_mask(&self, lwe: &LweCiphertext) -> RnsPoly<Coefficients> {
        let basis = self.basis(lwe.limb_count());
        let mut c1 = basis.zero();
        for (i, p) in basis.moduli().enumerate() {
            let (out, mask) = (c1.limb_mut(i), lwe.mask(i));
            out[0] = mask[0];
            for (out, &a) in out[1..].iter_mut().zip(mask[1..].iter().rev()) {
                *out = p.neg(a);
            }
        }
        c1
    }

    /// `lwe` times 2^-`log2` modulo Q. A packing multiplies by 2^`log2` ([`packing_factor`](Self::packing_factor)) and
    /// so undoes it.
    ///
    /// # Errors
    /// If the ciphertext is of another parameter set, or `log2` is more than log2 N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let half = context.divide_lwe(&context.extract_lwe(&x, 1)?, 1)?;
    /// let y = context.lwe_to_rlwe(&half)?;
    /// assert_eq!(context.decode(&secret.decrypt(&context.add(&y, &y)?)?)[0], 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn divide_lwe(&self, lwe: &LweCiphertext, log2: u32) -> Result<LweCiphertext, BfvError> {
        self.require_parameters("the LWE ciphertext", lwe.parameters)?;
        require_range("log2 of the divisor", log2, 0, self.n().ilog2())?;
        let inverses = self.inverse_power_of_two(lwe.limb_count(), log2);
        let mut out = lwe.clone();
        let limbs = self.basis(lwe.limb_count()).limbs();
        for (i, (limb, &inverse)) in limbs.iter().zip(&inverses).enumerate() {
            limb.kernels().multiply_scalar(&mut out.mask[i * lwe.dimension..][..lwe.dimension], inverse);
            out.body[i] = limb.modulus().mul(out.body[i], inverse);
        }
        Ok(out)
    }

    /// 2^-`log2` modulo each of the first `limbs` primes.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let inverses = context.inverse_power_of_two(top, 1);
    /// assert!(context.basis(top).moduli().zip(inverses).all(|(p, inverse)| p.add(inverse, inverse) == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inverse_power_of_two(&self, limbs: usize, log2: u32) -> Vec<u64> {
        self.basis(limbs).inverse_residues(&(BigInt::from(1) << log2)).expect("the moduli are odd")
    }
}

/// a + b or a + b − p, without a branch, for canonical a and b.
fn add_masked(a: u64, b: u64, p: u64) -> u64 {
    let sum = a + b;
    sum.min(sum.wrapping_sub(p))
}

/// start + ⟨a, s⟩ modulo p, for s in {−1, 0, 1}: time and places in memory do not depend on s.
fn inner_product(a: &[u64], s: &[i64], start: u64, p: Modulus) -> u64 {
    let p = p.value();
    a.iter().zip(s).fold(start, |sum, (&a, &s)| {
        // All ones where s is −1, or is 1.
        let negative = (s >> 1) as u64;
        let positive = (s as u64 & 1 & !negative).wrapping_neg();
        let term = (a & positive) | ((p - a) & negative);
        add_masked(sum, term.min(term.wrapping_sub(p)), p)
    })
}

/// ⌊t·phase/Q⌉ modulo t.
fn decrypt(context: &Context, lwe: &LweCiphertext, secret: &[i64]) -> u64 {
    let limbs = lwe.limb_count();
    let mut poly = context.basis(limbs).zero::<Coefficients>();
    for (i, (p, words)) in context.basis(limbs).moduli().zip(poly.limbs_mut()).enumerate() {
        // The phase.
        words[0] = inner_product(lwe.mask(i), secret, lwe.body[i], p);
    }
    context.scale_and_round(limbs).apply(&poly)[0]
}

impl SecretKey {
    /// The plaintext of an LWE ciphertext under the coefficients of this key: ⌊t·(b + ⟨a, s⟩)/Q⌉ modulo t.
    ///
    /// # Errors
    /// If the ciphertext is of another key or parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// assert_eq!(secret.decrypt_lwe(&context.extract_lwe(&x, 0)?)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_lwe(&self, lwe: &LweCiphertext) -> Result<u64, BfvError> {
        self.context.require_parameters("the LWE ciphertext", lwe.parameters)?;
        require_tag("the LWE ciphertext", lwe.tag, self.tag)?;
        require_length("dimension of the LWE ciphertext", lwe.dimension, self.context.n())?;
        Ok(decrypt(&self.context, lwe, &self.coefficients))
    }
}
