//! The transforms over prime fields, generic over the strategy and instantiated with the CPU features of each
//! instruction set.
//!
//! **Forward.** Cooley–Tukey levels with the factors of Longa and Naehrig (CANS 2016), from blocks of N words
//! downwards. A pass has up to four levels in registers.
//!
//! **Inverse.** Also Cooley–Tukey levels, upwards. With c_j = Σ_i A_i·ω^(−ij) for ω = ψ², a_j = ψ^−j/N·c_j, and c is a
//! cyclic transform of bit-reversed input. Compared with the Gentleman–Sande mirror image of the forward transform:
//!
//! - A butterfly adds a reduced product to one operand, so ranges grow by addition.
//! - The first levels need few factors, the same for all blocks.
//! - The factors ψ^−j cost no separate level. The last pass of R = 2^l levels is written as
//!   a_(j+st) = ψ^(−st)/N · Σ_k ω_R^(−sk)·(ψ^(−j(2k+1))·S_k(j)), t = N/R, with the R sub-transforms S_k. That is R
//!   products, a transform of R points, and R products that include 1/N.
//!
//! Both directions run depth first. Blocks that fit the L2 cache are finished one after the other, and within them
//! sub-blocks that fit the L1 cache. The last (first) levels work on tiles of ROWS vectors: log2 ROWS levels across
//! vectors, a transposition, and log2 LANES levels across the former lanes. The tile is not transposed back, so the
//! order of a spectrum is private.
//!
//! Each transform reads its factors once, in order: 2(N − N/LANES) words for the forward tiles, 2N words for the last
//! inverse pass, and a seventh of that before. The hardware prefetches them, and the arithmetic is the limit.

use super::lanes::Lanes;
use super::tables::{Tables, tile_record};
use crate::ntt::NttWord;
use crate::{CoefficientSource, SourceView};

/// The most bytes of a block that is finished before the next one begins.
const NEAR_BYTES: usize = 1 << 15;

/// Coefficients that the first pass reads from each segment of an opaque source at a time.
const SOURCE_TILE: usize = 64;

/// The source of prepared factors: one for all lanes, or one per lane.
trait Twiddles<L: Lanes>: Copy {
    /// The k-th factor.
    ///
    /// # Safety
    /// The factor must be readable.
    unsafe fn get(self, lanes: L, k: usize) -> L::Twiddle;
}

struct Splat<W>(*const W);
struct Vectors<W>(*const W);

impl<W> Clone for Splat<W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Splat<W> {}
impl<W> Clone for Vectors<W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Vectors<W> {}

impl<L: Lanes> Twiddles<L> for Splat<L::Word> {
    #[inline(always)]
    unsafe fn get(self, lanes: L, k: usize) -> L::Twiddle {
        // SAFETY: the caller's contract.
        unsafe { lanes.twiddle_splat(self.0.add(2 * k)) }
    }
}

impl<L: Lanes> Twiddles<L> for Vectors<L::Word> {
    #[inline(always)]
    unsafe fn get(self, lanes: L, k: usize) -> L::Twiddle {
        // SAFETY: the caller's contract.
        unsafe { lanes.twiddle_load(self.0.add(2 * k * L::LANES)) }
    }
}

/// Loads `R` vectors, `stride` words apart.
///
/// # Safety
/// The words are readable.
#[inline(always)]
unsafe fn load<L: Lanes, const R: usize>(lanes: L, from: *const L::Word, stride: usize) -> [L::Vector; R] {
    // SAFETY: the caller's contract. The first load only initialises the array.
    unsafe {
        let mut x = [lanes.load(from); R];
        for (j, x) in x.iter_mut().enumerate() {
            *x = lanes.load(from.add(j * stride));
        }
        x
    }
}

/// Stores `R` vectors `stride` words apart.
///
/// # Safety
/// The words are writable.
#[inline(always)]
unsafe fn store<L: Lanes, const R: usize>(lanes: L, x: [L::Vector; R], to: *mut L::Word, stride: usize) {
    for (j, x) in x.into_iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { lanes.store(x, to.add(j * stride)) }
    }
}

