//! Arithmetic on the polynomials of a basis.

use ciphermill_math::automorphism::Automorphism;
use num_bigint::{BigInt, BigUint, Sign};

use super::{Coefficients, Form, Limb, RnsBasis, RnsPoly, Spectrum, kernels};
use crate::rng::{Keystream, MaskStream};

impl RnsBasis {
    /// The polynomial with these N coefficients. Their time and place in memory do not depend on the values.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut coefficients = [0; 1024];
    /// coefficients[7] = -200_000_000;
    /// let poly = basis.from_signed(&coefficients);
    /// assert_eq!(basis.compose(&poly, 7).to_string(), "-200000000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_signed(&self, coefficients: &[i64]) -> RnsPoly<Coefficients> {
        assert_eq!(coefficients.len(), self.polynomial_size().get(), "as many coefficients as N");
        let mut poly = self.zero();
        for (limb, out) in self.limbs().iter().zip(poly.limbs_mut()) {
            kernels::reduce_signed(self.isa(), limb.modulus().value(), coefficients, out);
        }
        poly
    }

    /// A uniform polynomial modulo Q: for each limb in order and each coefficient in order, 64-bit words of the stream
    /// cut to the length of the prime, the first one below the prime. Part of the stored formats.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_lattice::{MaskStream, PublicSeed};
    ///
    /// let seed = PublicSeed([7; 32]);
    /// let [mask, again] = [0, 0].map(|stream| basis.uniform(&mut MaskStream::new(&seed, stream)));
    /// assert!(basis.is_canonical(&mask));
    /// assert_eq!(mask.words(), again.words());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn uniform(&self, stream: &mut MaskStream) -> RnsPoly<Coefficients> {
        let mut poly = self.zero();
        for (limb, out) in self.limbs().iter().zip(poly.limbs_mut()) {
            let p = limb.modulus();
            let mask = u64::MAX >> p.value().leading_zeros();
            let mut done = 0;
            // As many words as coefficients are missing: never more than will be needed, so that the stream goes on
            // behind the last word that was.
            while done < out.len() {
                let missing = &mut out[done..];
                stream.fill_u64(missing);
                let mut kept = 0;
                for next in 0..missing.len() {
                    let word = missing[next] & mask;
                    missing[kept] = word;
                    kept += usize::from(word < p.value());
                }
                done += kept;
            }
        }
        poly
    }

    /// Whether every word is below the prime of its limb and the number of limbs is L. A reader of outside bytes checks
    /// this.
    pub fn is_canonical(&self, poly: &RnsPoly<Coefficients>) -> bool {
        poly.polynomial_size() == self.polynomial_size().get()
            && poly.limb_count() == self.len()
            && self.limbs().iter().zip(poly.limbs()).all(|(limb, words)| {
                let p = limb.modulus().value();
                words.iter().fold(true, |below, &word| below & (word < p))
            })
    }

    /// The transform.
    pub fn forward(&self, mut poly: RnsPoly<Coefficients>) -> RnsPoly<Spectrum> {
        self.check(&poly);
        for (limb, words) in self.limbs().iter().zip(poly.limbs_mut()) {
            limb.engine().forward_in_place(words);
        }
        RnsPoly::from_words(self.polynomial_size(), poly.into_words())
    }

    /// The inverse transform.
    pub fn inverse(&self, mut poly: RnsPoly<Spectrum>) -> RnsPoly<Coefficients> {
        self.check(&poly);
        for (limb, words) in self.limbs().iter().zip(poly.limbs_mut()) {
            limb.engine().inverse_in_place(words);
        }
        RnsPoly::from_words(self.polynomial_size(), poly.into_words())
    }

    /// lhs ← lhs + rhs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut sum = monomial(1, 20_000);
    /// basis.add_assign(&mut sum, &monomial(1, 30_000));
    /// assert_eq!(basis.compose(&sum, 1).to_string(), "50000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_assign<F: Form>(&self, lhs: &mut RnsPoly<F>, rhs: &RnsPoly<F>) {
        self.each(lhs, rhs, |limb, lhs, rhs| limb.kernels().add(lhs, rhs));
    }

    /// lhs ← lhs − rhs.
    pub fn sub_assign<F: Form>(&self, lhs: &mut RnsPoly<F>, rhs: &RnsPoly<F>) {
        self.each(lhs, rhs, |limb, lhs, rhs| limb.kernels().sub(lhs, rhs));
    }

    /// poly ← −poly.
    pub fn negate<F: Form>(&self, poly: &mut RnsPoly<F>) {
        self.check(poly);
        for (limb, words) in self.limbs().iter().zip(poly.limbs_mut()) {
            limb.kernels().neg(words);
        }
    }

    /// lhs ← lhs·rhs, place by place.
    pub fn multiply(&self, lhs: &mut RnsPoly<Spectrum>, rhs: &RnsPoly<Spectrum>) {
        self.each(lhs, rhs, |limb, lhs, rhs| limb.engine().multiply(lhs, rhs));
    }

    /// acc ← acc + lhs·rhs, place by place.
    pub fn multiply_accumulate(&self, acc: &mut RnsPoly<Spectrum>, lhs: &RnsPoly<Spectrum>, rhs: &RnsPoly<Spectrum>) {
        self.check(acc);
        self.check(lhs);
        self.check(rhs);
        for (((limb, acc), lhs), rhs) in self.limbs().iter().zip(acc.limbs_mut()).zip(lhs.limbs()).zip(rhs.limbs()) {
            limb.engine().multiply_accumulate(acc, lhs, rhs);
        }
    }

    /// poly ← factor·poly for an integer given by its residues, one per limb.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut poly = monomial(1, 5);
    /// basis.multiply_scalar(&mut poly, &basis.residues(&(-20_000).into()));
    /// assert_eq!(basis.compose(&poly, 1).to_string(), "-100000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_scalar<F: Form>(&self, poly: &mut RnsPoly<F>, residues: &[u64]) {
        self.check(poly);
        assert_eq!(residues.len(), self.len(), "one residue per limb");
        for ((limb, words), &residue) in self.limbs().iter().zip(poly.limbs_mut()).zip(residues) {
            limb.kernels().multiply_scalar(words, residue);
        }
    }

    /// The residues of an integer.
    pub fn residues(&self, x: &BigInt) -> Vec<u64> {
        self.moduli()
            .map(|p| {
                let magnitude = small(&(x.magnitude() % p.value()));
                if x.sign() == Sign::Minus { p.neg(magnitude) } else { magnitude }
            })
            .collect()
    }

    /// The residues of the inverse of an integer modulo Q; `None` if it has none.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(basis.inverse_residues(&2.into()), Some(vec![6145, 20481]));
    /// assert_eq!(basis.inverse_residues(&12289.into()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inverse_residues(&self, x: &BigInt) -> Option<Vec<u64>> {
        self.moduli().zip(self.residues(x)).map(|(p, residue)| p.inverse(residue)).collect()
    }

    /// σ_g(poly), X ↦ X^g for odd g.
    ///
    /// # Panics
    /// If g is even.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // X^2 becomes X^6.
    /// let image = basis.automorphism(&monomial(2, 5), 3);
    /// assert_eq!(basis.compose(&image, 6).to_string(), "5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn automorphism(&self, poly: &RnsPoly<Coefficients>, g: usize) -> RnsPoly<Coefficients> {
        let automorphism = Automorphism::new(self.polynomial_size().get(), g).expect("an odd exponent");
        let mut out = self.zero();
        self.each(&mut out, poly, |limb, out, words| {
            automorphism.apply_modular(self.isa(), limb.modulus().value(), words, out);
        });
        out
    }

    /// X^e·poly; e counts modulo 2N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // X^1023 times X is X^1024 = -1.
    /// let product = basis.multiply_monomial(&monomial(1023, 1), 1);
    /// assert_eq!(basis.compose(&product, 0).to_string(), "-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_monomial(&self, poly: &RnsPoly<Coefficients>, e: usize) -> RnsPoly<Coefficients> {
        let n = self.polynomial_size().get();
        let (odd, shift) = (e / n % 2 == 1, e % n);
        let mut out = self.zero();
        self.each(&mut out, poly, |limb, out, words| {
            let (wrapped, direct) = out.split_at_mut(shift);
            wrapped.copy_from_slice(&words[n - shift..]);
            direct.copy_from_slice(&words[..n - shift]);
            // X^N = −1: once for what wraps around, once more for everything if e ≥ N.
            limb.kernels().neg(if odd { direct } else { wrapped });
        });
        out
    }

    /// The coefficient at X^i as the integer in (−Q/2, Q/2]: for tests, noise measurement and decoding, not constant
    /// time.
    pub fn compose(&self, poly: &RnsPoly<Coefficients>, i: usize) -> BigInt {
        self.check(poly);
        // With x modulo the product m of the primes so far, the next prime p adds a multiple of m below m·p.
        let (mut x, mut m) = (BigUint::ZERO, BigUint::from(1u32));
        for (p, words) in self.moduli().zip(poly.limbs()) {
            let [known, step] = [&x, &m].map(|y| small(&(y % p.value())));
            let inverse = p.inverse(step).expect("primes are distinct");
            x += &m * p.mul(p.sub(words[i], known), inverse);
            m *= p.value();
        }
        if &x * 2u32 > m { BigInt::from(x) - BigInt::from(m) } else { x.into() }
    }

    /// Applies `f` to each limb of two polynomials.
    fn each<F: Form, G: Form>(&self, lhs: &mut RnsPoly<F>, rhs: &RnsPoly<G>, f: impl Fn(&Limb, &mut [u64], &[u64])) {
        self.check(lhs);
        self.check(rhs);
        for ((limb, lhs), rhs) in self.limbs().iter().zip(lhs.limbs_mut()).zip(rhs.limbs()) {
            f(limb, lhs, rhs);
        }
    }

    /// That a polynomial has the shape of this basis.
    pub(super) fn check<F: Form>(&self, poly: &RnsPoly<F>) {
        assert_eq!(poly.polynomial_size(), self.polynomial_size().get(), "polynomials of one size");
        assert_eq!(poly.limb_count(), self.len(), "as many limbs as the basis has primes");
    }
}

/// A remainder by a word.
fn small(x: &BigUint) -> u64 {
    x.try_into().expect("a remainder below the divisor")
}
