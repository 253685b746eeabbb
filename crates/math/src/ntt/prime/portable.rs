//! Harvey's lazy butterflies on one word at a time, for any CPU and any p < 2^62.

use super::lanes::{Lanes, MAX_CONSTANTS};
use crate::Modulus;

/// Products of canonical values whose sum fits 128 bits with one more canonical value: 16·(2^62 − 1)² + 2^62 < 2^128.
pub(super) const MAX_TERMS: usize = 16;

/// p; ⌊2^64/p⌋; 2^64 mod p and its quotient.
pub(super) fn constants(modulus: Modulus) -> [u64; MAX_CONSTANTS] {
    let word = modulus.reduce_u128(1 << 64);
    [modulus.value(), modulus.shoup_quotient(1), word, modulus.shoup_quotient(word), 0, 0, 0, 0]
}

/// One lane. The ranges are those of `harvey` with exact quotients.
#[derive(Clone, Copy)]
pub(super) struct Portable {
    p: u64,
    one: Factor,
    word: Factor,
}

/// The factor and ⌊factor·2^64/p⌋.
#[derive(Clone, Copy)]
pub(super) struct Factor(u64, u64);

impl Portable {
    /// x or x − k, whichever is in range, without a branch, which random residues would mispredict.
    #[inline(always)]
    fn reduce_once(x: u64, k: u64) -> u64 {
        x.min(x.wrapping_sub(k))
    }

    /// Any double word modulo p, canonical: high·2^64 + low = (high·(2^64 mod p)) + low, two products below 2p.
    #[inline(always)]
    fn reduce_wide(self, x: u128) -> u64 {
        self.canonical(self.product((x >> 64) as u64, self.word) + self.product(x as u64, self.one))
    }
}

impl Lanes for Portable {
    type Word = u64;
    type Vector = u64;
    type Twiddle = Factor;

    const LANES: usize = 1;
    const ROWS: usize = 8;

    fn constants(modulus: Modulus, _log_n: u32) -> [u64; MAX_CONSTANTS] {
        constants(modulus)
    }

    fn prepare(modulus: Modulus, w: u64) -> [u64; 2] {
        [w, modulus.shoup_quotient(w)]
    }

    #[inline(always)]
    unsafe fn new(constants: &[u64; MAX_CONSTANTS]) -> Self {
        let [p, one, word, word_quotient, ..] = *constants;
        Portable { p, one: Factor(1, one), word: Factor(word, word_quotient) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const u64) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { *from }
    }

    #[inline(always)]
    unsafe fn store(self, x: u64, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { *to = x }
    }

    #[inline(always)]
    unsafe fn twiddle_splat(self, from: *const u64) -> Factor {
        // SAFETY: the caller's contract.
        unsafe { Factor(*from, *from.add(1)) }
    }

    #[inline(always)]
    unsafe fn twiddle_load(self, from: *const u64) -> Factor {
        // SAFETY: the caller's contract.
        unsafe { self.twiddle_splat(from) }
    }

    #[inline(always)]
    fn transpose(self, _rows: &mut [u64]) {}

    #[inline(always)]
    fn butterfly(self, x: u64, y: u64, w: Factor) -> (u64, u64) {
        let x = Self::reduce_once(x, 2 * self.p);
        let t = self.product(y, w);
        (x + t, x + (2 * self.p - t))
    }

    #[inline(always)]
    fn butterfly_one(self, x: u64, y: u64, first: bool) -> (u64, u64) {
        let (x, y) = if first { (x, y) } else { (Self::reduce_once(x, 2 * self.p), Self::reduce_once(y, 2 * self.p)) };
        (x + y, x + (2 * self.p - y))
    }

    #[inline(always)]
    fn product(self, y: u64, w: Factor) -> u64 {
        let quotient = ((u128::from(y) * u128::from(w.1)) >> 64) as u64;
        y.wrapping_mul(w.0).wrapping_sub(quotient.wrapping_mul(self.p))
    }

    #[inline(always)]
    fn canonical(self, x: u64) -> u64 {
        Self::reduce_once(Self::reduce_once(x, 2 * self.p), self.p)
    }

    #[inline(always)]
    fn canonical_product(self, x: u64) -> u64 {
        Self::reduce_once(x, self.p)
    }

    #[inline(always)]
    fn multiply(self, lhs: u64, rhs: u64) -> u64 {
        self.reduce_wide(u128::from(lhs) * u128::from(rhs))
    }

    const MAX_TERMS: usize = MAX_TERMS;

    #[inline(always)]
    unsafe fn dot(self, acc: u64, lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> u64 {
        let mut sum = u128::from(acc);
        for row in 0..rows {
            // SAFETY: the caller's contract.
            let (x, y) = unsafe { (*lhs.add(row * stride), *rhs.add(row * stride)) };
            sum += u128::from(x) * u128::from(y);
        }
        self.reduce_wide(sum)
    }
}
