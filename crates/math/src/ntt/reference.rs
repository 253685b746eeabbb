//! The plain definitions of the negacyclic transform: over the Goldilocks prime here, over any other in [`prime`].
//!
//! There are three definitions, each checked against the previous one:
//!
//! 1. evaluation at the odd powers of ψ (quadratic);
//! 2. the schoolbook product modulo X^N + 1 (quadratic);
//! 3. the merged loops, Cooley–Tukey forward and Gentleman–Sande inverse, which are the golden model at full size.
//!
//! The merged loops are the algorithms of Longa and Naehrig, "Speeding up the number theoretic transform for faster
//! ideal lattice-based cryptography" (CANS 2016), without lazy reduction.
//!
//! Two quadratic definitions of the cyclic transform follow, for strategies that support it. [`paper_forward`] and
//! [`paper_inverse`] are the pair that the NVMe-TFHE platform prints. They exist only for a test that states their
//! result.
//!
//! All coefficients are in `[0, p)`. The length N must be a power of two, from 1 on. 2N must divide p − 1 (at most 2^31
//! over Goldilocks); for the cyclic definitions N must divide p − 1. Any other length is a caller's error and panics.
//!
//! # Example
//! ```
//! use ciphermill_math::ntt::reference;
//!
//! // (1 + X)·X^3 = −1 + X^3 modulo X^4 + 1, by the schoolbook and by the transform.
//! let (a, b) = ([1, 1, 0, 0], [0, 0, 0, 1]);
//! let product = reference::negacyclic_product(&a, &b);
//! assert_eq!(product, [0xffff_ffff_0000_0000, 0, 0, 1]);
//! assert_eq!(reference::negacyclic_product_by_ntt(&a, &b), product);
//! ```

use crate::goldilocks::{add, inverse, mul, pow, primitive_root_2n, root_of_unity, sub};
use crate::modulus::Modulus;

/// The arithmetic of the definitions below, which are written once over it.
trait Field: Copy {
    fn add(self, a: u64, b: u64) -> u64;
    fn sub(self, a: u64, b: u64) -> u64;
    fn mul(self, a: u64, b: u64) -> u64;
    fn pow(self, base: u64, exponent: u64) -> u64;
    fn inverse(self, a: u64) -> Option<u64>;
    fn primitive_root_2n(self, polynomial_size: usize) -> Option<u64>;
    fn root_of_unity(self, log_order: u32) -> Option<u64>;

    fn psi(self, polynomial_size: usize) -> u64 {
        self.primitive_root_2n(polynomial_size)
            .expect("the length N of a polynomial is a power of two, 2N divides p - 1")
    }

    fn omega(self, polynomial_size: usize) -> u64 {
        assert!(polynomial_size.is_power_of_two(), "the length N of a polynomial is a power of two");
        self.root_of_unity(polynomial_size.trailing_zeros()).expect("N divides p - 1")
    }

    fn inverse_of(self, x: u64) -> u64 {
        self.inverse(x).expect("roots of unity and powers of two are not zero modulo p")
    }
}

#[derive(Clone, Copy)]
struct Goldilocks;

impl Field for Goldilocks {
    fn add(self, a: u64, b: u64) -> u64 {
        add(a, b)
    }

    fn sub(self, a: u64, b: u64) -> u64 {
        sub(a, b)
    }

    fn mul(self, a: u64, b: u64) -> u64 {
        mul(a, b)
    }

    fn pow(self, base: u64, exponent: u64) -> u64 {
        pow(base, exponent)
    }

    fn inverse(self, a: u64) -> Option<u64> {
        inverse(a)
    }

    fn primitive_root_2n(self, polynomial_size: usize) -> Option<u64> {
        primitive_root_2n(polynomial_size)
    }

    fn root_of_unity(self, log_order: u32) -> Option<u64> {
        root_of_unity(log_order)
    }
}

impl Field for Modulus {
    fn add(self, a: u64, b: u64) -> u64 {
        Modulus::add(self, a, b)
    }

    fn sub(self, a: u64, b: u64) -> u64 {
        Modulus::sub(self, a, b)
    }

    fn mul(self, a: u64, b: u64) -> u64 {
        Modulus::mul(self, a, b)
    }

    fn pow(self, base: u64, exponent: u64) -> u64 {
        Modulus::pow(self, base, exponent)
    }

    fn inverse(self, a: u64) -> Option<u64> {
        Modulus::inverse(self, a)
    }

    fn primitive_root_2n(self, polynomial_size: usize) -> Option<u64> {
        Modulus::primitive_root_2n(self, polynomial_size)
    }

    fn root_of_unity(self, log_order: u32) -> Option<u64> {
        Modulus::root_of_unity(self, log_order)
    }
}

/// The `bits` lowest bits of `index` in reverse order.
pub fn bit_reverse(index: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - bits) }
}

/// The definitions, over any field. The public functions document them.
mod generic {
    use super::{Field, bit_reverse};

    pub(super) fn evaluate_at_odd_powers(field: impl Field, coefficients: &[u64]) -> Vec<u64> {
        let psi = field.psi(coefficients.len());
        (0..coefficients.len() as u64).map(|i| value_at(field, coefficients, field.pow(psi, 2 * i + 1))).collect()
    }

