//! Packed 32-bit lanes: even and odd lanes are multiplied separately, and the upper halves of the products are merged.
//! The module's documentation states the ranges.

use super::lanes::{Bias, Lanes, OfTile, forward_levels, inverse_levels};
use super::montgomery;
use crate::modulus::Modulus;

/// A vector register of 32-bit words. All functions need the CPU features of the implementation.
pub(super) trait Register: Copy {
    /// The number of words, 8 or 16.
    const LANES: usize;

    /// # Safety
    /// See the trait.
    unsafe fn splat(x: u32) -> Self;

    /// # Safety
    /// See the trait; LANES words are readable.
    unsafe fn load(from: *const u32) -> Self;

    /// # Safety
    /// See the trait; LANES words are writable.
    unsafe fn store(self, to: *mut u32);

    /// Sums modulo 2^32.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn add(self, rhs: Self) -> Self;

    /// Differences modulo 2^32.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn sub(self, rhs: Self) -> Self;

    /// The minima of unsigned words.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn min(self, rhs: Self) -> Self;

    /// 64-bit products of the even lanes.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn mul_even(self, rhs: Self) -> Self;

    /// The odd lanes in the places of the even lanes; the other places are arbitrary.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn odd_to_even(self) -> Self;

    /// The odd lanes of `self` in the even lanes, and the odd lanes of `odd` in the odd lanes.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn merge_odd(self, odd: Self) -> Self;

    /// Transposes LANES rows.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn transpose(rows: &mut [Self]);
}

/// Constants in all lanes. `LAZY` is for p < 2^30, where 4p fits a word.
#[derive(Clone, Copy)]
pub(super) struct Packed<V, const LAZY: bool> {
    p: V,
    twice_p: V,
}

/// A Montgomery multiplier and its companion for even and for odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Root<V> {
    even: [V; 2],
    odd: [V; 2],
}

impl<V: Register, const LAZY: bool> Packed<V, LAZY> {
    /// The residue in (−p, p) of w·x for any words.
    #[inline(always)]
    unsafe fn signed_product(self, x: V, w: Root<V>) -> V {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let odd = x.odd_to_even();
            let low = x.mul_even(w.even[1]).mul_even(self.p);
            let low_odd = odd.mul_even(w.odd[1]).mul_even(self.p);
            // The lower halves agree, so no borrow reaches the upper halves.
            let even = x.mul_even(w.even[0]).sub(low);
            even.merge_odd(odd.mul_even(w.odd[0]).sub(low_odd))
        }
    }

    /// From `[0, 2·bound)` to `[0, bound)`.
    #[inline(always)]
    unsafe fn correct(x: V, bound: V) -> V {
        // SAFETY: the caller vouches for the CPU.
        unsafe { x.min(x.sub(bound)) }
    }

    /// From [−p, p) to `[0, p)`.
    #[inline(always)]
    unsafe fn lift(self, x: V) -> V {
        // SAFETY: the caller vouches for the CPU.
        unsafe { x.min(x.add(self.p)) }
    }

    #[inline(always)]
    unsafe fn forward_square<const R: usize>(self, cells: *const u32, roots: *const u32, out: *mut u32) {
        // SAFETY: the contract of `forward_tile`.
        unsafe {
            let mut x = [V::load(cells); R];
            for (i, x) in x.iter_mut().enumerate().skip(1) {
                *x = V::load(cells.add(R * i));
            }
            V::transpose(&mut x);
            forward_levels::<Self, R, 0>(self, &mut x, OfTile::<Self>(roots));
            for (i, &x) in x.iter().enumerate() {
                let x = if LAZY { Self::correct(x, self.twice_p) } else { x };
                Self::correct(x, self.p).store(out.add(R * i));
            }
        }
    }

    #[inline(always)]
    unsafe fn inverse_square<const R: usize>(self, spectrum: *const u32, roots: *const u32, cells: *mut u32) {
        // SAFETY: the contract of `inverse_tile`.
        unsafe {
            let mut x = [V::load(spectrum); R];
            for (i, x) in x.iter_mut().enumerate().skip(1) {
                *x = V::load(spectrum.add(R * i));
            }
            inverse_levels::<Self, R, 0>(self, &mut x, OfTile::<Self>(roots));
            V::transpose(&mut x);
            for (i, &x) in x.iter().enumerate() {
                x.store(cells.add(R * i));
            }
        }
    }
}

