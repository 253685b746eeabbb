//! Polynomials of Z_Q\[X\]/(X^N + 1) for a product Q of distinct primes, as residues modulo each prime.
//!
//! [`RnsBasis`] is an ordered list of primes with their transforms and kernels; it does all arithmetic. [`RnsPoly`] is
//! the words of one polynomial, limb after limb (limb i is the N residues modulo prime i), typed by its [`Form`]:
//! [`Coefficients`], which is what is stored and sent, or [`Spectrum`], whose order is private to the transforms and
//! which never leaves the process.
//!
//! [`BaseConverter`] takes residues from one basis to another; [`ScaleAndRound`] computes ⌊t·x/Q⌉ modulo t.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ciphermill_math::ntt::NttEngine;
use ciphermill_math::{Isa, Modulus, PointwiseKernels};
use num_bigint::{BigInt, BigUint};
use zeroize::Zeroize;

use crate::PolynomialSize;
use crate::rng::MaskStream;

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

/// One prime with its transform and kernels.
#[derive(Clone, Debug)]
pub struct Limb {
    modulus: Modulus,
    engine: Arc<dyn NttEngine>,
    kernels: PointwiseKernels<u64>,
}

impl Limb {
    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The transform.
    pub fn engine(&self) -> &dyn NttEngine {
        &*self.engine
    }

    /// The pointwise kernels.
    pub fn kernels(&self) -> &PointwiseKernels<u64> {
        &self.kernels
    }
}