#[inline(always)]
fn pair<L: Lanes>(lanes: L, x: &mut [L::Vector], a: usize, b: usize, w: L::Twiddle) {
    (x[a], x[b]) = lanes.butterfly(x[a], x[b], w);
}

#[inline(always)]
fn pair_one<L: Lanes>(lanes: L, x: &mut [L::Vector], a: usize, b: usize, first: bool) {
    (x[a], x[b]) = lanes.butterfly_one(x[a], x[b], first);
}

/// The levels of one block downwards on R vectors; R − 1 factors.
///
/// # Safety
/// The factors are readable.
#[inline(always)]
unsafe fn down<L: Lanes, T: Twiddles<L>, const R: usize>(lanes: L, x: &mut [L::Vector; R], w: T) {
    // SAFETY: the caller's contract.
    unsafe {
        if R == 16 {
            let z = w.get(lanes, 0);
            for j in 0..8 {
                pair(lanes, x, j, j + 8, z);
            }
            let (z, y) = (w.get(lanes, 1), w.get(lanes, 2));
            for j in 0..4 {
                pair(lanes, x, j, j + 4, z);
            }
            for j in 8..12 {
                pair(lanes, x, j, j + 4, y);
            }
            for i in 0..4 {
                let z = w.get(lanes, 3 + i);
                pair(lanes, x, 4 * i, 4 * i + 2, z);
                pair(lanes, x, 4 * i + 1, 4 * i + 3, z);
            }
            for i in 0..8 {
                pair(lanes, x, 2 * i, 2 * i + 1, w.get(lanes, 7 + i));
            }
        } else if R == 8 {
            let z = w.get(lanes, 0);
            for j in 0..4 {
                pair(lanes, x, j, j + 4, z);
            }
            for i in 0..2 {
                let z = w.get(lanes, 1 + i);
                pair(lanes, x, 4 * i, 4 * i + 2, z);
                pair(lanes, x, 4 * i + 1, 4 * i + 3, z);
            }
            for i in 0..4 {
                pair(lanes, x, 2 * i, 2 * i + 1, w.get(lanes, 3 + i));
            }
        } else if R == 4 {
            let z = w.get(lanes, 0);
            pair(lanes, x, 0, 2, z);
            pair(lanes, x, 1, 3, z);
            for i in 0..2 {
                pair(lanes, x, 2 * i, 2 * i + 1, w.get(lanes, 1 + i));
            }
        } else if R == 2 {
            pair(lanes, x, 0, 1, w.get(lanes, 0));
        }
    }
}

/// The levels of one block upwards on R vectors; R − 1 factors. If `DFT` is set, the first factor of each level is one
/// and the block is a transform of R points.
///
/// # Safety
/// The factors are readable.
#[inline(always)]
unsafe fn up<L: Lanes, T: Twiddles<L>, const R: usize, const DFT: bool>(lanes: L, x: &mut [L::Vector; R], w: T) {
    // SAFETY: the caller's contract.
    unsafe {
        if R >= 2 {
            if DFT {
                for i in 0..R / 2 {
                    pair_one(lanes, x, 2 * i, 2 * i + 1, true);
                }
            } else {
                let z = w.get(lanes, 0);
                for i in 0..R / 2 {
                    pair(lanes, x, 2 * i, 2 * i + 1, z);
                }
            }
        }
        if R >= 4 {
            if DFT {
                for i in 0..R / 4 {
                    pair_one(lanes, x, 4 * i, 4 * i + 2, false);
                }
            } else {
                let z = w.get(lanes, 1);
                for i in 0..R / 4 {
                    pair(lanes, x, 4 * i, 4 * i + 2, z);
                }
            }
            let z = w.get(lanes, 2);
            for i in 0..R / 4 {
                pair(lanes, x, 4 * i + 1, 4 * i + 3, z);
            }
        }
        if R >= 8 {
            for i in 0..R / 8 {
                if DFT {
                    pair_one(lanes, x, 8 * i, 8 * i + 4, false);
                } else {
                    pair(lanes, x, 8 * i, 8 * i + 4, w.get(lanes, 3));
                }
            }
            for s in 1..4 {
                let z = w.get(lanes, 3 + s);
                for i in 0..R / 8 {
                    pair(lanes, x, 8 * i + s, 8 * i + s + 4, z);
                }
            }
        }
        if R >= 16 {
            if DFT {
                pair_one(lanes, x, 0, 8, false);
            } else {
                pair(lanes, x, 0, 8, w.get(lanes, 7));
            }
            for s in 1..8 {
                pair(lanes, x, s, s + 8, w.get(lanes, 7 + s));
            }
        }
    }
}

