//! Eight words in a 512-bit register, with AVX-512 F and, for some methods, IFMA.

use std::arch::asm;
use std::arch::x86_64::*;

use super::lanes::Lanes;
use crate::goldilocks::EPSILON;

/// Eight lanes.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512i);

// SAFETY of every block below: the intrinsics need AVX-512 F and touch no memory, except `load` and `store`, which
// state their contract. A value of this type only comes from `splat` or `load`, whose callers vouch for AVX-512 F.

/// One multiplication. It is assembly because the compiler turns the intrinsic with this constant into a mask, a shift
/// and a subtraction.
#[inline]
#[target_feature(enable = "avx512f")]
fn mul_epsilon(x: __m512i) -> __m512i {
    let product;
    // SAFETY: register to register, no flags; AVX-512 F is enabled here.
    unsafe {
        asm!(
            "vpmuludq {product}, {x}, {epsilon}",
            product = lateout(zmm_reg) product,
            x = in(zmm_reg) x,
            epsilon = in(zmm_reg) _mm512_set1_epi64(EPSILON as i64),
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    product
}

/// The low half of `high` above the low half of `low`, by one masked shuffle; the compiler splits the intrinsic into
/// two.
#[inline]
#[target_feature(enable = "avx512f")]
fn with_high_half(low: __m512i, high: __m512i) -> __m512i {
    let mut merged = low;
    // SAFETY: register to register, no flags; AVX-512 F is enabled here.
    unsafe {
        asm!(
            "vmovsldup {merged} {{{odd}}}, {high}",
            merged = inout(zmm_reg) merged,
            high = in(zmm_reg) high,
            odd = in(kreg) 0b1010_1010_1010_1010u16,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    merged
}

/// Further operations of the kernels with IFMA. These methods also need AVX-512 IFMA, which their callers' callers
/// check.
impl Avx512 {
    /// Arithmetic shift to the right.
    #[inline(always)]
    pub(super) fn shift_right_signed<const BITS: u32>(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_srai_epi64::<BITS>(self.0)) }
    }

    /// self + the low 52 bits of x·y, for the low 52 bits of x and y.
    #[inline(always)]
    pub(super) fn multiply_add_low(self, x: Self, y: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_madd52lo_epu64(self.0, x.0, y.0)) }
    }

    /// self + the high 52 bits of x·y, for the low 52 bits of x and y.
    #[inline(always)]
    pub(super) fn multiply_add_high(self, x: Self, y: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_madd52hi_epu64(self.0, x.0, y.0)) }
    }

    /// The upper 16 bits of each lane above the lower 48 of `low`.
    #[inline(always)]
    pub(super) fn with_low_48_of(self, low: Self) -> Self {
        // SAFETY: see above. 0xCA selects by the first operand: the second where it is set, else the third.
        unsafe { Avx512(_mm512_ternarylogic_epi64::<0xca>(_mm512_set1_epi64((1 << 48) - 1), low.0, self.0)) }
    }
}

impl Lanes for Avx512 {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe { Avx512(_mm512_set1_epi64(x as i64)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and for the words.
        unsafe { Avx512(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_upper_halves(from: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and for the words.
        unsafe { Avx512(_mm512_slli_epi64::<32>(_mm512_cvtepu32_epi64(_mm256_loadu_si256(from.cast())))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller vouches for the words.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    fn wrapping_add(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_add_epi64(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_sub_epi64(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_low_halves(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_mul_epu32(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_epsilon(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(mul_epsilon(self.0)) }
    }

    #[inline(always)]
    fn and(self, rhs: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_and_si512(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn low_half(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_and_si512(self.0, _mm512_set1_epi64(EPSILON as i64))) }
    }

    /// A shuffle, because shifts only run on one of the two vector ports of Intel's cores.
    #[inline(always)]
    fn high_half(self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(self.0)))) }
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_sll_epi64(self.0, _mm_cvtsi32_si128(bits as i32))) }
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_srl_epi64(self.0, _mm_cvtsi32_si128(bits as i32))) }
    }

    #[inline(always)]
    fn with_high_half(self, high: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(with_high_half(self.0, high.0)) }
    }

    #[inline(always)]
    fn add_epsilon_where_less(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            let less = _mm512_cmplt_epu64_mask(a.0, b.0);
            Avx512(_mm512_mask_add_epi64(self.0, less, self.0, _mm512_set1_epi64(EPSILON as i64)))
        }
    }

    #[inline(always)]
    fn sub_epsilon_where_less(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            let less = _mm512_cmplt_epu64_mask(a.0, b.0);
            Avx512(_mm512_mask_sub_epi64(self.0, less, self.0, _mm512_set1_epi64(EPSILON as i64)))
        }
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        // SAFETY: see above.
        unsafe {
            let r = [rows[0].0, rows[1].0, rows[2].0, rows[3].0, rows[4].0, rows[5].0, rows[6].0, rows[7].0];
            // Pairs of rows, then 2×2 blocks of 128 bits, twice.
            let mut a = r;
            for i in 0..4 {
                a[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
                a[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
            }
            // a[2i + c] holds columns c, c+2, c+4, c+6 of rows 2i, 2i+1 in its four quarters.
            for c in 0..2 {
                let low_01 = _mm512_shuffle_i64x2::<0b10_00_10_00>(a[c], a[2 + c]);
                let low_23 = _mm512_shuffle_i64x2::<0b10_00_10_00>(a[4 + c], a[6 + c]);
                let high_01 = _mm512_shuffle_i64x2::<0b11_01_11_01>(a[c], a[2 + c]);
                let high_23 = _mm512_shuffle_i64x2::<0b11_01_11_01>(a[4 + c], a[6 + c]);
                rows[c] = Avx512(_mm512_shuffle_i64x2::<0b10_00_10_00>(low_01, low_23));
                rows[c + 4] = Avx512(_mm512_shuffle_i64x2::<0b11_01_11_01>(low_01, low_23));
                rows[c + 2] = Avx512(_mm512_shuffle_i64x2::<0b10_00_10_00>(high_01, high_23));
                rows[c + 6] = Avx512(_mm512_shuffle_i64x2::<0b11_01_11_01>(high_01, high_23));
            }
        }
    }
}
