//! The discretised torus: the reals modulo 1, in steps of 2^-32 or 2^-64.

use std::fmt::Debug;

use ciphermill_math::{BalancedDigit, Isa, SourceView};
use zeroize::Zeroize;

use crate::rng::Keystream;

pub(crate) mod sealed {
    use super::{BalancedDigit, Isa, SourceView};

    /// The vectorised loops of each width; [`multiversion!`](ciphermill_math::multiversion) compiles no generic functions.
    pub trait Kernels: Sized {
        /// `out[i] = (((src[i]·2^(64 − BITS) + offset) >> shift) & mask) − half`
        fn digits(isa: Isa, src: &[Self], digit: BalancedDigit, out: &mut [i64]);
        /// The same, described instead of computed.
        fn digits_view(src: &[Self], digit: BalancedDigit) -> SourceView<'_, i64>;
        /// `out = rotated − plain`, or `−rotated − plain`
        fn rotated_difference(isa: Isa, negate: bool, rotated: &[Self], plain: &[Self], out: &mut [Self]);
        /// `out = −src`
        fn negate(isa: Isa, src: &[Self], out: &mut [Self]);
    }
}

/// An element of the torus in steps of 2^-BITS, stored as the integer x of x·2^-BITS. Sums wrap.
///
/// Implemented by `u32` and `u64`, and by nothing else.
///
/// # Example
/// ```
/// use ciphermill_lattice::Torus;
///
/// let three_quarters = u32::from_f64_torus(0.75);
/// assert_eq!(three_quarters.to_f64_signed(), -0.25);
/// assert_eq!(Torus::wrapping_add(three_quarters, u32::from_f64_torus(0.5)), u32::from_f64_torus(0.25));
/// ```
pub trait Torus: sealed::Kernels + Copy + Send + Sync + Zeroize + Debug + Eq + Ord + Default + 'static {
    /// Bits of the representation: 32 or 64.
    const BITS: u32;
    /// 0.
    const ZERO: Self;

    /// Sum modulo 1.
    fn wrapping_add(self, rhs: Self) -> Self;
    /// Difference modulo 1.
    fn wrapping_sub(self, rhs: Self) -> Self;
    /// Negation modulo 1.
    fn wrapping_neg(self) -> Self;
    /// Product of the two integers modulo 2^BITS.
    fn wrapping_mul(self, rhs: Self) -> Self;
    /// Product with a signed integer, modulo 1.
    fn wrapping_mul_i64(self, rhs: i64) -> Self;

    /// The element closest to `x` modulo 1, ties to even. Values that are not finite return 0.
    fn from_f64_torus(x: f64) -> Self;
    /// The representative in [−0.5, 0.5), rounded to f64; the rounding may give 0.5 on 64 bits.
    fn to_f64_signed(self) -> f64;
    /// The signed representative times 2^BITS: an integer in [−2^(BITS−1), 2^(BITS−1)).
    fn to_signed_i64(self) -> i64;
    /// The element x·2^-BITS modulo 1.
    fn from_signed_i64(x: i64) -> Self;
    /// The element closest to that of 64 bits, halves upward, modulo 1.
    fn from_u64_msb(x: u64) -> Self;
    /// The same element on 64 bits, exactly.
    fn to_u64_msb(self) -> u64;

    /// Fills `out` with uniform elements: the next `BITS / 8` keystream bytes each, little-endian.
    fn fill_random(rng: &mut impl Keystream, out: &mut [Self]);
}

/// x − ⌊x⌉ times 2^bits, which lies in [−2^(bits−1), 2^(bits−1)]; exact up to the last rounding.
fn fraction_scaled(x: f64, bits: i32) -> f64 {
    if x.is_finite() { ((x - x.round_ties_even()) * 2f64.powi(bits)).round_ties_even() } else { 0.0 }
}

