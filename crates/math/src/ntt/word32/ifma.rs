//! Eight 64-bit lanes with the 52-bit multiply-add of AVX-512 IFMA. The parent module's documentation states the
//! ranges.

use std::arch::x86_64::*;

use super::lanes::{Bias, Lanes, OfTile, Roots, forward_levels, inverse_levels};
use crate::modulus::Modulus;
use crate::ntt::transpose::transpose;

/// Constants in all lanes. With `SHORT` the tile tables hold three of a block's seven factors, and the others are
/// products of these and units. That costs five products per tile and saves four sevenths of the bytes.
#[derive(Clone, Copy)]
pub(super) struct Ifma<const SHORT: bool> {
    p: u64,
    /// p in both halves of a lane.
    p_32: __m512i,
    /// 2^52 − p.
    minus_p: __m512i,
    /// ⌊2^52/p⌋.
    reciprocal: __m512i,
}

/// A multiplier w < p and ⌊w·2^52/p⌋.
#[derive(Clone, Copy)]
pub(super) struct Root {
    w: __m512i,
    quotient: __m512i,
}

impl<const SHORT: bool> Ifma<SHORT> {
    /// `multiple`·p.
    #[inline(always)]
    unsafe fn multiple(self, multiple: u64) -> __m512i {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_set1_epi64((multiple * self.p) as i64) }
    }

    /// addend + w·x − q·p, below `addend` + 2p modulo 2^52.
    #[inline(always)]
    unsafe fn mul_add(self, addend: __m512i, x: __m512i, w: Root) -> __m512i {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let q = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, w.quotient);
            _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(addend, x, w.w), q, self.minus_p)
        }
    }

    /// x modulo p, below 2p modulo 2^52.
    #[inline(always)]
    unsafe fn reduce(self, x: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let q = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, self.reciprocal);
            _mm512_madd52lo_epu64(x, q, self.minus_p)
        }
    }

    /// The first two levels of a tile, and the units' part of the third.
    #[inline(always)]
    unsafe fn forward_short(self, x: &mut [__m512i; 8], units: &[[u64; 2]; 3], roots: OfTile<Self>) {
        // SAFETY: the caller vouches for the CPU and the table.
        unsafe {
            let (first, second) = (roots.get(0), roots.get(1));
            let [w4, w8, w8_cubed] =
                [Self::broadcast(&units[0]), Self::broadcast(&units[1]), Self::broadcast(&units[2])];
            for i in 0..4 {
                (x[i], x[i + 4]) = self.cooley_tukey(x[i], x[i + 4], first);
            }
            for i in 0..2 {
                (x[i], x[i + 2]) = self.cooley_tukey(x[i], x[i + 2], second);
                let y = self.mul(x[i + 6], w4);
                (x[i + 4], x[i + 6]) = self.cooley_tukey(x[i + 4], y, second);
            }
            x[3] = self.mul(x[3], w4);
            x[5] = self.mul(x[5], w8);
            x[7] = self.mul(x[7], w8_cubed);
        }
    }

    /// The three levels of a tile backwards. Products by units are in `[0, 2p)`; the biases are those of
    /// `inverse_level`.
    #[inline(always)]
    unsafe fn inverse_short(self, x: &mut [__m512i; 8], units: &[[u64; 2]; 3], roots: OfTile<Self>) {
        // SAFETY: the caller vouches for the CPU and the table.
        unsafe {
            let [first, second, third] = [roots.get(0), roots.get(1), roots.get(2)];
            let [w4, w8, w8_cubed] =
                [Self::broadcast(&units[0]), Self::broadcast(&units[1]), Self::broadcast(&units[2])];
            for i in 0..4 {
                (x[2 * i], x[2 * i + 1]) = self.gentleman_sande(x[2 * i], x[2 * i + 1], third, Bias::None);
            }
            // The units' products enter minuends and subtrahends alike, so they include the bias.
            x[3] = self.mul(x[3], w4);
            x[5] = self.mul_add(self.multiple(2), x[5], w8);
            x[7] = self.mul(x[7], w8_cubed);
            x[1] = _mm512_add_epi64(x[1], self.multiple(8));
            for i in 0..2 {
                (x[i], x[i + 2]) = self.gentleman_sande(x[i], x[i + 2], second, Bias::Sum);
                let (sum, product) = self.gentleman_sande(x[i + 4], x[i + 6], second, Bias::None);
                (x[i + 4], x[i + 6]) = (sum, self.mul(product, w4));
            }
            for i in 0..4 {
                (x[i], x[i + 4]) = self.gentleman_sande(x[i], x[i + 4], first, Bias::None);
            }
        }
    }

    /// The lower halves of the lanes of `a` and `b`, alternating, from `[0, 2p)` to `[0, p)`.
    #[inline(always)]
    unsafe fn pack(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the CPU.
        unsafe { self.correct(_mm512_mask_shuffle_epi32::<0b10_10_00_00>(a, 0xaaaa, b)) }
    }

    /// From `[0, 2p)` to `[0, p)` in 32-bit lanes.
    #[inline(always)]
    unsafe fn correct(self, x: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_min_epu32(x, _mm512_sub_epi32(x, self.p_32)) }
    }
}

