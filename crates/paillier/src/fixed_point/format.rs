//! Real numbers to integers, with a declared precision.

use ciphermill_bigint::IntegerBatch;
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use super::number::divided_to_nearest;
use super::{FixedPointError, MAX_FRACTION_BITS, MAX_INTEGER_BITS};
use crate::integers;

/// The treatment of a number that is not a multiple of the step.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let format = FixedPoint::new(8, 2)?;
/// assert_eq!((format.rounding(), format.exact().rounding()), (Rounding::Nearest, Rounding::Exact));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// The nearest multiple is taken, of two equally near ones the even one.
    Nearest,
    /// It is refused with [`FixedPointError::Inexact`].
    Exact,
}

/// Numbers x with |x| ≤ 2^integer_bits in steps of 2^−fraction_bits: the plaintext is the integer x·2^fraction_bits.
///
/// Encoding errs by half a step at most, 2^−(fraction_bits + 1); with [`Rounding::Exact`] it does not err. Later
/// computation on encrypted numbers is exact, so that the error of a sum is at most the sum of the errors. Both bounds
/// are declared and public: that of a value is never derived from the value.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Up to 2^20, in steps of 2^-8.
/// let format = FixedPoint::new(20, 8)?;
/// assert_eq!(format.encode_f64(1.5)?, BigInt::from(384));
/// assert!(format.exact().encode_f64(0.1).is_err());
/// assert_eq!((format.integer_bits(), format.fraction_bits()), (20, 8));
/// assert_eq!(format.bound(), BigUint::from(1u32 << 28));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedPoint {
    integer_bits: u32,
    fraction_bits: u32,
    rounding: Rounding,
}

impl FixedPoint {
    /// The format with these bits before and behind the binary point, which rounds to nearest.
    ///
    /// # Errors
    /// [`FixedPointError::Format`] beyond [`MAX_INTEGER_BITS`] or [`MAX_FRACTION_BITS`].
    pub fn new(integer_bits: u32, fraction_bits: u32) -> Result<Self, FixedPointError> {
        if integer_bits > MAX_INTEGER_BITS || fraction_bits > MAX_FRACTION_BITS {
            return Err(FixedPointError::Format { integer_bits, fraction_bits });
        }
        Ok(Self { integer_bits, fraction_bits, rounding: Rounding::Nearest })
    }

