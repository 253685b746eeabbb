//! The transform of one block, words to words, by way of pairs.
//!
//! Forward, each part of a block is multiplied by its power of the block's root, and part 0 is carried. A cyclic
//! transform of 8 or 4 points remains. The inverse runs the cyclic transform first and then the product. In both
//! directions the sums of a cyclic transform have at most seven products and one carried value, see [`Pair`]. Radix 8
//! and 52 bits allow exactly this.

use super::super::avx512::Avx512;
use super::super::lanes::Lanes;
use super::super::sources::Coefficients;
use super::pair::{Factor, Pair};
use super::prefetch::RowPrefetch;
use super::tables::Roots;

/// Words of a vector of pairs.
const VECTOR: usize = 16;

/// A factor in every lane.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn broadcast([s, t, s_i, t_i]: Factor) -> [Avx512; 4] {
    // SAFETY: the caller's contract.
    unsafe { [Avx512::splat(s), Avx512::splat(t), Avx512::splat(s_i), Avx512::splat(t_i)] }
}

/// `R` vectors of pairs that lie `stride` words apart.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA; the words are readable.
#[inline(always)]
unsafe fn load<const R: usize>(from: *const u64, stride: usize) -> [Pair; R] {
    // SAFETY: the caller's contract. The first load only initialises the array.
    unsafe {
        let mut x = [Pair::load(from); R];
        for (j, x) in x.iter_mut().enumerate() {
            *x = Pair::load(from.add(j * stride));
        }
        x
    }
}

/// Stores vectors of pairs `stride` words apart.
///
/// # Safety
/// The words are writable.
#[inline(always)]
unsafe fn store<const R: usize>(x: [Pair; R], to: *mut u64, stride: usize) {
    for (j, x) in x.into_iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { x.store(to.add(j * stride)) }
    }
}

/// Multiplies every vector except the first.
///
/// # Safety
/// As for [`broadcast`].
#[inline(always)]
unsafe fn multiply<const R: usize>(x: &mut [Pair; R], factors: &[Factor]) {
    for (x, &factor) in x[1..].iter_mut().zip(&factors[..R - 1]) {
        // SAFETY: the caller's contract.
        *x = unsafe { x.mul(broadcast(factor)) };
    }
}

/// Multiplies every vector except the first by the factors of a tile.
///
/// # Safety
/// As for [`broadcast`].
#[inline(always)]
unsafe fn multiply_tile(x: &mut [Pair; 8], factors: &[[[u64; 8]; 2]]) {
    for (x, [s, t]) in x[1..].iter_mut().zip(&factors[..7]) {
        // SAFETY: the caller's contract.
        *x = unsafe { x.mul_short([Avx512::load(s.as_ptr()), Avx512::load(t.as_ptr())]) };
    }
}

/// The first level of a cyclic transform.
#[inline(always)]
fn forward_level<const R: usize>(x: &mut [Pair; R]) {
    for j in 0..R / 2 {
        (x[j], x[j + R / 2]) = (x[j].add(x[j + R / 2]), x[j].sub(x[j + R / 2]));
    }
}

/// The first level after products of the upper half by I.
#[inline(always)]
fn forward_level_i<const R: usize>(x: &mut [Pair; R]) {
    for j in 0..R / 2 {
        (x[j], x[j + R / 2]) = (x[j].add_i(x[j + R / 2]), x[j].sub_i(x[j + R / 2]));
    }
}

/// The levels after the first of a cyclic transform of 8 points: natural order in, bit-reversed order out.
#[inline(always)]
fn forward8(x: &mut [Pair; 8]) {
    for j in 0..2 {
        (x[j], x[j + 2]) = (x[j].add(x[j + 2]), x[j].sub(x[j + 2]));
        (x[j + 4], x[j + 6]) = (x[j + 4].add_i(x[j + 6]), x[j + 4].sub_i(x[j + 6]));
    }
    (x[0], x[1]) = (x[0].add(x[1]), x[0].sub(x[1]));
    (x[2], x[3]) = (x[2].add_i(x[3]), x[2].sub_i(x[3]));
    let t = x[5].shift_24();
    (x[4], x[5]) = (x[4].add(t), x[4].sub(t));
    let t = x[7].shift_24();
    (x[6], x[7]) = (x[6].add_i(t), x[6].sub_i(t));
}

