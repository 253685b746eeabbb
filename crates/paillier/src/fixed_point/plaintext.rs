//! Encoded numbers, not yet encrypted.

use std::fmt;

use ciphermill_bigint::IntegerBatch;
use num_bigint::{BigInt, BigUint};

use super::vector::check_limit;
use super::{FixedPoint, FixedPointError, FixedPointVector, Number};
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::integers;
use crate::keys::PublicKey;
use crate::plaintext::{PlaintextVector, check_bounds};

/// Numbers encoded in a [`FixedPoint`] format, for any key that has room for them. Wiped when dropped.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
/// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
/// assert_eq!(x.decrypt_f64(&owner)?, [1.5, -0.25]);
/// assert_eq!((reals.len(), reals.is_empty()), (2, false));
/// assert_eq!(reals.bound(), BigUint::from(1u32 << 28));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FixedPointPlaintext {
    format: FixedPoint,
    /// Two's complement.
    rows: IntegerBatch,
}

impl FixedPointPlaintext {
    /// From binary64 numbers. Control flow and memory accesses depend on the exponents of the numbers, not on their
    /// significands.
    ///
    /// # Errors
    /// [`FixedPointError::NotFinite`], [`FixedPointError::Magnitude`], [`FixedPointError::Inexact`].
    pub fn from_f64(format: FixedPoint, values: &[f64]) -> Result<Self, FixedPointError> {
        Ok(Self { format, rows: format.encode_rows(values)? })
    }

    /// From integers.
    ///
    /// # Errors
    /// [`FixedPointError::Magnitude`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let counts = FixedPointPlaintext::from_integers(FixedPoint::new(20, 0)?, &[BigInt::from(7), BigInt::from(-9)])?;
    /// assert_eq!(counts.to_numbers()[1].to_integer(), Some(BigInt::from(-9)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_integers(format: FixedPoint, values: &[BigInt]) -> Result<Self, FixedPointError> {
        let one = BigInt::from(1);
        Self::from_big(format, values.iter().map(|value| (value, &one)))
    }

    /// From fractions, given as numerators and denominators.
    ///
    /// # Errors
    /// [`FixedPointError::ZeroDenominator`], [`FixedPointError::Magnitude`], [`FixedPointError::Inexact`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let third = [(BigInt::from(1), BigInt::from(3))];
    /// let rounded = FixedPointPlaintext::from_ratios(FixedPoint::new(4, 8)?, &third)?;
    /// assert_eq!(rounded.to_numbers()[0].to_f64(), Some(85.0 / 256.0));
    /// assert!(FixedPointPlaintext::from_ratios(FixedPoint::new(4, 8)?.exact(), &third).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_ratios(format: FixedPoint, values: &[(BigInt, BigInt)]) -> Result<Self, FixedPointError> {
        Self::from_big(format, values.iter().map(|(numerator, denominator)| (numerator, denominator)))
    }

    fn from_big<'a>(
        format: FixedPoint,
        values: impl ExactSizeIterator<Item = (&'a BigInt, &'a BigInt)>,
    ) -> Result<Self, FixedPointError> {
        let mut rows = IntegerBatch::zeros(values.len(), format.limbs());
        for (index, (numerator, denominator)) in values.enumerate() {
            let encoded = format.encode_ratio_at(numerator, denominator, index)?;
            let row = integers::from_bigint(&encoded, format.limbs()).expect("a format has room for its bound");
            rows.row_mut(index).copy_from_slice(&row);
        }
        Ok(Self { format, rows })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The format.
    pub fn format(&self) -> FixedPoint {
        self.format
    }

    /// Bits behind the binary point.
    pub fn fraction_bits(&self) -> u32 {
        self.format.fraction_bits()
    }

    /// The greatest magnitude that an encoded number of this format can have.
    pub fn bound(&self) -> BigUint {
        self.format.bound()
    }

    /// The numbers that are encoded.
    pub fn to_numbers(&self) -> Vec<Number> {
        self.rows.rows().map(|row| Number::new(integers::to_bigint(row), self.fraction_bits())).collect()
    }

    /// Encrypts by whatever encrypts plaintexts of `key`:
    /// `x.encrypt_by(&key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))`.
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`] if the key has no room for the format, and what `encrypt` gives.
    pub fn encrypt_by(
        &self,
        key: &PublicKey,
        encrypt: impl FnOnce(&PlaintextVector) -> Result<CiphertextVector, PaillierError>,
    ) -> Result<FixedPointVector, FixedPointError> {
        let bound = check_limit(key, self.bound())?;
        let ciphertexts = encrypt(&self.plaintexts(key, 0)?)?;
        FixedPointVector::from_parts(ciphertexts, self.fraction_bits(), bound)
    }

    /// The numbers at the given (public) places.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_paillier::fixed_point::{FixedPoint, FixedPointPlaintext};
    ///
    /// let plain = FixedPointPlaintext::from_f64(FixedPoint::new(4, 1)?, &[0.5, 7.0])?;
    /// assert_eq!(plain.gather(&[1, 1, 0])?.to_numbers()[2].to_f64(), Some(0.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gather(&self, places: &[usize]) -> Result<Self, FixedPointError> {
        let mut rows = IntegerBatch::zeros(places.len(), self.rows.limbs());
        for (index, &place) in places.iter().enumerate() {
            check_bounds(&(place..place.saturating_add(1)), self.len())?;
            rows.row_mut(index).copy_from_slice(self.rows.row(place));
        }
        Ok(Self { format: self.format, rows })
    }

    /// The plaintexts of a key, times 2^shift; the caller has checked that there is room for them.
    pub(super) fn plaintexts(&self, key: &PublicKey, shift: u32) -> Result<PlaintextVector, FixedPointError> {
        let (limbs, bits) = ((shift / 64) as usize, shift % 64);
        let width = self.rows.limbs() + limbs + 1;
        let mut shifted = IntegerBatch::zeros(self.rows.len(), width);
        for (i, row) in self.rows.rows().enumerate() {
            let extension = integers::is_negative(row).wrapping_neg();
            let at = |j: usize| row.get(j).copied().unwrap_or(extension);
            let out = shifted.row_mut(i);
            for (j, limb) in out.iter_mut().enumerate().skip(limbs) {
                let (low, high) = (if j == limbs { 0 } else { at(j - limbs - 1) }, at(j - limbs));
                *limb = if bits == 0 { high } else { high << bits | low >> (64 - bits) };
            }
        }
        Ok(PlaintextVector::from_residues(key, integers::to_residues(&shifted, key.n()))?)
    }

    pub(super) fn rows(&self) -> &IntegerBatch {
        &self.rows
    }
}

/// Shows the shape only.
impl fmt::Debug for FixedPointPlaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedPointPlaintext")
            .field("len", &self.len())
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
