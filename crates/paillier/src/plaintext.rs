//! Vectors of plaintexts.

use std::fmt;
use std::ops::Range;

use ciphermill_bigint::{IntegerBatch, limbs};
use num_bigint::{BigInt, Sign};

use crate::error::PaillierError;
use crate::integers;
use crate::keys::PublicKey;

/// Integers −(n−1)/2 ≤ m ≤ (n−1)/2 of one key, held as m mod n. Wiped when dropped.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let plain = PlaintextVector::from_i64(key, &[3, -5]);
/// assert_eq!(plain.to_bigints(), [BigInt::from(3), BigInt::from(-5)]);
/// assert_eq!((plain.len(), plain.is_empty()), (2, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PlaintextVector {
    key: PublicKey,
    /// m mod n, of n's limbs.
    values: IntegerBatch,
}

impl PlaintextVector {
    /// From integers modulo n, given as rows of n's limbs.
    ///
    /// # Errors
    /// [`PaillierError::PlaintextRange`] if a row is wider than n, or not below it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let same = PlaintextVector::from_residues(key, plain.residues().clone())?;
    /// assert_eq!(same.to_i64()?, [3, -5]);
    /// let n = IntegerBatch::from_words(8, key.n().to_vec());
    /// assert!(PlaintextVector::from_residues(key, n).is_err(), "residues are below n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_residues(key: &PublicKey, values: IntegerBatch) -> Result<Self, PaillierError> {
        let n = key.n();
        let refused = |index| PaillierError::PlaintextRange { index, bits: key.bits().get() };
        if values.limbs() != n.len() {
            return Err(refused(0));
        }
        // All rows are looked at, whatever is found.
        let mut first = None;
        for (index, row) in values.rows().enumerate() {
            if limbs::less_than(row, n) == 0 {
                first = first.or(Some(index));
            }
        }
        first.map_or_else(|| Ok(Self { key: key.clone(), values }), |index| Err(refused(index)))
    }

    /// From machine integers: all are in range of any key. Constant-time in the values.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(PlaintextVector::from_i64(key, &[i64::MIN]).to_i64()?, [i64::MIN]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_i64(key: &PublicKey, values: &[i64]) -> Self {
        Self::from_machine(key, values.iter().map(|&v| i128::from(v)), values.len())
    }

    /// From machine integers: all are in range of any key. Constant-time in the values.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(PlaintextVector::from_i128(key, &[1 << 100]).to_i128()?, [1 << 100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_i128(key: &PublicKey, values: &[i128]) -> Self {
        Self::from_machine(key, values.iter().copied(), values.len())
    }

    /// From machine integers: all are in range of any key. Constant-time in the values.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(PlaintextVector::from_u64(key, &[u64::MAX]).to_i128()?, [u64::MAX.into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_u64(key: &PublicKey, values: &[u64]) -> Self {
        Self::from_machine(key, values.iter().map(|&v| i128::from(v)), values.len())
    }

    fn from_machine(key: &PublicKey, values: impl Iterator<Item = i128>, len: usize) -> Self {
        let n = key.n();
        let mut out = IntegerBatch::zeros(len, n.len());
        for (index, value) in values.enumerate() {
            let row = out.row_mut(index);
            // The value in two's complement; a negative one is too great by 2^(64·limbs), which the carry of + n drops.
            let sign = (value >> 127) as u64;
            row.fill(sign);
            row[0] = value as u64;
            row[1] = (value >> 64) as u64;
            limbs::add_assign_if(row, n, sign & 1);
        }
        Self { key: key.clone(), values: out }
    }

    /// From integers of any size. Time depends on the sizes and signs of the values.
    ///
    /// # Errors
    /// [`PaillierError::PlaintextRange`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let greatest = BigInt::from(key.max_plaintext());
    /// assert_eq!(PlaintextVector::from_bigints(key, &[greatest.clone()])?.get(0)?, greatest);
    /// assert!(PlaintextVector::from_bigints(key, &[greatest + 1]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bigints(key: &PublicKey, values: &[BigInt]) -> Result<Self, PaillierError> {
        let n = key.n();
        let half = key.max_plaintext();
        let mut out = IntegerBatch::zeros(values.len(), n.len());
        for (index, value) in values.iter().enumerate() {
            if *value.magnitude() > half {
                return Err(PaillierError::PlaintextRange { index, bits: key.bits().get() });
            }
            let magnitude = integers::from_big(value.magnitude(), n.len()).expect("below n");
            let row = out.row_mut(index);
            if value.sign() == Sign::Minus {
                row.copy_from_slice(n);
                limbs::sub_assign(row, &magnitude);
            } else {
                row.copy_from_slice(&magnitude);
            }
        }
        Ok(Self { key: key.clone(), values: out })
    }

    /// The values with their signs.
    pub fn to_bigints(&self) -> Vec<BigInt> {
        (0..self.len()).map(|index| self.get(index).expect("in bounds")).collect()
    }

    /// One value with its sign.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(plain.get(1)?, BigInt::from(-5));
    /// assert!(matches!(plain.get(2), Err(PaillierError::OutOfBounds { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, index: usize) -> Result<BigInt, PaillierError> {
        self.check_bounds(&(index..index.saturating_add(1)))?;
        let value = integers::to_big(self.values.row(index));
        Ok(if value > self.key.max_plaintext() {
            BigInt::from(value) - BigInt::from(self.key.modulus())
        } else {
            BigInt::from(value)
        })
    }

    /// The values as machine integers.
    ///
    /// # Errors
    /// [`PaillierError::PlaintextWidth`] names the first that does not fit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(plain.to_i64()?, [3, -5]);
    /// let wide = PlaintextVector::from_i128(key, &[1 << 100]);
    /// assert!(matches!(wide.to_i64(), Err(PaillierError::PlaintextWidth { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_i64(&self) -> Result<Vec<i64>, PaillierError> {
        let wide = self.to_i128().map_err(|error| match error {
            PaillierError::PlaintextWidth { index, .. } => PaillierError::PlaintextWidth { index, bits: 64 },
            other => other,
        })?;
        let narrow =
            |(index, &value)| i64::try_from(value).map_err(|_| PaillierError::PlaintextWidth { index, bits: 64 });
        wide.iter().enumerate().map(narrow).collect()
    }

    /// The values as machine integers.
    ///
    /// # Errors
    /// [`PaillierError::PlaintextWidth`] names the first that does not fit.
    pub fn to_i128(&self) -> Result<Vec<i128>, PaillierError> {
        let n = self.key.n();
        let mut half = n.to_vec();
        for i in 0..half.len() {
            half[i] = half[i] >> 1 | half.get(i + 1).map_or(0, |&above| above << 63);
        }
        let mut row = IntegerBatch::zeros(1, n.len());
        let mut out = Vec::with_capacity(self.len());
        for (index, value) in self.values.rows().enumerate() {
            let row = row.row_mut(0);
            row.copy_from_slice(value);
            // Two's complement of the signed value.
            let negative = limbs::less_than(&half, row);
            let mut offset = zeroize::Zeroizing::new(n.to_vec());
            offset.iter_mut().for_each(|word| *word &= negative.wrapping_neg());
            limbs::sub_assign(row, &offset);
            let short = (u128::from(row[1]) << 64 | u128::from(row[0])) as i128;
            let sign = (short >> 127) as u64;
            if row[2..].iter().fold(0, |any, &word| any | (word ^ sign)) != 0 {
                return Err(PaillierError::PlaintextWidth { index, bits: 128 });
            }
            out.push(short);
        }
        Ok(out)
    }

    /// m mod n, row after row.
    pub fn residues(&self) -> &IntegerBatch {
        &self.values
    }

    /// The key whose plaintexts these are.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Number of plaintexts.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Some of the plaintexts.
    ///
    /// # Errors
    /// [`PaillierError::OutOfBounds`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(plain.slice(1..2)?.to_i64()?, [-5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, range: Range<usize>) -> Result<Self, PaillierError> {
        self.check_bounds(&range)?;
        Ok(Self { key: self.key.clone(), values: self.values.slice(range) })
    }

    /// The plaintexts with their signs changed. Constant-time.
    pub fn negate(&self) -> Self {
        let n = self.key.n();
        let mut values = IntegerBatch::zeros(self.len(), n.len());
        for index in 0..self.len() {
            let row = values.row_mut(index);
            row.copy_from_slice(n);
            limbs::sub_assign(row, self.values.row(index));
            // n itself, of 0, becomes 0.
            limbs::reduce_once(row, 0, n);
        }
        Self { key: self.key.clone(), values }
    }

    fn check_bounds(&self, range: &Range<usize>) -> Result<(), PaillierError> {
        check_bounds(range, self.len())
    }
}

pub(crate) fn check_bounds(range: &Range<usize>, len: usize) -> Result<(), PaillierError> {
    if range.start <= range.end && range.end <= len {
        Ok(())
    } else {
        Err(PaillierError::OutOfBounds { start: range.start, end: range.end, len })
    }
}

/// Shows the shape only.
impl fmt::Debug for PlaintextVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaintextVector")
            .field("key", &format_args!("{}", self.key.tag()))
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