/// Makes all vectors canonical. It is a loop, because `map` would call a closure that lacks the CPU features.
#[inline(always)]
fn make_canonical<L: Lanes>(lanes: L, x: &mut [L::Vector]) {
    for x in x {
        *x = lanes.canonical(*x);
    }
}

/// One pass of log2 R levels downwards over a block whose sub-blocks have `stride` words. It is out of place if `to` is
/// not `from`. `FIRST` marks the first pass.
///
/// # Safety
/// R sub-blocks are readable at `from`, `from_stride` words apart, and writable at `to`, `stride` words apart; `stride`
/// is a multiple of LANES; R − 1 factors are readable.
#[inline(always)]
unsafe fn pass_down<L: Lanes, const R: usize, const FIRST: bool>(
    lanes: L,
    from: *const L::Word,
    from_stride: usize,
    to: *mut L::Word,
    stride: usize,
    width: usize,
    factors: *const L::Word,
) {
    for j in (0..width).step_by(L::LANES) {
        // SAFETY: j + LANES ≤ width ≤ stride.
        unsafe {
            let mut x = load::<L, R>(lanes, from.add(j), from_stride);
            if FIRST {
                lanes.enter_forward(&mut x);
            }
            down(lanes, &mut x, Splat(factors));
            store(lanes, x, to.add(j), stride);
        }
    }
}

/// [`pass_down`] with the number of levels chosen at run time, for one block in place.
///
/// # Safety
/// As for [`pass_down`], for 2^`levels` sub-blocks.
#[inline(always)]
unsafe fn block_down<L: Lanes>(lanes: L, at: *mut L::Word, len: usize, levels: u32, factors: *const L::Word) {
    let stride = len >> levels;
    // SAFETY: the caller's contract.
    unsafe {
        match levels {
            1 => pass_down::<L, 2, false>(lanes, at, stride, at, stride, stride, factors),
            2 => pass_down::<L, 4, false>(lanes, at, stride, at, stride, stride, factors),
            3 => pass_down::<L, 8, false>(lanes, at, stride, at, stride, stride, factors),
            _ => pass_down::<L, 16, false>(lanes, at, stride, at, stride, stride, factors),
        }
    }
}

/// The first pass over `width` columns, out of place if `to` is not `from`.
///
/// # Safety
/// As for [`pass_down`], for 2^`levels` sub-blocks.
#[inline(always)]
unsafe fn first_down<L: Lanes>(
    lanes: L,
    (from, from_stride): (*const L::Word, usize),
    (to, stride): (*mut L::Word, usize),
    width: usize,
    levels: u32,
    factors: *const L::Word,
) {
    // SAFETY: the caller's contract.
    unsafe {
        match levels {
            1 => pass_down::<L, 2, true>(lanes, from, from_stride, to, stride, width, factors),
            2 => pass_down::<L, 4, true>(lanes, from, from_stride, to, stride, width, factors),
            _ => pass_down::<L, 8, true>(lanes, from, from_stride, to, stride, width, factors),
        }
    }
}

/// One pass of log2 R levels upwards over a block, in place.
///
/// # Safety
/// R sub-blocks of `stride` words are writable at `at`; `stride` is a multiple of LANES; R − 1 vectors of factors are
/// readable for each vector of a sub-block.
#[inline(always)]
unsafe fn pass_up<L: Lanes, const R: usize>(lanes: L, at: *mut L::Word, stride: usize, factors: *const L::Word) {
    let mut factors = factors;
    for j in (0..stride).step_by(L::LANES) {
        // SAFETY: j + LANES ≤ stride.
        unsafe {
            let mut x = load::<L, R>(lanes, at.add(j), stride);
            up::<L, _, R, false>(lanes, &mut x, Vectors(factors));
            store(lanes, x, at.add(j), stride);
            factors = factors.add(2 * (R - 1) * L::LANES);
        }
    }
}

