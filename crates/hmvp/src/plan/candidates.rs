//! The candidates of the planner.

use ciphermill_lattice::{DecompositionBaseLog, PolynomialSize};
use ciphermill_math::modulus::{is_prime, ntt_primes};

use super::names;
use super::request::{Request, Strategy};
use crate::parts;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterSet, ParameterSpec, SecurityPolicy, largest_modulus_bits};

/// Entries are not split into narrower parts than this.
pub(super) const LEAST_PART_BITS: u32 = 8;

/// log2 of the greatest plaintext modulus that the planner makes.
const MAX_MODULUS_BITS: u32 = 58;

/// N that are tried. Below, 128 bits of security leave no room for a special prime next to a useful ciphertext modulus.
pub(super) const POLYNOMIAL_SIZES: [usize; 4] = [4096, 8192, 16384, 32768];

/// The most ciphertext moduli that are tried.
pub(super) const MAX_LIMBS: usize = 6;

/// Lengths of primes that are tried: transforms get slower beyond 46 bits, and everything far slower beyond 50.
const PRIME_BITS: [u32; 2] = [46, 50];

/// Shorter primes are not tried.
const LEAST_PRIME_BITS: u32 = 24;

/// Lengths to try for `limbs` ciphertext moduli and a special one within the bounds of the request's security.
pub(super) fn prime_lengths(request: &Request, polynomial_size: usize, limbs: usize) -> Vec<u32> {
    let max = largest_modulus_bits(polynomial_size, request.security).unwrap_or(0.0);
    let fit = max as u32 / (limbs as u32 + 1);
    let mut lengths: Vec<u32> = PRIME_BITS.into_iter().map(|bits| bits.min(fit)).collect();
    lengths.dedup();
    lengths.retain(|&bits| bits >= LEAST_PRIME_BITS);
    lengths
}

/// A chain of primes.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) polynomial_size: usize,
    pub(super) ciphertext_moduli: Vec<u64>,
    pub(super) special_moduli: Vec<u64>,
    pub(super) name: String,
}

impl Chain {
    /// Of `limbs` ciphertext moduli and a special one, the largest primes of one length; the special one is the largest.
    pub(super) fn uniform(polynomial_size: usize, limbs: usize, bits: u32) -> Option<Self> {
        let mut primes = ntt_primes(bits, polynomial_size).take(limbs + 1).map(|p| p.value());
        let special_moduli = vec![primes.next()?];
        let ciphertext_moduli: Vec<u64> = primes.collect();
        let name = names::uniform(polynomial_size, limbs, bits);
        (ciphertext_moduli.len() == limbs).then_some(Self { polynomial_size, ciphertext_moduli, special_moduli, name })
    }

    pub(super) fn of(set: &ParameterSpec) -> Self {
        Self {
            polynomial_size: set.polynomial_size.get(),
            ciphertext_moduli: set.ciphertext_moduli.clone(),
            special_moduli: set.special_moduli.clone(),
            name: set.name.clone(),
        }
    }

    /// The length of the longest ciphertext modulus.
    pub(super) fn prime_bits(&self) -> u32 {
        self.ciphertext_moduli.iter().map(|q| u64::BITS - q.leading_zeros()).max().unwrap_or(0)
    }

    /// Decompositions that are worth trying, those with fewer digits first.
    pub(super) fn gadgets(&self) -> Vec<Gadget> {
        let bits =
            |parts: u32| Gadget::Bits { base_log: DecompositionBaseLog(self.prime_bits().div_ceil(parts) as usize) };
        let mut gadgets = vec![Gadget::Limbs { limbs_per_digit: 1 }];
        gadgets.extend((2..=4).map(bits));
        gadgets
    }

    /// The parameter set with this t and the decomposition of key switches that ask for no other; `None` if it is not
    /// admissible.
    pub(super) fn set(&self, plaintext_modulus: u64, gadget: Gadget) -> Option<ParameterSet> {
        let spec = ParameterSpec {
            name: names::set(&self.name, plaintext_modulus, gadget),
            polynomial_size: PolynomialSize::new(self.polynomial_size).ok()?,
            ciphertext_moduli: self.ciphertext_moduli.clone(),
            special_moduli: self.special_moduli.clone(),
            plaintext_modulus,
            gadget,
        };
        ParameterSet::new(spec, SecurityPolicy::Require128Bits).ok()
    }
}

/// The paper's chain, if it has 128 bits of security.
pub(super) fn paper_chain() -> Option<Chain> {
    ParameterSet::named(CHAM_PAPER, SecurityPolicy::Require128Bits).ok().map(|set| Chain::of(&set))
}

/// How entries may be split: the matrix's parts, the vector's parts, those with fewer products first.
pub(super) fn splittings(request: &Request) -> Vec<(Vec<u32>, Vec<u32>)> {
    let counts = |bits: u32| 1..=if request.unsplit { 1 } else { bits.div_ceil(LEAST_PART_BITS) };
    let mut counts: Vec<(u32, u32)> =
        counts(request.matrix_bits).flat_map(|a| counts(request.vector_bits).map(move |v| (a, v))).collect();
    // Of equally many products those with fewer parts of the vector: they share more of the work on it.
    counts.sort_by_key(|&(a, v)| (a * v, v));
    let split = |(a, v)| (parts::part_bits(request.matrix_bits, a), parts::part_bits(request.vector_bits, v));
    counts.into_iter().map(split).collect()
}

/// The least plaintext modulus from `needed` on that suits the strategy: a power of two, which multiplies cheaply and makes
/// shares of whole bits, or the least prime with slots. `None` beyond 2^58.
pub(super) fn plaintext_modulus(strategy: Strategy, polynomial_size: usize, needed: u128) -> Option<u64> {
    if needed > 1 << MAX_MODULUS_BITS {
        return None;
    }
    let needed = needed as u64;
    if !strategy.is_batched() {
        return Some(needed.next_power_of_two());
    }
    let order = 2 * polynomial_size as u64;
    let first = needed.saturating_sub(1).div_ceil(order).max(1);
    (first..).map(|k| k * order + 1).take_while(|p| *p < 1 << (MAX_MODULUS_BITS + 1)).find(|&p| is_prime(p))
}
