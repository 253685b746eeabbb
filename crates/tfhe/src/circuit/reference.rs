//! The stages from a digit to its selectors, by their definitions: schoolbook products modulo q, nothing fused.

use zeroize::Zeroizing;

use super::integer::{Remainder, Split};
use super::{FUNCTIONS, GrayBit, SPLIT_FUNCTIONS, key::ConversionKey};
use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};
use crate::error::{TfheError, require_equal};
use crate::ggsw::{GgswCiphertext, GgswShape, gadget_element};
use crate::glwe::GlweCiphertext;
use crate::keyswitch::LweKeyswitchKey;
use crate::lwe::LweCiphertext;
use crate::modulus_switch::ModulusSwitch;
use crate::reference;

/// p(X^exponent) modulo X^N + 1, for an odd exponent below 2N.
#[must_use]
pub fn automorphism(polynomial: &[u64], exponent: usize) -> Vec<u64> {
    let n = polynomial.len();
    let mut out = vec![0; n];
    for (i, &x) in polynomial.iter().enumerate() {
        let to = i * exponent % (2 * n);
        if to < n {
            out[to] = x;
        } else {
            out[to - n] = x.wrapping_neg();
        }
    }
    out
}

/// The exponents of a digit's rotation, modulo 2N: those of the centred switch modulo 2N/4, times 4. So each coefficient keeps its
/// function.
///
/// # Errors
/// If N is below 64.
pub fn exponents(digit: &LweCiphertext<u32>, size: PolynomialSize) -> Result<Vec<usize>, TfheError> {
    let coarse = PolynomialSize::try_from(size.get() / FUNCTIONS).map_err(TfheError::transform)?;
    let exponents = reference::modulus_switch(ModulusSwitch::Centred, digit, coarse);
    Ok(exponents.into_iter().map(|exponent| FUNCTIONS * exponent).collect())
}

/// Half of the torus element that encodes 1 in a selector's row at a level. A rotation looks it up with the sign of the bit.
fn half_gadget(selector: Decomposition, level: usize) -> u64 {
    gadget_element::<u64>(selector, level) / 2
}

/// The bit of each function, and its level, which counts from 1; in the order of their coefficients.
pub(crate) fn functions() -> impl Iterator<Item = (GrayBit, usize)> {
    GrayBit::BOTH.into_iter().flat_map(|bit| [1, 2].map(|level| (bit, level)))
}

/// The polynomial that a digit rotates. Coefficient 4e + c is ±½·q/B^j for function c = (bit, level j), with the sign of the bit
/// of the digit whose phases contain e/(N/2).
///
/// # Errors
/// Never for a size on offer.
pub fn vector(
    selector: Decomposition,
    dimension: GlweDimension,
    size: PolynomialSize,
) -> Result<GlweCiphertext<u64>, TfheError> {
    // N/4 steps are half a turn, and a digit's place is in the middle of its N/8 steps.
    let steps = size.get() / FUNCTIONS;
    let coefficients = (0..steps).flat_map(|step| {
        let digit = ((4 * step + steps) / (2 * steps)) as u8;
        functions().map(move |(bit, level)| match bit.of(digit) {
            0 => half_gadget(selector, level).wrapping_neg(),
            _ => half_gadget(selector, level),
        })
    });
    GlweCiphertext::trivial(&coefficients.collect::<Vec<_>>(), dimension, size)
}

/// The LWE ciphertexts, under the big key, of the bits of a rotated digit: bit·q/B^j for each function.
///
/// # Errors
/// Never for a size on offer.
pub fn extract_bits(
    rotated: &GlweCiphertext<u64>,
    selector: Decomposition,
) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
    let extract = |(degree, (_, level))| extract_raised(rotated, degree, half_gadget(selector, level));
    functions().enumerate().map(extract).collect()
}

/// The coefficient of a degree, raised by a constant: ±½ of a weight becomes 0 or the weight.
fn extract_raised(rotated: &GlweCiphertext<u64>, degree: usize, half: u64) -> Result<LweCiphertext<u64>, TfheError> {
    let mut bit = rotated.extract(degree)?;
    let body = bit.dimension().0;
    let elements = bit.elements_mut();
    elements[body] = elements[body].wrapping_add(half);
    Ok(bit)
}

