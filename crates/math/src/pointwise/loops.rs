//! Plain loops on 64-bit words, which the compiler vectorises.
//!
//! IFMA is the only instruction set that multiplies 64-bit words in vectors. With `VECTOR` the upper halves of products
//! consist of 32-bit products, for which vectors exist; without it they come from the CPU's 128-bit product.

use super::word64::Constants;
use crate::multiversion;

const LOW: u64 = 0xffff_ffff;

/// x or x − k, whichever is in range.
#[inline(always)]
fn reduce_once(x: u64, k: u64) -> u64 {
    x.min(x.wrapping_sub(k))
}

/// (⌊a·b/2^64⌋, a·b mod 2^64).
#[inline(always)]
fn wide<const VECTOR: bool>(a: u64, b: u64) -> (u64, u64) {
    if VECTOR {
        let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
        let low = a0 * b0;
        // (2^32 − 1)² + 2^32 − 1 < 2^64, twice.
        let middle = a1 * b0 + (low >> 32);
        let other = a0 * b1 + (middle & LOW);
        (a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | low & LOW)
    } else {
        let product = u128::from(a) * u128::from(b);
        ((product >> 64) as u64, product as u64)
    }
}

/// ⌊a·b/2^64⌋, or with `VECTOR` possibly one less: without the product of the lower halves a carry may be missing.
#[inline(always)]
fn high_short<const VECTOR: bool>(a: u64, b: u64) -> u64 {
    if VECTOR {
        let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
        let (middle, other) = (a1 * b0, a0 * b1);
        a1 * b1 + (middle >> 32) + (other >> 32) + (((middle & LOW) + (other & LOW)) >> 32)
    } else {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }
}

#[inline(always)]
fn product<const VECTOR: bool>(c: &Constants, lhs: u64, rhs: u64) -> u64 {
    let (high, low) = wide::<VECTOR>(lhs, rhs);
    // x / 2^(b−2); b ≥ 2, and for b = 2 the upper half is 0.
    let head = high.wrapping_shl(66 - c.bits) | low >> (c.bits - 2);
    let quotient = high_short::<VECTOR>(head, c.barrett);
    let rest = low.wrapping_sub(quotient.wrapping_mul(c.p));
    reduce_once(reduce_once(rest, 2 * c.p), c.p)
}

#[inline(always)]
fn product_scalar<const VECTOR: bool>(p: u64, x: u64, factor: u64, companion: u64) -> u64 {
    let quotient = high_short::<VECTOR>(x, companion);
    let rest = x.wrapping_mul(factor).wrapping_sub(quotient.wrapping_mul(p));
    // The short quotient's result may be up to 3p.
    let rest = if VECTOR { reduce_once(rest, 2 * p) } else { rest };
    reduce_once(rest, p)
}

multiversion! {
    /// lhs ← lhs + rhs; a sum is below 2p.
    pub(super) fn add(isa, p: u64, lhs: &mut [u64], rhs: &[u64]) {
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            *l = reduce_once(*l + r, p);
        }
    }
}

multiversion! {
    /// lhs ← lhs − rhs. Modulo 2^64 the result is the smaller of the difference and the difference plus p.
    pub(super) fn sub(isa, p: u64, lhs: &mut [u64], rhs: &[u64]) {
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            let difference = l.wrapping_sub(r);
            *l = difference.min(difference.wrapping_add(p));
        }
    }
}

multiversion! {
    /// values ← −values: p − x, and 0 for x = 0.
    pub(super) fn neg(isa, p: u64, values: &mut [u64]) {
        for x in values {
            *x = reduce_once(p - *x, p);
        }
    }
}

multiversion! {
    /// lhs ← lhs ∘ rhs, with vectors.
    pub(super) fn multiply_vectors(isa, c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
        let c = *c;
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            *l = product::<true>(&c, *l, r);
        }
    }
}

/// lhs ← lhs ∘ rhs, word by word.
pub(super) fn multiply_words(c: &Constants, lhs: &mut [u64], rhs: &[u64]) {
    let c = *c;
    for (l, &r) in lhs.iter_mut().zip(rhs) {
        *l = product::<false>(&c, *l, r);
    }
}

multiversion! {
    /// values ← factor·values, with vectors.
    pub(super) fn multiply_scalar_vectors(isa, p: u64, values: &mut [u64], factor: u64, companion: u64) {
        for x in values {
            *x = product_scalar::<true>(p, *x, factor, companion);
        }
    }
}

/// values ← factor·values, word by word.
pub(super) fn multiply_scalar_words(p: u64, values: &mut [u64], factor: u64, companion: u64) {
    for x in values {
        *x = product_scalar::<false>(p, *x, factor, companion);
    }
}

/// The number of products whose sum with one canonical value is below 2^128: 16·(2^62 − 1)² + 2^62 < 2^128.
pub(super) const MAX_TERMS: usize = 16;

/// acc += Σ_r lhs_r ∘ rhs_r over at most [`MAX_TERMS`] rows as long as `acc`. The CPU makes one 128-bit product per
/// cycle; vectors of 32-bit products are not faster.
pub(super) fn multiply_accumulate(c: &Constants, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
    debug_assert!(lhs.len() <= MAX_TERMS * acc.len());
    // The number of sums that fit the registers: each takes two.
    const COLUMNS: usize = 4;
    let full = acc.len() - acc.len() % COLUMNS;
    for column in (0..full).step_by(COLUMNS) {
        sum_columns::<COLUMNS>(c, acc, lhs, rhs, column);
    }
    for column in full..acc.len() {
        sum_columns::<1>(c, acc, lhs, rhs, column);
    }
}

/// The sums of C columns from `column` on.
#[inline(always)]
fn sum_columns<const C: usize>(c: &Constants, acc: &mut [u64], lhs: &[u64], rhs: &[u64], column: usize) {
    let len = acc.len();
    let acc: &mut [u64; C] = (&mut acc[column..column + C]).try_into().expect("C columns");
    let mut sums = acc.map(u128::from);
    for (l, r) in lhs.chunks_exact(len).zip(rhs.chunks_exact(len)) {
        let [l, r]: [&[u64; C]; 2] = [l, r].map(|row| row[column..column + C].try_into().expect("C columns"));
        for j in 0..C {
            sums[j] += u128::from(l[j]) * u128::from(r[j]);
        }
    }
    for (a, sum) in acc.iter_mut().zip(sums) {
        *a = reduce(c, sum);
    }
}

/// Any 128-bit integer modulo p: high·(2^64 mod p) + low·1. Its two products with one factor, in `[0, 2p)`, share one
/// product of p with the sum of their quotients.
#[inline(always)]
pub(crate) fn reduce(c: &Constants, sum: u128) -> u64 {
    let (high, low) = ((sum >> 64) as u64, sum as u64);
    let quotient = high_short::<false>(high, c.word.1).wrapping_add(high_short::<false>(low, c.one.1));
    let rest = high.wrapping_mul(c.word.0).wrapping_add(low).wrapping_sub(quotient.wrapping_mul(c.p));
    reduce_once(reduce_once(rest, 2 * c.p), c.p)
}
