//! The TFHE engine, co-simulated, as an engine of bootstraps.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphermill_arch::engines::{EngineJob, NO_ROOM, PROGRAM_BYTES, TfheShape, engine_jobs, has_room, registers};
use ciphermill_arch::tfhe_engine::{TfheJob, cost};
use ciphermill_math::goldilocks::{from_torus, inverse, mul};
use ciphermill_math::ntt::reference::forward;
use ciphermill_math::{CostLog, EngineCost, EngineInfo, EngineKind};
use ciphermill_tfhe::ciphertext::{KeyTag, LweElements, TestVector, TestVectorElements};
use ciphermill_tfhe::dimension::Decomposition;
use ciphermill_tfhe::engine::{
    BootstrapJob, Job, KeyPart, KeyPartId, Output, PreparedKey, ProgramJob, Step, TfheEngine,
};
use ciphermill_tfhe::ggsw::GgswCiphertext;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::{KeyOrder, ParameterSet, SecurityPolicy};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::server_key::{read_bootstrap_key, read_keyswitch_key};
use ciphermill_tfhe::{Ciphertext, TfheError};

use crate::axi_memory::AxiTiming;
use crate::model::{Configuration, configurations};
use crate::units::engine_ring::Descriptor;
use crate::units::tfhe_engine::{
    BIG, Gadget, Instruction, Key, KeyShape, Object, TfheEngine as Driver, VERB_BOOTSTRAP, VERB_RUN,
};

const NAME: &str = "rtl-tfhe";
/// Memory of an instance besides keys and programs: input and output of a bootstrap, and its test vector.
const OBJECTS: usize = 2;
const VECTORS: usize = 1;
/// Cycles between two reports of the progress of a job, at least.
pub const REPORT_EVERY: u64 = 10_000;

/// The engine of a configuration of `tfhe_engine`. Each prepared key has its own instance, with the key in its memory.
///
/// # Example
/// ```
/// use ciphermill_cosim::engines::RtlTfhe;
/// use ciphermill_tfhe::TfheEngine;
///
/// // None if this build has no configuration for N = 16384.
/// if let Some(engine) = RtlTfhe::of_size(16384) {
///     assert_eq!(engine.info().name, "rtl-tfhe");
/// }
/// ```
#[derive(Clone)]
pub struct RtlTfhe {
    configuration: &'static Configuration,
    timing: AxiTiming,
    watch: Option<Watch>,
}

/// The progress of a simulated job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles that the job takes with a memory that never waits, by the cycle model.
    pub expected: u64,
}

/// Receives the progress of jobs.
pub type Watch = Arc<dyn Fn(Simulated) + Send + Sync>;

impl RtlTfhe {
    /// An engine on the first configuration for polynomials of N coefficients; `None` if none was built.
    #[must_use]
    pub fn of_size(polynomial_size: usize) -> Option<Self> {
        let size = polynomial_size as u64;
        let fits = |configuration: &&Configuration| Driver::size_of(configuration).polynomial_size == size;
        configurations("tfhe_engine").find(fits).map(Self::new)
    }

    /// An engine on a configuration of `tfhe_engine`, with a memory that never waits.
    ///
    /// # Panics
    /// If the configuration is of another unit.
    #[must_use]
    pub fn new(configuration: &'static Configuration) -> Self {
        assert_eq!(configuration.unit, "tfhe_engine", "a configuration of tfhe_engine");
        Self { configuration, timing: AxiTiming::never_waits(), watch: None }
    }

    /// The same, with jobs that report their progress: every [`REPORT_EVERY`] cycles, and at their end.
    #[must_use]
    pub fn with_watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// The same, with a memory of these times.
    #[must_use]
    pub fn with_timing(mut self, timing: AxiTiming) -> Self {
        self.timing = timing;
        self
    }

    /// The engine's key of a parameter set, or why it has none.
    fn shape(&self, parameters: &ParameterSet) -> Result<TfheShape, TfheError> {
        let n = Driver::size_of(self.configuration).polynomial_size;
        TfheShape::of(parameters, &self.configuration.to_string(), &[n as usize])
    }

    fn memory(&self, shape: TfheShape) -> usize {
        Driver::memory_for(self.configuration, &[driver_shape(shape)], OBJECTS, VECTORS)
            + PROGRAM_BYTES * Driver::size_of(self.configuration).batch() as usize
    }

