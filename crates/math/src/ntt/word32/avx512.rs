//! Sixteen 32-bit lanes of AVX-512.

use std::arch::x86_64::*;

use super::packed::Register;

/// Sixteen words.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512i);

impl Register for Avx512 {
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_set1_epi32(x as i32)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_add_epi32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_sub_epi32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn min(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_min_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn mul_even(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_mul_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn odd_to_even(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self.0)))) }
    }

    #[inline(always)]
    unsafe fn merge_odd(self, odd: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx512(_mm512_mask_shuffle_epi32::<0b11_11_01_01>(odd.0, 0x5555, self.0)) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the trait's contract; a tile has sixteen rows.
        unsafe {
            // Words of two rows, pairs of four, then quarters of eight and of all.
            let (mut a, mut b) = ([rows[0].0; 16], [rows[0].0; 16]);
            for i in 0..8 {
                a[2 * i] = _mm512_unpacklo_epi32(rows[2 * i].0, rows[2 * i + 1].0);
                a[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i].0, rows[2 * i + 1].0);
            }
            for i in 0..4 {
                for j in 0..2 {
                    b[4 * i + 2 * j] = _mm512_unpacklo_epi64(a[4 * i + j], a[4 * i + j + 2]);
                    b[4 * i + 2 * j + 1] = _mm512_unpackhi_epi64(a[4 * i + j], a[4 * i + j + 2]);
                }
            }
            // b[4i + c] holds columns c, c+4, c+8, c+12 of rows 4i … 4i+3 in its four quarters.
            for c in 0..4 {
                let low_0 = _mm512_shuffle_i32x4::<0b10_00_10_00>(b[c], b[4 + c]);
                let low_1 = _mm512_shuffle_i32x4::<0b10_00_10_00>(b[8 + c], b[12 + c]);
                let high_0 = _mm512_shuffle_i32x4::<0b11_01_11_01>(b[c], b[4 + c]);
                let high_1 = _mm512_shuffle_i32x4::<0b11_01_11_01>(b[8 + c], b[12 + c]);
                rows[c] = Avx512(_mm512_shuffle_i32x4::<0b10_00_10_00>(low_0, low_1));
                rows[c + 8] = Avx512(_mm512_shuffle_i32x4::<0b11_01_11_01>(low_0, low_1));
                rows[c + 4] = Avx512(_mm512_shuffle_i32x4::<0b10_00_10_00>(high_0, high_1));
                rows[c + 12] = Avx512(_mm512_shuffle_i32x4::<0b11_01_11_01>(high_0, high_1));
            }
        }
    }
}
