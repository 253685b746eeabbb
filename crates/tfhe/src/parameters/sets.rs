//! The named sets.

use ciphermill_lattice::{NoiseDistribution, PolynomialSize};

use crate::dimension::{Decomposition, GlweDimension, LweDimension};
use crate::parameters::{ParameterSpec, TorusWidth};

/// The paper's dimensions on a 64-bit torus: n=800, N=16384, k=1, B=2^9, l=5, t=7; below 128 bits.
pub const NVME_TFHE_PAPER: &str = "NVME_TFHE_PAPER";

/// A toy set on a 64-bit torus for tests and quick demonstrations; it offers no security.
pub const TEST_SMALL_U64: &str = "TEST_SMALL_U64";

/// A toy set on a 32-bit torus, k=2, for tests; it offers no security.
pub const TEST_SMALL_U32: &str = "TEST_SMALL_U32";

/// Every named set.
pub const SET_NAMES: &[&str] = &[NVME_TFHE_PAPER, TEST_SMALL_U64, TEST_SMALL_U32];

/// The recommended sets.
pub const DEFAULT_SET_NAMES: &[&str] = &[];

/// The recommended set.
pub fn recommended(_message_bits: u32) -> Option<&'static str> {
    None
}

pub(crate) fn spec(name: &str) -> Option<ParameterSpec> {
    let spec = match name {
        NVME_TFHE_PAPER => ParameterSpec {
            name: name.to_owned(),
            torus: TorusWidth::U64,
            lwe_dimension: LweDimension(800),
            glwe_dimension: GlweDimension(1),
            polynomial_size: PolynomialSize::new(16384).ok()?,
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-19f64).exp2() },
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-50f64).exp2() },
            pbs: Decomposition::new(9, 5),
            ks: Decomposition::new(3, 7),
            message_bits: 4,
            max_norm2: 1.0,
        },
        TEST_SMALL_U64 => ParameterSpec {
            name: name.to_owned(),
            torus: TorusWidth::U64,
            lwe_dimension: LweDimension(96),
            glwe_dimension: GlweDimension(1),
            polynomial_size: PolynomialSize::new(1024).ok()?,
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-24f64).exp2() },
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-50f64).exp2() },
            pbs: Decomposition::new(9, 5),
            ks: Decomposition::new(3, 7),
            message_bits: 4,
            max_norm2: 2.0,
        },
        TEST_SMALL_U32 => ParameterSpec {
            name: name.to_owned(),
            torus: TorusWidth::U32,
            lwe_dimension: LweDimension(96),
            glwe_dimension: GlweDimension(2),
            polynomial_size: PolynomialSize::new(512).ok()?,
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-24f64).exp2() },
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-30f64).exp2() },
            pbs: Decomposition::new(7, 3),
            ks: Decomposition::new(3, 7),
            message_bits: 3,
            max_norm2: 1.0,
        },
        _ => return None,
    };
    Some(spec)
}
