//! Fields of a body, little-endian.

use crate::WireError;

/// Reads fields from the front of a byte slice. A failed read consumes nothing.
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
    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Eight bytes of IEEE 754 binary64. Any pattern is accepted, infinities and NaNs too: the caller checks the range.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn f64(&mut self) -> Result<f64, WireError> {
        self.array().map(f64::from_le_bytes)
    }

    /// `n` values of four bytes. Nothing is allocated unless the input holds them all.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u32s(&mut self, n: usize) -> Result<Vec<u32>, WireError> {
        let words = self.words::<4>(n)?;
        Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
    }

    /// `n` values of eight bytes. Nothing is allocated unless the input holds them all.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u64s(&mut self, n: usize) -> Result<Vec<u64>, WireError> {
        let words = self.words::<8>(n)?;
        Ok(words.iter().map(|w| u64::from_le_bytes(*w)).collect())
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`WireError::TrailingBytes`] if bytes remain.
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
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends eight bytes of IEEE 754 binary64.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends `bytes` as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends four bytes per value, without a count.
    pub fn u32s(&mut self, values: &[u32]) -> &mut Self {
        self.out.reserve(values.len() * 4);
        self.out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self
    }

    /// Appends eight bytes per value, without a count.
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
