//! BFV: Galois keys, plain matrices, encrypted vectors, and the instruction that multiplies.
//!
//! Objects are the sealed byte forms of `ciphermill-bfv`. A Key ID has one part, the Galois keys (data id 1). A matrix brings
//! the plan of its products; a register of type 7 or 8 holds a vector encrypted for such a plan, or the product that `hmvp`
//! made of it. A matrix is prepared for the first product and kept within the device's key memory.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphermill_bfv::parameters::ParameterError;
use ciphermill_bfv::serial::{GaloisKeysHeader, MAX_LOADED_KEY_BYTES};
use ciphermill_bfv::{BfvError, Context, GaloisKeys, ParameterId, ParameterSet, SecurityPolicy};
use ciphermill_hmvp::{
    EncryptedProduct, EncryptedVector, HmvpEngine, HmvpError, MatrixHandle, PlainMatrix, PlanError, PreparedKeys,
    SealedMatrix,
};
use ciphermill_lattice::KeyTag;
use ciphermill_math::Isa;
use ciphermill_program::{
    DataId, Effect, Fact, Facts, Instruction, InstructionSpec, KeyId, KeyUse, LogProbability, ObjectClass, Opcode,
    Operand, Operands, Scheme, TypeCode, VrId,
};
use ciphermill_wire::WireError;

use super::{ContentError, downcast, invalid, loaded, operand_error, read_whole};
use crate::cost::BySize;
use crate::handler::{
    HandlerError, Job, KeyContext, KeyPart, KeyShape, ObjectHandler, Premises, Residency, Role, Trigger, TypeDescriptor,
};

/// A public evaluation key; the data id says which.
pub const KEY: TypeCode = TypeCode(5);
/// A plain matrix for products with encrypted vectors, with the plan of the product.
pub const MATRIX: TypeCode = TypeCode(6);
/// An encrypted vector, or the product of a matrix with one; reading it runs the program.
pub const VECTOR_COR: TypeCode = TypeCode(7);
/// An encrypted vector, or the product of a matrix with one; writing it runs the program.
pub const VECTOR_COW: TypeCode = TypeCode(8);

/// The data id of the Galois keys.
pub const GALOIS_KEYS: DataId = DataId(1);

/// The register of the Galois keys of `key_id`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(bfv::galois_keys(KeyId(1)).to_string(), "5:1:1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn galois_keys(key_id: KeyId) -> VrId {
    VrId::new(KEY, key_id, GALOIS_KEYS)
}

/// The opcode of `hmvp matrix, n`.
const HMVP_OPCODE: Opcode = Opcode(16);

static GALOIS_KEY: ObjectClass = ObjectClass::operand("a BFV key", KEY);
static PLAIN_MATRIX: ObjectClass = ObjectClass::operand("a plain matrix", MATRIX);
static VECTOR: ObjectClass = ObjectClass::ciphertext("an encrypted vector", VECTOR_COR, VECTOR_COW);
static RESERVED: ObjectClass = ObjectClass::reserved("of an unassigned BFV type", TypeCode(9), TypeCode(15));

/// The product of a plain matrix and an encrypted vector.
pub static HMVP: InstructionSpec = InstructionSpec::new(
    HMVP_OPCODE,
    "hmvp",
    &[Operand::read("matrix", &PLAIN_MATRIX), Operand::read_write("n", &VECTOR)],
    "n ← matrix · n: the encrypted vector becomes the encrypted product",
)
.keys(&[KeyUse { name: "Galois key object", type_code: KEY, data_id: GALOIS_KEYS }]);

/// BFV's part of the instruction set. Opcodes 17 to 31 are set aside.
pub static SCHEME: Scheme = Scheme {
    name: "BFV",
    classes: &[&GALOIS_KEY, &PLAIN_MATRIX, &VECTOR, &RESERVED],
    instructions: &[&HMVP],
    opcodes: &[16..=31],
};

