//! The TFHE engine's cycle model behind the seam of TFHE.

use std::collections::BTreeSet;
use std::sync::Arc;

use ciphermill_math::{CostLog, EngineCost, EngineInfo, EngineKind};
use ciphermill_tfhe::ciphertext::KeyTag;
use ciphermill_tfhe::dimension::Decomposition;
use ciphermill_tfhe::engine::{
    BootstrapJob, Job, KeyPart, Output, PreparedKey, ProgramJob, Register, Step, TfheEngine,
};
use ciphermill_tfhe::modulus_switch::ModulusSwitch;
use ciphermill_tfhe::parameters::{KeyOrder, ParameterSet, SecurityPolicy, TorusWidth};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::{Backend, CpuEngine, TfheError};

use super::engine_cost;
use crate::tfhe_engine::{TfheJob, TfheKey, TfheSize, WORD_BYTES, cost};

const NAME: &str = "model-tfhe";
/// The polynomial sizes for which the model is compared with the RTL, with two circuits and with others.
const SIZES: &[usize] = &[4096, 16384];
const OTHER_SIZES: &[usize] = &[16384];
/// The engine's registers of n, and of bases and digits.
const MAX_DIMENSION: usize = 1023;
const MAX_LEVELS: usize = 15;
const MAX_BASE_LOG: usize = 16;
const MAX_SWITCH_BASE_LOG: usize = 4;

/// A key as the engine's registers describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfheShape {
    /// N.
    pub polynomial_size: usize,
    /// n.
    pub dimension: usize,
    /// The decomposition of the rotation.
    pub rotation: Decomposition,
    /// The decomposition of the key switch.
    pub switch: Decomposition,
}

impl TfheShape {
    /// The engine's key of a parameter set, on `engine` with polynomials of one of these sizes.
    ///
    /// # Errors
    /// [`TfheError::Engine`], which names the bound that the set breaks.
    pub fn of(parameters: &ParameterSet, engine: &str, sizes: &[usize]) -> Result<Self, TfheError> {
        let spec = parameters.spec();
        let shape = Self {
            polynomial_size: spec.polynomial_size.get(),
            dimension: spec.lwe_dimension.0,
            rotation: spec.pbs,
            switch: spec.ks,
        };
        let beyond = |of: Decomposition, base: usize| of.base_log.0 > base || of.level_count.0 > MAX_LEVELS;
        let given: Vec<String> = sizes.iter().map(|size| format!("N = {size}")).collect();
        let refused = [
            (spec.torus != TorusWidth::U64, "a torus of 64 bits".to_owned()),
            (!sizes.contains(&shape.polynomial_size), given.join(" or ")),
            (spec.glwe_dimension.0 != 1, "k = 1".to_owned()),
            (spec.modulus_switch != ModulusSwitch::Plain, "the plain modulus switch".to_owned()),
            (shape.dimension > MAX_DIMENSION, format!("n up to {MAX_DIMENSION}")),
            (beyond(shape.rotation, MAX_BASE_LOG), format!("a base up to 2^{MAX_BASE_LOG}, {MAX_LEVELS} digits")),
            (beyond(shape.switch, MAX_SWITCH_BASE_LOG), format!("key switches in base up to 2^{MAX_SWITCH_BASE_LOG}")),
        ];
        match refused.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, use_)) => Err(TfheError::Engine {
                what: format!("{engine} computes no set {}; use a set with {use_}", spec.name),
            }),
            None => Ok(shape),
        }
    }

    /// The size of an engine with 1, 2 or 4 transform circuits.
    #[must_use]
    pub fn size(&self, circuits: u64) -> TfheSize {
        TfheSize { polynomial_size: self.polynomial_size as u64, circuits }
    }

    /// The key of the cycle model.
    #[must_use]
    pub fn key(&self) -> TfheKey {
        TfheKey {
            dimension: self.dimension as u64,
            levels: self.rotation.level_count.0 as u64,
            switch_levels: self.switch.level_count.0 as u64,
        }
    }
}

