//! Eight words in a 512-bit register, with AVX-512 F and DQ.

use std::arch::x86_64::*;

use super::fma::Doubles;
use super::harvey::Words;
use crate::ntt::transpose::transpose;

// SAFETY of every block below: the intrinsics need AVX-512 F and DQ and touch no memory, except loads and stores, which
// state their contract. The contract of `Words` is that the CPU has them.
impl Words for __m512i {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller's contract.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the caller vouches for the CPU.
        unsafe { transpose(rows) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_add_epi64(self, rhs) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_sub_epi64(self, rhs) }
    }

    #[inline(always)]
    unsafe fn subtract_once(self, k: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_min_epu64(self, _mm512_sub_epi64(self, k)) }
    }

    #[inline(always)]
    unsafe fn mul_halves(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_mul_epu32(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_mullo_epi64(self, rhs) }
    }

    #[inline(always)]
    unsafe fn low_half(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_and_si512(self, _mm512_set1_epi64(0xffff_ffff)) }
    }

    #[inline(always)]
    unsafe fn high_half(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_srli_epi64::<32>(self) }
    }

    /// A shuffle, because shifts only run on one of the two vector ports of Intel's cores.
    #[inline(always)]
    unsafe fn high_factor(self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self))) }
    }
}

// SAFETY of every block below: as above; the path also has FMA.
impl Doubles for __m512d {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_set1_pd(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller's contract.
        unsafe { _mm512_loadu_pd(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_pd(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_add_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_sub_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_mul_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, rhs: Self, addend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_fmadd_pd(self, rhs, addend) }
    }

    #[inline(always)]
    unsafe fn mul_sub(self, rhs: Self, subtrahend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_fmsub_pd(self, rhs, subtrahend) }
    }

    #[inline(always)]
    unsafe fn mul_rsub(self, rhs: Self, minuend: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_fnmadd_pd(self, rhs, minuend) }
    }

    #[inline(always)]
    unsafe fn or(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_or_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn xor(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { _mm512_xor_pd(self, rhs) }
    }

    #[inline(always)]
    unsafe fn lift(self, p: Self) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let negative = _mm512_movepi64_mask(_mm512_castpd_si512(self));
            _mm512_mask_add_pd(self, negative, self, p)
        }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self]) {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let mut words = [_mm512_castpd_si512(rows[0]); 8];
            for (word, &row) in words.iter_mut().zip(rows.iter()) {
                *word = _mm512_castpd_si512(row);
            }
            Words::transpose(&mut words);
            for (row, word) in rows.iter_mut().zip(words) {
                *row = _mm512_castsi512_pd(word);
            }
        }
    }
}
