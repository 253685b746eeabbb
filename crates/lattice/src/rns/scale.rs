//! Division with rounding: of a polynomial by some of its primes, and of t times a polynomial by all.
//!
//! With [x]_Q the representative of x modulo Q in (−Q/2, Q/2], ⌊t·x/Q⌉ = (t·x − [t·x]_Q)/Q. As [t·x]_Q = Σ y_i·(Q/q_i) −
//! v·Q for y_i = x_i·t·(Q/q_i)^-1 mod q_i, this is t·x·Q^-1 − Σ y_i·q_i^-1 + v modulo any m that has an inverse of Q.

use num_bigint::BigUint;

use super::crt::{self, CrtSums, Target};
use super::kernels::{self, Factor, Reciprocal};
use super::{Coefficients, RnsBasis, RnsPoly};

/// The target m = `modulus` of ⌊t·x/Q⌉, for x with a residue modulo m.
fn quotient_target(q: &RnsBasis, t: u64, modulus: ciphermill_math::Modulus) -> Target {
    let m = modulus.value();
    let inverse = |x: u64| modulus.inverse(x % m).expect("the bases have no prime in common");
    let own = Factor::new(crt::mul(t % m, inverse(crt::product(q, m)), m), m);
    let terms = q.moduli().map(|q| m - inverse(q.value())).chain([1]);
    Target { modulus: m, own: Some(own), terms: terms.map(|c| Factor::new(c, m)).collect() }
}

/// Divides by the product P of the last K primes of a basis and rounds: x modulo Q·P to ⌊x/P⌉ modulo Q.
///
/// For K = 1 it is always exact, otherwise except where x/P is within 2^-50 of a half, which may be rounded either way.
/// Time and places in memory do not depend on the values.
#[derive(Clone, Debug)]
pub struct ModDown {
    keep: RnsBasis,
    drop: RnsBasis,
    division: Division,
}

#[derive(Clone, Debug)]
enum Division {
    /// By one prime, with its inverse modulo each kept one.
    One(Vec<Factor>),
    /// By several.
    Sums(CrtSums),
}

impl ModDown {
    /// From `keep` followed by `drop` to `keep`.
    ///
    /// # Panics
    /// If they differ in N or have a prime in common.
    pub fn new(keep: &RnsBasis, drop: &RnsBasis) -> Self {
        assert_eq!(keep.polynomial_size(), drop.polynomial_size(), "bases of one polynomial size");
        let targets: Vec<Target> = keep.moduli().map(|q| quotient_target(drop, 1, q)).collect();
        let division = if drop.len() == 1 {
            Division::One(targets.iter().filter_map(|target| target.own).collect())
        } else {
            Division::Sums(CrtSums { targets, ..CrtSums::new(drop, 1) })
        };
        Self { keep: keep.clone(), drop: drop.clone(), division }
    }

    /// ⌊x/P⌉.
    pub fn apply(&self, mut poly: RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        assert_eq!(poly.limb_count(), self.keep.len() + self.drop.len(), "limbs of both bases");
        let (keep, drop) = poly.words_mut().split_at_mut(self.keep.len() * self.keep.polynomial_size().get());
        self.apply_words(keep, drop);
        poly.truncate(self.keep.len());
        poly
    }

    /// The same in place: x is given by the words `keep` and `drop` of its limbs, ⌊x/P⌉ is in `keep` afterwards.
    ///
    /// # Panics
    /// If they are not as many as the limbs of both bases have.
    pub fn apply_words(&self, keep: &mut [u64], drop: &[u64]) {
        let (n, isa) = (self.keep.polynomial_size().get(), self.keep.isa());
        assert_eq!(keep.len(), n * self.keep.len(), "words of the limbs that are kept");
        assert_eq!(drop.len(), n * self.drop.len(), "words of the limbs that go");
        match &self.division {
            Division::One(inverses) => {
                let p = self.drop.limbs()[0].modulus().value();
                for ((q, &inverse), keep) in self.keep.moduli().zip(inverses).zip(keep.chunks_exact_mut(n)) {
                    kernels::divide_and_round(isa, p, q.value(), inverse, drop, keep);
                }
            }
            Division::Sums(sums) => sums.run(isa, n, drop, keep),
        }
    }
}

