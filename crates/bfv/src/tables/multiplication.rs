//! The tables of products of ciphertexts.
//!
//! A coefficient of the tensor product is at most 2·N·(Q/2)² = N·Q²/2 in magnitude, its scaled value N·t·Q/2. With
//! B ≥ 2·N·t·Q the tensor product is below Q·B/(4t) and the scaled value at most B/4: neither wraps around, and the
//! conversions, which may be wrong within 2^-49 of ±B/2, are exact. Where the lift of an operand may be wrong it takes x for
//! x ± Q, which is the same modulo Q and no greater than Q/2·(1 + 2^-49).

use ciphermill_lattice::rns::{BaseConverter, RnsBasis, RnsBasisError, ScaleToBasis};
use ciphermill_math::modulus::ntt_primes;
use num_bigint::BigUint;

use crate::bases::Bases;

/// Lengths of auxiliary primes, and the relative time of a transform over one: the strategies of
/// [`PrimeNtt`](ciphermill_math::ntt::PrimeNtt).
const AUXILIARY: [(u32, usize); 2] = [(46, 23), (50, 32)];

/// The tables of products at one level.
#[derive(Debug)]
pub(crate) struct Multiplication {
    /// Q·B, the primes of Q first.
    pub(crate) both: RnsBasis,
    /// From Q to B.
    pub(crate) lift: BaseConverter,
    /// From Q·B to B, times t/Q.
    pub(crate) scale: ScaleToBasis,
    /// From B to Q.
    pub(crate) back: BaseConverter,
}

impl Multiplication {
    /// # Errors
    /// If the provider of `bases` has no transform for an auxiliary prime.
    pub(super) fn new(bases: &Bases, t: u64, limbs: usize) -> Result<Self, RnsBasisError> {
        let (q, n) = (bases.level(limbs), bases.n());
        let bound = BigUint::from(2 * n) * t * q.product();
        let choices = AUXILIARY.map(|(bits, cost)| {
            let mut product = BigUint::from(1u32);
            let mut primes = Vec::new();
            let taken: Vec<_> = bases.chain().moduli().collect();
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
        let b = bases.of(&primes)?;
        Ok(Self {
            lift: BaseConverter::new(q, &b),
            scale: ScaleToBasis::new(q, &b, t),
            back: BaseConverter::new(&b, q),
            both: q.join(&b),
        })
    }
}
