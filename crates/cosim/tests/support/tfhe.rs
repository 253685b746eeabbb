//! A CMux and its rotation from their definitions, modulo p.

use ciphermill_lattice::gadget::ModularDecomposer;
use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount};
use ciphermill_math::goldilocks::{MODULUS, add, mul, neg, sub};
use ciphermill_math::ntt::reference::{forward, inverse_unnormalised};

pub(crate) type Glwe = [Vec<u64>; 2];

/// X^exponent times a polynomial, from the definition.
pub(crate) fn rotated(polynomial: &[u64], exponent: usize) -> Vec<u64> {
    let n = polynomial.len();
    let mut out = vec![0; n];
    for (i, &x) in polynomial.iter().enumerate() {
        let place = (i + exponent) % (2 * n);
        out[place % n] = if place < n { x } else { neg(x) };
    }
    out
}

/// acc + key · digits((X^exponent − 1)·acc), with `levels` digits of `base_log` bits. `key(component, digit)` has the
/// spectra of both columns, with the factor 1/N.
pub(crate) fn cmux<'k>(
    acc: &Glwe,
    exponent: usize,
    (base_log, levels): (usize, usize),
    key: impl Fn(usize, usize) -> [&'k [u64]; 2],
) -> Glwe {
    let n = acc[0].len();
    let decomposer = ModularDecomposer::new(DecompositionBaseLog(base_log), DecompositionLevelCount(levels))
        .expect("a decomposition of 64 bits");
    let mut sums = [vec![0; n], vec![0; n]];
    for (component, polynomial) in acc.iter().enumerate() {
        let turned = rotated(polynomial, exponent);
        let difference: Vec<u64> = turned.iter().zip(polynomial).map(|(&x, &y)| sub(x, y)).collect();
        for digit in 0..levels {
            let value = |&x: &u64| decomposer.digit(x, digit + 1);
            let residue = |d: i64| if d < 0 { MODULUS - d.unsigned_abs() } else { d as u64 };
            let mut spectrum: Vec<u64> = difference.iter().map(value).map(residue).collect();
            forward(&mut spectrum);
            for (sum, factors) in sums.iter_mut().zip(key(component, digit)) {
                for ((sum, &x), &factor) in sum.iter_mut().zip(&spectrum).zip(factors) {
                    *sum = add(*sum, mul(x, factor));
                }
            }
        }
    }
    let mut out = acc.clone();
    for (out, mut sum) in out.iter_mut().zip(sums) {
        inverse_unnormalised(&mut sum);
        out.iter_mut().zip(&sum).for_each(|(x, &y)| *x = add(*x, y));
    }
    out
}
