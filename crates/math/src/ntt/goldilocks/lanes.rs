//! Vectors of residues modulo the Goldilocks prime: the operations that the generic kernels need from an instruction
//! set.
//!
//! A lane holds a residue as a 64-bit word. The word is *canonical* if it is below p. Otherwise it is *lazy*: any word,
//! which represents itself modulo p. The modulus leaves no headroom in 64 bits, so a sum or difference needs a
//! correction by ε = 2^64 mod p. One correction is enough if one operand is canonical, because |a ± b| then wraps at
//! most once: a wrapped sum is at most 2^64 − 1 + p − 1 − 2^64 + ε < 2^64, and a wrapped difference at least 1.

use crate::goldilocks::MODULUS;

/// A multiplier prepared for [`Lanes::mul`].
#[derive(Clone, Copy)]
pub(super) struct Twiddle<V> {
    /// The factor.
    whole: V,
    /// Its upper 32 bits in the low half of each lane; the high half is arbitrary.
    high: V,
}

/// Sums of products with weights 2^0, 2^22, 2^44, 2^32, 2^54, 2^76, in this order.
#[derive(Clone, Copy)]
pub(super) struct LimbSum<V>([V; 6]);

/// The most products in one sum: each limb product is below 2^32·2^22, so 2^10 of them stay below 2^64.
pub(super) const MAX_PRODUCTS: usize = 1 << 10;

/// `LANES` words that are processed together.
///
/// Only `splat` and `load` make values. They are unsafe because they need the CPU features of the implementor. So every
/// value exists on such a CPU, and all other methods are safe. To be fast, all methods must be inlined into a function
/// with these features.
pub(super) trait Lanes: Copy {
    /// Number of words, a power of two up to 8.
    const LANES: usize;

    /// All lanes equal.
    ///
    /// # Safety
    /// The CPU must have the features of the implementor.
    unsafe fn splat(x: u64) -> Self;

    /// Reads `LANES` words, unaligned.
    ///
    /// # Safety
    /// As for [`splat`](Lanes::splat); the words must be readable.
    unsafe fn load(from: *const u64) -> Self;

    /// Reads `LANES` 32-bit words, unaligned, as upper halves.
    ///
    /// # Safety
    /// As for [`load`](Lanes::load).
    unsafe fn load_upper_halves(from: *const u32) -> Self;

    /// Writes `LANES` words, unaligned.
    ///
    /// # Safety
    /// The words must be writable.
    unsafe fn store(self, to: *mut u64);

