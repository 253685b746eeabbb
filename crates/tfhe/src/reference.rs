//! The plain definitions: schoolbook products modulo q, nothing fused, nothing transformed.
//!
//! Every fast path of this crate is compared with these functions. They cost O(N²) per product: half a second for one at
//! N = 16384.

use ciphermill_lattice::{Torus, rotate};

use crate::error::{TfheError, require_equal};
use crate::ggsw::GgswCiphertext;
use crate::glwe::GlweCiphertext;
use crate::keyswitch::LweKeyswitchKey;
use crate::lwe::LweCiphertext;

/// Adds the negacyclic product of an integer polynomial and a torus polynomial to `out`.
pub fn add_product<T: Torus>(integers: &[i64], torus: &[T], out: &mut [T]) {
    let n = out.len();
    assert!(integers.len() == n && torus.len() == n);
    for (i, &d) in integers.iter().enumerate() {
        let d = T::from_signed_i64(d);
        // X^N = −1: the upper part of the product with X^i wraps around and changes its sign.
        let (lower, upper) = torus.split_at(n - i);
        for (o, &t) in out[i..].iter_mut().zip(lower) {
            *o = o.wrapping_add(d.wrapping_mul(t));
        }
        for (o, &t) in out[..i].iter_mut().zip(upper) {
            *o = o.wrapping_sub(d.wrapping_mul(t));
        }
    }
}

/// External product of a GGSW and a GLWE ciphertext: Σ_(c,j) digit_j(glwe_c) · row_(c,j), an encryption of μ times the
/// message (Chillotti, Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus", 2020).
///
/// # Errors
/// If the decomposition of the GGSW does not fit the torus.
pub fn external_product<T: Torus>(
    ggsw: &GgswCiphertext<T>,
    glwe: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let shape = ggsw.shape();
    let n = shape.polynomial_size.get();
    let levels = shape.decomposition.level_count.0;
    let decomposer = shape.decomposition.decomposer::<T>()?;
    let mut out = vec![T::ZERO; shape.row_len()];
    for (r, row) in ggsw.coefficients().chunks_exact(shape.row_len()).enumerate() {
        let (component, level) = (r / levels, r % levels + 1);
        let digits: Vec<i64> =
            glwe.coefficients()[component * n..][..n].iter().map(|&x| decomposer.digit(x, level)).collect();
        for (polynomial, sum) in row.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            add_product(&digits, polynomial, sum);
        }
    }
    GlweCiphertext::from_coefficients(out, shape.polynomial_size)
}

/// CMux: `if_zero` + μ·(`if_one` − `if_zero`), for the bit μ that `selector` encrypts.
///
/// # Errors
/// As [`external_product`].
pub fn cmux<T: Torus>(
    selector: &GgswCiphertext<T>,
    if_zero: &GlweCiphertext<T>,
    if_one: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let mut difference = if_one.clone();
    difference.sub_assign(if_zero)?;
    let mut out = external_product(selector, &difference)?;
    out.add_assign(if_zero)?;
    Ok(out)
}

/// X^exponent · glwe, 0 ≤ exponent < 2N.
pub fn rotate_glwe<T: Torus>(glwe: &GlweCiphertext<T>, exponent: usize) -> GlweCiphertext<T> {
    let n = glwe.polynomial_size().get();
    let mut out = glwe.clone();
    for (source, target) in glwe.coefficients().chunks_exact(n).zip(out.coefficients_mut().chunks_exact_mut(n)) {
        target.copy_from_slice(&rotate::reference::rotate(source, exponent));
    }
    out
}

/// Blind rotation: X^(−b + Σ a_i s_i) · `accumulator`, for a mask and body already reduced modulo 2N.
///
/// # Errors
/// As [`external_product`].
pub fn blind_rotate<T: Torus>(
    key: &[GgswCiphertext<T>],
    mask: &[usize],
    body: usize,
    accumulator: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let order = 2 * accumulator.polynomial_size().get();
    let mut acc = rotate_glwe(accumulator, (order - body) % order);
    for (ggsw, &a) in key.iter().zip(mask) {
        acc = cmux(ggsw, &acc, &rotate_glwe(&acc, a))?;
    }
    Ok(acc)
}

/// Key switch: (0, …, 0, b) − Σ_i Σ_j digit_j(a_i)·row_(i,j), modulo 2^32.
///
/// # Errors
/// If the dimension is not the key's input dimension, or the decomposition does not fit the torus.
pub fn keyswitch<T: Torus>(key: &LweKeyswitchKey, input: &LweCiphertext<T>) -> Result<LweCiphertext<u32>, TfheError> {
    let shape = key.shape();
    require_equal("LWE dimension of the ciphertext", input.dimension().0, shape.input_dimension.0)?;
    let (size, levels) = (shape.output_dimension.lwe_size(), shape.decomposition.level_count.0);
    let decomposer = shape.decomposition.decomposer::<T>()?;
    let mut out = vec![0u32; size];
    out[size - 1] = u32::from_u64_msb(input.body().to_u64_msb());
    for (r, row) in key.elements().chunks_exact(size).enumerate() {
        let digit = decomposer.digit(input.mask()[r / levels], r % levels + 1) as u32;
        for (o, &x) in out.iter_mut().zip(row) {
            *o = o.wrapping_sub(digit.wrapping_mul(x));
        }
    }
    Ok(LweCiphertext::from_elements(out))
}
