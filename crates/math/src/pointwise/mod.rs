//! Arithmetic modulo a prime on slices, place by place: sums, differences, products, products with one factor, sums of
//! products.
//!
//! [`PointwiseKernels`] is a modulus, an instruction set and the constants of both. Words are `u64` for primes below
//! 2^62 or `u32` for those below 2^31. Unless said otherwise all arguments and results are *canonical*, i.e. in
//! `[0, p)`; words that are not give wrong results. Slices have any length.
//!
//! **64-bit words.** b is the length of p in bits.
//!
//! * Product x = l·r < 2^(2b), after P. Barrett (CRYPTO '86): with x₁ = ⌊x/2^(b−2)⌋ < 2^(b+2) and μ = ⌊2^(b+62)/p⌋ <
//!   2^64, the quotient q = ⌊x₁·μ/2^64⌋ is at most x/p, and misses less than 2^(b−2)/p ≤ 1/2 by the first rounding,
//!   x₁/2^64 ≤ 1 by the second and 1 by the third: x − q·p is in `[0, 5p/2)`. Vectors take an upper half that misses at
//!   most one carry (`loops::high_short`): `[0, 7p/2)`, below 2^64. Two conditional subtractions, of 2p and of p, make
//!   it canonical.
//! * Product with one factor w, after V. Shoup: with w' = ⌊w·2^64/p⌋ and q = ⌊w'·x/2^64⌋, w·x − q·p is in `[0, 2p)`,
//!   with the shorter upper half in `[0, 3p)`.
//! * Sums of products: as 128-bit integers. acc + 16 products is at most p − 1 + 16·(p − 1)² < 2^128 for p < 2^62, so
//!   that one reduction ends 16 terms: high·2^64 + low ≡ high·(2^64 mod p) + low·1, two products by Shoup's method
//!   below 2p each.
//! * **IFMA**, p < 2^50: the same with 52-bit halves and 15 to 4095 terms; the bounds are in `pointwise/ifma.rs`.
//!
//! **32-bit words**: products by Montgomery's method with a running sum below 2p², the kernels of
//! [`Prime32Ntt`](crate::ntt::Prime32Ntt); one factor by Shoup's method, ⌊w·2^32/p⌋, in `[0, 2p)`.
//!
//! **Floor** at two vector operations of 8 words per cycle, in cycles per 64-bit word with AVX-512: a sum takes 3
//! operations, 0.19; with IFMA a product 12, 0.75, one with one factor 7, 0.44, a term of a sum of products 2, 0.13,
//! but 16 bytes, 0.36 from the second-level cache. Measured for N = 4096 on a Granite Rapids core (3.57 GHz): 0.47,
//! 1.06, 0.50 and, 8 terms with their reduction from the second-level cache, 0.62 per term. Without IFMA (or for p ≥
//! 2^50) a product takes 2.8, with one factor 1.5, a term 2.2; AVX2 and portable 4.4, 2.7 and 2.2, sums 0.7 and 2.2. A
//! product of 32-bit words takes 1.9, 2.4 and 5.0 with AVX-512, AVX2 and portable.

use crate::{Isa, Modulus};

#[cfg(target_arch = "x86_64")]
pub(crate) mod ifma;
pub(crate) mod loops;
#[cfg(test)]
mod tests;
mod word32;
pub(crate) mod word64;

/// Kernels cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointwiseError {
    /// The modulus does not suit the word.
    #[error("modulus {given} is too large for words of {bits} bits; use one below 2^{max_bits}")]
    Modulus {
        /// The requested value.
        given: u64,
        /// Bits of the word.
        bits: u32,
        /// The greatest length of a modulus.
        max_bits: u32,
    },
    /// The CPU lacks the instruction set.
    #[error("instruction set {asked} is not offered by this CPU; use {best} or a lesser one")]
    Isa {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}

mod sealed {
    use super::{Isa, Modulus};

    /// The kernels of one word. Its functions are safe and in reach of every bound by the public trait, so what must
    /// hold for memory's sake (equal lengths, whole rows, an available `isa`) each of them checks where it relies on
    /// it.
    pub trait Kernels: Copy {
        const MAX_BITS: u32;
        type Constants: Copy + std::fmt::Debug + Send + Sync;

