//! The transforms with AVX-512 IFMA.

use std::mem::MaybeUninit;

use super::avx512::Avx512;
use super::kernel;
use super::sources::{Coefficients, Known, Words};
use crate::CoefficientSource;

mod accumulate;
mod block;
mod pair;
mod tables;

pub(super) use accumulate::multiply_accumulate;
pub(super) use tables::Tables;

use tables::MAX_BLOCK;

/// Room for the pairs of one block: 64 KB of stack.
#[repr(align(64))]
struct Pairs(MaybeUninit<[u64; 2 * MAX_BLOCK]>);

impl Pairs {
    #[inline(always)]
    fn new() -> Pairs {
        Pairs(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_mut_ptr().cast()
    }
}

/// Forward transform of the words at `data` in place, or of a source that is not in memory.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA. `tables` are those of N; N words at `out` are writable. If there is no `source`, they
/// hold the coefficients.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
pub(super) unsafe fn forward(tables: &Tables, source: Option<&dyn CoefficientSource<u64>>, out: *mut u64) {
    let n = tables.polynomial_size;
    // SAFETY: the caller's contract; a source that describes itself has N coefficients.
    unsafe {
        let Some(&first) = tables.word_passes.first() else {
            match Known::of(source, out) {
                Known::Words(c) => forward_blocks(tables, c, out),
                Known::Digits(c) => forward_blocks(tables, c, out),
                Known::Digits32(c) => forward_blocks(tables, c, out),
                Known::ResidueDigits(c) => forward_blocks(tables, c, out),
                Known::Opaque(source) => {
                    source.read(0, std::slice::from_raw_parts_mut(out, n));
                    forward_blocks(tables, Words(out), out);
                }
            }
            return;
        };
        kernel::forward_first::<Avx512>(n, first, source, out);
        forward_blocks(tables, Words(out), out);
    }
}

/// The passes after the first over words, block by block.
///
/// # Safety
/// That of [`forward`]; the coefficients exist.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
unsafe fn forward_blocks<C: Coefficients>(tables: &Tables, source: C, out: *mut u64) {
    let mut pairs = Pairs::new();
    let pairs = pairs.as_mut_ptr();
    let size = tables.block_size();
    let blocks = tables.polynomial_size / size;
    // SAFETY: the blocks are disjoint parts of `out`.
    unsafe {
        for i in 0..blocks {
            if tables.word_passes == [3, 2] && i % 4 == 0 {
                kernel::pow2_pass::<Avx512, true>(out.add(i * size), 4 * size, i / 4);
            }
            let of = (&tables.passes[..], &tables.forward, i);
            block::forward(source, i * size, size, of, pairs, out.add(i * size));
        }
    }
}

/// Inverse transform of the N words at `spectrum`, which are lost, to `coefficients`, which may be the same.
///
/// # Safety
/// As for [`forward`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
pub(super) unsafe fn inverse(tables: &Tables, spectrum: *mut u64, coefficients: *mut u64) {
    let mut pairs = Pairs::new();
    let pairs = pairs.as_mut_ptr();
    let size = tables.block_size();
    let blocks = tables.polynomial_size / size;
    // SAFETY: as in `forward_blocks`.
    unsafe {
        let out = if tables.word_passes.is_empty() { coefficients } else { spectrum };
        for i in 0..blocks {
            let of = (&tables.passes[..], &tables.inverse, i);
            block::inverse(spectrum.add(i * size), size, of, pairs, out.add(i * size));
            if tables.word_passes == [3, 2] && i % 4 == 3 {
                kernel::pow2_pass::<Avx512, false>(out.add((i - 3) * size), 4 * size, i / 4);
            }
        }
        if let Some(&first) = tables.word_passes.first() {
            kernel::inverse_last::<Avx512>(tables.polynomial_size, first, 0, spectrum, coefficients);
        }
    }
}
