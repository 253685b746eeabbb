//! Measured noise beside the model.

use ciphermill_lattice::DecompositionBaseLog;
use ciphermill_math::Isa;

use super::super::RowPackedOptions;
use super::support::{Parties, entries, parameters};
use crate::keyswitch::Gadget;
use crate::parameters::SecurityPolicy;

/// The standard deviation of the noise of one product over the model's, for a matrix whose entries all have the magnitude
/// that the model assumes.
fn ratio(cols: usize, baby_steps: usize, base_log: usize, giant_gadget: Gadget, sign: impl Fn(usize) -> bool) -> f64 {
    let (n, rows) = (1024, 1024);
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = parameters(n, &[49], &[45], 1 << 22, policy);
    let baby_gadget = Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
    let options = RowPackedOptions { baby_steps, baby_gadget, giant_gadget };
    let mut parties = Parties::new(&parameters, Isa::current(), rows, cols, options);
    let matrix: Vec<i64> = (0..rows * cols).map(|i| if sign(i) { -128 } else { 128 }).collect();
    let outcome = parties.products(&[matrix], &[entries(2, cols, 8)]).remove(0).remove(0);
    let square = outcome.noise.iter().map(|x| x * x).sum::<f64>() / outcome.noise.len() as f64;
    square.sqrt() / parties.expected_noise(9)
}
