//! Products of spectra with AVX-512 IFMA, p < 2^50. As in `pointwise/ifma.rs`, lower and upper halves of products are
//! summed separately and reduced once for each word of a result.
//!
//! A sum of up to [`MAX_TERMS`] = 4095 products needs no reduction on the way. Beyond `max_terms` products (15 for
//! primes of 50 bits, 4095 for 46 bits) the reduction at the end is the longer one.

use std::arch::x86_64::*;
use std::ops::Range;

use super::matrix::{GROUP, group_size};
use super::orbit::Rotation;
use super::packing::Unpacking;
use super::{KeyBlock, LANES, MatrixBlock, Output, SumPart, VectorBlock};
use crate::pointwise::ifma::{Constants, MAX_TERMS, Reduction};

/// The digits of a key, if fewer than this, and a head are summed without a reduction.
pub(super) const MAX_DIGITS: usize = MAX_TERMS;

/// Words from the matrix entries in work to those that are fetched: 8 KiB. The fetches of the hardware end with a page of 4
/// KiB, and reach two thirds of the speed of memory here.
const AHEAD: usize = 1024;

/// Lower and upper halves of a sum of products.
type Sum = [__m512i; 2];

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_product([low, high]: &mut Sum, l: __m512i, r: __m512i) {
    *low = _mm512_madd52lo_epu64(*low, l, r);
    *high = _mm512_madd52hi_epu64(*high, l, r);
}

/// Eight words of a rotated spectrum: the words at `at` in the lanes of `mask`, and those `sequence` words before in
/// the other lanes.
///
/// # Safety
/// The CPU has AVX-512; the selected words lie in the spectrum.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load<const WRAPS: bool>(spectrum: *const u64, at: usize, mask: __mmask8, sequence: usize) -> __m512i {
    let at = spectrum.wrapping_add(at);
    // SAFETY: the caller's contract; lanes outside a mask are not read.
    unsafe {
        if WRAPS {
            let head = _mm512_maskz_loadu_epi64(mask, at.cast());
            _mm512_mask_loadu_epi64(head, !mask, at.wrapping_sub(sequence).cast())
        } else {
            _mm512_loadu_si512(at.cast())
        }
    }
}

/// The operands common to all blocks of one key switch.
struct KeyProducts<'a> {
    reduction: Reduction,
    digits: &'a [&'a [u64]],
    head: Option<(*const u64, __m512i)>,
    key: *const u64,
    unpacking: Unpacking,
    out: [*mut u64; 2],
    /// Words from one block of a result to the next.
    stride: usize,
    /// The computed words.
    window: Range<usize>,
    sequence: usize,
    accumulate: bool,
}