    /// The same format, which refuses values that are not exactly representable.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let format = FixedPoint::new(8, 2)?;
    /// assert_eq!(format.encode_f64(0.3)?, BigInt::from(1));
    /// assert!(matches!(format.exact().encode_f64(0.3), Err(FixedPointError::Inexact { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exact(self) -> Self {
        Self { rounding: Rounding::Exact, ..self }
    }

    /// Bits before the binary point.
    pub fn integer_bits(self) -> u32 {
        self.integer_bits
    }

    /// Bits behind the binary point.
    pub fn fraction_bits(self) -> u32 {
        self.fraction_bits
    }

    /// The treatment of a number that is not a multiple of the step.
    pub fn rounding(self) -> Rounding {
        self.rounding
    }

    /// The greatest magnitude of an encoded number: 2^(integer_bits + fraction_bits).
    pub fn bound(self) -> BigUint {
        BigUint::from(1u32) << (self.integer_bits + self.fraction_bits)
    }

    /// Limbs of [`bound`](Self::bound) and a sign.
    pub(super) fn limbs(self) -> usize {
        ((self.integer_bits + self.fraction_bits + 2) as usize).div_ceil(64)
    }

    /// Binary64 numbers to integers, as two's complement in [`limbs`](Self::limbs) limbs. Control flow and memory accesses
    /// depend on the exponents of the numbers, not on their significands.
    ///
    /// # Errors
    /// [`FixedPointError::NotFinite`], [`FixedPointError::Magnitude`], [`FixedPointError::Inexact`].
    pub(crate) fn encode_rows(self, values: &[f64]) -> Result<IntegerBatch, FixedPointError> {
        let mut out = IntegerBatch::zeros(values.len(), self.limbs());
        for (index, &value) in values.iter().enumerate() {
            self.encode_row(out.row_mut(index), value, index)?;
        }
        Ok(out)
    }

    fn encode_row(self, row: &mut [u64], value: f64, index: usize) -> Result<(), FixedPointError> {
        if !value.is_finite() {
            return Err(FixedPointError::NotFinite { index });
        }
        let Self { integer_bits, fraction_bits, rounding } = self;
        // Exact: a comparison with a power of two, which is infinite where binary64 ends.
        if value.abs() > 2f64.powi(integer_bits.min(1024) as i32) {
            return Err(FixedPointError::Magnitude { index, integer_bits });
        }
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        // |value| = significand · 2^exponent.
        let significand = fraction | u64::from(field != 0) << 52;
        let shift = field.max(1) - 1075 + i64::from(fraction_bits);
        if shift >= 0 {
            let (limb, bit) = ((shift / 64) as usize, shift % 64);
            let wide = u128::from(significand) << bit;
            for (i, part) in [wide as u64, (wide >> 64) as u64].into_iter().enumerate() {
                match row.get_mut(limb + i) {
                    Some(limb) => *limb = part,
                    None => debug_assert_eq!(part, 0, "below the bound"),
                }
            }
        } else {
            // Below 2^53: a shift by 55 leaves nothing, and less than half.
            let shift = (-shift).min(55) as u32;
            let (quotient, rest, half) = (significand >> shift, significand & ((1 << shift) - 1), 1u64 << (shift - 1));
            if rounding == Rounding::Exact && rest != 0 {
                return Err(FixedPointError::Inexact { index, fraction_bits });
            }
            row[0] = quotient + u64::from(rest + (quotient & 1) > half);
        }
        integers::negate_if(row, bits >> 63);
        Ok(())
    }

    /// A binary64 number to the integer that is its plaintext.
    ///
    /// # Errors
    /// [`FixedPointError::NotFinite`], [`FixedPointError::Magnitude`], [`FixedPointError::Inexact`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let format = FixedPoint::new(8, 2)?;
    /// assert_eq!(format.encode_f64(-1.5)?, BigInt::from(-6));
    /// assert!(matches!(format.encode_f64(1e9), Err(FixedPointError::Magnitude { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_f64(self, value: f64) -> Result<BigInt, FixedPointError> {
        let row = self.encode_rows(&[value])?;
        Ok(integers::to_bigint(row.row(0)))
    }

    /// An integer to the integer that is its plaintext; exact.
    ///
    /// # Errors
    /// [`FixedPointError::Magnitude`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let format = FixedPoint::new(8, 2)?;
    /// assert_eq!(format.encode_integer(&BigInt::from(-3))?, BigInt::from(-12));
    /// let refused = format.encode_integer(&BigInt::from(257));
    /// assert!(matches!(refused, Err(FixedPointError::Magnitude { .. })), "the greatest number is 2^8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_integer(self, value: &BigInt) -> Result<BigInt, FixedPointError> {
        self.encode_ratio_at(value, &BigInt::from(1), 0)
    }

    /// numerator / denominator to the integer that is its plaintext.
    ///
    /// # Errors
    /// [`FixedPointError::ZeroDenominator`], [`FixedPointError::Magnitude`], [`FixedPointError::Inexact`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let format = FixedPoint::new(8, 2)?;
    /// let (one, three) = (BigInt::from(1), BigInt::from(3));
    /// assert_eq!(format.encode_ratio(&one, &three)?, BigInt::from(1), "a quarter is nearest to a third");
    /// assert!(matches!(format.exact().encode_ratio(&one, &three), Err(FixedPointError::Inexact { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_ratio(self, numerator: &BigInt, denominator: &BigInt) -> Result<BigInt, FixedPointError> {
        self.encode_ratio_at(numerator, denominator, 0)
    }

    pub(super) fn encode_ratio_at(
        self,
        numerator: &BigInt,
        denominator: &BigInt,
        index: usize,
    ) -> Result<BigInt, FixedPointError> {
        let Self { integer_bits, fraction_bits, rounding } = self;
        if denominator.is_zero() {
            return Err(FixedPointError::ZeroDenominator { index });
        }
        // Before it is rounded, so that nothing above the bound passes as the bound.
        if *numerator.magnitude() > denominator.magnitude() << integer_bits {
            return Err(FixedPointError::Magnitude { index, integer_bits });
        }
        let (magnitude, exact) = divided_to_nearest(&(numerator.magnitude() << fraction_bits), denominator.magnitude());
        if rounding == Rounding::Exact && !exact {
            return Err(FixedPointError::Inexact { index, fraction_bits });
        }
        let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
        Ok(BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude))
    }
}
