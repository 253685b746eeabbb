//! A matrix of spectra in the order of a product's reads.

use std::ops::Range;

use super::LANES;
use super::orbit::Rotation;
use super::{check_size, packing};
use crate::memory::AlignedWords;
use crate::{Isa, Modulus};

/// A matrix of `rows` × `columns` spectra modulo one prime.
///
/// Each block of eight words has groups of up to four rows. A group holds, column by column, the eight words of each of
/// its rows. A product reads the matrix once, from one end to the other.
///
/// Memory bounds a product. So words may be *packed* to the number of bytes of the modulus: eight words then take one
/// 64-bit word per byte.
///
/// # Example
/// ```
/// use ciphermill_math::products::{MatrixBlock, Rotation};
///
/// // Two entries of one row, written together.
/// let mut matrix = MatrixBlock::zeroed(8, 1, 2);
/// let none = Rotation::none(8);
/// matrix.part().set(0, &[(&[1; 8][..], none), (&[2; 8][..], none)]);
/// assert_eq!((matrix.rows(), matrix.columns(), matrix.entry(1)), (1, 2, (0, 1)));
/// ```
#[derive(Clone, Debug)]
pub struct MatrixBlock {
    polynomial_size: usize,
    rows: usize,
    columns: usize,
    /// Bytes of a word.
    width: usize,
    isa: Isa,
    words: AlignedWords,
}

impl MatrixBlock {
    /// A zero matrix, not packed. Fresh pages of memory are not touched.
    ///
    /// # Panics
    /// If N is not a power of two from 8 on, or a count is 0.
    pub fn zeroed(polynomial_size: usize, rows: usize, columns: usize) -> Self {
        Self::with_width(polynomial_size, rows, columns, size_of::<u64>(), Isa::Portable)
    }

    /// A zero matrix, packed for residues of `modulus`. `isa` packs the words that are written.
    ///
    /// # Panics
    /// As [`zeroed`](Self::zeroed).
    pub(super) fn packed(modulus: Modulus, isa: Isa, polynomial_size: usize, rows: usize, columns: usize) -> Self {
        Self::with_width(polynomial_size, rows, columns, modulus.bits().div_ceil(8) as usize, isa)
    }

    fn with_width(polynomial_size: usize, rows: usize, columns: usize, width: usize, isa: Isa) -> Self {
        check_size(polynomial_size);
        assert!(rows > 0 && columns > 0, "a matrix needs at least one row and one column");
        // Kernels read eight words from the start of any packed block.
        let words = polynomial_size / LANES * rows * columns * width + LANES;
        Self { polynomial_size, rows, columns, width, isa, words: AlignedWords::zeroed(words) }
    }

    /// The matrix of the spectra that `entry` returns for each (row, column), called in the order of
    /// [`entry`](Self::entry).
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

    /// Bytes of a word. Eight words of an entry take this number of 64-bit words.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a group ends before row `row`: kernels write whole groups.
    pub(super) fn is_end_of_group(&self, row: usize) -> bool {
        row == self.rows || row < self.rows && row.is_multiple_of(GROUP)
    }

    /// The entries, block after block, eight packed words each, and eight words more.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// (row, column) of the entry at `position` < rows·columns of a block.
    pub fn entry(&self, position: usize) -> (usize, usize) {
        assert!(position < self.rows * self.columns, "position {position} of {}", self.rows * self.columns);
        let group = position / (GROUP * self.columns);
        let size = group_size(self.rows, group * GROUP);
        let place = position - group * GROUP * self.columns;
        (group * GROUP + place % size, place / size)
    }

    /// The whole matrix, for writing.
    pub fn part(&mut self) -> MatrixPart<'_> {
        self.parts(1).pop().expect("one part")
    }

    /// The matrix divided into at most `count` parts with nearly equal numbers of blocks. Threads that write entries
    /// together write one part each.
    pub fn parts(&mut self, count: usize) -> Vec<MatrixPart<'_>> {
        let (entries, blocks, width, isa) =
            (self.rows * self.columns, self.polynomial_size / LANES, self.width, self.isa);
        let size = blocks.div_ceil(count.clamp(1, blocks));
        let chunks = self.words[..blocks * entries * width].chunks_mut(size * entries * width).enumerate();
        let range = |i: usize| i * size..((i + 1) * size).min(blocks);
        chunks.map(|(i, words)| MatrixPart { entries, blocks: range(i), width, isa, words }).collect()
    }
}

/// The rows of a matrix that a product processes together. Four rows by two parts by two halves of a product are 16
/// sums.
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
    width: usize,
    isa: Isa,
    words: &'a mut [u64],
}

impl MatrixPart<'_> {
    /// Writes the rotated spectra to the entries at `position`, `position` + 1, …, for the blocks of this part. Several
    /// spectra at once use memory better, because each block receives them next to each other.
    ///
    /// # Panics
    /// If the positions do not exist, or if a spectrum's length is not N or does not suit its rotation.
    pub fn set(&mut self, position: usize, spectra: &[(&[u64], Rotation)]) {
        assert!(position + spectra.len() <= self.entries, "position {} of {}", position + spectra.len(), self.entries);
        for (spectrum, rotation) in spectra {
            assert!(spectrum.len() >= self.blocks.end * LANES, "length of a spectrum");
            rotation.check(spectrum.len());
        }
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Avx512 && packing::has_vbmi() {
            // SAFETY: the CPU has the features.
            return unsafe { self.set_avx512(position, spectra) };
        }
        self.set_with(position, spectra, packing::pack);
    }

    #[inline(always)]
    fn set_with(&mut self, position: usize, spectra: &[(&[u64], Rotation)], pack: impl Fn(&[u64; LANES], &mut [u64])) {
        let width = self.width;
        for (block, words) in self.blocks.clone().zip(self.words.chunks_exact_mut(self.entries * width)) {
            let words = words[position * width..].chunks_exact_mut(width);
            for (to, (spectrum, rotation)) in words.zip(spectra) {
                pack(&rotation.load(spectrum, block * LANES), to);
            }
        }
    }

    /// # Safety
    /// The CPU has AVX-512 F, BW and VBMI.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    unsafe fn set_avx512(&mut self, position: usize, spectra: &[(&[u64], Rotation)]) {
        let packing = packing::Packing::new(self.width);
        // SAFETY: entries have `width` words.
        self.set_with(position, spectra, |words, out| unsafe { packing.pack(words, out) });
    }
}
