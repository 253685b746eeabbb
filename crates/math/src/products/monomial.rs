//! The Fourier transform over polynomials of small integers whose roots of unity are monomials.
//!
//! Let a_i be P polynomials modulo X^N + 1, P ≤ 2N a power of two. ω = X^(2N/P) has order P, and the transform is R_t =
//! Σ_i ω^(i·t)·a_i for t < P. A polynomial in Y of degree below m modulo Y^m − ω^e splits into its remainders modulo
//! Y^(m/2) − ω^(e/2) and Y^(m/2) − ω^(e/2 + P/2), by butterflies (a, b) ↦ (a + ω^(e/2)·b, a − ω^(e/2)·b). The transform
//! goes from Y^P − 1 down to Y − ω^t, in log2 P levels in place. They leave t in bit-reversed order.
//!
//! A butterfly must shift b by s = e/2·2N/P places with sign. It pairs coefficient i of a with coefficient i − s of b.
//! It writes the sum to the place of the former and the difference to the place of the latter. So no coefficient moves,
//! and the second half of a block holds X^-s times its result. Within a block all polynomials have the same *shift*, so
//! the next levels ignore it. [`MonomialFft::shift`] returns it for the results.
//!
//! Every level at most doubles the coefficients.

use std::fmt::Debug;
use std::ops::Range;

use crate::{Isa, multiversion};

mod sealed {
    use super::Isa;

    /// The kernels of one width.
    pub trait Kernels: Copy {
        /// (x, y) ← (x + y, x − y), or with `negative` (x − y, −x − y).
        fn butterflies(isa: Isa, x: &mut [Self], y: &mut [Self], negative: bool);
        /// out = ±x, plus p if that is negative.
        fn lift(isa: Isa, x: &[Self], negative: bool, p: u64, out: &mut [u64]);
    }
}

/// Small signed coefficients: `i16` and `i32`.
pub trait SmallInteger: sealed::Kernels + Default + Debug + Send + Sync + 'static {}

impl SmallInteger for i16 {}
impl SmallInteger for i32 {}

macro_rules! kernels {
    ($word:ty, $butterflies:ident, $lift:ident) => {
        multiversion! {
            fn $butterflies(isa, x: &mut [$word], y: &mut [$word], negative: bool) {
                if negative {
                    for (x, y) in x.iter_mut().zip(y) {
                        (*x, *y) = (x.wrapping_sub(*y), x.wrapping_add(*y).wrapping_neg());
                    }
                } else {
                    for (x, y) in x.iter_mut().zip(y) {
                        (*x, *y) = (x.wrapping_add(*y), x.wrapping_sub(*y));
                    }
                }
            }
        }

        multiversion! {
            fn $lift(isa, x: &[$word], negative: bool, p: u64, out: &mut [u64]) {
                // ±x is (x ^ mask) − mask.
                let mask = -i64::from(negative);
                for (out, &x) in out.iter_mut().zip(x) {
                    let x = ((i64::from(x) ^ mask) - mask) as u64;
                    *out = x.min(x.wrapping_add(p));
                }
            }
        }

        impl sealed::Kernels for $word {
            fn butterflies(isa: Isa, x: &mut [Self], y: &mut [Self], negative: bool) {
                $butterflies(isa, x, y, negative);
            }

            fn lift(isa: Isa, x: &[Self], negative: bool, p: u64, out: &mut [u64]) {
                $lift(isa, x, negative, p, out);
            }
        }
    };
}

kernels!(i16, butterflies16, lift16);
kernels!(i32, butterflies32, lift32);

/// Bytes that are assumed to stay in the second-level cache.
const CACHE: usize = 1 << 19;

/// The transform of P polynomials of N coefficients.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::products::MonomialFft;
///
/// // Two polynomials modulo X^4 + 1. P = 2, so ω = X^4 = −1: the sum and the difference.
/// let transform = MonomialFft::new(4, 2, Isa::current());
/// let mut polynomials = [1i16, 2, 3, 4, 10, 20, 30, 40];
/// transform.forward(&mut polynomials);
/// let result = |t| &polynomials[4 * transform.position(t)..][..4];
/// assert_eq!((result(0), transform.shift(0)), (&[11, 22, 33, 44][..], 0));
/// assert_eq!((result(1), transform.shift(1)), (&[-9, -18, -27, -36][..], 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MonomialFft {
    polynomial_size: usize,
    points: usize,
    isa: Isa,
}

