//! Keys and vectors as a product reads them.

use std::ops::Range;

use super::LANES;
use super::{check_size, packing};
use crate::memory::AlignedWords;

/// The spectra of one key switching key modulo one prime, pairs (d, k) for digit d and part k < 2: per block of eight
/// words of the spectra the eight words of (0, 0), of (0, 1), of (1, 0), …. Like those of a
/// [`MatrixBlock`](super::MatrixBlock) they may be packed.
#[derive(Clone, Debug)]
pub struct KeyBlock {
    polynomial_size: usize,
    digits: usize,
    /// Bytes of a word.
    width: usize,
    words: AlignedWords,
}

impl KeyBlock {
    /// From both parts of every digit's row, spectra in the order of the digits that they will multiply; not packed.
    ///
    /// # Panics
    /// If there is no digit, lengths differ, or they are not a power of two from 8 on.
    pub fn pack(rows: &[[&[u64]; 2]]) -> Self {
        Self::with_width(rows, size_of::<u64>())
    }

    /// The same with words of `width` bytes.
    pub(super) fn with_width(rows: &[[&[u64]; 2]], width: usize) -> Self {
        let polynomial_size = rows.first().expect("a key has a digit")[0].len();
        check_size(polynomial_size);
        let size = 2 * rows.len() * width;
        // Kernels read eight words wherever something packed starts.
        let mut words = AlignedWords::zeroed(polynomial_size / LANES * size + LANES);
        for (index, spectrum) in rows.iter().flatten().enumerate() {
            assert_eq!(spectrum.len(), polynomial_size, "length of a key's spectrum");
            for (block, from) in words.chunks_exact_mut(size).zip(spectrum.as_chunks().0) {
                packing::pack(from, &mut block[index * width..][..width]);
            }
        }
        Self { polynomial_size, digits: rows.len(), width, words }
    }

    /// Bytes of a word: eight words take as many 64-bit words.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What is packed, from the block of word `index` on, and eight words more.
    pub(super) fn words(&self, index: usize) -> &[u64] {
        &self.words[index / LANES * 2 * self.digits * self.width..]
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

/// V vectors modulo one prime, whose entries (v, j) are pairs of spectra: ciphertexts. Per block of eight words the
/// entries (0, 0), (0, 1), …, (1, 0), …, each as eight words of one part and eight of the other.
///
/// It may hold a *window* of the N words only. What is done with entries is then done for the words of the window, so
/// that the entries of a long vector are made, multiplied and forgotten window by window in a cache.
#[derive(Clone, Debug)]
pub struct VectorBlock {
    polynomial_size: usize,
    vectors: usize,
    columns: usize,
    window: Range<usize>,
    pub(super) words: AlignedWords,
}

impl VectorBlock {
    /// `vectors` vectors of `columns` entries, all 0, with all words.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, vectors: usize, columns: usize) -> Self {
        Self::window(polynomial_size, polynomial_size, vectors, columns)
    }

    /// A window of the first `size` words of the entries, all 0.
    ///
    /// # Panics
    /// As [`zeroed`](Self::zeroed), or if `size` is not a power of two from 8 to N.
    pub fn window(polynomial_size: usize, size: usize, vectors: usize, columns: usize) -> Self {
        check_size(polynomial_size);
        check_size(size);
        assert!(size <= polynomial_size, "a window of {size} words in {polynomial_size}");
        assert!(vectors > 0 && columns > 0, "vectors have entries");
        let words = AlignedWords::zeroed(size * vectors * columns * 2);
        Self { polynomial_size, vectors, columns, window: 0..size, words }
    }

    /// The vectors of all `blocks`, one after another: so that one pass over a matrix serves them all.
    ///
    /// # Panics
    /// If there is none, or their N, entries or windows differ.
    pub fn join(blocks: &[&Self]) -> Self {
        let first = blocks.first().expect("a vector");
        let vectors = blocks.iter().map(|block| block.vectors).sum();
        let mut joined = Self::window(first.polynomial_size, first.window.len(), vectors, first.columns);
        joined.window = first.window.clone();
        let (stride, mut start) = (joined.stride(), 0);
        for block in blocks {
            assert_eq!(block.polynomial_size, first.polynomial_size, "length of the spectra");
            assert_eq!(block.columns, first.columns, "length of the vectors");
            assert_eq!(block.window, first.window, "window");
            for (out, words) in joined.words.chunks_exact_mut(stride).zip(block.words.chunks_exact(block.stride())) {
                out[start..start + words.len()].copy_from_slice(words);
            }
            start += block.stride();
        }
        joined
    }

    /// Moves the window: it starts at word `start`, and all entries are to be written anew.
    ///
    /// # Panics
    /// If `start` is not a multiple of the window's size below N.
    pub fn move_to(&mut self, start: usize) {
        let size = self.window.len();
        assert!(start.is_multiple_of(size) && start < self.polynomial_size, "no window of {size} words at {start}");
        self.window = start..start + size;
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

    /// The words that it holds.
    pub fn words(&self) -> Range<usize> {
        self.window.clone()
    }

    /// The blocks that it holds.
    pub(super) fn blocks(&self) -> Range<usize> {
        self.window.start / LANES..self.window.end / LANES
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

    /// Entry (`vector`, `column`) becomes `parts`, canonical spectra, of which the window is taken.
    ///
    /// # Panics
    /// If there is no such entry or a length is not N.
    pub fn set(&mut self, vector: usize, column: usize, parts: [&[u64]; 2]) {
        let (start, stride, window) = (self.start(vector, column), self.stride(), self.words());
        for (k, part) in parts.into_iter().enumerate() {
            assert_eq!(part.len(), self.polynomial_size, "length of a spectrum");
            let part = part[window.clone()].chunks_exact(LANES);
            for (block, from) in self.words.chunks_exact_mut(stride).zip(part) {
                block[start + k * LANES..][..LANES].copy_from_slice(from);
            }
        }
    }
}
