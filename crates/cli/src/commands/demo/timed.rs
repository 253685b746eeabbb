//! An engine that measures the time of each bootstrap and of each key loading of another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ciphermill_math::{EngineCost, EngineInfo};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::{Job, KeyPart, KeyTag, Output, ParameterSet, PreparedKey, SecurityPolicy, TfheEngine, TfheError};

use crate::output;

/// The measured times.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    load_seconds: f64,
    key_bytes: u64,
    bootstraps: Vec<f64>,
    costs: Vec<EngineCost>,
}

impl Times {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds of all key loadings.
    pub(super) fn load_seconds(&self) -> f64 {
        self.noted().load_seconds
    }

    /// Bytes of the key in the form for computing.
    pub(super) fn key_bytes(&self) -> u64 {
        self.noted().key_bytes
    }

    /// Number of bootstraps.
    pub(super) fn bootstraps(&self) -> usize {
        self.noted().bootstraps.len()
    }

    /// The cost of the first bootstrap, if the engine counts cycles.
    pub(super) fn bootstrap_cost(&self) -> Option<EngineCost> {
        self.noted().costs.first().cloned()
    }

    /// Median time of a bootstrap; of an even number, the mean of the middle two.
    pub(super) fn median_bootstrap_seconds(&self) -> f64 {
        let mut times = self.noted().bootstraps.clone();
        times.sort_by(f64::total_cmp);
        match times.len() {
            0 => 0.0,
            n if n % 2 == 1 => times[n / 2],
            n => (times[n / 2 - 1] + times[n / 2]) / 2.0,
        }
    }
}

#[derive(Debug)]
pub(super) struct TimedEngine {
    engine: Arc<dyn TfheEngine>,
    times: Times,
}

impl TimedEngine {
    pub(super) fn new(engine: Arc<dyn TfheEngine>) -> Self {
        Self { engine, times: Times::default() }
    }

    pub(super) fn times(&self) -> Times {
        self.times.clone()
    }
}

impl TfheEngine for TimedEngine {
    fn info(&self) -> EngineInfo {
        self.engine.info()
    }

    fn computes_words(&self) -> bool {
        self.engine.computes_words()
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.engine.key_bytes(parameters)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let bar = output::Progress::bar("bringing the key into the form for computing");
        let start = Instant::now();
        let mut both = |done, all| {
            bar.set(done, all);
            progress(done, all);
        };
        let key = self.engine.prepare(parts, policy, &mut both)?;
        let mut noted = self.times.noted();
        noted.load_seconds += start.elapsed().as_secs_f64();
        noted.key_bytes = key.memory_bytes();
        Ok(Arc::new(TimedKey { key, times: self.times.clone() }))
    }
}

#[derive(Debug)]
struct TimedKey {
    key: Arc<dyn PreparedKey>,
    times: Times,
}

impl PreparedKey for TimedKey {
    fn parameters(&self) -> &ParameterSet {
        self.key.parameters()
    }

    fn tag(&self) -> KeyTag {
        self.key.tag()
    }

    fn memory_bytes(&self) -> u64 {
        self.key.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        let start = Instant::now();
        let results = self.key.run(jobs)?;
        let each = start.elapsed().as_secs_f64() / jobs.len().max(1) as f64;
        let mut noted = self.times.noted();
        noted.bootstraps.extend(jobs.iter().map(|_| each));
        noted.costs.extend(self.key.take_costs());
        Ok(results)
    }
}
