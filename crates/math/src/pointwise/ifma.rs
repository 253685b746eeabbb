//! Pointwise kernels with AVX-512 IFMA, p < 2^50: products in 52-bit halves.
//!
//! `vpmadd52luq` and `vpmadd52huq` add the lower or upper 52 bits of the 104-bit product of two 52-bit words to a
//! 64-bit word. b is the length of p in bits, at most 50.
//!
//! * **Product** x = l·r < 2^(2b) = high·2^52 + low. With x₁ = ⌊x/2^(b−2)⌋ < 2^(b+2) ≤ 2^52 and μ = ⌊2^(b+50)/p⌋ ≤
//!   2^51, the quotient q = ⌊x₁·μ/2^52⌋ is less than 5/2 below x/p, as with 64-bit words. x − q·p is in `[0, 5p/2)`,
//!   below 2^52. So it is the difference of the lower halves modulo 2^52.
//! * **Product with one factor**: w' = ⌊w·2^52/p⌋ and q = ⌊w'·x/2^52⌋ for x < 2^52 make w·x − q·p in `[0, 2p)`.
//! * **Sums of T products**: the sum of the lower halves is less than T·2^52, with acc < 2^50 below 2^64 for T ≤ 4095.
//!   The upper halves are at most h = ⌊(p−1)²/2^52⌋ < 2^48 each. With the carry of the lower halves, below 2^12, their
//!   sum must stay below 2^52: T·h + 2^12 ≤ 2^52. `max_terms` is the greatest such T, at least 15. Then high·2^52 + low
//!   ≡ high·(2^52 mod p) + low·1 is the sum of two products with one factor, below 4p < 2^52.
//! * **More terms**, up to 4095: the upper halves and the carry stay below 4095·2^48 + 2^12 < 2^60. Their part from
//!   2^52 on, t < 2^8, is the factor of 2^104; that product with one factor is below p + p·t/2^52. So the part of
//!   high·2^52 is less than 4p < 2^52, that of low less than 2p, and their sum is below 6p.

use std::arch::x86_64::*;

use crate::Modulus;

/// The greatest length of p in bits.
pub(super) const MAX_BITS: u32 = 50;

const MASK: u64 = (1 << 52) - 1;

/// Words per vector.
const LANES: usize = 8;

/// The number of products whose lower halves can always be summed with a canonical value.
pub(crate) const MAX_TERMS: usize = 4095;

/// The constants of a modulus p.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    p: u64,
    bits: u32,
    /// ⌊2^(bits+50)/p⌋.
    barrett: u64,
    /// ⌊2^52/p⌋, the companion of 1.
    one: u64,
    /// 2^52 mod p and its companion.
    word: (u64, u64),
    /// 2^104 mod p and its companion.
    square: (u64, u64),
    /// The number of products that can be summed without reduction while upper halves fit 52 bits.
    pub(crate) max_terms: usize,
}

impl Constants {
    pub(super) fn new(modulus: Modulus) -> Self {
        let p = modulus.value();
        debug_assert!(modulus.bits() <= MAX_BITS);
        let word = (1 << 52) % p;
        let square = modulus.mul(word, word);
        let upper = ((u128::from(p - 1) * u128::from(p - 1)) >> 52) as u64;
        Constants {
            p,
            bits: modulus.bits(),
            barrett: ((1u128 << (modulus.bits() + 50)) / u128::from(p)) as u64,
            one: companion(1, p),
            word: (word, companion(word, p)),
            square: (square, companion(square, p)),
            max_terms: (((1u64 << 52) - (1 << 12)) / upper.max(1)).min(MAX_TERMS as u64) as usize,
        }
    }
}

/// ⌊w·2^52/p⌋.
fn companion(w: u64, p: u64) -> u64 {
    ((u128::from(w) << 52) / u128::from(p)) as u64
}

/// Selects the first `lanes` ≤ 8 lanes.
fn first(lanes: usize) -> __mmask8 {
    ((1u32 << lanes) - 1) as __mmask8
}

/// x or x − k, whichever is in range.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce_once(x: __m512i, k: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, k))
}

