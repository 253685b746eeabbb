//! How the operands of the products lie in memory: every block of eight words has all that is done with those eight
//! words side by side, in the order in which a kernel reads it.

use std::ops::Range;

use super::orbit::Rotation;
use super::words::{AlignedWords, LANES};

/// Words by which consecutive sums lie farther apart than N, so that they do not compete for one set of the cache.
const PADDING: usize = LANES;

fn check_size(polynomial_size: usize) {
    assert!(
        polynomial_size.is_power_of_two() && polynomial_size >= LANES,
        "{polynomial_size} words are not whole blocks of a spectrum"
    );
}

/// The spectra of one key switching key modulo one prime, pairs (d, k) for digit d and part k < 2: per block of eight
/// words of the spectra the eight words of (0, 0), of (0, 1), of (1, 0), ….
#[derive(Clone, Debug)]
pub struct KeyBlock {
    polynomial_size: usize,
    digits: usize,
    pub(super) words: AlignedWords,
}

impl KeyBlock {
    /// From both parts of every digit's row, spectra in the order of the digits that they will multiply.
    ///
    /// # Panics
    /// If there is no digit, lengths differ, or they are not a power of two from 8 on.
    pub fn pack(rows: &[[&[u64]; 2]]) -> Self {
        let polynomial_size = rows.first().expect("a key has a digit")[0].len();
        check_size(polynomial_size);
        let mut words = AlignedWords::zeroed(2 * rows.len() * polynomial_size);
        for (index, spectrum) in rows.iter().flatten().enumerate() {
            assert_eq!(spectrum.len(), polynomial_size, "length of a key's spectrum");
            let blocks = words.chunks_exact_mut(2 * rows.len() * LANES);
            for (block, from) in blocks.zip(spectrum.chunks_exact(LANES)) {
                block[index * LANES..][..LANES].copy_from_slice(from);
            }
        }
        Self { polynomial_size, digits: rows.len(), words }
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// The number of digits D.
    pub fn digits(&self) -> usize {
        self.digits
    }
}

/// Columns of V vectors modulo one prime: each entry (v, j) is a pair of spectra, a ciphertext. Per block of eight words
/// the entries (0, 0), (0, 1), …, (1, 0), …, each as eight words of one part and eight of the other.
#[derive(Clone, Debug)]
pub struct VectorBlock {
    polynomial_size: usize,
    vectors: usize,
    columns: usize,
    pub(super) words: AlignedWords,
}

impl VectorBlock {
    /// `vectors` vectors of `columns` entries, all 0.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, vectors: usize, columns: usize) -> Self {
        check_size(polynomial_size);
        assert!(vectors > 0 && columns > 0, "vectors have entries");
        let words = AlignedWords::zeroed(polynomial_size * vectors * columns * 2);
        Self { polynomial_size, vectors, columns, words }
    }

    /// The vectors of all `blocks`, in order: what is multiplied in one pass over a matrix.
    ///
    /// # Panics
    /// If there is none, or they differ in N or the number of columns.
    pub fn join(blocks: &[&Self]) -> Self {
        let first = blocks.first().expect("a block of vectors");
        let vectors = blocks.iter().map(|block| block.vectors).sum();
        let mut joined = Self::zeroed(first.polynomial_size, vectors, first.columns);
        let (stride, mut start) = (joined.stride(), 0);
        for block in blocks {
            assert_eq!(block.polynomial_size, first.polynomial_size, "length of the spectra");
            assert_eq!(block.columns, first.columns, "number of columns");
            for (out, words) in joined.words.chunks_exact_mut(stride).zip(block.words.chunks_exact(block.stride())) {
                out[start..][..words.len()].copy_from_slice(words);
            }
            start += block.stride();
        }
        joined
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// V.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// The number of entries of a vector.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Words from one block of an entry to the next.
    pub(super) fn stride(&self) -> usize {
        self.vectors * self.columns * 2 * LANES
    }

    /// Where the first block of an entry starts.
    pub(super) fn start(&self, vector: usize, column: usize) -> usize {
        assert!(vector < self.vectors && column < self.columns, "no entry ({vector}, {column})");
        (vector * self.columns + column) * 2 * LANES
    }

    /// Entry (`vector`, `column`) becomes `parts`, canonical spectra.
    ///
    /// # Panics
    /// If there is no such entry or a length is not N.
    pub fn set(&mut self, vector: usize, column: usize, parts: [&[u64]; 2]) {
        let (start, stride) = (self.start(vector, column), self.stride());
        for (k, part) in parts.into_iter().enumerate() {
            assert_eq!(part.len(), self.polynomial_size, "length of a spectrum");
            for (block, from) in self.words.chunks_exact_mut(stride).zip(part.chunks_exact(LANES)) {
                block[start + k * LANES..][..LANES].copy_from_slice(from);
            }
        }
    }
}

/// A matrix of `rows` × `columns` spectra modulo one prime. Per block of eight words it has groups of up to four rows;
/// in a group column by column the eight words of each of its rows. A product reads it once from one end to the other.
#[derive(Clone, Debug)]
pub struct MatrixBlock {
    polynomial_size: usize,
    rows: usize,
    columns: usize,
    words: AlignedWords,
}

impl MatrixBlock {
    /// All zero; memory of fresh pages is not touched.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, rows: usize, columns: usize) -> Self {
        check_size(polynomial_size);
        assert!(rows > 0 && columns > 0, "a matrix has entries");
        Self { polynomial_size, rows, columns, words: AlignedWords::zeroed(polynomial_size * rows * columns) }
    }

