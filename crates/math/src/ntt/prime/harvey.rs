//! Harvey's lazy butterflies on vectors of 64-bit words, and their common ground with the portable ones.
//!
//! D. Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60 (2014). A factor w < p has the
//! companion w' = ⌊w·2^64/p⌋. For any word y and q = ⌊w'·y/2^64⌋ − e with 0 ≤ e ≤ E, t = w·y − q·p is at least 0 and
//! below (1 + y/2^64 + e)·p ≤ (2 + E)·p; its lower 64 bits are enough.
//!
//! **Exact quotients** (E = 0), p < 2^62, the portable path: words in flight are in `[0, 4p)`, products in `[0, 2p)`. A
//! butterfly brings x into `[0, 2p)` by subtracting 2p once; x + t and x − t + 2p are then below 4p ≤ 2^64.
//!
//! **Short quotients** (E = 2), vectors. Vectors have no 64-bit high product; it is the sum of four 32-bit products
//! with the weights 2^0, 2^32 (twice) and 2^64. The lowest product is left out, and each middle product is cut off at
//! 2^64. The loss is below 3·2^64, so the quotient is at most 2 too small. This takes three multiplications instead of
//! four and four other instructions instead of eight. Then t is in `[0, 4p)`.
//! * p < 2^61: words in flight are in `[0, 8p)`. A butterfly brings x into `[0, 4p)` by subtracting 4p once; x + t and
//!   x − t + 4p are then below 8p ≤ 2^64.
//! * p < 2^62: t < 4p ≤ 2^64 is also brought into `[0, 2p)`, and the ranges are those of exact quotients. This is
//!   cheaper than exact quotients.

use super::lanes::{Lanes, MAX_CONSTANTS};
use super::portable::{self, MAX_TERMS};
use crate::Modulus;

/// Vectors of `LANES` words.
///
/// # Safety
/// Every method needs a CPU with the features of the implementor.
pub(super) trait Words: Copy {
    const LANES: usize;

    unsafe fn splat(x: u64) -> Self;
    unsafe fn load(from: *const u64) -> Self;
    unsafe fn store(self, to: *mut u64);
    unsafe fn transpose(rows: &mut [Self]);
    /// Sum modulo 2^64.
    unsafe fn add(self, rhs: Self) -> Self;
    /// Difference modulo 2^64.
    unsafe fn sub(self, rhs: Self) -> Self;
    /// x − k, or x if that is negative; x < 2k ≤ 2^64.
    unsafe fn subtract_once(self, k: Self) -> Self;
    /// Products of the low halves.
    unsafe fn mul_halves(self, rhs: Self) -> Self;
    /// Products modulo 2^64.
    unsafe fn mul_low(self, rhs: Self) -> Self;
    /// The low halves.
    unsafe fn low_half(self) -> Self;
    /// The high halves, shifted down.
    unsafe fn high_half(self) -> Self;
    /// The high halves in the low halves, as a factor; the high halves of the result are arbitrary.
    unsafe fn high_factor(self) -> Self;
}

/// `V::LANES` lanes and p < 2^`BITS`, 61 or 62; see the module's documentation.
#[derive(Clone, Copy)]
pub(super) struct Harvey<V, const BITS: u32> {
    p: V,
    /// The bound of products: 2p for 62 bits, 4p for 61.
    product_bound: V,
    one: Factor<V>,
    word: Factor<V>,
}

/// The factor w, its companion ⌊w·2^64/p⌋, and the high half of the companion.
#[derive(Clone, Copy)]
pub(super) struct Factor<V>(V, V, V);

impl<V: Words> Factor<V> {
    /// # Safety
    /// The contract of `Words`.
    #[inline(always)]
    unsafe fn new(w: V, quotient: V) -> Self {
        // SAFETY: the caller's contract.
        unsafe { Factor(w, quotient, quotient.high_factor()) }
    }
}

// SAFETY of every block below: `Words` needs the features of the CPU. The caller of `new` vouched for them, and no
// other function makes a value of `Harvey`.

impl<V: Words, const BITS: u32> Harvey<V, BITS> {
    const TIGHT: bool = BITS == 62;

    /// ⌊w'·y/2^64⌋ or up to 2 less.
    #[inline(always)]
    fn quotient(self, y: V, w: Factor<V>) -> V {
        // SAFETY: see above.
        unsafe {
            let y_high = y.high_factor();
            let high_low = y_high.mul_halves(w.1);
            let low_high = y.mul_halves(w.2);
            let high_high = y_high.mul_halves(w.2);
            high_high.add(high_low.high_half().add(low_high.high_half()))
        }
    }

    /// A sum of products in two words, canonical: high·(2^64 mod p) + low·1.
    #[inline(always)]
    fn reduce_wide(self, low: V, high: V) -> V {
        // SAFETY: see above.
        unsafe { self.canonical(self.product(high, self.word).add(self.product(low, self.one))) }
    }
}

