//! Noise of linear combinations whose operands may depend on each other.
//!
//! Variances of independent noises add. The noise of x + x is twice that of x, and its variance four times. A [`NoiseSum`]
//! therefore keeps the sources of a noise apart, with the integer that each is multiplied by. Noise of unknown origin may
//! depend on every source: its standard deviation is added to that of the rest (Minkowski's inequality), which is a bound.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::bounds::computed;

/// The name of a noise. Values are added and multiplied as the ciphertexts are, modulo 2^128, so that equal combinations of
/// the same ciphertexts have the same name.
///
/// # Example
/// ```
/// use ciphermill_tfhe::NoiseName;
///
/// let (x, y) = (NoiseName::of(&"x"), NoiseName::of(&"y"));
/// assert_ne!(x, y);
/// assert_eq!(NoiseName::of(&"x"), x);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoiseName(u128);

impl NoiseName {
    /// The name of a noise that `value` determines, for example the words of a ciphertext. Other values have other names
    /// except by chance, or by the intent of their maker.
    #[must_use]
    pub fn of(value: &impl Hash) -> Self {
        let half = |number: u8| {
            let mut hasher = DefaultHasher::new();
            (number, value).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Self(half(0) << 64 | half(1))
    }
}

/// A source, its factor, and the variance that it has without the factor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    source: NoiseName,
    factor: i128,
    variance: f64,
}

/// The noise of an integer combination of ciphertexts.
///
/// # Example
/// ```
/// use ciphermill_tfhe::{NoiseName, NoiseSum};
///
/// let [x, y] = ["x", "y"].map(|name| NoiseSum::independent(NoiseName::of(&name), 1.0));
/// assert_eq!(x.add(&y).variance(), 2.0);
/// assert_eq!(x.add(&x).variance(), 4.0);
/// assert_eq!(x.add(&y).sub(&x).variance(), 1.0);
/// // The origin of z is not known: it may be x.
/// let z = NoiseSum::dependent(NoiseName::of(&"z"), 1.0);
/// assert_eq!(x.add(&z).variance(), 4.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseSum {
    name: NoiseName,
    /// Sorted by source, without factors of zero.
    terms: Vec<Term>,
    /// Standard deviation of the part that may depend on everything.
    dependent: f64,
}

impl NoiseSum {
    /// Terms of a sum at most; the others join the part that may depend on everything.
    pub const MAX_TERMS: usize = 64;

    /// A noise that depends on no other of another name.
    #[must_use]
    pub fn independent(name: NoiseName, variance: f64) -> Self {
        Self { name, terms: vec![Term { source: name, factor: 1, variance }], dependent: 0.0 }
    }

    /// A noise that may depend on every other.
    #[must_use]
    pub fn dependent(name: NoiseName, variance: f64) -> Self {
        Self { name, terms: Vec::new(), dependent: variance.sqrt() }
    }

    /// The same with another source, for a part that several noises have in common.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::{NoiseName, NoiseSum};
    ///
    /// let common = NoiseName::of(&"the key's noise");
    /// let [x, y] = ["x", "y"].map(|name| NoiseSum::independent(NoiseName::of(&name), 1.0).with(common, 1.0));
    /// assert_eq!(x.add(&y).variance(), 2.0 + 4.0);
    /// assert_eq!(x.sub(&y).variance(), 2.0);
    /// ```
    #[must_use]
    pub fn with(mut self, source: NoiseName, variance: f64) -> Self {
        self.insert(Term { source, factor: 1, variance });
        self
    }

    /// The name of the sum.
    #[must_use]
    pub fn name(&self) -> NoiseName {
        self.name
    }

