//! Exact numbers with a binary point.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

/// mantissa · 2^−fraction_bits, exactly.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let number = Number::new(BigInt::from(6), 2);
/// assert_eq!(number.ratio(), (BigInt::from(3), BigUint::from(2u32)));
/// assert_eq!(number.to_f64(), Some(1.5));
/// assert_eq!((number.mantissa(), number.fraction_bits()), (&BigInt::from(6), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Number {
    mantissa: BigInt,
    fraction_bits: u32,
}

impl Number {
    /// mantissa · 2^−fraction_bits.
    pub fn new(mantissa: BigInt, fraction_bits: u32) -> Self {
        Self { mantissa, fraction_bits }
    }

    /// The numerator over 2^[`fraction_bits`](Self::fraction_bits); the two are not in lowest terms.
    pub fn mantissa(&self) -> &BigInt {
        &self.mantissa
    }

    /// The power of two that is the denominator.
    pub fn fraction_bits(&self) -> u32 {
        self.fraction_bits
    }

    /// The numerator and the denominator in lowest terms.
    pub fn ratio(&self) -> (BigInt, BigUint) {
        let common = self
            .mantissa
            .trailing_zeros()
            .map_or(self.fraction_bits, |zeros| zeros.min(self.fraction_bits.into()) as u32);
        (&self.mantissa >> common, BigUint::from(1u32) << (self.fraction_bits - common))
    }

    /// The integer, if it is one.
    pub fn to_integer(&self) -> Option<BigInt> {
        let (numerator, denominator) = self.ratio();
        (denominator == BigUint::from(1u32)).then_some(numerator)
    }

    /// The nearest binary64 number, of two equally near ones the even one; `None` beyond the greatest finite one.
    pub fn to_f64(&self) -> Option<f64> {
        let magnitude = self.mantissa.magnitude();
        if magnitude.is_zero() {
            return Some(0.0);
        }
        // The last bit that is kept weighs 2^step: 53 bits in all, but never below the subnormal step 2^−1074.
        let exponent = i64::try_from(magnitude.bits()).ok()? - i64::from(self.fraction_bits);
        let step = (exponent - 53).max(-1074);
        let kept = shifted_to_nearest(magnitude, -step - i64::from(self.fraction_bits));
        // At most 2^53: exact, and so are both factors; rounding up to the next power of two needs no care.
        let kept = kept.to_u64()? as f64;
        let (first, rest) = (step.div_euclid(2), step - step.div_euclid(2));
        let value = if step > 971 { f64::INFINITY } else { kept * power_of_two(first) * power_of_two(rest) };
        let value = if self.mantissa.sign() == Sign::Minus { -value } else { value };
        value.is_finite().then_some(value)
    }
}

/// Equal as numbers, whatever their fraction bits.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.ratio() == other.ratio()
    }
}

impl Eq for Number {}

/// 2^exponent for −1022 ≤ exponent ≤ 1023.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// value · 2^shift, rounded to the nearest integer, ties to even.
pub(super) fn shifted_to_nearest(value: &BigUint, shift: i64) -> BigUint {
    if shift >= 0 {
        return value << shift;
    }
    divided_to_nearest(value, &(BigUint::from(1u32) << -shift)).0
}

/// value / divisor, rounded to the nearest integer, ties to even; and whether it is exact.
pub(super) fn divided_to_nearest(value: &BigUint, divisor: &BigUint) -> (BigUint, bool) {
    let (mut quotient, rest) = (value / divisor, value % divisor);
    let twice = &rest << 1;
    if twice > *divisor || twice == *divisor && quotient.bit(0) {
        quotient += 1u32;
    }
    (quotient, rest.is_zero())
}
