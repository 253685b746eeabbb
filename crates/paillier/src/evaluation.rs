//! Computing on ciphertexts: products of ciphertexts are sums of plaintexts, powers are multiples.

use std::borrow::Cow;

use ciphermill_bigint::{BigIntError, Exponents, IntegerBatch, Residues, WeightMatrix};
use num_bigint::{BigInt, Sign};
use zeroize::Zeroizing;

use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::integers;
use crate::parallel;
use crate::parameters::KeyBits;
use crate::plaintext::PlaintextVector;
use crate::product;
use crate::random::Csprng;

/// Integers that ciphertexts are multiplied by: magnitudes of a declared width, with or without signs. Multiplication takes
/// the same time for all scalars of one width. Wiped when dropped.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let scalars = Scalars::from_i64(&[2, -1]).with_bits(2)?;
/// assert_eq!((scalars.len(), scalars.is_empty(), scalars.bits()), (2, false, 2));
/// assert_eq!(owner.decrypt(&x.multiply_scalars(&scalars)?)?.to_i64()?, [6, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Scalars {
    magnitudes: IntegerBatch,
    /// 1 for a negative one; `None` if none may be negative.
    negative: Option<IntegerBatch>,
    bits: u32,
}

impl Scalars {
    /// Non-negative scalars of 64 bits.
    pub fn from_u64(values: &[u64]) -> Self {
        Self { magnitudes: IntegerBatch::from_u64s(values), negative: None, bits: 64 }
    }

    /// Scalars with signs, of magnitudes up to 2^63: declared as 64 bits.
    pub fn from_i64(values: &[i64]) -> Self {
        let magnitudes: Vec<u64> = values.iter().map(|v| v.unsigned_abs()).collect();
        let negative = values.iter().map(|&v| (v as u64) >> 63).collect();
        Self {
            magnitudes: IntegerBatch::from_words(1, magnitudes),
            negative: Some(IntegerBatch::from_words(1, negative)),
            bits: 64,
        }
    }

    /// Scalars with signs, of magnitudes up to 2^127: declared as 128 bits.
    pub fn from_i128(values: &[i128]) -> Self {
        let magnitudes = values.iter().map(|v| v.unsigned_abs()).flat_map(|v| [v as u64, (v >> 64) as u64]).collect();
        let negative = values.iter().map(|&v| (v as u128 >> 127) as u64).collect();
        Self {
            magnitudes: IntegerBatch::from_words(2, magnitudes),
            negative: Some(IntegerBatch::from_words(1, negative)),
            bits: 128,
        }
    }

    /// Scalars with signs, of magnitudes below 2^`bits`.
    ///
    /// # Errors
    /// [`PaillierError::ScalarBits`], [`PaillierError::ScalarRange`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let factors = Scalars::from_bigints(&[BigInt::from(-2), BigInt::from(7)], 3)?;
    /// assert_eq!(owner.decrypt(&x.multiply_scalars(&factors)?)?.to_i64()?, [-6, -35]);
    /// assert!(matches!(Scalars::from_bigints(&[BigInt::from(8)], 3), Err(PaillierError::ScalarRange { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bigints(values: &[BigInt], bits: u32) -> Result<Self, PaillierError> {
        if !(1..=KeyBits::MAX).contains(&bits) {
            return Err(PaillierError::ScalarBits { bits });
        }
        let limbs = bits.div_ceil(64) as usize;
        let mut magnitudes = IntegerBatch::zeros(values.len(), limbs);
        let mut negative = IntegerBatch::zeros(values.len(), 1);
        for (index, value) in values.iter().enumerate() {
            let row = integers::from_big(value.magnitude(), limbs)
                .filter(|_| value.bits() <= u64::from(bits))
                .ok_or(PaillierError::ScalarRange { index, bits })?;
            magnitudes.row_mut(index).copy_from_slice(&row);
            negative.row_mut(index)[0] = u64::from(value.sign() == Sign::Minus);
        }
        Ok(Self { magnitudes, negative: Some(negative), bits })
    }

    /// From two's complement numbers of magnitudes below 2^`bits`. Constant-time in the values.
    ///
    /// # Errors
    /// [`PaillierError::ScalarBits`], [`PaillierError::ScalarRange`].
    pub(crate) fn from_twos_complement(rows: &IntegerBatch, bits: u32) -> Result<Self, PaillierError> {
        let mut magnitudes = rows.clone();
        let mut negative = IntegerBatch::zeros(rows.len(), 1);
        for (index, row) in rows.rows().enumerate() {
            let sign = integers::is_negative(row);
            integers::negate_if(magnitudes.row_mut(index), sign);
            negative.row_mut(index)[0] = sign;
        }
        Self { magnitudes, negative: Some(negative), bits }.with_bits(bits)
    }

    /// The same scalars, declared to be narrower: time goes with the width.
    ///
    /// # Errors
    /// [`PaillierError::ScalarBits`], [`PaillierError::ScalarRange`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // Fewer declared bits make a product faster, and must suffice for each scalar.
    /// assert!(Scalars::from_i64(&[7]).with_bits(3).is_ok());
    /// assert!(Scalars::from_i64(&[8]).with_bits(3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_bits(mut self, bits: u32) -> Result<Self, PaillierError> {
        if !(1..=KeyBits::MAX).contains(&bits) {
            return Err(PaillierError::ScalarBits { bits });
        }
        Exponents::each(self.magnitudes.clone(), bits).map_err(|error| match error {
            BigIntError::ExponentBits { index, bits } => PaillierError::ScalarRange { index, bits },
            other => other.into(),
        })?;
        self.bits = bits;
        Ok(self)
    }

    /// Number of scalars.
    pub fn len(&self) -> usize {
        self.magnitudes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.magnitudes.is_empty()
    }

    /// The magnitudes.
    pub(crate) fn magnitudes(&self) -> &IntegerBatch {
        &self.magnitudes
    }

    /// 1 for a negative scalar; `None` if the type has no negative ones.
    pub(crate) fn signs(&self) -> Option<&IntegerBatch> {
        self.negative.as_ref()
    }

    /// Declared bits of a magnitude.
    pub fn bits(&self) -> u32 {
        self.bits
    }
}

