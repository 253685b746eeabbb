//! Eight words in a 512-bit register with the 52-bit multiply-add of AVX-512 IFMA, which adds the low or the high 52
//! bits of a 104-bit product to a 64-bit accumulator.
//!
//! **Words in flight are correct modulo 2^52 only.** The multiplier ignores the upper 12 bits of its factors. So their
//! content does not matter, and no masking is needed before the end. The *true* value, of which 52 bits are stored,
//! must be in `[0, 2^52)` whenever it is multiplied. Below, ranges of true values are in units of p, and C = 2^52/p.
//!
//! With w' = ⌊w·2^52/p⌋ and q = ⌊w'·y/2^52⌋, t = w·y − q·p is in `[0, 1 + y/C)` ⊂ `[0, 2)` (Harvey's argument with
//! words of 52 bits). If the accumulator of q starts at 1, the result is t − 1 in `[−1, 1)` at no cost. If the
//! accumulator of the low products starts at x, the result is x + t − 1 at no cost; x − (t − 1) is 2x − (x + t − 1). A
//! butterfly is 3 multiply-adds and 2 additions; the multiple −p is 2^52 − p.
//!
//! **p < 2^46**, C > 64 ([`Ifma46`]): nothing else is needed. Each level widens the range by at most 1 below and y/C <
//! 1 above.
//! * Forward: the first x are biased by L = log2 N ≤ 17, so all values after l levels are in `[L − l, L + 1 + l)`: ⊂
//!   `[0, 35)`.
//! * Transforms of S = 2, 4, 8 points without factors: inputs are in `[0, b)`, b = 1 (canonical) or 2 (products). Where
//!   pairs are added without a factor, y may be as wide as x. Biases keep the values that the next level multiplies
//!   from being negative: b for x_2 and x_6, 3b for x_4 of eight points, (S − 1)·b for x_0, which reaches all outputs.
//!   By levels the outputs are in `[0, 3b)`, `[0, 11b)`, `[0, 27b)` at most.
//! * First transform of an inverse: a further bias L on x_0 covers the levels that follow. All values stay below
//!   27 + 17 + 11 = 55 < C, and in the last transform below 54.
//!
//! **p < 2^50**, C > 4 ([`Ifma50`]): values are in `[0, 4)`. Before a butterfly, x is reduced by k = ⌊κ·x/2^52⌋ − 1, κ
//! = ⌊2^52/p⌋, to x − k·p in `[1, 3)`. This takes two more multiply-adds; the bias again costs nothing. ± (t − 1) leads
//! back to `[0, 4)`. If pairs are added without a factor, both are reduced, and y goes to `[−1, 1)` with its
//! accumulator started at 1. The first pairs are below 2 anyway.
//!
//! **Canonical values.** k = ⌊κ·x/2^52⌋ leaves x − k·p in `[0, 1 + x/C)` ⊂ `[0, 2)`. Then the upper bits are masked
//! away, and p is subtracted where that does not wrap.
//!
//! **Sums of products** of canonical values collect low and high halves separately: S = 2^52·h + l, with the carries
//! moved from l to h. S < 2^104, and so h < 2^52, for 16 products of 50 bits (16·(2^50 − 2)² + 2^50 < 2^104), or 2^11
//! of 46 bits (2^103 + 2^46; the sum of 2^11 low halves is also below 2^64). Then S mod p is h·(2^52 mod p) + l with
//! one common quotient of two roundings: below 4p.

use std::arch::x86_64::*;

use super::lanes::{Lanes, MAX_CONSTANTS};
use crate::Modulus;
use crate::ntt::transpose::transpose;

/// Primes below 2^46.
pub(super) type Ifma46 = Ifma<46>;

/// Primes below 2^50.
pub(super) type Ifma50 = Ifma<50>;

