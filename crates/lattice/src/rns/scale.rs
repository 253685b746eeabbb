//! Division with rounding: of a polynomial by some of its primes, and of t times a polynomial by all.
//!
//! With [x]_Q the integer of (−Q/2, Q/2] that is x modulo Q, ⌊t·x/Q⌉ = (t·x − [t·x]_Q)/Q, for odd Q. As [t·x]_Q =
//! Σ y_i·(Q/q_i) − v·Q for y_i = t·x_i·(Q/q_i)^-1 mod q_i, this is t·x·Q^-1 − Σ y_i·q_i^-1 + v modulo any m that has an
//! inverse of Q.

use ciphermill_math::Modulus;
use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::crt::{self, BLOCK, CrtSums, Target};
use super::kernels::{Factor, Path, Reciprocal, Source};
use super::{Coefficients, RnsBasis, RnsPoly};

/// ⌊t·x/Q⌉ modulo some primes, for x modulo Q and modulo each of them.
#[derive(Clone, Debug)]
enum Quotient {
    /// Q is one prime: exact.
    One(OnePrime),
    /// Q is a product of several.
    Sums(CrtSums),
}

/// ⌊t·x/q⌉ for one prime q.
#[derive(Clone, Debug)]
struct OnePrime {
    q: u64,
    /// t modulo q, unless t = 1.
    factor: Option<(Path, Factor)>,
    targets: Vec<OneTarget>,
}

#[derive(Clone, Debug)]
struct OneTarget {
    path: Path,
    m: u64,
    /// t, unless it is 1 (or x·t is 0) modulo m.
    factor: Option<Factor>,
    /// q^-1.
    inverse: Factor,
}

impl Quotient {
    fn new(q: &RnsBasis, t: u64, targets: impl Iterator<Item = Modulus>) -> Self {
        let inverse = |x: u64, m: Modulus| m.inverse(x % m.value()).expect("the bases have no prime in common");
        if q.len() == 1 {
            let prime = q.limbs()[0].modulus().value();
            let scaled = |m: u64| (t != 1).then(|| Factor::new(t % m, m));
            let targets = targets.map(|modulus| {
                let m = modulus.value();
                let path = Path::new(q.isa(), [prime, m]);
                OneTarget { path, m, factor: scaled(m), inverse: Factor::new(inverse(prime, modulus), m) }
            });
            let factor = scaled(prime).map(|factor| (Path::new(q.isa(), [prime]), factor));
            return Self::One(OnePrime { q: prime, factor, targets: targets.collect() });
        }
        let targets = targets.map(|modulus| {
            let m = modulus.value();
            let own = crt::mul(t % m, inverse(crt::product(q.moduli(), m), modulus), m);
            Target::new(m, Some(own), q.moduli().map(|q| m - inverse(q.value(), modulus)).chain([1]))
        });
        Self::Sums(CrtSums::new(q, t, targets.collect()))
    }

    /// `x` is the limbs of Q, `out` those of the other primes, of `n` words each: x before, the quotient afterwards.
    fn run(&self, n: usize, x: &[u64], out: &mut [u64]) {
        match self {
            Self::One(prime) => prime.run(n, x, out),
            Self::Sums(sums) => sums.run(n, x, out),
        }
    }
}

impl OnePrime {
    fn run(&self, n: usize, x: &[u64], out: &mut [u64]) {
        assert_eq!(x.len(), n, "words of the limb");
        assert_eq!(out.len(), n * self.targets.len(), "words of the results");
        // In one piece if there is nothing to keep in between.
        let block = if self.factor.is_some() { BLOCK.min(n) } else { n };
        let mut scaled = Zeroizing::new(vec![0; self.factor.map_or(0, |_| block)]);
        for start in (0..n).step_by(block) {
            let mut x = &x[start..][..block];
            if let Some((path, factor)) = self.factor {
                scaled.copy_from_slice(x);
                path.scale(self.q, factor, &mut scaled);
                x = &scaled;
            }
            for (target, out) in self.targets.iter().zip(out.chunks_exact_mut(n)) {
                let out = &mut out[start..][..block];
                if let Some(factor) = target.factor {
                    target.path.scale(target.m, factor, out);
                }
                target.path.divide_and_round(self.q, target.m, target.inverse, x, out);
            }
        }
    }
}

/// Divides by the product P of the last K primes of a basis and rounds: x modulo Q·P to ⌊x/P⌉ modulo Q.
///
/// For K = 1 it is always exact. Otherwise, where x/P is within 2^-50 of a half, it may be rounded either way. Time and
/// places in memory do not depend on the values.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let (keep, drop) = (basis.slice(0..1), basis.slice(1..2));
/// let quotient = ModDown::new(&keep, &drop).apply(monomial(0, 2 * 40961 + 5));
/// assert_eq!(keep.compose(&quotient, 0).to_string(), "2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModDown {
    keep: RnsBasis,
    drop: RnsBasis,
    quotient: Quotient,
}

impl ModDown {
    /// From `keep` followed by `drop` to `keep`.
    ///
    /// # Panics
    /// If they differ in N or have a prime in common.
    pub fn new(keep: &RnsBasis, drop: &RnsBasis) -> Self {
        assert_eq!(keep.polynomial_size(), drop.polynomial_size(), "bases of one polynomial size");
        Self { keep: keep.clone(), drop: drop.clone(), quotient: Quotient::new(drop, 1, keep.moduli()) }
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
        self.quotient.run(self.keep.polynomial_size().get(), drop, keep);
    }
}

