//! Encrypted words.

use ciphermill_lattice::rng::Csprng;

use super::MAX_DIGITS;
use crate::ciphertext::KeyTag;
use crate::client::ClientKey;
use crate::error::{TfheError, require_equal, require_key_set, require_range, require_value};
use crate::lwe::LweCiphertext;
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSet};

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 2;

/// An encrypted word: its digits under the small key, the lowest first, and a bound on the variance of each.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// // 50 = 2 + 0·4 + 3·16.
/// assert_eq!(word.digits().len(), 3);
/// assert_eq!(client.decrypt_digits(&word)?, [2, 0, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    key_tag: KeyTag,
    digits: Vec<LweCiphertext<u32>>,
    variance: f64,
}

impl Word {
    /// From its digits.
    ///
    /// # Errors
    /// [`TfheError::Field`] for no digit or more than 64, [`TfheError::Mismatch`] if their dimensions differ,
    /// [`TfheError::Variance`] for a variance that is negative or not a number.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let upper = Word::new(word.key_tag(), word.digits()[1..].to_vec(), word.variance())?;
    /// assert_eq!(client.decrypt_word(&upper)?, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(key_tag: KeyTag, digits: Vec<LweCiphertext<u32>>, variance: f64) -> Result<Self, TfheError> {
        require_range("digits of a word", digits.len() as u64, 1, MAX_DIGITS as u64)?;
        for digit in &digits {
            require_equal("LWE dimension of a digit", digit.dimension().0, digits[0].dimension().0)?;
        }
        if !(variance >= 0.0 && variance.is_sign_positive()) {
            return Err(TfheError::Variance { given: variance });
        }
        Ok(Self { key_tag, digits, variance })
    }

    /// The key set.
    #[must_use]
    pub fn key_tag(&self) -> KeyTag {
        self.key_tag
    }

    /// The digits, the lowest first.
    #[must_use]
    pub fn digits(&self) -> &[LweCiphertext<u32>] {
        &self.digits
    }

    /// The bound on the variance of each digit's phase.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The same digits with another bound on the variance.
    ///
    /// # Errors
    /// [`TfheError::Variance`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert_eq!(word.clone().with_variance(0.25)?.variance(), 0.25);
    /// assert!(word.with_variance(-1.0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_variance(self, variance: f64) -> Result<Self, TfheError> {
        Self::new(self.key_tag, self.digits, variance)
    }

    /// Whether the word belongs to a key set.
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a set without words, [`TfheError::KeySet`] for a word of another key set,
    /// [`TfheError::Mismatch`] for another dimension.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// word.check(&parameters, client.tag())?;
    /// assert!(word.check(&parameters, ciphermill_tfhe::KeyTag(!client.tag().0)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, parameters: &ParameterSet, tag: KeyTag) -> Result<(), TfheError> {
        parameters.require_words()?;
        require_key_set("key tag of the word", self.key_tag, tag)?;
        let (given, expected) = (self.digits[0].dimension().0, parameters.lwe_dimension.0);
        require_equal("LWE dimension of a digit", given, expected)
    }

    /// The digits from `first` on, `count` of them.
    ///
    /// # Errors
    /// [`TfheError::Field`] for no digit, and for digits that the word lacks.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert_eq!(client.decrypt_word(&word.slice(1, 2)?)?, 12);
    /// assert!(matches!(word.slice(3, 1), Err(TfheError::Field { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, first: usize, count: usize) -> Result<Self, TfheError> {
        let end = first.saturating_add(count);
        require_range("end of the digits", end as u64, first as u64 + 1, self.digits.len() as u64)?;
        Self::new(self.key_tag, self.digits[first..end].to_vec(), self.variance)
    }

    /// The digits of this word, then those of another.
    ///
    /// # Errors
    /// [`TfheError::KeySet`] for words of two key sets, [`TfheError::Mismatch`] for two dimensions, [`TfheError::Field`] for
    /// more than 64 digits.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let low = client.encrypt_word(7, 4, &mut rng)?;
    /// assert_eq!(client.decrypt_word(&low.concatenate(&word)?)?, 7 + 50 * 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn concatenate(&self, upper: &Self) -> Result<Self, TfheError> {
        require_key_set("key tag of the second word", upper.key_tag, self.key_tag)?;
        let digits = self.digits.iter().chain(&upper.digits).cloned().collect();
        Self::new(self.key_tag, digits, self.variance.max(upper.variance))
    }
}

