//! The standard handlers of a device: one per scheme, over a set of engines.

use std::sync::Arc;

use ciphermill_bigint::{CpuEngine as ModExpCpuEngine, ModExpEngine};
use ciphermill_hmvp::{CpuEngine as MatVecCpuEngine, MatVecEngine};
use ciphermill_paillier::SizePolicy;
use ciphermill_tfhe::{Backend, CpuEngine, SecurityPolicy, TfheEngine};

use super::bfv::BfvHandler;
use super::paillier::PaillierHandler;
use super::tfhe::{LoadProgress, TfheHandler};
use crate::handler::ObjectHandler;

/// The engines that compute for a device.
#[derive(Clone)]
pub struct Engines {
    /// Computes TFHE's bootstraps.
    pub bootstrap: Arc<dyn TfheEngine>,
    /// Computes products of matrices and encrypted vectors.
    pub mat_vec: Arc<dyn MatVecEngine>,
    /// Computes Paillier's products and powers.
    pub mod_exp: Arc<dyn ModExpEngine>,
}

impl Engines {
    /// The engines of the CPU; bootstraps multiply polynomials with `backend`.
    #[must_use]
    pub fn cpu(backend: Backend) -> Self {
        Self {
            bootstrap: Arc::new(CpuEngine::new(backend)),
            mat_vec: Arc::new(MatVecCpuEngine::default()),
            mod_exp: Arc::new(ModExpCpuEngine::current()),
        }
    }
}

/// The keys that a device accepts. BFV's standard has no level below 128 bits, so there is no choice for BFV.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The parameter sets of TFHE.
    pub tfhe: SecurityPolicy,
    /// The key sizes of Paillier.
    pub paillier: SizePolicy,
}

/// One handler for each scheme of this crate. `progress` follows the loading of TFHE's bootstrapping keys.
///
/// ```
/// use ciphermill_device::handlers::{Engines, Policy, standard};
/// use ciphermill_device::{Device, DeviceConfig};
/// use ciphermill_paillier::SizePolicy;
/// use ciphermill_tfhe::{Backend, SecurityPolicy};
///
/// let policy = Policy { tfhe: SecurityPolicy::Require128Bits, paillier: SizePolicy::Standard };
/// let device = Device::open(DeviceConfig::in_memory(), standard(Engines::cpu(Backend::Fft), policy, None))?;
/// assert_eq!(device.instruction_set().instructions().count(), 14);
/// # Ok::<(), ciphermill_device::DeviceError>(())
/// ```
#[must_use]
pub fn standard(engines: Engines, policy: Policy, progress: Option<LoadProgress>) -> Vec<Arc<dyn ObjectHandler>> {
    let mut tfhe = TfheHandler::new(engines.bootstrap, policy.tfhe);
    if let Some(progress) = progress {
        tfhe = tfhe.with_progress(progress);
    }
    let bfv = BfvHandler::new(engines.mat_vec, ciphermill_bfv::SecurityPolicy::Require128Bits);
    let paillier = PaillierHandler::new(engines.mod_exp, policy.paillier);
    vec![Arc::new(tfhe), Arc::new(bfv), Arc::new(paillier)]
}
