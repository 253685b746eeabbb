//! The Goldilocks transforms, generic over the vector type and instantiated with the CPU features of each instruction
//! set.
//!
//! Forward, values are lazy before and after each pass. Every product is canonical, so each butterfly adds a canonical
//! value to a lazy one. Inverse, values are canonical throughout, because the sums of a Gentleman–Sande butterfly enter
//! other sums; the first pass makes its input canonical.

use super::lanes::{Lanes, MAX_PRODUCTS, Twiddle};
use super::sources::{Coefficients, Known, Words};
use super::tables::Tables;
use crate::CoefficientSource;

/// Coefficients that the first pass reads from each segment of the source at a time; 8 segments fill 8 KB of stack.
const SOURCE_TILE: usize = 128;

#[repr(align(64))]
struct SourceBuffer([[u64; SOURCE_TILE]; 8]);

/// log2 of the twiddle factor of entry `k` < 32, which is 8^(bit reversal of k in 5 bits).
const fn twiddle_log2(k: u32) -> u32 {
    3 * (k.reverse_bits() >> 27)
}

/// (a + t, a − t): a lazy, t canonical, results lazy.
#[inline(always)]
fn cooley_tukey<V: Lanes>(a: V, t: V) -> (V, V) {
    (a.add_lazy(t), a.sub_lazy(t))
}

/// (a + b, a − b), all canonical.
#[inline(always)]
fn gentleman_sande<V: Lanes>(a: V, b: V) -> (V, V) {
    (a.add_canonical(b), a.sub_lazy(b))
}

/// (a + b, (a − b)·2^-e), all canonical; 2^-e = −2^(96−e).
#[inline(always)]
fn gentleman_sande_pow2<V: Lanes>(a: V, b: V, e: u32) -> (V, V) {
    (a.add_canonical(b), b.sub_lazy(a).mul_pow2(96 - e))
}

/// Two levels of one block with the root z; `w` = z, z², z³, followed by a cyclic transform.
#[inline(always)]
fn forward4<V: Lanes>(x: &mut [V; 4], w: [Twiddle<V>; 3]) {
    for j in 1..4 {
        x[j] = x[j].mul(w[j - 1]);
    }
    for j in 0..2 {
        (x[j], x[j + 2]) = cooley_tukey(x[j], x[j + 2]);
    }
    (x[0], x[1]) = cooley_tukey(x[0], x[1].canonical());
    (x[2], x[3]) = cooley_tukey(x[2], x[3].mul_pow2(const { twiddle_log2(1) }));
}

/// Three levels of one block with the root z; `w` = z, …, z^7, followed by a cyclic transform.
#[inline(always)]
fn forward8<V: Lanes>(x: &mut [V; 8], w: [Twiddle<V>; 7]) {
    for j in 1..8 {
        x[j] = x[j].mul(w[j - 1]);
    }
    for j in 0..4 {
        (x[j], x[j + 4]) = cooley_tukey(x[j], x[j + 4]);
    }
    for j in 0..2 {
        (x[j], x[j + 2]) = cooley_tukey(x[j], x[j + 2].canonical());
        (x[j + 4], x[j + 6]) = cooley_tukey(x[j + 4], x[j + 6].mul_pow2(const { twiddle_log2(1) }));
    }
    (x[0], x[1]) = cooley_tukey(x[0], x[1].canonical());
    (x[2], x[3]) = cooley_tukey(x[2], x[3].mul_pow2(const { twiddle_log2(1) }));
    (x[4], x[5]) = cooley_tukey(x[4], x[5].mul_pow2(const { twiddle_log2(2) }));
    (x[6], x[7]) = cooley_tukey(x[6], x[7].mul_pow2(const { twiddle_log2(3) }));
}

/// Two levels of one block by merged butterflies with the twiddle factors 2^`e`.
#[inline(always)]
fn forward4_pow2<V: Lanes>(x: &mut [V; 4], e: [u32; 3]) {
    for j in 0..2 {
        (x[j], x[j + 2]) = cooley_tukey(x[j], x[j + 2].mul_pow2(e[0]));
    }
    for i in 0..2 {
        (x[2 * i], x[2 * i + 1]) = cooley_tukey(x[2 * i], x[2 * i + 1].mul_pow2(e[1 + i]));
    }
}