/// [`pass_up`] with the number of levels chosen at run time, for a block of `len` words.
///
/// # Safety
/// As for [`pass_up`].
#[inline(always)]
unsafe fn block_up<L: Lanes>(lanes: L, at: *mut L::Word, len: usize, levels: u32, factors: *const L::Word) {
    let stride = len >> levels;
    // SAFETY: the caller's contract.
    unsafe {
        match levels {
            1 => pass_up::<L, 2>(lanes, at, stride, factors),
            2 => pass_up::<L, 4>(lanes, at, stride, factors),
            3 => pass_up::<L, 8>(lanes, at, stride, factors),
            _ => pass_up::<L, 16>(lanes, at, stride, factors),
        }
    }
}

/// The last inverse pass, out of place if `to` is not `from`: products, a transform of R points, products.
///
/// # Safety
/// R sub-blocks of `stride` words, a multiple of LANES, are readable at `from` and writable at `to`; the factors are
/// readable.
#[inline(always)]
unsafe fn last_up<L: Lanes, const R: usize>(
    lanes: L,
    from: *const L::Word,
    to: *mut L::Word,
    stride: usize,
    tables: &Tables<L::Word>,
) {
    let mut factors = tables.inverse_last.as_ptr();
    let (dft, scale) = (tables.dft.as_ptr(), Splat(tables.inverse_scale.as_ptr()));
    for j in (0..stride).step_by(L::LANES) {
        // SAFETY: j + LANES ≤ stride; the tables hold R vectors of factors for each j, and R factors in `scale`.
        unsafe {
            let mut x = load::<L, R>(lanes, from.add(j), stride);
            for (k, x) in x.iter_mut().enumerate() {
                *x = lanes.product(*x, Vectors(factors).get(lanes, k));
            }
            factors = factors.add(2 * R * L::LANES);
            lanes.enter_dft(&mut x, true);
            up::<L, _, R, true>(lanes, &mut x, Splat(dft));
            for (k, x) in x.iter_mut().enumerate() {
                *x = lanes.canonical_product(lanes.product(*x, scale.get(lanes, k)));
            }
            store(lanes, x, to.add(j), stride);
        }
    }
}

/// All levels of the tile at `at` downwards, with its record of factors; the result is canonical.
///
/// # Safety
/// ROWS = R vectors are writable; the record is readable.
#[inline(always)]
unsafe fn tile_down<L: Lanes, const R: usize>(lanes: L, at: *mut L::Word, factors: *const L::Word) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut x = load::<L, R>(lanes, at, L::LANES);
        down(lanes, &mut x, Splat(factors));
        let mut factors = factors.add(2 * R);
        if L::LANES > 1 {
            for square in x.chunks_exact_mut(L::LANES) {
                lanes.transpose(square);
                let w = Vectors(factors);
                match L::LANES {
                    4 => down(lanes, as_array::<_, 4>(square), w),
                    8 => down(lanes, as_array::<_, 8>(square), w),
                    _ => down(lanes, as_array::<_, 16>(square), w),
                }
                factors = factors.add(2 * (L::LANES - 1) * L::LANES);
            }
        }
        make_canonical(lanes, &mut x);
        store(lanes, x, at, L::LANES);
    }
}

/// All levels of the tile at `at` upwards.
///
/// # Safety
/// ROWS = R vectors are writable.
#[inline(always)]
unsafe fn tile_up<L: Lanes, const R: usize>(lanes: L, at: *mut L::Word, tables: &Tables<L::Word>) {
    let dft = Splat(tables.dft.as_ptr());
    // SAFETY: the caller's contract; the tables hold the factors for ROWS and LANES points.
    unsafe {
        let mut x = load::<L, R>(lanes, at, L::LANES);
        if L::LANES == 1 {
            lanes.enter_dft(&mut x, false);
            up::<L, _, R, true>(lanes, &mut x, dft);
        } else {
            for square in x.chunks_exact_mut(L::LANES) {
                lanes.enter_dft(square, false);
                match L::LANES {
                    4 => up::<L, _, 4, true>(lanes, as_array(square), dft),
                    8 => up::<L, _, 8, true>(lanes, as_array(square), dft),
                    _ => up::<L, _, 16, true>(lanes, as_array(square), dft),
                }
                lanes.transpose(square);
            }
            up::<L, _, R, false>(lanes, &mut x, Vectors(tables.inverse_tile.as_ptr()));
        }
        store(lanes, x, at, L::LANES);
    }
}

