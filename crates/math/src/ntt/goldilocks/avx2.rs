//! Four words in a 256-bit register, with AVX2.

use std::arch::asm;
use std::arch::x86_64::*;

use super::lanes::Lanes;
use crate::goldilocks::EPSILON;

/// Four lanes.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256i);

// SAFETY of every block below: the intrinsics need AVX2 and touch no memory, except `load` and `store`, which state
// their contract. A value of this type only comes from `splat` or `load`, whose callers vouch for AVX2.

/// One multiplication. It is assembly because the compiler turns the intrinsic with this constant into a mask, a shift
/// and a subtraction.
#[inline]
#[target_feature(enable = "avx2")]
fn mul_epsilon(x: __m256i) -> __m256i {
    let product;
    // SAFETY: register to register, no flags; AVX2 is enabled here.
    unsafe {
        asm!(
            "vpmuludq {product}, {x}, {epsilon}",
            product = lateout(ymm_reg) product,
            x = in(ymm_reg) x,
            epsilon = in(ymm_reg) _mm256_set1_epi64x(EPSILON as i64),
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    product
}

impl Avx2 {
    /// ε in the lanes where a < b; AVX2 only compares signed words.
    #[inline(always)]
    fn epsilon_where_less(a: Avx2, b: Avx2) -> __m256i {
        // SAFETY: see above.
        unsafe {
            let sign = _mm256_set1_epi64x(i64::MIN);
            let less = _mm256_cmpgt_epi64(_mm256_xor_si256(b.0, sign), _mm256_xor_si256(a.0, sign));
            _mm256_srli_epi64::<32>(less)
        }
    }
}

impl Lanes for Avx2 {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller vouches for AVX2.
        unsafe { Avx2(_mm256_set1_epi64x(x as i64)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller vouches for AVX2 and for the words.
        unsafe { Avx2(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_upper_halves(from: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX2 and for the words.
        unsafe { Avx2(_mm256_slli_epi64::<32>(_mm256_cvtepu32_epi64(_mm_loadu_si128(from.cast())))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller vouches for the words.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_add_epi64(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_sub_epi64(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_low_halves(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_mul_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_epsilon(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(mul_epsilon(self.0)) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_and_si256(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn low_half(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_and_si256(self.0, _mm256_set1_epi64x(EPSILON as i64))) }
    }

    #[inline(always)]
    fn high_half(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(self.0)))) }
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_sll_epi64(self.0, _mm_cvtsi32_si128(bits as i32))) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_srl_epi64(self.0, _mm_cvtsi32_si128(bits as i32))) }
    }

    #[inline(always)]
    fn with_high_half(self, high: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_blend_epi32::<0b1010_1010>(self.0, _mm256_slli_epi64::<32>(high.0))) }
    }

    #[inline(always)]
    fn add_epsilon_where_less(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_add_epi64(self.0, Self::epsilon_where_less(a, b))) }
    }

    #[inline(always)]
    fn sub_epsilon_where_less(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_sub_epi64(self.0, Self::epsilon_where_less(a, b))) }
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        // SAFETY: see above.
        unsafe {
            let a = _mm256_unpacklo_epi64(rows[0].0, rows[1].0);
            let b = _mm256_unpackhi_epi64(rows[0].0, rows[1].0);
            let c = _mm256_unpacklo_epi64(rows[2].0, rows[3].0);
            let d = _mm256_unpackhi_epi64(rows[2].0, rows[3].0);
            rows[0] = Avx2(_mm256_permute2x128_si256::<0x20>(a, c));
            rows[1] = Avx2(_mm256_permute2x128_si256::<0x20>(b, d));
            rows[2] = Avx2(_mm256_permute2x128_si256::<0x31>(a, c));
            rows[3] = Avx2(_mm256_permute2x128_si256::<0x31>(b, d));
        }
    }
}
