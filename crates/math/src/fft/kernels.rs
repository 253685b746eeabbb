//! The kernels of the f64 transforms, written once over [`F64Lanes`].
//!
//! A spectrum of M points is M/L groups of L real parts followed by L imaginary parts, so a pass reads one stream per
//! operand.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::coefficients::{Coefficients, DigitField, Digits, Digits32, Feed, Integers, prefetch_first_level};
use super::lanes::{
    Complex, F64Lanes, butterfly, butterfly_1, butterfly_1_minus_i, butterfly_i, butterfly_minus_i, load_parts,
    store_parts, transpose,
};
use super::plan::{CACHED_POINTS, Pass, Plan, twiddle_count};
use crate::{CoefficientSource, SourceView};

/// The kernels of one instruction set.
///
/// Each function requires a CPU that offers the instruction set, a plan for its number of lanes, and pointers to N
/// words (`multiply_accumulate`: slices whose lengths are multiples of N words, N a multiple of 2 · `lanes`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernels {
    pub(super) lanes: usize,
    pub(super) levels_per_pass: u32,
    pub(super) forward: unsafe fn(&Plan, &dyn CoefficientSource<i64>, *mut f64),
    pub(super) forward_prefetching: unsafe fn(&Plan, &dyn CoefficientSource<i64>, *mut f64, &[u8]),
    pub(super) multiply_accumulate: unsafe fn(&mut [f64], &[f64], &[f64]),
    pub(super) inverse_u64: unsafe fn(&Plan, *mut f64, *mut u64),
    pub(super) inverse_u32: unsafe fn(&Plan, *mut f64, *mut u32),
}

