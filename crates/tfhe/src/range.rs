//! Ranges of encrypted messages, and the rules by which linear operations change them.

use crate::encoding::{Encoding, MAX_LEVELS};

/// The most places of an encoding: those of [`MAX_LEVELS`] messages and a padding bit.
pub const MAX_PLACES: u64 = 2 * MAX_LEVELS;

/// Why an operation has no admissible range of results.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let digits = MessageRange::of(&encoding);
/// // Three times 0 to 7 need 22 places, and the encoding has 16.
/// let refused = digits.scale(3).unwrap_err();
/// assert_eq!(refused, RangeError::Overflow { min: 0, max: 21, places: 16 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The messages, with zero, need more places than the torus has in this encoding.
    #[error(
        "messages from {min} to {max} exceed the {places} places of their encoding; use smaller operands or an encoding \
         with more places"
    )]
    Overflow {
        /// Smallest message.
        min: i64,
        /// Largest message.
        max: i64,
        /// Places of the encoding.
        places: u64,
    },
    /// The interval is empty.
    #[error("messages from {min} to {max} are not a range; use a minimum of at most the maximum")]
    Empty {
        /// Smallest message.
        min: i64,
        /// Largest message.
        max: i64,
    },
    /// The number of places is not one of an encoding.
    #[error("{given} places make no encoding; use 1 to 2097152, and an even number above 1048576")]
    PlaceCount {
        /// The number.
        given: u64,
    },
    /// Two objects have different encodings.
    #[error("messages at {given} places do not go with those at {expected} places; use one encoding for both")]
    Places {
        /// Places of the one object.
        given: u64,
        /// Places of the other.
        expected: u64,
    },
    /// The number of places is not a power of two, so the messages are not split into bits.
    #[error(
        "an integer in an encoding of {places} places cannot be split into bits; encrypt it with --bits, or use an encoding \
         whose number of places is a power of two"
    )]
    NotPowerOfTwo {
        /// Places of the encoding.
        places: u64,
    },
    /// A test vector has no value for some messages.
    #[error(
        "messages from {min} to {max} are not all in the test vector, which covers {table_min} to {table_max}; use a test \
         vector that covers them"
    )]
    NotCovered {
        /// Smallest message.
        min: i64,
        /// Largest message.
        max: i64,
        /// Smallest message of the test vector.
        table_min: i64,
        /// Largest message of the test vector.
        table_max: i64,
    },
}

/// The messages that a ciphertext may hold: the integers min..=max, at multiples of 1/places of the torus.
///
/// A range and zero together never need more places than there are, so that some [`Encoding`] reads every message back.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let digits = MessageRange::of(&encoding);
/// assert_eq!((digits.min(), digits.max(), digits.places()), (0, 7, 16));
/// let sum = digits.add(&digits)?;
/// assert_eq!((sum.min(), sum.max()), (0, 14));
/// // Eight more levels do not fit.
/// assert!(sum.add(&digits).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRange {
    places: u32,
    min: i32,
    max: i32,
}