    /// A bound on the variance; infinite if there is none.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let independent: f64 = self.terms.iter().map(|term| (term.factor as f64).powi(2) * term.variance).sum();
        let variance = if self.dependent == 0.0 { independent } else { (independent.sqrt() + self.dependent).powi(2) };
        if variance.is_nan() { f64::INFINITY } else { variance }
    }

    /// The variance that an object with this noise states: that of an unchanged source exactly, any other rounded up
    /// ([`computed`]).
    #[must_use]
    pub fn stated_variance(&self) -> f64 {
        let unchanged =
            self.dependent == 0.0 && self.terms.iter().any(|term| term.source == self.name && term.factor == 1);
        if unchanged { self.variance() } else { computed(self.variance()) }
    }

    /// That of the sum of two ciphertexts.
    #[must_use]
    pub fn add(&self, rhs: &Self) -> Self {
        self.plus(rhs, 1)
    }

    /// That of the difference of two ciphertexts.
    #[must_use]
    pub fn sub(&self, rhs: &Self) -> Self {
        self.plus(rhs, -1)
    }

    /// That of the multiple of a ciphertext.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::{NoiseName, NoiseSum};
    ///
    /// let x = NoiseSum::independent(NoiseName::of(&"x"), 1.0);
    /// assert_eq!(x.scale(-3).variance(), 9.0);
    /// assert_eq!(x.scale(3), x.add(&x).add(&x));
    /// ```
    #[must_use]
    pub fn scale(&self, factor: i32) -> Self {
        let name = NoiseName(self.name.0.wrapping_mul(i128::from(factor) as u128));
        // Infinity times zero is not a number; of noise without a bound, nothing is known.
        let dependent =
            if self.dependent.is_finite() { self.dependent * f64::from(factor).abs() } else { f64::INFINITY };
        let mut product = Self { name, terms: Vec::new(), dependent };
        for term in &self.terms {
            product.insert_product(*term, i128::from(factor));
        }
        product
    }

    /// Memory beyond that of the structure itself, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (self.terms.capacity() * size_of::<Term>()) as u64
    }

    fn plus(&self, rhs: &Self, sign: i128) -> Self {
        let mut sum = self.clone();
        sum.name = NoiseName(self.name.0.wrapping_add(rhs.name.0.wrapping_mul(sign as u128)));
        sum.dependent += rhs.dependent;
        for term in &rhs.terms {
            sum.insert_product(*term, sign);
        }
        sum
    }

    fn insert_product(&mut self, term: Term, factor: i128) {
        match term.factor.checked_mul(factor) {
            Some(factor) => self.insert(Term { factor, ..term }),
            None => self.dependent = f64::INFINITY,
        }
    }

    fn insert(&mut self, term: Term) {
        match self.terms.binary_search_by_key(&term.source, |other| other.source) {
            Ok(index) => self.join(index, term),
            Err(_) if term.factor == 0 => {}
            Err(_) if self.terms.len() >= Self::MAX_TERMS => {
                self.dependent += (term.factor as f64).abs() * term.variance.sqrt();
            }
            Err(index) => self.terms.insert(index, term),
        }
    }

    /// Adds the factor of a term of the same source.
    fn join(&mut self, index: usize, term: Term) {
        let own = &mut self.terms[index];
        own.variance = own.variance.max(term.variance);
        match own.factor.checked_add(term.factor) {
            Some(0) => drop(self.terms.remove(index)),
            Some(factor) => own.factor = factor,
            None => self.dependent = f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(number: usize) -> NoiseName {
        NoiseName::of(&("source", number))
    }

    fn fresh(number: usize) -> NoiseSum {
        NoiseSum::independent(source(number), 1.0)
    }

    /// A program on six registers: the exact factor of each source in each register, and the sums.
    fn run(steps: &[(u8, usize, usize, i32)]) -> Vec<([i128; 6], NoiseSum)> {
        let unit = |number: usize| std::array::from_fn(|i| i128::from(i == number));
        let mut registers: Vec<([i128; 6], NoiseSum)> = (0..6).map(|i| (unit(i), fresh(i))).collect();
        for &(kind, to, from, factor) in steps {
            let (lhs, rhs) = (registers[to].clone(), registers[from].clone());
            registers[to] = match kind {
                0 => (std::array::from_fn(|i| lhs.0[i] + rhs.0[i]), lhs.1.add(&rhs.1)),
                1 => (std::array::from_fn(|i| lhs.0[i] - rhs.0[i]), lhs.1.sub(&rhs.1)),
                _ => (lhs.0.map(|f| f * i128::from(factor)), lhs.1.scale(factor)),
            };
        }
        registers
    }

    proptest! {
        #[test]
        fn a_program_has_the_variance_of_its_factors(
            steps in proptest::collection::vec((0..3u8, 0..6usize, 0..6usize, -9..9i32), 0..24)
        ) {
            let registers = run(&steps);
            for (factors, sum) in &registers {
                let expected: f64 = factors.iter().map(|&f| (f as f64).powi(2)).sum();
                prop_assert!((sum.variance() - expected).abs() <= 1e-9 * expected);
            }
            for (factors, sum) in &registers {
                for (others, other) in &registers {
                    prop_assert_eq!(factors == others, sum.name() == other.name());
                }
            }
        }
    }

    #[test]
    fn more_terms_than_the_bound_are_counted_as_dependent() {
        let count = NoiseSum::MAX_TERMS + 9;
        let sum = (1..count).fold(fresh(0), |sum, number| sum.add(&fresh(number)));
        // √64 and nine times 1.
        assert!((sum.variance() - 17f64.powi(2)).abs() < 1e-9, "{}", sum.variance());
        // Sixteen of the last one are 16 more, in whatever part it is.
        let more = (0..16).fold(sum, |sum, _| sum.add(&fresh(count - 1)));
        assert!(more.variance() >= 33f64.powi(2) - 1e-9);
    }

    #[test]
    fn factors_beyond_128_bits_have_no_bound() {
        let mut sum = fresh(1);
        for _ in 0..5 {
            sum = sum.scale(i32::MAX);
        }
        assert_eq!(sum.variance(), f64::INFINITY);
        assert_eq!(NoiseSum::dependent(source(2), f64::INFINITY).scale(0).variance(), f64::INFINITY);
    }
}
