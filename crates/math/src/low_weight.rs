//! Primes of the form 2^a + 2^b + 1, which need only shifts and additions for a reduction: the golden model of a
//! hardware multiplier.
//!
//! CHAM (X. Ren et al., "CHAM: A customized homomorphic encryption accelerator for fast matrix-vector product", DAC
//! 2023) uses three such primes and does not print them; 2^34 + 2^27 + 1, 2^34 + 2^19 + 1 and 2^38 + 2^23 + 1 fit all
//! that it says. There are two reductions. Both are exact, and the ranges determine their number of steps. All values are
//! plain integers, so a circuit can be compared with each step.
//!
//! * **From the top**, [`fold`](LowWeightModulus::fold): 2^a ≡ −(2^b + 1). A fold removes a − b bits, so a product of
//!   2a + 2 bits needs about (a + 2)/(a − b) folds.
//! * **From the bottom**, [`k_reduce`](LowWeightModulus::k_reduce): p = k·2^b + 1 with k = 2^(a−b) + 1, hence k·2^b ≡
//!   −1. A step removes b bits and multiplies by k. Factors known in advance compensate for k (P. Longa and M. Naehrig,
//!   "Speeding up the number theoretic transform for faster ideal lattice-based cryptography", CANS 2016, §3). The
//!   three primes need two steps, so this reduction suits butterflies.
//!
//! | p | folds of a product | k-reductions of a product |
//! | --- | --- | --- |
//! | 2^34 + 2^27 + 1 | 5 | 2 |
//! | 2^34 + 2^19 + 1 | 3 | 2 |
//! | 2^38 + 2^23 + 1 | 3 | 2 |
//!
//! On a CPU other methods are faster: Shoup's product takes two multiplications and a subtraction with a 64-bit
//! multiplier, and [`prime_engine`](crate::ntt::prime_engine) uses the vector units' multiply-adds of 52 or 53 bits.

use crate::modulus::{Modulus, ModulusError};

/// p = 2^a + 2^b + 1, a prime below 2^62 with 1 ≤ b ≤ a − 2. (For b = a − 1 folds do not converge.)
///
/// # Example
/// ```
/// use ciphermill_math::LowWeightModulus;
///
/// let p = LowWeightModulus::new(34, 27)?;
/// let value = (1 << 34) + (1 << 27) + 1;
/// assert_eq!(p.mul(value - 1, value - 1), 1);
/// // A known factor is prepared once; its products then take two k-reductions.
/// let prepared = p.prepare(12345);
/// assert_eq!(p.mul_prepared(678, prepared), p.mul(678, 12345));
/// # Ok::<(), ciphermill_math::LowWeightError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LowWeightModulus {
    modulus: Modulus,
    a: u32,
    b: u32,
    folds: u32,
    k_reductions: u32,
    /// k^-`k_reductions` mod p.
    scale: u64,
}

/// The reason why a number is not a [`LowWeightModulus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowWeightError {
    /// The exponents are outside their range.
    #[error("2^{a} + 2^{b} + 1 is not supported; use exponents 1 <= b <= a - 2 <= 59")]
    Exponents {
        /// The greater exponent.
        a: u32,
        /// The lesser exponent.
        b: u32,
    },
    /// The number is not a prime in range.
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    /// The number is a prime of another form.
    #[error("modulus {given} is not of the form 2^a + 2^b + 1; use a prime of this form, such as 2^34 + 2^27 + 1")]
    Form {
        /// The requested value.
        given: u64,
    },
}

impl LowWeightModulus {
    /// The modulus 2^a + 2^b + 1.
    ///
    /// # Errors
    /// If this number is not a prime in range.
    pub fn new(a: u32, b: u32) -> Result<Self, LowWeightError> {
        if b == 0 || a >= Modulus::MAX_BITS || b.saturating_add(2) > a {
            return Err(LowWeightError::Exponents { a, b });
        }
        let modulus = Modulus::new((1 << a) + (1 << b) + 1)?;
        let p = i128::from(modulus.value());
        let product = (0, (p - 1) * (p - 1));
        // The least result of a step is that of the greatest upper part, and vice versa.
        let fold =
            |(low, high): (i128, i128)| (-(high >> a) * ((1 << b) + 1), (1 << a) - 1 - (low >> a) * ((1 << b) + 1));
        let folds = steps(product, fold, (-p, p));
        let k = (1 << (a - b)) + 1;
        let k_reduce = |(low, high): (i128, i128)| (-(high >> b), k * ((1 << b) - 1) - (low >> b));
        let k_reductions = steps(product, k_reduce, (-p, 2 * p));
        let inverse = modulus.inverse(k as u64).expect("1 < k < p");
        Ok(LowWeightModulus { modulus, a, b, folds, k_reductions, scale: modulus.pow(inverse, k_reductions.into()) })
    }

