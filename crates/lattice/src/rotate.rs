//! Products of a polynomial with a monomial, modulo X^N + 1.
//!
//! X^e with e in [0, 2N): as X^N = −1, coefficient i of X^e·a is a[i − e] for i ≥ e, −a[N + i − e] for i < e, and with
//! e ≥ N both signs change. So any block of the product is at most two contiguous runs of a, each with one sign.

use ciphermill_math::goldilocks::{neg, sub};
use ciphermill_math::{CoefficientSource, Isa};

use crate::torus::Torus;

/// The plain definition, coefficient by coefficient.
pub mod reference {
    use crate::torus::Torus;

    /// X^`exponent`·`src` modulo X^N + 1, for any `exponent`.
    pub fn rotate<T: Torus>(src: &[T], exponent: usize) -> Vec<T> {
        let n = src.len();
        let mut out = vec![T::ZERO; n];
        for (i, x) in src.iter().enumerate() {
            let place = (i + exponent) % (2 * n);
            if place < n {
                out[place] = *x;
            } else {
                out[place - n] = x.wrapping_neg();
            }
        }
        out
    }
}

/// One run of a product's coefficients: `len` of them, from `src` on in the polynomial.
struct Run {
    src: usize,
    len: usize,
    negate: bool,
}

/// The runs of the coefficients `start..start + len` of X^e·a, N = `n`, `exponent` < 2N; either may be empty.
#[inline]
fn runs(n: usize, exponent: usize, start: usize, len: usize) -> [Run; 2] {
    let (shift, odd) = if exponent < n { (exponent, false) } else { (exponent - n, true) };
    let end = start + len;
    let wrapped = end.min(shift).saturating_sub(start);
    let direct = start.max(shift);
    [
        // With nothing wrapped the source position has no meaning; it only has to be a valid one.
        Run { src: if wrapped > 0 { n - shift + start } else { 0 }, len: wrapped, negate: !odd },
        Run { src: direct.min(end.max(shift)) - shift, len: len - wrapped, negate: odd },
    ]
}

fn check(n: usize, exponent: usize) {
    assert!(exponent < 2 * n, "exponent {exponent} is not below 2N = {}", 2 * n);
}

/// Writes X^`exponent`·`src` modulo X^N + 1 to `dst`.
///
/// # Panics
/// If the lengths differ, or `exponent` ≥ 2N.
///
/// # Example
/// ```
/// use ciphermill_lattice::rotate::rotate_into;
/// use ciphermill_math::Isa;
///
/// let mut rotated = [0u64; 4];
/// rotate_into(Isa::current(), &[1, 2, 3, 4], 1, &mut rotated);
/// // 4·X^3 becomes 4·X^4 = -4.
/// assert_eq!(rotated, [4u64.wrapping_neg(), 1, 2, 3]);
/// ```
pub fn rotate_into<T: Torus>(isa: Isa, src: &[T], exponent: usize, dst: &mut [T]) {
    check(src.len(), exponent);
    assert_eq!(src.len(), dst.len(), "as many coefficients as the source has");
    let mut rest = dst;
    for run in runs(src.len(), exponent, 0, src.len()) {
        let (out, tail) = rest.split_at_mut(run.len);
        rest = tail;
        let from = &src[run.src..run.src + run.len];
        if run.negate { T::negate(isa, from, out) } else { out.copy_from_slice(from) }
    }
}

/// (X^e − 1)·a modulo X^N + 1 over the torus, computed where it is read: blind rotation's input, never stored.
///
/// # Example
/// ```
/// use ciphermill_lattice::rotate::RotatedDifference;
/// use ciphermill_math::{CoefficientSource, Isa};
///
/// let mut difference = [0u64; 4];
/// RotatedDifference::new(Isa::current(), &[1u64, 2, 3, 4], 1).read(0, &mut difference);
/// assert_eq!(difference.map(u64::cast_signed), [-5, -1, -1, -1]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RotatedDifference<'a, T: Torus> {
    poly: &'a [T],
    exponent: usize,
    isa: Isa,
}

impl<'a, T: Torus> RotatedDifference<'a, T> {
    /// (X^`exponent` − 1)·`poly`.
    ///
    /// # Panics
    /// If `exponent` ≥ 2N.
    pub fn new(isa: Isa, poly: &'a [T], exponent: usize) -> Self {
        check(poly.len(), exponent);
        RotatedDifference { poly, exponent, isa }
    }
}

impl<T: Torus> CoefficientSource<T> for RotatedDifference<'_, T> {
    fn len(&self) -> usize {
        self.poly.len()
    }

    #[inline]
    fn read(&self, start: usize, out: &mut [T]) {
        let mut plain = &self.poly[start..start + out.len()];
        let mut rest = out;
        for run in runs(self.poly.len(), self.exponent, start, plain.len()) {
            let (out, tail) = rest.split_at_mut(run.len);
            let (subtrahend, plain_tail) = plain.split_at(run.len);
            (rest, plain) = (tail, plain_tail);
            let rotated = &self.poly[run.src..run.src + run.len];
            T::rotated_difference(self.isa, run.negate, rotated, subtrahend, out);
        }
    }
}

/// (X^e − 1)·a modulo X^N + 1 over Z_p, p = 2^64 − 2^32 + 1: as [`RotatedDifference`], for the exact transform's
/// accumulators. Coefficients are residues in [0, p); so is the result.
#[derive(Clone, Copy, Debug)]
pub struct ModularRotatedDifference<'a> {
    poly: &'a [u64],
    exponent: usize,
    isa: Isa,
}

impl<'a> ModularRotatedDifference<'a> {
    /// (X^`exponent` − 1)·`poly`.
    ///
    /// # Panics
    /// If `exponent` ≥ 2N.
    pub fn new(isa: Isa, poly: &'a [u64], exponent: usize) -> Self {
        check(poly.len(), exponent);
        ModularRotatedDifference { poly, exponent, isa }
    }
}

impl CoefficientSource<u64> for ModularRotatedDifference<'_> {
    fn len(&self) -> usize {
        self.poly.len()
    }

    #[inline]
    fn read(&self, start: usize, out: &mut [u64]) {
        let mut plain = &self.poly[start..start + out.len()];
        let mut rest = out;
        for run in runs(self.poly.len(), self.exponent, start, plain.len()) {
            let (out, tail) = rest.split_at_mut(run.len);
            let (subtrahend, plain_tail) = plain.split_at(run.len);
            (rest, plain) = (tail, plain_tail);
            let rotated = &self.poly[run.src..run.src + run.len];
            if run.negate {
                modular_negated_difference(self.isa, rotated, subtrahend, out);
            } else {
                modular_difference(self.isa, rotated, subtrahend, out);
            }
        }
    }
}

ciphermill_math::multiversion! {
    fn modular_difference(isa, rotated: &[u64], plain: &[u64], out: &mut [u64]) {
        for ((o, r), p) in out.iter_mut().zip(rotated).zip(plain) {
            *o = sub(*r, *p);
        }
    }
}

ciphermill_math::multiversion! {
    fn modular_negated_difference(isa, rotated: &[u64], plain: &[u64], out: &mut [u64]) {
        for ((o, r), p) in out.iter_mut().zip(rotated).zip(plain) {
            *o = sub(neg(*r), *p);
        }
    }
}
