//! The transforms with AVX-512 IFMA: residues as pairs of signed words, see [`pair`] for their ranges.
//!
//! Blocks of at most [`MAX_BLOCK`] words are transformed by way of pairs that stay in the nearest caches: words to pairs in
//! the first pass, pairs to words in the last, which works on tiles of 8 × 8. Larger transforms first go through two,
//! three or five levels of words by shifts ([`kernel`]); as pairs they would not fit the second cache.
//!
//! # Floor
//!
//! Operations on eight residues, of which two run per cycle (one shift, one shuffle):
//!
//! | | per vector |
//! | --- | --- |
//! | 8 points | 9: sums 6, two shifts by 2^24 of 8 operations 2, carry and offset of part 0 1 |
//! | 4 points | 6: sums 4, carry and offset 2 |
//! | product by 4 numbers, for 7 of 8 parts or 3 of 4 | 11: 8 multiply-adds, 2 shifts, 1 difference |
//! | product by 2 numbers, in tiles | 13 |
//! | 8 × 8 transposition of pairs | 6 |
//! | words to pairs, pairs to lazy words, canonical | 2, 11, 2 |
//! | three levels of words | 20 |
//!
//! A pass of three levels is thus 19 (9 + 7/8·11), the tiles forward 38; at N = 4096 with three passes, the first by shifts
//! while converting (12), 88 operations or 44 cycles, at N = 16384 110 operations or 55 cycles: 6.3 and 31.5 µs at 3.57 GHz.
//! Measured on one core of a shared Xeon with AVX-512 IFMA on two ports: 6.8 and 33.3 µs forward (92 and 95 % of
//! the floor), 6.9 and 34.7 inverse; words alone take 11.7 and 50.8.
//!
//! # Notes
//!
//! - Counted and not made: 24-bit limbs in 32-bit lanes, where 2^24 is a change of names as well: 6.8 for 8 points, but
//!   22 for a product. Radix 16 and 32: with products at 11 and shifts at 8, they save 3 of 112. Pairs between the words'
//!   pass and the blocks: 11 operations fewer, 640 KB of second-cache traffic more at N = 16384.
//! - The factors of tiles are one per residue; four numbers each would save 1.8 operations and double the 230 KB that
//!   they take at N = 16384.
//! - Ten transforms of digits and their 20 products with rows from memory at N = 16384: 550 µs, of which the transforms
//!   alone are 365; 610 if all products follow all transforms, column by column. The rest is the memory, shared with
//!   others when measured: 2.6 MB at 15.8 GB/s are 166 µs.

use std::mem::MaybeUninit;

use super::avx512::Avx512;
use super::kernel;
use super::sources::{Coefficients, Known, Words};
use crate::CoefficientSource;

mod accumulate;
mod ahead;
mod block;
mod pair;
mod tables;

pub(super) use accumulate::multiply_accumulate;
pub(super) use tables::Tables;

use accumulate::multiply_accumulate as accumulate;
use ahead::Ahead;
use tables::MAX_BLOCK;

/// Words of the spectra that are transformed before their products are added: 512 KB, with two rows each 1.5 MB.
const GROUP_WORDS: usize = 1 << 16;

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
    // SAFETY: the caller's contract.
    unsafe { forward_with(tables, source, out, &mut Ahead::none(out)) }
}

/// [`forward`], asking for rows that will be needed next.
///
/// # Safety
/// That of [`forward`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
unsafe fn forward_with(tables: &Tables, source: Option<&dyn CoefficientSource<u64>>, out: *mut u64, ahead: &mut Ahead) {
    let n = tables.polynomial_size;
    // SAFETY: the caller's contract; a source that describes itself has N coefficients.
    unsafe {
        let Some(&first) = tables.word_passes.first() else {
            match Known::of(source, n, out) {
                Known::Words(c) => forward_blocks(tables, c, out, ahead),
                Known::Digits(c) => forward_blocks(tables, c, out, ahead),
                Known::Digits32(c) => forward_blocks(tables, c, out, ahead),
                Known::ResidueDigits(c) => forward_blocks(tables, c, out, ahead),
                Known::Opaque(source) => {
                    source.read(0, std::slice::from_raw_parts_mut(out, n));
                    forward_blocks(tables, Words(out), out, ahead);
                }
            }
            return;
        };
        kernel::forward_first::<Avx512>(n, first, source, out);
        forward_blocks(tables, Words(out), out, ahead);
    }
}

/// The passes after the first over words, block by block.
///
/// # Safety
/// That of [`forward`]; the coefficients exist.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma")]
unsafe fn forward_blocks<C: Coefficients>(tables: &Tables, source: C, out: *mut u64, ahead: &mut Ahead) {
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
            block::forward(source, i * size, size, of, pairs, out.add(i * size), ahead);
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

/// Transforms every source and adds the products with two columns of as many rows to two accumulators.
///
/// A few sources at a time, so that their spectra, the accumulators and the rows, which are asked for during the
/// transforms, meet in the second cache. Rows from memory would otherwise take longer than all of the products.
///
/// # Safety
/// That of [`forward`] for every source; `accs` are N words each, the columns one row of N words per source, `scratch`
/// is one.
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
                let mut ahead = Ahead::of(rows.map(|row| row.add(i * n)));
                forward_with(tables, Some(source), scratch.add(i * n), &mut ahead);
            }
            accumulate(n, sources.len(), accs, scratch, rows);
        }
    }
}
