//! The CPU engine.

use std::sync::Arc;

use ciphermill_math::{EngineInfo, EngineKind, Isa};

use super::{Job, KeyPart, KeyPartId, Output, PreparedKey, TfheEngine};
use crate::backend::Backend;
use crate::ciphertext::KeyTag;
use crate::error::TfheError;
use crate::parameters::{ParameterSet, SecurityPolicy};
use crate::progress::Progress;
use crate::server_key::{MAX_LOADED_KEY_BYTES, ServerKey};

/// The CPU engine. It computes on the threads of the current Rayon pool.
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    /// The transform that multiplies polynomials.
    pub backend: Backend,
    /// The instruction set.
    pub isa: Isa,
    /// Memory that one prepared key may occupy, in bytes.
    pub max_key_bytes: u64,
}

impl CpuEngine {
    /// An engine on the best instruction set of this CPU, whose keys may occupy up to [`MAX_LOADED_KEY_BYTES`].
    pub fn new(backend: Backend) -> Self {
        Self::on(Isa::current(), backend)
    }

    /// [`new`](Self::new), on the given instruction set.
    pub fn on(isa: Isa, backend: Backend) -> Self {
        Self { backend, isa, max_key_bytes: MAX_LOADED_KEY_BYTES }
    }
}

impl TfheEngine for CpuEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(format!("cpu-{}", self.backend), EngineKind::Cpu(self.isa))
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let [bootstrap, keyswitch] = KeyPart::select(parts, [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH])?;
        Ok(Arc::new(ServerKey::load_on(
            self.isa,
            self.max_key_bytes,
            bootstrap.into_reader(),
            keyswitch.into_reader(),
            self.backend,
            policy,
            progress,
        )?))
    }
}

impl PreparedKey for ServerKey {
    fn parameters(&self) -> &ParameterSet {
        ServerKey::parameters(self)
    }

    fn tag(&self) -> KeyTag {
        ServerKey::tag(self)
    }

    fn memory_bytes(&self) -> u64 {
        ServerKey::memory_bytes(self)
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        let bootstraps: Vec<_> = jobs.iter().map(|&Job::Bootstrap(job)| job).collect();
        Ok(self.bootstrap_batch(&bootstraps)?.into_iter().map(Output::Ciphertext).collect())
    }
}
