//! Encrypted numbers, with their scale and their bound.

use std::borrow::Cow;

use ciphermill_bigint::WeightMatrix;
use num_bigint::BigUint;

use super::{FixedPointError, FixedPointPlaintext, MAX_FRACTION_BITS, Number};
use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::evaluation::Scalars;
use crate::integers;
use crate::keys::{PublicKey, SecretKey};
use crate::plaintext::PlaintextVector;
use crate::random::Csprng;

/// Ciphertexts of integers that stand for numbers times 2^fraction_bits, of magnitudes that do not exceed a bound.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
/// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
/// assert_eq!(x.add(&x)?.decrypt_f64(&owner)?, [3.0, -0.5]);
/// assert_eq!(x.multiply(&reals)?.decrypt_f64(&owner)?, [2.25, 0.0625]);
/// assert_eq!(x.sum()?.decrypt_f64(&owner)?, [1.25]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedPointVector {
    ciphertexts: CiphertextVector,
    fraction_bits: u32,
    bound: BigUint,
}

impl FixedPointVector {
    /// Ciphertexts that come with these declarations. The caller must know that the bound is true: decryption refuses
    /// numbers beyond it, but after an operation on numbers of a false bound the result may have wrapped around modulo
    /// n to one within.
    ///
    /// # Errors
    /// [`FixedPointError::FractionBits`], and [`FixedPointError::Overflow`] if the bound exceeds (n − 1)/2.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // The caller knows that 3 and −5 do not exceed 8.
    /// let halves = FixedPointVector::from_parts(x, 1, BigUint::from(8u32))?;
    /// assert_eq!(halves.decrypt_f64(&owner)?, [1.5, -2.5]);
    /// assert_eq!((halves.bound(), halves.is_empty()), (&BigUint::from(8u32), false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_parts(
        ciphertexts: CiphertextVector,
        fraction_bits: u32,
        bound: BigUint,
    ) -> Result<Self, FixedPointError> {
        check_fraction_bits(fraction_bits, 0)?;
        let bound = check_limit(ciphertexts.key(), bound)?;
        Ok(Self { ciphertexts, fraction_bits, bound })
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &CiphertextVector {
        &self.ciphertexts
    }

    /// Bits behind the binary point.
    pub fn fraction_bits(&self) -> u32 {
        self.fraction_bits
    }

    /// The greatest magnitude that an element's integer can have.
    pub fn bound(&self) -> &BigUint {
        &self.bound
    }

    /// The key whose ciphertexts these are.
    pub fn key(&self) -> &PublicKey {
        self.ciphertexts.key()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.ciphertexts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ciphertexts.is_empty()
    }

    /// The same numbers with more bits behind the binary point: k squarings per ciphertext for k more bits.
    ///
    /// # Errors
    /// [`FixedPointError::Coarser`] for less bits, [`FixedPointError::FractionBits`], [`FixedPointError::Overflow`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let finer = x.align(12)?;
    /// assert_eq!(finer.fraction_bits(), 12);
    /// assert_eq!(finer.decrypt_f64(&owner)?, [1.5, -0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn align(&self, fraction_bits: u32) -> Result<Self, FixedPointError> {
        let Some(shift) = fraction_bits.checked_sub(self.fraction_bits) else {
            return Err(FixedPointError::Coarser { given: self.fraction_bits, asked: fraction_bits });
        };
        check_fraction_bits(fraction_bits, 0)?;
        let bound = check_limit(self.key(), &self.bound << shift)?;
        let ring = self.key().ring();
        let mut values = self.ciphertexts.residues().clone();
        for _ in 0..shift {
            values = ring.square(&values);
        }
        Ok(Self { ciphertexts: CiphertextVector::from_ring(self.key(), values), fraction_bits, bound })
    }

    /// Sums, element by element; one element on either side is used for all. The coarser side is [aligned](Self::align).
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`]; [`PaillierError::WrongKey`], [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let finer = x.align(12)?;
    /// // The result has the precision of the finer side.
    /// assert_eq!(x.add(&finer)?.decrypt_f64(&owner)?, [3.0, -0.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, other: &Self) -> Result<Self, FixedPointError> {
        self.combine(other, CiphertextVector::add)
    }

    /// Differences, as [`add`](Self::add).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// assert_eq!(x.subtract(&x)?.decrypt_f64(&owner)?, [0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subtract(&self, other: &Self) -> Result<Self, FixedPointError> {
        self.combine(other, CiphertextVector::subtract)
    }

    fn combine(
        &self,
        other: &Self,
        operation: impl FnOnce(&CiphertextVector, &CiphertextVector) -> Result<CiphertextVector, PaillierError>,
    ) -> Result<Self, FixedPointError> {
        // What costs nothing to see is seen before anything is aligned.
        self.key().check_same(other.key())?;
        let (left, right) = (self.len(), other.len());
        if left != right && left != 1 && right != 1 {
            return Err(PaillierError::Length { left, right }.into());
        }
        let fraction_bits = self.fraction_bits.max(other.fraction_bits);
        let scaled = |v: &Self| &v.bound << (fraction_bits - v.fraction_bits);
        let bound = check_limit(self.key(), scaled(self) + scaled(other))?;
        let (left, right) = (self.aligned(fraction_bits)?, other.aligned(fraction_bits)?);
        Ok(Self { ciphertexts: operation(&left.ciphertexts, &right.ciphertexts)?, fraction_bits, bound })
    }

    fn aligned(&self, fraction_bits: u32) -> Result<Cow<'_, Self>, FixedPointError> {
        Ok(if self.fraction_bits == fraction_bits {
            Cow::Borrowed(self)
        } else {
            Cow::Owned(self.align(fraction_bits)?)
        })
    }

    /// The numbers with their signs changed.
    ///
    /// # Errors
    /// As [`CiphertextVector::negate`].
    pub fn negate(&self) -> Result<Self, FixedPointError> {
        Ok(Self { ciphertexts: self.ciphertexts.negate()?, ..self.clone() })
    }

    /// Sums of encrypted and plain numbers; the coarser side is aligned, which is free if it is the plain one.
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`]; [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let more = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.0, 2.0])?;
    /// assert_eq!(x.add_plain(&more)?.decrypt_f64(&owner)?, [2.5, 1.75]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_plain(&self, plain: &FixedPointPlaintext) -> Result<Self, FixedPointError> {
        self.combine_plain(plain, CiphertextVector::add_plain)
    }

    /// Differences of encrypted and plain numbers, as [`add_plain`](Self::add_plain).
    ///
    /// # Errors
    /// As [`add_plain`](Self::add_plain).
    pub fn subtract_plain(&self, plain: &FixedPointPlaintext) -> Result<Self, FixedPointError> {
        self.combine_plain(plain, CiphertextVector::subtract_plain)
    }

    fn combine_plain(
        &self,
        plain: &FixedPointPlaintext,
        operation: impl FnOnce(&CiphertextVector, &PlaintextVector) -> Result<CiphertextVector, PaillierError>,
    ) -> Result<Self, FixedPointError> {
        if self.len() != plain.len() {
            return Err(PaillierError::Length { left: self.len(), right: plain.len() }.into());
        }
        let fraction_bits = self.fraction_bits.max(plain.fraction_bits());
        let shift = fraction_bits - plain.fraction_bits();
        let bound = (&self.bound << (fraction_bits - self.fraction_bits)) + (plain.bound() << shift);
        let bound = check_limit(self.key(), bound)?;
        let plaintexts = plain.plaintexts(self.key(), shift)?;
        let left = self.aligned(fraction_bits)?;
        Ok(Self { ciphertexts: operation(&left.ciphertexts, &plaintexts)?, fraction_bits, bound })
    }

    /// Products with plain numbers, one for all elements or one per element. The time depends on the declared format of
    /// the plain numbers, not on their values; the bits behind the binary point add up.
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`], [`FixedPointError::FractionBits`]; [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let half = FixedPointPlaintext::from_f64(FixedPoint::new(4, 1)?, &[0.5])?;
    /// let product = x.multiply(&half)?;
    /// // The bits behind the binary point add up.
    /// assert_eq!(product.fraction_bits(), 9);
    /// assert_eq!(product.decrypt_f64(&owner)?, [0.75, -0.125]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, plain: &FixedPointPlaintext) -> Result<Self, FixedPointError> {
        if plain.len() != 1 && self.len() != plain.len() {
            return Err(PaillierError::Length { left: self.len(), right: plain.len() }.into());
        }
        let fraction_bits = check_fraction_bits(self.fraction_bits, plain.fraction_bits())?;
        let bound = check_limit(self.key(), &self.bound * plain.bound())?;
        // The bound itself has one bit more than the numbers below it.
        let bits = plain.format().integer_bits() + plain.fraction_bits() + 1;
        let scalars = Scalars::from_twos_complement(plain.rows(), bits)?;
        Ok(Self { ciphertexts: self.ciphertexts.multiply_scalars(&scalars)?, fraction_bits, bound })
    }

    /// The sum of all elements.
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// assert_eq!(x.sum()?.decrypt_f64(&owner)?, [1.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sum(&self) -> Result<Self, FixedPointError> {
        let bound = check_limit(self.key(), &self.bound * self.len())?;
        Ok(Self { ciphertexts: self.ciphertexts.sum()?, fraction_bits: self.fraction_bits, bound })
    }

    /// The inner product with weights w·2^−`weight_fraction_bits` that everyone may know: time depends on them.
    ///
    /// # Errors
    /// As [`matrix_vector_public`](Self::matrix_vector_public), and [`PaillierError::Empty`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// // The weights 3 and 2 as integers with one bit behind the binary point: 1.5 and 1.
    /// assert_eq!(x.dot_public(&[3, 2], 1)?.decrypt_f64(&owner)?, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dot_public(&self, weights: &[i128], weight_fraction_bits: u32) -> Result<Self, FixedPointError> {
        if self.len() != weights.len() {
            return Err(PaillierError::Length { left: self.len(), right: weights.len() }.into());
        }
        if weights.is_empty() {
            return Err(PaillierError::Empty.into());
        }
        let row = WeightMatrix::new(weights.len(), weights.to_vec()).map_err(PaillierError::from)?;
        self.matrix_vector_public(&row, weight_fraction_bits)
    }

    /// The product of a matrix of weights w·2^−`weight_fraction_bits`, which everyone may know, with this vector. Time
    /// depends on the weights, and so does the bound: the greatest sum of magnitudes of a row, times the vector's.
    ///
    /// # Errors
    /// [`FixedPointError::Overflow`], [`FixedPointError::FractionBits`]; [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let weights = WeightMatrix::new(2, vec![1, 1, 1, -1])?;
    /// assert_eq!(x.matrix_vector_public(&weights, 0)?.decrypt_f64(&owner)?, [1.25, 1.75]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matrix_vector_public(
        &self,
        weights: &WeightMatrix,
        weight_fraction_bits: u32,
    ) -> Result<Self, FixedPointError> {
        let fraction_bits = check_fraction_bits(self.fraction_bits, weight_fraction_bits)?;
        let row_sum = |row| weights.row(row).iter().map(|w| BigUint::from(w.unsigned_abs())).sum::<BigUint>();
        let greatest = (0..weights.rows()).map(row_sum).max().unwrap_or_default();
        let bound = check_limit(self.key(), &self.bound * greatest)?;
        Ok(Self { ciphertexts: self.ciphertexts.matrix_vector_public(weights)?, fraction_bits, bound })
    }

    /// The same numbers under fresh blinding factors.
    ///
    /// # Errors
    /// As [`CiphertextVector::rerandomise`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let fresh = x.rerandomise(blinding, &mut rng)?;
    /// assert_ne!(fresh, x);
    /// assert_eq!(fresh.decrypt_f64(&owner)?, [1.5, -0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rerandomise(&self, blinding: Blinding, rng: &mut Csprng) -> Result<Self, FixedPointError> {
        Ok(Self { ciphertexts: self.ciphertexts.rerandomise(blinding, rng)?, ..self.clone() })
    }

    /// The numbers that plaintexts of this vector stand for, exactly.
    ///
    /// # Errors
    /// [`FixedPointError::BeyondBound`] if one is greater than declared; [`PaillierError::WrongKey`],
    /// [`PaillierError::Length`].
    pub fn decode(&self, plaintexts: &PlaintextVector) -> Result<Vec<Number>, FixedPointError> {
        self.key().check_same(plaintexts.key())?;
        if self.len() != plaintexts.len() {
            return Err(PaillierError::Length { left: self.len(), right: plaintexts.len() }.into());
        }
        let rows = integers::from_residues(plaintexts.residues(), self.key().n());
        let decode = |(index, row)| {
            let value = integers::to_bigint(row);
            if *value.magnitude() > self.bound {
                return Err(FixedPointError::BeyondBound { index, bound: self.bound.clone() });
            }
            Ok(Number::new(value, self.fraction_bits))
        };
        rows.rows().enumerate().map(decode).collect()
    }

    /// Decrypts to exact numbers.
    ///
    /// # Errors
    /// As [`decode`](Self::decode) and [`SecretKey::decrypt`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let reals = FixedPointPlaintext::from_f64(FixedPoint::new(20, 8)?, &[1.5, -0.25])?;
    /// let x = reals.encrypt_by(key, |plaintexts| owner.encrypt(plaintexts, blinding, &mut rng))?;
    /// let numbers = x.decrypt(&owner)?;
    /// assert_eq!(numbers[0], Number::new(BigInt::from(3 << 7), 8));
    /// assert_eq!(numbers[0].to_f64(), Some(1.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, owner: &SecretKey) -> Result<Vec<Number>, FixedPointError> {
        self.decode(&owner.decrypt(&self.ciphertexts)?)
    }

    /// Decrypts to the nearest binary64 numbers.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt), and [`FixedPointError::Binary64`] for numbers beyond the greatest binary64
    /// number.
    pub fn decrypt_f64(&self, owner: &SecretKey) -> Result<Vec<f64>, FixedPointError> {
        let numbers = self.decrypt(owner)?;
        let nearest = |(index, number): (usize, &Number)| number.to_f64().ok_or(FixedPointError::Binary64 { index });
        numbers.iter().enumerate().map(nearest).collect()
    }
}

/// # Errors
/// [`FixedPointError::Overflow`] if the bound exceeds (n − 1)/2.
pub(super) fn check_limit(key: &PublicKey, bound: BigUint) -> Result<BigUint, FixedPointError> {
    let limit = key.max_plaintext();
    if bound > limit { Err(FixedPointError::Overflow { bound, limit }) } else { Ok(bound) }
}

/// # Errors
/// [`FixedPointError::FractionBits`] if the sum exceeds [`MAX_FRACTION_BITS`].
fn check_fraction_bits(a: u32, b: u32) -> Result<u32, FixedPointError> {
    let fraction_bits = u64::from(a) + u64::from(b);
    if fraction_bits > u64::from(MAX_FRACTION_BITS) {
        Err(FixedPointError::FractionBits { fraction_bits })
    } else {
        Ok(a + b)
    }
}
