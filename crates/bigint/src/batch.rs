//! Plain integers, many of one width.

use std::fmt;

use crypto_bigint::BoxedUint;
use zeroize::Zeroize;

use super::limbs;

/// Non-negative integers of one width: rows of 64-bit limbs, least significant first. Wiped when dropped.
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
    pub fn from_u64s(values: &[u64]) -> Self {
        Self { limbs: 1, words: values.to_vec() }
    }

    /// The given numbers, at the width of the widest of them.
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
