//! Gadget decomposition: writing x as a short vector of small digits.
//!
//! Both decomposers round x to the closest multiple of the modulus over B^l and write it in base B with balanced digits
//! in [−B/2, B/2 − 1]. Digits are computed independently of each other: with B/2 added at every digit's place, the carries
//! of balancing are those of one addition, and each digit is a bit field of the sum, less B/2.
//!
//! For uniform x every digit is uniform: mean −1/2, variance (B² − 1)/12, second moment (B² + 2)/12.

use std::marker::PhantomData;

use ciphermill_math::goldilocks::MODULUS as P;
use ciphermill_math::{BalancedDigit, Isa, SourceView};

use crate::torus::Torus;
use crate::{DecompositionBaseLog, DecompositionLevelCount};

/// The largest base is 2^32: a digit and its residue always fit 33 signed bits.
const MAX_BASE_LOG: usize = 32;

/// A decomposition that the modulus cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompositionError {
    /// The base is out of range.
    #[error("decomposition base is 2^{given}; use 2^1 to 2^{max}")]
    BaseLog {
        /// log2 of the base given.
        given: usize,
        /// log2 of the largest base.
        max: usize,
    },
    /// No level.
    #[error("decomposition has 0 levels; use at least 1")]
    NoLevel,
    /// More bits than the modulus has.
    #[error(
        "{levels} digits of {base_log} bits exceed the {bits} bits that can be decomposed; use fewer or smaller digits"
    )]
    TooManyBits {
        /// log2 of the base given.
        base_log: usize,
        /// Level count given.
        levels: usize,
        /// Bits that can be decomposed.
        bits: usize,
    },
}

fn check(base_log: usize, levels: usize, bits: usize) -> Result<(), DecompositionError> {
    if base_log == 0 || base_log > MAX_BASE_LOG {
        return Err(DecompositionError::BaseLog { given: base_log, max: MAX_BASE_LOG });
    }
    if levels == 0 {
        return Err(DecompositionError::NoLevel);
    }
    if base_log.checked_mul(levels).is_none_or(|used| used > bits) {
        return Err(DecompositionError::TooManyBits { base_log, levels, bits });
    }
    Ok(())
}

/// Balanced decomposition of a torus element, modulus q = 2^BITS: x ≈ Σ d_j·q/B^j over the levels j = 1…l, most
/// significant first, with |x − Σ d_j·q/B^j| ≤ q/(2·B^l) modulo q. If B^l = q nothing is rounded, and the sum is x.
///
/// Halves are rounded upward: for uniform x the error is uniform on [−s/2, s/2 − 1] ulp with s = q/B^l, so its mean is
/// −1/2 ulp and its variance (s² − 1)/12 ulp².
///
/// # Example
/// ```
/// use ciphermill_lattice::gadget::SignedDecomposer;
/// use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount};
///
/// let decomposer = SignedDecomposer::<u64>::new(DecompositionBaseLog(8), DecompositionLevelCount(3))?;
/// let x = 0x0123_4567_89ab_cdef;
/// assert!(decomposer.decompose(x).all(|digit| (-128..128).contains(&digit)));
/// assert_eq!(decomposer.recompose(decomposer.decompose(x)), decomposer.closest_representable(x));
/// assert!(x.abs_diff(decomposer.closest_representable(x)) <= 1 << 39);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedDecomposer<T: Torus> {
    base_log: u32,
    levels: u32,
    /// On 64 bits: B/2 at every digit's place, and half a step for the rounding if there is one.
    offset: u64,
    torus: PhantomData<T>,
}

impl<T: Torus> SignedDecomposer<T> {
    /// The decomposition in base 2^`base_log` with `level_count` digits.
    ///
    /// # Errors
    /// Unless 1 ≤ base_log ≤ 32, level_count ≥ 1 and base_log · level_count ≤ BITS.
    pub fn new(
        base_log: DecompositionBaseLog,
        level_count: DecompositionLevelCount,
    ) -> Result<Self, DecompositionError> {
        check(base_log.0, level_count.0, T::BITS as usize)?;
        let (base_log, levels) = (base_log.0 as u32, level_count.0 as u32);
        let mut offset = 0u64;
        for level in 1..=levels {
            offset += 1 << (63 - base_log * (level - 1));
        }
        if base_log * levels < 64 {
            offset += 1 << (63 - base_log * levels);
        }
        Ok(SignedDecomposer { base_log, levels, offset, torus: PhantomData })
    }

