//! Security estimates from published curves.

use ciphermill_lattice::NoiseDistribution;

use crate::noise;
use crate::noise::fresh_variance;
use crate::parameters::{EncryptionKeyChoice, ParameterSpec, TorusWidth};

/// A line log2(σ) = slope·n + bias: the smallest noise (relative to the modulus) of a security level for binary keys.
struct Curve {
    bits: f64,
    slope: f64,
    bias: f64,
}

/// Zama's curves for binary secrets, fitted on the lattice-estimator (cost model BDGL16, best of the attacks it
/// covers), as published in the repository zama-ai/concrete; see docs/security.md and `data/security_curves.csv`.
const CURVES: [Curve; 2] = [
    Curve { bits: 128.0, slope: -0.025696778711484593, bias: 2.675931372549016 },
    Curve { bits: 132.0, slope: -0.024891456582633045, bias: 2.65734593837534 },
];

/// Where the interpolation stops: the curves are lines between 128 and 132 bits, so far from them a figure would only
/// pretend to be one.
const MAX_STATED_BITS: f64 = 160.0;

/// Estimated security of a parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecurityEstimate {
    /// log2 of the cost of the best attack considered; at most 160 is stated.
    pub bits: f64,
    /// The estimator and the attack model behind the figure.
    pub source: &'static str,
}

const SOURCE: &str =
    "interpolated in Zama's published 128- and 132-bit curves for binary keys (lattice-estimator, BDGL16)";

/// Security in bits of LWE with a binary key of dimension `dimension` and noise of log2 standard deviation `log2_std`
/// relative to the modulus: linear in the noise between the published curves, and beyond them up to 160 bits.
pub fn security_bits(dimension: usize, log2_std: f64) -> f64 {
    let [low, high] = &CURVES;
    let at = |curve: &Curve| curve.slope * dimension as f64 + curve.bias;
    let per_bit = (at(high) - at(low)) / (high.bits - low.bits);
    (low.bits + (log2_std - at(low)) / per_bit).clamp(0.0, MAX_STATED_BITS)
}

/// The smallest Gaussian noise that the 132-bit curve allows an LWE or GLWE problem of dimension `dimension` (n, or k·N)
/// with a binary key, and never below 4 ulp of the torus, the curve's own floor.
///
/// On that line the lattice-estimator gives at least 128 bits with both cost models it was asked for (MATZOV and BDGL16; see
/// docs/security.md), where the 128-bit line was fitted to one of them. It holds for dimensions from 450.
pub fn smallest_noise(dimension: usize, torus: TorusWidth) -> NoiseDistribution {
    let line = CURVES[1].slope * dimension as f64 + CURVES[1].bias;
    let log2_std = line.max(2.0 - f64::from(torus.bits()));
    // Beyond a quarter of the torus a Gaussian is no longer one: no dimension that needs it is ever chosen.
    NoiseDistribution::Gaussian { std_dev: log2_std.exp2().min(0.25) }
}

/// The weaker of the LWE and the GLWE problem of a set.
pub(crate) fn estimate(spec: &ParameterSpec) -> SecurityEstimate {
    let small = fresh_variance(spec, EncryptionKeyChoice::Small);
    let bits = security_bits(spec.lwe_dimension.0, 0.5 * small.log2())
        .min(security_bits(spec.big_lwe_dimension().0, 0.5 * noise::glwe_variance(spec).log2()));
    SecurityEstimate { bits, source: SOURCE }
}
