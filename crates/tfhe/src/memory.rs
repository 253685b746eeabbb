//! Large buffers for spectra, and sizes that the machine cannot hold.

use std::ops::{Deref, DerefMut};

use ciphermill_math::memory::advise_huge_pages;

use crate::error::TfheError;

/// `len` elements' room, or the error that says how much `what` needs: an allocation whose size came from outside must not
/// abort the process.
pub(crate) fn try_reserve<P>(what: &'static str, len: usize) -> Result<Vec<P>, TfheError> {
    let mut storage = Vec::new();
    let needed = (len as u64).saturating_mul(size_of::<P>() as u64);
    storage.try_reserve_exact(len).map_err(|_| TfheError::Memory { what, needed })?;
    Ok(storage)
}

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
        let mut buffer = Self::over(Vec::with_capacity(len + Self::SLACK));
        buffer.grow(len);
        buffer
    }

    /// No element yet, and room for `capacity` of them. The kernel gives the memory as [`grow`](Self::grow) touches it.
    ///
    /// # Errors
    /// [`TfheError::Memory`].
    pub(crate) fn try_with_capacity(what: &'static str, capacity: usize) -> Result<Self, TfheError> {
        Ok(Self::over(try_reserve(what, capacity.saturating_add(Self::SLACK))?))
    }

    /// Elements that may lie before the first cache line's start.
    const SLACK: usize = ALIGNMENT / if size_of::<P>() < ALIGNMENT { size_of::<P>() } else { ALIGNMENT };

    fn over(mut storage: Vec<P>) -> Self {
        // A fresh allocation of this size is untouched memory of the kernel's, so the advice comes in time.
        advise_huge_pages(storage.spare_capacity_mut());
        let start = storage.as_ptr().align_offset(ALIGNMENT).min(Self::SLACK);
        storage.resize(start, P::default());
        Self { storage, start, len: 0 }
    }

    /// Makes it `len` elements long; new ones have the default value.
    ///
    /// # Panics
    /// Beyond the capacity: the buffer would move, and lose its alignment.
    pub(crate) fn grow(&mut self, len: usize) {
        let end = self.start + len;
        assert!(end <= self.storage.capacity(), "{len} elements are beyond the buffer's capacity");
        self.storage.resize(end, P::default());
        self.len = len;
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
