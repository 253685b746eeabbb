//! AVX-512 IFMA, all moduli below 2^50: products in 52-bit halves.
//!
//! `vpmadd52luq` and `vpmadd52huq` add the lower or upper 52 bits of the 104-bit product of two 52-bit words to a 64-bit
//! word. The companion of a factor is ⌊w·2^52/m⌋ = ⌊w'/2^12⌋; with x < 2^52 and q = ⌊w·2^52/m⌋·x/2^52 rounded down, w·x −
//! q·m is in `[0, 2m)`, so that it is the difference of the lower halves modulo 2^52.

use std::arch::x86_64::*;

use super::{Factor, LANES, POINT, Ring, Source};

const MASK: i64 = (1 << 52) - 1;

/// A word in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn splat(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[u64; LANES]) -> __m512i {
    // SAFETY: a vector of words.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(x: __m512i, to: &mut [u64; LANES]) {
    // SAFETY: a vector of words.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), x) }
}

/// x or x − k, whichever is at least 0.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce_once(x: __m512i, k: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, k))
}

/// A factor in all lanes.
#[derive(Clone, Copy)]
struct Multiplier {
    m: __m512i,
    w: __m512i,
    companion: __m512i,
}

impl Multiplier {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(factor: Factor, m: u64) -> Self {
        Multiplier { m: splat(m), w: splat(factor.w), companion: splat(factor.companion >> 12) }
    }

    /// w·x modulo m in `[0, 2m)`, for x < 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn lazy(self, x: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let quotient = _mm512_madd52hi_epu64(zero, x, self.companion);
        let (product, multiple) =
            (_mm512_madd52lo_epu64(zero, x, self.w), _mm512_madd52lo_epu64(zero, quotient, self.m));
        _mm512_and_si512(_mm512_sub_epi64(product, multiple), _mm512_set1_epi64(MASK))
    }

    /// w·x modulo m, canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(self, x: __m512i) -> __m512i {
        reduce_once(self.lazy(x), self.m)
    }
}

/// See [`Path::source`](super::Path::source).
///
/// # Safety
/// The CPU has AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn source(source: &Source, x: &[u64], y: &mut [u64], fraction: &mut [u64], whole: &mut [u64]) {
    let factor = Multiplier::new(source.factor, source.q);
    let (low, high) = (splat(source.reciprocal.low), splat(source.reciprocal.high));
    let shift = _mm_cvtsi64_si128(source.reciprocal.high_shift.into());
    let lanes = x.as_chunks().0.iter().zip(y.as_chunks_mut().0);
    for (((x, y), fraction), whole) in lanes.zip(fraction.as_chunks_mut().0).zip(whole.as_chunks_mut().0) {
        let product = factor.of(load(x));
        store(product, y);
        let product = _mm512_sll_epi64(product, shift);
        let upper = _mm512_add_epi64(load(fraction), _mm512_mullo_epi64(product, high));
        let sum = _mm512_madd52hi_epu64(upper, product, low);
        store(_mm512_add_epi64(load(whole), _mm512_srli_epi64::<POINT>(sum)), whole);
        store(_mm512_and_si512(sum, splat((1 << POINT) - 1)), fraction);
    }
}

/// See [`Path::scale`](super::Path::scale).
///
/// # Safety
/// The CPU has AVX-512 F and IFMA.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn scale(m: u64, factor: Factor, x: &mut [u64]) {
    let factor = Multiplier::new(factor, m);
    for x in x.as_chunks_mut().0 {
        store(factor.of(load(x)), x);
    }
}

/// See [`Path::sum`](super::Path::sum), for at most [`IFMA_TERMS`](super::IFMA_TERMS) terms, so that with `own` the
/// upper halves sum up to less than 15·2^48 + 2^12 < 2^52: then high·2^52 + low ≡ high·(2^52 mod m) + low·1.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA; there is a row as long as `out` per term.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn sum(ring: &Ring, own: Option<Factor>, terms: &[Factor], rows: &[u64], out: &mut [u64]) {
    let (one, word) = (Multiplier::new(ring.one, ring.m), Multiplier::new(ring.word, ring.m));
    let (zero, mask) = (_mm512_setzero_si512(), _mm512_set1_epi64(MASK));
    let twice = splat(2 * ring.m);
    let stride = out.len();
    // Without a factor the result's old words count nothing.
    let own = splat(own.map_or(0, |factor| factor.w));
    for (column, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
        let x = load(out);
        let (mut low, mut high) = (_mm512_madd52lo_epu64(zero, x, own), _mm512_madd52hi_epu64(zero, x, own));
        for (term, row) in terms.iter().zip(rows.chunks_exact(stride)) {
            let (x, w) = (load(&row.as_chunks().0[column]), splat(term.w));
            low = _mm512_madd52lo_epu64(low, x, w);
            high = _mm512_madd52hi_epu64(high, x, w);
        }
        let high = word.lazy(_mm512_add_epi64(high, _mm512_srli_epi64::<52>(low)));
        let low = one.lazy(_mm512_and_si512(low, mask));
        store(reduce_once(reduce_once(_mm512_add_epi64(high, low), twice), one.m), out);
    }
}

/// See [`Path::divide_and_round`](super::Path::divide_and_round).
///
/// # Safety
/// The CPU has AVX-512 F and IFMA.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn divide_and_round(q: u64, m: u64, factor: Factor, offset: u64, dropped: &[u64], x: &mut [u64]) {
    let factor = Multiplier::new(factor, m);
    let (half, offset, q) = (splat(q / 2), splat(offset), splat(q));
    for (x, dropped) in x.as_chunks_mut().0.iter_mut().zip(dropped.as_chunks().0) {
        let centred = reduce_once(_mm512_add_epi64(load(dropped), half), q);
        store(factor.of(_mm512_sub_epi64(_mm512_add_epi64(load(x), offset), centred)), x);
    }
}
