//! Bringing a key nearer while a transform computes.

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// Words of a cache line.
const LINE: usize = 8;

/// Two rows of words that products will read after a transform; its passes ask for them line by line, so that memory
/// works meanwhile. Four passes over all vectors ask for as many words of each row as the transform has.
pub(super) struct Ahead {
    at: [*const u64; 2],
    step: usize,
}

impl Ahead {
    /// The rows at `rows`.
    #[inline(always)]
    pub(super) fn of(rows: [*const u64; 2]) -> Ahead {
        Ahead { at: rows, step: LINE }
    }

    /// No rows: the line at `near`, which is in use anyway, over and over.
    #[inline(always)]
    pub(super) fn none(near: *const u64) -> Ahead {
        Ahead { at: [near; 2], step: 0 }
    }

    /// Asks for the lines that a group of `R` vectors stands for: R/4 of each row.
    #[inline(always)]
    pub(super) fn ask<const R: usize>(&mut self) {
        for _ in 0..R / 4 {
            for at in &mut self.at {
                // SAFETY: a hint, which reads nothing and never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
                *at = at.wrapping_add(self.step);
            }
        }
    }
}