    /// A copy of `x` in each lane.
    #[inline(always)]
    fn same(self, x: u64) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        unsafe { Self::splat(x) }
    }

    /// Sum modulo 2^64.
    fn wrapping_add(self, rhs: Self) -> Self;

    /// Difference modulo 2^64.
    fn wrapping_sub(self, rhs: Self) -> Self;

    /// Product of the low halves of the lanes.
    fn mul_low_halves(self, rhs: Self) -> Self;

    /// ε times the low half of each lane.
    fn mul_epsilon(self) -> Self;

    /// Bitwise and.
    fn and(self, rhs: Self) -> Self;

    /// The low half of each lane.
    fn low_half(self) -> Self;

    /// The high half of each lane in its low half; the high half is arbitrary.
    fn high_half(self) -> Self;

    /// Shift to the left; `bits` below 64.
    fn shl(self, bits: u32) -> Self;

    /// Logical shift to the right; `bits` below 64.
    fn shr(self, bits: u32) -> Self;

    /// The low half of `high` above the low half of `self`.
    fn with_high_half(self, high: Self) -> Self;

    /// `self` + ε in the lanes where a < b, modulo 2^64.
    fn add_epsilon_where_less(self, a: Self, b: Self) -> Self;

    /// `self` − ε in the lanes where a < b, modulo 2^64.
    fn sub_epsilon_where_less(self, a: Self, b: Self) -> Self;

    /// Transposes a matrix of `LANES` rows, one per vector.
    fn transpose(rows: &mut [Self]);

    /// Prepares a multiplier.
    #[inline(always)]
    fn twiddle(self) -> Twiddle<Self> {
        Twiddle { whole: self, high: self.high_half() }
    }

    /// a + b; a lazy, b canonical, result lazy.
    #[inline(always)]
    fn add_lazy(self, canonical: Self) -> Self {
        let sum = self.wrapping_add(canonical);
        sum.add_epsilon_where_less(sum, self)
    }

    /// a − b; a lazy, b canonical, result lazy, and canonical if a is.
    #[inline(always)]
    fn sub_lazy(self, canonical: Self) -> Self {
        self.wrapping_sub(canonical).sub_epsilon_where_less(self, canonical)
    }

    /// a + b − p + p·[a + b < p]; a lazy, b canonical; the result is canonical if a is.
    #[inline(always)]
    fn add_canonical(self, canonical: Self) -> Self {
        let complement = self.same(MODULUS).wrapping_sub(canonical);
        self.wrapping_sub(complement).sub_epsilon_where_less(self, complement)
    }

    /// The canonical form of a lazy value. Subtracting p modulo 2^64 is adding ε.
    #[inline(always)]
    fn canonical(self) -> Self {
        self.add_epsilon_where_less(self.same(MODULUS - 1), self)
    }

    /// Lazy times twiddle, result canonical.
    #[inline(always)]
    fn mul(self, factor: Twiddle<Self>) -> Self {
        let x_high = self.high_half();
        let low_low = self.mul_low_halves(factor.whole);
        let low_high = self.mul_low_halves(factor.high);
        let high_low = x_high.mul_low_halves(factor.whole);
        let high_high = x_high.mul_low_halves(factor.high);
        // (2^32 − 1)^2 + 2(2^32 − 1) < 2^64: none of these sums wraps.
        let t = high_low.wrapping_add(low_low.shr(32));
        let u = low_high.wrapping_add(t.low_half());
        let high = high_high.wrapping_add(t.shr(32)).wrapping_add(u.shr(32));
        reduce_wide(low_low.with_high_half(u), high)
    }

    /// Lazy times 2^exponent for 0 < exponent < 96, result canonical. The exponent should be a constant, because the
    /// compiler then removes the branches.
    #[inline(always)]
    fn mul_pow2(self, exponent: u32) -> Self {
        debug_assert!(0 < exponent && exponent < 96);
        if exponent <= 32 {
            // x·2^e = high·2^64 + low with high < 2^32.
            let m = self.shr(64 - exponent).mul_epsilon();
            add_product(self.shl(exponent), m)
        } else if exponent < 64 {
            // x·2^e = top·2^96 + middle·2^64 + low with top < 2^31.
            let low = self.shl(exponent);
            let top = self.shr(96 - exponent);
            let m = self.shr(64 - exponent).mul_epsilon();
            add_product(low.wrapping_sub(top).sub_epsilon_where_less(low, top), m)
        } else {
            self.div_pow2_negated(96 - exponent)
        }
    }

    /// Lazy times −2^−exponent for 0 < exponent ≤ 32, result canonical.
    ///
    /// With x = high·2^e + low: −x/2^e = −high + low·2^(96−e), and low·2^(96−e) = (low·2^(32−e))·2^64.
    #[inline(always)]
    fn div_pow2_negated(self, exponent: u32) -> Self {
        let m = self.shl(32 - exponent).mul_epsilon();
        let high = self.shr(exponent);
        m.wrapping_sub(high).sub_epsilon_where_less(m, high)
    }

    /// Lazy times 2^−exponent for 0 < exponent ≤ 32, result canonical.
    #[inline(always)]
    fn div_pow2(self, exponent: u32) -> Self {
        let m = self.shl(32 - exponent).mul_epsilon();
        let high = self.shr(exponent);
        high.wrapping_sub(m).sub_epsilon_where_less(high, m)
    }

    /// Σ lhs_r·rhs_r over `rows` ≤ [`MAX_PRODUCTS`] vectors, `stride` words apart; canonical.
    ///
    /// # Safety
    /// As for [`load`](Lanes::load), for all rows.
    #[inline(always)]
    unsafe fn dot(lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> Self {
        debug_assert!(rows <= MAX_PRODUCTS);
        // SAFETY: the caller's contract.
        unsafe {
            let mut sum = LimbSum([Self::splat(0); 6]);
            for row in 0..rows {
                sum.add_product(Self::load(lhs.add(row * stride)), Self::load(rhs.add(row * stride)));
            }
            sum.reduce()
        }
    }
}

/// low + m mod p for lazy `low` and m ≤ (2^32 − 1)^2 + 2^32 − 1; canonical.
///
/// low − (p − m) borrows exactly if low + m < p. If `low` is not canonical the difference is at most m + ε − 1 < p.
#[inline(always)]
fn add_product<V: Lanes>(low: V, m: V) -> V {
    let complement = low.same(MODULUS).wrapping_sub(m);
    low.wrapping_sub(complement).sub_epsilon_where_less(low, complement)
}

/// high·2^64 + low mod p, canonical.
#[inline(always)]
pub(super) fn reduce_wide<V: Lanes>(low: V, high: V) -> V {
    let top = high.shr(32);
    let d = low.wrapping_sub(top).sub_epsilon_where_less(low, top);
    add_product(d, high.mul_epsilon())
}

impl<V: Copy> Twiddle<V> {
    /// The factor itself.
    #[inline(always)]
    pub(super) fn whole(self) -> V {
        self.whole
    }
}

impl<V: Lanes> LimbSum<V> {
    #[inline(always)]
    fn add_product(&mut self, x: V, y: V) {
        let mask = x.same((1 << 22) - 1);
        let x_high = x.high_half();
        for (i, limb) in [y.and(mask), y.shr(22).and(mask), y.shr(44)].into_iter().enumerate() {
            self.0[i] = self.0[i].wrapping_add(x.mul_low_halves(limb));
            self.0[3 + i] = self.0[3 + i].wrapping_add(x_high.mul_low_halves(limb));
        }
    }

    #[inline(always)]
    fn reduce(self) -> V {
        let [a, b, c, d, e, f] = self.0;
        let low = a.add_lazy(b.mul_pow2(22)).add_lazy(c.mul_pow2(44));
        let high = d.add_lazy(e.mul_pow2(22)).add_lazy(f.mul_pow2(44));
        low.canonical().add_canonical(high.mul_pow2(32))
    }
}
