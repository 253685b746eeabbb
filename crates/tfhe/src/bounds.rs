//! Bounds on encrypted messages and their noise.
//!
//! A ciphertext states the range of its message and a bound on the variance of its phase. Linear operations have transfer
//! functions from the bounds of their operands to those of the result; those of bootstraps are in
//! [`judgement`](crate::judgement).

use crate::encoding::Encoding;
use crate::range::{MessageRange, RangeError};

/// The knowledge about a ciphertext: the range of its message, and a bound on the variance of its phase relative to the
/// square of the torus.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let fresh = three.bounds();
/// assert_eq!(fresh.range(), Some(MessageRange::of(&encoding)));
/// let sum = fresh.add(&fresh);
/// assert_eq!(sum.range(), Some(MessageRange::new(16, 0, 14)?));
/// // Twice the noise: the operands are the same.
/// assert!(sum.variance() > fresh.variance().map(|variance| 3.99 * variance));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    range: Option<MessageRange>,
    /// Never a NaN and never negative.
    variance: Option<f64>,
}

impl Eq for Bounds {}

impl Bounds {
    /// Those of an object that states none, which counts as a fresh encryption of an unknown range.
    pub const UNSTATED: Self = Self { range: None, variance: None };

    /// Those of a ciphertext of which nothing is known: no decryption of it is certain to be right.
    pub const UNKNOWN: Self = Self { range: None, variance: Some(f64::INFINITY) };

    /// A range, if it is known, and a variance; `None` if the variance is negative or not a number.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(Bounds::new(None, 0.0).is_some());
    /// assert!(Bounds::new(None, -1.0).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(range: Option<MessageRange>, variance: f64) -> Option<Self> {
        // Written so that a NaN and a negative zero are refused too.
        let valid = variance >= 0.0 && variance.is_sign_positive();
        valid.then_some(Self { range, variance: Some(variance) })
    }

    /// The range of the message; `None` if it is not known.
    #[must_use]
    pub fn range(&self) -> Option<MessageRange> {
        self.range
    }

    /// The bound on the variance; `None` if the object states none, infinite if nothing is known.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        self.variance
    }

    /// The same with a variance of at least `least`: a stated bound cannot be below that of a fresh encryption.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(Bounds::UNSTATED.at_least(0.5).variance(), Some(0.5));
    /// assert_eq!(Bounds::UNKNOWN.at_least(0.5), Bounds::UNKNOWN);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn at_least(self, least: f64) -> Self {
        Self { variance: Some(self.variance.unwrap_or(0.0).max(least)), ..self }
    }

    /// The same with another range.
    #[must_use]
    pub fn with_range(self, range: Option<MessageRange>) -> Self {
        Self { range, ..self }
    }

    /// Those of the sum of two ciphertexts, which may depend on each other: the standard deviations add. For the closer bound
    /// of independent operands there is [`NoiseSum`](crate::NoiseSum). The range is unknown if it exceeds the torus.
    #[must_use]
    pub fn add(&self, rhs: &Self) -> Self {
        self.join(rhs, |a, b| a.add(&b))
    }

    /// Those of the difference of two ciphertexts, as [`add`](Self::add) has them.
    #[must_use]
    pub fn sub(&self, rhs: &Self) -> Self {
        self.join(rhs, |a, b| a.sub(&b))
    }

    /// Those of the multiple of a ciphertext: the variance grows by the square of the factor, and is rounded up.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let double = three.bounds().scale(2);
    /// assert!(double.variance() > three.bounds().variance().map(|variance| 4.0 * variance));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn scale(&self, factor: i32) -> Self {
        let square = f64::from(factor) * f64::from(factor);
        // Nothing is known of the noise of a zero multiple either: infinity times zero is not a number.
        let variance = self.variance.filter(|v| v.is_finite()).map_or(f64::INFINITY, |v| computed(v * square));
        Self { range: self.range.and_then(|range| range.scale(factor).ok()), variance: Some(variance) }
    }

    fn join(&self, rhs: &Self, rule: impl Fn(MessageRange, MessageRange) -> Result<MessageRange, RangeError>) -> Self {
        let range = self.range.zip(rhs.range).and_then(|(a, b)| rule(a, b).ok());
        // Where one states none, it may be anything.
        let sum = |(a, b): (f64, f64)| computed((a.sqrt() + b.sqrt()).powi(2));
        let variance = self.variance.zip(rhs.variance).map_or(f64::INFINITY, sum);
        Self { range, variance: Some(variance) }
    }
}

/// The variance that the result of a computation states, rounded up. That of a fresh encryption or of a bootstrap is stated
/// exactly, and no result of a linear operation states the same number. So the statement shows whether an object is one of
/// these, whose noise depends on no other object.
#[must_use]
pub fn computed(variance: f64) -> f64 {
    variance.next_up()
}

/// The encodings of a test vector's arguments and values.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encodings = square.encodings().ok_or("made from a function")?;
/// assert_eq!((encodings.input, encodings.output), (encoding, encoding));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEncodings {
    /// That of the arguments.
    pub input: Encoding,
    /// That of the values.
    pub output: Encoding,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(max: i64, variance: f64) -> Bounds {
        Bounds::new(Some(MessageRange::new(16, 0, max).expect("few messages")), variance).expect("a variance")
    }

    #[test]
    fn deviations_add_and_ranges_that_do_not_fit_are_unknown() {
        let (a, b) = (bounds(7, 1.0), bounds(3, 0.25));
        assert_eq!(a.add(&b), bounds(10, 2.25f64.next_up()));
        assert_eq!(a.sub(&b).variance(), Some(2.25f64.next_up()));
        assert_eq!(a.scale(2), bounds(14, 4f64.next_up()));
        assert_eq!(a.scale(-3).variance(), Some(9f64.next_up()));
        // A multiple by −1 has the same variance, and does not state it.
        assert!(a.scale(-1).variance() > a.variance());
        for overflow in [a.scale(3), a.add(&a).add(&b), a.scale(-3)] {
            assert_eq!(overflow.range(), None);
        }
    }

    /// An object that states nothing counts as fresh as it is, and its sums may not.
    #[test]
    fn nothing_is_known_of_results_of_unstated_operands() {
        let stated = bounds(1, 0.5);
        for result in [Bounds::UNSTATED.add(&stated), stated.sub(&Bounds::UNSTATED), Bounds::UNSTATED.scale(0)] {
            assert_eq!(result, Bounds::UNKNOWN);
        }
        assert_eq!(Bounds::UNKNOWN.scale(0), Bounds::UNKNOWN);
    }
}