/// Eight lanes; see the module's documentation.
#[derive(Clone, Copy)]
pub(super) struct Ifma<const BITS: u32> {
    p: u64,
    /// log2 N.
    levels: u64,
    /// 2^52 − p.
    minus_p: __m512i,
    /// κ = ⌊2^52/p⌋.
    reciprocal: __m512i,
    /// 2^52 mod p.
    word: Factor,
    /// 1.
    one: __m512i,
    /// 2^52 − 1, which is −1.
    minus_one: __m512i,
}

/// The factor w and ⌊w·2^52/p⌋.
#[derive(Clone, Copy)]
pub(super) struct Factor(__m512i, __m512i);

// SAFETY of every block below: the intrinsics need AVX-512 F and IFMA and touch no memory, except loads and stores,
// which state their contract. A value of `Ifma` only comes from `new`, whose caller vouches for the CPU.

impl<const BITS: u32> Ifma<BITS> {
    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    /// acc + low half of x·y.
    #[inline(always)]
    fn low(self, acc: __m512i, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_madd52lo_epu64(acc, x, y) }
    }

    /// acc + high half of x·y.
    #[inline(always)]
    fn high(self, acc: __m512i, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_madd52hi_epu64(acc, x, y) }
    }

    #[inline(always)]
    fn add(self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_add_epi64(x, y) }
    }

    #[inline(always)]
    fn sub(self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_sub_epi64(x, y) }
    }

    /// x plus a multiple of p.
    #[inline(always)]
    fn bias(self, x: __m512i, multiple: u64) -> __m512i {
        self.add(x, self.splat(multiple * self.p))
    }

    /// x − (⌊κ·x/2^52⌋ + start)·p.
    #[inline(always)]
    fn reduce(self, x: __m512i, start: __m512i) -> __m512i {
        let k = self.high(start, x, self.reciprocal);
        self.low(x, k, self.minus_p)
    }

    /// The canonical residue of x, whose lower 52 bits are below 2p.
    #[inline(always)]
    fn mask_and_subtract(self, x: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { self.subtract(_mm512_and_si512(x, self.splat((1 << 52) - 1)), self.p) }
    }

    /// x − k, or x if that is negative.
    #[inline(always)]
    fn subtract(self, x: __m512i, k: u64) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_min_epu64(x, self.sub(x, self.splat(k))) }
    }

    /// The canonical sum of the two parts of a sum of products below 2^104.
    #[inline(always)]
    fn reduce_wide(self, low: __m512i, high: __m512i) -> __m512i {
        // SAFETY: see above.
        let high = unsafe { self.add(high, _mm512_srli_epi64::<52>(low)) };
        let q = self.high(self.high(self.splat(0), high, self.word.1), low, self.reciprocal);
        let sum = self.low(self.low(low, high, self.word.0), q, self.minus_p);
        // SAFETY: see above.
        let sum = unsafe { _mm512_and_si512(sum, self.splat((1 << 52) - 1)) };
        self.subtract(self.subtract(sum, 2 * self.p), self.p)
    }
}

impl<const BITS: u32> Lanes for Ifma<BITS> {
    type Word = u64;
    type Vector = __m512i;
    type Twiddle = Factor;

    const LANES: usize = 8;
    const ROWS: usize = 8;

    fn constants(modulus: Modulus, log_n: u32) -> [u64; MAX_CONSTANTS] {
        let p = modulus.value();
        let [word, word_quotient] = Self::prepare(modulus, modulus.reduce(1 << 52));
        // The last two constants are passed at run time to hide them from the compiler. It would otherwise make −1
        // again for each use, by an instruction that occupies a port and waits for the register's last use.
        [p, log_n.into(), (1 << 52) - p, (1 << 52) / p, word, word_quotient, 1, (1 << 52) - 1]
    }

    fn prepare(modulus: Modulus, w: u64) -> [u64; 2] {
        [w, ((u128::from(w) << 52) / u128::from(modulus.value())) as u64]
    }

