//! Measured noise compared with the model.

use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use num_traits::ToPrimitive;

use super::super::noise::{divided_variance, packed_variance, product_variance};
use super::support::{Parties, entries, naive, named};
use crate::{Algorithm, Encryption, Operands};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::noise::{log2_bound, log2_failure};
use ciphermill_bfv::parameters::CHAM_PAPER;

/// Statistics of the noise of many entries.
#[derive(Debug)]
struct Sample {
    count: usize,
    std_dev: f64,
    max: f64,
}

impl Sample {
    fn of(noise: &[f64]) -> Self {
        let square = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
        let max = noise.iter().fold(0f64, |max, x| max.max(x.abs()));
        Self { count: noise.len(), std_dev: square.sqrt(), max }
    }

    /// That the standard deviation is within `tolerance` of the model's, and the greatest value below what 2^-40 of all
    /// samples of this size exceed.
    fn check(&self, what: &str, variance: f64, tolerance: f64) {
        let (model, bound) = (variance.sqrt(), log2_bound(variance.sqrt(), -40.0, self.count as f64));
        println!(
            "{what}: standard deviation 2^{:.2} (model 2^{:.2}), greatest 2^{:.2} (bound 2^{bound:.2})",
            self.std_dev.log2(),
            model.log2(),
            self.max.log2()
        );
        assert!((self.std_dev / model - 1.0).abs() < tolerance, "{what}: {self:?}, model {model}");
        assert!(self.max.log2() < bound, "{what}: {self:?}, bound 2^{bound}");
    }
}

/// The products of 1024 × 256 uniform 8-bit entries at the paper's moduli: noise after the product, the division and the
/// packing.
fn measure(seed: &SecretSeed) {
    let (rows, cols) = (1024, 256);
    let mut parties = Parties::new(&named(CHAM_PAPER), Isa::current(), rows, cols, seed);
    let (matrix, vector) = (entries(1, rows * cols, 8), entries(2, cols, 8));
    let ciphertexts = parties.encrypt(&vector);
    let expected = naive(cols, &matrix, &vector, parties.context.t());
    let context = &parties.context;

    // One row after the other as the evaluator would do it without knowing that it needs one coefficient only. The
    // product of the two plaintexts is what the ciphertext is an encryption of.
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (row, &entry) in matrix.chunks_exact(cols).zip(&expected) {
        let plaintext = context.encode_reversed(row).expect("in range");
        let product = context.mul_plain(&ciphertexts[0], &plaintext).expect("together");
        let divided = context.switch_modulus(&product, context.top()).expect("a level");
        let mut constant = vec![0; context.n()];
        constant[0] = entry.rem_euclid(context.t() as i64) as u64;
        let constant = Plaintext::new(constant);
        let noise = |ciphertext: &Ciphertext| parties.noise_at(ciphertext, &constant, 0).to_f64().expect("finite");
        before.push(noise(&product));
        after.push(noise(&divided));
    }

    let products = parties.products(&[matrix], &[ciphertexts]);
    let product = &products[0][0][0];
    assert_eq!(parties.decrypt(0, product), expected);
    let noise = parties.noise(product, &parties.secret.decrypt(product).expect("of this key"));
    let places = parties.algorithm.product_places(0, 0);
    let basis = context.basis(context.top());
    let packed: Vec<f64> =
        places.iter().map(|&(place, _)| basis.compose(&noise, place).to_f64().expect("finite")).collect();
    let spec = context.parameters();
    let operands = Operands { matrix_bits: 8, encryption: Encryption::Secret, summands: 1 };
    // The mean square of [−128, 128) is (2^16 + 2)/12.
    let product = product_variance(spec, &operands, cols, (65536.0 + 2.0) / 12.0);
    let divided = divided_variance(spec, product);
    let packed_model = packed_variance(spec, divided, 10);
    Sample::of(&before).check("after the product", product, 0.25);
    Sample::of(&after).check("after the division", divided, 0.25);
    Sample::of(&packed).check("after packing", packed_model, 0.25);
    let limit = basis.log2() - 1.0 - (context.t() as f64).log2();
    let failure = log2_failure(limit, parties.algorithm.noise_std_dev(&operands), rows as f64);
    println!("limit 2^{limit:.2}, probability of a wrong entry at most 2^{failure:.3e}");
    assert!(failure < -1e6, "2^{failure}");
    // The noise that the planner is told of is that of the greatest entries.
    assert!(parties.algorithm.noise_std_dev(&operands) >= packed_model.sqrt());
}

#[test]
fn noise_is_as_modelled_for_a_fixed_seed() {
    measure(&SecretSeed::from_bytes([6; 32]));
}

#[test]
fn noise_is_as_modelled_for_a_fresh_seed() {
    measure(&SecretSeed::from_bytes(ciphermill_testing::fresh_seed_bytes("algorithm 1")));
}