pub(super) static TYPES: [TypeDescriptor; 4] = [
    TypeDescriptor { code: KEY, name: "BFV Galois keys", residency: Residency::Persistent, role: Role::Key },
    TypeDescriptor { code: MATRIX, name: "plain matrix", residency: Residency::Persistent, role: Role::TestVector },
    TypeDescriptor {
        code: VECTOR_COR,
        name: "BFV vector, compute-on-read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: VECTOR_COW,
        name: "BFV vector, compute-on-write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
];

/// Most bytes of Galois keys that are stored.
const MAX_KEY_BYTES: u64 = 8 << 30;
/// Most bytes of a matrix: 16384 × 16384 entries of 4 bytes, and the plan.
const MAX_MATRIX_BYTES: u64 = (16384 * 16384 * 4) + (64 << 10);
/// Most bytes of a vector or product.
const MAX_VECTOR_BYTES: u64 = 64 << 20;
/// Most memory that checking Galois keys takes: the tables of the largest set.
const MAX_VALIDATED_KEY_BYTES: u64 = 64 << 20;
/// The expected time of a product before one has been timed. It is high on purpose: the device then refuses a program
/// rather than cut it off.
const INITIAL_NS: f64 = 100e6;
/// Bytes of a matrix that take as long as the part of a product that does not grow with the matrix, roughly.
const FIXED_BYTES: u64 = 1 << 20;

/// The handler. One engine computes for all keys.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let engine = Arc::new(ciphermill_hmvp::CpuEngine::default());
/// let handler = bfv::BfvHandler::new(engine, ciphermill_bfv::SecurityPolicy::Require128Bits);
/// let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(handler)])?;
/// assert!(device.instruction_set().named("hmvp").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BfvHandler {
    engine: Arc<dyn HmvpEngine>,
    policy: SecurityPolicy,
    isa: Isa,
}

impl std::fmt::Debug for BfvHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BfvHandler").field("engine", &self.engine.info()).field("policy", &self.policy).finish()
    }
}

/// The properties of a Key ID before its keys are loaded.
#[derive(Debug)]
struct Shape {
    parameters: ParameterSet,
    tag: KeyTag,
    /// Bytes that the loaded keys take.
    loaded_bytes: u64,
    /// What products under the key took, by the size of their matrix. Kept with the key, so that no space learns from another
    /// or misleads it.
    costs: BySize,
}

/// A loaded key.
struct Loaded {
    keys: GaloisKeys,
    context: Context,
    bytes: u64,
}

impl KeyContext for Loaded {
    fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

/// A matrix ready to multiply under a key, and the key in the form that the matrix's plan needs.
struct Ready {
    matrix: MatrixHandle,
    keys: Arc<dyn PreparedKeys>,
    /// Bytes of the matrix as it is stored.
    stored_bytes: u64,
}

impl KeyContext for Ready {
    fn memory_bytes(&self) -> u64 {
        self.matrix.memory_bytes() + self.keys.memory_bytes() + tables_bytes(self.matrix.plan().context().parameters())
    }
}

/// The failure of a matrix's products.
#[derive(Debug)]
struct Planned {
    log2_failure: f64,
}

impl Fact for Planned {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// Bytes that the tables of a parameter set take, roughly: the roots of unity and their companions for each prime of the
/// chain, the tables of the plain modulus, and the permutations of the slots.
fn tables_bytes(parameters: &ParameterSet) -> u64 {
    let words = parameters.polynomial_size.get() as u64 * (parameters.chain().count() as u64 + 2);
    8 * 4 * words
}

impl BfvHandler {
    /// A handler that computes with `engine` on the current instruction set and accepts keys that `policy` allows.
    #[must_use]
    pub fn new(engine: Arc<dyn HmvpEngine>, policy: SecurityPolicy) -> Self {
        Self { engine, policy, isa: Isa::current() }
    }

    fn ready(&self, key: &Loaded, matrix: &[u8]) -> Result<Ready, HmvpError> {
        let stored_bytes = matrix.len() as u64;
        let matrix = PlainMatrix::from_bytes(matrix, self.policy, self.isa)?;
        let (given, expected) = (matrix.plan().context().parameters().id(), key.context.parameters().id());
        if given != expected {
            let what = "the matrix";
            return Err(BfvError::WrongParameters { what, given: given.0, expected: expected.0 }.into());
        }
        // The matrix first: a refusal for its size costs less than the keys.
        let prepared = self.engine.prepare_matrix(matrix.plan(), &matrix)?;
        let keys = self.engine.prepare(matrix.plan(), &key.keys)?;
        Ok(Ready { matrix: prepared, keys, stored_bytes })
    }
}

/// The product of a prepared matrix and a vector. Its time is learnt for the shape of the key.
fn product(ready: &Ready, id: VrId, vector: &[u8], shape: Option<&Shape>) -> Result<Vec<u8>, HandlerError> {
    let vector = EncryptedVector::from_bytes(ready.matrix.plan(), vector).map_err(|e| operand_error(id, &e))?;
    let start = Instant::now();
    let product = ready.keys.multiply(&ready.matrix, &vector).map_err(|e| engine_error(id, e))?;
    if let Some(shape) = shape {
        shape.costs.observe(ready.stored_bytes, start.elapsed());
    }
    Ok(product.to_bytes())
}

/// An error of the engine, or of the operand `id`.
fn engine_error(id: VrId, error: HmvpError) -> HandlerError {
    match error {
        HmvpError::Outputs { .. }
        | HmvpError::ForeignMatrix
        | HmvpError::UnsupportedStrategy { .. }
        | HmvpError::UnsupportedJob { .. } => HandlerError::Engine { what: error.to_string() },
        error if error.needs_opt_in() => HandlerError::Insecure { id, what: error.to_string() },
        error => operand_error(id, &error),
    }
}

/// Keys have one part.
fn require_galois_keys(id: VrId) -> Result<(), HandlerError> {
    if id.data_id == GALOIS_KEYS {
        return Ok(());
    }
    let what = format!("no BFV key has data id {}; 1 is that of the Galois keys", id.data_id);
    Err(HandlerError::Invalid { id, what })
}

impl ContentError for BfvError {
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

impl ContentError for HmvpError {
    fn into_io(self) -> Result<std::io::Error, Self> {
        match self {
            Self::Scheme(error) => error.into_io().map_err(Self::Scheme),
            other => Err(other),
        }
    }

