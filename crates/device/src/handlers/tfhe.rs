//! TFHE: test vectors, server keys, LWE ciphertexts, and the paper's four arithmetic instructions.
//!
//! Objects are the sealed byte forms of `ciphermill-tfhe`. A Key ID has two parts, the bootstrapping key (data id 1) and the
//! key-switching key (data id 2), of one key set; words need the conversion key (data id 3) as well. Ciphertexts under the small and the big key are both accepted; an
//! instruction computes on operands of one kind.

mod program;
mod transfer;
mod words;

use std::any::Any;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ciphermill_program::{
    DataId, Effect, Facts, Instruction, InstructionSpec, KeyId, KeyUse, LogProbability, ObjectClass, Operand, Operands,
    ResultLength, Scheme, TypeCode, VrId,
};
use ciphermill_tfhe::server_key::{KeyHeader, MAX_KEY_LEN, validate_key};
use ciphermill_tfhe::{
    Ciphertext, KeyKind, KeyOrder, KeyPartError, KeyPartId, KeyTag, ParameterError, ParameterSet, PreparedKey,
    SecurityPolicy, SelectorFile, Table, TestVector, TfheEngine, TfheError,
};
use ciphermill_wire::WireError;
pub use words::{
    CONCATENATE, CONVERSION_KEY, LOOK_UP, SELECT, SLICE, SPLIT, TABLE, WORD_COR, WORD_COW, conversion_key,
};

use super::{ContentError, downcast, invalid, loaded, operand_error, read_whole};
use crate::handler::{
    DEFAULT_LOG2_P_FAIL, HandlerError, Job, KeyContext, KeyPart, KeyShape, ObjectHandler, Premises, Residency, Role,
    Trigger, TypeDescriptor, WholeProgram,
};

/// A test vector: the function that a programmable bootstrap evaluates.
pub const TV: TypeCode = TypeCode(1);
/// A public evaluation key; the data id says which.
pub const KEY: TypeCode = TypeCode(2);
/// A TLWE ciphertext; reading it runs the program (compute-on-read).
pub const TLWE_COR: TypeCode = TypeCode(3);
/// A TLWE ciphertext; writing it runs the program (compute-on-write).
pub const TLWE_COW: TypeCode = TypeCode(4);

/// The data id of the bootstrapping key (paper, Table 3).
pub const BOOTSTRAPPING_KEY: DataId = DataId(1);
/// The data id of the (public functional) key-switching key.
pub const KEY_SWITCHING_KEY: DataId = DataId(2);

/// The register of the bootstrapping key of `key_id`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(tfhe::bootstrapping_key(KeyId(1)).to_string(), "2:1:1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn bootstrapping_key(key_id: KeyId) -> VrId {
    VrId::new(KEY, key_id, BOOTSTRAPPING_KEY)
}

/// The register of the key-switching key of `key_id`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(tfhe::key_switching_key(KeyId(1)).to_string(), "2:1:2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn key_switching_key(key_id: KeyId) -> VrId {
    VrId::new(KEY, key_id, KEY_SWITCHING_KEY)
}

/// The opcodes of TFHE's instructions: the paper's, and those of words.
pub mod opcode {
    use ciphermill_program::Opcode;

    /// `bootstrap tv, n`
    pub const BOOTSTRAP: Opcode = Opcode(4);
    /// `homadd n1, n2`
    pub const HOM_ADD: Opcode = Opcode(5);
    /// `homsub n1, n2`
    pub const HOM_SUB: Opcode = Opcode(6);
    /// `homintmult n, v`
    pub const HOM_INT_MULT: Opcode = Opcode(7);
    /// `wselect n, v`
    pub const SELECT: Opcode = Opcode(48);
    /// `wlook t, n`
    pub const LOOK_UP: Opcode = Opcode(49);
    /// `wslice n, v`
    pub const SLICE: Opcode = Opcode(50);
    /// `wcat n1, n2`
    pub const CONCATENATE: Opcode = Opcode(51);
    /// `wsplit n1, n2`
    pub const SPLIT: Opcode = Opcode(52);
}