impl<const SHORT: bool> Lanes for Ifma<SHORT> {
    const LANES: usize = 8;
    const TILE_ROOTS: &'static [usize] = if SHORT { &[0, 1, 3] } else { &[0, 1, 2, 3, 4, 5, 6] };
    type Cell = u64;
    type Vector = __m512i;
    type Root = Root;

    fn root(modulus: Modulus, factor: u64) -> [u64; 2] {
        [factor, ((u128::from(factor) << 52) / u128::from(modulus.value())) as u64]
    }

    #[inline(always)]
    unsafe fn new(modulus: Modulus) -> Self {
        let p = modulus.value();
        // SAFETY: the trait's contract.
        unsafe {
            Ifma {
                p,
                p_32: _mm512_set1_epi32(p as i32),
                minus_p: _mm512_set1_epi64(((1 << 52) - p) as i64),
                reciprocal: _mm512_set1_epi64(((1 << 52) / p) as i64),
            }
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(x: __m512i, to: *mut u64) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), x) }
    }

    #[inline(always)]
    unsafe fn load_coefficients(from: *const u32) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_cvtepu32_epi64(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn broadcast(pair: *const [u64; 2]) -> Root {
        // SAFETY: the trait's contract.
        unsafe {
            let [w, quotient] = *pair;
            Root { w: _mm512_set1_epi64(w as i64), quotient: _mm512_set1_epi64(quotient as i64) }
        }
    }

    #[inline(always)]
    unsafe fn load_roots(from: *const u64) -> Root {
        // SAFETY: the trait's contract.
        unsafe { Root { w: Self::load(from), quotient: Self::load(from.add(8)) } }
    }

    #[inline(always)]
    unsafe fn prepare_forward<const R: usize>(self, x: &mut [__m512i; R], first: bool) {
        // SAFETY: the trait's contract.
        unsafe {
            if first {
                x[0] = _mm512_add_epi64(x[0], self.multiple(16));
                for x in &mut x[1..R / 2] {
                    *x = _mm512_add_epi64(*x, self.multiple(8));
                }
            } else {
                x[0] = _mm512_add_epi64(x[0], self.multiple(8));
            }
        }
    }

    #[inline(always)]
    unsafe fn cooley_tukey(self, x: __m512i, y: __m512i, w: Root) -> (__m512i, __m512i) {
        // SAFETY: the trait's contract.
        unsafe {
            let t = self.mul(y, w);
            (_mm512_add_epi64(x, t), _mm512_sub_epi64(x, t))
        }
    }

    #[inline(always)]
    unsafe fn prepare_inverse<const R: usize>(self, x: &mut [__m512i; R], range: u64) {
        // SAFETY: the trait's contract.
        unsafe {
            x[2] = _mm512_add_epi64(x[2], self.multiple(range));
            if R == 8 {
                x[0] = _mm512_add_epi64(x[0], self.multiple(8 * range));
                x[4] = _mm512_add_epi64(x[4], self.multiple(3 * range));
                x[6] = _mm512_add_epi64(x[6], self.multiple(range));
            } else {
                x[0] = _mm512_add_epi64(x[0], self.multiple(3 * range));
            }
        }
    }

    #[inline(always)]
    unsafe fn finish_inverse<const R: usize>(self, x: &mut [__m512i; R], reduce: bool) {
        if reduce {
            // SAFETY: the trait's contract.
            unsafe { x[0] = self.reduce(x[0]) }
        }
    }

    #[inline(always)]
    unsafe fn sum_difference(self, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
        // SAFETY: the trait's contract.
        unsafe { (_mm512_add_epi64(x, y), _mm512_sub_epi64(x, y)) }
    }

    #[inline(always)]
    unsafe fn gentleman_sande(self, x: __m512i, y: __m512i, w: Root, bias: Bias) -> (__m512i, __m512i) {
        // SAFETY: the trait's contract.
        unsafe {
            let (sum, difference) = self.sum_difference(x, y);
            let addend = match bias {
                Bias::None => _mm512_setzero_si512(),
                Bias::Product => self.multiple(2),
                Bias::Sum => self.multiple(8),
            };
            (sum, self.mul_add(addend, difference, w))
        }
    }

    #[inline(always)]
    unsafe fn mul(self, x: __m512i, w: Root) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { self.mul_add(_mm512_setzero_si512(), x, w) }
    }

    #[inline(always)]
    unsafe fn store_coefficients<const R: usize>(self, x: [__m512i; R], to: *mut u32, stride: usize) {
        // SAFETY: the trait's contract.
        unsafe {
            let low_halves = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            for i in 0..R / 2 {
                let two = self.correct(_mm512_permutex2var_epi32(x[2 * i], low_halves, x[2 * i + 1]));
                _mm256_storeu_si256(to.add(2 * i * stride).cast(), _mm512_castsi512_si256(two));
                _mm256_storeu_si256(to.add((2 * i + 1) * stride).cast(), _mm512_extracti64x4_epi64::<1>(two));
            }
        }
    }

    #[inline(always)]
    unsafe fn forward_tile(self, units: &[[u64; 2]; 3], cells: *const u64, roots: *const u64, out: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe {
            let mut x = [Self::load(cells); 8];
            for (i, x) in x.iter_mut().enumerate().skip(1) {
                *x = Self::load(cells.add(8 * i));
            }
            transpose(&mut x);
            self.prepare_forward(&mut x, false);
            let roots = OfTile::<Self>(roots);
            if SHORT {
                self.forward_short(&mut x, units, roots);
            } else {
                forward_levels::<Self, 8, 1>(self, &mut x, roots);
            }
            // The last level runs in 32-bit lanes, where reduction is cheap: two butterflies at a time, their words
            // alternating.
            for i in 0..2 {
                let sum = self.pack(self.reduce(x[4 * i]), self.reduce(x[4 * i + 2]));
                let first = roots.get(if SHORT { 2 } else { 3 + 2 * i });
                let second = roots.get(if SHORT { 2 } else { 4 + 2 * i });
                let t = self.pack(self.mul(x[4 * i + 1], first), self.mul(x[4 * i + 3], second));
                let difference = _mm512_sub_epi32(sum, t);
                let lifted = _mm512_add_epi32(difference, self.p_32);
                let to = out.add(32 * i);
                _mm512_storeu_si512(to.cast(), self.correct(_mm512_add_epi32(sum, t)));
                _mm512_storeu_si512(to.add(16).cast(), _mm512_min_epu32(difference, lifted));
            }
        }
    }

    #[inline(always)]
    unsafe fn inverse_tile(self, units: &[[u64; 2]; 3], spectrum: *const u32, roots: *const u64, cells: *mut u64) {
        // SAFETY: the trait's contract.
        unsafe {
            let mut x = [_mm512_setzero_si512(); 8];
            for i in 0..4 {
                let row = 4 * (i / 2) + i % 2;
                x[row] = _mm512_maskz_loadu_epi32(0x5555, spectrum.add(16 * i).cast());
                // One word further. The last lane, beyond the tile, is not read.
                x[row + 2] = _mm512_maskz_loadu_epi32(0x5555, spectrum.add(16 * i).wrapping_add(1).cast());
            }
            self.prepare_inverse(&mut x, 1);
            let roots = OfTile::<Self>(roots);
            if SHORT {
                self.inverse_short(&mut x, units, roots);
            } else {
                inverse_levels::<Self, 8, 0>(self, &mut x, roots);
            }
            transpose(&mut x);
            for (i, x) in x.into_iter().enumerate() {
                Self::store(x, cells.add(8 * i));
            }
        }
    }

    fn tile_index(place: usize) -> usize {
        let (vector, block, second) = (place / 16, place % 16 / 2, place % 2);
        8 * block + 4 * (vector / 2) + 2 * second + vector % 2
    }
}
