//! Plain loops. Only AVX-512 makes upper halves of 64-bit products in vectors of 32-bit ones (`VECTOR`); where one less
//! will do, without the carry of the lowest parts: then w·x − q·m is in `[0, 3m)`, below 2^64.

use ciphermill_math::{Isa, multiversion};

use super::{Factor, POINT, Source};

const LOW: u64 = 0xffff_ffff;

/// x or x − k, whichever is at least 0.
#[inline(always)]
fn reduce_once(x: u64, k: u64) -> u64 {
    x.min(x.wrapping_sub(k))
}

/// ⌊a·b/2^64⌋.
#[inline(always)]
fn high<const VECTOR: bool>(a: u64, b: u64) -> u64 {
    if VECTOR {
        let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
        // (2^32 − 1)² + 2^32 − 1 < 2^64, twice.
        let middle = a1 * b0 + ((a0 * b0) >> 32);
        let other = a0 * b1 + (middle & LOW);
        a1 * b1 + (middle >> 32) + (other >> 32)
    } else {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }
}

/// ⌊a·b/2^64⌋, or with `VECTOR` one less.
#[inline(always)]
fn high_short<const VECTOR: bool>(a: u64, b: u64) -> u64 {
    if VECTOR {
        let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
        let (middle, other) = (a1 * b0, a0 * b1);
        a1 * b1 + (middle >> 32) + (other >> 32) + (((middle & LOW) + (other & LOW)) >> 32)
    } else {
        high::<false>(a, b)
    }
}

/// w·x modulo m, canonical, for any word x.
#[inline(always)]
fn product<const VECTOR: bool>(x: u64, factor: Factor, m: u64) -> u64 {
    let quotient = high_short::<VECTOR>(x, factor.companion);
    let rest = x.wrapping_mul(factor.w).wrapping_sub(quotient.wrapping_mul(m));
    let rest = if VECTOR { reduce_once(rest, 2 * m) } else { rest };
    reduce_once(rest, m)
}

/// c + (q − 1)/2 for the c in (−q/2, q/2] that is x modulo q.
#[inline(always)]
fn centred(x: u64, q: u64) -> u64 {
    reduce_once(x + q / 2, q)
}

/// Defines a kernel: with AVX-512 in vectors, else word by word, as four 128-bit products take no longer than a vector's
/// worth of 32-bit ones with AVX2.
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
    fn source(source: &Source, x: &[u64], y: &mut [u64], fraction: &mut [u64], whole: &mut [u64]) {
        let Source { q, factor, reciprocal } = *source;
        for (y, &x) in y.iter_mut().zip(x) {
            *y = product::<VECTOR>(x, factor, q);
        }
        for ((y, fraction), whole) in y.iter().zip(fraction).zip(whole) {
            let low = high::<VECTOR>(*y << reciprocal.low_shift, reciprocal.low);
            let sum = *fraction + low + (*y << reciprocal.high_shift).wrapping_mul(reciprocal.high);
            *whole += sum >> POINT;
            *fraction = sum & ((1 << POINT) - 1);
        }
    }
}

kernel! {
    fn scale(m: u64, factor: Factor, x: &mut [u64]) {
        for x in x {
            *x = product::<VECTOR>(*x, factor, m);
        }
    }
}

kernel! {
    /// out ← out + factor·x modulo m, for any words x.
    fn multiply_add(m: u64, factor: Factor, x: &[u64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = reduce_once(*out + product::<VECTOR>(x, factor, m), m);
        }
    }
}

kernel! {
    fn divide_and_round(q: u64, m: u64, factor: Factor, offset: u64, dropped: &[u64], x: &mut [u64]) {
        for (x, &dropped) in x.iter_mut().zip(dropped) {
            *x = product::<VECTOR>(*x + offset - centred(dropped, q), factor, m);
        }
    }
}

kernel! {
    fn reduce_signed_words(m: u64, one: Factor, x: &[i64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            let magnitude = product::<VECTOR>(x.unsigned_abs(), one, m);
            // All ones for x < 0: then m − magnitude, which is reduced if it is m.
            let sign = (x >> 63) as u64;
            *out = reduce_once((magnitude ^ sign).wrapping_sub(sign).wrapping_add(m & sign), m);
        }
    }
}

/// out ← x modulo m.
pub(in super::super) fn reduce_signed(isa: Isa, m: u64, x: &[i64], out: &mut [u64]) {
    reduce_signed_words(isa, m, Factor::new(1, m), x, out);
}

multiversion! {
    /// The residues of c for m > q/2: no product.
    fn lift_near(isa, q: u64, m: u64, x: &[u64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            // A negative word is a large one.
            let c = centred(x, q).wrapping_sub(q / 2);
            *out = c.min(c.wrapping_add(m));
        }
    }
}

kernel! {
    /// The residues of c for any m. `offset` plus q/2 is a multiple of m.
    fn lift_far(q: u64, m: u64, one: Factor, offset: u64, x: &[u64], out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = product::<VECTOR>(centred(x, q) + offset, one, m);
        }
    }
}

/// out ← c modulo m, where c is x modulo q, in (−q/2, q/2].
pub(in super::super) fn lift(isa: Isa, q: u64, m: u64, x: &[u64], out: &mut [u64]) {
    let half = q / 2;
    if half < m {
        lift_near(isa, q, m, x, out);
    } else {
        lift_far(isa, q, m, Factor::new(1, m), half.next_multiple_of(m) - half, x, out);
    }
}