    pub(super) fn evaluate_at_powers(field: impl Field, coefficients: &[u64]) -> Vec<u64> {
        let omega = field.omega(coefficients.len());
        (0..coefficients.len() as u64).map(|i| value_at(field, coefficients, field.pow(omega, i))).collect()
    }

    fn value_at(field: impl Field, coefficients: &[u64], x: u64) -> u64 {
        coefficients.iter().rev().fold(0, |value, &c| field.add(field.mul(value, x), c))
    }

    pub(super) fn negacyclic_product(field: impl Field, a: &[u64], b: &[u64]) -> Vec<u64> {
        product(field, a, b, |slot, term| field.sub(slot, term))
    }

    pub(super) fn cyclic_product(field: impl Field, a: &[u64], b: &[u64]) -> Vec<u64> {
        product(field, a, b, |slot, term| field.add(slot, term))
    }

    /// The schoolbook product; `wrap` adds the terms whose exponent is N or more.
    fn product(field: impl Field, a: &[u64], b: &[u64], wrap: impl Fn(u64, u64) -> u64) -> Vec<u64> {
        assert_eq!(a.len(), b.len());
        let n = a.len();
        let mut product = vec![0; n];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let term = field.mul(x, y);
                let slot = &mut product[(i + j) % n];
                *slot = if i + j < n { field.add(*slot, term) } else { wrap(*slot, term) };
            }
        }
        product
    }

    pub(super) fn twiddles(field: impl Field, psi: u64, polynomial_size: usize) -> Vec<u64> {
        let bits = polynomial_size.trailing_zeros();
        let mut table = vec![0; polynomial_size];
        let mut power = 1;
        for j in 0..polynomial_size {
            table[bit_reverse(j, bits)] = power;
            power = field.mul(power, psi);
        }
        table
    }

    pub(super) fn forward(field: impl Field, values: &mut [u64]) {
        let n = values.len();
        let table = twiddles(field, field.psi(n), n);
        let mut blocks = 1;
        while blocks < n {
            let t = n / (2 * blocks);
            for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
                let (low, high) = block.split_at_mut(t);
                for (x, y) in low.iter_mut().zip(high) {
                    let product = field.mul(*y, table[blocks + i]);
                    (*x, *y) = (field.add(*x, product), field.sub(*x, product));
                }
            }
            blocks *= 2;
        }
    }

    pub(super) fn inverse_unnormalised(field: impl Field, values: &mut [u64]) {
        let n = values.len();
        let table = twiddles(field, field.inverse_of(field.psi(n)), n);
        let mut blocks = n / 2;
        while blocks > 0 {
            let t = n / (2 * blocks);
            for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
                let (low, high) = block.split_at_mut(t);
                for (x, y) in low.iter_mut().zip(high) {
                    (*x, *y) = (field.add(*x, *y), field.mul(field.sub(*x, *y), table[blocks + i]));
                }
            }
            blocks /= 2;
        }
    }

    pub(super) fn normalise(field: impl Field, values: &mut [u64]) {
        let factor = field.pow(field.inverse_of(2), values.len().trailing_zeros().into());
        for value in values {
            *value = field.mul(*value, factor);
        }
    }

    pub(super) fn negacyclic_product_by_ntt(field: impl Field, a: &[u64], b: &[u64]) -> Vec<u64> {
        assert_eq!(a.len(), b.len());
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        forward(field, &mut a);
        forward(field, &mut b);
        for (x, &y) in a.iter_mut().zip(&b) {
            *x = field.mul(*x, y);
        }
        inverse_unnormalised(field, &mut a);
        normalise(field, &mut a);
        a
    }
}

/// a(ψ^(2i+1)) for i = 0 … N−1, by Horner's rule.
pub fn evaluate_at_odd_powers(coefficients: &[u64]) -> Vec<u64> {
    generic::evaluate_at_odd_powers(Goldilocks, coefficients)
}

/// The product modulo X^N + 1 by N² multiplications.
pub fn negacyclic_product(a: &[u64], b: &[u64]) -> Vec<u64> {
    generic::negacyclic_product(Goldilocks, a, b)
}

/// a(ω^i) for i = 0 … N−1 by Horner's rule, with ω the root of order N of the family of ψ: the cyclic transform, in
/// natural order.
pub fn evaluate_at_powers(coefficients: &[u64]) -> Vec<u64> {
    generic::evaluate_at_powers(Goldilocks, coefficients)
}

/// The product modulo X^N − 1 by N² multiplications.
pub fn cyclic_product(a: &[u64], b: &[u64]) -> Vec<u64> {
    generic::cyclic_product(Goldilocks, a, b)
}

/// ψ^bit_reverse(k) for k = 0 … N−1: the twiddle factor of block i at a level of m blocks is entry m + i.
pub fn twiddles(psi: u64, polynomial_size: usize) -> Vec<u64> {
    generic::twiddles(Goldilocks, psi, polynomial_size)
}