/// The instructions of a program, as LENGTH of its job counts them.
const MAX_STEPS: usize = 65_535;
/// Bytes of a place of the stack, of a page, and of a ciphertext under the small key at most.
const PAGE: usize = 4096;
/// The bytes of memory for the objects of a program.
pub const PROGRAM_BYTES: usize = 4 << 20;
/// Why a program is refused.
pub const NO_ROOM: &str = "the engine has no room for the program; use ciphertexts under the small key, and fewer steps or \
                           test vectors";

/// Whether the engine takes the program: all ciphertexts are under the small key, and its objects fit into
/// [`PROGRAM_BYTES`].
#[must_use]
pub fn has_room(program: &ProgramJob<'_>, polynomial_size: usize) -> bool {
    let small = program.ciphertexts.iter().all(|(_, ciphertext)| ciphertext.choice() == KeyOrder::Small);
    let pages = |bytes: usize| bytes.next_multiple_of(PAGE);
    let needed = PAGE * (registers(program).len() + program.stack_depth() + 1)
        + pages(16 * polynomial_size) * program.test_vectors.len()
        + pages(8 * program.steps.len());
    small && (1..=MAX_STEPS).contains(&program.steps.len()) && needed <= PROGRAM_BYTES
}

/// The registers of ciphertexts: those that a program begins with, and those that it writes.
#[must_use]
pub fn registers(program: &ProgramJob<'_>) -> BTreeSet<Register> {
    let written = program.steps.iter().filter_map(|step| match *step {
        Step::Move(register, _) | Step::Pop(register) => Some(register),
        // The others write to a register that they read.
        _ => None,
    });
    program.ciphertexts.iter().map(|(register, _)| *register).chain(written).collect()
}

/// A job of the engine.
#[derive(Clone, Debug)]
pub enum EngineJob<'a> {
    /// Bootstraps with inputs under the same key, as many as the engine's batch has places, or fewer.
    Bootstraps(Vec<BootstrapJob<'a>>),
    /// A program.
    Program(&'a ProgramJob<'a>),
}

