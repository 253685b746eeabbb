//! The noise model against measurement.

use ciphermill_math::Isa;

use super::support::{INSECURE, Kind, LIMBS, Matrix, Parties, Random, parameters, slot_modulus};
use crate::{Encryption, Operands};
use ciphermill_bfv::noise::log2_bound;
use ciphermill_bfv::parameters::ParameterSet;

const OPERANDS: Operands = Operands { matrix_bits: 8, encryption: Encryption::Secret, summands: 1 };

/// Root mean square over all coefficients and the greatest magnitude of several runs; the model's standard deviation.
fn measure(parameters: &ParameterSet, kind: Kind, matrix: &Matrix, seeds: std::ops::Range<u8>) -> (f64, f64, f64) {
    let (rows, cols) = (matrix.len(), matrix[0].len());
    let (mut squares, mut count, mut greatest, mut model) = (0.0, 0usize, 0f64, 0.0);
    for seed in seeds {
        let mut parties = Parties::new(parameters, Isa::best(), kind, rows, cols, seed);
        let vector = parties.encrypt(&Random(seed.into()).vector(cols, 8));
        let prepared = parties.prepare(0, matrix);
        for ciphertext in &parties.multiply(0, &[prepared], &[vector])[0][0] {
            for noise in parties.noise(ciphertext) {
                squares += noise * noise;
                count += 1;
                greatest = greatest.max(noise.abs());
            }
        }
        model = parties.algorithm.noise_std_dev(&OPERANDS);
    }
    ((squares / count as f64).sqrt(), greatest, model)
}

/// For random entries the model exceeds the root mean square by √3 for the size of coefficients, √D for products of the
/// same error, and √W for the coefficients other than the worst: with D·W = width, by √(3·width).
#[test]
fn the_model_bounds_what_is_measured() {
    let n = 1024;
    let parameters = parameters(n, &[40, 40], &[45], slot_modulus(n, 1 << 24), LIMBS, INSECURE);
    for kind in [Kind::RotateAndSum, Kind::Fixed(4, 4), Kind::Fixed(16, 4), Kind::Fixed(64, 8), Kind::Fixed(64, 1)] {
        let matrix = Random(5).matrix(128, 64, 8);
        let (rms, greatest, model) = measure(&parameters, kind, &matrix, 0..4);
        let expected = model / (3.0f64 * 64.0).sqrt();
        assert!((0.8..1.25).contains(&(rms / expected)), "{kind:?}: {rms:.3e} measured, {expected:.3e} expected");
        // No more than 16 ciphertexts in each run.
        let limit = log2_bound(model, -30.0, 4.0 * 16.0 * n as f64).exp2();
        assert!(greatest < limit, "{kind:?}: at most {greatest:.3e}, limit {limit:.3e}");
    }
}

/// One product with a plaintext whose coefficients all have the greatest magnitude: nothing is left to chance.
#[test]
fn the_model_is_reached() {
    let n = 1024;
    let parameters = parameters(n, &[40, 40], &[45], slot_modulus(n, 1 << 24), LIMBS, INSECURE);
    let t = parameters.plaintext_modulus;
    let parties = Parties::new(&parameters, Isa::best(), Kind::RotateAndSum, n, 1, 0);
    let worst = parties.context.plaintext(vec![t / 2; n]).expect("below t");
    let slots = ciphermill_bfv::encoding::BatchEncoder::new(&parties.context).expect("slots").decode(&worst);
    let matrix: Matrix = slots.into_iter().map(|entry| vec![entry]).collect();
    let (rms, _, model) = measure(&parameters, Kind::RotateAndSum, &matrix, 0..8);
    assert!((0.5..1.5).contains(&(rms / model)), "{rms:.3e} measured, {model:.3e} by the model");
}
