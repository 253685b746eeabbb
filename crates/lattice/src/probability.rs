//! Failure probabilities: tails of Gaussian noise, and figures for people.

use std::cmp::Ordering;
use std::fmt;

/// log2 of the smallest probability that is printed as a number. Below, the model's figure says nothing: no measurement
/// reaches it, and other failures are likelier.
pub const SMALLEST_LOG2: f64 = -128.0;

/// A probability by the noise model, printed as a power of two.
///
/// Below [`SMALLEST_LOG2`] only the bound is printed, with the model's assumption; the alternate form leaves that out.
///
/// # Example
/// ```
/// use ciphermill_lattice::ModelProbability;
///
/// assert_eq!(ModelProbability { log2: -64.31 }.to_string(), "2^-64.3");
/// assert_eq!(ModelProbability { log2: -180.6 }.to_string(), "< 2^-128 (model: independent Gaussian noise)");
/// assert_eq!(format!("{:#}", ModelProbability { log2: -180.6 }), "< 2^-128");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelProbability {
    /// Its logarithm.
    pub log2: f64,
}

impl fmt::Display for ModelProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written so that what is not a number is not small.
        if !matches!(self.log2.partial_cmp(&SMALLEST_LOG2), Some(Ordering::Less)) {
            return write!(f, "2^{:.1}", self.log2);
        }
        let model = if f.alternate() { "" } else { " (model: independent Gaussian noise)" };
        write!(f, "< 2^{SMALLEST_LOG2}{model}")
    }
}

/// log2(erfc(x)) for x ≥ 0, by the asymptotic series where erfc nears the smallest numbers of an `f64`.
///
/// # Example
/// ```
/// assert!((ciphermill_lattice::log2_erfc(1000.0) + 1_442_705.832).abs() < 0.01);
/// ```
pub fn log2_erfc(x: f64) -> f64 {
    if x < 20.0 {
        return libm::erfc(x).log2();
    }
    // erfc(x) = e^(−x²)/(x√π)·(1 − 1/(2x²) + 3/(4x⁴) − …), whose terms alternate: the terms left out are below 2^-24 here.
    let (x2, ln_pi) = (x * x, std::f64::consts::PI.ln());
    let series = 1.0 - 0.5 / x2 + 0.75 / (x2 * x2);
    (series.ln() - x2 - x.ln() - 0.5 * ln_pi) * std::f64::consts::LOG2_E
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with mpmath 1.3 to 50 digits: log(erfc(x), 2).
    const LOG2_ERFC: [(f64, f64); 7] = [
        (0.0, 0.0),
        (0.5, -1.060_396_912_014_155_7),
        (1.0, -2.668_416_696_781_599_6),
        (6.0, -55.367_117_186_022_21),
        (19.99, -581.649_836_801_698_9),
        (20.01, -582.805_431_945_167_9),
        (1000.0, -1_442_705.832_422_034_2),
    ];

    #[test]
    fn the_two_formulas_join() {
        let (below, above) = (log2_erfc(20.0 - 1e-9), log2_erfc(20.0));
        assert!((below - above).abs() < 1e-5, "{below} {above}");
    }

    #[test]
    fn erfc_keeps_its_known_values_beyond_the_range_of_f64() {
        for (x, expected) in LOG2_ERFC {
            let got = log2_erfc(x);
            assert!(
                (got - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                "erfc({x}): 2^{got}, 2^{expected} expected"
            );
        }
    }
}
