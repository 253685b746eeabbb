//! The arithmetic of all lanes of a core: plain loops, compiled once more for each instruction set that helps them.
//!
//! A butterfly takes 6 products of 32 bits for 2 words; a vector of 32 lanes is two registers of AVX-512, or four of AVX2.

use ciphermill_math::isa::Isa;

/// Moduli are at most 2^31, operands below them; the multiplied one may be any word.
macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        mod portable {
            use super::*;
            $(#[inline(always)] pub(super) fn $name($($arg: $type),*) $body)*
        }
        #[cfg(target_arch = "x86_64")]
        mod avx2 {
            $(#[target_feature(enable = "avx2")] pub(super) fn $name($($arg: $type),*) { super::portable::$name($($arg),*) })*
        }
        #[cfg(target_arch = "x86_64")]
        mod avx512 {
            $(
                #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
                pub(super) fn $name($($arg: $type),*) { super::portable::$name($($arg),*) }
            )*
        }
        impl Lanes {$(
            $(#[$doc])*
            #[inline]
            pub(super) fn $name(self, $($arg: $type),*) {
                match self.0 {
                    // SAFETY: `Lanes` is made of what the CPU has.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => unsafe { avx512::$name($($arg),*) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => unsafe { avx2::$name($($arg),*) },
                    _ => portable::$name($($arg),*),
                }
            }
        )*}
    };
}

/// The arithmetic on one instruction set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes(Isa);

impl Lanes {
    /// The arithmetic on this one, or on any that this CPU has if it lacks it.
    pub(super) fn new(isa: Isa) -> Self {
        Self(if isa.is_available() { isa } else { Isa::Portable })
    }
}

#[inline(always)]
fn product(y: u32, w: u32, companion: u32, m: u32) -> u32 {
    let quotient = ((u64::from(y) * u64::from(companion)) >> 32) as u32;
    let rest = y.wrapping_mul(w).wrapping_sub(quotient.wrapping_mul(m));
    rest.min(rest.wrapping_sub(m))
}

#[inline(always)]
fn sum(x: u32, y: u32, m: u32) -> u32 {
    let sum = x.wrapping_add(y);
    sum.min(sum.wrapping_sub(m))
}

#[inline(always)]
fn difference(x: u32, y: u32, m: u32) -> u32 {
    let difference = x.wrapping_sub(y);
    difference.min(difference.wrapping_add(m))
}

kernels! {
    /// x ← x + y.
    fn add(x: &mut [u32], y: &[u32], m: u32) {
        for (x, y) in x.iter_mut().zip(y) {
            *x = sum(*x, *y, m);
        }
    }

    /// x ← x − y.
    fn subtract(x: &mut [u32], y: &[u32], m: u32) {
        for (x, y) in x.iter_mut().zip(y) {
            *x = difference(*x, *y, m);
        }
    }

    /// x ← x·w; the twiddle has factors, then companions.
    fn multiply(x: &mut [u32], twiddle: &[u32], m: u32) {
        let (factors, companions) = twiddle.split_at(x.len());
        for ((x, w), companion) in x.iter_mut().zip(factors).zip(companions) {
            *x = product(*x, *w, *companion, m);
        }
    }

    /// (x, y) ← (x + y·w, x − y·w).
    fn butterfly(x: &mut [u32], y: &mut [u32], twiddle: &[u32], m: u32) {
        let (factors, companions) = twiddle.split_at(x.len());
        for (((x, y), w), companion) in x.iter_mut().zip(y).zip(factors).zip(companions) {
            let wing = product(*y, *w, *companion, m);
            (*x, *y) = (sum(*x, wing, m), difference(*x, wing, m));
        }
    }
}

/// (x, y) ← (x + y·w, x − y·w), or (x + y, (x − y)·w), on complex numbers in binary32: real parts, then imaginary ones. Each product and
/// each sum is rounded.
pub(super) fn complex_butterfly(x: &mut [u32], y: &mut [u32], twiddle: &[u32], in_time: bool) {
    let lanes = x.len() / 2;
    for lane in 0..lanes {
        let number = |words: &[u32]| (f32::from_bits(words[lane]), f32::from_bits(words[lanes + lane]));
        let times = |(a, b): (f32, f32), (c, d): (f32, f32)| (c * a - d * b, c * b + d * a);
        let (a, b, w) = (number(x), number(y), number(twiddle));
        let (first, second) = if in_time {
            let wing = times(b, w);
            ((a.0 + wing.0, a.1 + wing.1), (a.0 - wing.0, a.1 - wing.1))
        } else {
            ((a.0 + b.0, a.1 + b.1), times((a.0 - b.0, a.1 - b.1), w))
        };
        (x[lane], x[lanes + lane]) = (first.0.to_bits(), first.1.to_bits());
        (y[lane], y[lanes + lane]) = (second.0.to_bits(), second.1.to_bits());
    }
}