/// The second level of a cyclic transform of 4 points: natural order in, bit-reversed order out.
#[inline(always)]
fn forward4(x: &mut [Pair; 4]) {
    (x[0], x[1]) = (x[0].add(x[1]), x[0].sub(x[1]));
    (x[2], x[3]) = (x[2].add_i(x[3]), x[2].sub_i(x[3]));
}

/// Undoes a cyclic transform of 8 points up to a factor 8.
#[inline(always)]
fn inverse8(x: &mut [Pair; 8]) {
    (x[0], x[1]) = (x[0].add(x[1]), x[0].sub(x[1]));
    (x[2], x[3]) = (x[2].add(x[3]), x[2].minus_i_sub(x[3]));
    (x[4], x[5]) = (x[4].add(x[5]), x[4].sub(x[5]).minus_i_shift_24());
    (x[6], x[7]) = (x[6].add(x[7]), x[7].sub(x[6]).shift_24());
    for j in 0..2 {
        (x[j], x[j + 2]) = (x[j].add(x[j + 2]), x[j].sub(x[j + 2]));
        (x[j + 4], x[j + 6]) = (x[j + 4].add(x[j + 6]), x[j + 4].minus_i_sub(x[j + 6]));
    }
    for j in 0..4 {
        (x[j], x[j + 4]) = (x[j].add(x[j + 4]), x[j].sub(x[j + 4]));
    }
}

/// Undoes a cyclic transform of 4 points up to a factor 4.
#[inline(always)]
fn inverse4(x: &mut [Pair; 4]) {
    (x[0], x[1]) = (x[0].add(x[1]), x[0].sub(x[1]));
    (x[2], x[3]) = (x[2].add(x[3]), x[2].minus_i_sub(x[3]));
    for j in 0..2 {
        (x[j], x[j + 2]) = (x[j].add(x[j + 2]), x[j].sub(x[j + 2]));
    }
}

/// The operations that depend on the number of points.
trait Points {
    /// Bits of the shift by the root of unity of order 2R.
    const ROOT_LOG2: u32;
    /// The levels after the first.
    fn forward(&mut self);
    fn inverse(&mut self);
}

impl Points for [Pair; 4] {
    const ROOT_LOG2: u32 = 24;
    #[inline(always)]
    fn forward(&mut self) {
        forward4(self)
    }
    #[inline(always)]
    fn inverse(&mut self) {
        inverse4(self)
    }
}

impl Points for [Pair; 8] {
    const ROOT_LOG2: u32 = 12;
    #[inline(always)]
    fn forward(&mut self) {
        forward8(self)
    }
    #[inline(always)]
    fn inverse(&mut self) {
        inverse8(self)
    }
}

/// The first pass of a block of `len` coefficients from index `start` on.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA, here and below; the coefficients exist, 2·`len` words of `pairs` are writable, `len`
/// is a multiple of 8·R, `factors` has R − 1.
#[inline(always)]
unsafe fn forward_first<const R: usize, C: Coefficients>(
    source: C,
    start: usize,
    len: usize,
    factors: &[Factor],
    pairs: *mut u64,
    prefetch: &mut RowPrefetch,
) where
    [Pair; R]: Points,
{
    let stride = len / R;
    for i in (0..stride).step_by(8) {
        // SAFETY: i + (R − 1)·stride + 8 ≤ len.
        unsafe {
            let mut x = [Pair::from_word(source.load(start + i)).to_middle(); R];
            for (j, x) in x.iter_mut().enumerate().skip(1) {
                *x = Pair::from_word(source.load(start + j * stride + i));
            }
            multiply(&mut x, factors);
            forward_level(&mut x);
            prefetch.advance::<R>();
            x.forward();
            store(x, pairs.add(2 * i), 2 * stride);
        }
    }
}