impl MessageRange {
    /// The messages `min..=max` at multiples of 1/`places`.
    ///
    /// # Errors
    /// [`RangeError::PlaceCount`], [`RangeError::Empty`] or [`RangeError::Overflow`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(MessageRange::new(22, 0, 21).is_ok());
    /// assert!(matches!(MessageRange::new(22, -1, 21), Err(RangeError::Overflow { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(places: u64, min: i64, max: i64) -> Result<Self, RangeError> {
        if !(1..=MAX_PLACES).contains(&places) || (places > MAX_LEVELS && places % 2 == 1) {
            return Err(RangeError::PlaceCount { given: places });
        }
        if min > max {
            return Err(RangeError::Empty { min, max });
        }
        // With zero, as that of every encoding: the interval must have a place for each of its messages.
        let needed = i128::from(max.max(0)) - i128::from(min.min(0)) + 1;
        if needed > i128::from(places) {
            return Err(RangeError::Overflow { min, max, places });
        }
        // Below the places in magnitude.
        Ok(Self { places: places as u32, min: min as i32, max: max as i32 })
    }

    /// All messages of an encoding.
    #[must_use]
    pub fn of(encoding: &Encoding) -> Self {
        // An encoding has at most 2^20 messages, at least as many places, and contains zero.
        Self { places: encoding.places() as u32, min: encoding.min() as i32, max: encoding.max() as i32 }
    }

    /// Smallest message.
    #[must_use]
    pub fn min(&self) -> i64 {
        self.min.into()
    }

    /// Largest message.
    #[must_use]
    pub fn max(&self) -> i64 {
        self.max.into()
    }

    /// The number of places on the torus.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.places.into()
    }

    /// An encoding with these places. It reads every message of the range back; with more than [`MAX_LEVELS`] places,
    /// as many of them as half of the torus has room for, with zero.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let sum = MessageRange::new(16, 0, 14)?.encoding();
    /// assert_eq!((sum.min(), sum.max(), sum.places()), (0, 15, 16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        let (places, min) = (self.places(), self.min().min(0));
        let whole = Encoding::new(min, min + places as i64 - 1, false);
        // Beyond the most levels, encodings have a padding bit and an even number of places.
        let half = places as i64 / 2;
        let low = min.max(self.max().max(0) - half + 1).min(0);
        whole.or_else(|_| Encoding::new(low, low + half - 1, true)).expect("at most MAX_PLACES places")
    }

    /// The sums of a message of each range.
    ///
    /// # Errors
    /// [`RangeError::Places`] or [`RangeError::Overflow`].
    pub fn add(&self, rhs: &Self) -> Result<Self, RangeError> {
        self.require_places(rhs.places())?;
        Self::new(self.places(), self.min() + rhs.min(), self.max() + rhs.max())
    }

    /// The differences of a message of each range.
    ///
    /// # Errors
    /// [`RangeError::Places`] or [`RangeError::Overflow`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let digits = MessageRange::of(&encoding);
    /// assert_eq!(digits.sub(&digits)?, MessageRange::new(16, -7, 7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sub(&self, rhs: &Self) -> Result<Self, RangeError> {
        self.require_places(rhs.places())?;
        Self::new(self.places(), self.min() - rhs.max(), self.max() - rhs.min())
    }

    /// The multiples of the messages by `factor`.
    ///
    /// # Errors
    /// [`RangeError::Overflow`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(MessageRange::of(&encoding).scale(-2)?, MessageRange::new(16, -14, 0)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scale(&self, factor: i32) -> Result<Self, RangeError> {
        let [a, b] = [self.min(), self.max()].map(|message| message * i64::from(factor));
        Self::new(self.places(), a.min(b), a.max(b))
    }

    /// Refuses another number of places.
    pub(crate) fn require_places(&self, expected: u64) -> Result<(), RangeError> {
        let given = self.places();
        if given == expected { Ok(()) } else { Err(RangeError::Places { given, expected }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range() -> impl Strategy<Value = MessageRange> {
        (1..=64u64, -64..=64i64, 0..=64i64)
            .prop_filter_map("fits", |(places, min, length)| MessageRange::new(places, min, min + length).ok())
    }

    proptest! {
        /// Every sum, difference and multiple of two messages lies in the range of the operation, and its ends are met.
        #[test]
        fn operations_have_the_ranges_of_all_pairs(a in range(), b in range(), factor in -4i32..=4) {
            let b = MessageRange::new(a.places(), b.min(), b.max());
            prop_assume!(b.is_ok());
            let b = b.expect("assumed");
            let pairs = || (a.min()..=a.max()).flat_map(|x| (b.min()..=b.max()).map(move |y| (x, y)));
            let span = |values: Vec<i64>| (values.iter().copied().min(), values.iter().copied().max());
            let sums = span(pairs().map(|(x, y)| x + y).collect());
            let differences = span(pairs().map(|(x, y)| x - y).collect());
            let multiples = span(pairs().map(|(x, _)| x * i64::from(factor)).collect());
            for (result, expected) in [(a.add(&b), sums), (a.sub(&b), differences), (a.scale(factor), multiples)] {
                match result {
                    Ok(range) => prop_assert_eq!((Some(range.min()), Some(range.max())), expected),
                    Err(RangeError::Overflow { min, max, .. }) => {
                        prop_assert_eq!((Some(min), Some(max)), expected);
                        prop_assert!(max.max(0) - min.min(0) + 1 > a.places() as i64);
                    }
                    Err(other) => prop_assert!(false, "{}", other),
                }
            }
        }

        /// The encoding of a range reads all of its messages back.
        #[test]
        fn an_encoding_reads_the_whole_range(range in range()) {
            let encoding = range.encoding();
            prop_assert_eq!(encoding.places(), range.places());
            for message in range.min()..=range.max() {
                prop_assert_eq!(encoding.encode::<u64>(message).and_then(|place| encoding.decode(place)), Ok(message));
            }
        }
    }

    #[test]
    fn ranges_with_other_places_do_not_add() {
        let [a, b] = [16, 17].map(|places| MessageRange::new(places, 0, 1).expect("fits"));
        let refused = Err(RangeError::Places { given: 16, expected: 17 });
        assert_eq!((a.add(&b), a.sub(&b)), (refused, refused));
        assert_eq!(a.add(&a), MessageRange::new(16, 0, 2));
    }

    #[test]
    fn the_widest_encodings_have_ranges() {
        let widest = Encoding::unsigned(20, true).expect("20 bits");
        let range = MessageRange::of(&widest);
        assert_eq!(range.places(), MAX_PLACES);
        assert_eq!(range.encoding().places(), MAX_PLACES);
        assert_eq!(range.scale(-1).expect("as many places").encoding().decode(u64::MAX), Ok(0));
        let doubled = range.scale(2).expect("as many places");
        assert_eq!((doubled.encoding().min(), doubled.encoding().places()), (0, MAX_PLACES));
        let below = MessageRange::new(MAX_PLACES, 1 - MAX_PLACES as i64, 0).expect("all places");
        assert_eq!(below.encoding().decode(0u64), Ok(0));
        // Half of the places, up to the largest message.
        let half = MAX_PLACES as i64 / 2;
        assert_eq!((below.encoding().min(), below.encoding().max()), (1 - half, 0));
        let above = MessageRange::new(MAX_PLACES, 6 - MAX_PLACES as i64, 5).expect("all places");
        assert_eq!((above.encoding().min(), above.encoding().max()), (6 - half, 5));
        assert_eq!(MessageRange::new(MAX_PLACES + 1, 0, 0), Err(RangeError::PlaceCount { given: MAX_PLACES + 1 }));
        assert!(range.scale(i32::MIN).is_err());
    }
}
