//! Four words in a 256-bit register, with AVX2.

use std::arch::x86_64::*;

use super::fma::Doubles;
use super::harvey::Words;

// SAFETY of every block below: the intrinsics need AVX2 and touch no memory, except loads and stores, which state their
// contract. The contract of `Words` is that the CPU has AVX2.
impl Words for __m256i {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller's contract.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let low_01 = _mm256_unpacklo_epi64(rows[0], rows[1]);
            let high_01 = _mm256_unpackhi_epi64(rows[0], rows[1]);
            let low_23 = _mm256_unpacklo_epi64(rows[2], rows[3]);
            let high_23 = _mm256_unpackhi_epi64(rows[2], rows[3]);
            rows[0] = _mm256_permute2x128_si256::<0x20>(low_01, low_23);
            rows[1] = _mm256_permute2x128_si256::<0x20>(high_01, high_23);
            rows[2] = _mm256_permute2x128_si256::<0x31>(low_01, low_23);
            rows[3] = _mm256_permute2x128_si256::<0x31>(high_01, high_23);
        }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_add_epi64(self, rhs) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_sub_epi64(self, rhs) }
    }

    /// AVX2 has no unsigned minimum of 64 bits. But k ≤ 2^63 and x < 2k, so the sign of x − k decides.
    #[inline(always)]
    unsafe fn subtract_once(self, k: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let d = _mm256_sub_epi64(self, k);
            let sign = _mm256_castsi256_pd(d);
            _mm256_castpd_si256(_mm256_blendv_pd(sign, _mm256_castsi256_pd(self), sign))
        }
    }

    #[inline(always)]
    unsafe fn mul_halves(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_mul_epu32(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let middle = self.high_factor().mul_halves(rhs).add(self.mul_halves(rhs.high_factor()));
            self.mul_halves(rhs).add(_mm256_slli_epi64::<32>(middle))
        }
    }

    #[inline(always)]
    unsafe fn low_half(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_and_si256(self, _mm256_set1_epi64x(0xffff_ffff)) }
    }

    #[inline(always)]
    unsafe fn high_half(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_srli_epi64::<32>(self) }
    }

    /// A shuffle, because multiplications and shifts share two ports of Intel's cores.
    #[inline(always)]
    unsafe fn high_factor(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self))) }
    }
}

// SAFETY of every block below: as above; the path also has FMA.
impl Doubles for __m256d {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller's contract.
        unsafe { _mm256_loadu_pd(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { _mm256_storeu_pd(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_add_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_sub_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_mul_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, rhs: Self, addend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_fmadd_pd(self, rhs, addend) }
    }

    #[inline(always)]
    unsafe fn mul_sub(self, rhs: Self, subtrahend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_fmsub_pd(self, rhs, subtrahend) }
    }

    #[inline(always)]
    unsafe fn mul_rsub(self, rhs: Self, minuend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_fnmadd_pd(self, rhs, minuend) }
    }

    #[inline(always)]
    unsafe fn or(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_or_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn xor(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_xor_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn lift(self, p: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm256_blendv_pd(self, _mm256_add_pd(self, p), self) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let mut words = [_mm256_castpd_si256(rows[0]); 4];
            for (word, &row) in words.iter_mut().zip(rows.iter()) {
                *word = _mm256_castpd_si256(row);
            }
            Words::transpose(&mut words);
            for (row, word) in rows.iter_mut().zip(words) {
                *row = _mm256_castsi256_pd(word);
            }
        }
    }
}
