//! Sums over the limbs of a basis, in other moduli.
//!
//! By the Chinese remainder theorem the x of (−Q/2, Q/2] with residues x_i is Σ y_i·(Q/q_i) − v·Q for y_i =
//! x_i·(Q/q_i)^-1 mod q_i and the integer v = ⌊Σ y_i/q_i⌉. What conversion and scaling need of x, modulo some m, is
//! always e·x_m + Σ c_i·y_i + d·v for constants e, c_i and d of m, with a factor f in y_i = f·x_i·(Q/q_i)^-1, and a
//! residue x_m: S. Halevi, Y. Polyakov, V. Shoup, "An improved RNS variant of the BFV homomorphic encryption scheme",
//! CT-RSA 2019, §2.
//!
//! v comes from fractions of 63 bits, each of which is less than 2·2^-63 too small. It is wrong, by 1, only if Σ y_i/q_i
//! is above a half and nearer to it than L·2^-62, which for L ≤ 2^12 limbs is at most 2^-50.

use ciphermill_math::{Isa, Modulus};
use zeroize::Zeroizing;

use super::RnsBasis;
use super::kernels::{Factor, HALF, Path, Reciprocal, Ring, Source};

/// Coefficients at a time: the y_i of a few limbs stay in the first-level cache.
pub(super) const BLOCK: usize = 256;

/// The constants of one m.
#[derive(Clone, Debug)]
pub(super) struct Target {
    ring: Ring,
    /// e, if there is x_m: it stands in the result.
    own: Option<Factor>,
    /// The c_i and d.
    terms: Vec<Factor>,
}

impl Target {
    /// For m = `modulus`, with residues for constants.
    pub(super) fn new(modulus: u64, own: Option<u64>, terms: impl IntoIterator<Item = u64>) -> Self {
        let factor = |w| Factor::new(w, modulus);
        Self { ring: Ring::new(modulus), own: own.map(factor), terms: terms.into_iter().map(factor).collect() }
    }
}

/// The sums over the limbs of one basis for some m.
#[derive(Clone, Debug)]
pub(super) struct CrtSums {
    path: Path,
    sources: Vec<Source>,
    targets: Vec<Target>,
}

/// a·b modulo `m`.
pub(super) fn mul(a: u64, b: u64, m: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(m)) as u64
}

/// The product of these primes modulo `m`.
pub(super) fn product(primes: impl Iterator<Item = Modulus>, m: u64) -> u64 {
    primes.fold(1 % m, |product, q| mul(product, q.value() % m, m))
}

/// Q/q_i modulo `m`.
pub(super) fn cofactor(basis: &RnsBasis, i: usize, m: u64) -> u64 {
    product(basis.moduli().take(i).chain(basis.moduli().skip(i + 1)), m)
}

/// What limb i of a basis gives with the factor `f`.
pub(super) fn source(basis: &RnsBasis, i: usize, f: u64) -> Source {
    let q = basis.limbs()[i].modulus();
    let inverse = q.inverse(cofactor(basis, i, q.value())).expect("primes are distinct");
    Source { q: q.value(), factor: Factor::new(q.mul(f, inverse), q.value()), reciprocal: Reciprocal::new(q) }
}

impl CrtSums {
    /// Over the limbs of `basis` with the factor `f`.
    pub(super) fn new(basis: &RnsBasis, f: u64, targets: Vec<Target>) -> Self {
        Self::from_sources(basis.isa(), (0..basis.len()).map(|i| source(basis, i, f)).collect(), targets)
    }

    /// The same, over given sources.
    pub(super) fn from_sources(isa: Isa, sources: Vec<Source>, targets: Vec<Target>) -> Self {
        let moduli = sources.iter().map(|source| source.q).chain(targets.iter().map(|target| target.ring.modulus()));
        Self { path: Path::new(isa, moduli), sources, targets }
    }

    /// The number of m.
    pub(super) fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// Makes the sums for limbs `x` of n words each, one result of n words per target in `out`.
    pub(super) fn run(&self, n: usize, x: &[u64], out: &mut [u64]) {
        assert_eq!(x.len(), n * self.sources.len(), "words of the limbs");
        assert_eq!(out.len(), n * self.targets.len(), "words of the results");
        let block = BLOCK.min(n);
        // The y_i and v are the rows of the sums; the fractions are next to them.
        let mut scratch = Zeroizing::new(vec![0; (self.sources.len() + 2) * block]);
        let (rows, fraction) = scratch.split_at_mut((self.sources.len() + 1) * block);
        for start in (0..n).step_by(block) {
            let (y, v) = rows.split_at_mut(self.sources.len() * block);
            fraction.fill(HALF);
            v.fill(0);
            for ((source, y), x) in self.sources.iter().zip(y.chunks_exact_mut(block)).zip(x.chunks_exact(n)) {
                self.path.source(source, &x[start..][..block], y, fraction, v);
            }
            for (target, out) in self.targets.iter().zip(out.chunks_exact_mut(n)) {
                self.path.sum(&target.ring, target.own, &target.terms, rows, &mut out[start..][..block]);
            }
        }
    }
}