/// The slice as an array of its length.
#[inline(always)]
fn as_array<V, const R: usize>(x: &mut [V]) -> &mut [V; R] {
    x.try_into().expect("a square has LANES rows")
}

/// The length in words of the blocks that are finished one after the other, and the number of passes over longer
/// blocks. The first pass always belongs to the latter.
fn near<W: NttWord>(tables: &Tables<W>) -> (usize, usize) {
    let mut len = tables.polynomial_size;
    let mut far = 0;
    for &levels in &tables.passes {
        if far > 0 && len * size_of::<W>() <= NEAR_BYTES {
            break;
        }
        len >>= levels;
        far += 1;
    }
    (len, far)
}

/// Forward transform of `source`, or of `out` itself.
///
/// # Safety
/// The CPU has the features of `L`. `tables` were made for `L`; `source` and `out` have its length.
#[inline(always)]
pub(super) unsafe fn forward<L: Lanes>(
    tables: &Tables<L::Word>,
    source: Option<&dyn CoefficientSource<L::Word>>,
    out: &mut [L::Word],
) {
    let n = tables.polynomial_size;
    debug_assert!(out.len() == n && source.is_none_or(|s| s.len() == n));
    // SAFETY: the caller vouches for the CPU.
    let lanes = unsafe { L::new(&tables.constants) };
    let out = out.as_mut_ptr();
    let levels = tables.passes[0];
    let stride = n >> levels;
    let factors = tables.forward[0].as_ptr();
    // SAFETY: the source and `out` are 2^levels segments of `stride` words each; the buffer has as many of SOURCE_TILE.
    unsafe {
        match source.map(|s| (s, s.view())) {
            None => first_down(lanes, (out, stride), (out, stride), stride, levels, factors),
            Some((_, SourceView::Slice(words))) => {
                assert_eq!(words.len(), n, "length of the source");
                first_down(lanes, (words.as_ptr(), stride), (out, stride), stride, levels, factors);
            }
            Some((source, _)) => {
                let width = stride.min(SOURCE_TILE);
                let mut buffer = [[L::Word::default(); SOURCE_TILE]; 8];
                for start in (0..stride).step_by(width) {
                    for (segment, tile) in buffer[..1 << levels].iter_mut().enumerate() {
                        source.read(segment * stride + start, &mut tile[..width]);
                    }
                    let from = buffer.as_ptr().cast();
                    first_down(lanes, (from, SOURCE_TILE), (out.add(start), stride), width, levels, factors);
                }
            }
        }
    }
    let (near_len, far) = near(tables);
    let tile_len = L::ROWS * L::LANES;
    for start in (0..n).step_by(near_len) {
        let mut len = stride;
        for k in 1..tables.passes.len() {
            let levels = tables.passes[k];
            let record = 2 * ((1 << levels) - 1);
            let factors = tables.forward[k].as_ptr();
            // A long block is divided when its first part is due, and the short blocks of this part now.
            let count = if k < far { usize::from(start % len == 0) } else { near_len / len };
            for block in 0..count {
                let at = start + block * len;
                // SAFETY: blocks of `len` words partition `out`, and the table has a record for each.
                unsafe { block_down(lanes, out.add(at), len, levels, factors.add(at / len * record)) }
            }
            len >>= levels;
        }
        let mut record = start / tile_len * tile_record::<L>();
        for at in (start..start + near_len).step_by(tile_len) {
            // SAFETY: tiles partition `out`, and the table has a record for each.
            unsafe {
                let factors = tables.forward_tiles.as_ptr().add(record);
                if L::ROWS == 8 {
                    tile_down::<L, 8>(lanes, out.add(at), factors);
                } else {
                    tile_down::<L, 16>(lanes, out.add(at), factors);
                }
            }
            record += tile_record::<L>();
        }
    }
}