/// w·x − q·p in `[0, 2p)`, for x < 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product_scalar(x: __m512i, factor: __m512i, companion: __m512i, p: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let quotient = _mm512_madd52hi_epu64(zero, x, companion);
    let rest = _mm512_sub_epi64(_mm512_madd52lo_epu64(zero, x, factor), _mm512_madd52lo_epu64(zero, quotient, p));
    _mm512_and_si512(rest, _mm512_set1_epi64(MASK as i64))
}

/// The constants, in registers, of the reduction of a sum of products.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    p: __m512i,
    /// The companion of 1.
    one: __m512i,
    word: [__m512i; 2],
    square: [__m512i; 2],
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn new(c: &Constants) -> Self {
        let splat = |x: u64| _mm512_set1_epi64(x as i64);
        let pair = |(x, companion)| [splat(x), splat(companion)];
        Self { p: splat(c.p), one: splat(c.one), word: pair(c.word), square: pair(c.square) }
    }

    /// (low + high·2^52) mod p for sums of lower and upper halves of at most `max_terms` products, or with `MANY` of at
    /// most [`MAX_TERMS`]. Products with one factor share one product of p with the sum of their quotients.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn reduce<const MANY: bool>(&self, low: __m512i, high: __m512i) -> __m512i {
        let (zero, mask) = (_mm512_setzero_si512(), _mm512_set1_epi64(MASK as i64));
        let twice = _mm512_add_epi64(self.p, self.p);
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        // Factors and differences count modulo 2^52: each is below 2^52 before the mask.
        let modulo = |sum, quotient| {
            _mm512_and_si512(_mm512_sub_epi64(sum, _mm512_madd52lo_epu64(zero, quotient, self.p)), mask)
        };
        let quotient = _mm512_madd52hi_epu64(zero, low, self.one);
        let rest = if MANY {
            let top = _mm512_srli_epi64::<52>(high);
            let [high_quotient, sum] = [
                _mm512_madd52hi_epu64(_mm512_madd52hi_epu64(zero, high, self.word[1]), top, self.square[1]),
                _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, high, self.word[0]), top, self.square[0]),
            ];
            let rest = _mm512_add_epi64(modulo(low, quotient), modulo(sum, high_quotient));
            reduce_once(rest, _mm512_add_epi64(twice, twice))
        } else {
            let sum = _mm512_madd52lo_epu64(low, high, self.word[0]);
            modulo(sum, _mm512_madd52hi_epu64(quotient, high, self.word[1]))
        };
        reduce_once(reduce_once(rest, twice), self.p)
    }
}

/// The constants of a product in registers.
struct Product {
    p: __m512i,
    twice: __m512i,
    barrett: __m512i,
    up: __m128i,
    down: __m128i,
}