/// The first three levels of the transform.
#[inline(always)]
fn forward8_first<V: Lanes>(x: &mut [V; 8]) {
    for j in 0..4 {
        (x[j], x[j + 4]) = cooley_tukey(x[j], x[j + 4].mul_pow2(const { twiddle_log2(1) }));
    }
    for j in 0..2 {
        (x[j], x[j + 2]) = cooley_tukey(x[j], x[j + 2].mul_pow2(const { twiddle_log2(2) }));
        (x[j + 4], x[j + 6]) = cooley_tukey(x[j + 4], x[j + 6].mul_pow2(const { twiddle_log2(3) }));
    }
    (x[0], x[1]) = cooley_tukey(x[0], x[1].mul_pow2(const { twiddle_log2(4) }));
    (x[2], x[3]) = cooley_tukey(x[2], x[3].mul_pow2(const { twiddle_log2(5) }));
    (x[4], x[5]) = cooley_tukey(x[4], x[5].mul_pow2(const { twiddle_log2(6) }));
    (x[6], x[7]) = cooley_tukey(x[6], x[7].mul_pow2(const { twiddle_log2(7) }));
}

/// Undoes [`forward4`] up to a factor 4; `w` = z^-1, z^-2, z^-3.
#[inline(always)]
fn inverse4<V: Lanes>(x: &mut [V; 4], w: [Twiddle<V>; 3]) {
    (x[0], x[1]) = gentleman_sande(x[0], x[1]);
    (x[2], x[3]) = gentleman_sande_pow2(x[2], x[3], const { twiddle_log2(1) });
    for j in 0..2 {
        (x[j], x[j + 2]) = gentleman_sande(x[j], x[j + 2]);
    }
    for j in 1..4 {
        x[j] = x[j].mul(w[j - 1]);
    }
}

/// Undoes [`forward8`] up to a factor 8; `w` = z^-1, …, z^-7.
#[inline(always)]
fn inverse8<V: Lanes>(x: &mut [V; 8], w: [Twiddle<V>; 7]) {
    (x[0], x[1]) = gentleman_sande(x[0], x[1]);
    (x[2], x[3]) = gentleman_sande_pow2(x[2], x[3], const { twiddle_log2(1) });
    (x[4], x[5]) = gentleman_sande_pow2(x[4], x[5], const { twiddle_log2(2) });
    (x[6], x[7]) = gentleman_sande_pow2(x[6], x[7], const { twiddle_log2(3) });
    for j in 0..2 {
        (x[j], x[j + 2]) = gentleman_sande(x[j], x[j + 2]);
        (x[j + 4], x[j + 6]) = gentleman_sande_pow2(x[j + 4], x[j + 6], const { twiddle_log2(1) });
    }
    for j in 0..4 {
        (x[j], x[j + 4]) = gentleman_sande(x[j], x[j + 4]);
    }
    for j in 1..8 {
        x[j] = x[j].mul(w[j - 1]);
    }
}

/// Undoes [`forward4_pow2`] up to a factor 4.
#[inline(always)]
fn inverse4_pow2<V: Lanes>(x: &mut [V; 4], e: [u32; 3]) {
    for i in 0..2 {
        (x[2 * i], x[2 * i + 1]) = gentleman_sande_pow2(x[2 * i], x[2 * i + 1], e[1 + i]);
    }
    for j in 0..2 {
        (x[j], x[j + 2]) = gentleman_sande_pow2(x[j], x[j + 2], e[0]);
    }
}

/// Undoes [`forward8_first`] up to a factor 8.
#[inline(always)]
fn inverse8_last<V: Lanes>(x: &mut [V; 8]) {
    (x[0], x[1]) = gentleman_sande_pow2(x[0], x[1], const { twiddle_log2(4) });
    (x[2], x[3]) = gentleman_sande_pow2(x[2], x[3], const { twiddle_log2(5) });
    (x[4], x[5]) = gentleman_sande_pow2(x[4], x[5], const { twiddle_log2(6) });
    (x[6], x[7]) = gentleman_sande_pow2(x[6], x[7], const { twiddle_log2(7) });
    for j in 0..2 {
        (x[j], x[j + 2]) = gentleman_sande_pow2(x[j], x[j + 2], const { twiddle_log2(2) });
        (x[j + 4], x[j + 6]) = gentleman_sande_pow2(x[j + 4], x[j + 6], const { twiddle_log2(3) });
    }
    for j in 0..4 {
        (x[j], x[j + 4]) = gentleman_sande_pow2(x[j], x[j + 4], const { twiddle_log2(1) });
    }
}

