//! The 8 × 8 transposition of the tiles of every kernel on eight 64-bit lanes.

use std::arch::x86_64::*;

/// Transposes a matrix of eight rows of eight words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose(rows: &mut [__m512i]) {
    let r: &mut [__m512i; 8] = rows.try_into().expect("eight rows");
    // Pairs of rows, then 2×2 blocks of 128 bits, twice.
    let mut a = *r;
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
        r[c] = _mm512_shuffle_i64x2::<0b10_00_10_00>(low_01, low_23);
        r[c + 4] = _mm512_shuffle_i64x2::<0b11_01_11_01>(low_01, low_23);
        r[c + 2] = _mm512_shuffle_i64x2::<0b10_00_10_00>(high_01, high_23);
        r[c + 6] = _mm512_shuffle_i64x2::<0b11_01_11_01>(high_01, high_23);
    }
}
