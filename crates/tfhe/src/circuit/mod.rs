//! From an encrypted digit to selectors: circuit bootstrapping.
//!
//! A *digit* is an LWE ciphertext under the small key with the phase d/4, 0 ≤ d < 4, without a padding bit. Its *selectors*
//! are GGSW encryptions of two bits of d, which choose between the entries of a table ([`word`](crate::word)).
//!
//! ```text
//! digit ─► blind rotation ─► 4 LWE ─► each: mod q/N' ─► trace ─► GLWE of μ·q/B^j ─► scheme switch ─► 2 GGSW
//!          k, N: 4 functions  k·N      k' = 1, N' = k·N: the other coefficients are cleared
//! ```
//!
//! - **Gray bits.** Without a padding bit a rotation looks up only functions with f(d + 2) = −f(d). The high bit h of a digit
//!   and h ⊕ l, with the low bit l, have this property ([`GrayBit`]). A table is permuted to match; that costs nothing, and the
//!   margin of a digit is 1/8 instead of 1/16.
//! - **Four functions in a rotation**: two bits at two levels of the selectors' gadget. The exponents are multiples of 4, so
//!   that the functions lie in adjacent coefficients of the rotated polynomial. This is PBSmanyLUT (Chillotti, Ligier, Orfila,
//!   Tap, "Improved programmable bootstrapping with larger precision and efficient arithmetic circuits for TFHE", 2021).
//! - **Two rings, one key.** The k·N bits of the big key are k polynomials of N coefficients in the rotation, and one of
//!   N' = k·N coefficients afterwards. Extraction leads from the one to the other.
//! - **LWE to GLWE by the trace** (Chen, Dai, Kim, Song, "Efficient homomorphic conversion between (ring) LWE ciphertexts",
//!   2021). The trace adds the images under all automorphisms of the ring: it clears every coefficient but the constant one,
//!   which it multiplies by N'. So the LWE ciphertext is first rounded to the modulus q/N', and read modulo q.
//! - **Scheme switch.** From (a, b) with the phase μ·g, the ciphertext (b, 0) + a ⊡ [S'²] has the phase −S'·μ·g: the other row
//!   of the selector.
//!
//! The other way into a word starts from one LWE ciphertext of an integer, a sum of products for example: [`Split`] takes its
//! bits, one after the other.
//!
//! [`mod@reference`] defines every stage with schoolbook products.

mod evaluation;
mod integer;
mod key;
pub mod reference;
mod ring;
mod shape;
mod split;
mod transformed;

pub use evaluation::DigitStages;
pub use integer::Split;
pub use key::{ConversionKey, SeededConversionKey};
pub use shape::ConversionShape;
pub(crate) use transformed::{Circuit, of};

/// Places of a digit on the torus.
pub const DIGIT_PLACES: u64 = 4;

/// Functions that one rotation looks up: two bits, at two levels.
pub const FUNCTIONS: usize = 4;

/// Functions that one rotation of a split looks up: a bit's part of its digit, and its own weight.
pub const SPLIT_FUNCTIONS: usize = 2;

/// A bit of a digit that a rotation without a padding bit looks up.
///
/// # Example
/// ```
/// use ciphermill_tfhe::circuit::GrayBit;
/// // The digits 0 to 3 in the order of the Gray code.
/// assert_eq!([0, 1, 2, 3].map(|digit| (GrayBit::High.of(digit), GrayBit::Sum.of(digit))), [(0, 0), (0, 1), (1, 1), (1, 0)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrayBit {
    /// h ⊕ l, the sum of both bits.
    Sum,
    /// h, the high bit.
    High,
}

impl GrayBit {
    /// Both, in the order of a digit's selectors.
    pub const BOTH: [Self; 2] = [Self::Sum, Self::High];

    /// The bit of a digit, 0 to 3.
    #[must_use]
    pub const fn of(self, digit: u8) -> u8 {
        match self {
            Self::High => digit >> 1 & 1,
            Self::Sum => (digit >> 1 ^ digit) & 1,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