/// Loads `R` vectors that lie `stride` words apart.
///
/// # Safety
/// The CPU has the features of `V`; the words are readable.
#[inline(always)]
unsafe fn load<V: Lanes, const R: usize>(from: *const u64, stride: usize) -> [V; R] {
    // SAFETY: the caller's contract. The first load only initialises the array.
    unsafe {
        let mut x = [V::load(from); R];
        for (j, x) in x.iter_mut().enumerate() {
            *x = V::load(from.add(j * stride));
        }
        x
    }
}

/// Stores `R` vectors `stride` words apart.
///
/// # Safety
/// The words are writable.
#[inline(always)]
unsafe fn store<V: Lanes, const R: usize>(x: [V; R], to: *mut u64, stride: usize) {
    for (j, x) in x.into_iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { x.store(to.add(j * stride)) }
    }
}

/// Makes all vectors canonical. It is a loop, because `map` would call a closure that lacks the CPU features.
#[inline(always)]
fn make_canonical<V: Lanes>(x: &mut [V]) {
    for x in x {
        *x = x.canonical();
    }
}

/// Divides all vectors by 2^`exponent` ≤ 2^32; canonical vectors stay canonical.
#[inline(always)]
fn divide_by_pow2<V: Lanes>(x: &mut [V], exponent: u32) {
    if exponent == 0 {
        return;
    }
    for x in x {
        *x = x.div_pow2(exponent);
    }
}

/// The powers of the root of block `block` of a pass.
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
unsafe fn block_twiddles<V: Lanes, const T: usize>(roots: &[u64], block: usize) -> [Twiddle<V>; T] {
    let roots = &roots[block * T..][..T];
    // SAFETY: the caller's contract.
    unsafe {
        let mut w = [V::splat(roots[0]).twiddle(); T];
        for (w, &root) in w.iter_mut().zip(roots) {
            *w = V::splat(root).twiddle();
        }
        w
    }
}

/// The twiddle vectors of one tile.
///
/// # Safety
/// The CPU has the features of `V`; `T` vectors are readable.
#[inline(always)]
unsafe fn tile_twiddles<V: Lanes, const T: usize>(from: *const u64) -> [Twiddle<V>; T] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut w = [V::load(from).twiddle(); T];
        for (j, w) in w.iter_mut().enumerate() {
            *w = V::load(from.add(j * V::LANES)).twiddle();
        }
        w
    }
}

/// One pass of 2 or 3 levels, forward or inverse, over the block at `data` of `len` words.
///
/// # Safety
/// The CPU has the features of `V`; the block is writable and 4 or 8 sub-blocks of at least one vector long.
#[inline(always)]
unsafe fn block_pass<V: Lanes, const FORWARD: bool>(
    data: *mut u64,
    len: usize,
    levels: u32,
    roots: &[u64],
    block: usize,
) {
    let stride = len >> levels;
    // SAFETY: `at` + (2^levels − 1)·stride + LANES ≤ data + len.
    unsafe {
        if levels == 3 {
            let w = block_twiddles::<V, 7>(roots, block);
            for j in (0..stride).step_by(V::LANES) {
                let at = data.add(j);
                let mut x = load::<V, 8>(at, stride);
                if FORWARD {
                    forward8(&mut x, w)
                } else {
                    inverse8(&mut x, w)
                }
                store(x, at, stride);
            }
        } else {
            let w = block_twiddles::<V, 3>(roots, block);
            for j in (0..stride).step_by(V::LANES) {
                let at = data.add(j);
                let mut x = load::<V, 4>(at, stride);
                if FORWARD {
                    forward4(&mut x, w)
                } else {
                    inverse4(&mut x, w)
                }
                store(x, at, stride);
            }
        }
    }
}

/// Levels 3 and 4 of block `CHILD` of 8, by shifts.
///
/// # Safety
/// As for [`block_pass`] with 2 levels.
#[inline(always)]
unsafe fn pow2_pass_of<V: Lanes, const FORWARD: bool, const CHILD: u32>(data: *mut u64, len: usize) {
    let stride = len / 4;
    let e = const { [twiddle_log2(8 + CHILD), twiddle_log2(16 + 2 * CHILD), twiddle_log2(17 + 2 * CHILD)] };
    for j in (0..stride).step_by(V::LANES) {
        // SAFETY: as in `block_pass`.
        unsafe {
            let at = data.add(j);
            let mut x = load::<V, 4>(at, stride);
            if FORWARD {
                forward4_pow2(&mut x, e)
            } else {
                inverse4_pow2(&mut x, e)
            }
            store(x, at, stride);
        }
    }
}