    fn needs_opt_in(&self) -> bool {
        match self {
            Self::Scheme(error) => error.needs_opt_in(),
            Self::Plan(PlanError::Security { .. }) => true,
            _ => false,
        }
    }
}

/// A mismatch with the parameter set of the key stored under the same Key ID, if there is one.
fn require_parameters(
    id: VrId,
    what: &'static str,
    given: ParameterId,
    shape: Option<&Shape>,
) -> Result<(), HandlerError> {
    match shape.map(|shape| shape.parameters.id()) {
        Some(expected) if expected != given => {
            let error = BfvError::WrongParameters { what, given: given.0, expected: expected.0 };
            Err(HandlerError::Invalid { id, what: error.to_string() })
        }
        _ => Ok(()),
    }
}

/// Reads the head of Galois keys, then all of them.
fn read_keys(
    content: &mut dyn Read,
    policy: SecurityPolicy,
    isa: Isa,
) -> Result<(GaloisKeysHeader, Context, GaloisKeys), BfvError> {
    let mut head = Recorder { inner: content, seen: Vec::new() };
    let header = GaloisKeysHeader::read(&mut head, policy)?;
    let context = Context::new(header.parameters(), isa)?;
    let seen = head.seen;
    let keys = GaloisKeys::read(&context, seen.as_slice().chain(content), MAX_LOADED_KEY_BYTES)?;
    Ok((header, context, keys))
}

/// Keeps the bytes that are read through it, so that they can be read again.
struct Recorder<'a> {
    inner: &'a mut dyn Read,
    seen: Vec<u8>,
}

impl Read for Recorder<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.seen.extend_from_slice(&buf[..count]);
        Ok(count)
    }
}

