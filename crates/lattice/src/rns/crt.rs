//! Sums over the limbs of a basis, in another modulus.
//!
//! By the Chinese remainder theorem the x of (−Q/2, Q/2] with residues x_i is Σ y_i·(Q/q_i) − v·Q for y_i =
//! x_i·(Q/q_i)^-1 mod q_i and the integer v = ⌊Σ y_i/q_i⌉. What conversion and scaling need of x, modulo some m, is
//! always Σ y_i·c_i + v·d + x_m·e for constants c_i, d, e of m, a factor f in y_i = x_i·f·(Q/q_i)^-1, and a residue x_m:
//! S. Halevi, Y. Polyakov, V. Shoup, "An improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019, §2.
//!
//! v is found from fractions of 63 bits, each of which is up to 3·2^-63 too small. It is wrong, by 1, only if Σ y_i/q_i is
//! within 3L·2^-63 ≤ 2^-50 of a half.

use ciphermill_math::Isa;
use zeroize::Zeroizing;

use super::RnsBasis;
use super::kernels::{self, Factor, HALF, Reciprocal};

/// Coefficients at a time: the y_i of a few limbs stay in the first-level cache.
const BLOCK: usize = 256;

/// A limb that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) modulus: u64,
    /// f·(Q/q_i)^-1 modulo q_i.
    pub(super) factor: Factor,
    pub(super) reciprocal: Reciprocal,
}

/// A modulus for which the sum is made.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) modulus: u64,
    /// e, if what stands in the result is a term.
    pub(super) own: Option<Factor>,
    /// c_i for each source, and d.
    pub(super) terms: Vec<Factor>,
}

/// The sums of a basis for some moduli.
#[derive(Clone, Debug)]
pub(super) struct CrtSums {
    pub(super) sources: Vec<Source>,
    pub(super) targets: Vec<Target>,
}

/// (Q/q_i) modulo `m`, for each prime of `basis`.
pub(super) fn cofactors(basis: &RnsBasis, m: u64) -> impl Iterator<Item = u64> + '_ {
    (0..basis.len()).map(move |i| {
        let others = basis.moduli().enumerate().filter(|&(k, _)| k != i);
        others.fold(1 % m, |product, (_, q)| mul(product, q.value() % m, m))
    })
}

/// Q modulo `m`.
pub(super) fn product(basis: &RnsBasis, m: u64) -> u64 {
    basis.moduli().fold(1 % m, |product, q| mul(product, q.value() % m, m))
}

/// a·b modulo `m`.
pub(super) fn mul(a: u64, b: u64, m: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(m)) as u64
}

impl CrtSums {
    /// The sources of `basis` for the factor f, without targets.
    pub(super) fn new(basis: &RnsBasis, f: u64) -> Self {
        let sources = basis.moduli().enumerate().map(|(i, q)| {
            let cofactor = cofactors(basis, q.value()).nth(i).expect("one per prime");
            let inverse = q.inverse(cofactor).expect("primes are distinct");
            let factor = Factor::new(q.mul(f, inverse), q.value());
            Source { modulus: q.value(), factor, reciprocal: Reciprocal::new(q) }
        });
        Self { sources: sources.collect(), targets: Vec::new() }
    }

    /// Makes the sums for limbs `x` of n words each, one result of n words per target in `out`.
    pub(super) fn run(&self, isa: Isa, n: usize, x: &[u64], out: &mut [u64]) {
        assert_eq!(x.len(), n * self.sources.len(), "words of the limbs");
        assert_eq!(out.len(), n * self.targets.len(), "words of the results");
        let block = BLOCK.min(n);
        // The y_i, then v, then the fraction.
        let mut scratch = Zeroizing::new(vec![0; (self.sources.len() + 2) * block]);
        let (y, fraction) = scratch.split_at_mut((self.sources.len() + 1) * block);
        for start in (0..n).step_by(block) {
            let (y_i, v) = y.split_at_mut(self.sources.len() * block);
            fraction.fill(HALF);
            v.fill(0);
            for ((source, y), x) in self.sources.iter().zip(y_i.chunks_exact_mut(block)).zip(x.chunks_exact(n)) {
                kernels::multiply(isa, source.modulus, source.factor, &x[start..][..block], y);
                kernels::add_fraction(isa, source.reciprocal, y, fraction, v);
            }
            for (target, out) in self.targets.iter().zip(out.chunks_exact_mut(n)) {
                let out = &mut out[start..][..block];
                match target.own {
                    Some(factor) => kernels::scale(isa, target.modulus, factor, out),
                    None => out.fill(0),
                }
                for (&factor, y) in target.terms.iter().zip(y.chunks_exact(block)) {
                    kernels::multiply_add(isa, target.modulus, factor, y, out);
                }
            }
        }
    }
}
