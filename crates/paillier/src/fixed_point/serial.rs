//! The byte format of encrypted numbers: their scale, their bound and their ciphertexts.

use ciphermill_wire::{Encoder, Kind, open, seal};
use num_bigint::BigUint;

use super::{FixedPointError, FixedPointVector};
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::PublicKey;
use crate::parameters::KeyBits;
use crate::serial::MAX_VECTOR_LEN;

/// Envelope kind of a vector of encrypted numbers.
pub const FIXED_POINT_VECTOR: Kind = Kind(0x0408);
/// Version of its body.
pub const FIXED_POINT_VERSION: u16 = 1;

/// Bytes of a bound at most: no bound is above n.
const MAX_BOUND_LEN: u32 = KeyBits::MAX / 8;

impl FixedPointVector {
    /// The sealed vector: u32 fraction bits, u32 length and bytes of the bound (little-endian, without zeros at its end), then
    /// the sealed vector of ciphertexts.
    ///
    /// # Errors
    /// [`PaillierError::TooMany`] beyond [`MAX_ELEMENTS`](crate::serial::MAX_ELEMENTS).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_paillier::fixed_point::FixedPointVector;
    ///
    /// let halves = FixedPointVector::from_parts(x.clone(), 1, 100u32.into())?;
    /// assert_eq!(FixedPointVector::from_bytes(key, &halves.to_bytes()?)?, halves);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, PaillierError> {
        let bound = match self.bound().to_bytes_le() {
            // The number 0 has no byte.
            bytes if bytes == [0] => Vec::new(),
            bytes => bytes,
        };
        let ciphertexts = self.ciphertexts().to_bytes()?;
        let mut out = Encoder::with_capacity(8 + bound.len() + ciphertexts.len());
        out.u32(self.fraction_bits()).u32(bound.len() as u32).bytes(&bound).bytes(&ciphertexts);
        Ok(seal(FIXED_POINT_VECTOR, FIXED_POINT_VERSION, &out.into_vec()))
    }

    /// Reads a sealed vector of encrypted numbers under `key`. The bound is as its sender declares it; decryption refuses a
    /// number beyond it.
    ///
    /// # Errors
    /// If it is malformed, of another key, or as [`from_parts`](Self::from_parts).
    pub fn from_bytes(key: &PublicKey, bytes: &[u8]) -> Result<Self, FixedPointError> {
        let limit = 8 + u64::from(MAX_BOUND_LEN) + MAX_VECTOR_LEN;
        let versions = FIXED_POINT_VERSION..=FIXED_POINT_VERSION;
        let (_, mut input) = open(bytes, FIXED_POINT_VECTOR, versions, limit).map_err(PaillierError::from)?;
        let fraction_bits = input.u32().map_err(PaillierError::from)?;
        let len = input.u32().map_err(PaillierError::from)?;
        let malformed = |reason| PaillierError::Malformed { field: "bound", reason };
        if len > MAX_BOUND_LEN {
            return Err(malformed("it is longer than any key").into());
        }
        let bound = input.bytes(len as usize).map_err(PaillierError::from)?;
        if bound.last() == Some(&0) {
            return Err(malformed("it ends with a zero byte").into());
        }
        let bound = BigUint::from_bytes_le(bound);
        let ciphertexts = input.bytes(input.remaining()).map_err(PaillierError::from)?;
        Self::from_parts(CiphertextVector::from_bytes(key, ciphertexts)?, fraction_bits, bound)
    }
}
