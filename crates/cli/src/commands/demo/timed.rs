//! An engine that measures the time of each bootstrap and of each key loading of another, and on hardware the cycles of
//! programs and of their instructions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ciphermill_math::{EngineCost, EngineInfo};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::{
    Job, KeyPart, KeyTag, Output, ParameterSet, PreparedKey, ProgramJob, SecurityPolicy, Step, TfheEngine, TfheError,
};

use crate::output;

/// The measured times.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    load_seconds: f64,
    key_bytes: u64,
    bootstraps: Vec<f64>,
    costs: Option<Costs>,
}

/// Costs on an engine that counts cycles.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    /// The first program, if the engine runs programs whole.
    pub(super) program: Option<EngineCost>,
    /// Cycles of a bootstrap, an addition and a product with an integer: where the engine runs programs, the difference of
    /// two programs, one with the instruction and one without.
    pub(super) bootstrap: u64,
    pub(super) addition: Option<u64>,
    pub(super) integer_product: Option<u64>,
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

    /// The costs on the engine, if it counts cycles.
    pub(super) fn costs(&self) -> Option<Costs> {
        self.noted().costs.clone()
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

    fn runs_programs(&self) -> bool {
        self.engine.runs_programs()
    }

    fn check(&self, parameters: &ParameterSet) -> Result<(), TfheError> {
        self.engine.check(parameters)
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
        let bootstraps: usize = jobs.iter().map(bootstraps).sum();
        let each = start.elapsed().as_secs_f64() / bootstraps.max(1) as f64;
        let costs = self.key.take_costs();
        // Measured once; the lock is not held while the engine computes.
        let first = self.times.noted().costs.is_none();
        let measured = match (jobs, &costs[..]) {
            ([job], [cost]) if first => Some(self.measure(job, cost)?),
            _ => None,
        };
        let mut noted = self.times.noted();
        noted.bootstraps.extend((0..bootstraps).map(|_| each));
        noted.costs = noted.costs.take().or(measured);
        Ok(results)
    }

    fn runs_program(&self, program: &ProgramJob<'_>) -> bool {
        self.key.runs_program(program)
    }
}

/// The bootstraps of a job.
fn bootstraps(job: &Job<'_>) -> usize {
    match job {
        Job::Program(program) => program.reached().iter().filter(|step| matches!(step, Step::Bootstrap(..))).count(),
        _ => 1,
    }
}

impl TimedKey {
    /// The costs of instructions, from a job that has run and its cost.
    fn measure(&self, job: &Job<'_>, cost: &EngineCost) -> Result<Costs, TfheError> {
        let Job::Program(program) = job else { return Ok(Costs { bootstrap: cost.cycles, ..Costs::default() }) };
        let cycles = |steps: &[Step]| -> Result<u64, TfheError> {
            self.key.run(&[ProgramJob { steps, ..*program }.into()])?;
            Ok(self.key.take_costs().iter().map(|cost| cost.cycles).sum())
        };
        let without: Vec<Step> =
            program.steps.iter().copied().filter(|step| !matches!(step, Step::Bootstrap(..))).collect();
        let less = |from: u64, cycles: u64| {
            let what = "the engine takes fewer cycles for more instructions".to_owned();
            from.checked_sub(cycles).ok_or(TfheError::Engine { what })
        };
        let rest = less(cost.cycles, cycles(&without)?)?;
        let [(first, _), .., (second, _)] = program.ciphertexts else {
            return Err(TfheError::Engine { what: "the program has fewer than two operands".to_owned() });
        };
        let alone = cycles(&[Step::Return(*first)])?;
        let with = |step: Step| less(cycles(&[step, Step::Return(*first)])?, alone);
        Ok(Costs {
            program: Some(cost.clone()),
            bootstrap: rest / bootstraps(job).max(1) as u64,
            addition: Some(with(Step::Add(*first, *second))?),
            integer_product: Some(with(Step::Scale(*first, 3))?),
        })
    }
}
