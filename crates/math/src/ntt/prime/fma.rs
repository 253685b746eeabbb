//! Residues as integers in double precision, for vectors that have a fused multiply-add of 53 bits but no 64-bit
//! product: AVX2, and AVX-512 without IFMA.
//!
//! The product of y and w modulo p takes six instructions; with 64-bit words it takes twenty-five. The method is that
//! of J. van der Hoeven, G. Lecerf and G. Quintin, "Modular SIMD arithmetic in Mathemagix", ACM TOMS 43 (2016):
//!
//! - h = RN(y·w) and l = y·w − h are exact together (one fused multiply-add).
//! - q = RN(y·(w/p)) is an integer, because the addend 3·2^51 of another multiply-add leaves no fraction.
//! - h − q·p is exact, because it is an integer below 2^53. The result is r = (h − q·p) + l.
//!
//! Factors are balanced, |w| ≤ p/2, and w/p has a relative error of at most 2^-53. So |q − y·w/p| ≤ 1/2 + |y|·2^-54 and
//! |r| ≤ (1/2 + |y|·2^-54)·p. |q| must be below 2^51, hence |y| < 2^52. A word in memory is the pattern of the double.
//!
//! **p < 2^47**: no sum is ever reduced. Forward, |x| starts below p, and 17 levels add at most 0.62·p each: below
//! 12·p. Inverse, the levels without factors double it at most three times, and 14 more add 0.65·p each: |x| < 18·p <
//! 2^51.2, and |r| < 0.65·p as stated. The last transform of 8 points starts from products: below 8·0.65·p.
//!
//! **p < 2^50**: butterflies first bring x into |x| ≤ 0.51·p by subtracting RN(x/p)·p, three more instructions. Then
//! |y| ≤ 2·p < 2^51 at all times and |r| ≤ (1/2 + 1/8)·p.
//!
//! **Floor.** A butterfly of a vector takes four (six) multiplications and four (five) additions. Two ports of Intel's
//! cores multiply; at 256 bits a third port helps with additions. That makes 2.67 (3.67) cycles. Figures at 3.57 GHz
//! for N = 4096 on four lanes, 6144 butterflies, measured on a Granite-Rapids-class core, where Harvey's butterflies
//! take 22.4 µs:
//!
//! | primes below | cycles | floor | forward | inverse | fraction of the floor |
//! | --- | --- | --- | --- | --- | --- |
//! | 2^47 | 16 384 | 4.6 µs | 7.6 µs | 7.1 µs | 61 % |
//! | 2^50 | 22 528 | 6.3 µs | 8.8 µs | 8.5 µs | 72 % |
//!
//! Primes 2^a + 2^b + 1 also use these kernels. The shifts and additions of
//! [`LowWeightModulus`](crate::LowWeightModulus) need four 32-bit products and seventeen other instructions per vector;
//! a product here needs six instructions.

use super::lanes::{Lanes, MAX_CONSTANTS};
use crate::Modulus;

/// Vectors of `LANES` doubles.
///
/// # Safety
/// Every method needs a CPU with the features of the implementor.
pub(crate) trait Doubles: Copy {
    const LANES: usize;

    unsafe fn splat(x: f64) -> Self;
    unsafe fn load(from: *const u64) -> Self;
    unsafe fn store(self, to: *mut u64);
    unsafe fn transpose(rows: &mut [Self]);
    unsafe fn add(self, rhs: Self) -> Self;
    unsafe fn sub(self, rhs: Self) -> Self;
    unsafe fn mul(self, rhs: Self) -> Self;
    /// self·rhs + addend, rounded once.
    unsafe fn mul_add(self, rhs: Self, addend: Self) -> Self;
    /// self·rhs − subtrahend, rounded once.
    unsafe fn mul_sub(self, rhs: Self, subtrahend: Self) -> Self;
    /// minuend − self·rhs, rounded once.
    unsafe fn mul_rsub(self, rhs: Self, minuend: Self) -> Self;
    /// x + p where x is negative, else x.
    unsafe fn lift(self, p: Self) -> Self;
    /// The bitwise or.
    unsafe fn or(self, rhs: Self) -> Self;
    /// The bitwise exclusive or.
    unsafe fn xor(self, rhs: Self) -> Self;
}

/// 2^52. Its pattern plus an integer below 2^52 is the pattern of their sum.
const INTEGER: f64 = (1u64 << 52) as f64;

/// Adding and subtracting this rounds to an integer.
pub(crate) const ROUND: f64 = 1.5 * INTEGER;

/// `V::LANES` lanes and p < 2^`BITS`, 47 or 50; see the module's documentation.
#[derive(Clone, Copy)]
pub(crate) struct Fma<V, const BITS: u32> {
    p: V,
    reciprocal: V,
    round: V,
}

/// A balanced factor w and w/p.
#[derive(Clone, Copy)]
pub(crate) struct Factor<V>(V, V);

// SAFETY of every block below: `Doubles` needs the features of the CPU. The caller of `new` vouched for them, and no
// other function makes a value of `Fma`.

impl<V: Doubles, const BITS: u32> Fma<V, BITS> {
    const REDUCE: bool = BITS > 47;

