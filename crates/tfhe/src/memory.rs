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
/// lines, and vectors that straddle cache lines would cost two accesses each. The memory comes zeroed from the system, which
/// supplies each page when it is first written. Clearing pages costs more than half of loading a key, so the threads that
/// fill the buffer should be the first to write to it.
pub(crate) struct AlignedBuffer<P> {
    storage: Vec<P>,
    start: usize,
    len: usize,
}

const ALIGNMENT: usize = 64;

impl<P: Copy + Default> AlignedBuffer<P> {
    /// `len` elements, all of the default value.
    pub(crate) fn zeroed(len: usize) -> Self {
        let mut storage = vec![P::default(); len + Self::SLACK];
        // A fresh allocation of this size is untouched memory, so the advice comes in time.
        advise_huge_pages(&mut storage);
        let start = storage.as_ptr().align_offset(ALIGNMENT).min(Self::SLACK);
        Self { storage, start, len }
    }

    /// An empty buffer with room for `capacity` elements. Memory is used as [`grow`](Self::grow)n parts are written.
    ///
    /// # Errors
    /// [`TfheError::Memory`].
    pub(crate) fn try_with_capacity(what: &'static str, capacity: usize) -> Result<Self, TfheError> {
        // Only this way of asking can fail; what it reserves is returned untouched.
        drop(try_reserve::<P>(what, capacity.saturating_add(Self::SLACK))?);
        Ok(Self { len: 0, ..Self::zeroed(capacity) })
    }

    /// Elements that may lie before the start of the first cache line.
    const SLACK: usize = ALIGNMENT / if size_of::<P>() < ALIGNMENT { size_of::<P>() } else { ALIGNMENT };

    /// Makes it `len` elements long; new ones have the default value.
    ///
    /// # Panics
    /// If `len` exceeds the capacity.
    pub(crate) fn grow(&mut self, len: usize) {
        assert!(self.start + len <= self.storage.len(), "{len} elements are beyond the buffer's capacity");
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
