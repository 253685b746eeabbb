//! The definition of the transform, and of the product that it serves, in plain loops.
//!
//! # Example
//! ```
//! use ciphermill_math::fft::reference;
//!
//! // (1 + X)·X = X + X^2 = −1 + X modulo X^2 + 1.
//! assert_eq!(reference::negacyclic_product(&[1, 1], &[0, 1]), [u64::MAX, 1]);
//! // 2 + 3X is 2 + 3i at ζ = i.
//! let values = reference::transform(&[2, 3]);
//! assert!((values[0].0 - 2.0).abs() < 1e-12 && (values[0].1 - 3.0).abs() < 1e-12);
//! ```

use std::f64::consts::{PI, TAU};

/// A complex number: real and imaginary part.
pub type Point = (f64, f64);

/// The values a(ζ^(4k+1)), 0 ≤ k < N/2, ζ = e^(iπ/N), each summed term by term: O(N^2), for small N.
pub fn evaluate(coefficients: &[i64]) -> Vec<Point> {
    let n = coefficients.len();
    (0..n / 2)
        .map(|k| {
            coefficients.iter().enumerate().fold((0.0, 0.0), |(re, im), (j, &a)| {
                // The exponent is reduced modulo the order 2N to keep the angle accurate.
                let angle = PI * ((4 * k + 1) * j % (2 * n)) as f64 / n as f64;
                (re + a as f64 * angle.cos(), im + a as f64 * angle.sin())
            })
        })
        .collect()
}

/// The same values in O(N log N): fold a_j + i·a_(j+N/2), twist by ζ^j, textbook recursive transform.
pub fn transform(coefficients: &[i64]) -> Vec<Point> {
    let (n, half) = (coefficients.len(), coefficients.len() / 2);
    let twisted: Vec<Point> = (0..half)
        .map(|j| times((coefficients[j] as f64, coefficients[j + half] as f64), (PI * j as f64 / n as f64).sin_cos()))
        .collect();
    cyclic(&twisted)
}

/// Inverse of [`transform`], normalised: the folded coefficients a_j + i·a_(j+N/2).
pub fn inverse(values: &[Point]) -> Vec<Point> {
    let half = values.len();
    let conjugate = |&(re, im): &Point| (re, -im);
    let sums = cyclic(&values.iter().map(conjugate).collect::<Vec<_>>());
    let untwist = |(j, z): (usize, &Point)| {
        let (re, im) = times(conjugate(z), (-PI * j as f64 / (2 * half) as f64).sin_cos());
        (re / half as f64, im / half as f64)
    };
    sums.iter().enumerate().map(untwist).collect()
}

/// z · (cos + i·sin), the factor as `sin_cos` returns it.
fn times((re, im): Point, (sin, cos): (f64, f64)) -> Point {
    (re * cos - im * sin, re * sin + im * cos)
}

/// Σ_j z_j e^(2πi jk/M) for every k.
fn cyclic(z: &[Point]) -> Vec<Point> {
    let m = z.len();
    if m == 1 {
        return z.to_vec();
    }
    let even = cyclic(&z.iter().copied().step_by(2).collect::<Vec<_>>());
    let odd = cyclic(&z.iter().copied().skip(1).step_by(2).collect::<Vec<_>>());
    let turned: Vec<Point> =
        odd.iter().enumerate().map(|(k, &z)| times(z, (TAU * k as f64 / m as f64).sin_cos())).collect();
    let sums = even.iter().zip(&turned).map(|(e, t)| (e.0 + t.0, e.1 + t.1));
    let differences = even.iter().zip(&turned).map(|(e, t)| (e.0 - t.0, e.1 - t.1));
    sums.chain(differences).collect()
}

/// The product modulo X^N + 1 and 2^64, exact, by schoolbook multiplication; zeros of `lhs` are skipped.
///
/// # Panics
/// If the lengths differ.
pub fn negacyclic_product(lhs: &[i64], rhs: &[i64]) -> Vec<u64> {
    let n = lhs.len();
    assert_eq!(n, rhs.len());
    let mut product = vec![0u64; n];
    for (shift, &factor) in lhs.iter().enumerate().filter(|(_, factor)| **factor != 0) {
        let (low, high) = rhs.split_at(n - shift);
        for (out, &r) in product[shift..].iter_mut().zip(low) {
            *out = out.wrapping_add(factor.wrapping_mul(r) as u64);
        }
        for (out, &r) in product[..shift].iter_mut().zip(high) {
            *out = out.wrapping_sub(factor.wrapping_mul(r) as u64);
        }
    }
    product
}

/// One coefficient of [`negacyclic_product`], for sizes at which the whole product takes too long.
///
/// # Panics
/// If the lengths differ or if `index` is beyond them.
pub fn negacyclic_coefficient(lhs: &[i64], rhs: &[i64], index: usize) -> u64 {
    assert_eq!(lhs.len(), rhs.len());
    let (low, high) = lhs.split_at(index + 1);
    let dot = |lhs: &[i64], rhs: &[i64]| {
        lhs.iter().zip(rhs.iter().rev()).fold(0u64, |sum, (l, r)| sum.wrapping_add(l.wrapping_mul(*r) as u64))
    };
    dot(low, &rhs[..=index]).wrapping_sub(dot(high, &rhs[index + 1..]))
}