    #[inline(always)]
    unsafe fn new(constants: &[u64; MAX_CONSTANTS]) -> Self {
        let [p, levels, minus_p, reciprocal, word, word_quotient, one, minus_one] = *constants;
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let splat = |x: u64| _mm512_set1_epi64(x as i64);
            Ifma {
                p,
                levels,
                minus_p: splat(minus_p),
                reciprocal: splat(reciprocal),
                word: Factor(splat(word), splat(word_quotient)),
                one: splat(one),
                minus_one: splat(minus_one),
            }
        }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const u64) -> __m512i {
        // SAFETY: the caller's contract.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, x: __m512i, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_si512(to.cast(), x) }
    }

    #[inline(always)]
    unsafe fn twiddle_splat(self, from: *const u64) -> Factor {
        // SAFETY: the caller's contract.
        unsafe { Factor(self.splat(*from), self.splat(*from.add(1))) }
    }

    #[inline(always)]
    unsafe fn twiddle_load(self, from: *const u64) -> Factor {
        // SAFETY: the caller's contract.
        unsafe { Factor(self.load(from), self.load(from.add(8))) }
    }

    #[inline(always)]
    fn transpose(self, rows: &mut [__m512i]) {
        // SAFETY: see above.
        unsafe { transpose(rows) }
    }

    #[inline(always)]
    fn enter_forward(self, x: &mut [__m512i]) {
        if BITS == 46 {
            let half = x.len() / 2;
            for x in &mut x[..half] {
                *x = self.bias(*x, self.levels);
            }
        }
    }

    #[inline(always)]
    fn enter_dft(self, x: &mut [__m512i], products: bool) {
        if BITS == 46 {
            let (b, later) = if products { (2, 0) } else { (1, self.levels) };
            x[0] = self.bias(x[0], (x.len() as u64 - 1) * b + later);
            if x.len() >= 4 {
                x[2] = self.bias(x[2], b);
            }
            if x.len() >= 8 {
                x[4] = self.bias(x[4], 3 * b);
                x[6] = self.bias(x[6], b);
            }
        }
    }

    #[inline(always)]
    fn butterfly(self, x: __m512i, y: __m512i, w: Factor) -> (__m512i, __m512i) {
        let x = if BITS == 46 { x } else { self.reduce(x, self.minus_one) };
        let q = self.high(self.one, y, w.1);
        let sum = self.low(self.low(x, y, w.0), q, self.minus_p);
        (sum, self.sub(self.add(x, x), sum))
    }

    #[inline(always)]
    fn butterfly_one(self, x: __m512i, y: __m512i, first: bool) -> (__m512i, __m512i) {
        if BITS == 46 {
            (self.add(x, y), self.sub(x, y))
        } else if first {
            (self.add(x, y), self.sub(self.bias(x, 2), y))
        } else {
            let (x, y) = (self.reduce(x, self.minus_one), self.reduce(y, self.one));
            (self.add(x, y), self.sub(x, y))
        }
    }

    #[inline(always)]
    fn product(self, y: __m512i, w: Factor) -> __m512i {
        let q = self.high(self.splat(0), y, w.1);
        self.low(self.low(self.splat(0), y, w.0), q, self.minus_p)
    }

    #[inline(always)]
    fn canonical(self, x: __m512i) -> __m512i {
        self.mask_and_subtract(self.reduce(x, self.splat(0)))
    }

    #[inline(always)]
    fn canonical_product(self, x: __m512i) -> __m512i {
        self.mask_and_subtract(x)
    }

    #[inline(always)]
    fn multiply(self, lhs: __m512i, rhs: __m512i) -> __m512i {
        let zero = self.splat(0);
        self.reduce_wide(self.low(zero, lhs, rhs), self.high(zero, lhs, rhs))
    }

    const MAX_TERMS: usize = if BITS == 46 { 1 << 11 } else { 16 };

    #[inline(always)]
    unsafe fn dot(self, acc: __m512i, lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> __m512i {
        let (mut low, mut high) = (acc, self.splat(0));
        for row in 0..rows {
            // SAFETY: the caller's contract.
            let (x, y) = unsafe { (self.load(lhs.add(row * stride)), self.load(rhs.add(row * stride))) };
            low = self.low(low, x, y);
            high = self.high(high, x, y);
        }
        self.reduce_wide(low, high)
    }
}
