//! Keys and vectors in the order of a product's reads.

use std::ops::Range;

use super::LANES;
use super::{check_size, packing};
use crate::memory::AlignedWords;

/// The spectra of one key-switching key modulo one prime: pairs (d, k) for digit d and part k < 2. Each block of eight
/// words of the spectra holds the eight words of (0, 0), of (0, 1), of (1, 0), …. Like those of a
/// [`MatrixBlock`](super::MatrixBlock) they may be packed.
///
/// # Example
/// ```
/// use ciphermill_math::products::{KeyBlock, ProductKernels, Rotation};
/// use ciphermill_math::{Isa, Modulus};
///
/// // One digit, all 5, times its row (1, 2), and 3·head added to the first part.
/// let kernels = ProductKernels::new(Modulus::new(97)?, Isa::current())?;
/// let key = KeyBlock::pack(&[[&[1; 8], &[2; 8]]]);
/// let (mut first, mut second) = ([0; 8], [0; 8]);
/// let rotation = Rotation::none(8);
/// kernels.key_products(&rotation, &[&[5; 8]], Some((&[7; 8], 3)), &key, [&mut first, &mut second]);
/// assert_eq!((first, second), ([26; 8], [10; 8]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyBlock {
    polynomial_size: usize,
    digits: usize,
    /// Bytes of a word.
    width: usize,
    words: AlignedWords,
}

impl KeyBlock {
    /// The key of both parts of every digit's row, as spectra in the order of the digits; not packed.
    ///
    /// # Panics
    /// If `rows` is empty, if lengths differ, or if they are not a power of two from 8 on.
    pub fn pack(rows: &[[&[u64]; 2]]) -> Self {
        Self::with_width(rows, size_of::<u64>())
    }

    /// As [`pack`](Self::pack), with words of `width` bytes.
    pub(super) fn with_width(rows: &[[&[u64]; 2]], width: usize) -> Self {
        let polynomial_size = rows.first().expect("a key needs at least one digit")[0].len();
        check_size(polynomial_size);
        let size = 2 * rows.len() * width;
        // Kernels read eight words from the start of any packed block.
        let mut words = AlignedWords::zeroed(polynomial_size / LANES * size + LANES);
        for (index, spectrum) in rows.iter().flatten().enumerate() {
            assert_eq!(spectrum.len(), polynomial_size, "length of a key's spectrum");
            for (block, from) in words.chunks_exact_mut(size).zip(spectrum.as_chunks().0) {
                packing::pack(from, &mut block[index * width..][..width]);
            }
        }
        Self { polynomial_size, digits: rows.len(), width, words }
    }

    /// Bytes of a word. Eight words take this number of 64-bit words.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The packed words from the block of word `index` on, and eight words more.
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

/// V vectors modulo one prime, whose entries (v, j) are pairs of spectra: ciphertexts. Each block of eight words holds
/// the entries (0, 0), (0, 1), …, (1, 0), …, with eight words of one part and eight of the other for each.
///
/// The block may hold only a *window* of the N words. Operations then process the words of the window. So the entries
/// of a long vector can be made, multiplied and discarded window by window within a cache.
///
/// # Example
/// ```
/// use ciphermill_math::products::VectorBlock;
///
/// // A window of 8 words of one entry of 32 words.
/// let mut vectors = VectorBlock::window(32, 8, 1, 1);
/// vectors.move_to(24);
/// vectors.set(0, 0, [&[1; 32], &[2; 32]]);
/// assert_eq!(vectors.words(), 24..32);
/// ```
#[derive(Clone, Debug)]
pub struct VectorBlock {
    polynomial_size: usize,
    vectors: usize,
    columns: usize,
    window: Range<usize>,
    pub(super) words: AlignedWords,
}

impl VectorBlock {
    /// `vectors` zero vectors of `columns` entries, with all words.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, vectors: usize, columns: usize) -> Self {
        Self::window(polynomial_size, polynomial_size, vectors, columns)
    }

    /// A window of the first `size` words of zero entries.
    ///
    /// # Panics
    /// As [`zeroed`](Self::zeroed), or if `size` is not a power of two from 8 to N.
    pub fn window(polynomial_size: usize, size: usize, vectors: usize, columns: usize) -> Self {
        check_size(polynomial_size);
        check_size(size);
        assert!(size <= polynomial_size, "a window of {size} words exceeds the {polynomial_size} words of an entry");
        assert!(vectors > 0 && columns > 0, "at least one vector with one entry is needed");
        let words = AlignedWords::zeroed(size * vectors * columns * 2);
        Self { polynomial_size, vectors, columns, window: 0..size, words }
    }

    /// The vectors of all `blocks`, one after another, so that one pass over a matrix serves all of them.
    ///
    /// # Panics
    /// If `blocks` is empty, or if their N, entries or windows differ.
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

    /// Moves the window to the word `start`. The caller must write all entries again.
    ///
    /// # Panics
    /// If `start` is not a multiple of the window's size below N.
    pub fn move_to(&mut self, start: usize) {
        let size = self.window.len();
        assert!(
            start.is_multiple_of(size) && start < self.polynomial_size,
            "no window of {size} words starts at {start}"
        );
        self.window = start..start + size;
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// The number of vectors, V.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// The number of entries of a vector.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The range of words in the window.
    pub fn words(&self) -> Range<usize> {
        self.window.clone()
    }

    /// The range of blocks in the window.
    pub(super) fn blocks(&self) -> Range<usize> {
        self.window.start / LANES..self.window.end / LANES
    }

    /// Words from one block of an entry to the next.
    pub(super) fn stride(&self) -> usize {
        self.vectors * self.columns * 2 * LANES
    }

    /// The index of the first block of an entry.
    pub(super) fn start(&self, vector: usize, column: usize) -> usize {
        assert!(vector < self.vectors && column < self.columns, "entry ({vector}, {column}) does not exist");
        (vector * self.columns + column) * 2 * LANES
    }

    /// Writes the window of `parts`, canonical spectra, to entry (`vector`, `column`).
    ///
    /// # Panics
    /// If the entry does not exist or a length is not N.
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
