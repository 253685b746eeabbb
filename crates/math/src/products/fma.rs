//! Products of spectra with AVX2 and its fused multiply-add of doubles, p < 2^50. It serves CPUs without IFMA.
//!
//! A product x·y < 2^100 of two integers is split into a multiple of 2^51 and a rest, after N. Emmart, F. Zheng and C.
//! Weems, "Faster modular exponentiation using double precision floating point arithmetic on the GPU", ARITH 2018, but
//! with the CPU's usual rounding to nearest:
//!
//! - h = RN(x·y + 2^103) is a multiple of 2^51, because doubles from 2^103 to 2^104 are. Its pattern is that of 2^103
//!   plus the integer u = (h − 2^103)/2^51 ≤ 2^49.
//! - d = (2^103 + 3·2^51) − h is exact, because both are multiples of 2^51.
//! - l = x·y + d = 3·2^51 + v with v = x·y − u·2^51, |v| ≤ 2^50, is exact, and its pattern is that of 3·2^51 plus v.
//!
//! So two integer additions of patterns sum u and v. The start of a sum takes off the patterns of the constants, for all
//! T products at once. It also moves 2^62 from the sum of u to that of v, which is then positive for T ≤ 4095. Such a
//! sum is reduced once: with the carry, Σ x·y = U·2^51 + V and V < 2^51. U·(2^51 mod p) is a product with one factor of
//! the transforms' [`Fma`], which needs U < 2^52. `max_terms` is the greatest number of products for which this holds,
//! at least 7. U of more products, below 2^61, is split at 2^32.
//!
//! **Floor.** Two fused multiply-adds, a subtraction and two integer additions are 1.25 cycles for four products on
//! cores with four ports for vectors (Zen) and 1.67 with three (Intel). A factor is unpacked to doubles in four
//! instructions and serves two products: 1.75 (2.33) cycles for four products. Measured on a Zen 3 core at 3.2 GHz for
//! N = 4096 and primes of 46 bits, against sums of 128 bits (`loops.rs`):
//!
//! | operation | products | floor | measured | 128 bits |
//! | --- | --- | --- | --- | --- |
//! | matrix, 4 × 16 | 524 288 | 72 µs | 195 µs | 623 µs |
//! | matrix, 32 × 64 | 16.8 M | 2.3 ms | 6.2 ms | 20.7 ms |
//! | key product, two digits and a head | 20 480 | 2.8 µs, and 2.9 µs for the reductions | 18.4 µs | 57.6 µs |

use std::arch::x86_64::*;

use super::matrix::{GROUP, group_size};
use super::orbit::Rotation;
use super::{KeyBlock, LANES, MatrixBlock, Output, SumPart, VectorBlock};
use crate::Modulus;
use crate::ntt::prime::fma::{Factor, Fma, ROUND};
use crate::ntt::prime::lanes::{Lanes, MAX_CONSTANTS};

/// The greatest length of p in bits.
pub(super) const MAX_BITS: u32 = 50;

/// The number of products whose rests can always be summed with a canonical value.
pub(super) const MAX_TERMS: usize = 4095;

/// Doubles of a vector.
const WIDTH: usize = 4;

/// Bits of a rest.
const SPLIT: u32 = 51;

/// 2^103, whose unit in the last place is 2^51.
const UPPER: f64 = (1u128 << 103) as f64;

/// The constants of a modulus p.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    /// Those of [`Residues`].
    residues: [u64; MAX_CONSTANTS],
    /// 2^51 and 2^83 modulo p, as factors of [`Residues`].
    factors: [[u64; 2]; 2],
    /// The number of products whose sum, with a canonical value, is below 2^103.
    max_terms: usize,
}

