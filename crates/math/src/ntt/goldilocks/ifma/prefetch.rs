//! Prefetching of a key's rows while a transform computes.

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// Words of a cache line.
const LINE: usize = 8;

/// Two rows of words that products read after a transform. The passes of the transform prefetch them line by line, so
/// memory works meanwhile. Four passes over all vectors prefetch as many words of each row as the transform has.
pub(super) struct RowPrefetch {
    at: [*const u64; 2],
    step: usize,
}

impl RowPrefetch {
    /// Prefetches the rows at `rows`.
    #[inline(always)]
    pub(super) fn new(rows: [*const u64; 2]) -> RowPrefetch {
        RowPrefetch { at: rows, step: LINE }
    }

    /// Prefetches no row, but repeatedly the line at `near`, which is in use anyway.
    #[inline(always)]
    pub(super) fn none(near: *const u64) -> RowPrefetch {
        RowPrefetch { at: [near; 2], step: 0 }
    }

    /// Prefetches the share of a group of `R` vectors: R/4 lines of each row.
    #[inline(always)]
    pub(super) fn advance<const R: usize>(&mut self) {
        for _ in 0..R / 4 {
            for at in &mut self.at {
                // SAFETY: a prefetch is a hint, which reads nothing and never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
                *at = at.wrapping_add(self.step);
            }
        }
    }
}
