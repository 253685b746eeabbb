//! Large buffers for spectra.

use std::ops::{Deref, DerefMut};

/// A zeroed buffer that starts on a cache line and asks for huge pages.
///
/// A bootstrapping key is read once per bootstrap from end to end: 4 KiB pages would cost a page walk every 64 cache
/// lines, and vectors that straddle cache lines would cost two accesses each.
pub(crate) struct AlignedBuffer<P> {
    storage: Vec<P>,
    start: usize,
    len: usize,
}

const ALIGNMENT: usize = 64;

impl<P: Copy + Default> AlignedBuffer<P> {
    /// `len` elements, all of the default value.
    pub(crate) fn zeroed(len: usize) -> Self {
        let slack = ALIGNMENT / size_of::<P>().clamp(1, ALIGNMENT);
        let mut storage: Vec<P> = Vec::with_capacity(len + slack);
        // A fresh allocation of this size is untouched memory of the kernel's, so the advice comes in time.
        advise_huge_pages(storage.spare_capacity_mut());
        storage.resize(len + slack, P::default());
        let start = storage.as_ptr().align_offset(ALIGNMENT).min(slack);
        Self { storage, start, len }
    }
}

impl<P> Deref for AlignedBuffer<P> {
    type Target = [P];

    fn deref(&self) -> &[P] {
        &self.storage[self.start..self.start + self.len]
    }
}

impl<P> DerefMut for AlignedBuffer<P> {
    fn deref_mut(&mut self) -> &mut [P] {
        &mut self.storage[self.start..self.start + self.len]
    }
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<P>(memory: &mut [std::mem::MaybeUninit<P>]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    if bytes < 512 * PAGE || skip >= bytes {
        return;
    }
    let len = (bytes - skip) & !(PAGE - 1);
    // SAFETY: the range lies within `memory`, which this call may only back by other pages; contents are unaffected.
    // A kernel without huge pages refuses, and nothing is lost.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<P>(_memory: &mut [std::mem::MaybeUninit<P>]) {}

#[cfg(test)]
mod tests {
    use super::AlignedBuffer;

    #[test]
    fn buffers_start_on_a_cache_line_and_hold_zeros() {
        for len in [0usize, 1, 7, 8, 1000, 1 << 19] {
            let mut words = AlignedBuffer::<u64>::zeroed(len);
            assert_eq!((words.as_ptr() as usize % 64, words.len()), (0, len));
            assert!(words.iter().all(|&w| w == 0));
            words.fill(1);
            let halves = AlignedBuffer::<u32>::zeroed(len);
            assert_eq!((halves.as_ptr() as usize % 64, halves.len()), (0, len));
        }
    }
}