impl KeyProducts<'_> {
    /// The blocks of words `from` … `to` of the result, within the window. They are read `shift` words further on. D is
    /// the number of digits, or 0 for any number.
    ///
    /// # Safety
    /// The CPU has the features, and all words lie in the slices: with `WRAPS` the words that `mask` selects, and the
    /// other ones one sequence before.
    // A separate function, to keep its values in registers.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
    unsafe fn blocks<const D: usize, const WRAPS: bool, const MANY: bool>(
        &self,
        from: usize,
        to: usize,
        shift: usize,
        mask: __mmask8,
    ) {
        let (zero, reduction, unpacking, sequence) =
            (_mm512_setzero_si512(), self.reduction, self.unpacking, self.sequence);
        let (from, to) = (from.max(self.window.start), to.min(self.window.end));
        let first = from.wrapping_sub(self.window.start) / LANES * self.stride;
        let mut out = self.out.map(|out| out.wrapping_add(first));
        let count = if D == 0 { self.digits.len() } else { D };
        let mut key = self.key.wrapping_add(2 * count * (from / LANES * unpacking.width));
        for index in (from..to).step_by(LANES) {
            let at = index.wrapping_add(shift);
            // SAFETY: the caller's contract.
            unsafe {
                let mut sums: [Sum; 2] = [[zero; 2]; 2];
                if self.accumulate {
                    sums = out.map(|out| [_mm512_loadu_si512(out.cast()), zero]);
                }
                if let Some((head, factor)) = self.head {
                    add_product(&mut sums[0], load::<WRAPS>(head, at, mask, sequence), factor);
                }
                for d in 0..count {
                    let digit = load::<WRAPS>(self.digits.get_unchecked(d).as_ptr(), at, mask, sequence);
                    for sum in &mut sums {
                        add_product(sum, digit, unpacking.load(key));
                        key = key.add(unpacking.width);
                    }
                }
                for (out, [low, high]) in out.iter_mut().zip(sums) {
                    _mm512_storeu_si512(out.cast(), reduction.reduce::<MANY>(low, high));
                    *out = out.wrapping_add(self.stride);
                }
            }
        }
    }

    /// All blocks.
    ///
    /// # Safety
    /// The CPU has the features; all spectra have `n` words, and the rotation is for `n` words.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
    unsafe fn run<const D: usize, const MANY: bool>(&self, n: usize, rotation: &Rotation) {
        let sequence = self.sequence;
        for start in (0..n).step_by(sequence) {
            let source = if rotation.swap { n - sequence - start } else { start };
            // Words up to `middle` come from behind the offset, at most one block from both ends, the others from
            // before.
            let rest = (sequence - rotation.offset) % LANES;
            let middle = start + sequence - rotation.offset - rest;
            let wrap = middle + if rest == 0 { 0 } else { LANES };
            let shift = source.wrapping_sub(start).wrapping_add(rotation.offset);
            // SAFETY: the caller's contract.
            unsafe {
                self.blocks::<D, false, MANY>(start, middle, shift, 0xff);
                self.blocks::<D, true, MANY>(middle, wrap, shift, ((1u32 << rest) - 1) as __mmask8);
                self.blocks::<D, false, MANY>(wrap, start + sequence, shift.wrapping_sub(sequence), 0xff);
            }
        }
    }
}

/// See [`ProductKernels::key_products`](super::ProductKernels::key_products).
///
/// # Safety
/// The CPU has AVX-512 F, BW, VBMI and IFMA. All spectra have the key's N words, and the rotation and `out` are for N
/// words. The key has as many digits as `digits`, fewer than [`MAX_DIGITS`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
pub(super) unsafe fn key_products(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    out: Output<'_>,
    accumulate: bool,
) {
    let window = out.window();
    let (out, stride) = match out {
        Output::Spectra(out) => (out.map(<[u64]>::as_mut_ptr), LANES),
        Output::Entry { words, stride, .. } => {
            let words = words.as_mut_ptr();
            ([words, words.wrapping_add(LANES)], stride)
        }
    };
    let products = KeyProducts {
        reduction: Reduction::new(c),
        digits,
        head: head.map(|(head, factor)| (head.as_ptr(), _mm512_set1_epi64(factor as i64))),
        key: key.words(0).as_ptr(),
        unpacking: Unpacking::new(key.width()),
        out,
        stride,
        window,
        sequence: rotation.sequence,
        accumulate,
    };
    let terms = digits.len() + usize::from(head.is_some());
    // SAFETY: the caller's contract.
    unsafe {
        let n = key.polynomial_size();
        match digits.len() {
            _ if terms > c.max_terms => products.run::<0, true>(n, rotation),
            1 => products.run::<1, false>(n, rotation),
            2 => products.run::<2, false>(n, rotation),
            3 => products.run::<3, false>(n, rotation),
            4 => products.run::<4, false>(n, rotation),
            _ => products.run::<0, false>(n, rotation),
        }
    }
}

/// See [`ProductKernels::multiply`](super::ProductKernels::multiply).
///
/// # Safety
/// The CPU has AVX-512 F, BW, VBMI and IFMA, and the shapes match.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
pub(super) unsafe fn multiply(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    sums: &mut SumPart<'_>,
    accumulate: bool,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if matrix.columns() > c.max_terms {
            multiply_all::<true>(c, matrix, vectors, sums, accumulate);
        } else {
            multiply_all::<false>(c, matrix, vectors, sums, accumulate);
        }
    }
}