impl<V: Words, const BITS: u32> Lanes for Harvey<V, BITS> {
    type Word = u64;
    type Vector = V;
    type Twiddle = Factor<V>;

    const LANES: usize = V::LANES;
    const ROWS: usize = 8;

    fn constants(modulus: Modulus, _log_n: u32) -> [u64; MAX_CONSTANTS] {
        portable::constants(modulus)
    }

    fn prepare(modulus: Modulus, w: u64) -> [u64; 2] {
        [w, modulus.shoup_quotient(w)]
    }

    #[inline(always)]
    unsafe fn new(constants: &[u64; MAX_CONSTANTS]) -> Self {
        let [p, one, word, word_quotient, ..] = *constants;
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            Harvey {
                p: V::splat(p),
                product_bound: V::splat(if Self::TIGHT { 2 } else { 4 } * p),
                one: Factor::new(V::splat(1), V::splat(one)),
                word: Factor::new(V::splat(word), V::splat(word_quotient)),
            }
        }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const u64) -> V {
        // SAFETY: the caller's contract.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn store(self, x: V, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe { x.store(to) }
    }

    #[inline(always)]
    unsafe fn twiddle_splat(self, from: *const u64) -> Factor<V> {
        // SAFETY: the caller's contract.
        unsafe { Factor::new(V::splat(*from), V::splat(*from.add(1))) }
    }

    #[inline(always)]
    unsafe fn twiddle_load(self, from: *const u64) -> Factor<V> {
        // SAFETY: the caller's contract.
        unsafe { Factor::new(V::load(from), V::load(from.add(V::LANES))) }
    }

    #[inline(always)]
    fn transpose(self, rows: &mut [V]) {
        // SAFETY: see above.
        unsafe { V::transpose(rows) }
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Factor<V>) -> (V, V) {
        // SAFETY: see above.
        unsafe {
            let x = x.subtract_once(self.product_bound);
            let t = self.product(y, w);
            (x.add(t), x.add(self.product_bound).sub(t))
        }
    }

    #[inline(always)]
    fn butterfly_one(self, x: V, y: V, first: bool) -> (V, V) {
        // SAFETY: see above.
        unsafe {
            let bound = self.product_bound;
            let (x, y) = if first { (x, y) } else { (x.subtract_once(bound), y.subtract_once(bound)) };
            (x.add(y), x.add(bound).sub(y))
        }
    }

    #[inline(always)]
    fn product(self, y: V, w: Factor<V>) -> V {
        // SAFETY: see above.
        unsafe {
            let t = y.mul_low(w.0).sub(self.quotient(y, w).mul_low(self.p));
            if Self::TIGHT { t.subtract_once(self.product_bound) } else { t }
        }
    }

    #[inline(always)]
    fn canonical(self, x: V) -> V {
        // SAFETY: see above.
        unsafe { self.canonical_product(x.subtract_once(self.product_bound)) }
    }

    #[inline(always)]
    fn canonical_product(self, x: V) -> V {
        // SAFETY: see above.
        unsafe {
            let x = if Self::TIGHT { x } else { x.subtract_once(self.p.add(self.p)) };
            x.subtract_once(self.p)
        }
    }

    #[inline(always)]
    fn multiply(self, lhs: V, rhs: V) -> V {
        // SAFETY: see above.
        unsafe {
            let (lhs_high, rhs_high) = (lhs.high_factor(), rhs.high_factor());
            let middle = lhs_high.mul_halves(rhs).add(lhs.mul_halves(rhs).high_half());
            let middle_low = lhs.mul_halves(rhs_high).add(middle.low_half());
            let high = lhs_high.mul_halves(rhs_high).add(middle.high_half()).add(middle_low.high_half());
            self.reduce_wide(lhs.mul_low(rhs), high)
        }
    }

    const MAX_TERMS: usize = MAX_TERMS;

    /// The sums are scalar. The 64-bit multiplier makes one product per cycle. The vector units are not faster: a
    /// product with its carries takes four multiplications and a dozen other instructions.
    #[inline(always)]
    unsafe fn dot(self, acc: V, lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> V {
        let (mut low, mut high) = ([0u64; 8], [0u64; 8]);
        // SAFETY: the caller's contract; V has at most 8 lanes.
        unsafe {
            acc.store(low.as_mut_ptr());
            for lane in 0..V::LANES {
                let mut sum = u128::from(low[lane]);
                for row in 0..rows {
                    let (x, y) = (*lhs.add(row * stride + lane), *rhs.add(row * stride + lane));
                    sum += u128::from(x) * u128::from(y);
                }
                (low[lane], high[lane]) = (sum as u64, (sum >> 64) as u64);
            }
            self.reduce_wide(V::load(low.as_ptr()), V::load(high.as_ptr()))
        }
    }
}