impl Constants {
    pub(super) fn new(modulus: Modulus) -> Self {
        debug_assert!(modulus.bits() <= MAX_BITS);
        let p = modulus.value();
        let factor = |bits: u32| Residues::prepare(modulus, modulus.reduce_u128(1 << bits));
        let square = u128::from(p - 1) * u128::from(p - 1);
        let max_terms = (((1 << 103) - u128::from(p)) / square).min(MAX_TERMS as u128) as usize;
        Constants { residues: Residues::constants(modulus, 0), factors: [factor(SPLIT), factor(SPLIT + 32)], max_terms }
    }
}

/// Residues modulo p in the lanes.
type Residues = Fma<__m256d, MAX_BITS>;

/// The sums of the upper parts and of the rests.
type Sum = [__m256i; 2];

/// The constants of sums and reductions, in registers.
#[derive(Clone, Copy)]
struct Registers {
    residues: Residues,
    factors: [Factor<__m256d>; 2],
}

impl Registers {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(c: &Constants) -> Self {
        // SAFETY: the CPU has the features; a factor has two words.
        unsafe {
            let residues = Residues::new(&c.residues);
            Self { residues, factors: c.factors.each_ref().map(|factor| residues.twiddle_splat(factor.as_ptr())) }
        }
    }

    /// The start of a sum of `terms` products. Canonical words may be added to its second element.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn start(self, terms: usize) -> Sum {
        let start = |moved: i64, constant: f64| {
            let patterns = (terms as i64).wrapping_mul(constant.to_bits() as i64);
            _mm256_set1_epi64x(moved.wrapping_sub(patterns))
        };
        [start(-1 << (62 - SPLIT), UPPER), start(1 << 62, ROUND)]
    }

    /// Adds x·y.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add_product(self, [upper, rest]: &mut Sum, x: __m256d, y: __m256d) {
        let h = _mm256_fmadd_pd(x, y, _mm256_set1_pd(UPPER));
        let d = _mm256_sub_pd(_mm256_set1_pd(UPPER + ROUND), h);
        let l = _mm256_fmadd_pd(x, y, d);
        *upper = _mm256_add_epi64(*upper, _mm256_castpd_si256(h));
        *rest = _mm256_add_epi64(*rest, _mm256_castpd_si256(l));
    }

    /// Integers below 2^52 as doubles.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn enter(self, words: __m256i) -> __m256d {
        self.residues.enter(_mm256_castsi256_pd(words))
    }

    /// Writes integers below 2^52 as doubles.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn enter_all(self, words: &[u64], out: &mut [f64]) {
        for (words, out) in words.as_chunks::<WIDTH>().0.iter().zip(out.as_chunks_mut::<WIDTH>().0) {
            // SAFETY: four words each.
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), self.enter(_mm256_loadu_si256(words.as_ptr().cast()))) }
        }
    }

    /// The canonical residues of a sum of at most `max_terms` products, or with `MANY` of at most [`MAX_TERMS`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn reduce<const MANY: bool>(self, [upper, rest]: Sum) -> __m256i {
        let upper = _mm256_add_epi64(upper, _mm256_srli_epi64::<{ SPLIT as i32 }>(rest));
        let rest = _mm256_and_si256(rest, _mm256_set1_epi64x((1 << SPLIT) - 1));
        let sum = if MANY {
            let low = _mm256_and_si256(upper, _mm256_set1_epi64x((1 << 32) - 1));
            let low = self.residues.product(self.enter(low), self.factors[0]);
            let high = self.residues.product(self.enter(_mm256_srli_epi64::<32>(upper)), self.factors[1]);
            _mm256_add_pd(low, high)
        } else {
            self.residues.product(self.enter(upper), self.factors[0])
        };
        // Below 2^51 + 2·0.75·p < 2^53 in magnitude.
        _mm256_castpd_si256(self.residues.canonical(_mm256_add_pd(sum, self.enter(rest))))
    }
}

/// The shuffle that brings four packed words to the lanes.
#[derive(Clone, Copy)]
struct Unpacking {
    /// Bytes of a word.
    width: usize,
    index: __m256i,
}

