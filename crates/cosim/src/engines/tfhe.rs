//! The TFHE engine, co-simulated, as an engine of bootstraps.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphermill_math::goldilocks::{from_torus, inverse, mul};
use ciphermill_math::ntt::reference::forward;
use ciphermill_math::{EngineCost, EngineInfo, EngineKind};
use ciphermill_tfhe::ciphertext::{KeyTag, LweElements, TestVectorElements};
use ciphermill_tfhe::dimension::Decomposition;
use ciphermill_tfhe::engine::{BootstrapJob, Job, KeyPart, KeyPartId, Output, PreparedKey, TfheEngine};
use ciphermill_tfhe::ggsw::GgswCiphertext;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::modulus_switch::ModulusSwitch;
use ciphermill_tfhe::parameters::{KeyOrder, ParameterSet, SecurityPolicy, TorusWidth};
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::server_key::{read_bootstrap_key, read_keyswitch_key};
use ciphermill_tfhe::{Ciphertext, TfheError};

use crate::axi_memory::AxiTiming;
use crate::model::{Configuration, configurations};
use crate::units::engine_ring::{Descriptor, registers as ring};
use crate::units::tfhe_engine::{
    BIG, Gadget, Instruction, KeyShape, Object, STACK_PLACE, TfheEngine as Driver, VERB_BOOTSTRAP, VERB_RUN,
};

const NAME: &str = "rtl-tfhe";
/// Memory of an instance: as many big ciphertexts, and as many test vectors.
const OBJECTS: usize = 16;
const VECTORS: usize = 8;

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
}

impl RtlTfhe {
    /// An engine on the first configuration for polynomials of N coefficients; `None` if none was built.
    #[must_use]
    pub fn of_size(polynomial_size: usize) -> Option<Self> {
        let fits = |configuration: &&Configuration| 1usize << configuration.parameter("LogN") == polynomial_size;
        configurations("tfhe_engine").find(fits).map(Self::new)
    }

    /// An engine on a configuration of `tfhe_engine`, with a memory that never waits.
    ///
    /// # Panics
    /// If the configuration is of another unit.
    #[must_use]
    pub fn new(configuration: &'static Configuration) -> Self {
        assert_eq!(configuration.unit, "tfhe_engine", "a configuration of tfhe_engine");
        Self { configuration, timing: AxiTiming::never_waits() }
    }

    /// The same, with a memory of these times.
    #[must_use]
    pub fn with_timing(mut self, timing: AxiTiming) -> Self {
        self.timing = timing;
        self
    }

    /// The engine's key of a parameter set, or why it has none.
    fn shape(&self, parameters: &ParameterSet) -> Result<KeyShape, TfheError> {
        let n = 1usize << self.configuration.parameter("LogN");
        let gadget = |of: Decomposition| Gadget { base_log: of.base_log.0 as u32, levels: of.level_count.0 as u32 };
        let shape = KeyShape {
            dimension: parameters.lwe_dimension.0,
            rotation: gadget(parameters.pbs),
            switch: gadget(parameters.ks),
        };
        let refused = [
            (parameters.torus != TorusWidth::U64, "a torus of 64 bits".to_owned()),
            (parameters.polynomial_size.get() != n, format!("N = {n}")),
            (parameters.glwe_dimension.0 != 1, "k = 1".to_owned()),
            (parameters.modulus_switch != ModulusSwitch::Plain, "the plain modulus switch".to_owned()),
            (shape.dimension > 1023, "n up to 1023".to_owned()),
            (shape.rotation.base_log > 16 || shape.rotation.levels > 15, "a base up to 2^16, 15 digits".to_owned()),
            (shape.switch.base_log > 4 || shape.switch.levels > 15, "key switches in base up to 2^4".to_owned()),
        ];
        match refused.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, use_)) => Err(TfheError::Engine {
                what: format!("{} computes no set {}; use a set with {use_}", self.configuration, parameters.name),
            }),
            None => Ok(shape),
        }
    }

    fn memory(&self, shape: KeyShape) -> usize {
        Driver::memory_for(self.configuration, &[shape], OBJECTS, VECTORS)
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
        let shape = self.shape(&parameters)?;
        let bytes = self.memory(shape);
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
        let n = driver.polynomial_size() as u64;
        let [input, output] = [(); 2].map(|()| driver.allocate(8 * (n + 1)));
        let test_vector = driver.allocate(16 * n);
        let objects = driver.free();
        let bytes = bytes as u64;
        Ok(RtlServer { parameters, tag: header.tag(), bytes, shape, driver, input, output, test_vector, objects })
    }
}

impl fmt::Debug for RtlTfhe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlTfhe").field("configuration", &self.configuration).finish_non_exhaustive()
    }
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
        Ok(Arc::new(RtlKey { server: Mutex::new(server), parameters, tag, bytes, costs: Mutex::default() }))
    }
}

/// A program of the engine with the ciphertexts and test vectors of its registers.
#[derive(Clone, Debug, Default)]
pub struct TfheProgram {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Registers of ciphertexts under the small key, with their n + 1 elements.
    pub samples: Vec<(u8, Vec<u32>)>,
    /// Registers of test vectors, with both components of a GLWE ciphertext.
    pub vectors: Vec<(u8, Vec<u64>)>,
    /// Places of the stack.
    pub stack: u16,
}

