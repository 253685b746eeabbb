//! Measured noise compared with the model.

use ciphermill_lattice::DecompositionBaseLog;
use ciphermill_math::Isa;

use super::super::RowPackedOptions;
use super::support::{Parties, entries, parameters};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::SecurityPolicy;

/// The largest contribution to the noise.
#[derive(Clone, Copy, Debug)]
enum Source {
    Fresh,
    Babies,
    Giants,
}

/// The standard deviation of the noise at the places of products over the model's, for a matrix whose entries all have
/// the magnitude that the model assumes, with the signs `negative` of (row, column).
fn ratio(source: Source, cols: usize, negative: &dyn Fn(usize, usize) -> bool) -> f64 {
    let (n, rows) = (256, 256);
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    // q, p, digits of baby and giant steps, bits of the matrix.
    let limbs = Gadget::Limbs { limbs_per_digit: 1 };
    let bits = |base_log| Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
    let (special, baby_gadget, giant_gadget, bits) = match source {
        Source::Fresh => (55, bits(10), bits(10), 9),
        Source::Babies => (30, bits(28), bits(10), 9),
        Source::Giants => (42, bits(5), limbs, 1),
    };
    let parameters = parameters(n, &[55], &[special], 1 << 16, policy);
    let options = RowPackedOptions { baby_steps: 4, baby_gadget, giant_gadget };
    let mut parties = Parties::new(&parameters, Isa::current(), rows, cols, options);
    let magnitude = 1 << (bits - 1);
    let sign = |i: usize| if negative(i / cols, i % cols) { -1 } else { 1 };
    let matrix: Vec<i64> = (0..rows * cols).map(|i| sign(i) * magnitude).collect();
    let vectors: Vec<_> = (0..40).map(|seed| entries(seed, cols, 8)).collect();
    let outcomes = parties.products(&[matrix], &vectors);
    let noise: Vec<f64> = outcomes.iter().flat_map(|outcomes| &outcomes[0].noise).copied().collect();
    let square = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
    square.sqrt() / parties.expected_noise(bits)
}

/// Digits and errors of different coefficients are as independent as the model takes them where signs are random: then
/// the noise is the model's, or a little less because the last digit of a limb is shorter than the others. With other
/// signs it is often that of few independent values.
#[test]
fn noise_is_that_of_the_model() {
    for source in [Source::Fresh, Source::Babies, Source::Giants] {
        for cols in [16, 256, 600] {
            let random = entries(cols as u64, 256 * cols, 1);
            let ratio_of = |negative: &dyn Fn(usize, usize) -> bool| ratio(source, cols, negative);
            let measured = ratio_of(&|row, col| random[row * cols + col] < 0);
            assert!((0.65..1.15).contains(&measured), "{source:?}, {cols} columns, random signs: {measured}");
            for (name, negative) in [
                ("equal signs", &(|_, _| false) as &dyn Fn(usize, usize) -> bool),
                ("alternating columns", &|_, col| col % 2 == 0),
                ("alternating rows", &|row, _| row % 2 == 0),
            ] {
                let measured = ratio_of(negative);
                assert!(measured < 1.6, "{source:?}, {cols} columns, {name}: {measured}");
            }
        }
    }
}