/// The first pass of a block that is the whole polynomial. Its root has order 2R, so the powers of the root are shifts.
///
/// # Safety
/// As for [`forward_first`].
#[inline(always)]
unsafe fn forward_first_of_all<const R: usize, C: Coefficients>(
    source: C,
    len: usize,
    pairs: *mut u64,
    prefetch: &mut RowPrefetch,
) where
    [Pair; R]: Points,
{
    let stride = len / R;
    for i in (0..stride).step_by(8) {
        // SAFETY: i + (R − 1)·stride + 8 ≤ len.
        unsafe {
            let mut x = [Pair::from_word(source.load(i)).to_middle(); R];
            for (j, x) in x.iter_mut().enumerate().skip(1) {
                // The factor of part j + R/2 is I times that of part j.
                let bits = <[Pair; R]>::ROOT_LOG2 * (j % (R / 2)) as u32;
                *x = Pair::from_word_shifted(source.load(j * stride + i), bits);
            }
            forward_level_i(&mut x);
            prefetch.advance::<R>();
            x.forward();
            store(x, pairs.add(2 * i), 2 * stride);
        }
    }
}

/// A later pass over one block of `len` pairs.
///
/// # Safety
/// 2·`len` words of `pairs` are writable, `len` is a multiple of 8·R, `factors` has R − 1.
#[inline(always)]
unsafe fn forward_next<const R: usize>(pairs: *mut u64, len: usize, factors: &[Factor], prefetch: &mut RowPrefetch)
where
    [Pair; R]: Points,
{
    let stride = len / R * 2;
    for i in (0..stride).step_by(VECTOR) {
        // SAFETY: i + (R − 1)·stride + VECTOR ≤ 2·len.
        unsafe {
            let mut x = load::<R>(pairs.add(i), stride);
            x[0] = x[0].carried().to_middle();
            multiply(&mut x, factors);
            forward_level(&mut x);
            prefetch.advance::<R>();
            x.forward();
            store(x, pairs.add(i), stride);
        }
    }
}

/// The last three levels, pairs to lazy words. Lane b of a tile holds its block b of eight, and stays there.
///
/// # Safety
/// 2·`len` words of `pairs` are readable and `len` of `out` writable, `len` is a multiple of 64, `tiles` has 7 per 64.
#[inline(always)]
unsafe fn forward_tiles(
    pairs: *const u64,
    len: usize,
    tiles: &[[[u64; 8]; 2]],
    out: *mut u64,
    prefetch: &mut RowPrefetch,
) {
    for (tile, factors) in tiles[..len / 64 * 7].chunks_exact(7).enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let mut x = load::<8>(pairs.add(tile * 64 * 2), VECTOR);
            Pair::transpose(&mut x);
            x[0] = x[0].carried().to_word_range();
            multiply_tile(&mut x, factors);
            prefetch.advance::<8>();
            forward_level(&mut x);
            forward8(&mut x);
            for (j, x) in x.into_iter().enumerate() {
                x.into_word().store(out.add(tile * 64 + j * 8));
            }
        }
    }
}

/// Undoes [`forward_tiles`] up to a factor 8, from any words.
///
/// # Safety
/// As for [`forward_tiles`], with reading and writing exchanged.
#[inline(always)]
unsafe fn inverse_tiles(words: *const u64, len: usize, tiles: &[[[u64; 8]; 2]], pairs: *mut u64) {
    for (tile, factors) in tiles[..len / 64 * 7].chunks_exact(7).enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let from = words.add(tile * 64);
            let mut x = [Pair::from_word(Avx512::load(from)).to_middle(); 8];
            for (j, x) in x.iter_mut().enumerate().skip(1) {
                *x = Pair::from_word(Avx512::load(from.add(j * 8)));
            }
            inverse8(&mut x);
            x[0] = x[0].carried();
            multiply_tile(&mut x, factors);
            Pair::transpose(&mut x);
            store(x, pairs.add(tile * 64 * 2), VECTOR);
        }
    }
}

/// Undoes [`forward_next`] up to a factor R.
///
/// # Safety
/// As for [`forward_next`].
#[inline(always)]
unsafe fn inverse_next<const R: usize>(pairs: *mut u64, len: usize, factors: &[Factor])
where
    [Pair; R]: Points,
{
    let stride = len / R * 2;
    for i in (0..stride).step_by(VECTOR) {
        // SAFETY: i + (R − 1)·stride + VECTOR ≤ 2·len.
        unsafe {
            let mut x = inverse_points::<R>(pairs.add(i), stride);
            x[0] = x[0].carried();
            multiply(&mut x, factors);
            store(x, pairs.add(i), stride);
        }
    }
}

