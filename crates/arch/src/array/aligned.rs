//! Word memories aligned to cache lines, so that a vector of 16 words or more shares no line with other data.

use std::ops::{Deref, DerefMut};

const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = size_of::<u32>();

/// A zero-initialised word memory that starts at a cache line.
#[derive(Debug)]
pub(super) struct AlignedWords {
    words: Box<[u32]>,
    /// Words before the first cache line.
    before: usize,
    len: usize,
}

impl AlignedWords {
    pub(super) fn new(len: usize) -> Self {
        let words = vec![0; len + LINE_BYTES / WORD_BYTES - 1].into_boxed_slice();
        // If the alignment cannot be computed, the memory is unaligned but correct.
        let before = words.as_ptr().align_offset(LINE_BYTES).min(words.len() - len);
        Self { words, before, len }
    }
}

impl Deref for AlignedWords {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        &self.words[self.before..self.before + self.len]
    }
}

impl DerefMut for AlignedWords {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.words[self.before..self.before + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_at_a_line() {
        for len in [0, 1, 15, 16, 17, 1000, 100_000] {
            let mut words = AlignedWords::new(len);
            assert_eq!((words.len(), words.as_ptr().addr() % LINE_BYTES), (len, 0));
            words.fill(7);
            assert!(words.iter().all(|word| *word == 7));
        }
    }
}
