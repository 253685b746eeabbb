//! Eight 32-bit lanes of AVX2.

use std::arch::x86_64::*;

use super::packed::Register;

/// Eight words.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256i);

impl Register for Avx2 {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_set1_epi32(x as i32)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_add_epi32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_sub_epi32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn min(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_min_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn mul_even(self, rhs: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_mul_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn odd_to_even(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self.0)))) }
    }

    #[inline(always)]
    unsafe fn merge_odd(self, odd: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Avx2(_mm256_blend_epi32::<0b1010_1010>(self.odd_to_even().0, odd.0)) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the trait's contract; a tile has eight rows.
        unsafe {
            // Words of two rows, pairs of four, quarters of eight.
            let (mut a, mut b) = ([rows[0].0; 8], [rows[0].0; 8]);
            for i in 0..4 {
                a[2 * i] = _mm256_unpacklo_epi32(rows[2 * i].0, rows[2 * i + 1].0);
                a[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i].0, rows[2 * i + 1].0);
            }
            for i in 0..2 {
                for j in 0..2 {
                    b[4 * i + 2 * j] = _mm256_unpacklo_epi64(a[4 * i + j], a[4 * i + j + 2]);
                    b[4 * i + 2 * j + 1] = _mm256_unpackhi_epi64(a[4 * i + j], a[4 * i + j + 2]);
                }
            }
            for i in 0..4 {
                rows[i] = Avx2(_mm256_permute2x128_si256::<0x20>(b[i], b[i + 4]));
                rows[i + 4] = Avx2(_mm256_permute2x128_si256::<0x31>(b[i], b[i + 4]));
            }
        }
    }
}
