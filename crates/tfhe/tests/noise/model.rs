//! Predictions of the samples.
//!
//! The model bounds the error of the f64 transform: its constant, and the unit of 48-bit spectra, hold for every size and
//! instruction set. A bound is no prediction, so the error of the transform is measured, against exact integer products of
//! the set's shape, and everything else comes from the model.

use ciphermill_math::Isa;
use ciphermill_tfhe::bootstrap::BackendTorus;
use ciphermill_tfhe::{Backend, KeyOrder, ModulusSwitch, ParameterSpec, TorusWidth, noise};

use super::judge::Prediction;
use crate::noise_transform::measured_variance;

/// The variances of one set and back end.
pub(super) struct Model {
    spec: ParameterSpec,
    rotation: f64,
}

impl Model {
    pub(super) fn new(spec: &ParameterSpec, backend: Backend) -> Self {
        let n = spec.lwe_dimension.0 as f64;
        let exact = noise::transform_variance(spec, Backend::Ntt);
        let transform = match (backend, spec.torus) {
            (Backend::Ntt, _) => exact,
            (Backend::Fft, TorusWidth::U32) => measured::<u32>(spec),
            (Backend::Fft, TorusWidth::U64) => measured::<u64>(spec),
        };
        let rotation = noise::blind_rotation_variance(spec, Backend::Ntt) + n * (transform - exact);
        let bound = noise::blind_rotation_variance(spec, backend);
        assert!(rotation <= 1.05 * bound, "{}: the model's bound {bound:e} is below {rotation:e}", spec.name);
        Self { spec: spec.clone(), rotation }
    }

    /// The error of an output.
    pub(super) fn output(&self, order: KeyOrder) -> Prediction {
        let keyswitch = match order {
            KeyOrder::Big => [0.0, 0.0],
            KeyOrder::Small => [noise::keyswitch_variance(&self.spec), noise::keyswitch_bias(&self.spec)],
        };
        self.prediction(self.rotation + keyswitch[0], keyswitch[1])
    }

    /// The error of the phase index of twice an output.
    pub(super) fn doubled_index(&self, order: KeyOrder, switch: ModulusSwitch) -> Prediction {
        let spec = ParameterSpec { modulus_switch: switch, ..self.spec.clone() };
        let steps = 2.0 * spec.polynomial_size.get() as f64;
        // The exponent is whole; the model of the plain switch counts this rounding.
        let whole = if switch == ModulusSwitch::Centred { 1.0 / (12.0 * steps * steps) } else { 0.0 };
        let output = self.output(order);
        let bias = match order {
            KeyOrder::Big => noise::keyswitch_bias(&self.spec),
            KeyOrder::Small => 4.0 * output.bias,
        };
        self.prediction(noise::phase_index_variance(&spec, order, 4.0 * output.variance) + whole, bias)
    }

    /// The number of ones in the small key has the relative standard deviation 1/√n, and no part of the variance depends
    /// on a key more strongly.
    fn prediction(&self, variance: f64, bias: f64) -> Prediction {
        let key_spread = (self.spec.lwe_dimension.0 as f64).sqrt().recip();
        Prediction { variance, bias, transform: 0.0, key_spread, mixture: 1.0 }
    }
}

/// Products over which the error of the transform is averaged. The unit of 48-bit spectra follows the largest part of a
/// component, so the error of one component deviates by some 15 %.
const PRODUCTS: u64 = 32;

/// Variance that the transform adds to the phase of an external product: an error of a mask enters with a key bit.
fn measured<T: BackendTorus>(spec: &ParameterSpec) -> f64 {
    let through_key = 1.0 + spec.big_lwe_dimension().0 as f64 / 2.0;
    let word = noise::key_word(spec);
    let product = |stream| measured_variance::<T>(Isa::current(), spec.ggsw_shape(), word, stream);
    (0..PRODUCTS).map(product).sum::<f64>() / PRODUCTS as f64 * through_key
}
