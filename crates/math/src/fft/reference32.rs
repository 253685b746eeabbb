//! A complex f32 transform with fully defined roundings: the bit-exact golden model of an accelerator's complex
//! butterflies.
//!
//! Value k of N complex numbers x_0 … x_(N−1) is Σ_j x_j·e^(∓2πi·jk/N): minus forward, plus inverse. Neither direction
//! divides by N. The algorithm is the radix-2 decimation in time of J. W. Cooley and J. W. Tukey, "An algorithm for the
//! machine calculation of complex Fourier series" (Math. Comp. 19, 1965). It consists of exactly N/2·log2 N times this
//! [`butterfly`]:
//!
//! ```text
//! t  = (w.re·b.re − w.im·b.im, w.re·b.im + w.im·b.re)
//! a' = (a.re + t.re, a.im + t.im)
//! b' = (a.re − t.re, a.im − t.im)
//! ```
//!
//! A butterfly has ten operations: four products, one difference and one sum for t, then four more. Each is a separate
//! IEEE 754 binary32 operation, rounded to nearest, ties to even. Products are not fused with sums, and subnormal
//! numbers are kept. Every butterfly multiplies, also by the factors 1 and ∓i; these products are exact except for the
//! signs of zeros and for infinities. The payload of a NaN is not defined.
//!
//! # Example
//! ```
//! use ciphermill_math::fft::reference32::{Direction, reorder, transform};
//!
//! let mut values = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
//! transform(Direction::Forward, &mut values);
//! reorder(&mut values);
//! assert_eq!(values, [(1.0, 0.0); 4]);
//! ```
//!
//! # Order
//!
//! Level s, from 0 to log2 N − 1, has 2^s blocks of N/2^s places each. A butterfly of block i takes a and b half a
//! block apart and puts a' and b' into their places. Its factor w is entry i of [`twiddles`], whatever the level. From
//! natural order this leads to the order of reversed bits, which [`reorder`] undoes.
//!
//! A result depends only on the operands of its butterflies. So any schedule that respects these operands gives the
//! same bits:
//!
//! - block after block, or depth first;
//! - columns of a matrix before its rows;
//! - renamed places, such that the input has its bits reversed and the output is in natural order.
//!
//! A four-step transform with a separate twist multiplies more often, so it is not such a schedule. If the factors of
//! the rows include the twist, they are the factors of the blocks, and the schedule gives the same bits.
//!
//! # Error
//!
//! Let u = 2^-24 and ℓ = log2 N, and let nothing overflow or become subnormal. A complex product formed like this has a
//! relative error below √5·u (R. Brent, C. Percival and P. Zimmermann, "Error bounds on complex floating-point
//! multiplication", Math. Comp. 76, 2007). A factor w has u/√2, and a sum u. A level multiplies the 2-norm by √2, and t
//! enters both results. So the error of a level is at most (√5 + 1/√2 + 1)·u < 3.95u times the norm of its result.
//! After ℓ levels it is at most 4uℓ times the norm of the spectrum: [`relative_error_bound`], for every input.
//!
//! For inputs without structure the roundings are practically independent. The relative variance of a rounding is about
//! u²/6 if the discarded part is spread evenly, and larger where a sum loses a single digit. The measured value is
//! u²/5; the following variances are in units of it, for a and b of one size:
//!
//! - The sums of a level add 1 to the variance of the spectrum relative to its norm.
//! - The products, the sum of two products, and the factor's rounding add 1/2 each. This holds in blocks whose factor
//!   is not 1 or ∓i; their share of level s is 1 − min(1, 2/2^s).
//!
//! The sum over all levels is 5ℓ/2 − 9/2 + 6/N, which [`relative_error_rms`] uses. Measured errors are within 15 % of
//! it from N = 2 to 2^17.

use std::f64::consts::FRAC_PI_4;

use crate::ntt::reference::bit_reverse;

/// A complex number: real and imaginary part.
pub type Point32 = (f32, f32);

/// The sign in the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Σ_j x_j·e^(−2πi·jk/N).
    Forward,
    /// Σ_j x_j·e^(+2πi·jk/N), not divided by N.
    Inverse,
}