    /// From the spectrum that `entry` gives for each (row, column), asked for in the order of [`entry`](Self::entry).
    ///
    /// # Panics
    /// As [`zeroed`](Self::zeroed), or if a spectrum's length is not N.
    pub fn pack<S: AsRef<[u64]>>(
        polynomial_size: usize,
        rows: usize,
        columns: usize,
        mut entry: impl FnMut(usize, usize) -> S,
    ) -> Self {
        let mut matrix = Self::zeroed(polynomial_size, rows, columns);
        let rotation = Rotation::none(polynomial_size);
        for position in 0..rows * columns {
            let (row, column) = matrix.entry(position);
            matrix.part().set(position, &[(entry(row, column).as_ref(), rotation)]);
        }
        matrix
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The words, 8·rows·columns per block.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// (row, column) of the entry at `position` < rows·columns of a block.
    pub fn entry(&self, position: usize) -> (usize, usize) {
        assert!(position < self.rows * self.columns, "no position {position}");
        let group = position / (GROUP * self.columns);
        let size = group_size(self.rows, group * GROUP);
        let place = position - group * GROUP * self.columns;
        (group * GROUP + place % size, place / size)
    }

    /// All of it, to be written.
    pub fn part(&mut self) -> MatrixPart<'_> {
        MatrixPart {
            entries: self.rows * self.columns,
            blocks: 0..self.polynomial_size / LANES,
            words: &mut self.words,
        }
    }

    /// The matrix cut into at most `count` parts of nearly as many blocks each: threads that write entries together
    /// write one part each.
    pub fn parts(&mut self, count: usize) -> Vec<MatrixPart<'_>> {
        let (entries, blocks) = (self.rows * self.columns, self.polynomial_size / LANES);
        let size = blocks.div_ceil(count.clamp(1, blocks));
        let chunks = self.words.chunks_mut(size * entries * LANES).enumerate();
        let range = |i: usize| i * size..((i + 1) * size).min(blocks);
        chunks.map(|(i, words)| MatrixPart { entries, blocks: range(i), words }).collect()
    }
}

/// Rows of a matrix that a product takes together: four rows by two parts by two halves of a product are 16 sums.
pub(super) const GROUP: usize = 4;

/// The rows of the group that starts at row `start`.
pub(super) fn group_size(rows: usize, start: usize) -> usize {
    GROUP.min(rows - start)
}

/// Some consecutive blocks of a [`MatrixBlock`].
#[derive(Debug)]
pub struct MatrixPart<'a> {
    entries: usize,
    blocks: Range<usize>,
    words: &'a mut [u64],
}

impl MatrixPart<'_> {
    /// The entries at `position`, `position` + 1, … become the rotated spectra, as far as this part has their blocks.
    /// Memory likes several at once: each block gets them side by side, 64 bytes each.
    ///
    /// # Panics
    /// If there are not as many positions, or a spectrum's length is not N or one that its rotation is for.
    pub fn set(&mut self, position: usize, spectra: &[(&[u64], Rotation)]) {
        assert!(position + spectra.len() <= self.entries, "no position {}", position + spectra.len());
        for (spectrum, rotation) in spectra {
            assert!(spectrum.len() >= self.blocks.end * LANES, "length of a spectrum");
            rotation.check(spectrum.len());
        }
        for (block, words) in self.blocks.clone().zip(self.words.chunks_exact_mut(self.entries * LANES)) {
            let words = words[position * LANES..].chunks_exact_mut(LANES);
            for (to, (spectrum, rotation)) in words.zip(spectra) {
                to.copy_from_slice(&rotation.load(spectrum, block * LANES));
            }
        }
    }
}

/// The results of a product: for each of G rows and V vectors a pair of spectra.
#[derive(Clone, Debug)]
pub struct SumBlock {
    polynomial_size: usize,
    rows: usize,
    vectors: usize,
    words: AlignedWords,
}

impl SumBlock {
    /// All zero.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, rows: usize, vectors: usize) -> Self {
        check_size(polynomial_size);
        assert!(rows > 0 && vectors > 0, "a product has entries");
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

    /// V.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Both spectra of (`row`, `vector`).
    ///
    /// # Panics
    /// If there is no such sum.
    pub fn get(&self, row: usize, vector: usize) -> [&[u64]; 2] {
        assert!(row < self.rows && vector < self.vectors, "no sum ({row}, {vector})");
        let stride = self.polynomial_size + PADDING;
        let at = |k| &self.words[((row * self.vectors + vector) * 2 + k) * stride..][..self.polynomial_size];
        [at(0), at(1)]
    }

    /// All rows, to be computed.
    pub fn part(&mut self) -> SumPart<'_> {
        SumPart {
            polynomial_size: self.polynomial_size,
            vectors: self.vectors,
            rows: 0..self.rows,
            words: &mut self.words,
        }
    }

    /// The rows cut into at most `count` parts of nearly as many rows each, for as many threads.
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
    /// It starts with a group.
    pub(super) rows: Range<usize>,
    pub(super) words: &'a mut [u64],
}

impl SumPart<'_> {
    /// Words from one spectrum to the next.
    pub(super) fn stride(&self) -> usize {
        self.polynomial_size + PADDING
    }
}