/// ⌊t·x/Q⌉ modulo t for x modulo Q: what decryption ends with. For t < 2^60 and any basis. Exact for a basis of one
/// prime. Otherwise, where t·x/Q is within 2^-50 of a half, it may be rounded either way. Time and places in memory do not
/// depend on the values.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // 5/16 of the modulus 503369729, rounded, and some noise.
/// let poly = monomial(0, 157_303_040 + 1000);
/// assert_eq!(ScaleAndRound::new(&basis, 16).apply(&poly)[0], 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScaleAndRound {
    basis: RnsBasis,
    quotient: Quotient,
}

impl ScaleAndRound {
    /// To the modulus `t`.
    ///
    /// # Panics
    /// If t is not from 2 to 2^60 − 1.
    pub fn new(basis: &RnsBasis, t: u64) -> Self {
        assert!((2..1 << 60).contains(&t), "plaintext modulus {t} is not from 2 to 2^60 - 1");
        let inverse = |q: u64| {
            let inverse = BigUint::from(q).modinv(&BigUint::from(t))?;
            Some(u64::try_from(inverse).expect("below t"))
        };
        let first = basis.limbs()[0].modulus().value();
        let quotient = match inverse(first).filter(|_| basis.len() == 1) {
            Some(inverse) => {
                let factor = Some((Path::new(basis.isa(), [first]), Factor::new(t % first, first)));
                let path = Path::new(basis.isa(), [first, t]);
                let target = OneTarget { path, m: t, factor: None, inverse: Factor::new(inverse, t) };
                Quotient::One(OnePrime { q: first, factor, targets: vec![target] })
            }
            None => {
                // t·x is 0 modulo t: −Σ y_i·q_i^-1 + v remains. A prime q_i that divides t has no inverse, but adds an
                // integer for it, (x_i·(Q/q_i)^-1 mod q_i)·t/q_i.
                let limbs = basis.moduli().enumerate().map(|(i, q)| match inverse(q.value()) {
                    Some(inverse) => (crt::source(basis, i, t), t - inverse),
                    None => {
                        let whole = Source { reciprocal: Reciprocal::zero(), ..crt::source(basis, i, 1) };
                        (whole, t / q.value())
                    }
                });
                let (sources, terms): (Vec<_>, Vec<_>) = limbs.unzip();
                let target = Target::new(t, None, terms.into_iter().chain([1]));
                Quotient::Sums(CrtSums::from_sources(basis.isa(), sources, vec![target]))
            }
        };
        Self { basis: basis.clone(), quotient }
    }

    /// Every coefficient of `poly`, scaled, in `[0, t)`.
    pub fn apply(&self, poly: &RnsPoly<Coefficients>) -> Vec<u64> {
        self.basis.check(poly);
        let n = self.basis.polynomial_size().get();
        let mut out = vec![0; n];
        self.quotient.run(n, poly.words(), &mut out);
        out
    }
}

/// ⌊t·x/Q⌉ modulo B for x modulo Q·B, represented by the integer of (−Q·B/2, Q·B/2]. It is the last step of a product
/// of BFV ciphertexts, before [`BaseConverter`](super::BaseConverter) converts from B back to Q (S. Halevi, Y.
/// Polyakov, V. Shoup, "An improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019, §2.4). Exact if
/// Q is one prime. Otherwise, where t·x/Q is within 2^-50 of a half, it may be rounded either way. Time and places in
/// memory do not depend on the values.
///
/// ⌊t·x/Q⌉ itself is between ±t·B/2: its residues determine it if |x| < (B − 1)·Q/(2t).
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let (q, b) = (basis.slice(0..1), basis.slice(1..2));
/// let quotient = ScaleToBasis::new(&q, &b, 1).apply(&monomial(0, 3 * 12289 + 5));
/// assert_eq!(b.compose(&quotient, 0).to_string(), "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScaleToBasis {
    q: RnsBasis,
    b: RnsBasis,
    quotient: Quotient,
}

impl ScaleToBasis {
    /// From the basis `q` followed by `b` to `b`.
    ///
    /// # Panics
    /// If they differ in N or have a prime in common, or if t is not from 1 to 2^60 − 1.
    pub fn new(q: &RnsBasis, b: &RnsBasis, t: u64) -> Self {
        assert_eq!(q.polynomial_size(), b.polynomial_size(), "bases of one polynomial size");
        assert!((1..1 << 60).contains(&t), "plaintext modulus {t} is not from 1 to 2^60 - 1");
        Self { q: q.clone(), b: b.clone(), quotient: Quotient::new(q, t, b.moduli()) }
    }

    /// ⌊t·x/Q⌉ over B, for `poly` over Q·B: the limbs of Q first.
    pub fn apply(&self, poly: &RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        assert_eq!(poly.polynomial_size(), self.q.polynomial_size().get(), "polynomials of one size");
        assert_eq!(poly.limb_count(), self.q.len() + self.b.len(), "limbs of both bases");
        let (q, b) = poly.words().split_at(self.q.len() * poly.polynomial_size());
        let mut out = RnsPoly::from_words(self.b.polynomial_size(), b.to_vec());
        self.apply_words(q, out.words_mut());
        out
    }

    /// The same in place: x is given by the words `q` and `b` of its limbs, ⌊t·x/Q⌉ is in `b` afterwards.
    ///
    /// # Panics
    /// If they are not as many as the limbs of both bases have.
    pub fn apply_words(&self, q: &[u64], b: &mut [u64]) {
        let n = self.b.polynomial_size().get();
        assert_eq!(q.len(), n * self.q.len(), "words of the limbs of Q");
        assert_eq!(b.len(), n * self.b.len(), "words of the limbs of B");
        self.quotient.run(n, q, b);
    }
}
