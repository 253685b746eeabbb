//! Eight lanes on AVX-512 F, DQ and VL.

use std::arch::x86_64::*;

use super::coefficients::DigitField;
use super::lanes::F64Lanes;

/// The truth table of (a & b) | c: the bits of `a` where `b` has ones, and the bits of `c`.
const AND_OR: i32 = 0xea;

/// Eight f64.
#[derive(Clone, Copy)]
pub(super) struct Zmm(pub(super) __m512d);

impl Zmm {
    #[inline(always)]
    fn bits(self) -> __m512i {
        // SAFETY: a value of this type exists, so the CPU has its instruction set.
        unsafe { _mm512_castpd_si512(self.0) }
    }

    /// The digit of each word.
    #[inline(always)]
    fn digits(words: __m512i, field: &DigitField<Zmm>) -> Zmm {
        // SAFETY: a value of this type exists, so the CPU has its instruction set.
        unsafe {
            let shifted = _mm512_srlv_epi64(_mm512_add_epi64(words, field.offset.bits()), field.shift.bits());
            let number = _mm512_ternarylogic_epi64::<AND_OR>(shifted, field.mask.bits(), field.exponent.bits());
            Zmm(_mm512_sub_pd(_mm512_castsi512_pd(number), field.bias.0))
        }
    }

    /// round(2^64 · self) modulo 2^64.
    #[inline(always)]
    fn torus(self) -> __m512i {
        // SAFETY: a value of this type exists, so the CPU has AVX-512 F and DQ.
        unsafe {
            // x − round(x), exact. Only +2^63 is out of range; the conversion returns 2^63, which is right modulo 2^64.
            let fraction = _mm512_reduce_pd::<_MM_FROUND_TO_NEAREST_INT>(self.0);
            _mm512_cvtpd_epi64(_mm512_mul_pd(fraction, _mm512_set1_pd(18_446_744_073_709_551_616.0)))
        }
    }
}

// SAFETY: the constructors require AVX-512 F, DQ and VL.
unsafe impl F64Lanes for Zmm {
    const LANES: usize = 8;
    const LEVELS_PER_PASS: u32 = 3;

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { Zmm(_mm512_set1_pd(x)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller vouches for the CPU and for eight words.
        unsafe { Zmm(_mm512_loadu_pd(from)) }
    }

    #[inline(always)]
    unsafe fn load_i64(from: *const i64) -> Self {
        // SAFETY: the caller vouches for the CPU and for eight words.
        unsafe { Zmm(_mm512_cvtepi64_pd(_mm512_loadu_si512(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn splat_bits(bits: u64) -> Self {
        // SAFETY: the caller vouches for the CPU.
        unsafe { Zmm(_mm512_castsi512_pd(_mm512_set1_epi64(bits as i64))) }
    }

    #[inline(always)]
    unsafe fn load_digits(from: *const u64, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for the CPU and for eight words.
        unsafe { Zmm::digits(_mm512_loadu_si512(from.cast()), field) }
    }

    #[inline(always)]
    unsafe fn load_digits_32(from: *const u32, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for the CPU and for eight words.
        unsafe { Zmm::digits(_mm512_cvtepu32_epi64(_mm256_loadu_si256(from.cast())), field) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller vouches for eight words.
        unsafe { _mm512_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn add_to_u64(self, to: *mut u64) {
        // SAFETY: the caller vouches for eight words.
        unsafe {
            let to = to.cast::<__m512i>();
            _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), self.torus()));
        }
    }

    #[inline(always)]
    unsafe fn add_to_u32(self, to: *mut u32) {
        // SAFETY: the caller vouches for eight words.
        unsafe {
            let to = to.cast::<__m256i>();
            let low = _mm512_cvtepi64_epi32(self.torus());
            _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), low));
        }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        // SAFETY: a value of this type exists, so the CPU has AVX-512 F, DQ and VL.
        unsafe { Zmm(_mm512_add_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Zmm(_mm512_sub_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Zmm(_mm512_mul_pd(self.0, rhs.0)) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Zmm(_mm512_fmadd_pd(self.0, factor.0, addend.0)) }
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Zmm(_mm512_fmsub_pd(self.0, factor.0, subtrahend.0)) }
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: as in `add`.
        unsafe { Zmm(_mm512_fnmadd_pd(self.0, factor.0, addend.0)) }
    }

    #[inline(always)]
    fn transpose<const R: usize>(tile: [Self; R]) -> [Self; R] {
        let x = |k: usize| tile[k].0;
        // SAFETY: as in `add`.
        unsafe {
            // Exchange single lanes, then pairs, then halves.
            let [a0, a1, a2, a3, a4, a5, a6, a7] = [
                _mm512_unpacklo_pd(x(0), x(1)),
                _mm512_unpackhi_pd(x(0), x(1)),
                _mm512_unpacklo_pd(x(2), x(3)),
                _mm512_unpackhi_pd(x(2), x(3)),
                _mm512_unpacklo_pd(x(4), x(5)),
                _mm512_unpackhi_pd(x(4), x(5)),
                _mm512_unpacklo_pd(x(6), x(7)),
                _mm512_unpackhi_pd(x(6), x(7)),
            ];
            // Pairs 0 and 2 of two rows, and pairs 1 and 3.
            macro_rules! even {
                ($a:ident, $b:ident) => {
                    _mm512_shuffle_f64x2::<0b10_00_10_00>($a, $b)
                };
            }
            macro_rules! odd {
                ($a:ident, $b:ident) => {
                    _mm512_shuffle_f64x2::<0b11_01_11_01>($a, $b)
                };
            }
            let (b0, b1, b2, b3) = (even!(a0, a2), even!(a1, a3), odd!(a0, a2), odd!(a1, a3));
            let (c0, c1, c2, c3) = (even!(a4, a6), even!(a5, a7), odd!(a4, a6), odd!(a5, a7));
            let rows = [
                even!(b0, c0),
                even!(b1, c1),
                even!(b2, c2),
                even!(b3, c3),
                odd!(b0, c0),
                odd!(b1, c1),
                odd!(b2, c2),
                odd!(b3, c3),
            ];
            std::array::from_fn(|k| Zmm(rows[k]))
        }
    }
}

super::kernels::entry_points!(
    "The CPU offers AVX-512 F, DQ, VL and BW, AVX2 and FMA.",
    super::Zmm,
    vector,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);