impl Product {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(c: &Constants) -> Product {
        Product {
            p: _mm512_set1_epi64(c.p as i64),
            twice: _mm512_set1_epi64(2 * c.p as i64),
            barrett: _mm512_set1_epi64(c.barrett as i64),
            up: _mm_cvtsi64_si128(i64::from(54 - c.bits)),
            down: _mm_cvtsi64_si128(i64::from(c.bits - 2)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(&self, l: __m512i, r: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let (high, low) = (_mm512_madd52hi_epu64(zero, l, r), _mm512_madd52lo_epu64(zero, l, r));
        let head = _mm512_or_si512(_mm512_sll_epi64(high, self.up), _mm512_srl_epi64(low, self.down));
        let quotient = _mm512_madd52hi_epu64(zero, head, self.barrett);
        let rest = _mm512_sub_epi64(low, _mm512_madd52lo_epu64(zero, quotient, self.p));
        let rest = _mm512_and_si512(rest, _mm512_set1_epi64(MASK as i64));
        reduce_once(reduce_once(rest, self.twice), self.p)
    }
}

/// lhs ← lhs ∘ rhs.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA; the lengths agree.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn multiply(c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
    let product = Product::new(c);
    let (lhs, lhs_rest) = lhs.as_chunks_mut::<LANES>();
    let (rhs, rhs_rest) = rhs.as_chunks::<LANES>();
    for (l, r) in lhs.iter_mut().zip(rhs) {
        // SAFETY: LANES words each.
        unsafe {
            let at = l.as_mut_ptr().cast();
            _mm512_storeu_si512(at, product.of(_mm512_loadu_si512(at), _mm512_loadu_si512(r.as_ptr().cast())));
        }
    }
    let mask = first(lhs_rest.len());
    // SAFETY: the mask excludes the lanes beyond the end of the slices.
    unsafe {
        let at = lhs_rest.as_mut_ptr().cast();
        let (l, r) = (_mm512_maskz_loadu_epi64(mask, at), _mm512_maskz_loadu_epi64(mask, rhs_rest.as_ptr().cast()));
        _mm512_mask_storeu_epi64(at, mask, product.of(l, r));
    }
}

/// values ← factor·values, for a factor below p.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn multiply_scalar(c: &Constants, values: &mut [u64], factor: u64) {
    let p = _mm512_set1_epi64(c.p as i64);
    let companion = _mm512_set1_epi64(companion(factor, c.p) as i64);
    let factor = _mm512_set1_epi64(factor as i64);
    let (values, rest) = values.as_chunks_mut::<LANES>();
    for x in values {
        // SAFETY: LANES words.
        unsafe {
            let at = x.as_mut_ptr().cast();
            let product = product_scalar(_mm512_loadu_si512(at), factor, companion, p);
            _mm512_storeu_si512(at, reduce_once(product, p));
        }
    }
    let mask = first(rest.len());
    // SAFETY: the mask excludes the lanes beyond the end of the slice.
    unsafe {
        let at = rest.as_mut_ptr().cast();
        let product = product_scalar(_mm512_maskz_loadu_epi64(mask, at), factor, companion, p);
        _mm512_mask_storeu_epi64(at, mask, reduce_once(product, p));
    }
}

/// acc += Σ_r lhs_r ∘ rhs_r over at most `max_terms` rows as long as `acc`.
///
/// # Safety
/// The CPU has AVX-512 F and IFMA; `lhs` and `rhs` hold the same number of rows as long as `acc`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn multiply_accumulate(c: &Constants, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
    let len = acc.len();
    let rows = lhs.len() / len;
    debug_assert!(rows <= c.max_terms);
    let mut column = 0;
    // SAFETY: columns below `len` of the slices' rows.
    unsafe {
        while column + 4 * LANES <= len {
            sum_columns::<4>(c, acc, lhs, rhs, column, rows, first(LANES));
            column += 4 * LANES;
        }
        while column < len {
            sum_columns::<1>(c, acc, lhs, rhs, column, rows, first(LANES.min(len - column)));
            column += LANES;
        }
    }
}

/// The sums of V vectors of columns; `mask` selects the lanes.
///
/// # Safety
/// As for [`multiply_accumulate`]; the selected columns exist.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn sum_columns<const V: usize>(
    c: &Constants,
    acc: &mut [u64],
    lhs: &[u64],
    rhs: &[u64],
    column: usize,
    rows: usize,
    mask: __mmask8,
) {
    let len = acc.len();
    let (mut lows, mut highs) = ([_mm512_setzero_si512(); V], [_mm512_setzero_si512(); V]);
    // SAFETY: the caller's contract.
    unsafe {
        for (v, low) in lows.iter_mut().enumerate() {
            *low = _mm512_maskz_loadu_epi64(mask, acc.as_ptr().add(column + v * LANES).cast());
        }
        for row in 0..rows {
            for (v, (low, high)) in lows.iter_mut().zip(&mut highs).enumerate() {
                let at = row * len + column + v * LANES;
                let l = _mm512_maskz_loadu_epi64(mask, lhs.as_ptr().add(at).cast());
                let r = _mm512_maskz_loadu_epi64(mask, rhs.as_ptr().add(at).cast());
                *low = _mm512_madd52lo_epu64(*low, l, r);
                *high = _mm512_madd52hi_epu64(*high, l, r);
            }
        }
        let reduction = Reduction::new(c);
        for (v, (low, high)) in lows.into_iter().zip(highs).enumerate() {
            let sum = reduction.reduce::<false>(low, high);
            _mm512_mask_storeu_epi64(acc.as_mut_ptr().add(column + v * LANES).cast(), mask, sum);
        }
    }
}