    /// log2 of the base.
    pub fn base_log(&self) -> DecompositionBaseLog {
        DecompositionBaseLog(self.base_log as usize)
    }

    /// The number of digits.
    pub fn level_count(&self) -> DecompositionLevelCount {
        DecompositionLevelCount(self.levels as usize)
    }

    /// Where the digit of `level` stands in a torus element taken as 64 bits.
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    #[inline(always)]
    pub fn field(&self, level: usize) -> BalancedDigit {
        assert!((1..=self.levels as usize).contains(&level), "level {level} is not within 1..={}", self.levels);
        BalancedDigit {
            offset: self.offset,
            shift: 64 - self.base_log * level as u32,
            mask: (1 << self.base_log) - 1,
            half: 1 << (self.base_log - 1),
        }
    }

    /// The digit of `level`, in [−B/2, B/2 − 1].
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    #[inline(always)]
    pub fn digit(&self, x: T, level: usize) -> i64 {
        self.field(level).extract(x.to_u64_msb())
    }

    /// All digits, level 1 (the most significant) first.
    pub fn decompose(&self, x: T) -> impl ExactSizeIterator<Item = i64> + use<T> {
        let this = *self;
        (0..this.levels as usize).map(move |i| this.digit(x, i + 1))
    }

    /// Σ d_j·q/B^j modulo q, from level 1 on. Digits that are missing count as 0, those beyond level l are ignored.
    pub fn recompose(&self, digits: impl IntoIterator<Item = i64>) -> T {
        let levels = 1..=self.levels;
        levels.zip(digits).fold(T::ZERO, |sum, (level, digit)| {
            sum.wrapping_add(T::from_signed_i64(1 << (T::BITS - self.base_log * level)).wrapping_mul_i64(digit))
        })
    }

    /// The closest element that the digits can represent: the multiple of q/B^l that [`recompose`](Self::recompose) makes
    /// of [`decompose`](Self::decompose).
    #[inline]
    pub fn closest_representable(&self, x: T) -> T {
        let used = self.base_log * self.levels;
        if used == T::BITS {
            return x;
        }
        let rounded = x.to_u64_msb().wrapping_add(1 << (63 - used));
        // The masked value has no bits below T's, so the conversion is exact.
        T::from_u64_msb(rounded & (u64::MAX << (64 - used)))
    }

    /// The digits of `level` of all of `src`.
    ///
    /// # Panics
    /// If the lengths differ, or `level` is not within 1…l.
    ///
    /// # Example
    /// ```
    /// use ciphermill_lattice::gadget::SignedDecomposer;
    /// use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount};
    /// use ciphermill_math::Isa;
    ///
    /// let decomposer = SignedDecomposer::<u64>::new(DecompositionBaseLog(8), DecompositionLevelCount(2))?;
    /// let (coefficients, mut digits) = ([5u64 << 56; 16], [0; 16]);
    /// decomposer.fill_digits(Isa::current(), &coefficients, 1, &mut digits);
    /// assert_eq!(digits, [5; 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn fill_digits(&self, isa: Isa, src: &[T], level: usize, out: &mut [i64]) {
        assert_eq!(src.len(), out.len(), "as many digits as coefficients");
        T::digits(isa, src, self.field(level), out);
    }

    /// What [`fill_digits`](Self::fill_digits) computes, described, so that a transform can compute it as it loads.
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    pub fn digits_view<'a>(&self, src: &'a [T], level: usize) -> SourceView<'a, i64> {
        T::digits_view(src, self.field(level))
    }
}

