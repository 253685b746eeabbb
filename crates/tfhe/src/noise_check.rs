//! Checks of noise distributions against a torus.

use ciphermill_lattice::{NoiseDistribution, Torus};

use crate::error::TfheError;
use crate::parameters::ParameterError;

/// Checks that a noise can be sampled on a torus.
pub(crate) fn check_noise<T: Torus>(noise: NoiseDistribution, key: &'static str) -> Result<(), TfheError> {
    noise.check::<T>().map_err(|source| ParameterError::Noise { key, source }.into())
}