        fn constants(modulus: Modulus, isa: Isa) -> Self::Constants;
        fn add(isa: Isa, c: &Self::Constants, lhs: &mut [Self], rhs: &[Self]);
        fn sub(isa: Isa, c: &Self::Constants, lhs: &mut [Self], rhs: &[Self]);
        fn neg(isa: Isa, c: &Self::Constants, values: &mut [Self]);
        fn multiply(isa: Isa, c: &Self::Constants, lhs: &mut [Self], rhs: &[Self]);
        fn multiply_scalar(isa: Isa, c: &Self::Constants, values: &mut [Self], factor: Self);
        fn multiply_accumulate(isa: Isa, c: &Self::Constants, acc: &mut [Self], lhs: &[Self], rhs: &[Self]);
        fn max_terms(isa: Isa, c: &Self::Constants) -> usize;
        fn to_u64(self) -> u64;
    }
}

/// Words with kernels: `u32` and `u64`.
pub trait PointwiseWord: sealed::Kernels {}

impl PointwiseWord for u32 {}
impl PointwiseWord for u64 {}

/// Arithmetic modulo one prime on slices of words, on one instruction set.
///
/// Lengths that do not match are a caller's error and panic.
#[derive(Clone, Copy, Debug)]
pub struct PointwiseKernels<W: PointwiseWord = u64> {
    modulus: Modulus,
    isa: Isa,
    constants: W::Constants,
}

impl<W: PointwiseWord> PointwiseKernels<W> {
    /// Prepares the constants.
    ///
    /// # Errors
    /// If `modulus` is 2^31 or more for `u32`, or the CPU lacks `isa`.
    pub fn new(modulus: Modulus, isa: Isa) -> Result<Self, PointwiseError> {
        if modulus.bits() > W::MAX_BITS {
            let bits = 8 * size_of::<W>() as u32;
            return Err(PointwiseError::Modulus { given: modulus.value(), bits, max_bits: W::MAX_BITS });
        }
        if !isa.is_available() {
            return Err(PointwiseError::Isa { asked: isa, best: Isa::best() });
        }
        Ok(Self { modulus, isa, constants: W::constants(modulus, isa) })
    }

    /// p.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// What the kernels know of p.
    pub(crate) fn constants(&self) -> &W::Constants {
        &self.constants
    }

    /// lhs ← lhs + rhs.
    pub fn add(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of the summands");
        W::add(self.isa, &self.constants, lhs, rhs);
    }

    /// lhs ← lhs − rhs.
    pub fn sub(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of minuend and subtrahend");
        W::sub(self.isa, &self.constants, lhs, rhs);
    }

    /// values ← −values.
    pub fn neg(&self, values: &mut [W]) {
        W::neg(self.isa, &self.constants, values);
    }

    /// lhs ← lhs ∘ rhs.
    pub fn multiply(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        W::multiply(self.isa, &self.constants, lhs, rhs);
    }

    /// values ← factor·values, for `factor` in `[0, p)`.
    ///
    /// # Panics
    /// If `factor` is not below p.
    pub fn multiply_scalar(&self, values: &mut [W], factor: W) {
        assert!(factor.to_u64() < self.modulus.value(), "factor {} is not below the modulus", factor.to_u64());
        W::multiply_scalar(self.isa, &self.constants, values, factor);
    }

    /// Adds Σ_r lhs_r ∘ rhs_r to `acc`, where `lhs` and `rhs` hold the same number of rows, each as long as `acc`, one
    /// after another. Any number of them: after [`max_terms`](Self::max_terms) rows sums are reduced and the next ones
    /// begin.
    pub fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        if acc.is_empty() {
            assert!(lhs.is_empty(), "rows of no word");
            return;
        }
        assert!(lhs.len().is_multiple_of(acc.len()), "{} words are not whole rows of {}", lhs.len(), acc.len());
        let rows = self.max_terms().saturating_mul(acc.len());
        for (lhs, rhs) in lhs.chunks(rows).zip(rhs.chunks(rows)) {
            W::multiply_accumulate(self.isa, &self.constants, acc, lhs, rhs);
        }
    }

    /// How many products are summed without a reduction.
    pub fn max_terms(&self) -> usize {
        W::max_terms(self.isa, &self.constants)
    }
}
