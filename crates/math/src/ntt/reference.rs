//! The plain definitions of the negacyclic transform over the Goldilocks prime.
//!
//! Three of them, each checked against the one before: evaluation at the odd powers of ψ (quadratic), the schoolbook
//! product modulo X^N + 1 (quadratic), and the merged pair of Cooley–Tukey forward and Gentleman–Sande inverse loops,
//! which is the golden model at full size. The algorithms are those of Longa and Naehrig, "Speeding up the number
//! theoretic transform for faster ideal lattice-based cryptography" (CANS 2016), without lazy reduction.
//!
//! [`paper_forward`] and [`paper_inverse`] are the pair that the NVMe-TFHE platform prints; they are here only so that a
//! test can state what they compute.
//!
//! All coefficients are in `[0, p)`. Lengths must be powers of two from 1 to 2^31: anything else is a caller's error
//! and panics.

use crate::goldilocks::{add, inverse, mul, pow, primitive_root_2n, sub};

fn psi(polynomial_size: usize) -> u64 {
    primitive_root_2n(polynomial_size).expect("the length of a polynomial is a power of two up to 2^31")
}

fn inverse_of(x: u64) -> u64 {
    inverse(x).expect("roots of unity and powers of two are not zero modulo p")
}

/// The `bits` lowest bits of `index` in reverse order.
pub fn bit_reverse(index: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - bits) }
}

/// a(ψ^(2i+1)) for i = 0 … N−1, by Horner's rule.
pub fn evaluate_at_odd_powers(coefficients: &[u64]) -> Vec<u64> {
    let psi = psi(coefficients.len());
    (0..coefficients.len() as u64)
        .map(|i| {
            let x = pow(psi, 2 * i + 1);
            coefficients.iter().rev().fold(0, |value, &c| add(mul(value, x), c))
        })
        .collect()
}

/// The product modulo X^N + 1 by N² multiplications.
pub fn negacyclic_product(a: &[u64], b: &[u64]) -> Vec<u64> {
    assert_eq!(a.len(), b.len());
    let n = a.len();
    let mut product = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = mul(x, y);
            let slot = &mut product[(i + j) % n];
            *slot = if i + j < n { add(*slot, term) } else { sub(*slot, term) };
        }
    }
    product
}

/// ψ^bit_reverse(k) for k = 0 … N−1: the twiddle factor of block i at a level of m blocks is entry m + i.
pub fn twiddles(psi: u64, polynomial_size: usize) -> Vec<u64> {
    let bits = polynomial_size.trailing_zeros();
    let mut table = vec![0; polynomial_size];
    let mut power = 1;
    for j in 0..polynomial_size {
        table[bit_reverse(j, bits)] = power;
        power = mul(power, psi);
    }
    table
}

/// Forward transform in place: natural order in; entry i out is a(ψ^(2·bit_reverse(i)+1)).
///
/// Block i of a level with m blocks holds a polynomial modulo X^(2t) − z² and leaves its residues modulo X^t − z and
/// X^t + z, where z is entry m + i of [`twiddles`].
pub fn forward(values: &mut [u64]) {
    let n = values.len();
    let table = twiddles(psi(n), n);
    let mut blocks = 1;
    while blocks < n {
        let t = n / (2 * blocks);
        for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
            let (low, high) = block.split_at_mut(t);
            for (x, y) in low.iter_mut().zip(high) {
                let product = mul(*y, table[blocks + i]);
                (*x, *y) = (add(*x, product), sub(*x, product));
            }
        }
        blocks *= 2;
    }
}

/// Inverse of [`forward`] in place, up to a factor N: divide by it with [`normalise`].
pub fn inverse_unnormalised(values: &mut [u64]) {
    let n = values.len();
    let table = twiddles(inverse_of(psi(n)), n);
    let mut blocks = n / 2;
    while blocks > 0 {
        let t = n / (2 * blocks);
        for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
            let (low, high) = block.split_at_mut(t);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = (add(*x, *y), mul(sub(*x, *y), table[blocks + i]));
            }
        }
        blocks /= 2;
    }
}

/// Multiplies every entry by 1/N mod p, N being the length.
pub fn normalise(values: &mut [u64]) {
    let factor = inverse_of(values.len() as u64);
    for value in values {
        *value = mul(*value, factor);
    }
}

/// The product modulo X^N + 1 by the golden pair: two [`forward`], a pointwise product, [`inverse_unnormalised`],
/// [`normalise`].
pub fn negacyclic_product_by_ntt(a: &[u64], b: &[u64]) -> Vec<u64> {
    assert_eq!(a.len(), b.len());
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    forward(&mut a);
    forward(&mut b);
    for (x, &y) in a.iter_mut().zip(&b) {
        *x = mul(*x, y);
    }
    inverse_unnormalised(&mut a);
    normalise(&mut a);
    a
}

/// The forward transform as the NVMe-TFHE platform prints it (its Fig. 5, Appendix A.1.1): Gentleman–Sande butterflies
/// (f_j + f_(j+n/2), (f_j − f_(j+n/2))·ψ_n·w_n^j), natural order in, bit-reversed order out.
///
/// It computes ψ^i·Σ_j f_j·w^(ij): the factor ψ^i stands on the *output*, so this is the transpose of the negacyclic
/// transform Σ_j ψ^j·f_j·w^(ij), and its pointwise products are not negacyclic products.
pub fn paper_forward(values: &mut [u64]) {
    let n = values.len();
    let mut length = n;
    while length > 1 {
        let psi = psi(length);
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

/// The inverse as the NVMe-TFHE platform prints it (its Fig. 5, Appendix A.1.2), without the factor 1/N: Cooley–Tukey
/// butterflies (A_j + ψ_n^-1·w_n^-j·B_j, A_j − ψ_n^-1·w_n^-j·B_j), bit-reversed order in, natural order out.
pub fn paper_inverse(values: &mut [u64]) {
    let n = values.len();
    let mut length = 2;
    while length <= n {
        let psi = inverse_of(psi(length));
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