static TEST_VECTOR: ObjectClass = ObjectClass::operand("a test vector", TV).with_default_name("tv");
static SERVER_KEY: ObjectClass = ObjectClass::operand("a key", KEY);
static TLWE: ObjectClass = ObjectClass::ciphertext("a TLWE ciphertext", TLWE_COR, TLWE_COW);

/// The keys of a bootstrap.
const SERVER_KEYS: &[KeyUse] = &[
    KeyUse { name: "bootstrapping key", type_code: KEY, data_id: BOOTSTRAPPING_KEY },
    KeyUse { name: "key-switching key", type_code: KEY, data_id: KEY_SWITCHING_KEY },
];

/// Programmable bootstrapping, in place, for the function that the test vector tabulates.
pub static BOOTSTRAP: InstructionSpec = InstructionSpec::new(
    opcode::BOOTSTRAP,
    "bootstrap",
    &[Operand::read("tv", &TEST_VECTOR), Operand::read_write("n", &TLWE)],
    "n ← programmable bootstrap of n for the function in tv",
)
.keys(SERVER_KEYS)
.result(ResultLength::OfOperand(1));

/// The sum of two ciphertexts, modulo 2^32 in each word.
pub static HOM_ADD: InstructionSpec = InstructionSpec::new(
    opcode::HOM_ADD,
    "homadd",
    &[Operand::read_write("n1", &TLWE), Operand::read("n2", &TLWE)],
    "n1 ← n1 + n2",
)
.result(ResultLength::Common);

/// The difference of two ciphertexts, modulo 2^32 in each word.
pub static HOM_SUB: InstructionSpec = InstructionSpec::new(
    opcode::HOM_SUB,
    "homsub",
    &[Operand::read_write("n1", &TLWE), Operand::read("n2", &TLWE)],
    "n1 ← n1 − n2",
)
.result(ResultLength::Common);

/// The multiple of a ciphertext. 32 bits reach every residue modulo 2^32, so a wider factor would add nothing. The factor is
/// signed because the noise grows with its absolute value.
pub static HOM_INT_MULT: InstructionSpec = InstructionSpec::new(
    opcode::HOM_INT_MULT,
    "homintmult",
    &[Operand::read_write("n", &TLWE)],
    "n ← v · n, v a signed 32-bit integer",
)
.factor("v")
.result(ResultLength::OfOperand(0));

/// TFHE's part of the instruction set.
pub static SCHEME: Scheme = Scheme {
    name: "TFHE",
    classes: &[&TEST_VECTOR, &SERVER_KEY, &TLWE, &words::TABLES, &words::WORDS],
    instructions: &[
        &BOOTSTRAP,
        &HOM_ADD,
        &HOM_SUB,
        &HOM_INT_MULT,
        &words::SELECT,
        &words::LOOK_UP,
        &words::SLICE,
        &words::CONCATENATE,
        &words::SPLIT,
    ],
    opcodes: &[4..=7, 48..=63],
};

pub(super) static TYPES: [TypeDescriptor; 7] = [
    TypeDescriptor { code: TV, name: "test vector", residency: Residency::Persistent, role: Role::TestVector },
    TypeDescriptor { code: KEY, name: "TFHE server key", residency: Residency::Persistent, role: Role::Key },
    TypeDescriptor {
        code: TLWE_COR,
        name: "TLWE ciphertext, compute-on-read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: TLWE_COW,
        name: "TLWE ciphertext, compute-on-write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
    words::TYPES[0],
    words::TYPES[1],
    words::TYPES[2],
];

/// Nanoseconds per butterfly-sized step of a bootstrap before any of the key has been timed: slow on purpose, so that a
/// program is sooner refused than cut off. A core of 2020 takes 0.3 to 1.
const INITIAL_NS_PER_STEP: f64 = 2.0;

/// Called with (ciphertexts loaded, all ciphertexts) while a bootstrapping key is brought into the engine's form.
pub type LoadProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The handler. One engine computes for all keys.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let handler = tfhe::TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), SecurityPolicy::Require128Bits);
/// let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(handler)])?;
/// assert_eq!(device.types().len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TfheHandler {
    engine: Arc<dyn TfheEngine>,
    policy: SecurityPolicy,
    progress: Option<LoadProgress>,
}

impl std::fmt::Debug for TfheHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TfheHandler").field("engine", &self.engine.info().name).field("policy", &self.policy).finish()
    }
}