    /// The prime p.
    pub fn modulus(self) -> Modulus {
        self.modulus
    }

    /// The exponents a and b.
    pub fn exponents(self) -> (u32, u32) {
        (self.a, self.b)
    }

    /// The number of [`fold`](Self::fold)s that bring every product of canonical values into [−p, p).
    pub fn folds(self) -> u32 {
        self.folds
    }

    /// The number of [`k_reduce`](Self::k_reduce)s that bring every product of canonical values into [−p, 2p).
    pub fn k_reductions(self) -> u32 {
        self.k_reductions
    }

    /// One reduction from the top: x0 − x1·2^b − x1 for x = x1·2^a + x0 with 0 ≤ x0 < 2^a, which is the same residue.
    ///
    /// It maps [−2^m, 2^m), m > a, into (−2^(m−a)·(2^b + 1), 2^a + 2^(m−a)·(2^b + 1)). |x| must be below 2^124.
    pub fn fold(self, x: i128) -> i128 {
        let (upper, lower) = (x >> self.a, x & ((1 << self.a) - 1));
        lower - (upper << self.b) - upper
    }

    /// One reduction from the bottom: k·x0 − x1 = x0·2^(a−b) + x0 − x1 for x = x1·2^b + x0 with 0 ≤ x0 < 2^b, which is
    /// the residue of k·x.
    ///
    /// It maps [−2^m, 2^m), m > b, into (−2^(m−b), p + 2^(m−b)). |x| must be below 2^124.
    pub fn k_reduce(self, x: i128) -> i128 {
        let (upper, lower) = (x >> self.b, x & ((1 << self.b) - 1));
        (lower << (self.a - self.b)) + lower - upper
    }

    /// x·y mod p for canonical values, by [`folds`](Self::folds) folds and one conditional addition.
    ///
    /// # Panics
    /// If x or y is not below p.
    pub fn mul(self, x: u64, y: u64) -> u64 {
        let p = i128::from(self.modulus.value());
        let mut product = self.product(x, y);
        for _ in 0..self.folds {
            product = self.fold(product);
        }
        if product < 0 {
            product += p;
        }
        product as u64
    }

    /// w·k^-r mod p for r = [`k_reductions`](Self::k_reductions): the factor w in the form that
    /// [`mul_prepared`](Self::mul_prepared) expects.
    ///
    /// # Panics
    /// If w is not below p.
    pub fn prepare(self, w: u64) -> u64 {
        self.mul(w, self.scale)
    }

    /// w·x mod p for `prepared` = [`prepare`](Self::prepare)(w) and canonical x: r k-reductions, one conditional
    /// addition and one conditional subtraction.
    ///
    /// # Panics
    /// If x or the factor is not below p.
    pub fn mul_prepared(self, x: u64, prepared: u64) -> u64 {
        let p = i128::from(self.modulus.value());
        let mut product = self.product(x, prepared);
        for _ in 0..self.k_reductions {
            product = self.k_reduce(product);
        }
        if product < 0 {
            product += p;
        }
        if product >= p {
            product -= p;
        }
        product as u64
    }

    fn product(self, x: u64, y: u64) -> i128 {
        let p = self.modulus.value();
        assert!(x < p && y < p, "{x} and {y} must be below {p}");
        i128::from(x) * i128::from(y)
    }
}

impl TryFrom<Modulus> for LowWeightModulus {
    type Error = LowWeightError;

    fn try_from(modulus: Modulus) -> Result<Self, LowWeightError> {
        let bits = modulus.value() - 1;
        if bits.count_ones() != 2 {
            return Err(LowWeightError::Form { given: modulus.value() });
        }
        LowWeightModulus::new(bits.ilog2(), bits.trailing_zeros())
    }
}

/// The number of steps that bring the interval `range` (ends included) into [target.0, target.1).
fn steps(range: (i128, i128), step: impl Fn((i128, i128)) -> (i128, i128), target: (i128, i128)) -> u32 {
    let mut range = range;
    let mut count = 0;
    while range.0 < target.0 || range.1 >= target.1 {
        range = step(range);
        count += 1;
    }
    count
}
