//! Vectors of residues in Montgomery form.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

use super::OddModulus;
use ciphermill_math::memory::AlignedWords;

/// Numbers modulo one [`OddModulus`], in Montgomery form and in an order private to its path. Wiped when dropped.
///
/// Lanes of the last group that hold no number hold some residue, 1 unless a [slice](Residues::slice) has left others there.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let both = Residues::concat(&[ring.one(ring.lanes()), ring.square(&x)]);
/// assert_eq!(both.len(), ring.lanes() + 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Residues {
    /// The modulus' [`OddModulus::id`].
    pub(super) ring: u64,
    pub(super) len: usize,
    pub(super) lanes: usize,
    /// Words of a group.
    pub(super) group_words: usize,
    pub(super) words: AlignedWords,
}

impl Residues {
    /// Room for `len` residues; the groups hold zeros, which is not a valid residue of a missing lane.
    pub(super) fn uninitialised(modulus: &OddModulus, len: usize) -> Self {
        let kernel = modulus.kernel();
        let (lanes, group_words) = (kernel.lanes(), kernel.group_words());
        let words = AlignedWords::zeroed(len.div_ceil(lanes) * group_words);
        Self { ring: modulus.id(), len, lanes, group_words, words }
    }

    /// Number of residues.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    pub(super) fn groups(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.words.chunks_exact(self.group_words)
    }

    pub(super) fn groups_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [u64]> {
        self.words.chunks_exact_mut(self.group_words)
    }

    pub(super) fn group(&self, index: usize) -> &[u64] {
        &self.words[index * self.group_words..][..self.group_words]
    }

    pub(super) fn group_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.words[index * self.group_words..][..self.group_words]
    }

    /// The residues of a range that starts at a multiple of [`OddModulus::lanes`]: how work is split among threads.
    ///
    /// # Panics
    /// If the range starts elsewhere, or leaves the vector.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        assert!(range.start.is_multiple_of(self.lanes), "a slice starts with a group");
        // Residues of the last group beyond the range keep their numbers: nothing requires 1 but products over lanes, and
        // these look at `len`.
        let first = range.start / self.lanes;
        let count = range.len().div_ceil(self.lanes);
        let mut words = AlignedWords::zeroed(count * self.group_words);
        words.copy_from_slice(&self.words[first * self.group_words..][..count * self.group_words]);
        Self { ring: self.ring, len: range.len(), lanes: self.lanes, group_words: self.group_words, words }
    }

    /// The residues of all parts in order.
    ///
    /// # Panics
    /// If there is no part, if parts belong to different moduli, or if one but the last does not end with a full group.
    pub fn concat(parts: &[Self]) -> Self {
        let first = parts.first().expect("a part");
        let mut words = AlignedWords::zeroed(parts.iter().map(|part| part.words.len()).sum());
        let (mut at, mut len) = (0, 0);
        for part in parts {
            assert_eq!(part.ring, first.ring, "residues of one modulus");
            assert!(len % first.lanes == 0, "parts end with full groups");
            words[at..at + part.words.len()].copy_from_slice(&part.words);
            at += part.words.len();
            len += part.len;
        }
        Self { ring: first.ring, len, lanes: first.lanes, group_words: first.group_words, words }
    }
}

impl Clone for Residues {
    fn clone(&self) -> Self {
        let Self { ring, len, lanes, group_words, ref words } = *self;
        Self { ring, len, lanes, group_words, words: words.clone() }
    }
}

impl Drop for Residues {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// Shows the shape only.
impl fmt::Debug for Residues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Residues").field("len", &self.len).finish_non_exhaustive()
    }
}