    /// An instance of the engine with the parts of a server key in its memory.
    ///
    /// # Errors
    /// As [`TfheEngine::prepare`].
    pub fn server(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<RtlServer, TfheError> {
        let [bootstrap, keyswitch] = KeyPart::select(parts, [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH])?;
        let (header, parameters, switch) = read_keyswitch_key(keyswitch.into_reader(), policy)?;
        let model = self.shape(&parameters)?;
        let shape = driver_shape(model);
        let bytes = self.memory(model);
        let mut driver = Driver::new(self.configuration, bytes, &self.timing, 1).map_err(failed)?;
        let key = driver.reserve_key(shape);
        let size = switch.shape().output_dimension.lwe_size();
        driver.put_switch(&key, |row| &switch.elements()[row * size..][..size]);
        drop(switch);
        let mut spectra = Spectra::new(driver.polynomial_size(), shape.rotation.levels as usize)?;
        let mut index = 0;
        let (bootstrap_header, _) = read_bootstrap_key::<u64>(bootstrap.into_reader(), policy, |selector| {
            spectra.transform(&selector);
            driver.put_selector(&key, index, |component, digit| spectra.row(component, digit));
            index += 1;
            progress(index as u64, shape.dimension as u64);
            Ok(())
        })?;
        if bootstrap_header.tag() != header.tag() || bootstrap_header.spec() != header.spec() {
            return Err(failed("the bootstrapping key and the key-switching key are of different key sets"));
        }
        driver.load_key(0, &key).map_err(failed)?.map_err(failed)?;
        let [input, output] = [(); 2].map(|()| driver.allocate_ciphertext());
        let test_vector = driver.allocate_test_vector();
        let objects = driver.free();
        let bytes = bytes as u64;
        let (tag, watch) = (header.tag(), self.watch.clone());
        Ok(RtlServer {
            parameters,
            tag,
            bytes,
            model,
            key,
            broken: false,
            driver,
            input,
            output,
            test_vector,
            objects,
            watch,
        })
    }
}

impl fmt::Debug for RtlTfhe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlTfhe").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

/// The same shape as the driver has it.
fn driver_shape(shape: TfheShape) -> KeyShape {
    let gadget = |of: Decomposition| Gadget { base_log: of.base_log.0 as u32, levels: of.level_count.0 as u32 };
    KeyShape { dimension: shape.dimension, rotation: gadget(shape.rotation), switch: gadget(shape.switch) }
}

fn failed(error: impl fmt::Display) -> TfheError {
    TfheError::Engine { what: error.to_string() }
}

/// The spectra of a GGSW ciphertext as the engine reads them: in bit-reversed order, times 1/N.
struct Spectra {
    n: usize,
    /// 1/N.
    factor: u64,
    levels: usize,
    spectra: Vec<u64>,
}

impl Spectra {
    fn new(n: usize, levels: usize) -> Result<Self, TfheError> {
        let factor = inverse(n as u64).ok_or_else(|| failed("N has no inverse"))?;
        Ok(Self { n, factor, levels, spectra: vec![0; 4 * levels * n] })
    }

    fn transform(&mut self, selector: &GgswCiphertext<u64>) {
        let polynomials = selector.coefficients().chunks_exact(self.n);
        for (polynomial, spectrum) in polynomials.zip(self.spectra.chunks_exact_mut(self.n)) {
            for (residue, &x) in spectrum.iter_mut().zip(polynomial) {
                *residue = mul(from_torus(x), self.factor);
            }
            // A CPU's transform has another order.
            forward(spectrum);
        }
    }

    /// The spectra of both columns.
    fn row(&self, component: usize, digit: usize) -> [&[u64]; 2] {
        let n = self.n;
        let first = 2 * (component * self.levels + digit) * n;
        [&self.spectra[first..][..n], &self.spectra[first + n..][..n]]
    }
}

impl TfheEngine for RtlTfhe {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(NAME, EngineKind::Rtl).on(self.configuration.to_string())
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn check(&self, parameters: &ParameterSet) -> Result<(), TfheError> {
        self.shape(parameters).map(drop)
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        self.shape(parameters).map_or(0, |shape| self.memory(shape) as u64)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let server = self.server(parts, policy, progress)?;
        let (parameters, tag, bytes) = (server.parameters.clone(), server.tag, server.bytes);
        Ok(Arc::new(RtlKey { server: Mutex::new(server), parameters, tag, bytes, costs: CostLog::default() }))
    }
}

/// An instance of the engine with one key set in its memory.
pub struct RtlServer {
    parameters: ParameterSet,
    tag: KeyTag,
    bytes: u64,
    model: TfheShape,
    key: Key,
    /// A job may still be in the engine.
    broken: bool,
    driver: Driver,
    input: u64,
    output: u64,
    test_vector: u64,
    /// The first address behind the key's own objects.
    objects: u64,
    watch: Option<Watch>,
}

impl fmt::Debug for RtlServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlServer").field("tag", &self.tag).field("shape", &self.key.shape).finish_non_exhaustive()
    }
}

