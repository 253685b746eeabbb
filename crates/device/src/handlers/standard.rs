//! The standard handlers of a device: one per scheme, over a set of engines.

use std::sync::Arc;

use ciphermill_bigint::{CpuEngine as ModExpCpuEngine, ModExpEngine};
use ciphermill_hmvp::{CpuEngine as HmvpCpuEngine, HmvpEngine};
use ciphermill_paillier::SizePolicy;
use ciphermill_tfhe::{Backend, CpuEngine, SecurityPolicy, TfheEngine};

use super::StoredOnly;
use super::bfv::BfvHandler;
use super::paillier::PaillierHandler;
use super::tfhe::{LoadProgress, TfheHandler};
use crate::handler::ObjectHandler;

/// The engines that compute for a device. Objects of a scheme without an engine are stored; its instructions are refused.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // A device whose engine has no bootstrap: it stores TFHE objects and refuses to compute on them.
/// let engines = Engines { name: "no-tfhe", bootstrap: None, ..Engines::cpu(Backend::Fft) };
/// let device = Device::open(DeviceConfig::in_memory(), standard(engines, policy, None))?;
/// let space = device.space(SpaceId::EMBEDDED)?;
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// assert!(space.run(&sum).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Engines {
    /// Their common name, for refusals.
    pub name: &'static str,
    /// Computes TFHE's bootstraps.
    pub bootstrap: Option<Arc<dyn TfheEngine>>,
    /// Computes products of matrices and encrypted vectors.
    pub hmvp: Option<Arc<dyn HmvpEngine>>,
    /// Computes Paillier's products and powers.
    pub mod_exp: Option<Arc<dyn ModExpEngine>>,
}

impl Engines {
    /// The engines of the CPU; bootstraps multiply polynomials with `backend`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let engines = Engines::cpu(Backend::Fft);
    /// assert_eq!(engines.name, "cpu");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cpu(backend: Backend) -> Self {
        Self {
            name: "cpu",
            bootstrap: Some(Arc::new(CpuEngine::new(backend))),
            hmvp: Some(Arc::new(HmvpCpuEngine::default())),
            mod_exp: Some(Arc::new(ModExpCpuEngine::current())),
        }
    }
}

/// The keys that a device accepts.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let secure = SecurityPolicy::Require128Bits;
/// let policy = Policy { tfhe: secure, bfv: secure, paillier: SizePolicy::Standard };
/// let device = Device::open(DeviceConfig::in_memory(), standard(Engines::cpu(Backend::Fft), policy, None))?;
/// assert_eq!(device.instruction_set().instructions().count(), 19);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The parameter sets of TFHE.
    pub tfhe: SecurityPolicy,
    /// The parameter sets of BFV.
    pub bfv: SecurityPolicy,
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
/// let secure = SecurityPolicy::Require128Bits;
/// let policy = Policy { tfhe: secure, bfv: secure, paillier: SizePolicy::Standard };
/// let device = Device::open(DeviceConfig::in_memory(), standard(Engines::cpu(Backend::Fft), policy, None))?;
/// assert_eq!(device.instruction_set().instructions().count(), 19);
/// # Ok::<(), ciphermill_device::DeviceError>(())
/// ```
#[must_use]
pub fn standard(engines: Engines, policy: Policy, progress: Option<LoadProgress>) -> Vec<Arc<dyn ObjectHandler>> {
    let Engines { name, bootstrap, hmvp, mod_exp } = engines;
    let tfhe = |engine| {
        let handler = TfheHandler::new(engine, policy.tfhe);
        match progress {
            Some(progress) => handler.with_progress(progress),
            None => handler,
        }
    };
    let bfv = |engine| BfvHandler::new(engine, policy.bfv);
    let paillier = |engine| PaillierHandler::new(engine, policy.paillier);
    vec![
        handler(name, bootstrap, || Arc::new(CpuEngine::new(Backend::Fft)), tfhe),
        handler(name, hmvp, || Arc::new(HmvpCpuEngine::default()), bfv),
        handler(name, mod_exp, || Arc::new(ModExpCpuEngine::current()), paillier),
    ]
}

/// The handler over its engine. Without one, it judges objects only, and `stand_in` never computes.
fn handler<E: ?Sized, H: ObjectHandler + 'static>(
    name: &'static str,
    engine: Option<Arc<E>>,
    stand_in: impl FnOnce() -> Arc<E>,
    make: impl FnOnce(Arc<E>) -> H,
) -> Arc<dyn ObjectHandler> {
    match engine {
        Some(engine) => Arc::new(make(engine)),
        None => Arc::new(StoredOnly::new(Arc::new(make(stand_in())), name)),
    }
}