/// Groups jobs of the seam, in their order, into those of an engine whose batch has `places` places.
///
/// # Errors
/// [`TfheError::UnsupportedJob`] if one of them is neither a bootstrap nor a program.
pub fn engine_jobs<'a>(engine: &str, jobs: &'a [Job<'a>], places: usize) -> Result<Vec<EngineJob<'a>>, TfheError> {
    let mut grouped: Vec<EngineJob<'a>> = Vec::with_capacity(jobs.len());
    for job in jobs {
        match job {
            Job::Bootstrap(job) => match grouped.last_mut() {
                Some(EngineJob::Bootstraps(group))
                    if group.len() < places && group[0].input.choice() == job.input.choice() =>
                {
                    group.push(*job);
                }
                _ => grouped.push(EngineJob::Bootstraps(vec![*job])),
            },
            Job::Program(program) => grouped.push(EngineJob::Program(program)),
            other => return Err(TfheError::UnsupportedJob { engine: engine.to_owned(), job: other.name() }),
        }
    }
    Ok(grouped)
}

/// An engine that computes on the CPU by the exact transform, and counts the cycles of the TFHE engine with a memory that
/// never waits.
///
/// # Example
/// ```
/// use ciphermill_arch::engines::ModelTfhe;
/// use ciphermill_tfhe::TfheEngine;
///
/// let engine = ModelTfhe::new();
/// assert_eq!(engine.info().to_string(), "model-tfhe, simulated, 2 circuits");
/// assert!(engine.runs_programs());
/// ```
#[derive(Clone, Debug)]
pub struct ModelTfhe {
    cpu: CpuEngine,
    circuits: u64,
}

impl Default for ModelTfhe {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelTfhe {
    /// The engine with two transform circuits, on the best instruction set of this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self { cpu: CpuEngine::new(Backend::Ntt), circuits: 2 }
    }

    /// The same with 1, 2 or 4 circuits. With four, two bootstraps of a batch run as one job.
    ///
    /// # Errors
    /// [`TfheError::Engine`] with another number.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::engines::ModelTfhe;
    /// use ciphermill_tfhe::TfheEngine;
    ///
    /// let engine = ModelTfhe::new().with_circuits(4)?;
    /// assert_eq!(engine.info().to_string(), "model-tfhe, simulated, 4 circuits");
    /// assert!(ModelTfhe::new().with_circuits(3).is_err());
    /// # Ok::<(), ciphermill_tfhe::TfheError>(())
    /// ```
    pub fn with_circuits(self, circuits: u64) -> Result<Self, TfheError> {
        if [1, 2, 4].contains(&circuits) {
            Ok(Self { circuits, ..self })
        } else {
            Err(TfheError::Engine { what: format!("{circuits} circuits; the engine has 1, 2 or 4") })
        }
    }

    fn shape(&self, parameters: &ParameterSet) -> Result<TfheShape, TfheError> {
        let sizes = if self.circuits == 2 { SIZES } else { OTHER_SIZES };
        TfheShape::of(parameters, &format!("the cycle model of {} circuits", self.circuits), sizes)
    }
}

impl TfheEngine for ModelTfhe {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(NAME, EngineKind::Simulated).on(format!("{} circuits", self.circuits))
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn check(&self, parameters: &ParameterSet) -> Result<(), TfheError> {
        self.shape(parameters).map(drop)
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.cpu.key_bytes(parameters)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let key = self.cpu.prepare(parts, policy, progress)?;
        let shape = self.shape(key.parameters())?;
        Ok(Arc::new(ModelKey { key, shape, circuits: self.circuits, costs: CostLog::default() }))
    }
}

#[derive(Debug)]
struct ModelKey {
    key: Arc<dyn PreparedKey>,
    shape: TfheShape,
    circuits: u64,
    costs: CostLog,
}

impl ModelKey {
    fn cost(&self, job: &TfheJob) -> EngineCost {
        let size = self.shape.size(self.circuits);
        let cost = cost(size, self.shape.key(), job);
        let keys: Vec<_> = (0..size.key_ports()).map(|port| (format!("key_{port}"), [cost.key, 0])).collect();
        // The ring's port reads the descriptor and writes a word with the status.
        let own = [("ring", [WORD_BYTES, WORD_BYTES]), ("data", cost.data)];
        let ports = own.into_iter().chain(keys.iter().map(|(name, bytes)| (name.as_str(), *bytes)));
        engine_cost(cost.cycles, cost.stalls, ports)
    }
}

impl PreparedKey for ModelKey {
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
        let places = self.shape.size(self.circuits).batch() as usize;
        let mut outputs = Vec::with_capacity(jobs.len());
        for job in engine_jobs(NAME, jobs, places)? {
            let model = match job {
                EngineJob::Program(program) => {
                    program.check()?;
                    if !self.runs_program(program) {
                        return Err(TfheError::Engine { what: NO_ROOM.to_owned() });
                    }
                    outputs.push(Output::Ciphertext(program.by_steps(&*self.key)?));
                    TfheJob::Program(program.reached().iter().map(|step| step.opcode()).collect())
                }
                EngineJob::Bootstraps(group) => {
                    let big = group[0].input.choice() == KeyOrder::Big;
                    let jobs: Vec<Job<'_>> = group.into_iter().map(Job::from).collect();
                    outputs.extend(self.key.run(&jobs)?);
                    TfheJob::Bootstrap { big }
                }
            };
            self.costs.add(self.cost(&model));
        }
        Ok(outputs)
    }

    fn runs_program(&self, program: &ProgramJob<'_>) -> bool {
        has_room(program, self.shape.polynomial_size)
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        self.costs.take()
    }
}