/// A basis cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RnsBasisError {
    /// There is no prime.
    #[error("a residue number system without a modulus; use at least one")]
    Empty,
    /// Two primes are the same.
    #[error("modulus {modulus} occurs twice; use distinct primes")]
    Repeated {
        /// The prime.
        modulus: u64,
    },
    /// No transform exists for a modulus.
    #[error(transparent)]
    Ntt(#[from] ciphermill_math::ntt::NttError),
    /// No kernels exist for a modulus.
    #[error(transparent)]
    Pointwise(#[from] ciphermill_math::pointwise::PointwiseError),
}

/// An ordered list of distinct primes p_0 … p_(L−1), each 1 modulo 2N and below 2^62, with everything that arithmetic
/// on polynomials of N coefficients modulo their product Q needs. Cloning shares the tables.
///
/// Polynomials that are passed together have as many limbs as the basis has primes; anything else is a caller's error
/// and panics.
#[derive(Clone, Debug)]
pub struct RnsBasis {
    polynomial_size: PolynomialSize,
    isa: Isa,
    limbs: Vec<Limb>,
}

impl RnsBasis {
    /// The basis of these primes, on one instruction set.
    ///
    /// # Errors
    /// If there is no prime, if one occurs twice, or if one has no transform of this size.
    pub fn new(polynomial_size: PolynomialSize, moduli: &[u64], isa: Isa) -> Result<Self, RnsBasisError> {
        let _ = (polynomial_size, moduli, isa);
        todo!()
    }

    /// The limbs `range` as a basis of their own.
    ///
    /// # Panics
    /// If the range is empty or out of bounds.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(!range.is_empty(), "a basis has at least one limb");
        Self { limbs: self.limbs[range].to_vec(), ..self.clone() }
    }

    /// These limbs followed by those of `other`, which is of the same N and has other primes.
    pub fn join(&self, other: &Self) -> Self {
        assert_eq!(self.polynomial_size, other.polynomial_size, "bases of one polynomial size");
        Self { limbs: self.limbs.iter().chain(&other.limbs).cloned().collect(), ..self.clone() }
    }

    /// N.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The instruction set of all kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// L.
    pub fn len(&self) -> usize {
        self.limbs.len()
    }

    /// Never: a basis has at least one limb.
    pub fn is_empty(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The limbs.
    pub fn limbs(&self) -> &[Limb] {
        &self.limbs
    }

    /// The primes.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = Modulus> + '_ {
        self.limbs.iter().map(Limb::modulus)
    }

    /// Q, the product of the primes.
    pub fn product(&self) -> BigUint {
        self.moduli().map(|p| BigUint::from(p.value())).product()
    }

    /// log2 Q.
    pub fn log2(&self) -> f64 {
        self.moduli().map(|p| (p.value() as f64).log2()).sum()
    }

    /// The zero polynomial.
    pub fn zero<F: Form>(&self) -> RnsPoly<F> {
        RnsPoly::zero(self.polynomial_size, self.len())
    }

    /// The polynomial with these N coefficients. Their time and place in memory do not depend on the values.
    pub fn from_signed(&self, coefficients: &[i64]) -> RnsPoly<Coefficients> {
        let _ = coefficients;
        todo!()
    }

    /// A uniform polynomial modulo Q: for each limb in order and each coefficient in order, 64-bit words of the stream
    /// cut to the length of the prime, the first one below the prime. Part of the stored formats.
    pub fn uniform(&self, stream: &mut MaskStream) -> RnsPoly<Coefficients> {
        let _ = stream;
        todo!()
    }

    /// Whether every word is below the prime of its limb and the number of limbs is L: what a reader of outside bytes
    /// checks.
    pub fn is_canonical(&self, poly: &RnsPoly<Coefficients>) -> bool {
        let _ = poly;
        todo!()
    }

    /// The transform.
    pub fn forward(&self, poly: RnsPoly<Coefficients>) -> RnsPoly<Spectrum> {
        let _ = poly;
        todo!()
    }

    /// The inverse transform.
    pub fn inverse(&self, poly: RnsPoly<Spectrum>) -> RnsPoly<Coefficients> {
        let _ = poly;
        todo!()
    }

    /// lhs ← lhs + rhs.
    pub fn add_assign<F: Form>(&self, lhs: &mut RnsPoly<F>, rhs: &RnsPoly<F>) {
        let _ = (lhs, rhs);
        todo!()
    }

    /// lhs ← lhs − rhs.
    pub fn sub_assign<F: Form>(&self, lhs: &mut RnsPoly<F>, rhs: &RnsPoly<F>) {
        let _ = (lhs, rhs);
        todo!()
    }

    /// poly ← −poly.
    pub fn negate<F: Form>(&self, poly: &mut RnsPoly<F>) {
        let _ = poly;
        todo!()
    }

    /// lhs ← lhs·rhs, place by place.
    pub fn multiply(&self, lhs: &mut RnsPoly<Spectrum>, rhs: &RnsPoly<Spectrum>) {
        let _ = (lhs, rhs);
        todo!()
    }

    /// acc ← acc + lhs·rhs, place by place.
    pub fn multiply_accumulate(&self, acc: &mut RnsPoly<Spectrum>, lhs: &RnsPoly<Spectrum>, rhs: &RnsPoly<Spectrum>) {
        let _ = (acc, lhs, rhs);
        todo!()
    }

    /// poly ← factor·poly for an integer given by its residues, one per limb.
    pub fn multiply_scalar<F: Form>(&self, poly: &mut RnsPoly<F>, residues: &[u64]) {
        let _ = (poly, residues);
        todo!()
    }

    /// The residues of an integer.
    pub fn residues(&self, x: &BigInt) -> Vec<u64> {
        let _ = x;
        todo!()
    }

    /// The residues of the inverse of an integer modulo Q; `None` if it has none.
    pub fn inverse_residues(&self, x: &BigInt) -> Option<Vec<u64>> {
        let _ = x;
        todo!()
    }

    /// σ_g(poly), X ↦ X^g for odd g.
    pub fn automorphism(&self, poly: &RnsPoly<Coefficients>, g: usize) -> RnsPoly<Coefficients> {
        let _ = (poly, g);
        todo!()
    }

    /// X^e·poly; e counts modulo 2N.
    pub fn multiply_monomial(&self, poly: &RnsPoly<Coefficients>, e: usize) -> RnsPoly<Coefficients> {
        let _ = (poly, e);
        todo!()
    }

    /// The coefficient at X^i as the integer in (−Q/2, Q/2]: for tests, noise measurement and decoding, not constant time.
    pub fn compose(&self, poly: &RnsPoly<Coefficients>, i: usize) -> BigInt {
        let _ = (poly, i);
        todo!()
    }
}

mod convert;

pub use convert::{BaseConverter, ModDown, ScaleAndRound};