/// Shows the shape only.
impl std::fmt::Debug for Scalars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scalars")
            .field("len", &self.len())
            .field("bits", &self.bits)
            .field("signed", &self.negative.is_some())
            .finish_non_exhaustive()
    }
}

impl CiphertextVector {
    /// Sums of plaintexts, element by element; a vector of one element on either side is used for every element.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.add(&x)?)?.to_i64()?, [6, -10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, other: &Self) -> Result<Self, PaillierError> {
        let right = other.values_in(self.key())?;
        self.multiplied(self.residues(), &right)
    }

    /// Differences of plaintexts, element by element; a vector of one element on either side is used for every element.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.subtract(&x)?)?.to_i64()?, [0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subtract(&self, other: &Self) -> Result<Self, PaillierError> {
        let right = other.values_in(self.key())?;
        self.check_paired(right.len())?;
        self.multiplied(self.residues(), &self.inverses(&right)?)
    }

    /// Plaintexts with their signs changed.
    ///
    /// # Errors
    /// None but [`PaillierError::CiphertextNotUnit`], which no ciphertext that was checked on entry can give.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.negate()?)?.to_i64()?, [-3, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn negate(&self) -> Result<Self, PaillierError> {
        Ok(Self::from_ring(self.key(), self.inverses(self.residues())?))
    }

    /// Sums of encrypted and plain numbers, element by element. The blinding does not change: a party that knows both
    /// ciphertexts can find the difference; see [`rerandomise`](Self::rerandomise).
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.add_plain(&plain)?)?.to_i64()?, [6, -10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_plain(&self, plaintexts: &PlaintextVector) -> Result<Self, PaillierError> {
        self.key().check_same(plaintexts.key())?;
        if self.len() != plaintexts.len() {
            return Err(PaillierError::Length { left: self.len(), right: plaintexts.len() });
        }
        let ring = self.key().ring();
        let values = parallel::residues(ring, self.len(), |range| {
            Ok(ring.multiply_unit(&self.residues().slice(range.clone()), &plaintexts.residues().slice(range))?)
        })?;
        Ok(Self::from_ring(self.key(), values))
    }

    /// Differences of encrypted and plain numbers, element by element, as [`add_plain`](Self::add_plain).
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.subtract_plain(&plain)?)?.to_i64()?, [0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subtract_plain(&self, plaintexts: &PlaintextVector) -> Result<Self, PaillierError> {
        self.add_plain(&plaintexts.negate())
    }

    /// Multiples of plaintexts: one scalar for all, or one per element. Constant-time in scalars of the declared width.
    ///
    /// # Errors
    /// [`PaillierError::Length`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let products = x.multiply_scalars(&Scalars::from_i64(&[10]))?;
    /// assert_eq!(owner.decrypt(&products)?.to_i64()?, [30, -50]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply_scalars(&self, scalars: &Scalars) -> Result<Self, PaillierError> {
        let shared = scalars.len() == 1;
        if !shared && scalars.len() != self.len() {
            return Err(PaillierError::Length { left: self.len(), right: scalars.len() });
        }
        let ring = self.key().ring();
        let exponents = |rows: &IntegerBatch, bits: u32| -> Result<Exponents, PaillierError> {
            Ok(if shared {
                Exponents::shared(&Zeroizing::new(rows.uint(0)), bits)?
            } else {
                Exponents::each(rows.clone(), bits)?
            })
        };
        let values = parallel::residues(ring, self.len(), |range| {
            let bases = self.residues().slice(range.clone());
            let rows = |batch: &IntegerBatch| if shared { batch.clone() } else { batch.slice(range.clone()) };
            let bases = match &scalars.negative {
                None => bases,
                // c or its inverse, chosen by two powers of one bit: both are always computed.
                Some(negative) => {
                    let negative = rows(negative);
                    let mut positive = negative.clone();
                    positive.words_mut().iter_mut().for_each(|bit| *bit ^= 1);
                    let inverses = self.inverses_of(&bases)?;
                    ring.multiply(
                        &ring.pow(&bases, &exponents(&positive, 1)?)?,
                        &ring.pow(&inverses, &exponents(&negative, 1)?)?,
                    )?
                }
            };
            Ok(ring.pow(&bases, &exponents(&rows(&scalars.magnitudes), scalars.bits)?)?)
        })?;
        Ok(Self::from_ring(self.key(), values))
    }

    /// The sum of all plaintexts; 0, not blinded, of none.
    ///
    /// # Errors
    /// None that operands could give.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.sum()?)?.to_i64()?, [-2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sum(&self) -> Result<Self, PaillierError> {
        let ring = self.key().ring();
        let parts = parallel::in_ranges(ring.lanes(), self.len(), |range| {
            product::product(ring, &self.residues().slice(range))
        })?;
        let mut parts = parts.into_iter();
        let first = parts.next().expect("one range at least");
        let sum = parts.try_fold(first, |sum, part| ring.multiply(&sum, &part))?;
        Ok(Self::from_ring(self.key(), sum))
    }

    /// The inner product with weights that everyone may know: time depends on them.
    ///
    /// # Errors
    /// [`PaillierError::Length`]; [`PaillierError::BigInt`] if a weight has a magnitude of 2^64 or more;
    /// [`PaillierError::Empty`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x.dot_public(&[4, 2])?)?.to_i64()?, [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dot_public(&self, weights: &[i128]) -> Result<Self, PaillierError> {
        if self.len() != weights.len() {
            return Err(PaillierError::Length { left: self.len(), right: weights.len() });
        }
        if weights.is_empty() {
            return Err(PaillierError::Empty);
        }
        self.matrix_vector_public(&WeightMatrix::new(weights.len(), weights.to_vec())?)
    }

    /// The product of a matrix of weights that everyone may know with this vector: one ciphertext per row. Time depends
    /// on the weights.
    ///
    /// # Errors
    /// [`PaillierError::Length`] unless the matrix has a column for every element.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let weights = PublicWeights::from_rows(2, vec![1, 0, 1, 1, 4, 2])?;
    /// let product = x.matrix_vector_public(weights.matrix())?;
    /// assert_eq!(owner.decrypt(&product)?.to_i64()?, [3, -2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matrix_vector_public(&self, weights: &WeightMatrix) -> Result<Self, PaillierError> {
        if self.len() != weights.columns() {
            return Err(PaillierError::Length { left: self.len(), right: weights.columns() });
        }
        let ring = self.key().ring();
        let values = parallel::residues(ring, weights.rows(), |range| {
            let whole = range.len() == weights.rows();
            let rows = if whole {
                Cow::Borrowed(weights)
            } else {
                let values = range.flat_map(|row| weights.row(row).iter().copied()).collect();
                Cow::Owned(WeightMatrix::new(weights.columns(), values)?)
            };
            Ok(ring.multi_pow_public(self.residues(), &rows)?)
        })?;
        Ok(Self::from_ring(self.key(), values))
    }

    /// The same plaintexts under fresh blinding factors, so that a result does not reveal its origin.
    ///
    /// # Errors
    /// [`PaillierError::NoBlindingBase`], [`PaillierError::Random`]; [`PaillierError::Modulus`] as
    /// [`PublicKey::encrypt`](crate::PublicKey::encrypt).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let y = x.rerandomise(blinding, &mut rng)?;
    /// assert_ne!(y, x);
    /// assert_eq!(owner.decrypt(&y)?, plain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rerandomise(&self, blinding: Blinding, rng: &mut Csprng) -> Result<Self, PaillierError> {
        let factors = self.key().blinding_factors(self.len(), blinding, rng)?;
        self.multiplied(self.residues(), &factors)
    }

    fn check_paired(&self, right: usize) -> Result<(), PaillierError> {
        if self.len() == right || self.len() == 1 || right == 1 {
            Ok(())
        } else {
            Err(PaillierError::Length { left: self.len(), right })
        }
    }

    /// Products of residues of this key's ring.
    fn multiplied(&self, left: &Residues, right: &Residues) -> Result<Self, PaillierError> {
        self.check_paired(right.len())?;
        let ring = self.key().ring();
        let values = if left.len() != right.len() {
            ring.multiply(left, right)?
        } else {
            parallel::residues(ring, left.len(), |range| {
                Ok(ring.multiply(&left.slice(range.clone()), &right.slice(range))?)
            })?
        };
        Ok(Self::from_ring(self.key(), values))
    }

    fn inverses(&self, values: &Residues) -> Result<Residues, PaillierError> {
        parallel::residues(self.key().ring(), values.len(), |range| self.inverses_of(&values.slice(range)))
    }

    fn inverses_of(&self, values: &Residues) -> Result<Residues, PaillierError> {
        self.key().ring().invert(values).map_err(|error| match error {
            BigIntError::NotInvertible { index } => PaillierError::CiphertextNotUnit { index },
            other => other.into(),
        })
    }
}
