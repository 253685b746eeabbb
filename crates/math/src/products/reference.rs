//! The plain definitions of the products, rotations and transforms.
//!
//! # Example
//! ```
//! use ciphermill_math::Modulus;
//! use ciphermill_math::products::reference;
//!
//! let p = Modulus::new(97)?;
//! let pairs = [(&[2u64, 3][..], &[10u64, 10][..]), (&[1, 1][..], &[1, 90][..])];
//! assert_eq!(reference::inner_product(p, 2, pairs), [21, 23]);
//! // X·(1 − 2X^3) = 2 + X modulo X^4 + 1.
//! assert_eq!(reference::shifted(1, &[1, 0, 0, -2]), [2, 1, 0, 0]);
//! # Ok::<(), ciphermill_math::modulus::ModulusError>(())
//! ```

use super::orbit::Rotation;
use crate::Modulus;

/// Σ_i lhs_i ∘ rhs_i of pairs of spectra of length `len`.
pub fn inner_product<'a>(p: Modulus, len: usize, pairs: impl IntoIterator<Item = (&'a [u64], &'a [u64])>) -> Vec<u64> {
    let mut sums = vec![0; len];
    for (lhs, rhs) in pairs {
        assert_eq!((lhs.len(), rhs.len()), (len, len), "lengths of the factors");
        for (sum, (&l, &r)) in sums.iter_mut().zip(lhs.iter().zip(rhs)) {
            *sum = p.add(*sum, p.mul(l, r));
        }
    }
    sums
}

/// The rotated spectrum, word by word.
pub fn rotated(rotation: &Rotation, spectrum: &[u64]) -> Vec<u64> {
    (0..spectrum.len()).map(|i| spectrum[rotation.source(i)]).collect()
}

/// X^shift·a modulo X^N + 1, for any `shift` and N coefficients.
pub fn shifted(shift: usize, a: &[i64]) -> Vec<i64> {
    let n = a.len();
    let mut out = vec![0; n];
    for (j, &x) in a.iter().enumerate() {
        let e = (j + shift) % (2 * n);
        out[e % n] = if e < n { x } else { -x };
    }
    out
}

/// R_t = Σ_i ω^(i·t)·a_i for t < P, ω = X^(2N/P), for P polynomials of N coefficients.
pub fn monomial_transform(polynomial_size: usize, polynomials: &[i64]) -> Vec<Vec<i64>> {
    let points = polynomials.len() / polynomial_size;
    let result = |t: usize| {
        let mut sum = vec![0; polynomial_size];
        for (i, a) in polynomials.chunks_exact(polynomial_size).enumerate() {
            let term = shifted(i * t % points * (2 * polynomial_size / points), a);
            sum.iter_mut().zip(term).for_each(|(sum, x)| *sum += x);
        }
        sum
    };
    (0..points).map(result).collect()
}
