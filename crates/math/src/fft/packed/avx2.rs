//! Four packed parts on AVX2.

use std::arch::x86_64::*;

use super::{EXPONENT, OFFSET, PackedLanes};
use crate::fft::avx2::Ymm;

// SAFETY: the constructors require AVX2 and FMA.
unsafe impl PackedLanes for Ymm {
    #[inline(always)]
    unsafe fn load_48(from: *const u8) -> Self {
        // SAFETY: the caller vouches for the CPU and for 24 bytes: 0 to 16 and 8 to 24.
        unsafe {
            let low = _mm_loadu_si128(from.cast());
            let high = _mm_loadu_si128(from.add(8).cast());
            // Parts 0 and 1 lie at bytes 0 and 6 of the lower half, parts 2 and 3 at bytes 4 and 10 of the upper.
            let spread = _mm256_setr_epi8(
                0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, //
                4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1,
            );
            let bits = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), spread);
            let bits = _mm256_or_si256(bits, _mm256_set1_epi64x(EXPONENT as i64));
            Ymm(_mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(OFFSET)))
        }
    }

    #[inline(always)]
    unsafe fn store_48(self, to: *mut u8) {
        // SAFETY: a value of this type exists, so the CPU has AVX2; the caller vouches for 24 bytes, of which each half
        // writes 8 and 4.
        unsafe {
            let gather = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1, //
            ));
            let packed = _mm256_shuffle_epi8(_mm256_castpd_si256(self.0), gather);
            for (half, to) in
                [(_mm256_castsi256_si128(packed), to), (_mm256_extracti128_si256::<1>(packed), to.add(12))]
            {
                _mm_storel_epi64(to.cast(), half);
                to.add(8).cast::<i32>().write_unaligned(_mm_extract_epi32::<2>(half));
            }
        }
    }
}

super::entry_points!("The CPU offers AVX2 and FMA.", super::Ymm, vector, "avx2,fma");