impl MonomialFft {
    /// The transform of `points` = P polynomials of `polynomial_size` = N coefficients.
    ///
    /// # Panics
    /// If the dimensions, which callers validate, are not powers of two, P is above 2N, or the CPU lacks `isa`.
    pub fn new(polynomial_size: usize, points: usize, isa: Isa) -> Self {
        assert!(polynomial_size.is_power_of_two(), "polynomial size {polynomial_size} is not a power of two");
        assert!(points.is_power_of_two() && points <= 2 * polynomial_size, "{points} does not divide 2N");
        assert!(isa.is_available());
        Self { polynomial_size, points, isa }
    }

    /// P.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The index in memory of the polynomial of R_t, t < P: t with its log2 P bits reversed.
    pub fn position(&self, t: usize) -> usize {
        assert!(t < self.points, "result {t} of {}", self.points);
        reversed(t, self.points.trailing_zeros())
    }

    /// The exponent e such that R_t is X^e times the polynomial at its position.
    pub fn shift(&self, t: usize) -> usize {
        // For each level, a bit of the position states the half of the block.
        let (mut shift, mut e) = (0, 0);
        let bits = self.points.trailing_zeros();
        for level in 0..bits {
            e /= 2;
            if self.position(t) >> (bits - 1 - level) & 1 == 1 {
                shift += self.monomial(e);
                e += self.points / 2;
            }
        }
        shift % (2 * self.polynomial_size)
    }

    /// The exponent s with ω^e = X^s.
    fn monomial(&self, e: usize) -> usize {
        e * (2 * self.polynomial_size / self.points)
    }

    /// Transforms P polynomials, one after another, in place. [`position`](Self::position) and [`shift`](Self::shift)
    /// return the place and the shift of each result. P times the greatest absolute value must fit the word; otherwise
    /// results are right only modulo 2^16 or 2^32.
    ///
    /// # Panics
    /// If the number of coefficients is not P·N.
    /// If there are not P·N coefficients.
    pub fn forward<T: SmallInteger>(&self, polynomials: &mut [T]) {
        assert_eq!(polynomials.len(), self.points * self.polynomial_size, "number of coefficients");
        let levels = self.points.trailing_zeros();
        // A pass has as many levels as the polynomials that they join fit the cache. All passes have nearly equal
        // depth.
        let most = (CACHE / (self.polynomial_size * size_of::<T>())).max(2).ilog2();
        let passes = levels.div_ceil(most);
        let mut done = 0;
        for pass in 0..passes {
            let depth = (levels - done).div_ceil(passes - pass);
            for block in 0..1 << done {
                for first in 0..self.points >> (done + depth) {
                    self.set(polynomials, done..done + depth, block, first);
                }
            }
            done += depth;
        }
    }

    /// The levels `levels` for the polynomials of `block` that they join with `first`, one of its first polynomials.
    fn set<T: SmallInteger>(&self, polynomials: &mut [T], levels: Range<u32>, block: usize, first: usize) {
        let n = self.polynomial_size;
        let (size, stride) = (self.points >> levels.start, self.points >> levels.end);
        for level in levels.clone() {
            // The number of blocks at this level that `block` was split into, and half the polynomials of such a block.
            let (blocks, half) = (1 << (level - levels.start), self.points >> (level + 1));
            for part in 0..blocks {
                // e of the block is its number with reversed bits times P/2^level.
                let e = reversed(block * blocks + part, level) * half;
                let start = block * size + part * 2 * half + first;
                for a in (start..start + half).step_by(stride) {
                    let (low, high) = polynomials.split_at_mut((a + half) * n);
                    self.butterfly(&mut low[a * n..][..n], &mut high[..n], e);
                }
            }
        }
    }

    /// (a, b) ← (a + ω^e·b, ω^-e·(a − ω^e·b)) for e < P/2.
    fn butterfly<T: SmallInteger>(&self, a: &mut [T], b: &mut [T], e: usize) {
        let shift = self.monomial(e);
        // Coefficient i of X^s·b is b_(i−s) for i ≥ s and −b_(N+i−s) below; there coefficient N+i−s of X^-s·a is −a_i.
        let (a_low, a_high) = a.split_at_mut(shift);
        let (b_low, b_high) = b.split_at_mut(self.polynomial_size - shift);
        T::butterflies(self.isa, a_high, b_low, false);
        T::butterflies(self.isa, a_low, b_high, true);
    }
}

/// t with its lowest `bits` bits reversed and all other bits cleared.
fn reversed(t: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { t.reverse_bits() >> (usize::BITS - bits) }
}
