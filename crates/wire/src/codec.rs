//! Fields of a body, little-endian.

use crate::WireError;

/// Reads fields from the front of a byte slice. A failed read consumes nothing.
///
/// # Example
/// ```
/// use ciphermill_wire::{Decoder, WireError};
///
/// let mut fields = Decoder::new(&[1, 2, 0, 9]);
/// assert_eq!((fields.u8()?, fields.u16()?), (1, 2));
/// assert_eq!(fields.remaining(), 1);
/// // A failed read consumes nothing.
/// assert!(matches!(fields.u16(), Err(WireError::Truncated { needed: 2, available: 1 })));
/// assert_eq!(fields.u8()?, 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// A decoder at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { rest: bytes }
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if fewer remain; so do all the readers below.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(b"name and value");
    /// assert_eq!(fields.bytes(4)?, b"name");
    /// assert!(fields.bytes(11).is_err(), "10 bytes remain");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], WireError> {
        let Some((head, rest)) = self.rest.split_at_checked(n) else {
            return Err(WireError::Truncated { needed: n as u64, available: self.rest.len() as u64 });
        };
        self.rest = rest;
        Ok(head)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(&[7; 20]);
    /// let id: [u8; 16] = fields.array()?;
    /// assert_eq!((id, fields.remaining()), ([7; 16], 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(WireError::Truncated { needed: N as u64, available: self.rest.len() as u64 });
        };
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(&[1, 2, 0, 0, 9]);
    /// assert_eq!((fields.u32()?, fields.remaining()), (0x0201, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(&[1, 2, 0, 0, 0, 0, 0, 0]);
    /// assert_eq!(fields.u64()?, 0x0201);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Eight bytes of IEEE 754 binary64. Any pattern is accepted, infinities and NaNs too: the caller checks the range.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(&[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    /// assert_eq!(fields.f64()?, 1.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn f64(&mut self) -> Result<f64, WireError> {
        self.array().map(f64::from_le_bytes)
    }

    /// `n` values of four bytes. Nothing is allocated unless the input holds them all.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Decoder;
    ///
    /// let mut fields = Decoder::new(&[1, 0, 0, 0, 2, 0, 0, 0]);
    /// assert!(fields.u32s(3).is_err(), "the input holds two values");
    /// assert_eq!(fields.u32s(2)?, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn u32s(&mut self, n: usize) -> Result<Vec<u32>, WireError> {
        let words = self.words::<4>(n)?;
        Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
    }

    /// `n` values of eight bytes. Nothing is allocated unless the input holds them all.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Decoder, Encoder};
    ///
    /// let mut body = Encoder::default();
    /// body.u64s(&[1, u64::MAX]);
    /// let body = body.into_vec();
    /// assert_eq!(Decoder::new(&body).u64s(2)?, [1, u64::MAX]);
    /// // An impossible count fails before any allocation.
    /// assert!(Decoder::new(&body).u64s(usize::MAX).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn u64s(&mut self, n: usize) -> Result<Vec<u64>, WireError> {
        let words = self.words::<8>(n)?;
        Ok(words.iter().map(|w| u64::from_le_bytes(*w)).collect())
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`WireError::TrailingBytes`] if bytes remain.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Decoder, WireError};
    ///
    /// let mut fields = Decoder::new(&[1, 2]);
    /// fields.u8()?;
    /// assert!(matches!(fields.clone().finish(), Err(WireError::TrailingBytes { given: 1 })));
    /// fields.u8()?;
    /// assert!(fields.finish().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            given => Err(WireError::TrailingBytes { given: given as u64 }),
        }
    }

    fn words<const N: usize>(&mut self, n: usize) -> Result<&'a [[u8; N]], WireError> {
        let Some(len) = n.checked_mul(N) else {
            let needed = (n as u64).saturating_mul(N as u64);
            return Err(WireError::Truncated { needed, available: self.rest.len() as u64 });
        };
        Ok(self.bytes(len)?.as_chunks().0)
    }
}

/// Appends fields to a byte vector. The calls chain.
///
/// # Example
/// ```
/// use ciphermill_wire::Encoder;
///
/// let mut body = Encoder::with_capacity(7);
/// body.u8(1).u16(2).bytes(b"name");
/// assert_eq!(body.into_vec(), [1, 2, 0, b'n', b'a', b'm', b'e']);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    out: Vec<u8>,
}

impl Encoder {
    /// An encoder with room for `bytes` bytes; it grows beyond if need be.
    pub fn with_capacity(bytes: usize) -> Self {
        Encoder { out: Vec::with_capacity(bytes) }
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    /// Appends two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends eight bytes.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Encoder;
    ///
    /// let mut body = Encoder::with_capacity(8);
    /// body.u64(0x0201);
    /// assert_eq!(body.into_vec(), [1, 2, 0, 0, 0, 0, 0, 0]);
    /// ```
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends eight bytes of IEEE 754 binary64.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Encoder;
    ///
    /// let mut body = Encoder::with_capacity(8);
    /// body.f64(1.5);
    /// assert_eq!(body.into_vec(), [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    /// ```
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends `bytes` as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends four bytes per value, without a count.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Encoder;
    ///
    /// let mut body = Encoder::default();
    /// // The count is a separate field.
    /// body.u32(2).u32s(&[7, 9]);
    /// assert_eq!(body.into_vec(), [2, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0]);
    /// ```
    pub fn u32s(&mut self, values: &[u32]) -> &mut Self {
        self.out.reserve(values.len() * 4);
        self.out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self
    }

    /// Appends eight bytes per value, without a count.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::Encoder;
    ///
    /// let mut body = Encoder::default();
    /// body.u64s(&[1, 2, 3]);
    /// assert_eq!(body.into_vec().len(), 24);
    /// ```
    pub fn u64s(&mut self, values: &[u64]) -> &mut Self {
        self.out.reserve(values.len() * 8);
        self.out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self
    }

    /// The bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.out
    }
}
