//! Arithmetic modulo a prime on slices, place by place: sums, differences, products, products with one factor, sums of
//! products.
//!
//! [`PointwiseKernels`] consists of a modulus, an instruction set and the constants of both. Words are `u64` for primes
//! below 2^62 or `u32` for primes below 2^31. Unless stated otherwise all arguments and results are *canonical*, i.e.
//! in `[0, p)`; other words lead to wrong results. Slices have any length.
//!
//! # 64-bit words
//!
//! b is the length of p in bits.
//!
//! * **Product** x = l·r < 2^(2b), after P. Barrett (CRYPTO '86). With x₁ = ⌊x/2^(b−2)⌋ < 2^(b+2) and μ = ⌊2^(b+62)/p⌋
//!   < 2^64, the quotient q = ⌊x₁·μ/2^64⌋ is at most x/p. The first rounding loses less than 2^(b−2)/p ≤ 1/2, the
//!   second x₁/2^64 ≤ 1, and the third 1. So x − q·p is in `[0, 5p/2)`. Vectors use an upper half that lacks at most
//!   one carry (`loops::high_short`): `[0, 7p/2)`, below 2^64. Two conditional subtractions, of 2p and of p, make it
//!   canonical.
//! * **Product with one factor** w, after V. Shoup: with w' = ⌊w·2^64/p⌋ and q = ⌊w'·x/2^64⌋, w·x − q·p is in `[0,
//!   2p)`, with the shorter upper half in `[0, 3p)`.
//! * **Sums of products** are 128-bit integers. acc + 16 products is at most p − 1 + 16·(p − 1)² < 2^128 for p < 2^62.
//!   So 16 terms need one reduction: high·2^64 + low ≡ high·(2^64 mod p) + low·1, two products by Shoup's method below
//!   2p each.
//! * **IFMA**, p < 2^50: the same with 52-bit halves and 15 to 4095 terms; `pointwise/ifma.rs` states the bounds.
//!
//! # 32-bit words
//!
//! Products use Montgomery's method with a running sum below 2p², by the kernels of
//! [`Prime32Ntt`](crate::ntt::Prime32Ntt). Products with one factor use Shoup's method, ⌊w·2^32/p⌋, in `[0, 2p)`.
//!
//! # Floor
//!
//! Cycles per 64-bit word with AVX-512, at two vector operations of 8 words per cycle. Measured for N = 4096 on a
//! Granite Rapids core (3.57 GHz):
//!
//! | operation | vector operations | floor | measured |
//! | --- | --- | --- | --- |
//! | sum | 3 | 0.19 | 0.47 |
//! | product, IFMA | 12 | 0.75 | 1.06 |
//! | product with one factor, IFMA | 7 | 0.44 | 0.50 |
//! | term of a sum of products, IFMA | 2 | 0.13; 0.36 for its 16 bytes from the second-level cache | 0.62, 8 terms with their reduction |
//!
//! Measured cycles per word on the other paths (without IFMA, or for p ≥ 2^50):
//!
//! | operation | AVX-512 | AVX2 and portable |
//! | --- | --- | --- |
//! | product | 2.8 | 4.4 |
//! | product with one factor | 1.5 | 2.7 |
//! | term of a sum of products | 2.2 | 2.2 |
//!
//! Sums take 0.7 (AVX2) and 2.2 (portable). A product of 32-bit words takes 1.9, 2.4 and 5.0 with AVX-512, AVX2 and
//! portable.

use crate::{Isa, Modulus};

#[cfg(target_arch = "x86_64")]
pub(crate) mod ifma;
pub(crate) mod loops;
#[cfg(test)]
mod tests;
mod word32;
pub(crate) mod word64;

/// The reason why kernels cannot be made.
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
    #[error("instruction set {asked} is not available on this CPU; use at most {best}")]
    Isa {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}

mod sealed {
    use super::{Isa, Modulus};

    /// The kernels of one word. Any bound by the public trait gives access to these functions, and they are safe. So
    /// each of them checks the conditions on which its memory accesses rely: equal lengths, whole rows, an available
    /// `isa`.
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
///
/// # Example
/// ```
/// use ciphermill_math::{Isa, Modulus, PointwiseKernels};
///
/// let kernels = PointwiseKernels::<u64>::new(Modulus::new(97)?, Isa::current())?;
/// let mut values = [10, 20, 30];
/// kernels.multiply(&mut values, &[10, 10, 10]);
/// assert_eq!(values, [3, 6, 9]);
/// kernels.multiply_scalar(&mut values, 96);
/// assert_eq!(values, [94, 91, 88]);
/// // Two rows of products, added to the values.
/// kernels.multiply_accumulate(&mut values, &[1, 1, 1, 2, 2, 2], &[3, 6, 9, 1, 1, 1]);
/// assert_eq!(values, [2, 2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// The kernels' constants of p.
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
    /// after another. The number of rows is not limited: sums are reduced after every [`max_terms`](Self::max_terms)
    /// rows.
    pub fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        if acc.is_empty() {
            assert!(lhs.is_empty(), "an accumulator without words needs factors without words");
            return;
        }
        assert!(lhs.len().is_multiple_of(acc.len()), "{} words are not whole rows of {}", lhs.len(), acc.len());
        let rows = self.max_terms().saturating_mul(acc.len());
        for (lhs, rhs) in lhs.chunks(rows).zip(rhs.chunks(rows)) {
            W::multiply_accumulate(self.isa, &self.constants, acc, lhs, rhs);
        }
    }

    /// The number of products that are summed without a reduction.
    pub fn max_terms(&self) -> usize {
        W::max_terms(self.isa, &self.constants)
    }
}
