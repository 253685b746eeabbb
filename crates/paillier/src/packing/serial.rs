//! The byte format of packed values: their layout, their number, their bound and their ciphertexts.

use ciphermill_wire::{Encoder, Kind, WireError, open, seal};

use super::{PackedCiphertextVector, Packing, PackingError};
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::PublicKey;
use crate::serial::MAX_VECTOR_LEN;

/// Envelope kind of a vector of packed values.
pub const PACKED_VECTOR: Kind = Kind(0x0409);
/// Version of its body.
pub const PACKED_VERSION: u16 = 1;

/// Bytes before the ciphertexts.
const HEAD: u64 = 40;

impl PackedCiphertextVector {
    /// The sealed vector: u32 value bits, u32 guard bits, u32 slots, u32 0, u64 values, u128 bound, then the sealed vector of
    /// ciphertexts.
    ///
    /// # Errors
    /// [`PaillierError::TooMany`] beyond [`MAX_ELEMENTS`](crate::serial::MAX_ELEMENTS) ciphertexts.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_paillier::packing::{PackedCiphertextVector, Packing};
    ///
    /// let packed = PackedCiphertextVector::from_parts(x.clone(), Packing::new(8, 8, 1)?, x.len(), 127)?;
    /// assert_eq!(PackedCiphertextVector::from_bytes(key, &packed.to_bytes()?)?, packed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, PaillierError> {
        let (packing, ciphertexts) = (self.packing(), self.ciphertexts().to_bytes()?);
        let mut out = Encoder::with_capacity(HEAD as usize + ciphertexts.len());
        // No layout has more slots than a plaintext has bits.
        out.u32(packing.value_bits()).u32(packing.guard_bits()).u32(packing.slots() as u32).u32(0);
        out.u64(self.len() as u64).u64(self.bound() as u64).u64((self.bound() >> 64) as u64).bytes(&ciphertexts);
        Ok(seal(PACKED_VECTOR, PACKED_VERSION, &out.into_vec()))
    }

    /// Reads a sealed vector of packed values under `key`. The bound is as its sender declares it; decryption refuses a value
    /// beyond it.
    ///
    /// # Errors
    /// If it is malformed, of another key, or as [`from_parts`](Self::from_parts).
    pub fn from_bytes(key: &PublicKey, bytes: &[u8]) -> Result<Self, PackingError> {
        let wire = |error: WireError| PackingError::Paillier(error.into());
        let versions = PACKED_VERSION..=PACKED_VERSION;
        let (_, mut input) = open(bytes, PACKED_VECTOR, versions, HEAD + MAX_VECTOR_LEN).map_err(wire)?;
        let mut word = || input.u32().map_err(wire);
        let packing = Packing::new(word()?, word()?, word()? as usize)?;
        if word()? != 0 {
            return Err(PaillierError::Malformed { field: "reserved word", reason: "it must be 0" }.into());
        }
        let mut word = || input.u64().map_err(wire);
        let (len, low, high) = (word()?, word()?, word()?);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let ciphertexts = input.bytes(input.remaining()).map_err(wire)?;
        let ciphertexts = CiphertextVector::from_bytes(key, ciphertexts)?;
        Self::from_parts(ciphertexts, packing, len, u128::from(high) << 64 | u128::from(low))
    }
}
