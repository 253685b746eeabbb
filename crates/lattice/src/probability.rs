//! Failure probabilities for people.

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