/// (a + w·b, a − w·b), with each operation rounded as the module's documentation defines.
pub fn butterfly(w: Point32, a: Point32, b: Point32) -> (Point32, Point32) {
    let t = (w.0 * b.0 - w.1 * b.1, w.0 * b.1 + w.1 * b.0);
    ((a.0 + t.0, a.1 + t.1), (a.0 - t.0, a.1 - t.1))
}

/// The N/2 factors of a transform of N = `size` points. Entry i is the factor of block i, e^(∓2πi·brv(i)/N), where brv
/// reverses log2 N − 1 bits.
///
/// Each part is the f32 nearest to the exact value, and zeros are positive. The parts are rounded from f64 sines and
/// cosines of angles up to π/4. For N up to 2^20 (tested) none of these is so near the middle of two f32 that the last
/// place of f64 matters.
///
/// # Panics
/// If N is not a power of two.
pub fn twiddles(size: usize, direction: Direction) -> Vec<Point32> {
    let bits = log2(size).saturating_sub(1);
    let factor = |i| match (direction, bit_reverse(i, bits)) {
        (Direction::Forward, exponent) => root((size - exponent) % size, size),
        (Direction::Inverse, exponent) => root(exponent, size),
    };
    (0..size / 2).map(factor).collect()
}

/// The transform of N points in place: natural order in, order of reversed bits out.
///
/// # Panics
/// If N is not a power of two.
pub fn transform(direction: Direction, values: &mut [Point32]) {
    let factors = twiddles(values.len(), direction);
    for level in 0..log2(values.len()) {
        let block_size = values.len() >> level;
        for (block, &w) in values.chunks_exact_mut(block_size).zip(&factors) {
            let (low, high) = block.split_at_mut(block_size / 2);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = butterfly(w, *a, *b);
            }
        }
    }
}

/// Converts between the order of reversed bits and natural order, in either direction.
///
/// # Panics
/// If the number of values is not a power of two.
pub fn reorder<T>(values: &mut [T]) {
    let bits = log2(values.len());
    for i in 0..values.len() {
        let j = bit_reverse(i, bits);
        if i < j {
            values.swap(i, j);
        }
    }
}

/// An upper bound of the 2-norm of the error of all N = `size` ≥ 1 values, relative to the norm of the values:
/// 4·2^-24·log2 N. It holds if nothing overflows or becomes subnormal.
pub fn relative_error_bound(size: usize) -> f64 {
    4.0 * UNIT * (size as f64).log2()
}

/// The typical error for inputs without structure: 2^-24·√((5/2·log2 N − 9/2 + 6/N)/5), N = `size` ≥ 2.
pub fn relative_error_rms(size: usize) -> f64 {
    let n = size as f64;
    UNIT * ((2.5 * n.log2() - 4.5 + 6.0 / n) / 5.0).sqrt()
}

/// u = 2^-24, the largest relative change of a number by rounding to f32.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;

fn log2(size: usize) -> u32 {
    assert!(size.is_power_of_two(), "{size} points; use a power of two");
    size.ilog2()
}

/// e^(2πi·index/size) with both parts rounded to nearest, from an angle in the first octant. So parts that are equal or
/// opposite on the circle are equal or opposite in f32, and the axes are exact.
fn root(index: usize, size: usize) -> Point32 {
    // 128 bits, because eight times an index may exceed a word.
    let (eighths, size) = (8 * index as u128, size as u128);
    let (octant, rest) = (eighths / size, eighths % size);
    let rest = if octant % 2 == 0 { rest } else { size - rest };
    let (sin, cos) = (FRAC_PI_4 * (rest as f64 / size as f64)).sin_cos();
    let (c, s) = (cos as f32, sin as f32);
    let (re, im) = match octant {
        0 => (c, s),
        1 => (s, c),
        2 => (-s, c),
        3 => (-c, s),
        4 => (-c, -s),
        5 => (-s, -c),
        6 => (s, -c),
        _ => (c, -s),
    };
    // A negative zero becomes a positive one; nothing else changes.
    (re + 0.0, im + 0.0)
}
