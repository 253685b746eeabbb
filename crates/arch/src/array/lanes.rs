//! The words of vectors, and the arithmetic of all lanes of a core. The functions are plain loops over a whole
//! register, which the compiler vectorises for each instruction set.
//!
//! A butterfly takes 6 products of 32 bits for 2 words. A register is two registers of AVX-512, or four of AVX2.

use aligned_vec::{ABox, ConstAlign, avec};

/// The maximum number of lanes. Registers always have this length, so that the compiler knows it. Words beyond the
/// machine's lanes stay zero and cost nothing where the CPU's vectors are long.
pub(super) const MAX_LANES: usize = 32;

/// A word memory that starts at a cache line, so that a vector of 16 words or more shares no line with other data.
pub(super) type AlignedWords = ABox<[u32], ConstAlign<64>>;

/// `len` zeros.
pub(super) fn zeroed(len: usize) -> AlignedWords {
    avec![[64]| 0; len].into_boxed_slice()
}

/// A register's words.
pub(super) type Words = [u32; MAX_LANES];

/// A vector in a register or in flight.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Vector(pub Words);

impl Vector {
    pub(super) const ZERO: Self = Self([0; MAX_LANES]);
}

/// A twiddle register.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Twiddle {
    pub factors: Words,
    pub companions: Words,
}

impl Twiddle {
    pub(super) const ZERO: Self = Self { factors: [0; MAX_LANES], companions: [0; MAX_LANES] };
}

// Moduli are at most 2^31 and operands below them. The multiplied operand may be any word.

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

/// Copies a vector. Most machines have [`MAX_LANES`] lanes, and a copy of that known length needs no function call.
#[inline(always)]
pub(super) fn copy(to: &mut [u32], from: &[u32]) {
    if let (Ok(to), Ok(from)) = (<&mut [u32; MAX_LANES]>::try_from(&mut *to), <&[u32; MAX_LANES]>::try_from(from)) {
        *to = *from;
    } else {
        to.copy_from_slice(from);
    }
}

/// x ← x + y.
#[inline(always)]
pub(super) fn add(x: &mut Words, y: &Words, m: u32) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = sum(*x, *y, m);
    }
}

/// x ← x − y.
#[inline(always)]
pub(super) fn subtract(x: &mut Words, y: &Words, m: u32) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = difference(*x, *y, m);
    }
}

/// x ← x·w.
#[inline(always)]
pub(super) fn multiply(x: &mut Words, twiddle: &Twiddle, m: u32) {
    for ((x, w), companion) in x.iter_mut().zip(&twiddle.factors).zip(&twiddle.companions) {
        *x = product(*x, *w, *companion, m);
    }
}

/// (x, y) ← (x + y·w, x − y·w).
#[inline(always)]
pub(super) fn butterfly(x: &mut Words, y: &mut Words, twiddle: &Twiddle, m: u32) {
    for (((x, y), w), companion) in x.iter_mut().zip(y).zip(&twiddle.factors).zip(&twiddle.companions) {
        let wing = product(*y, *w, *companion, m);
        (*x, *y) = (sum(*x, wing, m), difference(*x, wing, m));
    }
}

/// (x, y) ← (x + y·w, x − y·w), or (x + y, (x − y)·w), on complex numbers in binary32. The real parts are in one
/// register and the imaginary parts in the next. Each product and each sum is rounded.
#[inline(always)]
pub(super) fn complex_butterfly(x: &mut [Vector; 2], y: &mut [Vector; 2], twiddle: &Twiddle, in_time: bool) {
    let number = |real: &u32, imaginary: &u32| (f32::from_bits(*real), f32::from_bits(*imaginary));
    let times = |(a, b): (f32, f32), (c, d): (f32, f32)| (c * a - d * b, c * b + d * a);
    let ([x_real, x_imaginary], [y_real, y_imaginary]) = (x, y);
    for lane in 0..MAX_LANES {
        let a = number(&x_real.0[lane], &x_imaginary.0[lane]);
        let b = number(&y_real.0[lane], &y_imaginary.0[lane]);
        let w = number(&twiddle.factors[lane], &twiddle.companions[lane]);
        let (first, second) = if in_time {
            let wing = times(b, w);
            ((a.0 + wing.0, a.1 + wing.1), (a.0 - wing.0, a.1 - wing.1))
        } else {
            ((a.0 + b.0, a.1 + b.1), times((a.0 - b.0, a.1 - b.1), w))
        };
        (x_real.0[lane], x_imaginary.0[lane]) = (first.0.to_bits(), first.1.to_bits());
        (y_real.0[lane], y_imaginary.0[lane]) = (second.0.to_bits(), second.1.to_bits());
    }
}
