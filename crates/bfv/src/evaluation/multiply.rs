//! Products of ciphertexts over residues, without multi-precision integers (S. Halevi, Y. Polyakov, V. Shoup, "An
//! improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019).
//!
//! The parts of both operands, integers in (−Q/2, Q/2], are lifted to Q·B for a product B of auxiliary primes, multiplied
//! there as polynomials of integers, scaled by t/Q and rounded modulo B, and taken back to Q.
//!
//! A coefficient of the tensor product is at most 2·N·(Q/2)² = N·Q²/2 in magnitude, its scaled value N·t·Q/2. With
//! B ≥ 2·N·t·Q the tensor product is below Q·B/(4t) and the scaled value at most B/4: neither wraps around, and the
//! conversions, which may be wrong within 2^-49 of ±B/2, are exact. Where the lift of an operand may be wrong it takes x for
//! x ± Q, which is the same modulo Q and no greater than Q/2·(1 + 2^-49).

use ciphermill_lattice::rns::{BaseConverter, Coefficients, RnsBasis, RnsPoly, ScaleToBasis, Spectrum};
use ciphermill_math::modulus::ntt_primes;
use num_bigint::BigUint;

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::{BfvError, require_length};

/// Lengths of auxiliary primes and what a transform over one takes, relatively: the strategies of
/// [`PrimeNtt`](ciphermill_math::ntt::PrimeNtt).
const AUXILIARY: [(u32, usize); 2] = [(46, 23), (50, 32)];

/// The tables of products at one level.
#[derive(Debug)]
pub(super) struct Multiplication {
    /// Q·B, the primes of Q first.
    both: RnsBasis,
    /// From Q to B.
    lift: BaseConverter,
    /// From Q·B to B, times t/Q.
    scale: ScaleToBasis,
    /// From B to Q.
    back: BaseConverter,
}

impl Multiplication {
    pub(super) fn new(context: &Context, limbs: usize) -> Self {
        let (q, n) = (context.basis(limbs), context.n());
        let bound = BigUint::from(2 * n) * context.t() * q.product();
        let choices = AUXILIARY.map(|(bits, cost)| {
            let mut product = BigUint::from(1u32);
            let mut primes = Vec::new();
            let taken: Vec<_> = context.chain().moduli().collect();
            for p in ntt_primes(bits, n).filter(|p| !taken.contains(p)) {
                if product >= bound {
                    break;
                }
                product *= p.value();
                primes.push(p.value());
            }
            (primes.len() * cost, primes)
        });
        let [first, second] = choices;
        let (_, primes) = if first.0 <= second.0 { first } else { second };
        let b =
            RnsBasis::new(q.polynomial_size(), &primes, context.isa()).expect("primes with a transform of this size");
        Self {
            lift: BaseConverter::new(q, &b),
            scale: ScaleToBasis::new(q, &b, context.t()),
            back: BaseConverter::new(&b, q),
            both: q.join(&b),
        }
    }

    /// A polynomial over Q, lifted and transformed.
    fn spectrum(&self, poly: &RnsPoly<Coefficients>) -> RnsPoly<Spectrum> {
        let mut lifted = self.both.zero();
        let (own, auxiliary) = lifted.words_mut().split_at_mut(poly.words().len());
        own.copy_from_slice(poly.words());
        self.lift.convert_words(poly.words(), auxiliary);
        self.both.forward(lifted)
    }

    /// A coefficient of the tensor product, scaled and modulo Q again.
    fn scaled(&self, product: RnsPoly<Spectrum>) -> RnsPoly<Coefficients> {
        self.back.convert(&self.scale.apply(&self.both.inverse(product)))
    }
}

impl Context {
    /// lhs·rhs of two parts each: three parts, for [`relinearize`](Self::relinearize).
    ///
    /// # Errors
    /// As [`add`](Self::add), if an operand has three parts, or above L limbs.
    pub fn multiply(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.require_pair(lhs, rhs)?;
        let limbs = lhs.limb_count();
        self.require_switchable("number of limbs of a factor", limbs)?;
        require_length("number of parts of the left factor", lhs.parts.len(), 2)?;
        require_length("number of parts of the right factor", rhs.parts.len(), 2)?;
        let tables = self.tables().multiplication(self, limbs);
        let spectra = |factor: &Ciphertext| [0, 1].map(|k| tables.spectrum(&factor.parts[k]));
        let [mut a0, mut a1] = spectra(lhs);
        let [b0, b1] = if std::ptr::eq(lhs, rhs) { [a0.clone(), a1.clone()] } else { spectra(rhs) };
        let both = &tables.both;
        let mut middle = a0.clone();
        both.multiply(&mut middle, &b1);
        both.multiply_accumulate(&mut middle, &a1, &b0);
        both.multiply(&mut a0, &b0);
        both.multiply(&mut a1, &b1);
        let parts = [a0, middle, a1].map(|product| tables.scaled(product));
        Ok(Ciphertext { parts: parts.into(), ..*lhs })
    }
}
