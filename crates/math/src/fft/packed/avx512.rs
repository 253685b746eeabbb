//! Eight packed parts on AVX-512 F and BW.

use std::arch::x86_64::*;

use super::{EXPONENT, OFFSET, PackedLanes};
use crate::fft::avx512::Zmm;

/// The lowest three 16-bit words of each lane, and the lowest 24 words of a vector.
const LOW_WORDS: __mmask32 = 0x7777_7777;
const FIRST_WORDS: __mmask32 = 0x00ff_ffff;

/// The place in the packed form of each 16-bit word `k` of the spread form.
const SPREAD: [u16; 32] = {
    let mut from = [0; 32];
    let mut k = 0;
    while k < 32 {
        from[k] = (k / 4 * 3 + k % 4) as u16 % 32;
        k += 1;
    }
    from
};

/// The place in the spread form of each 16-bit word `k` of the packed form.
const GATHER: [u16; 32] = {
    let mut from = [0; 32];
    let mut k = 0;
    while k < 32 {
        from[k] = (k / 3 * 4 + k % 3) as u16 % 32;
        k += 1;
    }
    from
};

// SAFETY: the constructors require AVX-512 F and BW.
unsafe impl PackedLanes for Zmm {
    #[inline(always)]
    unsafe fn load_48(from: *const u8) -> Self {
        // SAFETY: the caller vouches for the CPU and for 48 bytes, six lanes of the masked load.
        unsafe {
            let packed = _mm512_maskz_loadu_epi64(0x3f, from.cast());
            let exponent = _mm512_set1_epi64(EXPONENT as i64);
            let spread = _mm512_loadu_si512(SPREAD.as_ptr().cast());
            let bits = _mm512_mask_permutexvar_epi16(exponent, LOW_WORDS, spread, packed);
            Zmm(_mm512_sub_pd(_mm512_castsi512_pd(bits), _mm512_set1_pd(OFFSET)))
        }
    }

    #[inline(always)]
    unsafe fn store_48(self, to: *mut u8) {
        // SAFETY: a value of this type exists, so the CPU has AVX-512 F and BW; the caller vouches for 48 bytes.
        unsafe {
            let gather = _mm512_loadu_si512(GATHER.as_ptr().cast());
            let packed = _mm512_permutexvar_epi16(gather, _mm512_castpd_si512(self.0));
            _mm512_mask_storeu_epi16(to.cast(), FIRST_WORDS, packed);
        }
    }
}

super::entry_points!(
    "The CPU offers AVX-512 F, DQ, VL and BW, AVX2 and FMA.",
    super::Zmm,
    vector,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);