/// Inverse transform, divided by N, from `spectrum` to `to`; both may be the same memory.
///
/// # Safety
/// The CPU has the features of `L`. `tables` were made for `L`; `spectrum` has its length, and as many words are
/// writable at `to`.
#[inline(always)]
pub(super) unsafe fn inverse<L: Lanes>(tables: &Tables<L::Word>, spectrum: *mut L::Word, to: *mut L::Word) {
    let n = tables.polynomial_size;
    // SAFETY: the caller vouches for the CPU.
    let lanes = unsafe { L::new(&tables.constants) };
    let first = tables.passes[0];
    let (near_len, far) = near(tables);
    let tile_len = L::ROWS * L::LANES;
    for start in (0..n).step_by(near_len) {
        for at in (start..start + near_len).step_by(tile_len) {
            // SAFETY: tiles partition the spectrum.
            unsafe {
                if L::ROWS == 8 {
                    tile_up::<L, 8>(lanes, spectrum.add(at), tables);
                } else {
                    tile_up::<L, 16>(lanes, spectrum.add(at), tables);
                }
            }
        }
        let mut len = tile_len;
        for k in (1..tables.passes.len()).rev() {
            let levels = tables.passes[k];
            len <<= levels;
            let end = start + near_len;
            // The short blocks of this part, or a long block that this part completes.
            let (first, count) =
                if k >= far { (start, near_len / len) } else { (end.wrapping_sub(len), usize::from(end % len == 0)) };
            for block in 0..count {
                // SAFETY: blocks of `len` words partition the spectrum.
                unsafe { block_up(lanes, spectrum.add(first + block * len), len, levels, tables.inverse[k].as_ptr()) }
            }
        }
    }
    // SAFETY: the caller's contract; `first` is 1, 2 or 3.
    unsafe {
        match first {
            1 => last_up::<L, 2>(lanes, spectrum, to, n / 2, tables),
            2 => last_up::<L, 4>(lanes, spectrum, to, n / 4, tables),
            _ => last_up::<L, 8>(lanes, spectrum, to, n / 8, tables),
        }
    }
}

/// lhs ← lhs ∘ rhs, all canonical.
///
/// # Safety
/// The CPU has the features of `L`. Both have the length for which `tables` were made.
#[inline(always)]
pub(super) unsafe fn multiply<L: Lanes>(tables: &Tables<L::Word>, lhs: &mut [L::Word], rhs: &[L::Word]) {
    debug_assert!(lhs.len() == tables.polynomial_size && rhs.len() == lhs.len());
    // SAFETY: the caller vouches for the CPU; N is a multiple of LANES.
    unsafe {
        let lanes = L::new(&tables.constants);
        for j in (0..lhs.len()).step_by(L::LANES) {
            let at = lhs.as_mut_ptr().add(j);
            let product = lanes.multiply(lanes.load(at), lanes.load(rhs.as_ptr().add(j)));
            lanes.store(product, at);
        }
    }
}

/// acc += Σ_r lhs_r ∘ rhs_r, all canonical.
///
/// # Safety
/// The CPU has the features of `L`. `acc` has the length N for which `tables` were made; `lhs` and `rhs` hold the same
/// number of rows of N words.
#[inline(always)]
pub(super) unsafe fn multiply_accumulate<L: Lanes>(
    tables: &Tables<L::Word>,
    acc: &mut [L::Word],
    lhs: &[L::Word],
    rhs: &[L::Word],
) {
    let n = tables.polynomial_size;
    debug_assert!(acc.len() == n && lhs.len() == rhs.len() && lhs.len().is_multiple_of(n));
    // SAFETY: the caller vouches for the CPU.
    let lanes = unsafe { L::new(&tables.constants) };
    for (lhs, rhs) in lhs.chunks(L::MAX_TERMS * n).zip(rhs.chunks(L::MAX_TERMS * n)) {
        let rows = lhs.len() / n;
        for j in (0..n).step_by(L::LANES) {
            // SAFETY: j + LANES ≤ n, and `rows` rows of n words follow each other.
            unsafe {
                let at = acc.as_mut_ptr().add(j);
                let sum = lanes.dot(lanes.load(at), lhs.as_ptr().add(j), rhs.as_ptr().add(j), n, rows);
                lanes.store(sum, at);
            }
        }
    }
}
