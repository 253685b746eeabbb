//! Memory that starts on a cache line, and huge pages for large buffers.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Words per cache line.
const LINE_WORDS: usize = 8;

/// Zeroed words that start on a cache line.
///
/// The allocator provides the zeros: fresh memory of the system is not touched before it is written. The library
/// type of `aligned_vec` writes every element of a new vector, before huge pages can be advised.
///
/// # Example
/// ```
/// use ciphermill_math::memory::AlignedWords;
///
/// let mut words = AlignedWords::zeroed(100);
/// words[99] = 7;
/// assert_eq!(words.as_ptr().align_offset(64), 0);
/// assert_eq!(words.iter().sum::<u64>(), 7);
/// ```
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
        // Lines are 64 bytes. The vector is never resized, so its words stay at their addresses.
        let start = words.as_ptr().align_offset(64);
        assert!(start <= LINE_WORDS, "words are aligned to their size");
        Self { words, start, len }
    }
}

/// Requests huge pages for untouched memory of at least one huge page, because page faults can cost more than the
/// computation. The request is advice only.
///
/// # Example
/// ```
/// let mut table = vec![0u64; 1 << 20];
/// ciphermill_math::memory::advise_huge_pages(&mut table);
/// assert!(table.iter().all(|&word| word == 0));
/// ```
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
    // SAFETY: the range lies within `memory`. The call may only change the pages behind it; contents are unaffected.
    // A kernel without huge pages refuses the request, which has no effect then.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

/// Does nothing on other systems.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages<T>(_memory: &mut [T]) {}

/// One huge page of x86-64; smaller memory cannot hold one.
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