/// A GLWE ciphertext whose phase has the constant coefficient φ/N' modulo q/N', for an LWE ciphertext of dimension N' and phase
/// φ. Every element is rounded to a multiple of N' and divided by it.
///
/// # Errors
/// If the dimension is not N'.
pub fn ring_switch(input: &LweCiphertext<u64>, size: PolynomialSize) -> Result<GlweCiphertext<u64>, TfheError> {
    let n = size.get();
    require_equal("LWE dimension of the ciphertext", input.dimension().0, n)?;
    let log_n = n.trailing_zeros();
    let divided = |x: u64| ((u128::from(x) + n as u128 / 2) >> log_n) as u64;
    let mut data = vec![0; 2 * n];
    for (i, &a) in input.mask().iter().enumerate() {
        // The constant coefficient of A·S' is A_0·s_0 − Σ_(i>0) A_(N'−i)·s_i.
        match i {
            0 => data[0] = divided(a),
            _ => data[n - i] = divided(a).wrapping_neg(),
        }
    }
    data[n] = divided(input.body());
    GlweCiphertext::from_coefficients(data, size)
}

/// Σ_j digit_j(polynomial)·row_j.
fn combine(
    rows: &[u64],
    decomposition: Decomposition,
    polynomial: &[u64],
    out: &mut GlweCiphertext<u64>,
) -> Result<(), TfheError> {
    let n = polynomial.len();
    let decomposer = decomposition.decomposer::<u64>()?;
    for (row, level) in rows.chunks_exact(2 * n).zip(1..) {
        let digits: Vec<i64> = polynomial.iter().map(|&x| decomposer.digit(x, level)).collect();
        for (row, sum) in row.chunks_exact(n).zip(out.coefficients_mut().chunks_exact_mut(n)) {
            reference::add_product(&digits, row, sum);
        }
    }
    Ok(())
}

/// The trace: clears every coefficient of the phase but the constant one, and multiplies that by N'.
///
/// # Errors
/// If the ciphertext is not of the key's ring, or a gadget does not fit 64 bits.
pub fn trace(key: &ConversionKey, input: &GlweCiphertext<u64>) -> Result<GlweCiphertext<u64>, TfheError> {
    let shape = key.shape();
    require_equal("coefficients of the ciphertext", input.coefficients().len(), 2 * shape.polynomial_size.get())?;
    let mut sum = input.clone();
    for index in 0..shape.automorphisms() {
        let exponent = shape.exponent(index);
        let mask = automorphism(sum.mask(), exponent);
        let body = automorphism(sum.body(), exponent);
        let mut image = GlweCiphertext::trivial(&body, GlweDimension(1), shape.polynomial_size)?;
        combine(key.automorphism_rows(index), shape.trace, &mask, &mut image)?;
        sum.add_assign(&image)?;
    }
    Ok(sum)
}

/// A ciphertext of −S'·m, for one of m: (b, 0) + Σ_j digit_j(a)·row_j, whose phase is −b·S' + a·S'².
///
/// # Errors
/// If the ciphertext is not of the key's ring, or a gadget does not fit 64 bits.
pub fn scheme_switch(key: &ConversionKey, input: &GlweCiphertext<u64>) -> Result<GlweCiphertext<u64>, TfheError> {
    let shape = key.shape();
    let n = shape.polynomial_size.get();
    require_equal("coefficients of the ciphertext", input.coefficients().len(), 2 * n)?;
    let mut data = input.body().to_vec();
    data.resize(2 * n, 0);
    let mut out = GlweCiphertext::from_coefficients(data, shape.polynomial_size)?;
    combine(key.square_rows(), shape.square, input.mask(), &mut out)?;
    Ok(out)
}

/// The shape of a selector.
pub(crate) fn selector_shape(size: PolynomialSize, selector: Decomposition) -> GgswShape {
    GgswShape { glwe_dimension: GlweDimension(1), polynomial_size: size, decomposition: selector }
}

/// The selectors of a digit, in the order of [`GrayBit::BOTH`], from a bootstrapping key and a conversion key.
///
/// # Errors
/// If the keys or the digit are not of one parameter set.
pub fn selectors(
    bootstrap: &[GgswCiphertext<u64>],
    conversion: &ConversionKey,
    selector: Decomposition,
    digit: &LweCiphertext<u32>,
) -> Result<[GgswCiphertext<u64>; 2], TfheError> {
    let rotation = bootstrap.first().map(GgswCiphertext::shape);
    let rotation = rotation.ok_or(TfheError::Mismatch { what: "ciphertexts of the key", given: 0, expected: 1 })?;
    require_equal("LWE dimension of the digit", digit.dimension().0, bootstrap.len())?;
    require_equal("levels of the selectors", selector.level_count.0, 2)?;
    let exponents = exponents(digit, rotation.polynomial_size)?;
    let vector = vector(selector, rotation.glwe_dimension, rotation.polynomial_size)?;
    let (mask, body) = exponents.split_at(bootstrap.len());
    let rotated = reference::blind_rotate(bootstrap, mask, body[0], &vector)?;
    let size = conversion.shape().polynomial_size;
    let shape = selector_shape(size, selector);
    let mut selectors = Vec::with_capacity(2);
    for levels in extract_bits(&rotated, selector)?.chunks_exact(2) {
        let rows = levels.iter().map(|bit| trace(conversion, &ring_switch(bit, size)?));
        let rows = rows.collect::<Result<Vec<_>, TfheError>>()?;
        let switched = rows.iter().map(|row| scheme_switch(conversion, row)).collect::<Result<Vec<_>, _>>()?;
        let data = switched.iter().chain(&rows).flat_map(|row| row.coefficients().iter().copied()).collect();
        selectors.push(GgswCiphertext::from_coefficients(data, shape)?);
    }
    let [sum, high] = selectors.try_into().expect("two bits");
    Ok([sum, high])
}