/// Compiles the kernels for one vector type in a separate module and lists them in `KERNELS`.
macro_rules! entry_points {
    ($needs:literal, $lanes:ty, $name:ident $(, $features:literal)?) => {
        pub(super) mod $name {
            use crate::CoefficientSource;
            use crate::fft::kernels::{self, Kernels};
            use crate::fft::lanes::F64Lanes;
            use crate::fft::plan::Plan;

            pub(in crate::fft) const KERNELS: Kernels = Kernels {
                lanes: <$lanes as F64Lanes>::LANES,
                levels_per_pass: <$lanes as F64Lanes>::LEVELS_PER_PASS,
                forward,
                forward_prefetching,
                multiply_accumulate,
                inverse_u64,
                inverse_u32,
            };

            #[doc = concat!("# Safety\n", $needs, " `spectrum` is valid for N words.")]
            $(#[target_feature(enable = $features)])?
            unsafe fn forward(plan: &Plan, source: &dyn CoefficientSource<i64>, spectrum: *mut f64) {
                // SAFETY: the caller's contract.
                unsafe { kernels::forward::<$lanes, false>(plan, source, spectrum, &[]) }
            }

            #[doc = concat!("# Safety\n", $needs, " `spectrum` is valid for N words.")]
            $(#[target_feature(enable = $features)])?
            unsafe fn forward_prefetching(
                plan: &Plan,
                source: &dyn CoefficientSource<i64>,
                spectrum: *mut f64,
                upcoming: &[u8],
            ) {
                // SAFETY: the caller's contract.
                unsafe { kernels::forward::<$lanes, true>(plan, source, spectrum, upcoming) }
            }

            #[doc = concat!("# Safety\n", $needs)]
            $(#[target_feature(enable = $features)])?
            unsafe fn multiply_accumulate(acc: &mut [f64], lhs: &[f64], rhs: &[f64]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::multiply_accumulate::<$lanes>(acc, lhs, rhs) }
            }

            #[doc = concat!("# Safety\n", $needs, " `spectrum` and `out` are valid for N words.")]
            $(#[target_feature(enable = $features)])?
            unsafe fn inverse_u64(plan: &Plan, spectrum: *mut f64, out: *mut u64) {
                // SAFETY: the caller's contract.
                unsafe { kernels::inverse::<$lanes, u64>(plan, spectrum, out) }
            }

            #[doc = concat!("# Safety\n", $needs, " `spectrum` and `out` are valid for N words.")]
            $(#[target_feature(enable = $features)])?
            unsafe fn inverse_u32(plan: &Plan, spectrum: *mut f64, out: *mut u32) {
                // SAFETY: the caller's contract.
                unsafe { kernels::inverse::<$lanes, u32>(plan, spectrum, out) }
            }
        }
    };
}
pub(super) use entry_points;

/// A torus word to which the inverse adds.
pub(super) trait TorusWord {
    /// Adds round(2^64 · value) modulo the word's size.
    ///
    /// # Safety
    /// `to` is valid for `LANES` words.
    unsafe fn add<L: F64Lanes>(to: *mut Self, value: L);
}

impl TorusWord for u64 {
    #[inline(always)]
    unsafe fn add<L: F64Lanes>(to: *mut u64, value: L) {
        // SAFETY: the caller's contract.
        unsafe { value.add_to_u64(to) }
    }
}

impl TorusWord for u32 {
    #[inline(always)]
    unsafe fn add<L: F64Lanes>(to: *mut u32, value: L) {
        // SAFETY: the caller's contract.
        unsafe { value.add_to_u32(to) }
    }
}

/// log2 R levels down the tree. The parts leave in the order of the tree. `w` is as listed by `Plan`.
#[inline(always)]
fn split<L: F64Lanes, const R: usize>(x: &mut [Complex<L>; R], w: [Complex<L>; 4], two: L) {
    match R {
        2 => butterfly(x, 0, 1, w[0], two),
        4 => {
            butterfly(x, 0, 2, w[0], two);
            butterfly(x, 1, 3, w[0], two);
            butterfly(x, 0, 1, w[1], two);
            butterfly_i(x, 2, 3, w[1], two);
        }
        8 => {
            butterfly(x, 0, 4, w[0], two);
            butterfly(x, 1, 5, w[0], two);
            butterfly(x, 2, 6, w[0], two);
            butterfly(x, 3, 7, w[0], two);
            butterfly(x, 0, 2, w[1], two);
            butterfly(x, 1, 3, w[1], two);
            butterfly_i(x, 4, 6, w[1], two);
            butterfly_i(x, 5, 7, w[1], two);
            butterfly(x, 0, 1, w[2], two);
            butterfly_i(x, 2, 3, w[2], two);
            butterfly(x, 4, 5, w[3], two);
            butterfly_i(x, 6, 7, w[3], two);
        }
        _ => {}
    }
}

/// log2 R levels up the tree. `w` is as listed by `Plan`.
#[inline(always)]
fn merge<L: F64Lanes, const R: usize>(x: &mut [Complex<L>; R], w: [Complex<L>; 4], two: L) {
    match R {
        2 => butterfly(x, 0, 1, w[0], two),
        4 => {
            butterfly(x, 0, 1, w[0], two);
            butterfly(x, 2, 3, w[0], two);
            butterfly(x, 0, 2, w[1], two);
            butterfly_minus_i(x, 1, 3, w[1], two);
        }
        8 => {
            butterfly(x, 0, 1, w[0], two);
            butterfly(x, 2, 3, w[0], two);
            butterfly(x, 4, 5, w[0], two);
            butterfly(x, 6, 7, w[0], two);
            butterfly(x, 0, 2, w[1], two);
            butterfly_minus_i(x, 1, 3, w[1], two);
            butterfly(x, 4, 6, w[1], two);
            butterfly_minus_i(x, 5, 7, w[1], two);
            butterfly(x, 0, 4, w[2], two);
            butterfly(x, 1, 5, w[3], two);
            butterfly_minus_i(x, 2, 6, w[2], two);
            butterfly_minus_i(x, 3, 7, w[3], two);
        }
        _ => {}
    }
}

/// [`merge`] at the leaves' first levels, where the twiddles are 1, −i and `eighth` = e^(-2πi/8).
#[inline(always)]
fn merge_first<L: F64Lanes, const R: usize>(x: &mut [Complex<L>; R], eighth: Complex<L>, two: L) {
    let mut part = 0;
    while part < R {
        butterfly_1(x, part, part + 1);
        part += 2;
    }
    part = 0;
    while part + 3 < R {
        butterfly_1(x, part, part + 2);
        butterfly_1_minus_i(x, part + 1, part + 3);
        part += 4;
    }
    if R == 8 {
        butterfly_1(x, 0, 4);
        butterfly(x, 1, 5, eighth, two);
        butterfly_1_minus_i(x, 2, 6);
        butterfly_minus_i(x, 3, 7, eighth, two);
    }
}

/// Reads the twiddles of log2 R levels, one complex number each, to all lanes. Entries beyond them repeat the last.
///
/// # Safety
/// The CPU offers the instruction set of `L`; `at` is readable for the twiddles, for one entry if R = 1.
#[inline(always)]
unsafe fn block_twiddles<L: F64Lanes, const R: usize>(at: *const f64) -> [Complex<L>; 4] {
    let last = twiddle_count(R.trailing_zeros()).max(1) - 1;
    // SAFETY: the index stays within the twiddles of these levels.
    unsafe {
        [
            Complex::splat(at),
            Complex::splat(at.add(2 * last.min(1))),
            Complex::splat(at.add(2 * last.min(2))),
            Complex::splat(at.add(2 * last)),
        ]
    }
}

/// As [`block_twiddles`], a vector each.
///
/// # Safety
/// As [`block_twiddles`].
#[inline(always)]
unsafe fn lane_twiddles<L: F64Lanes, const R: usize>(at: *const f64) -> [Complex<L>; 4] {
    let last = twiddle_count(R.trailing_zeros()).max(1) - 1;
    let step = 2 * L::LANES;
    // SAFETY: the index stays within the twiddles of these levels.
    unsafe {
        [
            Complex::load(at),
            Complex::load(at.add(step * last.min(1))),
            Complex::load(at.add(step * last.min(2))),
            Complex::load(at.add(step * last)),
        ]
    }
}

/// Coefficients per read from a source that does not describe itself: 8 KiB.
const SOURCE_WORDS: usize = 1024;

/// How many groups of butterflies in advance the first pass prefetches the lines that it writes.
const AHEAD: usize = 2;

/// The places of the first pass's coefficients: the real ones of part p start at p · `part_step`, the imaginary ones
/// `imaginary` further.
#[derive(Clone, Copy)]
struct Layout {
    part_step: usize,
    imaginary: usize,
}

/// Loads `range` of every part, folds z_j = a_j + i·a_(j+M), splits into R parts of `stride` points.
///
/// # Safety
/// As [`forward`]; `coefficients` covers `layout`, `w` holds the twiddles of the first levels.
#[inline(always)]
unsafe fn load_range<L: F64Lanes, C: Coefficients<L>, const R: usize, const FEED: bool>(
    coefficients: C,
    layout: Layout,
    w: [Complex<L>; 4],
    spectrum: *mut f64,
    stride: usize,
    count: usize,
    feed: &mut Feed,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let two = L::splat(2.0);
        // The CPU's own prefetchers do not see lines that are only written.
        let far = R * stride >= CACHED_POINTS;
        for j in (0..count).step_by(L::LANES) {
            if far {
                for part in 0..R {
                    expect_points(spectrum.wrapping_add(2 * (part * stride + j + AHEAD * L::LANES)), L::LANES);
                }
            }
            let mut x = [Complex { re: two, im: two }; R];
            for (part, x) in x.iter_mut().enumerate() {
                let at = part * layout.part_step + j;
                *x = Complex { re: coefficients.load(at), im: coefficients.load(at + layout.imaginary) };
            }
            split(&mut x, w, two);
            store_parts(x, spectrum.add(2 * j), 2 * stride);
            feed.advance::<FEED>();
        }
    }
}

/// The loading pass on coefficients in memory.
///
/// # Safety
/// As [`forward`]; `coefficients` holds 2M.
#[inline(always)]
unsafe fn load_pass<L: F64Lanes, C: Coefficients<L>, const R: usize, const FEED: bool>(
    plan: &Plan,
    coefficients: C,
    spectrum: *mut f64,
    feed: &mut Feed,
) {
    let stride = plan.points / R;
    let layout = Layout { part_step: stride, imaginary: plan.points };
    // SAFETY: the table holds the twiddles of these levels, padded to a cache line; the spectrum holds R parts of
    // `stride` points, two words each.
    unsafe {
        let w = block_twiddles::<L, R>(plan.forward.twiddles.as_ptr());
        load_range::<L, C, R, FEED>(coefficients, layout, w, spectrum, stride, stride, feed);
    }
}

/// The loading pass by way of a buffer.
///
/// # Safety
/// As [`forward`].
#[inline(always)]
unsafe fn read_pass<L: F64Lanes, const R: usize, const FEED: bool>(
    plan: &Plan,
    source: &dyn CoefficientSource<i64>,
    spectrum: *mut f64,
    feed: &mut Feed,
) {
    let stride = plan.points / R;
    let chunk = stride.min(SOURCE_WORDS / (2 * R));
    let mut buffer = [const { MaybeUninit::<i64>::uninit() }; SOURCE_WORDS];
    // Clearing the whole buffer would slow a small transform.
    let used = &mut buffer[..2 * R * chunk];
    for word in used.iter_mut() {
        word.write(0);
    }
    // SAFETY: the words are written; the table holds the twiddles of these levels, padded to a cache line; `words`
    // holds 2R chunks; the spectrum holds R parts of `stride` points, two words each.
    unsafe {
        let words = &mut *(std::ptr::from_mut(used) as *mut [i64]);
        let w = block_twiddles::<L, R>(plan.forward.twiddles.as_ptr());
        let layout = Layout { part_step: 2 * chunk, imaginary: chunk };
        for start in (0..stride).step_by(chunk) {
            for (part, words) in words.chunks_exact_mut(2 * chunk).enumerate() {
                let (re, im) = words.split_at_mut(chunk);
                source.read(part * stride + start, re);
                source.read(plan.points + part * stride + start, im);
            }
            let coefficients = Integers(words.as_ptr());
            let spectrum = spectrum.add(2 * start);
            load_range::<L, _, R, FEED>(coefficients, layout, w, spectrum, stride, chunk, feed);
        }
    }
}

/// The first pass on coefficients of any kind.
///
/// # Safety
/// As [`forward`].
#[inline(always)]
unsafe fn first_pass<L: F64Lanes, const R: usize, const FEED: bool>(
    plan: &Plan,
    source: &dyn CoefficientSource<i64>,
    spectrum: *mut f64,
    feed: &mut Feed,
) {
    let size = 2 * plan.points;
    // SAFETY: the caller vouches for the CPU; every used view holds 2M coefficients.
    unsafe {
        match source.view() {
            SourceView::Slice(words) if words.len() == size => {
                return load_pass::<L, _, R, FEED>(plan, Integers(words.as_ptr()), spectrum, feed);
            }
            SourceView::Digits(words, digit) if words.len() == size => {
                if let Some(field) = DigitField::of_words(digit) {
                    let coefficients = Digits { words: words.as_ptr(), field };
                    return load_pass::<L, _, R, FEED>(plan, coefficients, spectrum, feed);
                }
            }
            SourceView::Digits32(words, digit) if words.len() == size => {
                if let Some(field) = DigitField::of_half_words(digit) {
                    let coefficients = Digits32 { words: words.as_ptr(), field };
                    return load_pass::<L, _, R, FEED>(plan, coefficients, spectrum, feed);
                }
            }
            _ => {}
        }
        read_pass::<L, R, FEED>(plan, source, spectrum, feed);
    }
}

/// Splits one block in place into R parts of `stride` points.
///
/// # Safety
/// The CPU offers the instruction set of `L`; `block` holds R · `stride` points, `w` the node's twiddles.
#[inline(always)]
unsafe fn split_pass<L: F64Lanes, const R: usize, const FEED: bool>(
    block: *mut f64,
    stride: usize,
    w: *const f64,
    feed: &mut Feed,
) {
    // SAFETY: every access lies within the block.
    unsafe {
        let two = L::splat(2.0);
        let w = block_twiddles::<L, R>(w);
        for j in (0..stride).step_by(L::LANES) {
            let at = block.add(2 * j);
            let mut x = load_parts::<L, R>(at, 2 * stride);
            split(&mut x, w, two);
            store_parts(x, at, 2 * stride);
            feed.advance::<FEED>();
        }
    }
}

/// The last levels on one leaf of R² points, R = `LANES`: first down to blocks of one vector, then across its lanes.
/// The result stays transposed.
///
/// # Safety
/// As [`split_pass`], `w` holding the leaf's twiddles.
#[inline(always)]
unsafe fn split_leaf<L: F64Lanes, const R: usize>(leaf: *mut f64, w: *const f64) {
    // SAFETY: every access lies within the leaf and its twiddles.
    unsafe {
        let two = L::splat(2.0);
        let mut x = load_parts::<L, R>(leaf, 2 * R);
        split(&mut x, block_twiddles::<L, R>(w), two);
        let mut x = transpose(x);
        let across = w.add(2 * twiddle_count(R.trailing_zeros()));
        split(&mut x, lane_twiddles::<L, R>(across), two);
        store_parts(x, leaf, 2 * R);
    }
}

/// One pass on every block in a range of points.
///
/// # Safety
/// As [`forward`]; the range consists of whole blocks of the pass.
#[inline(always)]
unsafe fn split_range<L: F64Lanes, const FEED: bool>(
    plan: &Plan,
    pass: &Pass,
    spectrum: *mut f64,
    range: Range<usize>,
    feed: &mut Feed,
) {
    let log2_block = pass.stride.trailing_zeros() + pass.levels;
    let step = 2 * twiddle_count(pass.levels);
    let mut twiddles_at = pass.twiddles_at + (range.start >> log2_block) * step;
    for block in range.step_by(1 << log2_block) {
        // SAFETY: the table holds twiddles for every block of the pass; the block lies within the spectrum.
        unsafe {
            let w = plan.forward.twiddles.as_ptr().add(twiddles_at);
            let block = spectrum.add(2 * block);
            match pass.levels {
                1 => split_pass::<L, 2, FEED>(block, pass.stride, w, feed),
                2 => split_pass::<L, 4, FEED>(block, pass.stride, w, feed),
                _ => split_pass::<L, 8, FEED>(block, pass.stride, w, feed),
            }
        }
        twiddles_at += step;
    }
}

/// Forward transform.
///
/// # Safety
/// The CPU offers the instruction set of `L`, `plan` is made for its number of lanes, `spectrum` is writable for 2M
/// words and `source` has as many coefficients. `upcoming` is ignored unless `FEED`.
#[inline(always)]
pub(super) unsafe fn forward<L: F64Lanes, const FEED: bool>(
    plan: &Plan,
    source: &dyn CoefficientSource<i64>,
    spectrum: *mut f64,
    upcoming: &[u8],
) {
    let schedule = &plan.forward;
    let mut feed = Feed::new(upcoming, plan.forward_groups);
    let feed = &mut feed;
    // SAFETY: the caller's contract; passes and leaves divide the points exactly.
    unsafe {
        match schedule.outer_levels {
            0 => first_pass::<L, 1, FEED>(plan, source, spectrum, feed),
            1 => first_pass::<L, 2, FEED>(plan, source, spectrum, feed),
            2 => first_pass::<L, 4, FEED>(plan, source, spectrum, feed),
            _ => first_pass::<L, 8, FEED>(plan, source, spectrum, feed),
        }
        let (uncached, cached) = schedule.passes.split_at(schedule.uncached);
        for pass in uncached {
            split_range::<L, FEED>(plan, pass, spectrum, 0..plan.points, feed);
        }
        let leaf_points = L::LANES * L::LANES;
        let leaf_words = 2 * twiddle_count(L::LANES.trailing_zeros()) * (1 + L::LANES);
        let mut w = schedule.twiddles.as_ptr().add(plan.forward_leaves_at);
        for start in (0..plan.points).step_by(schedule.cached_points) {
            let end = start + schedule.cached_points;
            for pass in cached {
                split_range::<L, FEED>(plan, pass, spectrum, start..end, feed);
            }
            if L::LANES == 1 {
                continue;
            }
            for leaf in (start..end).step_by(leaf_points) {
                if end < plan.points {
                    // The next block arrives while this one is finished.
                    expect_points(spectrum.add(2 * (leaf + schedule.cached_points)), leaf_points);
                }
                match L::LANES {
                    4 => split_leaf::<L, 4>(spectrum.add(2 * leaf), w),
                    _ => split_leaf::<L, 8>(spectrum.add(2 * leaf), w),
                }
                w = w.add(leaf_words);
                feed.advance::<FEED>();
            }
        }
    }
}

/// Prefetches points that change soon into the first-level cache.
#[inline(always)]
fn expect_points(from: *const f64, points: usize) {
    for at in (0..2 * points).step_by(8) {
        prefetch_first_level(from.wrapping_add(at));
    }
}

/// The inverse of [`split_leaf`] up to the factor R²: across the lanes, then up to blocks of R² points.
///
/// # Safety
/// As [`split_leaf`], `w` holding the merge twiddles of a stride of one vector.
#[inline(always)]
unsafe fn merge_leaf<L: F64Lanes, const R: usize>(leaf: *mut f64, w: [Complex<L>; 4]) {
    // SAFETY: every access lies within the leaf.
    unsafe {
        let (two, half) = (L::splat(2.0), L::splat(std::f64::consts::FRAC_1_SQRT_2));
        let minus_half = L::splat(-std::f64::consts::FRAC_1_SQRT_2);
        let mut x = load_parts::<L, R>(leaf, 2 * R);
        merge_first(&mut x, Complex { re: half, im: minus_half }, two);
        let mut x = transpose(x);
        merge(&mut x, w, two);
        store_parts(x, leaf, 2 * R);
    }
}

/// Merges R parts of `stride` points in place.
///
/// # Safety
/// The CPU offers the instruction set of `L`; `block` holds R · `stride` points, `w` the twiddles of every position.
#[inline(always)]
unsafe fn merge_pass<L: F64Lanes, const R: usize>(block: *mut f64, stride: usize, w: *const f64) {
    let step = 2 * twiddle_count(R.trailing_zeros());
    // SAFETY: every access lies within the block and its twiddles.
    unsafe {
        let two = L::splat(2.0);
        for j in (0..stride).step_by(L::LANES) {
            let at = block.add(2 * j);
            let w = lane_twiddles::<L, R>(w.add(step * j));
            let mut x = load_parts::<L, R>(at, 2 * stride);
            merge(&mut x, w, two);
            store_parts(x, at, 2 * stride);
        }
    }
}

/// The storing pass: merges the last R parts, untwists, normalises and adds to `out`.
///
/// # Safety
/// As [`inverse`].
#[inline(always)]
unsafe fn store_pass<L: F64Lanes, T: TorusWord, const R: usize>(plan: &Plan, spectrum: *const f64, out: *mut T) {
    let stride = plan.points / R;
    let count = twiddle_count(R.trailing_zeros());
    let step = 2 * (count + R);
    // SAFETY: the table holds the twiddles and untwisting factors of every position; the spectrum holds R parts of
    // `stride` points; `out` holds 2M words.
    unsafe {
        let two = L::splat(2.0);
        let table = plan.inverse.twiddles.as_ptr().add(plan.inverse_outer_at);
        for j in (0..stride).step_by(L::LANES) {
            let w = table.add(step * j);
            let untwist = w.add(2 * count * L::LANES);
            let mut x = load_parts::<L, R>(spectrum.add(2 * j), 2 * stride);
            merge(&mut x, lane_twiddles::<L, R>(w), two);
            for (part, x) in x.into_iter().enumerate() {
                let x = x.mul(Complex::load(untwist.add(2 * part * L::LANES)));
                T::add(out.add(part * stride + j), x.re);
                T::add(out.add(plan.points + part * stride + j), x.im);
            }
        }
    }
}

/// One pass on every block in a range of points.
///
/// # Safety
/// As [`inverse`]; the range consists of whole blocks of the pass.
#[inline(always)]
unsafe fn merge_range<L: F64Lanes>(plan: &Plan, pass: &Pass, spectrum: *mut f64, range: Range<usize>) {
    for block in range.step_by(pass.stride << pass.levels) {
        // SAFETY: the table holds twiddles for every position of a block; the block lies within the spectrum.
        unsafe {
            let w = plan.inverse.twiddles.as_ptr().add(pass.twiddles_at);
            let block = spectrum.add(2 * block);
            match pass.levels {
                1 => merge_pass::<L, 2>(block, pass.stride, w),
                2 => merge_pass::<L, 4>(block, pass.stride, w),
                _ => merge_pass::<L, 8>(block, pass.stride, w),
            }
        }
    }
}

/// Inverse transform, added to `out`.
///
/// # Safety
/// The CPU offers the instruction set of `L`, `plan` is made for its number of lanes, `spectrum` and `out` are valid
/// for 2M words.
#[inline(always)]
pub(super) unsafe fn inverse<L: F64Lanes, T: TorusWord>(plan: &Plan, spectrum: *mut f64, out: *mut T) {
    // SAFETY: the caller's contract; passes and leaves divide the points exactly.
    unsafe {
        let schedule = &plan.inverse;
        let table = plan.inverse.twiddles.as_ptr();
        let leaf_points = L::LANES * L::LANES;
        for start in (0..plan.points).step_by(schedule.cached_points) {
            let leaves = (start..start + schedule.cached_points).step_by(leaf_points);
            let w = table.add(plan.inverse_leaf_at);
            match L::LANES {
                1 => {}
                4 => {
                    let w = lane_twiddles::<L, 4>(w);
                    for leaf in leaves {
                        merge_leaf::<L, 4>(spectrum.add(2 * leaf), w);
                    }
                }
                _ => {
                    let w = lane_twiddles::<L, 8>(w);
                    for leaf in leaves {
                        merge_leaf::<L, 8>(spectrum.add(2 * leaf), w);
                    }
                }
            }
            for pass in schedule.passes[schedule.uncached..].iter().rev() {
                merge_range::<L>(plan, pass, spectrum, start..start + schedule.cached_points);
            }
        }
        for pass in schedule.passes[..schedule.uncached].iter().rev() {
            merge_range::<L>(plan, pass, spectrum, 0..plan.points);
        }
        match schedule.outer_levels {
            0 => store_pass::<L, T, 1>(plan, spectrum, out),
            1 => store_pass::<L, T, 2>(plan, spectrum, out),
            2 => store_pass::<L, T, 4>(plan, spectrum, out),
            _ => store_pass::<L, T, 8>(plan, spectrum, out),
        }
    }
}

/// Adds Σ_r lhs_r ∘ rhs_r to `acc`.
///
/// # Safety
/// The CPU offers the instruction set of `L`; `acc.len()` is a multiple of 2 · `LANES` and divides the equal lengths of
/// `lhs` and `rhs`.
#[inline(always)]
pub(super) unsafe fn multiply_accumulate<L: F64Lanes>(acc: &mut [f64], lhs: &[f64], rhs: &[f64]) {
    let words = acc.len();
    let rows = lhs.len() / words;
    let group = 2 * L::LANES;
    // SAFETY: `at + group ≤ words`, and each row has `words` words.
    unsafe {
        for at in (0..words).step_by(group) {
            let mut sum = Complex::<L>::load(acc.as_ptr().add(at));
            for row in 0..rows {
                let x = Complex::<L>::load(lhs.as_ptr().add(row * words + at));
                let y = Complex::<L>::load(rhs.as_ptr().add(row * words + at));
                sum = x.mul_add(y, sum);
            }
            sum.store(acc.as_mut_ptr().add(at));
        }
    }
}
