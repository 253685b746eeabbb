//! Plain Rust lanes, which the compiler maps to whatever vectors the build target has.

use super::coefficients::DigitField;
use super::lanes::F64Lanes;

/// `W` f64 in an array.
#[derive(Clone, Copy)]
pub(super) struct Array<const W: usize>(pub(super) [f64; W]);

/// 1.5 · 2^52. Adding it rounds |x| ≤ 2^51 to the nearest integer, which the low bits of the sum then hold.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// round(2^64 · y) modulo 2^64.
#[inline(always)]
fn torus(y: f64) -> u64 {
    const EXACT: f64 = 4_503_599_627_370_496.0;
    // Rounds to the nearest integer without a library call: from 2^52 on every f64 is an integer.
    let nearest = if y.abs() < EXACT { ((y.abs() + EXACT) - EXACT).copysign(y) } else { y };
    let fraction = y - nearest;
    // |fraction| ≤ 1/2 is split at 2^-32. Both parts are exact, so the value is rounded once.
    let high = fraction * 4_294_967_296.0 + ROUND;
    let low = (fraction * 4_294_967_296.0 - (high - ROUND)) * 4_294_967_296.0 + ROUND;
    (high.to_bits() << 32).wrapping_add(low.to_bits().wrapping_sub(ROUND.to_bits()))
}

/// The digit of each word.
#[inline(always)]
fn digits<const W: usize>(words: [u64; W], field: &DigitField<Array<W>>) -> Array<W> {
    Array(std::array::from_fn(|k| {
        let sum = words[k].wrapping_add(field.offset.0[k].to_bits());
        let fraction = sum >> (field.shift.0[k].to_bits() & 63) & field.mask.0[k].to_bits();
        f64::from_bits(fraction | field.exponent.0[k].to_bits()) - field.bias.0[k]
    }))
}

/// `a · b + c`, fused only where that is one instruction. Elsewhere fusing is a slow library call.
#[inline(always)]
fn mul_add(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

// SAFETY: plain Rust runs on every CPU.
unsafe impl<const W: usize> F64Lanes for Array<W> {
    const LANES: usize = W;
    const LEVELS_PER_PASS: u32 = if W == 1 { 3 } else { 2 };

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        Array([x; W])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller vouches for `W` words.
        unsafe { Array(from.cast::<[f64; W]>().read()) }
    }

    #[inline(always)]
    unsafe fn load_i64(from: *const i64) -> Self {
        // SAFETY: the caller vouches for `W` words.
        unsafe { Array(from.cast::<[i64; W]>().read().map(|x| x as f64)) }
    }

    #[inline(always)]
    unsafe fn splat_bits(bits: u64) -> Self {
        Array([f64::from_bits(bits); W])
    }

    #[inline(always)]
    unsafe fn load_digits(from: *const u64, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for `W` words.
        digits(unsafe { from.cast::<[u64; W]>().read() }, field)
    }

    #[inline(always)]
    unsafe fn load_digits_32(from: *const u32, field: &DigitField<Self>) -> Self {
        // SAFETY: the caller vouches for `W` words.
        digits(unsafe { from.cast::<[u32; W]>().read() }.map(u64::from), field)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller vouches for `W` words.
        unsafe { to.cast::<[f64; W]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn add_to_u64(self, to: *mut u64) {
        // SAFETY: the caller vouches for `W` words without another borrow.
        let to = unsafe { &mut *to.cast::<[u64; W]>() };
        for (to, y) in to.iter_mut().zip(self.0) {
            *to = to.wrapping_add(torus(y));
        }
    }

    #[inline(always)]
    unsafe fn add_to_u32(self, to: *mut u32) {
        // SAFETY: the caller vouches for `W` words without another borrow.
        let to = unsafe { &mut *to.cast::<[u32; W]>() };
        for (to, y) in to.iter_mut().zip(self.0) {
            *to = to.wrapping_add(torus(y) as u32);
        }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        Array(std::array::from_fn(|k| self.0[k] + rhs.0[k]))
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        Array(std::array::from_fn(|k| self.0[k] - rhs.0[k]))
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        Array(std::array::from_fn(|k| self.0[k] * rhs.0[k]))
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Array(std::array::from_fn(|k| mul_add(self.0[k], factor.0[k], addend.0[k])))
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        Array(std::array::from_fn(|k| mul_add(self.0[k], factor.0[k], -subtrahend.0[k])))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        Array(std::array::from_fn(|k| mul_add(-self.0[k], factor.0[k], addend.0[k])))
    }

    #[inline(always)]
    fn transpose<const R: usize>(tile: [Self; R]) -> [Self; R] {
        std::array::from_fn(|row| Array(std::array::from_fn(|column| tile[column].0[row])))
    }
}

super::kernels::entry_points!("Plain Rust needs no feature.", super::Array<1>, scalar);
super::kernels::entry_points!("Plain Rust needs no feature.", super::Array<4>, vector);