/// Levels 3 and 4 of block `child` of 8, by shifts.
///
/// # Safety
/// As for [`block_pass`] with 2 levels.
#[inline(always)]
pub(super) unsafe fn pow2_pass<V: Lanes, const FORWARD: bool>(data: *mut u64, len: usize, child: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match child {
            0 => pow2_pass_of::<V, FORWARD, 0>(data, len),
            1 => pow2_pass_of::<V, FORWARD, 1>(data, len),
            2 => pow2_pass_of::<V, FORWARD, 2>(data, len),
            3 => pow2_pass_of::<V, FORWARD, 3>(data, len),
            4 => pow2_pass_of::<V, FORWARD, 4>(data, len),
            5 => pow2_pass_of::<V, FORWARD, 5>(data, len),
            6 => pow2_pass_of::<V, FORWARD, 6>(data, len),
            _ => pow2_pass_of::<V, FORWARD, 7>(data, len),
        }
    }
}

/// The second pass, over block `child` of the first pass's blocks.
///
/// # Safety
/// As for [`block_pass`].
#[inline(always)]
unsafe fn second_pass<V: Lanes, const FORWARD: bool>(data: *mut u64, len: usize, tables: &Tables, child: usize) {
    let roots = if FORWARD { &tables.forward.passes[1] } else { &tables.inverse.passes[1] };
    // SAFETY: the caller's contract.
    unsafe {
        match (tables.passes[0], tables.passes[1]) {
            (3, 2) => pow2_pass::<V, FORWARD>(data, len, child),
            (_, levels) => block_pass::<V, FORWARD>(data, len, levels, roots, child),
        }
    }
}

/// The last log2(LANES) levels forward. A tile of LANES × LANES words is transposed on load, so lane b holds block b.
/// The tile is stored without a second transposition.
///
/// # Safety
/// The CPU has the features of `V`; `data` is `len` writable words at `offset` in the spectrum, both multiples of
/// LANES².
#[inline(always)]
unsafe fn forward_tiles<V: Lanes>(data: *mut u64, len: usize, tables: &Tables, offset: usize) {
    if V::LANES == 1 {
        return;
    }
    let area = V::LANES * V::LANES;
    let roots = &tables.forward.tiles[offset / area * (area - V::LANES)..][..len / area * (area - V::LANES)];
    for (tile, roots) in roots.chunks_exact(area - V::LANES).enumerate() {
        // SAFETY: the caller's contract; `roots` is LANES − 1 vectors long.
        unsafe {
            let at = data.add(tile * area);
            if V::LANES == 8 {
                let mut x = load::<V, 8>(at, V::LANES);
                V::transpose(&mut x);
                forward8(&mut x, tile_twiddles(roots.as_ptr()));
                store(x, at, V::LANES);
            } else {
                let mut x = load::<V, 4>(at, V::LANES);
                V::transpose(&mut x);
                forward4(&mut x, tile_twiddles(roots.as_ptr()));
                store(x, at, V::LANES);
            }
        }
    }
}

/// Undoes [`forward_tiles`] up to a factor LANES; the input may be lazy.
///
/// # Safety
/// As for [`forward_tiles`].
#[inline(always)]
unsafe fn inverse_tiles<V: Lanes>(data: *mut u64, len: usize, tables: &Tables, offset: usize) {
    if V::LANES == 1 {
        for j in 0..len {
            // SAFETY: the caller's contract.
            unsafe { V::load(data.add(j)).canonical().store(data.add(j)) }
        }
        return;
    }
    let area = V::LANES * V::LANES;
    let roots = &tables.inverse.tiles[offset / area * (area - V::LANES)..][..len / area * (area - V::LANES)];
    for (tile, roots) in roots.chunks_exact(area - V::LANES).enumerate() {
        // SAFETY: the caller's contract; `roots` is LANES − 1 vectors long.
        unsafe {
            let at = data.add(tile * area);
            if V::LANES == 8 {
                let mut x = load::<V, 8>(at, V::LANES);
                make_canonical(&mut x);
                inverse8(&mut x, tile_twiddles(roots.as_ptr()));
                V::transpose(&mut x);
                store(x, at, V::LANES);
            } else {
                let mut x = load::<V, 4>(at, V::LANES);
                make_canonical(&mut x);
                inverse4(&mut x, tile_twiddles(roots.as_ptr()));
                V::transpose(&mut x);
                store(x, at, V::LANES);
            }
        }
    }
}

