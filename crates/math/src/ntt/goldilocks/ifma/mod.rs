//! The Goldilocks transforms with AVX-512 IFMA: residues as pairs of signed words, see [`pair`] for their ranges.
//!
//! Blocks of at most [`MAX_BLOCK`] words are transformed by way of pairs that stay in the nearest caches. The first
//! pass turns words into pairs. The last pass works on tiles of 8 × 8 and turns pairs into words. Larger transforms
//! first go through two, three or five levels of words by shifts ([`kernels`]); as pairs they would exceed the second
//! cache.
//!
//! # Floor
//!
//! Operations on eight residues, of which two run per cycle (one shift, one shuffle):
//!
//! | step | operations per vector |
//! | --- | --- |
//! | 8 points | 9: sums 6, two shifts by 2^24 of 8 operations 2, carry and offset of part 0 1 |
//! | 4 points | 6: sums 4, carry and offset 2 |
//! | product by 4 numbers, for 7 of 8 parts or 3 of 4 | 11: 8 multiply-adds, 2 shifts, 1 difference |
//! | product by 2 numbers, in tiles | 13 |
//! | 8 × 8 transposition of pairs | 6 |
//! | words to pairs, pairs to lazy words, canonical | 2, 11, 2 |
//! | three levels of words | 20 |
//!
//! A pass of three levels thus takes 19 operations (9 + 7/8·11), and the tiles forward 38. N = 4096 has three passes,
//! the first by shifts while converting (12). Measured on one core of a shared Xeon at 3.57 GHz with AVX-512 IFMA on
//! two ports:
//!
//! | N | operations per vector | cycles per vector | floor | forward | inverse | words alone |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 4096 | 88 | 44 | 6.3 µs | 6.8 µs (92 % of the floor) | 6.9 µs | 11.7 µs |
//! | 16384 | 110 | 55 | 31.5 µs | 33.3 µs (95 %) | 34.7 µs | 50.8 µs |
//!
//! An external product at N = 16384 consists of ten transforms of digits and their 20 products with rows from memory.
//! It takes 550 µs; the transforms alone take 365. With all products after all transforms, column by column, it takes
//! 610. The rest is the memory, shared with other users when measured: 2.6 MB at 15.8 GB/s are 166 µs.
//!
//! # Choices
//!
//! - Pairs of 52 bits. 24-bit limbs in 32-bit lanes, where 2^24 is also a change of names, need 6.8 operations for 8
//!   points but 22 for a product.
//! - Radix 8. With products at 11 and shifts at 8 operations, radix 16 and 32 save 3 of 112.
//! - Words between the first pass and the blocks. Pairs there save 11 operations but cost 640 KB more second-cache
//!   traffic at N = 16384.
//! - One factor per residue in tiles. Four numbers each save 1.8 operations and double the 230 KB of factors at
//!   N = 16384.

use std::mem::MaybeUninit;

use super::avx512::Avx512;
use super::kernels;
use super::sources::{Coefficients, Known, Words};
use crate::CoefficientSource;

mod accumulate;
mod block;
mod pair;
mod prefetch;
mod tables;

pub(super) use accumulate::multiply_accumulate;
pub(super) use tables::Tables;

use accumulate::multiply_accumulate as accumulate;
use prefetch::RowPrefetch;
use tables::MAX_BLOCK;

/// Words of the spectra that are transformed before their products are added: 512 KB, or 1.5 MB with two rows each.
const GROUP_WORDS: usize = 1 << 16;

/// Space for the pairs of one block: 64 KB of stack.
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
/// The CPU has AVX-512 F and IFMA. `tables` are those of N; N words at `out` are writable. If there is no `source`,
/// they hold the coefficients.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
pub(super) unsafe fn forward(tables: &Tables, source: Option<&dyn CoefficientSource<u64>>, out: *mut u64) {
    // SAFETY: the caller's contract.
    unsafe { forward_with(tables, source, out, &mut RowPrefetch::none(out)) }
}

