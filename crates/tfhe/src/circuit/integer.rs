//! From one LWE ciphertext of an integer to a word: its bits, one after the other, from the lowest.
//!
//! An integer m at 2^p places has the phase m/2^p. Once the bits below bit i are gone, 2^(p−1−i) times the ciphertext has the
//! phase m_i/2: the bits above make whole turns. A rotation then looks up two functions of the bit: its part of its digit, and
//! its own weight 2^i/2^p, which is subtracted from the integer. The two parts of a digit add up, and each digit is switched to
//! the small key at the end.
//!
//! Each bit needs the ones below it, so the rotations of one integer follow each other. Several integers share the passes over
//! the key.

use crate::error::{TfheError, require_value};
use crate::lwe::LweCiphertext;
use crate::range::{MAX_PLACES, MessageRange, RangeError};
use crate::word::DIGIT_BITS;

/// log2 of the most places of an integer.
const MAX_LOG2_PLACES: u32 = MAX_PLACES.ilog2();

/// How an integer lies on the torus, and how many of its bits become a word.
///
/// # Example
/// ```
/// use ciphermill_tfhe::MessageRange;
/// use ciphermill_tfhe::circuit::Split;
/// // Sums of up to 1000 at 2^14 places have ten bits, five digits.
/// let sums = Split::of(&MessageRange::new(1 << 14, 0, 1000)?)?;
/// assert_eq!((sums.log2_places(), sums.bits(), sums.digits()), (14, 10, 5));
/// // A range below zero needs all places: −1 is 2^14 − 1.
/// let differences = Split::of(&MessageRange::new(1 << 14, -1000, 1000)?)?;
/// assert_eq!((differences.bits(), differences.digits()), (14, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    log2_places: u32,
    bits: u32,
}

impl Split {
    /// The low `bits` bits of an integer at 2^`log2_places` places. The bits above must be zero, unless there are none.
    ///
    /// # Errors
    /// [`TfheError::Value`] for 0 or more than 21 for `log2_places`, and for no bit or more than `log2_places`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::circuit::Split;
    /// assert!(Split::new(14, 14).is_ok());
    /// assert!(Split::new(14, 15).is_err() && Split::new(14, 0).is_err() && Split::new(22, 1).is_err());
    /// ```
    pub fn new(log2_places: u32, bits: u32) -> Result<Self, TfheError> {
        require_value("log2 of the places of an integer", log2_places.into(), 1, MAX_LOG2_PLACES.into())?;
        require_value("the number of bits of the integer", bits.into(), 1, log2_places.into())?;
        Ok(Self { log2_places, bits })
    }

    /// That of the messages of a range: the bits of the largest one, or all if some are negative, which are then those of the
    /// message modulo the places.
    ///
    /// # Errors
    /// [`RangeError::NotPowerOfTwo`] if the places are not a power of two, or one place.
    pub fn of(range: &MessageRange) -> Result<Self, RangeError> {
        let places = range.places();
        if places < 2 || !places.is_power_of_two() {
            return Err(RangeError::NotPowerOfTwo { places });
        }
        let log2_places = places.ilog2();
        let bits = match u64::try_from(range.min()) {
            Ok(_) => (u64::BITS - (range.max() as u64).leading_zeros()).max(1),
            Err(_) => log2_places,
        };
        Ok(Self { log2_places, bits })
    }

    /// log2 of the places on the torus.
    #[must_use]
    pub fn log2_places(&self) -> u32 {
        self.log2_places
    }

    /// The bits of the word.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The digits of the word.
    #[must_use]
    pub fn digits(&self) -> usize {
        self.bits.div_ceil(DIGIT_BITS) as usize
    }

    /// The factor that leaves `bit` alone in the phase, at half a turn.
    pub(super) fn factor(self, bit: u32) -> i32 {
        1 << (self.log2_places - 1 - bit)
    }

    /// The values of a bit of 1: in its digit, and in the integer.
    pub(super) fn weights(self, bit: u32) -> [u64; 2] {
        [1 << (62 + bit % DIGIT_BITS), 1 << (64 - self.log2_places + bit)]
    }
}

/// An integer whose low bits are gone, and the digits of the word so far.
pub(super) struct Remainder {
    split: Split,
    rest: LweCiphertext<u64>,
    digits: Vec<LweCiphertext<u64>>,
}

impl Remainder {
    pub(super) fn new(split: Split, input: &LweCiphertext<u64>) -> Self {
        let zero = LweCiphertext::trivial(0, input.dimension());
        Self { split, rest: input.clone(), digits: vec![zero; split.digits()] }
    }

    /// The bit at half a turn.
    pub(super) fn scaled(&self, bit: u32) -> LweCiphertext<u64> {
        let mut scaled = self.rest.clone();
        scaled.scalar_mul_assign(self.split.factor(bit));
        scaled
    }

    /// Moves a bit, in its two weights, from the integer to its digit.
    pub(super) fn take(&mut self, bit: u32, [of_digit, own]: &[LweCiphertext<u64>; 2]) -> Result<(), TfheError> {
        self.digits[(bit / DIGIT_BITS) as usize].add_assign(of_digit)?;
        self.rest.sub_assign(own)
    }

    pub(super) fn split(&self) -> Split {
        self.split
    }

    pub(super) fn into_digits(self) -> Vec<LweCiphertext<u64>> {
        self.digits
    }
}