/// `width` groups of the first pass, of 4 or 8 coefficients `from_stride` apart, from index `from` on, to words at `to`
/// that lie `stride` apart.
///
/// # Safety
/// The CPU has the features of `V`; the coefficients exist, the words are writable, `width` is a multiple of LANES.
#[inline(always)]
unsafe fn forward_first_groups<V: Lanes, C: Coefficients>(
    source: C,
    from_stride: usize,
    (levels, width): (u32, usize),
    to: *mut u64,
    stride: usize,
) {
    for j in (0..width).step_by(V::LANES) {
        // SAFETY: the caller's contract. The first load only initialises the array.
        unsafe {
            let to = to.add(j);
            if levels == 3 {
                let mut x = [source.load::<V>(j); 8];
                for (i, x) in x.iter_mut().enumerate() {
                    *x = source.load(j + i * from_stride);
                }
                forward8_first(&mut x);
                store(x, to, stride);
            } else {
                let mut x = [source.load::<V>(j); 4];
                for (i, x) in x.iter_mut().enumerate() {
                    *x = source.load(j + i * from_stride);
                }
                forward4_pow2(&mut x, const { [twiddle_log2(1), twiddle_log2(2), twiddle_log2(3)] });
                store(x, to, stride);
            }
        }
    }
}

/// The first pass of 2 or 3 levels, from `source`, or in place without one.
///
/// # Safety
/// The CPU has the features of `V`; `source` has `n` coefficients and `out` as many writable words; `n` is a multiple
/// of 2^`levels`·LANES.
#[inline(always)]
pub(super) unsafe fn forward_first<V: Lanes>(
    n: usize,
    levels: u32,
    source: Option<&dyn CoefficientSource<u64>>,
    out: *mut u64,
) {
    let stride = n >> levels;
    // SAFETY: the caller's contract; a source that describes itself has n coefficients.
    unsafe {
        match Known::of(source, n, out) {
            Known::Opaque(source) => {
                let width = stride.min(SOURCE_TILE);
                let mut buffer = SourceBuffer([[0; SOURCE_TILE]; 8]);
                for start in (0..stride).step_by(width) {
                    for (segment, tile) in buffer.0[..1 << levels].iter_mut().enumerate() {
                        source.read(segment * stride + start, &mut tile[..width]);
                    }
                    let from = Words(buffer.0.as_ptr().cast());
                    forward_first_groups::<V, _>(from, SOURCE_TILE, (levels, width), out.add(start), stride);
                }
            }
            Known::Words(c) => forward_first_groups::<V, _>(c, stride, (levels, stride), out, stride),
            Known::Digits(c) => forward_first_groups::<V, _>(c, stride, (levels, stride), out, stride),
            Known::Digits32(c) => forward_first_groups::<V, _>(c, stride, (levels, stride), out, stride),
            Known::ResidueDigits(c) => forward_first_groups::<V, _>(c, stride, (levels, stride), out, stride),
        }
    }
}

/// Forward transform, from `source`, or in place without one.
///
/// # Safety
/// The CPU has the features of `V`. `tables` were made for `V::LANES`; `source` and `out` have its length.
#[inline(always)]
pub(super) unsafe fn forward<V: Lanes>(tables: &Tables, source: Option<&dyn CoefficientSource<u64>>, out: *mut u64) {
    let n = tables.polynomial_size;
    let first = tables.passes[0];
    let stride = n >> first;
    // SAFETY: the caller's contract.
    unsafe { forward_first::<V>(n, first, source, out) };
    // Depth first: a child of N/8 words is divided, then each of its parts is finished while it is in the L1 cache.
    for child in 0..1usize << first {
        // SAFETY: the sub-blocks are disjoint parts of `out` whose lengths follow from the passes.
        unsafe {
            let data = out.add(child * stride);
            let Some(&second) = tables.passes.get(1) else {
                continue;
            };
            second_pass::<V, true>(data, stride, tables, child);
            let part = stride >> second;
            for grandchild in 0..1usize << second {
                let data = data.add(grandchild * part);
                let (mut len, mut first_block) = (part, (child << second) + grandchild);
                for (&levels, roots) in tables.passes.iter().zip(&tables.forward.passes).skip(2) {
                    for block in 0..part / len {
                        block_pass::<V, true>(data.add(block * len), len, levels, roots, first_block + block);
                    }
                    len >>= levels;
                    first_block <<= levels;
                }
            }
        }
    }
    // SAFETY: the whole spectrum.
    unsafe { forward_tiles::<V>(out, n, tables, 0) }
}

