//! One lane, for any CPU, with canonical values.

use super::lanes::{Bias, Lanes};
use super::montgomery;
use crate::modulus::Modulus;

/// The prime p.
#[derive(Clone, Copy)]
pub(super) struct Portable(u32);

impl Portable {
    /// From [−p, p) to `[0, p)`, by the sign. Compilers would put an unsigned minimum into vectors whose instruction
    /// set lacks it.
    #[inline(always)]
    fn lift(self, x: u32) -> u32 {
        x.wrapping_add((x as i32 >> 31) as u32 & self.0)
    }

    /// From `[0, 2p)` to `[0, p)`.
    #[inline(always)]
    fn correct(self, x: u32) -> u32 {
        self.lift(x.wrapping_sub(self.0))
    }
}

impl Lanes for Portable {
    const LANES: usize = 1;
    const TILE_ROOTS: &'static [usize] = &[];
    type Cell = u32;
    type Vector = u32;
    type Root = [u32; 2];

    fn root(modulus: Modulus, factor: u64) -> [u32; 2] {
        montgomery::root(modulus, factor)
    }

    #[inline(always)]
    unsafe fn new(modulus: Modulus) -> Self {
        Portable(modulus.value() as u32)
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> u32 {
        // SAFETY: the trait's contract.
        unsafe { *from }
    }

    #[inline(always)]
    unsafe fn store(x: u32, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { *to = x }
    }

    #[inline(always)]
    unsafe fn load_coefficients(from: *const u32) -> u32 {
        // SAFETY: the trait's contract.
        unsafe { *from }
    }

    #[inline(always)]
    unsafe fn broadcast(pair: *const [u32; 2]) -> [u32; 2] {
        // SAFETY: the trait's contract.
        unsafe { *pair }
    }

    #[inline(always)]
    unsafe fn load_roots(from: *const u32) -> [u32; 2] {
        // SAFETY: the trait's contract.
        unsafe { [*from, *from.add(1)] }
    }

    #[inline(always)]
    unsafe fn prepare_forward<const R: usize>(self, _: &mut [u32; R], _: bool) {}

    #[inline(always)]
    unsafe fn cooley_tukey(self, x: u32, y: u32, w: [u32; 2]) -> (u32, u32) {
        // SAFETY: no CPU features are needed.
        let t = unsafe { self.mul(y, w) };
        (self.correct(x + t), self.lift(x.wrapping_sub(t)))
    }

    #[inline(always)]
    unsafe fn prepare_inverse<const R: usize>(self, _: &mut [u32; R], _: u64) {}

    #[inline(always)]
    unsafe fn finish_inverse<const R: usize>(self, _: &mut [u32; R], _: bool) {}

    #[inline(always)]
    unsafe fn sum_difference(self, x: u32, y: u32) -> (u32, u32) {
        (x + y, x + self.0 - y)
    }

    #[inline(always)]
    unsafe fn gentleman_sande(self, x: u32, y: u32, w: [u32; 2], _: Bias) -> (u32, u32) {
        // SAFETY: no CPU features are needed.
        unsafe {
            let (sum, difference) = self.sum_difference(x, y);
            (self.correct(sum), self.mul(difference, w))
        }
    }

    #[inline(always)]
    unsafe fn mul(self, x: u32, w: [u32; 2]) -> u32 {
        let quotient = x.wrapping_mul(w[1]);
        let high = |a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32;
        let t = high(x, w[0]).wrapping_sub(high(quotient, self.0));
        self.lift(t)
    }

    #[inline(always)]
    unsafe fn store_coefficients<const R: usize>(self, x: [u32; R], to: *mut u32, stride: usize) {
        for (i, x) in x.into_iter().enumerate() {
            // SAFETY: the trait's contract.
            unsafe { *to.add(i * stride) = x }
        }
    }

    #[inline(always)]
    unsafe fn forward_tile(self, _: &[[u32; 2]; 3], cells: *const u32, _: *const u32, out: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { *out = *cells }
    }

    #[inline(always)]
    unsafe fn inverse_tile(self, _: &[[u32; 2]; 3], spectrum: *const u32, _: *const u32, cells: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { *cells = *spectrum }
    }
}
