//! Residues as bytes: part of the stored formats.
//!
//! Limb after limb; within a limb N words of as many bits as the prime has, lowest bit first, in bytes from their lowest
//! bit on; the last byte of a limb is filled with zeros. (As N is a multiple of 8, it is always full.)

use super::{Coefficients, RnsBasis, RnsPoly};

/// The bytes are not a polynomial of the basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    /// Too few or too many.
    #[error("{given} bytes given for a polynomial that takes {expected}")]
    Length {
        /// The bytes given.
        given: usize,
        /// Those of every polynomial of the basis.
        expected: usize,
    },
    /// A residue that is not below its prime.
    #[error("a residue of limb {limb} is not below the modulus {modulus}; residues must be reduced")]
    NotCanonical {
        /// Which limb.
        limb: usize,
        /// Its prime.
        modulus: u64,
    },
}

/// Bytes of `n` words of `bits` bits.
fn limb_len(n: usize, bits: u32) -> usize {
    (n * bits as usize).div_ceil(8)
}

impl RnsBasis {
    /// Bytes of a packed polynomial: Σ ⌈N·b_i/8⌉ for primes of b_i bits.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // Primes of 14 and 16 bits.
    /// assert_eq!(basis.packed_len(), 1024 * (14 + 16) / 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packed_len(&self) -> usize {
        self.moduli().map(|p| limb_len(self.polynomial_size().get(), p.bits())).sum()
    }

    /// The polynomial as [`packed_len`](Self::packed_len) bytes: limb after limb, each word with the length of its prime
    /// in bits, in little-endian order of bits.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let poly = monomial(5, -7);
    /// let mut bytes = basis.pack(&poly);
    /// assert_eq!(bytes.len(), basis.packed_len());
    /// assert_eq!(basis.unpack(&bytes)?.words(), poly.words());
    /// bytes.fill(0xff);
    /// assert!(matches!(basis.unpack(&bytes), Err(UnpackError::NotCanonical { limb: 0, modulus: 12289 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack(&self, poly: &RnsPoly<Coefficients>) -> Vec<u8> {
        self.check(poly);
        let mut bytes = Vec::with_capacity(self.packed_len());
        for (p, words) in self.moduli().zip(poly.limbs()) {
            pack_limb(p.bits(), words, &mut bytes);
        }
        bytes
    }

    /// The polynomial of these bytes.
    ///
    /// # Errors
    /// If they are not [`packed_len`](Self::packed_len) bytes, or if a word is not below the prime of its limb.
    pub fn unpack(&self, bytes: &[u8]) -> Result<RnsPoly<Coefficients>, UnpackError> {
        let expected = self.packed_len();
        if bytes.len() != expected {
            return Err(UnpackError::Length { given: bytes.len(), expected });
        }
        let mut poly = self.zero();
        let mut rest = bytes;
        for (i, (p, words)) in self.moduli().zip(poly.limbs_mut()).enumerate() {
            let (limb, tail) = rest.split_at(limb_len(words.len(), p.bits()));
            rest = tail;
            unpack_limb(p.bits(), limb, words);
            if !words.iter().fold(true, |below, &word| below & (word < p.value())) {
                return Err(UnpackError::NotCanonical { limb: i, modulus: p.value() });
            }
        }
        Ok(poly)
    }
}

/// Appends words of `bits` < 64 bits.
fn pack_limb(bits: u32, words: &[u64], bytes: &mut Vec<u8>) {
    let (mut pending, mut len) = (0u128, 0);
    for &word in words {
        pending |= u128::from(word) << len;
        len += bits;
        if len >= u64::BITS {
            bytes.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= u64::BITS;
            len -= u64::BITS;
        }
    }
    bytes.extend_from_slice(&pending.to_le_bytes()[..len.div_ceil(8) as usize]);
}

/// Reads words of `bits` < 64 bits.
fn unpack_limb(bits: u32, bytes: &[u8], words: &mut [u64]) {
    let mask = u64::MAX >> (u64::BITS - bits);
    // Each word lies within 16 bytes from the one where it starts; the last ones are read from a copy with zeros behind.
    let first_copied = bytes.len().saturating_sub(16);
    let mut end = [0; 32];
    end[..bytes.len() - first_copied].copy_from_slice(&bytes[first_copied..]);
    for (i, word) in words.iter_mut().enumerate() {
        let (byte, shift) = (i * bits as usize / 8, i * bits as usize % 8);
        let from = if byte < first_copied { &bytes[byte..] } else { &end[byte - first_copied..] };
        let from: &[u8; 16] = from.first_chunk().expect("16 bytes before the end of the copy");
        *word = (u128::from_le_bytes(*from) >> shift) as u64 & mask;
    }
}
