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

use ciphermill_lattice::rns::{BaseConverter, RnsBasis, RnsBasisError, ScaleToBasis};
use ciphermill_math::modulus::ntt_primes;
use num_bigint::BigUint;

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::{BfvError, require_length};

/// Lengths of auxiliary primes, and the relative time of a transform over one: the strategies of
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
    /// # Errors
    /// If the context's provider has no transform for an auxiliary prime.
    pub(super) fn new(context: &Context, limbs: usize) -> Result<Self, RnsBasisError> {
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
        let b = RnsBasis::with_engines(q.polynomial_size(), &primes, context.ntt(), context.isa())?;
        Ok(Self {
            lift: BaseConverter::new(q, &b),
            scale: ScaleToBasis::new(q, &b, context.t()),
            back: BaseConverter::new(&b, q),
            both: q.join(&b),
        })
    }
}

impl Context {
    /// lhs·rhs of two parts each: three parts, for [`relinearize`](Self::relinearize).
    ///
    /// # Errors
    /// As [`add`](Self::add), if an operand has three parts, or above L limbs; if the context's provider has no transform
    /// for an auxiliary prime.
    pub fn multiply(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.require_pair(lhs, rhs)?;
        let limbs = lhs.limb_count();
        self.require_switchable("number of limbs of a factor", limbs)?;
        require_length("number of parts of the left factor", lhs.parts.len(), 2)?;
        require_length("number of parts of the right factor", rhs.parts.len(), 2)?;
        let (n, tables) = (self.n(), self.tables().multiplication(self, limbs)?);
        let (both, own) = (&tables.both, limbs * n);
        let auxiliary = both.len() * n - own;
        let mut scratch = self.tables().scratch(4 * auxiliary + 4 * n + 3 * both.len() * n);
        let (lifted, scratch) = scratch.split_at_mut(4 * auxiliary);
        let (rows, products) = scratch.split_at_mut(4 * n);
        // In this order the two products of the middle part are rows 0 and 1 times rows 2 and 3.
        let parts = [&lhs.parts[0], &lhs.parts[1], &rhs.parts[1], &rhs.parts[0]];
        for (part, lifted) in parts.iter().zip(lifted.chunks_exact_mut(auxiliary)) {
            tables.lift.convert_words(part.words(), lifted);
        }
        // Limb by limb, so that its spectra stay in the cache.
        for (i, limb) in both.limbs().iter().enumerate() {
            let engine = limb.engine();
            for ((row, part), lifted) in rows.chunks_exact_mut(n).zip(parts).zip(lifted.chunks_exact(auxiliary)) {
                row.copy_from_slice(if i < limbs { part.limb(i) } else { &lifted[(i - limbs) * n..][..n] });
                engine.forward_in_place(row);
            }
            let (a, b) = rows.split_at(2 * n);
            let ((a0, a1), (b1, b0)) = (a.split_at(n), b.split_at(n));
            for (k, (lhs, rhs)) in [(a0, b0), (a, b), (a1, b1)].into_iter().enumerate() {
                let product = &mut products[(k * both.len() + i) * n..][..n];
                product.fill(0);
                engine.multiply_accumulate(product, lhs, rhs);
                engine.inverse_in_place(product);
            }
        }
        let parts = products.chunks_exact_mut(both.len() * n).map(|product| {
            let (q, b) = product.split_at_mut(own);
            tables.scale.apply_words(q, b);
            let mut part = self.basis(limbs).zero();
            tables.back.convert_words(b, part.words_mut());
            part
        });
        Ok(Ciphertext { parts: parts.collect(), ..*lhs })
    }
}
