//! The Fourier transform over polynomials of small integers whose roots of unity are monomials.
//!
//! For P polynomials a_i modulo X^N + 1, P ≤ 2N a power of two, ω = X^(2N/P) has order P. The transform is R_t = Σ_i
//! ω^(i·t)·a_i for t < P. Modulo Y^m − ω^e a polynomial in Y of degree below m splits into its remainders modulo Y^(m/2)
//! − ω^(e/2) and Y^(m/2) − ω^(e/2 + P/2) by butterflies (a, b) ↦ (a + ω^(e/2)·b, a − ω^(e/2)·b), from Y^P − 1 down to
//! Y − ω^t: log2 P levels in place, which leave t in bit-reversed order.
//!
//! A butterfly must shift b by s = e/2·2N/P places with sign. It pairs coefficient i of a with coefficient i − s of b and
//! puts the sum in the place of the former, the difference in the place of the latter: nothing moves, and what lies in the
//! second half of a block is X^-s times what is meant. Within a block all polynomials have the same such *shift*, so that
//! it plays no part in the next levels; [`MonomialFft::shift`] tells it for the results.
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
        /// out = ±x, plus p where that is negative.
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

/// Bytes that are taken to stay in the second-level cache.
const CACHE: usize = 1 << 19;

/// The transform of P polynomials of N coefficients.
#[derive(Clone, Copy, Debug)]
pub struct MonomialFft {
    polynomial_size: usize,
    points: usize,
    isa: Isa,
}

impl MonomialFft {
    /// For `points` = P polynomials of `polynomial_size` = N coefficients.
    ///
    /// # Panics
    /// If they are not powers of two, P is above 2N, or the CPU lacks `isa`: dimensions come validated.
    pub fn new(polynomial_size: usize, points: usize, isa: Isa) -> Self {
        assert!(polynomial_size.is_power_of_two(), "{polynomial_size} is no polynomial size");
        assert!(points.is_power_of_two() && points <= 2 * polynomial_size, "no root of order {points}");
        assert!(isa.is_available());
        Self { polynomial_size, points, isa }
    }

    /// P.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Which of the polynomials in memory belongs to R_t, t < P: t with its log2 P bits reversed.
    pub fn position(&self, t: usize) -> usize {
        assert!(t < self.points, "no result {t}");
        reversed(t, self.points.trailing_zeros())
    }

    /// R_t is X^`shift` times the polynomial at its position.
    pub fn shift(&self, t: usize) -> usize {
        // The bits of the position tell for each level in which half its block lay.
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

    /// ω^e = X^this.
    fn monomial(&self, e: usize) -> usize {
        e * (2 * self.polynomial_size / self.points)
    }

    /// Transforms P polynomials, one after another, in place: where the results stand and by how much they are shifted,
    /// [`position`](Self::position) and [`shift`](Self::shift) tell. P times the greatest absolute value must fit the
    /// word, or results are right only modulo 2^16 or 2^32.
    ///
    /// # Panics
    /// If there are not P·N coefficients.
    pub fn forward<T: SmallInteger>(&self, polynomials: &mut [T]) {
        assert_eq!(polynomials.len(), self.points * self.polynomial_size, "number of coefficients");
        let levels = self.points.trailing_zeros();
        // As many levels at once as the polynomials that they join fit the cache, in passes of nearly equal depth.
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

    /// The levels `levels` for those polynomials of `block`, one of the first of them, that they join with `first`.
    fn set<T: SmallInteger>(&self, polynomials: &mut [T], levels: Range<u32>, block: usize, first: usize) {
        let n = self.polynomial_size;
        let (size, stride) = (self.points >> levels.start, self.points >> levels.end);
        for level in levels.clone() {
            // The blocks of this level into which `block` has been split, and the polynomials that are half of one.
            let (blocks, half) = (1 << (level - levels.start), self.points >> (level + 1));
            for part in 0..blocks {
                // e of the block is its number's bits reversed times P/2^level.
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

/// t with its lowest `bits` bits reversed, and no others.
fn reversed(t: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { t.reverse_bits() >> (usize::BITS - bits) }
}
