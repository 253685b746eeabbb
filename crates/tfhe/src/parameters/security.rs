//! Security estimates: the lattice-estimator's for the named sets, published curves for others.

use ciphermill_lattice::{NoiseDistribution, SecurityEstimate};

use crate::noise;
use crate::parameters::{ParameterSpec, TorusWidth, estimates};

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

const INTERPOLATED: &str =
    "interpolated in Zama's published 128- and 132-bit curves for binary keys (lattice-estimator, BDGL16)";

const OUTSIDE: &str =
    "none claimed: the published curves begin at dimension 450 and at a noise of 4 units of the torus";

/// Where the published curves begin.
const MIN_DIMENSION: usize = 450;

const ESTIMATED: &str = "lattice-estimator, cost model MATZOV, cheapest of usvp, bdd and dual hybrid (docs/security/named-sets-estimates.csv)";

/// Security in bits of LWE with a binary key of dimension `dimension` and noise of log2 standard deviation `log2_std`
/// relative to the modulus: linear in the noise between the published curves, and beyond them up to 160 bits and to n.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // More noise makes a problem harder.
/// let [little, much] = [-18.0, -15.0].map(|log2_std| parameters::security_bits(800, log2_std));
/// assert!(little < 128.0 && much > 128.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn security_bits(dimension: usize, log2_std: f64) -> f64 {
    let [low, high] = &CURVES;
    let at = |curve: &Curve| curve.slope * dimension as f64 + curve.bias;
    let per_bit = (at(high) - at(low)) / (high.bits - low.bits);
    // All binary keys can be tried in 2^n. It also bounds what the lines say where they cross, at n = 23.
    (low.bits + (log2_std - at(low)) / per_bit).clamp(0.0, MAX_STATED_BITS.min(dimension as f64))
}

/// The smallest Gaussian noise that the 132-bit curve allows an LWE or GLWE problem of dimension `dimension` (n, or k·N)
/// with a binary key, and never below 4 ulp of the torus, the curve's own floor.
///
/// On that line the lattice-estimator gives at least 128 bits with both cost models it was asked for (MATZOV and BDGL16; see
/// docs/security.md), where the 128-bit line was fitted to one of them. It holds for dimensions from 450.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let noise = parameters::smallest_noise(800, TorusWidth::U32);
/// let NoiseDistribution::Gaussian { std_dev } = noise else { unreachable!("the curves are of Gaussians") };
/// assert!(parameters::security_bits(800, std_dev.log2()) >= 131.99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn smallest_noise(dimension: usize, torus: TorusWidth) -> NoiseDistribution {
    let line = CURVES[1].slope * dimension as f64 + CURVES[1].bias;
    let log2_std = line.max(2.0 - f64::from(torus.bits()));
    // Beyond a quarter of the torus a Gaussian is no longer one: no dimension that needs it is ever chosen.
    NoiseDistribution::Gaussian { std_dev: log2_std.exp2().min(0.25) }
}

/// The weaker of the LWE and the GLWE problem of a set: the lattice-estimator's figure for problems of the named sets, the
/// curves' for others.
pub(crate) fn estimate(spec: &ParameterSpec) -> SecurityEstimate {
    let small = problem(spec.lwe_dimension.0, TorusWidth::U32, spec.lwe_noise);
    let big = problem(spec.big_lwe_dimension().0, spec.torus, spec.glwe_noise);
    if small.bits <= big.bits { small } else { big }
}

fn problem(dimension: usize, torus: TorusWidth, noise: NoiseDistribution) -> SecurityEstimate {
    let log2_std = match noise {
        NoiseDistribution::Gaussian { std_dev } => std_dev.log2(),
        NoiseDistribution::TUniform { .. } => 0.5 * noise::noise_variance(noise, torus).log2(),
    };
    // The floor of 4 units, with room for the rounding of its logarithm.
    let on_the_curves = dimension >= MIN_DIMENSION && log2_std >= 2.0 - f64::from(torus.bits()) - 1e-9;
    match estimates::find(dimension, torus, log2_std) {
        Some(bits) => SecurityEstimate { bits, source: ESTIMATED },
        None if !on_the_curves => SecurityEstimate { bits: 0.0, source: OUTSIDE },
        None => SecurityEstimate { bits: security_bits(dimension, log2_std), source: INTERPOLATED },
    }
}