/// The exponents of the rotation of a bit at half a turn, modulo 2N: those of the centred switch modulo 2N/2, times 2.
///
/// # Errors
/// If N is below 32.
pub fn split_exponents(bit: &LweCiphertext<u32>, size: PolynomialSize) -> Result<Vec<usize>, TfheError> {
    split_exponents_by(size, |coarse| reference::modulus_switch(ModulusSwitch::Centred, bit, coarse))
}

/// The same, with the exponents that `switch` returns for the polynomial size N/2.
pub(crate) fn split_exponents_by(
    size: PolynomialSize,
    switch: impl FnOnce(PolynomialSize) -> Vec<usize>,
) -> Result<Vec<usize>, TfheError> {
    let coarse = PolynomialSize::try_from(size.get() / SPLIT_FUNCTIONS).map_err(TfheError::transform)?;
    Ok(switch(coarse).into_iter().map(|exponent| SPLIT_FUNCTIONS * exponent).collect())
}

/// The polynomial that a bit rotates. Coefficient 2e + c is ±½ of weight c, with the sign of the bit whose phases contain
/// e/N.
///
/// # Errors
/// Never for a size on offer.
pub(crate) fn split_vector(
    weights: [u64; SPLIT_FUNCTIONS],
    dimension: GlweDimension,
    size: PolynomialSize,
) -> Result<GlweCiphertext<u64>, TfheError> {
    // N/2 steps are half a turn; a bit of 1 is at the end of them, and has the second half.
    let steps = size.get() / SPLIT_FUNCTIONS;
    let coefficients = (0..steps)
        .flat_map(|step| weights.map(|weight| if step < steps / 2 { (weight / 2).wrapping_neg() } else { weight / 2 }));
    GlweCiphertext::trivial(&coefficients.collect::<Vec<_>>(), dimension, size)
}

/// The LWE ciphertexts, under the big key, of a rotated bit in each of its weights.
///
/// # Errors
/// Never for a size on offer.
pub(crate) fn split_bits(
    rotated: &GlweCiphertext<u64>,
    weights: [u64; SPLIT_FUNCTIONS],
) -> Result<[LweCiphertext<u64>; SPLIT_FUNCTIONS], TfheError> {
    let extract = |degree: usize| extract_raised(rotated, degree, weights[degree] / 2);
    Ok([extract(0)?, extract(1)?])
}

/// The digits, under the big key, of the word of an integer under the big key.
///
/// # Errors
/// If the keys or the integer are not of one parameter set.
pub fn split(
    bootstrap: &[GgswCiphertext<u64>],
    keyswitch: &LweKeyswitchKey,
    split: Split,
    integer: &LweCiphertext<u64>,
) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
    let rotation = bootstrap.first().map(GgswCiphertext::shape);
    let rotation = rotation.ok_or(TfheError::Mismatch { what: "ciphertexts of the key", given: 0, expected: 1 })?;
    let mut remainder = Remainder::new(split, integer);
    for bit in 0..split.bits() {
        let switched = reference::keyswitch(keyswitch, &remainder.scaled(bit))?;
        let exponents = split_exponents(&switched, rotation.polynomial_size)?;
        let (mask, body) = exponents.split_at(bootstrap.len());
        let vector = split_vector(split.weights(bit), rotation.glwe_dimension, rotation.polynomial_size)?;
        let rotated = reference::blind_rotate(bootstrap, mask, body[0], &vector)?;
        remainder.take(bit, &split_bits(&rotated, split.weights(bit))?)?;
    }
    Ok(remainder.into_digits())
}

/// The product of the key and a polynomial: S'·p.
///
/// # Panics
/// If the polynomial is not of the key's size.
#[must_use]
pub fn times_key(key: &crate::glwe::GlweSecretKey, polynomial: &[u64]) -> Vec<u64> {
    let bits: Zeroizing<Vec<i64>> = Zeroizing::new(key.bits().iter().map(|&bit| i64::from(bit)).collect());
    let mut product = vec![0; polynomial.len()];
    reference::add_product(&bits, polynomial, &mut product);
    product
}