/// ⌊t·x/Q⌉ modulo t for x modulo Q: what decryption ends with. For t < 2^60 and any basis. Exact, except where t·x/Q is
/// within 2^-50 of a half, which may be rounded either way. Time and places in memory do not depend on the values.
#[derive(Clone, Debug)]
pub struct ScaleAndRound {
    basis: RnsBasis,
    sums: CrtSums,
}

impl ScaleAndRound {
    /// To the modulus `t`.
    ///
    /// # Panics
    /// If t is not from 2 to 2^60 − 1.
    pub fn new(basis: &RnsBasis, t: u64) -> Self {
        assert!((2..1 << 60).contains(&t), "plaintext modulus {t} is not from 2 to 2^60 - 1");
        let mut sums = CrtSums::new(basis, t);
        let mut terms = Vec::new();
        for (source, q) in sums.sources.iter_mut().zip(basis.moduli()) {
            // t·x ≡ 0 modulo t: what remains is −Σ y_i·q_i^-1 + v. If q_i divides t, then x_i adds the integer
            // (x_i·(Q/q_i)^-1 mod q_i)·t/q_i, and no fraction.
            let inverse = BigUint::from(q.value()).modinv(&BigUint::from(t));
            terms.push(match inverse {
                Some(inverse) => t - u64::try_from(inverse).expect("below t"),
                None => {
                    *source = CrtSums::new(basis, 1).sources[terms.len()];
                    source.reciprocal = Reciprocal::zero();
                    t / q.value()
                }
            });
        }
        let terms = terms.into_iter().chain([1]).map(|c| Factor::new(c, t)).collect();
        sums.targets.push(Target { modulus: t, own: None, terms });
        Self { basis: basis.clone(), sums }
    }

    /// Every coefficient of `poly`, scaled, in `[0, t)`.
    pub fn apply(&self, poly: &RnsPoly<Coefficients>) -> Vec<u64> {
        self.basis.check(poly);
        let n = self.basis.polynomial_size().get();
        let mut out = vec![0; n];
        self.sums.run(self.basis.isa(), n, poly.words(), &mut out);
        out
    }
}

/// ⌊t·x/Q⌉ modulo B for x modulo Q·B, represented by the integer of (−Q·B/2, Q·B/2]: what a product of BFV ciphertexts
/// ends with, before [`BaseConverter`](super::BaseConverter) takes it from B back to Q (S. Halevi, Y. Polyakov, V. Shoup,
/// "An improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019, §2.4). Exact, except where t·x/Q is
/// within 2^-50 of a half, which may be rounded either way. Time and places in memory do not depend on the values.
///
/// ⌊t·x/Q⌉ itself is of (−t·B/2, t·B/2): it is determined by its residues only if |x| ≤ Q·B/(2t).
#[derive(Clone, Debug)]
pub struct ScaleToBasis {
    q: RnsBasis,
    b: RnsBasis,
    sums: CrtSums,
}

impl ScaleToBasis {
    /// From the basis `q` followed by `b` to `b`.
    ///
    /// # Panics
    /// If they differ in N or have a prime in common, or if t is not from 1 to 2^60 − 1.
    pub fn new(q: &RnsBasis, b: &RnsBasis, t: u64) -> Self {
        assert_eq!(q.polynomial_size(), b.polynomial_size(), "bases of one polynomial size");
        assert!((1..1 << 60).contains(&t), "plaintext modulus {t} is not from 1 to 2^60 - 1");
        let targets = b.moduli().map(|p| quotient_target(q, t, p)).collect();
        Self { q: q.clone(), b: b.clone(), sums: CrtSums { targets, ..CrtSums::new(q, t) } }
    }

    /// ⌊t·x/Q⌉ over B, for `poly` over Q·B: the limbs of Q first.
    pub fn apply(&self, poly: &RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        assert_eq!(poly.polynomial_size(), self.q.polynomial_size().get(), "polynomials of one size");
        assert_eq!(poly.limb_count(), self.q.len() + self.b.len(), "limbs of both bases");
        let n = poly.polynomial_size();
        let (q, b) = poly.words().split_at(self.q.len() * n);
        let mut out = RnsPoly::from_words(self.b.polynomial_size(), b.to_vec());
        self.sums.run(self.b.isa(), n, q, out.words_mut());
        out
    }
}
