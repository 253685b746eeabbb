//! The kernel seam of bootstrapping: what an accelerator implements.

use std::fmt::Debug;
use std::io::Read;
use std::sync::Arc;

use ciphermill_math::Isa;

use crate::backend::Backend;
use crate::ciphertext::{Ciphertext, KeyTag, TestVector};
use crate::error::TfheError;
use crate::parameters::{ParameterSet, SecurityPolicy};
use crate::progress::Progress;
use crate::server_key::{MAX_LOADED_KEY_BYTES, ServerKey};

/// One bootstrap of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BootstrapJob<'a> {
    /// The ciphertext; its key choice says the order of key switch and blind rotation.
    pub input: &'a Ciphertext,
    /// The table.
    pub test_vector: &'a TestVector,
}

/// Something that bootstraps: the CPU here, co-simulated hardware or a GPU elsewhere.
pub trait BootstrapEngine: Send + Sync + Debug {
    /// Name for reports, such as `cpu-fft`.
    fn name(&self) -> String;

    /// Brings a server key, as stored, into the engine's own form.
    ///
    /// # Errors
    /// If a key is malformed, not admissible under `policy`, or the two do not belong together.
    fn load(
        &self,
        bootstrap: &mut dyn Read,
        keyswitch: &mut dyn Read,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn LoadedServerKey>, TfheError>;
}

/// A server key in an engine's own form.
pub trait LoadedServerKey: Send + Sync + Debug {
    /// The parameter set.
    fn parameters(&self) -> &ParameterSet;

    /// The key set.
    fn tag(&self) -> KeyTag;

    /// Bytes that it occupies.
    fn memory_bytes(&self) -> u64;

    /// Bootstraps every job; results are in order, and do not depend on what else is in the batch.
    ///
    /// # Errors
    /// The first failure; no result is given then.
    fn bootstrap_batch(&self, jobs: &[BootstrapJob<'_>]) -> Result<Vec<Ciphertext>, TfheError>;
}

/// The CPU engine.
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    /// Which transform it uses.
    pub backend: Backend,
    /// Memory that one loaded server key may take.
    pub max_key_bytes: u64,
}

impl CpuEngine {
    /// An engine whose keys may take up to [`MAX_LOADED_KEY_BYTES`].
    pub fn new(backend: Backend) -> Self {
        Self { backend, max_key_bytes: MAX_LOADED_KEY_BYTES }
    }
}

impl BootstrapEngine for CpuEngine {
    fn name(&self) -> String {
        format!("cpu-{}", self.backend)
    }

    fn load(
        &self,
        bootstrap: &mut dyn Read,
        keyswitch: &mut dyn Read,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn LoadedServerKey>, TfheError> {
        let (isa, limit) = (Isa::current(), self.max_key_bytes);
        Ok(Arc::new(ServerKey::load_on(isa, limit, bootstrap, keyswitch, self.backend, policy, progress)?))
    }
}

impl LoadedServerKey for ServerKey {
    fn parameters(&self) -> &ParameterSet {
        ServerKey::parameters(self)
    }

    fn tag(&self) -> KeyTag {
        ServerKey::tag(self)
    }

    fn memory_bytes(&self) -> u64 {
        ServerKey::memory_bytes(self)
    }

    fn bootstrap_batch(&self, jobs: &[BootstrapJob<'_>]) -> Result<Vec<Ciphertext>, TfheError> {
        self.bootstrap_all(jobs)
    }
}