/// An instance of the engine with one key set in its memory.
pub struct RtlServer {
    parameters: ParameterSet,
    tag: KeyTag,
    bytes: u64,
    shape: KeyShape,
    driver: Driver,
    input: u64,
    output: u64,
    test_vector: u64,
    /// The first address behind the key's own objects.
    objects: u64,
}

impl fmt::Debug for RtlServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlServer").field("tag", &self.tag).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl RtlServer {
    /// Runs one bootstrap.
    ///
    /// # Errors
    /// If an operand is not of this key set, or the engine fails.
    pub fn bootstrap(&mut self, job: BootstrapJob<'_>) -> Result<(Ciphertext, EngineCost), TfheError> {
        let given = job.input.key_tag();
        if given != self.tag {
            return Err(TfheError::KeySet { what: "key tag of the ciphertext", given, expected: self.tag });
        }
        self.parameters.check_ciphertext(job.input)?;
        self.parameters.check_test_vector(job.test_vector)?;
        let TestVectorElements::U64(vector) = job.test_vector.elements() else {
            return Err(failed("a test vector on a torus of 32 bits"));
        };
        self.driver.put_test_vector(self.test_vector, vector.coefficients());
        let length = match job.input.elements() {
            LweElements::U32(small) => {
                self.driver.put_small(self.input, small.elements());
                0
            }
            LweElements::U64(big) => {
                self.driver.put_big(self.input, big.elements());
                BIG
            }
        };
        let operands = [self.input, self.test_vector, self.output, 0, 0, 0];
        let cost = self.run(Descriptor { operation: VERB_BOOTSTRAP, length, operands }, 1)?;
        let elements = match job.input.choice() {
            KeyOrder::Small => {
                LweElements::U32(LweCiphertext::from_elements(self.driver.small(self.output, self.shape.dimension)))
            }
            KeyOrder::Big => LweElements::U64(LweCiphertext::from_elements(self.driver.big(self.output))),
        };
        Ok((Ciphertext::new(self.tag, job.input.choice(), elements), cost))
    }

    /// Runs a program and returns the elements of its result.
    ///
    /// # Errors
    /// If the memory has no room for the objects, or the engine fails.
    pub fn run_program(&mut self, program: &TfheProgram) -> Result<(Vec<u32>, EngineCost), TfheError> {
        let object = |address, test_vector| Some(Object { address, slot: 0, test_vector });
        self.driver.release(self.objects);
        for (register, elements) in &program.samples {
            let address = self.driver.allocate(STACK_PLACE);
            self.driver.put_small(address, elements);
            self.driver.set_register(*register, object(address, false)).map_err(failed)?;
        }
        for (register, coefficients) in &program.vectors {
            let address = self.driver.allocate(8 * coefficients.len() as u64);
            self.driver.put_test_vector(address, coefficients);
            self.driver.set_register(*register, object(address, true)).map_err(failed)?;
        }
        let stack = self.driver.allocate(STACK_PLACE * u64::from(program.stack));
        let instructions = self.driver.allocate(8 * program.instructions.len() as u64);
        self.driver.put_program(instructions, &program.instructions);
        let length = program.instructions.len() as u32;
        let operands = [instructions, self.output, stack, u64::from(program.stack), 0, 0];
        let bootstraps = program.instructions.iter().filter(|instruction| instruction.opcode == 4).count();
        let cost = self.run(Descriptor { operation: VERB_RUN, length, operands }, bootstraps as u64 + 1)?;
        Ok((self.driver.small(self.output, self.shape.dimension), cost))
    }

    fn run(&mut self, descriptor: Descriptor, bootstraps: u64) -> Result<EngineCost, TfheError> {
        let before = self.driver.host.words();
        let stalls = self.driver.host.read(ring::STALLS).map_err(failed)?;
        let patience = bootstraps * self.driver.patience(self.shape);
        let cycles = self.driver.run_job(descriptor, patience).map_err(failed)?.map_err(failed)?;
        let stalls = self.driver.host.read(ring::STALLS).map_err(failed)?.wrapping_sub(stalls);
        let bytes = |((name, read, written), (_, read_before, written_before))| {
            let bytes = |words: u64| 64 * words;
            (name, bytes(read - read_before), bytes(written - written_before))
        };
        let ports = self.driver.host.words().into_iter().zip(before).map(bytes).collect();
        Ok(EngineCost { cycles: u64::from(cycles), stalls: u64::from(stalls), ports })
    }
}

struct RtlKey {
    server: Mutex<RtlServer>,
    parameters: ParameterSet,
    tag: KeyTag,
    bytes: u64,
    costs: Mutex<Vec<EngineCost>>,
}

impl fmt::Debug for RtlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlKey").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl RtlKey {
    fn costs(&self) -> MutexGuard<'_, Vec<EngineCost>> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
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
        let bootstraps = jobs.iter().map(|job| match job {
            Job::Bootstrap(bootstrap) => Ok(*bootstrap),
            other => Err(TfheError::UnsupportedJob { engine: NAME.to_owned(), job: other.name() }),
        });
        let bootstraps = bootstraps.collect::<Result<Vec<_>, _>>()?;
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let run = |job| {
            let (output, cost) = server.bootstrap(job)?;
            self.costs().push(cost);
            Ok(Output::Ciphertext(output))
        };
        bootstraps.into_iter().map(run).collect()
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        std::mem::take(&mut *self.costs())
    }
}