/// The properties of a Key ID before its keys are loaded.
#[derive(Debug)]
struct Shape {
    parameters: ParameterSet,
    tag: KeyTag,
    /// Bits of an f64: the mean time of this key's bootstraps, in nanoseconds per step of [`bootstrap_steps`]. So programs
    /// of other keys and spaces do not change its estimates.
    ns_per_step: AtomicU64,
    /// The measured times of words.
    words: words::Times,
}

impl Shape {
    fn expected_bootstrap(&self) -> f64 {
        f64::from_bits(self.ns_per_step.load(Ordering::Relaxed)) * bootstrap_steps(&self.parameters)
    }

    fn observe_bootstrap(&self, took: Duration) {
        let observed = took.as_nanos() as f64 / bootstrap_steps(&self.parameters);
        // A lost update between two threads costs one sample of an average.
        let mean = f64::from_bits(self.ns_per_step.load(Ordering::Relaxed));
        self.ns_per_step.store((0.75 * mean + 0.25 * observed).to_bits(), Ordering::Relaxed);
    }
}

/// A loaded key, as the device hands it back to [`ObjectHandler::execute`].
struct Loaded(Arc<dyn PreparedKey>);

impl KeyContext for Loaded {
    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }
}

/// Notes which part of a key is read.
struct Noted<'a> {
    content: Box<dyn Read + Send + 'a>,
    part: u32,
    last: Arc<AtomicU32>,
}

impl Read for Noted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.last.store(self.part, Ordering::Relaxed);
        self.content.read(buffer)
    }
}

impl TfheHandler {
    /// A handler that computes with `engine` and accepts keys that `policy` allows.
    #[must_use]
    pub fn new(engine: Arc<dyn TfheEngine>, policy: SecurityPolicy) -> Self {
        Self { engine, policy, progress: None }
    }

    /// Reports the loading of bootstrapping keys.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let handler = tfhe::TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), SecurityPolicy::Require128Bits);
    /// let handler = handler.with_progress(Arc::new(|loaded, all| eprintln!("{loaded} of {all} ciphertexts")));
    /// assert_eq!(handler.name(), "tfhe");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_progress(mut self, progress: LoadProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn check_ciphertext(&self, id: VrId, ciphertext: &Ciphertext, shape: &Shape) -> Result<(), HandlerError> {
        if ciphertext.key_tag() != shape.tag {
            let what = format!(
                "ciphertext of key set {:016x}, but key {} holds key set {:016x}; store it under its own key",
                ciphertext.key_tag().0,
                id.key_id,
                shape.tag.0
            );
            return Err(HandlerError::Invalid { id, what });
        }
        shape.parameters.check_ciphertext(ciphertext).map_err(|e| invalid(id, e))
    }
}

fn bootstrap(
    key: &Loaded,
    shape: Option<&Shape>,
    input: &Ciphertext,
    vector: &TestVector,
) -> Result<Ciphertext, TfheError> {
    let start = Instant::now();
    let result = key.0.bootstrap(input, vector)?;
    if let Some(shape) = shape {
        shape.observe_bootstrap(start.elapsed());
    }
    Ok(result)
}

/// Butterfly-sized steps of a bootstrap: n·(k+1)·(l+1) transforms of N·log2(N).
fn bootstrap_steps(parameters: &ParameterSet) -> f64 {
    let transforms =
        parameters.lwe_dimension.0 * parameters.glwe_dimension.glwe_size() * (parameters.pbs.level_count.0 + 1);
    let size = parameters.polynomial_size;
    transforms as f64 * size.get() as f64 * f64::from(size.log2())
}

/// Whether objects of the type are tables or words.
fn is_of_words(code: TypeCode) -> bool {
    code == words::TABLE || words::is_word(code)
}

fn key_kind(id: VrId) -> Result<KeyKind, HandlerError> {
    match id.data_id {
        BOOTSTRAPPING_KEY => Ok(KeyKind::Bootstrap),
        KEY_SWITCHING_KEY => Ok(KeyKind::Keyswitch),
        CONVERSION_KEY => Ok(KeyKind::Conversion),
        other => {
            let what = format!(
                "no TFHE key has data id {other}; 1 is the bootstrapping key, 2 the key-switching key, 3 the conversion key"
            );
            Err(HandlerError::Invalid { id, what })
        }
    }
}