impl RtlServer {
    /// Runs one bootstrap.
    ///
    /// # Errors
    /// If an operand is not of this key set, or the engine fails.
    pub fn bootstrap(&mut self, job: BootstrapJob<'_>) -> Result<(Ciphertext, EngineCost), TfheError> {
        let (mut outputs, cost) = self.bootstraps(&[job])?;
        let output = outputs.pop().ok_or_else(|| failed("a bootstrap without an output"))?;
        Ok((output, cost))
    }

    /// Runs bootstraps with inputs under the same key as one job, at most as many as the batch has places. Places without a
    /// bootstrap repeat the last one.
    fn bootstraps(&mut self, jobs: &[BootstrapJob<'_>]) -> Result<(Vec<Ciphertext>, EngineCost), TfheError> {
        // All of them are checked before the first write.
        let mut given = Vec::with_capacity(jobs.len());
        for job in jobs {
            self.check(job.input)?;
            given.push((job.input, self.coefficients(job.test_vector)?));
        }
        let mut length = 0;
        for place in 0..self.driver.batch() {
            let (input, coefficients) = given[place.min(jobs.len() - 1)];
            self.driver.put_test_vector_at(self.test_vector, place, coefficients);
            match input.elements() {
                LweElements::U32(small) => self.driver.put_small_at(self.input, place, small.elements()),
                LweElements::U64(big) => {
                    self.driver.put_big_at(self.input, place, big.elements());
                    length = BIG;
                }
            }
        }
        let operands = [self.input, self.test_vector, self.output, 0, 0, 0];
        let descriptor = Descriptor { operation: VERB_BOOTSTRAP, length, operands };
        let model = TfheJob::Bootstrap { big: length == BIG };
        let cost = self.run(descriptor, &model, self.driver.patience(self.key.shape))?;
        let output = |(place, job): (usize, &BootstrapJob<'_>)| {
            let dimension = self.key.shape.dimension;
            let elements = match job.input.choice() {
                KeyOrder::Small => {
                    LweElements::U32(LweCiphertext::from_elements(self.driver.small_at(self.output, place, dimension)))
                }
                KeyOrder::Big => LweElements::U64(LweCiphertext::from_elements(self.driver.big_at(self.output, place))),
            };
            Ciphertext::new(self.tag, job.input.choice(), elements)
        };
        Ok((jobs.iter().enumerate().map(output).collect(), cost))
    }

    /// Runs a program.
    ///
    /// # Errors
    /// If a step cannot be done, an operand is not of this key set or not under the small key, the memory has no room for the
    /// objects, or the engine fails.
    pub fn run_program(&mut self, program: &ProgramJob<'_>) -> Result<(Ciphertext, EngineCost), TfheError> {
        program.check()?;
        if !has_room(program, self.driver.polynomial_size()) {
            return Err(failed(NO_ROOM));
        }
        self.recover()?;
        self.driver.release(self.objects);
        let object = |address, test_vector| Some(Object { address, slot: 0, test_vector });
        for register in registers(program) {
            let address = self.driver.allocate_stack(1);
            self.driver.set_register(register, object(address, false)).map_err(failed)?;
            let given = program.ciphertexts.iter().find(|(other, _)| *other == register);
            let Some((_, ciphertext)) = given else { continue };
            self.check(ciphertext)?;
            let LweElements::U32(elements) = ciphertext.elements() else {
                return Err(failed("a program computes under the small key"));
            };
            self.driver.put_small(address, elements.elements());
        }
        for (register, test_vector) in program.test_vectors {
            let vector = self.coefficients(test_vector)?;
            let address = self.driver.allocate_test_vector();
            self.driver.put_test_vector(address, vector);
            self.driver.set_register(*register, object(address, true)).map_err(failed)?;
        }
        let depth = program.stack_depth() as u64;
        let stack = self.driver.allocate_stack(depth);
        let steps = program.reached();
        let instructions: Vec<Instruction> = steps.iter().map(|&step| instruction(step)).collect();
        let address = self.driver.allocate(8 * instructions.len() as u64);
        self.driver.put_program(address, &instructions);
        let length = instructions.len() as u32;
        let operands = [address, self.output, stack, depth, 0, 0];
        let descriptor = Descriptor { operation: VERB_RUN, length, operands };
        let job = TfheJob::Program(steps.iter().map(|step| step.opcode()).collect());
        let bootstraps = steps.iter().filter(|step| matches!(step, Step::Bootstrap(..))).count() as u64;
        let cost = self.run(
            descriptor,
            &job,
            (bootstraps + 1) * self.driver.patience(self.key.shape) + 1000 * steps.len() as u64,
        )?;
        let elements = LweCiphertext::from_elements(self.driver.small(self.output, self.key.shape.dimension));
        Ok((Ciphertext::new(self.tag, KeyOrder::Small, LweElements::U32(elements)), cost))
    }

    fn check(&self, ciphertext: &Ciphertext) -> Result<(), TfheError> {
        let given = ciphertext.key_tag();
        if given != self.tag {
            return Err(TfheError::KeySet { what: "key tag of the ciphertext", given, expected: self.tag });
        }
        self.parameters.check_ciphertext(ciphertext)
    }

    fn coefficients<'v>(&self, test_vector: &'v TestVector) -> Result<&'v [u64], TfheError> {
        self.parameters.check_test_vector(test_vector)?;
        match test_vector.elements() {
            TestVectorElements::U64(vector) => Ok(vector.coefficients()),
            TestVectorElements::U32(_) => Err(failed("a test vector on a torus of 32 bits")),
        }
    }

    /// The cycles of a job by the cycle model.
    fn expected_cycles(&self, job: &TfheJob) -> u64 {
        cost(self.driver.size(), self.model.key(), job).cycles
    }

    /// After a failure of the engine: a reset, and the key again, which is still in memory.
    fn recover(&mut self) -> Result<(), TfheError> {
        if self.broken {
            self.driver.host.reset();
            self.driver.start().map_err(failed)?;
            self.driver.load_key(0, &self.key).map_err(failed)?.map_err(failed)?;
            self.broken = false;
        }
        Ok(())
    }

    fn run(&mut self, descriptor: Descriptor, job: &TfheJob, patience: u64) -> Result<EngineCost, TfheError> {
        self.recover()?;
        let before = self.driver.host.counters().map_err(failed)?;
        let expected = self.expected_cycles(job);
        let watch = self.watch.clone();
        let mut reported = 0;
        let mut progress = |cycles: u64| {
            if let Some(watch) = &watch
                && cycles - reported >= REPORT_EVERY
            {
                reported = cycles;
                watch(Simulated { cycles, expected });
            }
        };
        let ran = self.driver.run_job_with(descriptor, patience, &mut progress);
        self.broken = ran.is_err();
        let cycles = ran.map_err(failed)?.map_err(failed)?;
        if let Some(watch) = &watch {
            watch(Simulated { cycles: cycles.into(), expected: cycles.into() });
        }
        self.driver.host.cost_since(&before).map_err(failed)
    }
}