/// Balanced decomposition of a residue x ∈ [0, p), p = 2^64 − 2^32 + 1: x ≈ Σ d_j·g_j modulo p with the gadget
/// g_j = ⌊p/B^j⌉, over the levels j = 1…l, most significant first.
///
/// x is switched to t = ⌊x·B^l/p⌉, and the d_j are the balanced digits of t modulo B^l. Then
/// Σ d_j·p/B^j ≡ t·p/B^l differs from x by at most p/(2·B^l), and each g_j from p/B^j by at most 1/2, so
///
/// |x − Σ d_j·g_j| ≤ p/(2·B^l) + l·B/4 modulo p.
///
/// The switch is exact and needs no division. As p·(1 + 2^-32) = 2^64 + 2^-32, we have
/// x·2^64/p = x + x·2^-32 − θ with θ = x·2^-32/p, which lies in (0, 2^-32) for x > 0; and x·2^-32 is a multiple of
/// 2^-32. So z = ⌊x·2^64/p⌋ = x + ⌊(x − 1)·2^-32⌋ for x > 0, and 0 for x = 0. With b·l ≤ 63 the half step of the rounding
/// is an integer on the scale of z, so rounding z gives the same t as rounding x·2^64/p: the digits are those of the
/// 64-bit torus element z.
///
/// # Example
/// ```
/// use ciphermill_lattice::gadget::ModularDecomposer;
/// use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount};
///
/// let decomposer = ModularDecomposer::new(DecompositionBaseLog(8), DecompositionLevelCount(3))?;
/// assert_eq!(decomposer.gadget(1), (1u64 << 56) - (1 << 24));
/// let x = decomposer.gadget(2);
/// assert_eq!([1, 2, 3].map(|level| decomposer.digit(x, level)), [0, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModularDecomposer {
    torus: SignedDecomposer<u64>,
}

impl ModularDecomposer {
    /// The decomposition in base 2^`base_log` with `level_count` digits.
    ///
    /// # Errors
    /// Unless 1 ≤ base_log ≤ 32, level_count ≥ 1 and base_log · level_count ≤ 63.
    pub fn new(
        base_log: DecompositionBaseLog,
        level_count: DecompositionLevelCount,
    ) -> Result<Self, DecompositionError> {
        check(base_log.0, level_count.0, 63)?;
        Ok(ModularDecomposer { torus: SignedDecomposer::new(base_log, level_count)? })
    }

    /// log2 of the base.
    pub fn base_log(&self) -> DecompositionBaseLog {
        self.torus.base_log()
    }

    /// The number of digits.
    pub fn level_count(&self) -> DecompositionLevelCount {
        self.torus.level_count()
    }

    /// The gadget entry g_j = ⌊p/B^j⌉ of `level` j.
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    pub fn gadget(&self, level: usize) -> u64 {
        let shift = 64 - self.torus.field(level).shift;
        ((u128::from(P) + (1 << (shift - 1))) >> shift) as u64
    }

    /// The digit of `level`, in [−B/2, B/2 − 1]. For `x` ≥ p it is unspecified.
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    #[inline(always)]
    pub fn digit(&self, x: u64, level: usize) -> i64 {
        self.torus.digit(switch_to_torus(x), level)
    }

    /// The digits of `level` of all of `src`, as residues in [0, p).
    ///
    /// # Panics
    /// If the lengths differ, or `level` is not within 1…l.
    #[inline]
    pub fn fill_digits(&self, isa: Isa, src: &[u64], level: usize, out: &mut [u64]) {
        assert_eq!(src.len(), out.len(), "as many digits as coefficients");
        residue_digits(isa, src, self.torus.field(level), out);
    }

    /// What [`fill_digits`](Self::fill_digits) computes, described, so that a transform can compute it as it loads. The
    /// half step of the rounding, which b·l ≤ 63 always leaves, is the bit below the field that the description needs.
    ///
    /// # Panics
    /// If `level` is not within 1…l.
    pub fn digits_view<'a>(&self, src: &'a [u64], level: usize) -> SourceView<'a, u64> {
        SourceView::ResidueDigits(src, self.torus.field(level))
    }
}

/// ⌊x·2^64/p⌋ for x < p, see [`ModularDecomposer`].
#[inline(always)]
fn switch_to_torus(x: u64) -> u64 {
    x.wrapping_add(x.saturating_sub(1) >> 32)
}

ciphermill_math::multiversion! {
    fn residue_digits(isa, src: &[u64], digit: BalancedDigit, out: &mut [u64]) {
        for (o, x) in out.iter_mut().zip(src) {
            let digit = digit.extract(switch_to_torus(*x));
            // p − |d| for the negative: adds p under the mask of the sign.
            *o = (digit as u64).wrapping_add((digit >> 63) as u64 & P);
        }
    }
}