macro_rules! torus {
    ($ty:ty, $signed:ty, $module:ident, $view:ident, $fill:ident, $from_msb:expr) => {
        impl Torus for $ty {
            const BITS: u32 = <$ty>::BITS;
            const ZERO: Self = 0;

            #[inline(always)]
            fn wrapping_add(self, rhs: Self) -> Self {
                <$ty>::wrapping_add(self, rhs)
            }

            #[inline(always)]
            fn wrapping_sub(self, rhs: Self) -> Self {
                <$ty>::wrapping_sub(self, rhs)
            }

            #[inline(always)]
            fn wrapping_neg(self) -> Self {
                <$ty>::wrapping_neg(self)
            }

            #[inline(always)]
            fn wrapping_mul(self, rhs: Self) -> Self {
                <$ty>::wrapping_mul(self, rhs)
            }

            #[inline(always)]
            fn wrapping_mul_i64(self, rhs: i64) -> Self {
                <$ty>::wrapping_mul(self, rhs as $ty)
            }

            #[inline]
            fn from_f64_torus(x: f64) -> Self {
                // Within ±2^63, so that i128 holds it and the cast wraps +1/2 to −1/2.
                fraction_scaled(x, <$ty>::BITS as i32) as i128 as $ty
            }

            #[inline(always)]
            fn to_f64_signed(self) -> f64 {
                // The factor is a power of two: exact.
                (self as $signed) as f64 * (0.5 / (1u64 << (<$ty>::BITS - 1)) as f64)
            }

            #[inline(always)]
            fn to_signed_i64(self) -> i64 {
                i64::from(self as $signed)
            }

            #[inline(always)]
            fn from_signed_i64(x: i64) -> Self {
                x as $ty
            }

            #[inline(always)]
            fn from_u64_msb(x: u64) -> Self {
                $from_msb(x)
            }

            #[inline(always)]
            fn to_u64_msb(self) -> u64 {
                u64::from(self) << (64 - <$ty>::BITS)
            }

            fn fill_random(rng: &mut impl Keystream, out: &mut [Self]) {
                rng.$fill(out);
            }
        }

        mod $module {
            use super::{BalancedDigit, Torus};

            ciphermill_math::multiversion! {
                pub(super) fn digits(isa, src: &[$ty], digit: BalancedDigit, out: &mut [i64]) {
                    for (o, x) in out.iter_mut().zip(src) {
                        *o = digit.extract(x.to_u64_msb());
                    }
                }
            }
            ciphermill_math::multiversion! {
                pub(super) fn difference(isa, rotated: &[$ty], plain: &[$ty], out: &mut [$ty]) {
                    for ((o, r), p) in out.iter_mut().zip(rotated).zip(plain) {
                        *o = r.wrapping_sub(*p);
                    }
                }
            }
            ciphermill_math::multiversion! {
                pub(super) fn negated_difference(isa, rotated: &[$ty], plain: &[$ty], out: &mut [$ty]) {
                    for ((o, r), p) in out.iter_mut().zip(rotated).zip(plain) {
                        *o = r.wrapping_neg().wrapping_sub(*p);
                    }
                }
            }
            ciphermill_math::multiversion! {
                pub(super) fn negate(isa, src: &[$ty], out: &mut [$ty]) {
                    for (o, x) in out.iter_mut().zip(src) {
                        *o = x.wrapping_neg();
                    }
                }
            }
        }

        impl sealed::Kernels for $ty {
            #[inline]
            fn digits(isa: Isa, src: &[Self], digit: BalancedDigit, out: &mut [i64]) {
                $module::digits(isa, src, digit, out);
            }

            #[inline]
            fn digits_view(src: &[Self], digit: BalancedDigit) -> SourceView<'_, i64> {
                SourceView::$view(src, digit)
            }

            #[inline]
            fn rotated_difference(isa: Isa, negate: bool, rotated: &[Self], plain: &[Self], out: &mut [Self]) {
                if negate {
                    $module::negated_difference(isa, rotated, plain, out);
                } else {
                    $module::difference(isa, rotated, plain, out);
                }
            }

            #[inline]
            fn negate(isa: Isa, src: &[Self], out: &mut [Self]) {
                $module::negate(isa, src, out);
            }
        }
    };
}

torus!(u32, i32, kernels32, Digits32, fill_u32, |x: u64| (x.wrapping_add(1 << 31) >> 32) as u32);
torus!(u64, i64, kernels64, Digits, fill_u64, |x: u64| x);