impl ContentError for TfheError {
    fn into_io(self) -> Result<std::io::Error, Self> {
        match self {
            Self::Io(source) | Self::Wire(WireError::Io(source)) => Ok(source),
            other => Err(other),
        }
    }

    fn needs_opt_in(&self) -> bool {
        matches!(self, Self::Parameters(ParameterError::Insecure { .. }))
    }
}

fn ciphertext(id: VrId, bytes: &[u8]) -> Result<Ciphertext, HandlerError> {
    Ciphertext::from_bytes(bytes).map_err(|e| operand_error(id, &e))
}

impl ObjectHandler for TfheHandler {
    fn name(&self) -> &'static str {
        "tfhe"
    }

    fn scheme(&self) -> &'static Scheme {
        &SCHEME
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        let (_, header, parameters) = KeyHeader::open(key_kind(id)?, head, self.policy).map_err(|e| invalid(id, e))?;
        let ns_per_step = AtomicU64::new(INITIAL_NS_PER_STEP.to_bits());
        let words = words::Times::new(INITIAL_NS_PER_STEP * bootstrap_steps(&parameters));
        Ok(Arc::new(Shape { parameters, tag: header.tag(), ns_per_step, words }))
    }

    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let wrong = |expected: String| HandlerError::WrongSize { id, given: size, expected };
        if id.type_code == KEY {
            key_kind(id)?;
            let range = 1..=MAX_KEY_LEN;
            return if range.contains(&size) { Ok(()) } else { Err(wrong(format!("1 to {MAX_KEY_LEN}"))) };
        }
        if is_of_words(id.type_code) {
            return words::check_size(id, size, downcast::<Shape>(shape).map(|shape| &shape.parameters));
        }
        let Some(shape) = downcast::<Shape>(shape) else {
            // Without a key, the largest objects of any admissible set bound what may arrive.
            let max = if id.type_code == TV { 16 << 20 } else { 4 << 20 };
            return if (1..=max).contains(&size) { Ok(()) } else { Err(wrong(format!("1 to {max}"))) };
        };
        let spec = shape.parameters.spec();
        if id.type_code == TV {
            let lens = spec.sealed_test_vector_lens();
            let expected = || format!("{} (or {} in version 1)", lens[1], lens[0]);
            return if lens.contains(&size) { Ok(()) } else { Err(wrong(expected())) };
        }
        let [small, big] = [KeyOrder::Small, KeyOrder::Big].map(|order| spec.sealed_ciphertext_lens(order));
        if small.contains(&size) || big.contains(&size) {
            Ok(())
        } else {
            let [[old_small, small], [old_big, big]] = [small, big];
            Err(wrong(format!("{small} (small key) or {big} (big key); {old_small} or {old_big} in version 1")))
        }
    }

    /// Keys are read in blocks.
    fn validate_bytes(&self, id: VrId, size: u64) -> u64 {
        if id.type_code == KEY { 4 << 20 } else { 2 * size }
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        let shape: Option<&Shape> = downcast(shape);
        if id.type_code == KEY {
            let header = validate_key(key_kind(id)?, content, self.policy).map_err(|e| invalid(id, e))?;
            if let Some(other) = shape
                && (header.tag() != other.tag || header.spec() != other.parameters.spec())
            {
                let what = format!(
                    "key set {:016x} ({}) does not go with key set {:016x} ({}), the other part stored under key {}; delete \
                     that first or use another Key ID",
                    header.tag().0,
                    header.spec().name,
                    other.tag.0,
                    other.parameters.name,
                    id.key_id
                );
                return Err(HandlerError::Invalid { id, what });
            }
            return Ok(());
        }
        let bytes = read_whole(id, size, content)?;
        if is_of_words(id.type_code) {
            return words::validate(id, &bytes, shape.map(|shape| (&shape.parameters, shape.tag)));
        }
        if id.type_code == TV {
            let vector = TestVector::from_bytes(&bytes).map_err(|e| invalid(id, e))?;
            if let Some(shape) = shape {
                shape.parameters.check_test_vector(&vector).map_err(|e| invalid(id, e))?;
            }
            return Table::of(&vector).map(drop).map_err(|e| invalid(id, e));
        }
        let ciphertext = Ciphertext::from_bytes(&bytes).map_err(|e| invalid(id, e))?;
        shape.map_or(Ok(()), |shape| self.check_ciphertext(id, &ciphertext, shape))
    }

    fn key_bytes(&self, shape: &dyn KeyShape) -> u64 {
        downcast::<Shape>(Some(shape)).map_or(0, |shape| self.engine.key_bytes(&shape.parameters))
    }

    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let id = |part: KeyPartId| VrId { data_id: DataId(part.0), ..bootstrapping_key(key_id) };
        // Engines read one part after another, so that an error belongs to the part that was read last.
        let last = Arc::new(AtomicU32::new(KeyPartId::BOOTSTRAP.0));
        let parts = parts.into_iter().map(|part| ciphermill_tfhe::KeyPart {
            id: KeyPartId(part.id.data_id.0),
            size: part.size,
            content: Box::new(Noted { content: part.content, part: part.id.data_id.0, last: last.clone() }),
        });
        let mut progress = |done, all| {
            if let Some(report) = &self.progress {
                report(done, all);
            }
        };
        match self.engine.prepare(parts.collect(), self.policy, &mut progress) {
            Ok(key) => Ok(Arc::new(Loaded(key))),
            Err(TfheError::KeyPart(KeyPartError::Missing(part))) => {
                let what = match part {
                    KeyPartId::BOOTSTRAP => "the bootstrapping key",
                    KeyPartId::KEYSWITCH => "the key-switching key",
                    KeyPartId::CONVERSION => "the conversion key",
                    _ => "the key part",
                };
                Err(HandlerError::KeyIncomplete { key: key_id, missing: format!("{what} {}", id(part)) })
            }
            Err(TfheError::KeyPart(error @ (KeyPartError::Unknown(part) | KeyPartError::Repeated(part)))) => {
                Err(HandlerError::Invalid { id: id(part), what: error.to_string() })
            }
            Err(error) => Err(invalid(id(KeyPartId(last.load(Ordering::Relaxed))), error)),
        }
    }

    fn needs_key(&self, instruction: &Instruction) -> bool {
        matches!(instruction.opcode(), opcode::BOOTSTRAP | opcode::SELECT | opcode::LOOK_UP | opcode::SPLIT)
    }

    fn prepares(&self, instruction: &Instruction) -> Option<usize> {
        (instruction.opcode() == opcode::LOOK_UP).then_some(0)
    }

    fn prepare_bytes(&self, _id: VrId, operand: &[u8], _key: &dyn KeyContext) -> Result<u64, HandlerError> {
        Ok(words::prepare_bytes(operand))
    }

    fn prepare(&self, id: VrId, operand: &[u8], _key: &dyn KeyContext) -> Result<Arc<dyn KeyContext>, HandlerError> {
        words::prepare(id, operand)
    }

    fn estimate(&self, instruction: &Instruction, operands: &[Option<u64>], shape: Option<&dyn KeyShape>) -> Duration {
        if let Some(time) = words::estimate(instruction, operands, downcast(shape)) {
            return time;
        }
        let nanoseconds = match (instruction.opcode(), downcast::<Shape>(shape)) {
            (opcode::BOOTSTRAP, Some(shape)) => shape.expected_bootstrap(),
            // A pass over a ciphertext with its checksums, a nanosecond a byte.
            (_, Some(shape)) => shape.parameters.sealed_ciphertext_len(KeyOrder::Big) as f64,
            (_, None) => 0.0,
        };
        Duration::from_nanos(nanoseconds as u64)
    }

    fn result_size(
        &self,
        instruction: &Instruction,
        operands: &[Option<u64>],
        shape: Option<&dyn KeyShape>,
    ) -> Option<u64> {
        words::result_size(instruction, operands, &downcast::<Shape>(shape)?.parameters)
    }

    fn facts(&self, id: VrId, size: u64, content: &mut dyn Read) -> Result<Facts, HandlerError> {
        let bytes = read_whole(id, size, content)?;
        let facts = if is_of_words(id.type_code) { words::facts(id, &bytes) } else { transfer::facts(id, &bytes) };
        facts.map_err(|e| operand_error(id, &e))
    }

    fn newest_size(&self, facts: &Facts, size: u64) -> u64 {
        transfer::newest_size(facts, size)
    }

    fn effect(
        &self,
        instruction: &Instruction,
        operands: &[Facts],
        premises: Premises<'_>,
    ) -> Result<Effect, HandlerError> {
        let parameters = downcast::<Shape>(premises.shape).map(|shape| &shape.parameters);
        let of_words = words::effect(instruction, operands, parameters);
        of_words.unwrap_or_else(|| transfer::Rules::new(premises).effect(instruction, operands))
    }

    fn output_failure(&self, id: VrId, facts: &Facts, premises: Premises<'_>) -> Result<LogProbability, HandlerError> {
        if words::is_word(id.type_code) {
            return Ok(words::output(facts, downcast::<Shape>(premises.shape).map(|shape| &shape.parameters)));
        }
        transfer::Rules::new(premises).output(id, facts)
    }

    fn max_log2_p_fail(&self, shape: Option<&dyn KeyShape>) -> f64 {
        downcast::<Shape>(shape).map_or(DEFAULT_LOG2_P_FAIL, |shape| shape.parameters.log2_p_fail_limit())
    }

    fn new_state(&self) -> Box<dyn Any + Send> {
        Box::new(SelectorFile::new())
    }

    fn state_bytes(&self, key: &dyn KeyContext) -> u64 {
        (key as &dyn Any).downcast_ref::<Loaded>().map_or(0, |key| words::state_bytes(key.0.parameters()))
    }

    fn joined(&self, instructions: &[Instruction], sizes: &[u64], shape: Option<&dyn KeyShape>) -> usize {
        words::joined(instructions, sizes, downcast::<Shape>(shape).map(|shape| &shape.parameters))
    }

    fn execute_on_state(
        &self,
        jobs: &[Job<'_>],
        state: &mut (dyn Any + Send),
        result: &mut Vec<u8>,
    ) -> Result<(), (usize, HandlerError)> {
        words::execute_on_state(jobs, state, result)
    }

    fn runs_program(&self, instructions: &[Instruction]) -> bool {
        self.engine.runs_programs() && program::has_steps(instructions)
    }

    fn execute_program(&self, program: &WholeProgram<'_>, result: &mut Vec<u8>) -> Result<bool, HandlerError> {
        program::execute(program, result)
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        if let Some(word) = words::execute(job) {
            result.extend_from_slice(&word?);
            return Ok(());
        }
        let &Job { instruction, operands, key, shape, .. } = job;
        let value = match (instruction.opcode(), instruction.operands(), operands) {
            (opcode::BOOTSTRAP, Operands::Two(tv, n), [vector, input]) => {
                let key: &Loaded = loaded(key, "a bootstrap")?;
                let vector = TestVector::from_bytes(vector).map_err(|e| operand_error(tv, &e))?;
                bootstrap(key, downcast::<Shape>(shape), &ciphertext(n, input)?, &vector)
                    .map_err(|e| operand_error(n, &e))?
            }
            (opcode::HOM_ADD, Operands::Two(n1, n2), [lhs, rhs]) => {
                let mut sum = ciphertext(n1, lhs)?;
                sum.add_assign(&ciphertext(n2, rhs)?).map_err(|e| operand_error(n2, &e))?;
                sum
            }
            (opcode::HOM_SUB, Operands::Two(n1, n2), [lhs, rhs]) => {
                let mut difference = ciphertext(n1, lhs)?;
                difference.sub_assign(&ciphertext(n2, rhs)?).map_err(|e| operand_error(n2, &e))?;
                difference
            }
            (opcode::HOM_INT_MULT, Operands::Factor(n, value), [input]) => {
                let mut product = ciphertext(n, input)?;
                product.scalar_mul_assign(value);
                product
            }
            _ => return Err(HandlerError::Unsupported { handler: self.name(), opcode: instruction.opcode() }),
        };
        // What an engine states of its result does not count.
        result.extend_from_slice(&value.with_bounds(transfer::result_bounds(job.facts)).to_bytes());
        Ok(())
    }
}
