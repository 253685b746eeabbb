//! The head of stored ciphertexts, readable before their key is known.

use ciphermill_wire::{WireError, open};

use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::parameters::{KeyBits, KeyTag, SizePolicy};
use crate::serial::{BODY_VERSION, CIPHERTEXT_VECTOR, MAX_ELEMENTS};

/// The head of a sealed vector of ciphertexts.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let CiphertextHead { tag, bits, elements } = CiphertextVector::head(&x.to_bytes()?)?;
/// assert_eq!((tag, bits, elements), (key.tag(), key.bits(), 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiphertextHead {
    /// Whose ciphertexts they are.
    pub tag: KeyTag,
    /// Bits of n.
    pub bits: KeyBits,
    /// Number of ciphertexts.
    pub elements: u64,
}

impl CiphertextVector {
    /// Bytes of a body before its ciphertexts.
    const HEAD_LEN: u64 = 24;

    /// Looks at a sealed vector without its key: envelope, checksum, head and length are checked, the ciphertexts
    /// themselves cannot be.
    ///
    /// # Errors
    /// If it is malformed, or declares a key size that no key has.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let head = CiphertextVector::head(&x.to_bytes()?)?;
    /// assert_eq!((head.tag, head.elements), (key.tag(), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn head(bytes: &[u8]) -> Result<CiphertextHead, PaillierError> {
        let limit = Self::HEAD_LEN + MAX_ELEMENTS * u64::from(KeyBits::MAX) / 4;
        let (_, mut input) = open(bytes, CIPHERTEXT_VECTOR, BODY_VERSION..=BODY_VERSION, limit)?;
        let tag = KeyTag(input.u64()?);
        let bits = KeyBits::with_policy(input.u32()?, SizePolicy::InsecureBench)?;
        if input.u32()? != 0 {
            return Err(PaillierError::Malformed { field: "reserved word", reason: "it must be 0" });
        }
        let elements = input.u64()?;
        if elements > MAX_ELEMENTS {
            return Err(PaillierError::TooMany { given: elements, limit: MAX_ELEMENTS });
        }
        let (needed, available) = (elements * u64::from(bits.get()) / 4, input.remaining() as u64);
        match available.checked_sub(needed) {
            None => Err(WireError::Truncated { needed, available }.into()),
            Some(0) => Ok(CiphertextHead { tag, bits, elements }),
            Some(given) => Err(WireError::TrailingBytes { given }.into()),
        }
    }

    /// Bytes of the sealed form of `elements` ciphertexts of a key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(CiphertextVector::sealed_len(key.bits(), 2), x.to_bytes()?.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_len(bits: KeyBits, elements: u64) -> u64 {
        ciphermill_wire::sealed_len(Self::HEAD_LEN.saturating_add(elements.saturating_mul(u64::from(bits.get()) / 4)))
    }
}
