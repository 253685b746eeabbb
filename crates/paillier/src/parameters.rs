//! Sizes of keys.

use std::fmt;

use crate::error::PaillierError;

/// Bits of the modulus n of a key.
///
/// Strength against factoring, by NIST SP 800-57 part 1 (rev. 5, table 2): 112 bits at 2048, 128 at 3072.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(KeyBits::new(2048)?.get(), 2048);
/// assert!(KeyBits::new(512).is_err());
/// assert!(KeyBits::insecure_bench(512)?.is_insecure());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBits(u32);

impl KeyBits {
    /// The smallest size that protects anything.
    pub const MIN: u32 = 2048;
    /// The largest size.
    pub const MAX: u32 = 4096;
    /// The smallest size for measurements.
    pub const MIN_INSECURE: u32 = 512;
    /// Sizes are multiples of it, so that both primes are whole limbs.
    pub const STEP: u32 = 128;
    /// 128 bits of security.
    pub const DEFAULT: KeyBits = KeyBits(3072);

    /// A size of [`MIN`](Self::MIN) to [`MAX`](Self::MAX) bits.
    ///
    /// # Errors
    /// [`PaillierError::KeyBits`], [`PaillierError::KeyBitsStep`].
    pub fn new(bits: u32) -> Result<Self, PaillierError> {
        Self::with_policy(bits, SizePolicy::Standard)
    }

    /// **Not secure below 2048 bits**: a size of [`MIN_INSECURE`](Self::MIN_INSECURE) bits or more, to measure and to
    /// compare with papers. Such a key says so in `Debug` and in its stored form, and readers refuse it unless they pass
    /// [`SizePolicy::InsecureBench`].
    ///
    /// # Errors
    /// [`PaillierError::KeyBits`], [`PaillierError::KeyBitsStep`].
    pub fn insecure_bench(bits: u32) -> Result<Self, PaillierError> {
        Self::with_policy(bits, SizePolicy::InsecureBench)
    }

    /// A size that a policy admits.
    ///
    /// # Errors
    /// [`PaillierError::KeyBits`], [`PaillierError::KeyBitsStep`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(KeyBits::with_policy(512, SizePolicy::InsecureBench)?.get(), 512);
    /// assert!(matches!(KeyBits::with_policy(512, SizePolicy::Standard), Err(PaillierError::KeyBits { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_policy(bits: u32, policy: SizePolicy) -> Result<Self, PaillierError> {
        let min = match policy {
            SizePolicy::Standard => Self::MIN,
            SizePolicy::InsecureBench => Self::MIN_INSECURE,
        };
        if !(min..=Self::MAX).contains(&bits) {
            return Err(PaillierError::KeyBits { bits });
        }
        if !bits.is_multiple_of(Self::STEP) {
            return Err(PaillierError::KeyBitsStep { bits });
        }
        Ok(Self(bits))
    }

    /// The number of bits.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Whether a key of this size protects nothing.
    pub fn is_insecure(self) -> bool {
        self.0 < Self::MIN
    }

    /// Limbs of n.
    pub(crate) fn limbs(self) -> usize {
        (self.0 / 64) as usize
    }
}

impl Default for KeyBits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Debug for KeyBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_insecure() { write!(f, "KeyBits({}, INSECURE)", self.0) } else { write!(f, "KeyBits({})", self.0) }
    }
}

impl fmt::Display for KeyBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which sizes a reader of keys accepts.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let bytes = key.to_bytes();
/// assert!(PublicKey::from_bytes(&bytes, SizePolicy::Standard).is_err());
/// assert_eq!(PublicKey::from_bytes(&bytes, SizePolicy::InsecureBench)?.tag(), key.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizePolicy {
    /// [`KeyBits::MIN`] bits or more.
    #[default]
    Standard,
    /// [`KeyBits::MIN_INSECURE`] bits or more: for measurements only.
    InsecureBench,
}

/// Distinguishes keys: the low 64 bits of n. With it a mix-up is refused before it yields noise; it does not protect
/// against forgery.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let KeyTag(low) = key.tag();
/// assert_eq!(low, key.n()[0]);
/// assert_eq!(key.tag().to_string(), format!("{low:016x}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTag(pub u64);

impl fmt::Display for KeyTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