/// The step as the engine reads it.
fn instruction(step: Step) -> Instruction {
    let (first, second, integer) = match step {
        Step::Return(place) | Step::Push(place) | Step::Pop(place) => (place, 0, 0),
        Step::Move(first, second)
        | Step::Bootstrap(first, second)
        | Step::Add(first, second)
        | Step::Sub(first, second) => (first, second, 0),
        Step::Scale(place, factor) => (place, 0, factor),
    };
    Instruction { opcode: step.opcode(), first, second, integer }
}

struct RtlKey {
    server: Mutex<RtlServer>,
    parameters: ParameterSet,
    tag: KeyTag,
    bytes: u64,
    costs: CostLog,
}

impl fmt::Debug for RtlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlKey").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl RtlKey {
    fn server(&self) -> MutexGuard<'_, RtlServer> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PreparedKey for RtlKey {
    fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    fn tag(&self) -> KeyTag {
        self.tag
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        let mut server = self.server();
        let mut outputs = Vec::with_capacity(jobs.len());
        for job in engine_jobs(NAME, jobs, server.driver.batch())? {
            let (found, cost) = match job {
                EngineJob::Bootstraps(group) => server.bootstraps(&group)?,
                EngineJob::Program(program) => {
                    let (output, cost) = server.run_program(program)?;
                    (vec![output], cost)
                }
            };
            self.costs.add(cost);
            outputs.extend(found.into_iter().map(Output::Ciphertext));
        }
        Ok(outputs)
    }

    fn runs_program(&self, program: &ProgramJob<'_>) -> bool {
        has_room(program, self.parameters.polynomial_size.get())
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        self.costs.take()
    }
}