/// Undoes [`forward_first`] and divides by N, to canonical words.
///
/// # Safety
/// As for [`forward_first`], with R factors, the first that of part 0; `len` words of `out` are writable.
#[inline(always)]
unsafe fn inverse_last<const R: usize>(pairs: *const u64, len: usize, factors: &[Factor], out: *mut u64)
where
    [Pair; R]: Points,
{
    let stride = len / R;
    let factors = &factors[..R];
    for i in (0..stride).step_by(8) {
        // SAFETY: i + (R − 1)·stride + 8 ≤ len.
        unsafe {
            let x = inverse_points::<R>(pairs.add(2 * i), 2 * stride);
            for (j, x) in x.into_iter().enumerate() {
                let x = x.mul_to_word_range(broadcast(factors[j]));
                x.into_word().canonical().store(out.add(j * stride + i));
            }
        }
    }
}

/// The inverse cyclic transform of R vectors of products or carried values, as operands of products.
///
/// # Safety
/// The vectors, `stride` words apart, are readable.
#[inline(always)]
unsafe fn inverse_points<const R: usize>(at: *const u64, stride: usize) -> [Pair; R]
where
    [Pair; R]: Points,
{
    // SAFETY: the caller's contract.
    unsafe {
        let mut x = load::<R>(at, stride);
        x[0] = x[0].carried().to_middle();
        x.inverse();
        x
    }
}

/// Forward transform of block `block` of `len` coefficients from index `start` on, to `out`, by way of `pairs`.
///
/// # Safety
/// The coefficients exist, `len` words of `out` and 2·`len` of `pairs` are writable, `passes` and `roots` are those of
/// blocks of this length.
#[inline(always)]
pub(super) unsafe fn forward<C: Coefficients>(
    source: C,
    start: usize,
    len: usize,
    (passes, roots, block): (&[u32], &Roots, usize),
    pairs: *mut u64,
    out: *mut u64,
    prefetch: &mut RowPrefetch,
) {
    // SAFETY: the passes divide the block as its roots do.
    unsafe {
        match (passes[0], roots.passes[0].is_empty()) {
            (3, true) => forward_first_of_all::<8, C>(source, len, pairs, prefetch),
            (3, false) => forward_first::<8, C>(source, start, len, &roots.passes[0][7 * block..], pairs, prefetch),
            (_, true) => forward_first_of_all::<4, C>(source, len, pairs, prefetch),
            (_, false) => forward_first::<4, C>(source, start, len, &roots.passes[0][3 * block..], pairs, prefetch),
        }
        let (mut size, mut blocks) = (len >> passes[0], 1 << passes[0]);
        for (&levels, factors) in passes.iter().zip(&roots.passes).skip(1) {
            for i in 0..blocks {
                let at = pairs.add(2 * i * size);
                if levels == 3 {
                    forward_next::<8>(at, size, &factors[7 * (block * blocks + i)..], prefetch);
                } else {
                    forward_next::<4>(at, size, &factors[3 * (block * blocks + i)..], prefetch);
                }
            }
            size >>= levels;
            blocks <<= levels;
        }
        forward_tiles(pairs, len, &roots.tiles[len / 64 * 7 * block..], out, prefetch);
    }
}

/// Inverse transform of block `block` of any words at `words`, divided by N, to canonical words at `out`, which may be
/// `words`.
///
/// # Safety
/// As for [`forward`].
#[inline(always)]
pub(super) unsafe fn inverse(
    words: *const u64,
    len: usize,
    (passes, roots, block): (&[u32], &Roots, usize),
    pairs: *mut u64,
    out: *mut u64,
) {
    // SAFETY: the passes divide the block as its roots do.
    unsafe {
        inverse_tiles(words, len, &roots.tiles[len / 64 * 7 * block..], pairs);
        let mut size = 8;
        for (&levels, factors) in passes.iter().zip(&roots.passes).skip(1).rev() {
            size <<= levels;
            let blocks = len / size;
            for i in 0..blocks {
                let at = pairs.add(2 * i * size);
                if levels == 3 {
                    inverse_next::<8>(at, size, &factors[7 * (block * blocks + i)..]);
                } else {
                    inverse_next::<4>(at, size, &factors[3 * (block * blocks + i)..]);
                }
            }
        }
        if passes[0] == 3 {
            inverse_last::<8>(pairs, len, &roots.passes[0][8 * block..], out);
        } else {
            inverse_last::<4>(pairs, len, &roots.passes[0][4 * block..], out);
        }
    }
}
