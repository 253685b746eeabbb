//! The CPU engine.

use std::sync::Arc;

use ciphermill_math::ntt::NttProvider;
use ciphermill_math::{EngineInfo, EngineKind, Isa};

use super::{BootstrapJob, Job, KeyPart, KeyPartId, LookUpJob, Output, PreparedKey, SplitJob, TfheEngine};
use crate::backend::Backend;
use crate::ciphertext::KeyTag;
use crate::error::TfheError;
use crate::parameters::{ParameterSet, SecurityPolicy};
use crate::progress::Progress;
use crate::server_key::{LoadOptions, ServerKey};
use crate::word::Word;

/// The CPU engine. It computes on the threads of the current Rayon pool.
///
/// # Example
/// An engine whose Goldilocks transforms come from a provider, here from the CPU's own for one instruction set:
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::CpuNttProvider;
/// use ciphermill_tfhe::{Backend, CpuEngine, TfheEngine};
///
/// let engine = CpuEngine::new(Backend::Ntt).with_ntt(Arc::new(CpuNttProvider::new(Isa::Portable)));
/// assert_eq!(engine.info().name, "cpu-ntt");
/// ```
#[derive(Clone, Debug)]
pub struct CpuEngine {
    options: LoadOptions,
}

impl CpuEngine {
    /// An engine on the best instruction set of this CPU, whose keys may occupy up to
    /// [`MAX_LOADED_KEY_BYTES`](crate::server_key::MAX_LOADED_KEY_BYTES).
    pub fn new(backend: Backend) -> Self {
        Self { options: LoadOptions::new(backend) }
    }

    /// [`new`](Self::new), on the given instruction set.
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::{EngineKind, Isa};
    /// use ciphermill_tfhe::{Backend, CpuEngine, TfheEngine};
    ///
    /// let info = CpuEngine::on(Isa::Portable, Backend::Fft).info();
    /// assert_eq!((&*info.name, info.kind), ("cpu-fft", EngineKind::Cpu(Isa::Portable)));
    /// ```
    pub fn on(isa: Isa, backend: Backend) -> Self {
        Self { options: LoadOptions::on(isa, backend) }
    }

    /// Limits the memory that one prepared key may occupy.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
    /// let engine = CpuEngine::new(Backend::Fft).with_max_key_bytes(1 << 10);
    /// let parts = vec![KeyPart::bootstrap(&bootstrap), KeyPart::keyswitch(&keyswitch)];
    /// assert!(matches!(engine.prepare(parts, policy, &mut |_, _| ()), Err(TfheError::KeyTooLarge { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_key_bytes(mut self, max_bytes: u64) -> Self {
        self.options.max_bytes = max_bytes;
        self
    }

    /// Takes the Goldilocks NTT from a provider.
    #[must_use]
    pub fn with_ntt(mut self, ntt: Arc<dyn NttProvider>) -> Self {
        self.options.ntt = ntt;
        self
    }
}

impl TfheEngine for CpuEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(format!("cpu-{}", self.options.backend), EngineKind::Cpu(self.options.isa))
    }

    fn computes_words(&self) -> bool {
        true
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.options.loading_bytes(parameters)
    }

    fn prepare(
        &self,
        mut parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let conversion = KeyPart::take(&mut parts, KeyPartId::CONVERSION)?;
        let [bootstrap, keyswitch] = KeyPart::select(parts, [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH])?;
        let (bootstrap, keyswitch) = (bootstrap.into_reader(), keyswitch.into_reader());
        let key = ServerKey::load_with(&self.options, bootstrap, keyswitch, policy, progress)?;
        match conversion {
            Some(conversion) => Ok(Arc::new(key.with_conversion(conversion.into_reader(), policy)?)),
            None => Ok(Arc::new(key)),
        }
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
        // Bootstraps run together, in one pass over the key for each thread, and so do selections and splits.
        let bootstraps: Vec<BootstrapJob<'_>> =
            jobs.iter().filter_map(|job| if let Job::Bootstrap(job) = job { Some(*job) } else { None }).collect();
        let words: Vec<&Word> =
            jobs.iter().filter_map(|job| if let Job::Select(job) = job { Some(job.word) } else { None }).collect();
        let splits: Vec<SplitJob<'_>> =
            jobs.iter().filter_map(|job| if let Job::Split(job) = job { Some(*job) } else { None }).collect();
        let mut bootstrapped = self.bootstrap_batch(&bootstraps)?.into_iter();
        let mut selected = if words.is_empty() { Vec::new() } else { self.select_batch(&words)? }.into_iter();
        let mut split = if splits.is_empty() { Vec::new() } else { self.split_batch(&splits)? }.into_iter();
        let none = |name| TfheError::Engine { what: format!("a {name} without an output") };
        let run = |job: &Job<'_>| match job {
            Job::Bootstrap(_) => bootstrapped.next().map(Output::Ciphertext).ok_or_else(|| none(job.name())),
            Job::Select(_) => selected.next().map(Output::Selectors).ok_or_else(|| none(job.name())),
            Job::Split(_) => split.next().map(Output::Word).ok_or_else(|| none(job.name())),
            Job::LookUp(LookUpJob { file, table }) => self.look_up(file, table).map(Output::Word),
            // The CPU gains nothing from a whole program; its steps are single jobs.
            Job::Program(_) => {
                Err(TfheError::UnsupportedJob { engine: format!("cpu-{}", self.backend()), job: job.name() })
            }
        };
        jobs.iter().map(run).collect()
    }
}
