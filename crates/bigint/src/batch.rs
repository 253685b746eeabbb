//! Plain integers, many of one width.

use std::fmt;

use crypto_bigint::BoxedUint;
use num_bigint::BigUint;
use zeroize::Zeroize;

use super::limbs;

/// Non-negative integers of one width: rows of 64-bit limbs, least significant first. Wiped when dropped.
///
/// # Example
/// ```
/// use ciphermill_bigint::IntegerBatch;
///
/// // 1 and 2^64, of two limbs each.
/// let batch = IntegerBatch::from_words(2, vec![1, 0, 0, 1]);
/// assert_eq!((batch.len(), batch.limbs(), batch.row(1)), (2, 2, &[0, 1][..]));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IntegerBatch {
    limbs: usize,
    words: Vec<u64>,
}

impl IntegerBatch {
    /// `len` zeros of `limbs` limbs each.
    ///
    /// # Panics
    /// If `limbs` is 0.
    pub fn zeros(len: usize, limbs: usize) -> Self {
        assert!(limbs > 0, "an integer has a limb");
        Self { limbs, words: vec![0; len * limbs] }
    }

    /// Rows that lie one after the other.
    ///
    /// # Panics
    /// If `words` is not a whole number of rows.
    pub fn from_words(limbs: usize, words: Vec<u64>) -> Self {
        assert!(limbs > 0 && words.len().is_multiple_of(limbs), "whole rows");
        Self { limbs, words }
    }

    /// Single words.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::IntegerBatch;
    ///
    /// let batch = IntegerBatch::from_u64s(&[3, 5]);
    /// assert_eq!((batch.len(), batch.limbs(), batch.words()), (2, 1, &[3, 5][..]));
    /// ```
    pub fn from_u64s(values: &[u64]) -> Self {
        Self { limbs: 1, words: values.to_vec() }
    }

    /// The given numbers, at the width of the widest of them.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::{IntegerBatch, limbs};
    ///
    /// let (narrow, wide) = (limbs::to_uint(&[7]), limbs::to_uint(&[0, 1]));
    /// let batch = IntegerBatch::from_uints([&narrow, &wide]);
    /// assert_eq!(batch.words(), [7, 0, 0, 1]);
    /// ```
    pub fn from_uints<'a>(values: impl IntoIterator<Item = &'a BoxedUint> + Clone) -> Self {
        let limbs = values.clone().into_iter().map(|v| v.as_limbs().len()).max().unwrap_or(1).max(1);
        // As long as it will be: growing would leave copies behind.
        let mut words = Vec::with_capacity(limbs * values.clone().into_iter().count());
        for value in values {
            words.extend(value.as_limbs().iter().map(|limb| limb.0));
            words.resize(words.len().next_multiple_of(limbs), 0);
        }
        Self { limbs, words }
    }

    /// Integers of this number of limbs; `None` if one is longer.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::IntegerBatch;
    /// use num_bigint::BigUint;
    ///
    /// let values = [BigUint::from(7u32), BigUint::from(1u32) << 64u32];
    /// assert_eq!(IntegerBatch::from_biguints(&values, 2).unwrap().words(), [7, 0, 0, 1]);
    /// assert!(IntegerBatch::from_biguints(&values, 1).is_none());
    /// ```
    pub fn from_biguints<'a>(
        values: impl IntoIterator<Item = &'a BigUint, IntoIter: ExactSizeIterator>,
        limbs: usize,
    ) -> Option<Self> {
        let values = values.into_iter();
        let mut out = Self::zeros(values.len(), limbs);
        for (index, value) in values.enumerate() {
            let digits = value.to_u64_digits();
            out.row_mut(index).get_mut(..digits.len())?.copy_from_slice(&digits);
        }
        Some(out)
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.words.len() / self.limbs
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Limbs per integer.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// All limbs, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All limbs, row after row.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// One integer's limbs.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> &[u64] {
        &self.words[index * self.limbs..(index + 1) * self.limbs]
    }

    /// One integer's limbs.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.words[index * self.limbs..(index + 1) * self.limbs]
    }

    /// The rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.words.chunks_exact(self.limbs)
    }

    /// Some rows, copied.
    ///
    /// # Panics
    /// If the range leaves the batch.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self { limbs: self.limbs, words: self.words[range.start * self.limbs..range.end * self.limbs].to_vec() }
    }

    /// The same integers at another width.
    ///
    /// # Panics
    /// If one of them does not fit.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::IntegerBatch;
    ///
    /// assert_eq!(IntegerBatch::from_u64s(&[3, 5]).resized(2).words(), [3, 0, 5, 0]);
    /// ```
    pub fn resized(&self, limbs: usize) -> Self {
        let mut out = Self::zeros(self.len(), limbs);
        for (index, row) in self.rows().enumerate() {
            let kept = row.len().min(limbs);
            assert!(row[kept..].iter().all(|&limb| limb == 0), "integer {index} has {limbs} limbs at most");
            out.row_mut(index)[..kept].copy_from_slice(&row[..kept]);
        }
        out
    }

    /// The rows of all parts, in order.
    ///
    /// # Panics
    /// If the parts differ in width.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::IntegerBatch;
    ///
    /// let batch = IntegerBatch::from_u64s(&[3, 5, 7]);
    /// assert_eq!(IntegerBatch::concat(&[batch.slice(0..1), batch.slice(1..3)]), batch);
    /// ```
    pub fn concat(parts: &[Self]) -> Self {
        let limbs = parts.first().map_or(1, |part| part.limbs);
        let mut words = Vec::with_capacity(parts.iter().map(|part| part.words.len()).sum());
        for part in parts {
            assert_eq!(part.limbs, limbs, "parts of one width");
            words.extend_from_slice(&part.words);
        }
        Self { limbs, words }
    }

    /// One integer for the general library.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn uint(&self, index: usize) -> BoxedUint {
        limbs::to_uint(self.row(index))
    }
}

impl Drop for IntegerBatch {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// Shows the shape only.
impl fmt::Debug for IntegerBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntegerBatch").field("len", &self.len()).field("limbs", &self.limbs).finish_non_exhaustive()
    }
}