/// All blocks, groups of rows and vectors, in this order. So the matrix is read once, and the rows of a group stay in
/// the first cache for all vectors.
///
/// # Safety
/// As for [`multiply`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
unsafe fn multiply_all<const MANY: bool>(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    sums: &mut SumPart<'_>,
    accumulate: bool,
) {
    let (rows, columns, width) = (matrix.rows(), matrix.columns(), matrix.width());
    let products = Products {
        reduction: Reduction::new(c),
        unpacking: Unpacking::new(width),
        columns,
        strides: [2 * sums.vectors * sums.stride(), sums.stride()],
        accumulate,
    };
    for (index, block) in vectors.blocks().enumerate() {
        for start in sums.rows.clone().step_by(GROUP) {
            // SAFETY: block, rows and vectors lie in the slices.
            unsafe {
                let matrix = matrix.words().as_ptr().add((block * rows + start) * columns * width);
                for v in 0..sums.vectors {
                    let x = vectors.words.as_ptr().add(index * vectors.stride() + v * columns * 2 * LANES);
                    let first = (start - sums.rows.start) * sums.vectors + v;
                    let out = sums.words.as_mut_ptr().add(2 * first * sums.stride() + block * LANES);
                    match group_size(rows, start) {
                        4 => products.group::<4, MANY>(matrix, x, out),
                        3 => products.group::<3, MANY>(matrix, x, out),
                        2 => products.group::<2, MANY>(matrix, x, out),
                        _ => products.group::<1, MANY>(matrix, x, out),
                    }
                }
            }
        }
    }
}

/// The operands common to all blocks of a product.
struct Products {
    reduction: Reduction,
    unpacking: Unpacking,
    columns: usize,
    /// Words from the result of one row to the next, and from one part to the other.
    strides: [usize; 2],
    accumulate: bool,
}

impl Products {
    /// One block of R rows' products with one vector.
    ///
    /// # Safety
    /// As for [`multiply`]; the pointers are to the block's words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
    #[expect(clippy::needless_range_loop, reason = "with iterators the sums do not stay in registers")]
    unsafe fn group<const R: usize, const MANY: bool>(&self, matrix: *const u64, x: *const u64, out: *mut u64) {
        let zero = _mm512_setzero_si512();
        // SAFETY: the caller's contract.
        unsafe {
            let at = |row: usize, part: usize| out.add(row * self.strides[0] + part * self.strides[1]);
            let mut sums: [[Sum; 2]; R] = [[[zero; 2]; 2]; R];
            if self.accumulate {
                for row in 0..R {
                    for part in 0..2 {
                        sums[row][part][0] = _mm512_loadu_si512(at(row, part).cast());
                    }
                }
            }
            for first in (0..self.columns).step_by(MAX_TERMS) {
                for column in first..self.columns.min(first + MAX_TERMS) {
                    let x = [0, 1].map(|part| _mm512_load_si512(x.add((2 * column + part) * LANES).cast()));
                    let packed = matrix.add(column * R * self.unpacking.width);
                    for line in 0..(R * self.unpacking.width).div_ceil(LANES) {
                        // A prefetch may be of any address.
                        _mm_prefetch::<_MM_HINT_T0>(packed.wrapping_add(AHEAD + line * LANES).cast());
                    }
                    for row in 0..R {
                        let factor = self.unpacking.load(packed.add(row * self.unpacking.width));
                        for part in 0..2 {
                            add_product(&mut sums[row][part], factor, x[part]);
                        }
                    }
                }
                for row in 0..R {
                    for part in 0..2 {
                        let [low, high] = sums[row][part];
                        sums[row][part] = [self.reduction.reduce::<MANY>(low, high), zero];
                    }
                }
            }
            for row in 0..R {
                for part in 0..2 {
                    _mm512_storeu_si512(at(row, part).cast(), sums[row][part][0]);
                }
            }
        }
    }
}
