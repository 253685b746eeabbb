//! Memory that starts on a cache line.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Words per cache line, and per vector of AVX-512.
pub(super) const LANES: usize = 8;

/// Zeroed words that start on a cache line.
///
/// They come from the allocator as zeros: memory that the system gives out fresh is not touched before it is written.
pub struct AlignedWords {
    /// One line longer than needed.
    words: Vec<u64>,
    start: usize,
    len: usize,
}

impl AlignedWords {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let words = vec![0; len + LANES];
        // Lines are 64 bytes; the vector is never resized, so that its words stay where they are.
        let start = words.as_ptr().align_offset(64);
        assert!(start <= LANES, "words are aligned to their size");
        Self { words, start, len }
    }
}

impl Clone for AlignedWords {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for AlignedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedWords").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Deref for AlignedWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words[self.start..self.start + self.len]
    }
}
