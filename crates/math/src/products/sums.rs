//! The results of a product of a matrix with vectors.

use std::ops::Range;

use super::LANES;
use super::check_size;
use super::matrix::GROUP;
use crate::memory::AlignedWords;

/// Additional words between consecutive sums, so that they do not compete for one set of the cache.
const PADDING: usize = LANES;

/// The results of a product: for each of G rows and V vectors a pair of spectra.
///
/// # Example
/// ```
/// use ciphermill_math::products::SumBlock;
///
/// // Six rows for two threads, which write one part each.
/// let mut sums = SumBlock::zeroed(8, 6, 1);
/// assert_eq!(sums.parts(2).len(), 2);
/// assert_eq!(sums.get(5, 0), [&[0; 8], &[0; 8]]);
/// ```
#[derive(Clone, Debug)]
pub struct SumBlock {
    polynomial_size: usize,
    rows: usize,
    vectors: usize,
    words: AlignedWords,
}

impl SumBlock {
    /// Zero sums.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, rows: usize, vectors: usize) -> Self {
        check_size(polynomial_size);
        assert!(rows > 0 && vectors > 0, "a product needs at least one row and one vector");
        let words = AlignedWords::zeroed(rows * vectors * 2 * (polynomial_size + PADDING));
        Self { polynomial_size, rows, vectors, words }
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of vectors, V.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Both spectra of (`row`, `vector`).
    ///
    /// # Panics
    /// If the sum does not exist.
    pub fn get(&self, row: usize, vector: usize) -> [&[u64]; 2] {
        assert!(row < self.rows && vector < self.vectors, "sum ({row}, {vector}) does not exist");
        let stride = self.polynomial_size + PADDING;
        let at = |k| &self.words[((row * self.vectors + vector) * 2 + k) * stride..][..self.polynomial_size];
        [at(0), at(1)]
    }

    /// All rows, for a product to write.
    pub fn part(&mut self) -> SumPart<'_> {
        SumPart {
            polynomial_size: self.polynomial_size,
            vectors: self.vectors,
            rows: 0..self.rows,
            words: &mut self.words,
        }
    }

    /// The rows divided into at most `count` parts with nearly equal numbers of rows, for as many threads.
    pub fn parts(&mut self, count: usize) -> Vec<SumPart<'_>> {
        let groups = self.rows.div_ceil(GROUP);
        let size = GROUP * groups.div_ceil(count.clamp(1, groups));
        let (polynomial_size, vectors, rows) = (self.polynomial_size, self.vectors, self.rows);
        let chunks = self.words.chunks_mut(size * vectors * 2 * (polynomial_size + PADDING)).enumerate();
        let range = |i: usize| i * size..((i + 1) * size).min(rows);
        chunks.map(|(i, words)| SumPart { polynomial_size, vectors, rows: range(i), words }).collect()
    }
}

/// Some consecutive rows of a [`SumBlock`].
#[derive(Debug)]
pub struct SumPart<'a> {
    pub(super) polynomial_size: usize,
    pub(super) vectors: usize,
    /// The rows of the part; the first one starts a group.
    pub(super) rows: Range<usize>,
    pub(super) words: &'a mut [u64],
}

impl SumPart<'_> {
    /// Words from one spectrum to the next.
    pub(super) fn stride(&self) -> usize {
        self.polynomial_size + PADDING
    }
}