/// [`forward`], which also prefetches the rows that are needed next.
///
/// # Safety
/// As for [`forward`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
unsafe fn forward_with(
    tables: &Tables,
    source: Option<&dyn CoefficientSource<u64>>,
    out: *mut u64,
    prefetch: &mut RowPrefetch,
) {
    let n = tables.polynomial_size;
    // SAFETY: the caller's contract; a source that describes itself has N coefficients.
    unsafe {
        let Some(&first) = tables.word_passes.first() else {
            match Known::of(source, n, out) {
                Known::Words(c) => forward_blocks(tables, c, out, prefetch),
                Known::Digits(c) => forward_blocks(tables, c, out, prefetch),
                Known::Digits32(c) => forward_blocks(tables, c, out, prefetch),
                Known::ResidueDigits(c) => forward_blocks(tables, c, out, prefetch),
                Known::Opaque(source) => {
                    source.read(0, std::slice::from_raw_parts_mut(out, n));
                    forward_blocks(tables, Words(out), out, prefetch);
                }
            }
            return;
        };
        kernels::forward_first::<Avx512>(n, first, source, out);
        forward_blocks(tables, Words(out), out, prefetch);
    }
}

/// The passes after the first pass over words, block by block.
///
/// # Safety
/// As for [`forward`]; the coefficients exist.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
unsafe fn forward_blocks<C: Coefficients>(tables: &Tables, source: C, out: *mut u64, prefetch: &mut RowPrefetch) {
    let mut pairs = Pairs::new();
    let pairs = pairs.as_mut_ptr();
    let size = tables.block_size();
    let blocks = tables.polynomial_size / size;
    // SAFETY: the blocks are disjoint parts of `out`.
    unsafe {
        for i in 0..blocks {
            if tables.word_passes == [3, 2] && i % 4 == 0 {
                kernels::pow2_pass::<Avx512, true>(out.add(i * size), 4 * size, i / 4);
            }
            let of = (&tables.passes[..], &tables.forward, i);
            block::forward(source, i * size, size, of, pairs, out.add(i * size), prefetch);
        }
    }
}

/// Inverse transform of the N words at `spectrum`, which are lost, to `coefficients`; both may be the same memory.
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
                kernels::pow2_pass::<Avx512, false>(out.add((i - 3) * size), 4 * size, i / 4);
            }
        }
        if let Some(&first) = tables.word_passes.first() {
            kernels::inverse_last::<Avx512>(tables.polynomial_size, first, 0, spectrum, coefficients);
        }
    }
}

/// Transforms every source and adds the products with two columns of as many rows to two accumulators.
///
/// A few sources are processed at a time. So their spectra, the accumulators and the rows, which are prefetched during
/// the transforms, meet in the second cache. Otherwise rows from memory would take longer than all of the products.
///
/// # Safety
/// As for [`forward`], for every source. Each of `accs` has N words, each column has one row of N words per source, and
/// `scratch` has one such row.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
pub(super) unsafe fn forward_multiply_accumulate(
    tables: &Tables,
    sources: &[&dyn CoefficientSource<u64>],
    columns: [*const u64; 2],
    accs: [*mut u64; 2],
    scratch: *mut u64,
) {
    let n = tables.polynomial_size;
    let group = (GROUP_WORDS / n).max(1);
    for (first, sources) in (0..).step_by(group).zip(sources.chunks(group)) {
        // SAFETY: the caller's contract.
        unsafe {
            let rows = columns.map(|column| column.add(first * n));
            for (i, &source) in sources.iter().enumerate() {
                let mut prefetch = RowPrefetch::new(rows.map(|row| row.add(i * n)));
                forward_with(tables, Some(source), scratch.add(i * n), &mut prefetch);
            }
            accumulate(n, sources.len(), accs, scratch, rows);
        }
    }
}