impl ClientKey {
    /// Encrypts digits of two bits, the lowest first.
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a parameter set without words, [`TfheError::Value`] for a digit above 3,
    /// [`TfheError::Field`] for no digit or more than 64.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let word = client.encrypt_digits(&[1, 2, 3], &mut rng)?;
    /// assert_eq!(client.decrypt_word(&word)?, 1 + 2 * 4 + 3 * 16);
    /// assert!(client.encrypt_digits(&[4], &mut rng).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_digits(&self, digits: &[u8], rng: &mut Csprng) -> Result<Word, TfheError> {
        self.parameters.require_words()?;
        let encrypt = |&digit: &u8| {
            require_value("the digit", digit.into(), 0, 3)?;
            self.lwe.encrypt(u32::from(digit) << 30, self.parameters.lwe_noise, rng)
        };
        let digits = digits.iter().map(encrypt).collect::<Result<Vec<_>, TfheError>>()?;
        Word::new(self.tag, digits, noise::fresh_variance(&self.parameters, KeyOrder::Small))
    }

    /// Encrypts an integer of `bits` bits as a word of ⌈bits/2⌉ digits.
    ///
    /// # Errors
    /// As [`encrypt_digits`](Self::encrypt_digits), and [`TfheError::Value`] for 0 bits, more than 64, or a value of more.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// let word = client.encrypt_word(0x1234, 14, &mut rng)?;
    /// assert_eq!((word.digits().len(), client.decrypt_word(&word)?), (7, 0x1234));
    /// assert!(client.encrypt_word(16, 4, &mut rng).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_word(&self, value: u64, bits: u32, rng: &mut Csprng) -> Result<Word, TfheError> {
        require_value("the number of bits of the word", bits.into(), 1, 64)?;
        require_value("the value of the word", value, 0, u64::MAX >> (64 - bits))?;
        let digits: Vec<u8> = (0..bits.div_ceil(DIGIT_BITS)).map(|i| (value >> (DIGIT_BITS * i) & 3) as u8).collect();
        self.encrypt_digits(&digits, rng)
    }

    /// The digits of a word.
    ///
    /// # Errors
    /// [`TfheError::KeySet`] for a word of another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert_eq!(client.decrypt_digits(&word)?, [2, 0, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_digits(&self, word: &Word) -> Result<Vec<u8>, TfheError> {
        require_key_set("key tag of the word", word.key_tag, self.tag)?;
        let decrypt = |digit: &LweCiphertext<u32>| {
            let phase: u32 = self.lwe.decrypt_phase(digit)?;
            Ok((phase.wrapping_add(1 << 29) >> 30) as u8)
        };
        word.digits.iter().map(decrypt).collect()
    }

    /// The integer of a word of at most 64 digits.
    ///
    /// # Errors
    /// As [`decrypt_digits`](Self::decrypt_digits).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert_eq!(client.decrypt_word(&word)?, 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_word(&self, word: &Word) -> Result<u128, TfheError> {
        let digits = self.decrypt_digits(word)?;
        Ok(digits.into_iter().rev().fold(0, |value, digit| value << DIGIT_BITS | u128::from(digit)))
    }
}

impl ParameterSet {
    /// Refuses a set without words.
    pub(crate) fn require_words(&self) -> Result<crate::parameters::WordGadgets, TfheError> {
        self.word.ok_or_else(|| self.no_words())
    }
}
