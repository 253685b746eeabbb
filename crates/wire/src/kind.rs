//! Kinds of objects, and the registry of their numbers.
//!
//! Each crate owns one range and names the kinds within it. A released number keeps its meaning for ever; kind 0 and the
//! ranges not listed are unallocated.
//!
//! ```
//! use ciphermill_wire::kind;
//!
//! let ranges = [kind::PROGRAM, kind::TFHE, kind::BFV, kind::PAILLIER, kind::DEVICE];
//! assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].start()));
//! assert!(ranges.iter().all(|range| !range.contains(&0)));
//! ```

use std::fmt;
use std::ops::RangeInclusive;

/// The kind of an object.
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, kind};
///
/// let parameter_set = Kind(0x0201);
/// assert!(kind::TFHE.contains(&parameter_set.0) && !kind::BFV.contains(&parameter_set.0));
/// assert_eq!(parameter_set.to_string(), "0x0201");
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct Kind(pub u16);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// Programs (`ciphermill-program`).
pub const PROGRAM: RangeInclusive<u16> = 0x0100..=0x01ff;
/// TFHE keys, ciphertexts and parameter sets (`ciphermill-tfhe`).
pub const TFHE: RangeInclusive<u16> = 0x0200..=0x02ff;
/// BFV keys, ciphertexts and parameter sets (`ciphermill-bfv`).
pub const BFV: RangeInclusive<u16> = 0x0300..=0x03ff;
/// Paillier keys and ciphertexts (`ciphermill-paillier`).
pub const PAILLIER: RangeInclusive<u16> = 0x0400..=0x04ff;
/// Set aside for the device (`ciphermill-device`); no kind is defined yet.
pub const DEVICE: RangeInclusive<u16> = 0x0500..=0x05ff;

/// The name of a kind, for messages.
///
/// # Example
/// ```
/// use ciphermill_wire::kind;
///
/// assert_eq!(kind::words(0x0202), "a TFHE ciphertext");
/// assert_eq!(kind::words(0), "a kind that this build does not know");
/// ```
#[must_use]
pub const fn words(kind: u16) -> &'static str {
    match kind {
        0x0101 => "a program",
        0x0201 => "a TFHE parameter set",
        0x0202 => "a TFHE ciphertext",
        0x0203 => "a GLWE ciphertext or test vector",
        0x0204 => "a GGSW ciphertext",
        0x0205 => "a TFHE bootstrapping key",
        0x0206 => "a TFHE key-switching key",
        0x0207 => "the secret keys of TFHE",
        0x0208 => "a TFHE conversion key",
        0x0209 => "a word of encrypted digits",
        0x020a => "a table of a function",
        0x0301 => "a BFV parameter set",
        0x0302 => "a BFV ciphertext",
        0x0303 => "a BFV secret key",
        0x0304 => "a BFV public key",
        0x0305 => "a BFV relinearisation key",
        0x0306 => "BFV Galois keys",
        0x0307 => "a plan of encrypted sums",
        0x0308 => "encrypted sums",
        0x0309 => "a public key of encrypted sums",
        0x0310 => "a plan of matrix-vector products",
        0x0311 => "an encrypted vector",
        0x0312 => "a plain matrix",
        0x0313 => "an encrypted product",
        0x0314 => "a two-party response",
        0x0401 => "a Paillier public key",
        0x0402 => "a Paillier secret key",
        0x0403 => "a vector of Paillier ciphertexts",
        0x0404 => "a vector of Paillier plaintexts",
        0x0405 => "a stream of Paillier requests",
        0x0406 => "a stream of Paillier responses",
        0x0407 => "Paillier weights",
        0x0408 => "a vector of numbers encrypted with Paillier",
        0x0409 => "a vector of packed values encrypted with Paillier",
        _ => "a kind that this build does not know",
    }
}
