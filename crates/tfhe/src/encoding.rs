//! Messages on the torus.
//!
//! An [`Encoding`] places the integers `min..=max` at multiples of Δ. With L = max − min + 1 levels, Δ is 1/L of the
//! torus without a padding bit and 1/(2L) with one. Zero always encodes to 0, so sums and differences of ciphertexts
//! of one encoding are encryptions of sums and differences.

use ciphermill_lattice::Torus;

/// Most levels an encoding may have: beyond, no parameter set of this crate could distinguish neighbours.
pub const MAX_LEVELS: u64 = 1 << 20;

/// Why a message cannot be encoded or decoded.
///
/// # Example
/// ```
/// use ciphermill_tfhe::{Encoding, EncodingError};
///
/// let error = Encoding::new(1, 9, true).unwrap_err();
/// assert_eq!(error, EncodingError::Interval { min: 1, max: 9 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The message is not one of the encoding.
    #[error("message {given} is outside the encoding, which holds {min} to {max}")]
    OutOfRange {
        /// The message.
        given: i64,
        /// Smallest message.
        min: i64,
        /// Largest message.
        max: i64,
    },
    /// The interval of messages is empty, too large, or does not contain zero.
    #[error("messages from {min} to {max} make no encoding; it needs min <= 0 <= max and at most 1048576 values")]
    Interval {
        /// Smallest message.
        min: i64,
        /// Largest message.
        max: i64,
    },
    /// Without a padding bit a table must satisfy f(m + L/2) = −f(m), L even.
    #[error(
        "the table at {message} is not the negative of the table half a turn further; without a padding bit only such \
         negacyclic functions can be evaluated, so use an encoding with padding"
    )]
    NotNegacyclic {
        /// First message at which the condition fails.
        message: i64,
    },
}

/// A set of consecutive integers and their places on the torus.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let bits = Encoding::unsigned(3, true)?;
/// assert_eq!((bits.min(), bits.max(), bits.places()), (0, 7, 16));
/// assert_eq!(bits.decode(bits.encode::<u64>(5)?)?, 5);
/// assert_eq!((bits.padding(), bits.delta()), (true, 1.0 / 16.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    min: i64,
    max: i64,
    padding: bool,
}

impl Encoding {
    /// The integers `min..=max`, with or without a padding bit.
    ///
    /// # Errors
    /// If zero is not among them or there are more than [`MAX_LEVELS`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let digits = Encoding::new(0, 9, true)?;
    /// assert_eq!(digits.levels(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(min: i64, max: i64, padding: bool) -> Result<Self, EncodingError> {
        let levels = i128::from(max) - i128::from(min) + 1;
        if min > 0 || max < 0 || levels > i128::from(MAX_LEVELS) {
            return Err(EncodingError::Interval { min, max });
        }
        Ok(Self { min, max, padding })
    }

    /// 0 ≤ m < 2^`bits`.
    ///
    /// # Errors
    /// If `bits` exceeds 20.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // 3 bits and a padding bit: 8 messages at 16 places.
    /// let bits = Encoding::unsigned(3, true)?;
    /// assert_eq!((bits.levels(), bits.places()), (8, 16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unsigned(bits: u32, padding: bool) -> Result<Self, EncodingError> {
        let levels = 1i64.checked_shl(bits).filter(|&l| l > 0).unwrap_or(i64::MAX);
        Self::new(0, levels - 1, padding)
    }

    /// −2^(`bits`−1) ≤ m < 2^(`bits`−1).
    ///
    /// # Errors
    /// If `bits` is 0 or exceeds 20.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let signed = Encoding::signed(3, true)?;
    /// assert_eq!((signed.min(), signed.max()), (-4, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn signed(bits: u32, padding: bool) -> Result<Self, EncodingError> {
        let half = bits.checked_sub(1).and_then(|b| 1i64.checked_shl(b)).filter(|&h| h > 0);
        let half = half.ok_or(EncodingError::Interval { min: 0, max: -1 })?;
        Self::new(-half, half - 1, padding)
    }

    /// Smallest message.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// Largest message.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Whether half of the torus is kept free.
    pub fn padding(&self) -> bool {
        self.padding
    }

    /// L, the number of messages.
    pub fn levels(&self) -> u64 {
        (self.max - self.min + 1) as u64
    }

    /// 1/Δ, the number of places on the torus.
    pub fn places(&self) -> u64 {
        self.levels() << u32::from(self.padding)
    }

    /// Δ as a fraction of the torus.
    pub fn delta(&self) -> f64 {
        1.0 / self.places() as f64
    }

    /// ⌊m·Δ⌉ on the torus.
    ///
    /// # Errors
    /// If `message` is not one of the encoding.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(encoding.encode::<u64>(3)?, 3 << 60);
    /// assert!(matches!(encoding.encode::<u64>(8), Err(EncodingError::OutOfRange { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode<T: Torus>(&self, message: i64) -> Result<T, EncodingError> {
        if !(self.min..=self.max).contains(&message) {
            return Err(EncodingError::OutOfRange { given: message, min: self.min, max: self.max });
        }
        Ok(self.place(message))
    }

    /// ⌊m·Δ⌉ for any integer, taken modulo the number of places.
    pub(crate) fn place<T: Torus>(&self, message: i64) -> T {
        let places = i128::from(self.places());
        let numerator = (i128::from(message).rem_euclid(places) << T::BITS) + places / 2;
        T::from_signed_i64((numerator / places) as u64 as i64)
    }

    /// The message nearest to a phase.
    ///
    /// # Errors
    /// If the nearest place belongs to no message: with padding, half of the torus does.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The noise is less than half of the distance between two messages.
    /// assert_eq!(encoding.decode((3u64 << 60) + (1 << 58))?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode<T: Torus>(&self, phase: T) -> Result<i64, EncodingError> {
        let message = self.nearest(phase);
        if message > self.max {
            return Err(EncodingError::OutOfRange { given: message, min: self.min, max: self.max });
        }
        Ok(message)
    }

    /// The place nearest to a phase, as an integer in `min..min + places`.
    pub(crate) fn nearest<T: Torus>(&self, phase: T) -> i64 {
        let places = u128::from(self.places());
        let phase = u128::from(phase.to_u64_msb());
        let place = ((phase * places + (1 << 63)) >> 64) as i64;
        self.min + (place - self.min).rem_euclid(self.places() as i64)
    }
}