impl Unpacking {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(width: usize) -> Self {
        // Each half of the register holds two words; bit 7 makes a byte zero.
        let index: [u8; 32] = std::array::from_fn(|byte| match (byte % 16 / 8, byte % 8) {
            (word, byte) if byte < width => (word * width + byte) as u8,
            _ => 0x80,
        });
        // SAFETY: 32 bytes.
        Self { width, index: unsafe { _mm256_loadu_si256(index.as_ptr().cast()) } }
    }

    /// Words `4·half` … `4·half + 3` of the block at `packed`.
    ///
    /// # Safety
    /// The CPU has AVX2; eight 64-bit words can be read at `packed`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(self, packed: *const u64, half: usize) -> __m256i {
        // SAFETY: the caller's contract; the last byte is at most 7·8 + 7.
        unsafe {
            let packed = packed.byte_add(half * WIDTH * self.width);
            let first = _mm_loadu_si128(packed.cast());
            let second = _mm_loadu_si128(packed.byte_add(2 * self.width).cast());
            _mm256_shuffle_epi8(_mm256_set_m128i(second, first), self.index)
        }
    }
}

/// See [`ProductKernels::key_products`](super::ProductKernels::key_products).
///
/// # Safety
/// The CPU has AVX2 and FMA. The key has as many digits as `digits`, fewer than [`MAX_TERMS`].
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn key_products(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    out: Output<'_>,
    accumulate: bool,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if digits.len() + usize::from(head.is_some()) > c.max_terms {
            key_products_of::<true>(c, rotation, digits, head, key, out, accumulate);
        } else {
            key_products_of::<false>(c, rotation, digits, head, key, out, accumulate);
        }
    }
}

/// # Safety
/// As for [`key_products`].
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn key_products_of<const MANY: bool>(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    mut out: Output<'_>,
    accumulate: bool,
) {
    let (registers, unpacking) = (Registers::new(c), Unpacking::new(key.width()));
    let terms = digits.len() + usize::from(head.is_some());
    for index in out.window().step_by(LANES) {
        let out = out.block(index);
        let key = key.words(index).as_ptr();
        for half in 0..LANES / WIDTH {
            let at = index + half * WIDTH;
            let mut sums = [registers.start(terms), registers.start(digits.len())];
            if accumulate {
                for part in 0..2 {
                    // SAFETY: a block has eight words.
                    let acc = unsafe { _mm256_loadu_si256(out[part][half * WIDTH..].as_ptr().cast()) };
                    sums[part][1] = _mm256_add_epi64(sums[part][1], acc);
                }
            }
            if let Some((head, factor)) = head {
                let factor = _mm256_set1_pd(factor as f64);
                registers.add_product(&mut sums[0], registers.enter(load(rotation, head, at)), factor);
            }
            for (d, digit) in digits.iter().enumerate() {
                let digit = registers.enter(load(rotation, digit, at));
                for (part, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: `key` has eight words from any of its packed blocks on.
                    let word = unsafe { unpacking.load(key.add((2 * d + part) * unpacking.width), half) };
                    registers.add_product(sum, digit, registers.enter(word));
                }
            }
            for part in 0..2 {
                let out = out[part][half * WIDTH..][..WIDTH].as_mut_ptr();
                // SAFETY: four words.
                unsafe { _mm256_storeu_si256(out.cast(), registers.reduce::<MANY>(sums[part])) };
            }
        }
    }
}

/// Words `index` … `index` + 3 of the rotated spectrum; `index` is a multiple of 4.
#[inline]
#[target_feature(enable = "avx2")]
fn load(rotation: &Rotation, spectrum: &[u64], index: usize) -> __m256i {
    let at = rotation.source(index);
    if at & (rotation.sequence - 1) <= rotation.sequence - WIDTH {
        // SAFETY: four words.
        unsafe { _mm256_loadu_si256(spectrum[at..][..WIDTH].as_ptr().cast()) }
    } else {
        let word = |i| spectrum[rotation.source(index + i)] as i64;
        _mm256_setr_epi64x(word(0), word(1), word(2), word(3))
    }
}

