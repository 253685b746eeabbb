//! The words of a polynomial.

use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::PolynomialSize;

/// How a polynomial is written down.
pub trait Form: Copy + std::fmt::Debug + Send + Sync + 'static {}

/// By its coefficients, the constant one first, canonical: in `[0, p)` modulo each prime p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {}

/// By its values at the roots of X^N + 1, in the order of the transform of each limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spectrum {}

impl Form for Coefficients {}
impl Form for Spectrum {}

/// The residues of one polynomial, limb after limb.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let poly = monomial(1, -1);
/// assert_eq!((poly.limb_count(), poly.polynomial_size()), (2, 1024));
/// assert_eq!((poly.limb(0)[1], poly.limb(1)[1]), (12288, 40960));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RnsPoly<F: Form> {
    polynomial_size: usize,
    words: Vec<u64>,
    form: PhantomData<F>,
}

impl<F: Form> RnsPoly<F> {
    /// The zero polynomial with `limbs` limbs.
    pub fn zero(polynomial_size: PolynomialSize, limbs: usize) -> Self {
        let n = polynomial_size.get();
        Self { polynomial_size: n, words: vec![0; n * limbs], form: PhantomData }
    }

    /// From words, limb after limb, which are canonical for the basis that will use them.
    ///
    /// # Panics
    /// If they are not a whole number of limbs.
    pub fn from_words(polynomial_size: PolynomialSize, words: Vec<u64>) -> Self {
        let n = polynomial_size.get();
        assert!(words.len().is_multiple_of(n), "{} words are not whole limbs of {n}", words.len());
        Self { polynomial_size: n, words, form: PhantomData }
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// The number of limbs.
    pub fn limb_count(&self) -> usize {
        self.words.len() / self.polynomial_size
    }

    /// All words, limb after limb.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words, limb after limb.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The words themselves.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Limb `i`.
    ///
    /// # Panics
    /// If there is none.
    pub fn limb(&self, i: usize) -> &[u64] {
        &self.words[i * self.polynomial_size..][..self.polynomial_size]
    }

    /// Limb `i`.
    ///
    /// # Panics
    /// If there is none.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.words[i * self.polynomial_size..][..self.polynomial_size]
    }

    /// The limbs, in order.
    pub fn limbs(&self) -> std::slice::ChunksExact<'_, u64> {
        self.words.chunks_exact(self.polynomial_size)
    }

    /// The limbs, in order.
    pub fn limbs_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.words.chunks_exact_mut(self.polynomial_size)
    }

    /// Keeps the first `limbs` limbs: the same polynomial modulo fewer primes.
    pub fn truncate(&mut self, limbs: usize) {
        self.words.truncate(limbs * self.polynomial_size);
    }
}

impl<F: Form> Zeroize for RnsPoly<F> {
    fn zeroize(&mut self) {
        self.words.zeroize();
    }
}
