//! One word at a time, for any CPU. Corrections are selected without branches, because a branch on random residues
//! would be mispredicted half of the time.

use std::hint::select_unpredictable;

use super::lanes::{Lanes, Twiddle, reduce_wide};
use crate::goldilocks::{self, EPSILON, reduce_u128};

impl Lanes for u64 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: u64) -> u64 {
        x
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { *from }
    }

    #[inline(always)]
    unsafe fn load_upper_halves(from: *const u32) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { u64::from(*from) << 32 }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { *to = self }
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: u64) -> u64 {
        u64::wrapping_add(self, rhs)
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: u64) -> u64 {
        u64::wrapping_sub(self, rhs)
    }

    #[inline(always)]
    fn mul_low_halves(self, rhs: u64) -> u64 {
        (self & EPSILON) * (rhs & EPSILON)
    }

    #[inline(always)]
    fn mul_epsilon(self) -> u64 {
        (self & EPSILON) * EPSILON
    }

    #[inline(always)]
    fn and(self, rhs: u64) -> u64 {
        self & rhs
    }

    #[inline(always)]
    fn low_half(self) -> u64 {
        self & EPSILON
    }

    #[inline(always)]
    fn high_half(self) -> u64 {
        self >> 32
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> u64 {
        self << bits
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> u64 {
        self >> bits
    }

    #[inline(always)]
    fn with_high_half(self, high: u64) -> u64 {
        self & EPSILON | high << 32
    }

    #[inline(always)]
    fn add_epsilon_where_less(self, a: u64, b: u64) -> u64 {
        u64::wrapping_add(self, select_unpredictable(a < b, EPSILON, 0))
    }

    #[inline(always)]
    fn sub_epsilon_where_less(self, a: u64, b: u64) -> u64 {
        u64::wrapping_sub(self, select_unpredictable(a < b, EPSILON, 0))
    }

    #[inline(always)]
    fn transpose(_rows: &mut [u64]) {}

    #[inline(always)]
    fn mul(self, factor: Twiddle<u64>) -> u64 {
        let wide = u128::from(self) * u128::from(factor.whole());
        reduce_wide(wide as u64, (wide >> 64) as u64)
    }

    /// Sums 128-bit products and counts their carries; 2^128 ≡ (2^32 − 1)^2 ≡ −2^32.
    #[inline(always)]
    unsafe fn dot(lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> u64 {
        let (mut sum, mut carries) = (0u128, 0u64);
        for row in 0..rows {
            // SAFETY: the caller's contract.
            let (x, y) = unsafe { (*lhs.add(row * stride), *rhs.add(row * stride)) };
            let (next, carry) = sum.overflowing_add(u128::from(x) * u128::from(y));
            sum = next;
            carries += u64::from(carry);
        }
        // At most 2^10 carries, hence below 2^42 and canonical.
        goldilocks::sub(reduce_u128(sum), carries << 32)
    }
}
