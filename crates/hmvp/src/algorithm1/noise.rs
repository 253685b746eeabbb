//! The noise of algorithm 1.
//!
//! With N, t, the ciphertext modulus Q and the special modulus P, σ² the variance of a fresh encryption's noise (its
//! encoding's rounding included) and |a| a bound of the matrix entries, the variance of an entry is
//!
//! | after | variance, of integers modulo | |
//! | --- | --- | --- |
//! | the product (stage 3) | V_1 = n·|a|²·σ², Q·P | n errors, times an entry each |
//! | the division by P (stage 4) | V_2 = V_1/P² + (1 + 2N/3)/12, Q | and the roundings of c_0 and of c_1, times s |
//! | packing 2^l rows | V_3 = V_2 + V_KS·(4^l − 1)/3, Q | |
//!
//! The packing multiplies an input by 2^l, and so do the inverses of 2^l by which the inputs are multiplied beforehand
//! divide it: exactly, modulo Q. A key switch at level j adds noise of variance V_KS ([`key_switch_variance`]) to every
//! coefficient. Each of the l − j levels above doubles that noise at the places of entries, because its automorphism
//! fixes them, or negates them with the sign of the sum: Σ_j 4^(l−j)·V_KS in total. Elsewhere two halves cancel.
//!
//! An entry is wrong if its noise is Q/(2t) or more in magnitude; with noise taken as Gaussian
//! [`log2_failure`](ciphermill_bfv::noise::log2_failure) bounds the probability that any entry is.
//!
//! The paper says that the division takes the noise "from 30 bits to 26". At the moduli of `CHAM_PAPER` with 8-bit entries
//! and 256 columns V_1 is (2^11.9)² for uniform entries, and V_2 (2^3.9)² whatever the entries are: P takes away all but the
//! roundings.

use crate::Operands;
use ciphermill_bfv::noise::{key_switch_variance, rounding_variance};
use ciphermill_bfv::parameters::ParameterSpec;

/// V_1, for `cols` columns of entries whose mean square is `square`.
pub(super) fn product_variance(spec: &ParameterSpec, operands: &Operands, cols: usize, square: f64) -> f64 {
    cols as f64 * square * operands.vector_variance(spec)
}

/// V_2 of V_1.
pub(super) fn divided_variance(spec: &ParameterSpec, product: f64) -> f64 {
    let special: f64 = spec.special_moduli.iter().map(|&p| p as f64).product();
    product / (special * special) + rounding_variance(spec.polynomial_size.get() as f64)
}

/// V_3 of V_2, for l = `levels`.
pub(super) fn packed_variance(spec: &ParameterSpec, divided: f64, levels: u32) -> f64 {
    let switch = key_switch_variance(spec, spec.gadget, spec.ciphertext_moduli.len());
    divided + switch * (4f64.powi(levels as i32) - 1.0) / 3.0
}

/// V_3 for entries of the greatest magnitude everywhere.
pub(super) fn greatest_variance(spec: &ParameterSpec, operands: &Operands, cols: usize, levels: u32) -> f64 {
    let square = 4f64.powi(operands.matrix_bits as i32 - 1);
    packed_variance(spec, divided_variance(spec, product_variance(spec, operands, cols, square)), levels)
}
