//! Loops over the words of one limb. None branches or indexes by what it reads.
//!
//! A factor w < m comes with its companion w' = ⌊w·2^64/m⌋ (V. Shoup): for any word x and q = ⌊w'·x/2^64⌋, w·x − q·m is
//! in `[0, 2m)`. Only AVX-512 makes upper halves of 64-bit products in vectors of 32-bit ones (`VECTOR`); without the
//! carry of the lowest part q may be one less, and w·x − q·m is in `[0, 3m)`, below 2^64 for m < 2^62.

use ciphermill_math::{Isa, Modulus, multiversion};

const LOW: u64 = 0xffff_ffff;

/// A factor modulo m < 2^62 with its companion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factor {
    w: u64,
    companion: u64,
}

impl Factor {
    /// w modulo m, for w < m.
    pub(super) fn new(w: u64, m: u64) -> Self {
        debug_assert!(w < m);
        Self { w, companion: ((u128::from(w) << 64) / u128::from(m)) as u64 }
    }
}

/// x or x − k, whichever is at least 0.
#[inline(always)]
fn reduce_once(x: u64, k: u64) -> u64 {
    x.min(x.wrapping_sub(k))
}

/// ⌊a·b/2^64⌋, or with `VECTOR` one less.
#[inline(always)]
fn high<const VECTOR: bool>(a: u64, b: u64) -> u64 {
    if VECTOR {
        let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
        let (middle, other) = (a1 * b0, a0 * b1);
        a1 * b1 + (middle >> 32) + (other >> 32) + (((middle & LOW) + (other & LOW)) >> 32)
    } else {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }
}

/// w·x modulo m, canonical, for any word x.
#[inline(always)]
fn product<const VECTOR: bool>(x: u64, factor: Factor, m: u64) -> u64 {
    let quotient = high::<VECTOR>(x, factor.companion);
    let rest = x.wrapping_mul(factor.w).wrapping_sub(quotient.wrapping_mul(m));
    let rest = if VECTOR { reduce_once(rest, 2 * m) } else { rest };
    reduce_once(rest, m)
}

/// Defines a kernel: on AVX-512 in vectors, else word by word.
macro_rules! kernel {
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        pub(super) fn $name(isa: Isa, $($arg: $ty),*) {
            #[inline(always)]
            fn generic<const VECTOR: bool>($($arg: $ty),*) $body

            multiversion! {
                fn vectors(isa, $($arg: $ty),*) { generic::<true>($($arg),*) }
            }
            match isa {
                Isa::Avx512 => vectors(isa, $($arg),*),
                _ => generic::<false>($($arg),*),
            }
        }
    };
}

kernel! {
    /// out ← x modulo p.
    fn reduce_signed(p: Modulus, x: &[i64], out: &mut [u64]) {
        let p = p.value();
        let one = Factor::new(1, p);
        for (out, &x) in out.iter_mut().zip(x) {
            let magnitude = product::<VECTOR>(x.unsigned_abs(), one, p);
            // All ones for x < 0: then p − magnitude, and 0 for p.
            let sign = (x >> 63) as u64;
            *out = reduce_once((magnitude ^ sign).wrapping_sub(sign).wrapping_add(p & sign), p);
        }
    }
}

kernel! {
    /// out ← factor·x modulo m, for any words x.
    fn multiply(m: u64, factor: Factor, x: &[u64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = product::<VECTOR>(x, factor, m);
        }
    }
}

kernel! {
    /// x ← factor·x modulo m, for any words x.
    fn scale(m: u64, factor: Factor, x: &mut [u64]) {
        for x in x {
            *x = product::<VECTOR>(*x, factor, m);
        }
    }
}

kernel! {
    /// out ← out + factor·x modulo m, for any words x and canonical out.
    fn multiply_add(m: u64, factor: Factor, x: &[u64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = reduce_once(*out + product::<VECTOR>(x, factor, m), m);
        }
    }
}

/// Bits of a fraction behind the binary point.
const POINT: u32 = 63;

/// 1/q for fractions y/q.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    /// ⌊2^(63+b)/q⌋ for a prime q of b bits, below 2^64; or 0.
    value: u64,
    /// 64 − b.
    shift: u32,
}

impl Reciprocal {
    /// Of q.
    pub(super) fn new(q: Modulus) -> Self {
        let value = ((1u128 << (POINT + q.bits())) / u128::from(q.value())) as u64;
        Self { value, shift: 64 - q.bits() }
    }

    /// For fractions that are all 0.
    pub(super) fn zero() -> Self {
        Self { value: 0, shift: 0 }
    }
}

/// What fractions start from to be rounded by their integer part.
pub(super) const HALF: u64 = 1 << (POINT - 1);

kernel! {
    /// Adds y/q to fractions below 1, and their carries to `whole`. y/2^b·2^(63+b)/q misses less than 1 unit of 2^-63
    /// by the reciprocal, 1 by the upper half of the product and 1 by its carry: 3 units too few.
    fn add_fraction(reciprocal: Reciprocal, y: &[u64], fraction: &mut [u64], whole: &mut [u64]) {
        for ((&y, fraction), whole) in y.iter().zip(fraction).zip(whole) {
            let sum = *fraction + high::<VECTOR>(y << reciprocal.shift, reciprocal.value);
            *whole += sum >> POINT;
            *fraction = sum & (u64::MAX >> 1);
        }
    }
}

/// c + (q − 1)/2 for the c in (−q/2, q/2] that is x modulo q.
#[inline(always)]
fn centred(x: u64, q: u64) -> u64 {
    reduce_once(x + q / 2, q)
}

kernel! {
    /// out ← c modulo m, where c is x modulo q, in (−q/2, q/2].
    fn lift(q: u64, m: u64, x: &[u64], out: &mut [u64]) {
        let half = q / 2;
        if half < m {
            for (out, &x) in out.iter_mut().zip(x) {
                // A negative word is a large one.
                let c = centred(x, q).wrapping_sub(half);
                *out = c.min(c.wrapping_add(m));
            }
        } else {
            let one = Factor::new(1, m);
            let offset = half.next_multiple_of(m) - half;
            for (out, &x) in out.iter_mut().zip(x) {
                *out = product::<VECTOR>(centred(x, q) + offset, one, m);
            }
        }
    }
}

kernel! {
    /// x ← (x − c)·factor modulo m, where c is `dropped` modulo q, in (−q/2, q/2]: with the inverse of q for a factor
    /// the rounded quotient of the number that is x modulo m and `dropped` modulo q.
    fn divide_and_round(q: u64, m: u64, factor: Factor, dropped: &[u64], x: &mut [u64]) {
        // x − c and a multiple of m: from 0 to below 2m + q < 2^64.
        let offset = (q / 2).next_multiple_of(m) + q / 2;
        for (x, &dropped) in x.iter_mut().zip(dropped) {
            *x = product::<VECTOR>(*x + offset - centred(dropped, q), factor, m);
        }
    }
}