impl<V: Register, const LAZY: bool> Lanes for Packed<V, LAZY> {
    const LANES: usize = V::LANES;
    const TILE_ROOTS: &'static [usize] =
        if V::LANES == 16 { &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] } else { &[0, 1, 2, 3, 4, 5, 6] };
    type Cell = u32;
    type Vector = V;
    type Root = Root<V>;

    fn root(modulus: Modulus, factor: u64) -> [u32; 2] {
        montgomery::root(modulus, factor)
    }

    #[inline(always)]
    unsafe fn new(modulus: Modulus) -> Self {
        let p = modulus.value() as u32;
        // SAFETY: the trait's contract.
        unsafe { Packed { p: V::splat(p), twice_p: V::splat(2 * p) } }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> V {
        // SAFETY: the trait's contract.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn store(x: V, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { x.store(to) }
    }

    #[inline(always)]
    unsafe fn load_coefficients(from: *const u32) -> V {
        // SAFETY: the trait's contract.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn broadcast(pair: *const [u32; 2]) -> Root<V> {
        // SAFETY: the trait's contract.
        unsafe {
            let [w, companion] = *pair;
            let all = [V::splat(w), V::splat(companion)];
            Root { even: all, odd: all }
        }
    }

    #[inline(always)]
    unsafe fn load_roots(from: *const u32) -> Root<V> {
        // SAFETY: the trait's contract.
        unsafe {
            let even = [V::load(from), V::load(from.add(V::LANES))];
            Root { even, odd: [even[0].odd_to_even(), even[1].odd_to_even()] }
        }
    }

    #[inline(always)]
    unsafe fn prepare_forward<const R: usize>(self, _: &mut [V; R], _: bool) {}

    #[inline(always)]
    unsafe fn cooley_tukey(self, x: V, y: V, w: Root<V>) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe {
            let t = self.signed_product(y, w);
            if LAZY {
                let x = Self::correct(x, self.twice_p).add(self.p);
                (x.add(t), x.sub(t))
            } else {
                let x = Self::correct(x, self.p);
                let t = self.lift(t);
                (x.add(t), x.sub(t).add(self.p))
            }
        }
    }

    #[inline(always)]
    unsafe fn prepare_inverse<const R: usize>(self, _: &mut [V; R], _: u64) {}

    #[inline(always)]
    unsafe fn finish_inverse<const R: usize>(self, _: &mut [V; R], _: bool) {}

    #[inline(always)]
    unsafe fn sum_difference(self, x: V, y: V) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe { (x.add(y), x.sub(y).add(self.p)) }
    }

    #[inline(always)]
    unsafe fn gentleman_sande(self, x: V, y: V, w: Root<V>, _: Bias) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe {
            let (sum, difference) = self.sum_difference(x, y);
            (Self::correct(sum, self.p), self.mul(difference, w))
        }
    }

    #[inline(always)]
    unsafe fn mul(self, x: V, w: Root<V>) -> V {
        // SAFETY: the trait's contract.
        unsafe { self.lift(self.signed_product(x, w)) }
    }

    #[inline(always)]
    unsafe fn store_coefficients<const R: usize>(self, x: [V; R], to: *mut u32, stride: usize) {
        for (i, x) in x.into_iter().enumerate() {
            // SAFETY: the trait's contract.
            unsafe { x.store(to.add(i * stride)) }
        }
    }

    #[inline(always)]
    unsafe fn forward_tile(self, _: &[[u32; 2]; 3], cells: *const u32, roots: *const u32, out: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe {
            if V::LANES == 16 {
                self.forward_square::<16>(cells, roots, out)
            } else {
                self.forward_square::<8>(cells, roots, out)
            }
        }
    }

    #[inline(always)]
    unsafe fn inverse_tile(self, _: &[[u32; 2]; 3], spectrum: *const u32, roots: *const u32, cells: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe {
            if V::LANES == 16 {
                self.inverse_square::<16>(spectrum, roots, cells)
            } else {
                self.inverse_square::<8>(spectrum, roots, cells)
            }
        }
    }
}
