//! Memory that starts on a cache line, and huge pages for large buffers.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Words per cache line.
const LINE_WORDS: usize = 8;

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
        let mut words = vec![0; len + LINE_WORDS];
        advise_huge_pages(&mut words);
        // Lines are 64 bytes; the vector is never resized, so that its words stay where they are.
        let start = words.as_ptr().align_offset(64);
        assert!(start <= LINE_WORDS, "words are aligned to their size");
        Self { words, start, len }
    }
}

/// Asks for huge pages for memory that was not touched yet, where there is enough of it: faults for small ones can cost
/// more than what is computed in them. It is advice only.
#[cfg(target_os = "linux")]
pub fn advise_huge_pages<T>(memory: &mut [T]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    if bytes < MIN_HUGE_BYTES || skip >= bytes {
        return;
    }
    let len = (bytes - skip) & !(PAGE - 1);
    // SAFETY: the range lies within `memory`, which this call may only back by other pages; contents are unaffected.
    // A kernel without huge pages refuses, and nothing is lost.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages<T>(_memory: &mut [T]) {}

/// One huge page of x86-64: below it none can fit.
#[cfg(target_os = "linux")]
const MIN_HUGE_BYTES: usize = 2 << 20;

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