/// Undoes [`forward_first`] and divides by 2^`divide_log2`, from canonical words at `data` to canonical words at `to`;
/// both may be the same memory.
///
/// # Safety
/// As for [`forward_first`]; both are `n` words.
#[inline(always)]
pub(super) unsafe fn inverse_last<V: Lanes>(n: usize, levels: u32, divide_log2: u32, data: *const u64, to: *mut u64) {
    let stride = n >> levels;
    for j in (0..stride).step_by(V::LANES) {
        // SAFETY: j + LANES ≤ stride.
        unsafe {
            if levels == 3 {
                let mut x = load::<V, 8>(data.add(j), stride);
                inverse8_last(&mut x);
                divide_by_pow2(&mut x, divide_log2);
                store(x, to.add(j), stride);
            } else {
                let mut x = load::<V, 4>(data.add(j), stride);
                inverse4_pow2(&mut x, const { [twiddle_log2(1), twiddle_log2(2), twiddle_log2(3)] });
                divide_by_pow2(&mut x, divide_log2);
                store(x, to.add(j), stride);
            }
        }
    }
}

/// Inverse transform, divided by N, of the words at `data`, which are lost, to `to`; both may be the same memory.
///
/// # Safety
/// The CPU has the features of `V`. `tables` were made for `V::LANES`; both are N words.
#[inline(always)]
pub(super) unsafe fn inverse<V: Lanes>(tables: &Tables, data: *mut u64, to: *mut u64) {
    let n = tables.polynomial_size;
    let first = tables.passes[0];
    let stride = n >> first;
    // SAFETY: the whole spectrum.
    unsafe { inverse_tiles::<V>(data, n, tables, 0) };
    for child in 0..1usize << first {
        // SAFETY: the sub-blocks are disjoint parts of `spectrum` whose lengths follow from the passes.
        unsafe {
            let data = data.add(child * stride);
            let Some(&second) = tables.passes.get(1) else {
                continue;
            };
            let part = stride >> second;
            for grandchild in 0..1usize << second {
                let data = data.add(grandchild * part);
                let rest = &tables.passes[2..];
                let mut done: u32 = rest.iter().sum();
                let mut len = part >> done;
                for (&levels, roots) in rest.iter().zip(&tables.inverse.passes[2..]).rev() {
                    len <<= levels;
                    done -= levels;
                    let first_block = ((child << second) + grandchild) << done;
                    for block in 0..part / len {
                        block_pass::<V, false>(data.add(block * len), len, levels, roots, first_block + block);
                    }
                }
            }
            second_pass::<V, false>(data, stride, tables, child);
        }
    }
    // SAFETY: the caller's contract.
    unsafe { inverse_last::<V>(n, first, n.trailing_zeros(), data, to) }
}

/// acc += Σ_r lhs_r ∘ rhs_r; all inputs may be lazy, the result is canonical.
///
/// # Safety
/// The CPU has the features of `V`. The length of `acc` is a multiple of LANES; `lhs` and `rhs` hold the same number of
/// rows of this length.
#[inline(always)]
pub(super) unsafe fn multiply_accumulate<V: Lanes>(acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
    let n = acc.len();
    debug_assert!(lhs.len() == rhs.len() && lhs.len().is_multiple_of(n));
    for (lhs, rhs) in lhs.chunks(MAX_PRODUCTS * n).zip(rhs.chunks(MAX_PRODUCTS * n)) {
        let rows = lhs.len() / n;
        for j in (0..n).step_by(V::LANES) {
            // SAFETY: j + LANES ≤ n, and `rows` rows of n words follow each other.
            unsafe {
                let sum = V::dot(lhs.as_ptr().add(j), rhs.as_ptr().add(j), n, rows);
                let at = acc.as_mut_ptr().add(j);
                V::load(at).canonical().add_canonical(sum).store(at);
            }
        }
    }
}

/// lhs ← lhs ∘ rhs; both may be lazy, the result is canonical.
///
/// # Safety
/// The CPU has the features of `V`. Both have the same length, a multiple of LANES.
#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes>(lhs: &mut [u64], rhs: &[u64]) {
    debug_assert!(lhs.len() == rhs.len());
    for j in (0..lhs.len()).step_by(V::LANES) {
        // SAFETY: j + LANES ≤ the length.
        unsafe {
            let at = lhs.as_mut_ptr().add(j);
            V::load(at).mul(V::load(rhs.as_ptr().add(j)).twiddle()).store(at);
        }
    }
}