/// Forward transform in place: natural order in; entry i out is a(ψ^(2·bit_reverse(i)+1)).
///
/// Block i of a level with m blocks holds a polynomial modulo X^(2t) − z². The level replaces it by its residues modulo
/// X^t − z and X^t + z, where z is entry m + i of [`twiddles`].
pub fn forward(values: &mut [u64]) {
    generic::forward(Goldilocks, values);
}

/// Inverse of [`forward`] in place, up to a factor N, by which [`normalise`] divides.
pub fn inverse_unnormalised(values: &mut [u64]) {
    generic::inverse_unnormalised(Goldilocks, values);
}

/// Multiplies every entry by 1/N mod p, where N is the length.
pub fn normalise(values: &mut [u64]) {
    generic::normalise(Goldilocks, values);
}

/// The product modulo X^N + 1 by the golden pair: two [`forward`], a pointwise product, [`inverse_unnormalised`],
/// [`normalise`].
pub fn negacyclic_product_by_ntt(a: &[u64], b: &[u64]) -> Vec<u64> {
    generic::negacyclic_product_by_ntt(Goldilocks, a, b)
}

/// The same definitions over any [`Modulus`], with ψ = [`Modulus::primitive_root_2n`] and ω =
/// [`Modulus::root_of_unity`]`(log2 N)`.
pub mod prime {
    use super::{Modulus, generic};

    /// See [`super::evaluate_at_odd_powers`].
    pub fn evaluate_at_odd_powers(modulus: Modulus, coefficients: &[u64]) -> Vec<u64> {
        generic::evaluate_at_odd_powers(modulus, coefficients)
    }

    /// See [`super::negacyclic_product`].
    pub fn negacyclic_product(modulus: Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
        generic::negacyclic_product(modulus, a, b)
    }

    /// See [`super::evaluate_at_powers`].
    pub fn evaluate_at_powers(modulus: Modulus, coefficients: &[u64]) -> Vec<u64> {
        generic::evaluate_at_powers(modulus, coefficients)
    }

    /// See [`super::cyclic_product`].
    pub fn cyclic_product(modulus: Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
        generic::cyclic_product(modulus, a, b)
    }

    /// See [`super::twiddles`].
    pub fn twiddles(modulus: Modulus, psi: u64, polynomial_size: usize) -> Vec<u64> {
        generic::twiddles(modulus, psi, polynomial_size)
    }

    /// See [`super::forward`].
    pub fn forward(modulus: Modulus, values: &mut [u64]) {
        generic::forward(modulus, values);
    }

    /// See [`super::inverse_unnormalised`].
    pub fn inverse_unnormalised(modulus: Modulus, values: &mut [u64]) {
        generic::inverse_unnormalised(modulus, values);
    }

    /// See [`super::normalise`].
    pub fn normalise(modulus: Modulus, values: &mut [u64]) {
        generic::normalise(modulus, values);
    }

    /// See [`super::negacyclic_product_by_ntt`].
    pub fn negacyclic_product_by_ntt(modulus: Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
        generic::negacyclic_product_by_ntt(modulus, a, b)
    }
}

/// The forward transform as printed for the NVMe-TFHE platform (its Fig. 5, Appendix A.1.1): Gentleman–Sande
/// butterflies (f_j + f_(j+n/2), (f_j − f_(j+n/2))·ψ_n·w_n^j), natural order in, bit-reversed order out.
///
/// It computes ψ^i·Σ_j f_j·w^(ij). The factor ψ^i belongs to the *output*, so this is the transpose of the negacyclic
/// transform Σ_j ψ^j·f_j·w^(ij), and its pointwise products are not negacyclic products.
pub fn paper_forward(values: &mut [u64]) {
    let n = values.len();
    let mut length = n;
    while length > 1 {
        let psi = Goldilocks.psi(length);
        let omega = mul(psi, psi);
        for block in values.chunks_exact_mut(length) {
            let (low, high) = block.split_at_mut(length / 2);
            let mut twiddle = psi;
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = (add(*x, *y), mul(sub(*x, *y), twiddle));
                twiddle = mul(twiddle, omega);
            }
        }
        length /= 2;
    }
}

/// The inverse as printed for the NVMe-TFHE platform (its Fig. 5, Appendix A.1.2), without the factor 1/N: Cooley–Tukey
/// butterflies (A_j + ψ_n^-1·w_n^-j·B_j, A_j − ψ_n^-1·w_n^-j·B_j), bit-reversed order in, natural order out.
pub fn paper_inverse(values: &mut [u64]) {
    let n = values.len();
    let mut length = 2;
    while length <= n {
        let psi = Goldilocks.inverse_of(Goldilocks.psi(length));
        let omega = mul(psi, psi);
        for block in values.chunks_exact_mut(length) {
            let (low, high) = block.split_at_mut(length / 2);
            let mut twiddle = psi;
            for (x, y) in low.iter_mut().zip(high) {
                let product = mul(*y, twiddle);
                (*x, *y) = (add(*x, product), sub(*x, product));
                twiddle = mul(twiddle, omega);
            }
        }
        length *= 2;
    }
}
