//! Four lanes on AVX2 and FMA.

use std::arch::x86_64::*;

use super::coefficients::DigitField;
use super::lanes::F64Lanes;

/// Four f64.
#[derive(Clone, Copy)]
pub(super) struct Ymm(pub(super) __m256d);

/// 1.5 · 2^52. Adding it rounds |x| ≤ 2^51 to the nearest integer, which the low bits of the sum then hold.
const ROUND: f64 = 6_755_399_441_055_744.0;
const TWO_32: f64 = 4_294_967_296.0;

impl Ymm {
    #[inline(always)]
    fn bits(self) -> __m256i {
        // SAFETY: a value of this type exists, so the CPU has its instruction set.
        unsafe { _mm256_castpd_si256(self.0) }
    }

    /// The digit of each word.
    #[inline(always)]
    fn digits(words: __m256i, field: &DigitField<Ymm>) -> Ymm {
        // SAFETY: a value of this type exists, so the CPU has its instruction set.
        unsafe {
            let shifted = _mm256_srlv_epi64(_mm256_add_epi64(words, field.offset.bits()), field.shift.bits());
            let number = _mm256_or_si256(_mm256_and_si256(shifted, field.mask.bits()), field.exponent.bits());
            Ymm(_mm256_sub_pd(_mm256_castsi256_pd(number), field.bias.0))
        }
    }

    /// round(2^64 · self) modulo 2^64. AVX2 cannot convert f64 to i64. So the fraction is split at 2^-32 into two exact
    /// parts, and the lower part is rounded.
    #[inline(always)]
    fn torus(self) -> __m256i {
        // SAFETY: a value of this type exists, so the CPU has AVX2 and FMA.
        unsafe {
            let round = _mm256_set1_pd(ROUND);
            let two_32 = _mm256_set1_pd(TWO_32);
            let nearest = _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0);
            let scaled = _mm256_mul_pd(_mm256_sub_pd(self.0, nearest), two_32);
            let high = _mm256_add_pd(scaled, round);
            let rest = _mm256_sub_pd(scaled, _mm256_sub_pd(high, round));
            let low =
                _mm256_sub_epi64(_mm256_castpd_si256(_mm256_fmadd_pd(rest, two_32, round)), _mm256_castpd_si256(round));
            _mm256_add_epi64(_mm256_slli_epi64::<32>(_mm256_castpd_si256(high)), low)
        }
    }
}

// SAFETY: the constructors require AVX2 and FMA.
unsafe impl F64Lanes for Ymm {
    const LANES: usize = 4;
    const LEVELS_PER_PASS: u32 = 2;

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { Ymm(_mm256_set1_pd(x)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller vouches for the CPU and for four words.
        unsafe { Ymm(_mm256_loadu_pd(from)) }
    }

    #[inline(always)]
    unsafe fn load_i64(from: *const i64) -> Self {
        // SAFETY: the caller vouches for the CPU and for four words.
        unsafe {
            let x = _mm256_loadu_si256(from.cast());
            // Exponent patterns make 2^52 + (x mod 2^32) and 2^84 + 2^63 + 2^32·⌊x/2^32⌋. The offsets cancel exactly in
            // the first subtraction, so only the last addition rounds.
            let low = _mm256_blend_epi32::<0b1010_1010>(x, _mm256_set1_epi64x(0x4330_0000_0000_0000));
            let high = _mm256_xor_si256(_mm256_srli_epi64::<32>(x), _mm256_set1_epi64x(0x4530_0000_8000_0000));
            let offset = _mm256_castsi256_pd(_mm256_set1_epi64x(0x4530_0000_8010_0000));
            Ymm(_mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), offset), _mm256_castsi256_pd(low)))
        }
    }

    #[inline(always)]
    unsafe fn splat_bits(bits: u64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { Ymm(_mm256_castsi256_pd(_mm256_set1_epi64x(bits as i64))) }
    }

    #[inline(always)]
    unsafe fn load_digits(from: *const u64, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for the CPU and for four words.
        unsafe { Ymm::digits(_mm256_loadu_si256(from.cast()), field) }
    }

    #[inline(always)]
    unsafe fn load_digits_32(from: *const u32, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for the CPU and for four words.
        unsafe { Ymm::digits(_mm256_cvtepu32_epi64(_mm_loadu_si128(from.cast())), field) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller vouches for four words.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn add_to_u64(self, to: *mut u64) {
        // SAFETY: the caller vouches for four words.
        unsafe {
            let to = to.cast::<__m256i>();
            _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), self.torus()));
        }
    }

    #[inline(always)]
    unsafe fn add_to_u32(self, to: *mut u32) {
        // SAFETY: the caller vouches for four words.
        unsafe {
            let even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            let low = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(self.torus(), even));
            let to = to.cast::<__m128i>();
            _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), low));
        }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        // SAFETY: a value of this type exists, so the CPU has AVX2 and FMA.
        unsafe { Ymm(_mm256_add_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Ymm(_mm256_sub_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Ymm(_mm256_mul_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Ymm(_mm256_fmadd_pd(self.0, factor.0, addend.0)) }
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Ymm(_mm256_fmsub_pd(self.0, factor.0, subtrahend.0)) }
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Ymm(_mm256_fnmadd_pd(self.0, factor.0, addend.0)) }
    }

    #[inline(always)]
    fn transpose<const R: usize>(tile: [Self; R]) -> [Self; R] {
        let x = |k: usize| tile[k].0;
        // SAFETY: as in `add`.
        unsafe {
            let (a, b) = (_mm256_unpacklo_pd(x(0), x(1)), _mm256_unpackhi_pd(x(0), x(1)));
            let (c, d) = (_mm256_unpacklo_pd(x(2), x(3)), _mm256_unpackhi_pd(x(2), x(3)));
            let rows = [
                _mm256_permute2f128_pd::<0x20>(a, c),
                _mm256_permute2f128_pd::<0x20>(b, d),
                _mm256_permute2f128_pd::<0x31>(a, c),
                _mm256_permute2f128_pd::<0x31>(b, d),
            ];
            std::array::from_fn(|k| Ymm(rows[k]))
        }
    }
}

super::kernels::entry_points!("The CPU offers AVX2 and FMA.", super::Ymm, vector, "avx2,fma");