impl ObjectHandler for BfvHandler {
    fn name(&self) -> &'static str {
        "bfv"
    }

    fn scheme(&self) -> &'static Scheme {
        &SCHEME
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        require_galois_keys(id)?;
        let header = GaloisKeysHeader::read(head, self.policy).map_err(|e| invalid(id, e))?;
        let (parameters, tag) = (header.parameters().clone(), header.tag());
        let costs = BySize::new(INITIAL_NS, FIXED_BYTES);
        Ok(Arc::new(Shape { parameters, tag, loaded_bytes: header.loaded_bytes(), costs }))
    }

    /// A vector has one size and its product another, and both depend on the plan, which a register does not name. So
    /// the content itself is judged when it arrives.
    fn check_size(&self, id: VrId, size: u64, _shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let max = match id.type_code {
            KEY => {
                require_galois_keys(id)?;
                MAX_KEY_BYTES
            }
            MATRIX => MAX_MATRIX_BYTES,
            _ => MAX_VECTOR_BYTES,
        };
        let expected = format!("1 to {max}");
        if (1..=max).contains(&size) { Ok(()) } else { Err(HandlerError::WrongSize { id, given: size, expected }) }
    }

    /// Of keys, one polynomial at a time is in memory, and the tables of their set.
    fn validate_bytes(&self, id: VrId, size: u64) -> u64 {
        if id.type_code == KEY { MAX_VALIDATED_KEY_BYTES } else { size.saturating_mul(2) }
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        if id.type_code == KEY {
            require_galois_keys(id)?;
            // One part is all there is of a key, so no other part's shape has to fit.
            return GaloisKeys::validate(content, self.policy, self.isa).map(drop).map_err(|e| invalid(id, e));
        }
        let bytes = read_whole(id, size, content)?;
        if id.type_code == MATRIX {
            let matrix = SealedMatrix::from_bytes(&bytes, self.policy).map_err(|e| invalid(id, e))?;
            return require_parameters(id, "matrix", matrix.parameters(), downcast(shape));
        }
        let product = |error: HmvpError| {
            // An object is one of both kinds; a refused parameter set says more than a wrong kind.
            let kinder = |other| if error.needs_opt_in() { error } else { other };
            EncryptedProduct::head(&bytes, self.policy).map_err(kinder)
        };
        let head = EncryptedVector::head(&bytes, self.policy).or_else(product);
        let head = head.map_err(|e| invalid(id, e))?;
        require_parameters(id, "vector", head.parameters, downcast(shape))?;
        match downcast::<Shape>(shape) {
            Some(shape) if shape.tag != head.tag => {
                let what = format!(
                    "vector of key set {}, but key {} holds key set {}; store it under its own key",
                    head.tag, id.key_id, shape.tag
                );
                Err(HandlerError::Invalid { id, what })
            }
            _ => Ok(()),
        }
    }

    fn key_bytes(&self, shape: &dyn KeyShape) -> u64 {
        downcast::<Shape>(Some(shape)).map_or(0, |shape| shape.loaded_bytes + 2 * tables_bytes(&shape.parameters))
    }

    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let part = parts.into_iter().find(|part| part.id.data_id == GALOIS_KEYS);
        let mut part = part.ok_or_else(|| HandlerError::KeyIncomplete {
            key: key_id,
            missing: format!("the Galois key object {}", galois_keys(key_id)),
        })?;
        let (header, context, keys) =
            read_keys(&mut part.content, self.policy, self.isa).map_err(|e| invalid(part.id, e))?;
        let bytes = header.loaded_bytes() + tables_bytes(context.parameters());
        Ok(Arc::new(Loaded { keys, context, bytes }))
    }

    /// A product uses its matrix in the engine's form.
    fn prepares(&self, instruction: &Instruction) -> Option<usize> {
        (instruction.opcode() == HMVP_OPCODE).then_some(0)
    }

    fn prepare_bytes(&self, id: VrId, operand: &[u8], _key: &dyn KeyContext) -> Result<u64, HandlerError> {
        let plan = SealedMatrix::plan(operand, self.policy, self.isa).map_err(|e| engine_error(id, e))?;
        let engine = self.engine.keys_bytes(&plan).saturating_add(self.engine.matrix_bytes(&plan));
        // The entries are in memory next to the prepared matrix while that is made.
        Ok(engine.saturating_add(operand.len() as u64).saturating_add(2 * tables_bytes(plan.context().parameters())))
    }

    fn prepare(&self, id: VrId, operand: &[u8], key: &dyn KeyContext) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let key: &Loaded = loaded(Some(key), "a matrix")?;
        Ok(Arc::new(self.ready(key, operand).map_err(|e| engine_error(id, e))?))
    }

    fn needs_key(&self, instruction: &Instruction) -> bool {
        instruction.opcode() == HMVP_OPCODE
    }

    fn estimate(&self, instruction: &Instruction, operands: &[Option<u64>], shape: Option<&dyn KeyShape>) -> Duration {
        match (instruction.opcode(), downcast::<Shape>(shape)) {
            (HMVP_OPCODE, Some(shape)) => shape.costs.expect(operands.first().copied().flatten()),
            // Without a key nothing is computed.
            _ => Duration::ZERO,
        }
    }

    /// A matrix states the plan of its products, and the plan their failure probability.
    fn facts(&self, id: VrId, _size: u64, content: &mut dyn Read) -> Result<Facts, HandlerError> {
        if id.type_code != MATRIX {
            return Ok(Facts::NONE);
        }
        match SealedMatrix::read_log2_failure(content, self.policy) {
            Ok(log2_failure) => Ok(Facts::new(Planned { log2_failure })),
            Err(error) => Err(error.into_io().map_or_else(|e| operand_error(id, &e), |io| HandlerError::read(id, io))),
        }
    }

    /// A product is wrong, once it is decrypted, as often as the plan of its matrix says. The plan refuses a product as
    /// input, so failures do not build up from product to product.
    fn effect(
        &self,
        instruction: &Instruction,
        operands: &[Facts],
        _premises: Premises<'_>,
    ) -> Result<Effect, HandlerError> {
        match (instruction.opcode(), operands) {
            (HMVP_OPCODE, [matrix, _]) => {
                let failure = matrix
                    .get()
                    .map_or(LogProbability::UNKNOWN, |planned: &Planned| LogProbability::new(planned.log2_failure));
                Ok(Effect { failure, ..Effect::default() })
            }
            _ => Ok(Effect::default()),
        }
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        match (job.instruction.opcode(), job.instruction.operands(), job.operands) {
            (HMVP_OPCODE, Operands::Two(_, n), [_, vector]) => {
                let ready: &Ready = loaded(job.prepared, "a product")?;
                *result = product(ready, n, vector, downcast(job.shape))?;
                Ok(())
            }
            _ => Err(HandlerError::Unsupported { handler: self.name(), opcode: job.instruction.opcode() }),
        }
    }
}