    /// The residue of x, |x| < 2^51·p, in [−p/2, p/2] up to a rounding error.
    #[inline(always)]
    fn reduce(self, x: V) -> V {
        // SAFETY: see above.
        unsafe {
            let q = x.mul_add(self.reciprocal, self.round).sub(self.round);
            q.mul_rsub(self.p, x)
        }
    }

    #[inline(always)]
    fn reduce_between(self, x: V) -> V {
        if Self::REDUCE { self.reduce(x) } else { x }
    }

    /// A canonical word as a double.
    #[inline(always)]
    pub(crate) fn enter(self, x: V) -> V {
        // SAFETY: see above.
        unsafe {
            let integer = V::splat(INTEGER);
            x.or(integer).sub(integer)
        }
    }
}

impl<V: Doubles, const BITS: u32> Lanes for Fma<V, BITS> {
    type Word = u64;
    type Vector = V;
    type Twiddle = Factor<V>;

    const LANES: usize = V::LANES;
    const ROWS: usize = 8;

    fn constants(modulus: Modulus, _log_n: u32) -> [u64; MAX_CONSTANTS] {
        let p = modulus.value() as f64;
        [p.to_bits(), p.recip().to_bits(), 0, 0, 0, 0, 0, 0]
    }

    fn prepare(modulus: Modulus, w: u64) -> [u64; 2] {
        let p = modulus.value();
        let balanced = if w > p / 2 { -((p - w) as f64) } else { w as f64 };
        [balanced.to_bits(), (balanced / p as f64).to_bits()]
    }

    #[inline(always)]
    unsafe fn new(constants: &[u64; MAX_CONSTANTS]) -> Self {
        let [p, reciprocal, ..] = constants.map(f64::from_bits);
        // SAFETY: the caller vouches for the CPU.
        unsafe { Fma { p: V::splat(p), reciprocal: V::splat(reciprocal), round: V::splat(ROUND) } }
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
        unsafe { Factor(V::splat(f64::from_bits(*from)), V::splat(f64::from_bits(*from.add(1)))) }
    }

    #[inline(always)]
    unsafe fn twiddle_load(self, from: *const u64) -> Factor<V> {
        // SAFETY: the caller's contract.
        unsafe { Factor(V::load(from), V::load(from.add(V::LANES))) }
    }

    #[inline(always)]
    fn transpose(self, rows: &mut [V]) {
        // SAFETY: see above.
        unsafe { V::transpose(rows) }
    }

    #[inline(always)]
    fn enter_forward(self, x: &mut [V]) {
        for x in x {
            *x = self.enter(*x);
        }
    }

    #[inline(always)]
    fn enter_dft(self, x: &mut [V], products: bool) {
        if !products {
            self.enter_forward(x);
        }
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Factor<V>) -> (V, V) {
        // SAFETY: see above.
        unsafe {
            let x = self.reduce_between(x);
            let t = self.product(y, w);
            (x.add(t), x.sub(t))
        }
    }

    #[inline(always)]
    fn butterfly_one(self, x: V, y: V, first: bool) -> (V, V) {
        let (x, y) = if first { (x, y) } else { (self.reduce_between(x), self.reduce_between(y)) };
        // SAFETY: see above.
        unsafe { (x.add(y), x.sub(y)) }
    }

    #[inline(always)]
    fn product(self, y: V, w: Factor<V>) -> V {
        // SAFETY: see above.
        unsafe {
            let q = y.mul_add(w.1, self.round).sub(self.round);
            let high = y.mul(w.0);
            let low = y.mul_sub(w.0, high);
            q.mul_rsub(self.p, high).add(low)
        }
    }

    #[inline(always)]
    fn canonical(self, x: V) -> V {
        self.canonical_product(self.reduce(x))
    }

    #[inline(always)]
    fn canonical_product(self, x: V) -> V {
        // SAFETY: see above.
        unsafe {
            let integer = V::splat(INTEGER);
            x.lift(self.p).add(integer).xor(integer)
        }
    }

    /// |q − lhs·rhs/p| ≤ 1/2 + 2^50·2^-52, because 1/p and its product with lhs are rounded. So the result is below 0.75·p.
    #[inline(always)]
    fn multiply(self, lhs: V, rhs: V) -> V {
        self.canonical_product(self.product_of_two(self.enter(lhs), self.enter(rhs)))
    }

    /// Eight products below 0.75·p and a canonical value are below 7·p < 2^53.
    const MAX_TERMS: usize = 8;

    #[inline(always)]
    unsafe fn dot(self, acc: V, lhs: *const u64, rhs: *const u64, stride: usize, rows: usize) -> V {
        let mut sum = self.enter(acc);
        for row in 0..rows {
            // SAFETY: the caller's contract.
            unsafe {
                let (x, y) = (V::load(lhs.add(row * stride)), V::load(rhs.add(row * stride)));
                sum = sum.add(self.product_of_two(self.enter(x), self.enter(y)));
            }
        }
        self.canonical(sum)
    }
}

impl<V: Doubles, const BITS: u32> Fma<V, BITS> {
    /// The product of two canonical doubles, below 0.75·p in magnitude.
    #[inline(always)]
    fn product_of_two(self, x: V, y: V) -> V {
        // SAFETY: see above.
        unsafe { self.product(x, Factor(y, y.mul(self.reciprocal))) }
    }
}
