//! Packing of eight words to as many 64-bit words as each of them has bytes, and unpacking.

use super::LANES;
use crate::Isa;

/// Writes the lower bytes of `words` to `out`; the number of words in `out` is the number of bytes of each.
#[inline(always)]
pub(super) fn pack(words: &[u64; LANES], out: &mut [u64]) {
    if out.len() == LANES {
        return out.copy_from_slice(words);
    }
    let (bits, mut filled) = (8 * out.len() as u32, 0);
    let (mut pending, mut out) = (0u128, out.iter_mut());
    for &word in words {
        pending |= u128::from(word) << filled;
        filled += bits;
        if filled >= u64::BITS {
            *out.next().expect("as many words as bytes") = pending as u64;
            pending >>= u64::BITS;
            filled -= u64::BITS;
        }
    }
}

/// The words of `WIDTH` bytes at the start of `packed`, which has at least `WIDTH` + 1 words. With a constant width the
/// shifts are constants, and one check of the length serves all words.
#[inline(always)]
pub(super) fn unpack<const WIDTH: usize>(packed: &[u64]) -> [u64; LANES] {
    if WIDTH == LANES {
        return *packed.first_chunk().expect("a block of words");
    }
    let (mask, packed) = (u64::MAX >> (u64::BITS as usize - 8 * WIDTH), &packed[..=WIDTH]);
    std::array::from_fn(|lane| {
        let (word, shift) = (lane * WIDTH / LANES, lane * WIDTH % LANES * 8);
        let two = u128::from(packed[word + 1]) << 64 | u128::from(packed[word]);
        (two >> shift) as u64 & mask
    })
}

/// Whether vectors of bytes can be permuted; every CPU with IFMA can.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_vbmi() -> bool {
    is_x86_feature_detected!("avx512vbmi") && Isa::Avx512.is_available()
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Packing, Unpacking};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::LANES;

    /// The permutation and mask that pack eight words.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Packing {
        index: __m512i,
        mask: __mmask64,
    }

    impl Packing {
        /// The packing to `width` bytes each.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(in super::super) fn new(width: usize) -> Self {
            // Byte i·width + j comes from byte j of lane i.
            let index: [u8; 64] = std::array::from_fn(|byte| (byte / width * 8 + byte % width) as u8);
            // SAFETY: 64 bytes.
            Self { index: unsafe { _mm512_loadu_si512(index.as_ptr().cast()) }, mask: u64::MAX >> (64 - 8 * width) }
        }

        /// See [`pack`](super::pack).
        ///
        /// # Safety
        /// The CPU has the features, and `out` has `width` words.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(in super::super) unsafe fn pack(self, words: &[u64; LANES], out: &mut [u64]) {
            // SAFETY: eight words each are read; the mask has eight bytes for each word of `out`.
            unsafe {
                let packed = _mm512_permutexvar_epi8(self.index, _mm512_loadu_si512(words.as_ptr().cast()));
                _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), self.mask, packed);
            }
        }
    }

    /// The permutation and mask that bring eight packed words back to the lanes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Unpacking {
        pub(in super::super) width: usize,
        index: __m512i,
        mask: __mmask64,
    }

    impl Unpacking {
        /// The unpacking of words of `width` bytes.
        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(in super::super) fn new(width: usize) -> Self {
            // Byte j of lane i comes from byte i·width + j.
            let index: [u8; 64] = std::array::from_fn(|byte| (byte / 8 * width + byte % 8) as u8);
            let mask = (0..64).filter(|byte| byte % 8 < width).fold(0, |mask, byte| mask | 1 << byte);
            // SAFETY: 64 bytes.
            Self { width, index: unsafe { _mm512_loadu_si512(index.as_ptr().cast()) }, mask }
        }

        /// The eight packed words at `packed`.
        ///
        /// # Safety
        /// The CPU has the features; eight 64-bit words can be read.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(in super::super) unsafe fn load(&self, packed: *const u64) -> __m512i {
            // SAFETY: the caller's contract.
            unsafe { _mm512_maskz_permutexvar_epi8(self.mask, self.index, _mm512_loadu_si512(packed.cast())) }
        }
    }
}