/// See [`ProductKernels::multiply`](super::ProductKernels::multiply).
///
/// # Safety
/// The CPU has AVX2 and FMA, and the shapes match.
#[target_feature(enable = "avx2,fma")]
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
/// the first cache for all vectors. The vectors' words become doubles once for all rows.
///
/// # Safety
/// As for [`multiply`].
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_all<const MANY: bool>(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    sums: &mut SumPart<'_>,
    accumulate: bool,
) {
    let (rows, columns, width) = (matrix.rows(), matrix.columns(), matrix.width());
    let (registers, unpacking) = (Registers::new(c), Unpacking::new(width));
    let mut entries = vec![0.0; vectors.stride()];
    for (block, words) in vectors.blocks().zip(vectors.words.chunks_exact(vectors.stride())) {
        registers.enter_all(words, &mut entries);
        for start in sums.rows.clone().step_by(GROUP) {
            let size = group_size(rows, start);
            let products = Products { registers, unpacking, columns, size, accumulate };
            for v in 0..sums.vectors {
                let x = entries[v * columns * 2 * LANES..].as_ptr();
                for row in 0..size {
                    let first = (start + row - sums.rows.start) * sums.vectors + v;
                    // SAFETY: block, rows and vectors lie in the slices.
                    unsafe {
                        let matrix = matrix.words().as_ptr().add(((block * rows + start) * columns + row) * width);
                        let out = sums.words.as_mut_ptr().add(2 * first * sums.stride() + block * LANES);
                        products.row::<MANY>(matrix, x, [out, out.add(sums.stride())]);
                    }
                }
            }
        }
    }
}

/// The operands common to all rows of a group.
struct Products {
    registers: Registers,
    unpacking: Unpacking,
    columns: usize,
    /// The rows of the group.
    size: usize,
    accumulate: bool,
}

impl Products {
    /// One block of a row's products with one vector.
    ///
    /// # Safety
    /// As for [`multiply`]; the pointers are to the block's words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    #[expect(clippy::needless_range_loop, reason = "with iterators the sums do not stay in registers")]
    unsafe fn row<const MANY: bool>(&self, matrix: *const u64, x: *const f64, out: [*mut u64; 2]) {
        let (registers, unpacking) = (self.registers, self.unpacking);
        let step = self.size * unpacking.width;
        for half in 0..LANES / WIDTH {
            // SAFETY: the caller's contract; a prefetch may be of any address.
            unsafe {
                let at = |part: usize| out[part].add(half * WIDTH).cast::<__m256i>();
                let mut results = [_mm256_setzero_si256(); 2];
                if self.accumulate {
                    for part in 0..2 {
                        results[part] = _mm256_loadu_si256(at(part));
                    }
                }
                for first in (0..self.columns).step_by(MAX_TERMS) {
                    let end = self.columns.min(first + MAX_TERMS);
                    let mut sums = [registers.start(end - first); 2];
                    for part in 0..2 {
                        sums[part][1] = _mm256_add_epi64(sums[part][1], results[part]);
                    }
                    for column in first..end {
                        let packed = matrix.add(column * step);
                        if half == 0 {
                            // The same row and column of the next group.
                            _mm_prefetch::<_MM_HINT_T0>(packed.wrapping_add(self.columns * step).cast());
                        }
                        let factor = registers.enter(unpacking.load(packed, half));
                        for part in 0..2 {
                            let x = _mm256_loadu_pd(x.add((2 * column + part) * LANES + half * WIDTH));
                            registers.add_product(&mut sums[part], factor, x);
                        }
                    }
                    for part in 0..2 {
                        results[part] = registers.reduce::<MANY>(sums[part]);
                    }
                }
                for part in 0..2 {
                    _mm256_storeu_si256(at(part), results[part]);
                }
            }
        }
    }
}
