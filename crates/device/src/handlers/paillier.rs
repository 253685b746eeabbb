//! Paillier: public keys, public weights, vectors of ciphertexts, and the instructions that compute on them.
//!
//! Objects are the sealed byte forms of `ciphermill-paillier`. A Key ID has one part, the public key (data id 1). A
//! register of type 18 or 19 holds a vector of ciphertexts of that key. Sums and products are modulo n, and no
//! instruction blinds again. So an observer of operands and result can relate them, as with the other schemes of this
//! device.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphermill_bigint::ModExpEngine;
use ciphermill_paillier::{
    CiphertextVector, EngineEvaluation, KeyBits, PaillierError, PublicKey, PublicWeights, SizePolicy,
};
use ciphermill_program::{
    DataId, Instruction, InstructionSpec, KeyId, KeyUse, ObjectClass, Operand, Operands, ResultLength, Scheme,
    TypeCode, VrId,
};
use ciphermill_wire::{WireError, sealed_len};

use super::{ContentError, downcast, invalid, loaded, operand_error, read_whole};
use crate::cost::Rate;
use crate::handler::{
    HandlerError, Job, KeyContext, KeyPart, KeyShape, ObjectHandler, Residency, Role, Trigger, TypeDescriptor,
};

/// A public key.
pub const KEY: TypeCode = TypeCode(16);
/// A matrix of public integers, which ciphertexts are multiplied with, or which are added to them.
pub const WEIGHTS: TypeCode = TypeCode(17);
/// A vector of ciphertexts; reading it runs the program.
pub const VECTOR_COR: TypeCode = TypeCode(18);
/// A vector of ciphertexts; writing it runs the program.
pub const VECTOR_COW: TypeCode = TypeCode(19);

/// The data id of the public key.
pub const PUBLIC_KEY: DataId = DataId(1);

/// The register of the public key of `key_id`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(paillier::public_key(KeyId(1)).to_string(), "16:1:1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn public_key(key_id: KeyId) -> VrId {
    VrId::new(KEY, key_id, PUBLIC_KEY)
}

/// The opcodes of Paillier's instructions.
pub mod opcode {
    use ciphermill_program::Opcode;

    /// `padd n1, n2`
    pub const ADD: Opcode = Opcode(32);
    /// `psub n1, n2`
    pub const SUBTRACT: Opcode = Opcode(33);
    /// `paddplain weights, n`
    pub const ADD_PLAIN: Opcode = Opcode(34);
    /// `pscale weights, n`
    pub const SCALE: Opcode = Opcode(35);
    /// `pmatvec weights, n`
    pub const MAT_VEC: Opcode = Opcode(36);
}

static KEY_CLASS: ObjectClass = ObjectClass::operand("a Paillier key", KEY);
static WEIGHTS_CLASS: ObjectClass = ObjectClass::operand("a matrix of public weights", WEIGHTS);
static VECTOR: ObjectClass = ObjectClass::ciphertext("a Paillier vector", VECTOR_COR, VECTOR_COW);
static RESERVED: ObjectClass = ObjectClass::reserved("of an unassigned Paillier type", TypeCode(20), TypeCode(31));

const KEYS: &[KeyUse] = &[KeyUse { name: "Paillier public key", type_code: KEY, data_id: PUBLIC_KEY }];
const TWO_VECTORS: &[Operand] = &[Operand::read_write("n1", &VECTOR), Operand::read("n2", &VECTOR)];
const WEIGHTS_AND_VECTOR: &[Operand] = &[Operand::read("weights", &WEIGHTS_CLASS), Operand::read_write("n", &VECTOR)];

/// The sum of two vectors of one length.
pub static ADD: InstructionSpec =
    InstructionSpec::new(opcode::ADD, "padd", TWO_VECTORS, "n1 ← n1 + n2, element by element")
        .keys(KEYS)
        .result(ResultLength::Common);

/// The difference of two vectors of one length.
pub static SUBTRACT: InstructionSpec =
    InstructionSpec::new(opcode::SUBTRACT, "psub", TWO_VECTORS, "n1 ← n1 − n2, element by element")
        .keys(KEYS)
        .result(ResultLength::Common);

/// Adds public integers: a matrix of one row and as many columns as the vector has elements.
pub static ADD_PLAIN: InstructionSpec =
    InstructionSpec::new(opcode::ADD_PLAIN, "paddplain", WEIGHTS_AND_VECTOR, "n ← n + weights, a matrix of one row")
        .keys(KEYS)
        .result(ResultLength::OfOperand(1));

/// Multiplies by public integers: a matrix of one row and as many columns as the vector has elements, or 1 × 1.
pub static SCALE: InstructionSpec = InstructionSpec::new(
    opcode::SCALE,
    "pscale",
    WEIGHTS_AND_VECTOR,
    "n ← weights · n, element by element; a 1 × 1 matrix scales all",
)
.keys(KEYS)
.result(ResultLength::OfOperand(1));

/// The product of a public matrix and the vector; it has an element for each row.
pub static MAT_VEC: InstructionSpec = InstructionSpec::new(
    opcode::MAT_VEC,
    "pmatvec",
    WEIGHTS_AND_VECTOR,
    "n ← weights · n, the matrix times the vector",
)
.keys(KEYS);

/// Paillier's part of the instruction set. Opcodes 37 to 47 are set aside.
pub static SCHEME: Scheme = Scheme {
    name: "Paillier",
    classes: &[&KEY_CLASS, &WEIGHTS_CLASS, &VECTOR, &RESERVED],
    instructions: &[&ADD, &SUBTRACT, &ADD_PLAIN, &SCALE, &MAT_VEC],
    opcodes: &[32..=47],
};

pub(super) static TYPES: [TypeDescriptor; 4] = [
    TypeDescriptor { code: KEY, name: "Paillier public key", residency: Residency::Persistent, role: Role::Key },
    TypeDescriptor { code: WEIGHTS, name: "public weights", residency: Residency::Persistent, role: Role::TestVector },
    TypeDescriptor {
        code: VECTOR_COR,
        name: "Paillier vector, compute-on-read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: VECTOR_COW,
        name: "Paillier vector, compute-on-write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
];

/// Most bytes of a public key: n, h_s and their head.
const MAX_KEY_BYTES: u64 = sealed_len(8 + KeyBits::MAX as u64 * 3 / 8);
/// Most bytes of a vector, and of a matrix of weights. It bounds the copy out of main memory for one instruction.
const MAX_OBJECT_BYTES: u64 = 64 << 20;
/// The expected time of a sum for each element under a key of 2048 bits before one has been timed. It is high on
/// purpose: the device then refuses a program rather than cut it off.
const INITIAL_SUM_NS: f64 = 200e3;
/// The same for a multiple.
const INITIAL_SCALE_NS: f64 = 1e6;
/// The same for a product, for each weight and each element.
const INITIAL_PRODUCT_NS: f64 = 200e3;
/// The expected time of an instruction before one has been timed, if the sizes of its operands are not known.
const INITIAL_UNKNOWN_NS: f64 = 100e6;

/// The handler.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use ciphermill_bigint::CpuEngine;
/// use ciphermill_device::handlers::paillier::PaillierHandler;
/// use ciphermill_paillier::SizePolicy;
///
/// let handler = PaillierHandler::new(Arc::new(CpuEngine::current()), SizePolicy::Standard);
/// # drop(handler);
/// ```
#[derive(Debug)]
pub struct PaillierHandler {
    engine: Arc<dyn ModExpEngine>,
    policy: SizePolicy,
}

/// A public key, and what instructions under it took. Kept with the key, so that no space learns from another or misleads it.
#[derive(Debug)]
struct Shape {
    key: PublicKey,
    costs: Costs,
}

/// Times for each unit of [`work`].
#[derive(Debug)]
struct Costs {
    /// Of `padd`, `psub` and `paddplain`.
    sums: Rate,
    /// Of `pscale`.
    multiples: Rate,
    /// Of `pmatvec`.
    products: Rate,
}

impl Costs {
    fn new() -> Self {
        let rate = |unit_ns| Rate::new(unit_ns, INITIAL_UNKNOWN_NS);
        Self { sums: rate(INITIAL_SUM_NS), multiples: rate(INITIAL_SCALE_NS), products: rate(INITIAL_PRODUCT_NS) }
    }

    fn of(&self, instruction: &Instruction) -> Option<&Rate> {
        match instruction.opcode() {
            opcode::ADD | opcode::SUBTRACT | opcode::ADD_PLAIN => Some(&self.sums),
            opcode::SCALE => Some(&self.multiples),
            opcode::MAT_VEC => Some(&self.products),
            _ => None,
        }
    }
}

/// A public key on the engine. All operands of a device are public, so any engine will do.
#[derive(Debug)]
struct Loaded(EngineEvaluation);

impl KeyContext for Loaded {
    fn memory_bytes(&self) -> u64 {
        constants_bytes(self.0.key().bits()) + self.0.engine_bytes()
    }
}

/// The most memory that a key and the constants of its modulus take on a CPU, in bytes: n² in as many lanes as a vector
/// register has, some 30 times.
fn constants_bytes(bits: KeyBits) -> u64 {
    (64 << 10) + 256 * u64::from(bits.get()) * 2 / 8
}

impl PaillierHandler {
    /// A handler that computes on an engine and accepts keys of the sizes that `policy` admits. A key that is too long for
    /// the engine can be stored; an instruction that needs it is refused.
    #[must_use]
    pub fn new(engine: Arc<dyn ModExpEngine>, policy: SizePolicy) -> Self {
        Self { engine, policy }
    }

    fn read_key(&self, id: VrId, content: &mut dyn Read) -> Result<PublicKey, HandlerError> {
        require_public_key(id)?;
        let bytes = read_whole(id, MAX_KEY_BYTES, content)?;
        PublicKey::from_bytes(&bytes, self.policy).map_err(|e| invalid(id, e))
    }
}

/// Ciphertexts of a key in a vector of `size` bytes.
fn elements(key: &PublicKey, size: u64) -> u64 {
    size.saturating_sub(CiphertextVector::sealed_len(key.bits(), 0)) * 4 / u64::from(key.bits().get())
}

/// Weights in a sealed matrix of `size` bytes: rows and columns take 8 bytes, 64 weights and their signs 520.
fn weights_in(size: u64) -> u64 {
    let body = size.saturating_sub(sealed_len(8));
    body / 520 * 64 + (body % 520).saturating_sub(8) / 8
}

/// The work of an instruction, in elements of a vector under a key of 2048 bits; in a product, in weights and elements.
/// Multiplication modulo n² goes with the square of the key's bits.
fn work(key: &PublicKey, instruction: &Instruction, operands: &[Option<u64>]) -> Option<f64> {
    let size = |index: usize| operands.get(index).copied().flatten();
    let units = match instruction.opcode() {
        opcode::ADD | opcode::SUBTRACT => elements(key, size(0).or(size(1))?),
        // Weights go with a vector element by element, so either operand tells.
        opcode::ADD_PLAIN | opcode::SCALE => match (size(0), size(1)) {
            (_, Some(vector)) => elements(key, vector),
            (matrix, None) => weights_in(matrix?),
        },
        opcode::MAT_VEC => weights_in(size(0)?) + size(1).map_or(0, |size| elements(key, size)),
        _ => return None,
    };
    Some(units as f64 * (f64::from(key.bits().get()) / 2048.0).powi(2))
}

/// Keys have one part.
fn require_public_key(id: VrId) -> Result<(), HandlerError> {
    if id.data_id == PUBLIC_KEY {
        return Ok(());
    }
    let what = format!("no Paillier key has data id {}; 1 is that of the public key", id.data_id);
    Err(HandlerError::Invalid { id, what })
}

impl ContentError for PaillierError {
    fn into_io(self) -> Result<std::io::Error, Self> {
        match self {
            Self::Wire(WireError::Io(source)) => Ok(source),
            other => Err(other),
        }
    }

    fn needs_opt_in(&self) -> bool {
        matches!(self, Self::KeyBits { bits } if (KeyBits::MIN_INSECURE..KeyBits::MIN).contains(bits))
    }
}

fn vector(key: &PublicKey, id: VrId, bytes: &[u8]) -> Result<CiphertextVector, HandlerError> {
    CiphertextVector::from_bytes(key, bytes).map_err(|e| operand_error(id, &e))
}

fn weights(id: VrId, bytes: &[u8]) -> Result<PublicWeights, HandlerError> {
    PublicWeights::from_bytes(bytes).map_err(|e| operand_error(id, &e))
}

/// The operands of a sum, of one length: `ciphermill-paillier` would repeat a vector of one element, which here is more likely a
/// mistake.
fn pair(key: &PublicKey, ids: [VrId; 2], bytes: [&[u8]; 2]) -> Result<[CiphertextVector; 2], HandlerError> {
    let [left, right] = [vector(key, ids[0], bytes[0])?, vector(key, ids[1], bytes[1])?];
    if left.len() != right.len() {
        return Err(operand_error(ids[1], &PaillierError::Length { left: left.len(), right: right.len() }));
    }
    Ok([left, right])
}

/// The one row of weights that stand for a vector.
fn single_row(id: VrId, weights: &PublicWeights) -> Result<&[i128], HandlerError> {
    match weights.rows() {
        1 => Ok(weights.row(0)),
        rows => {
            let what = format!("it has {rows} rows; weights that go with a vector element by element have one");
            Err(HandlerError::Operand { id, what })
        }
    }
}

fn compute(
    key: &EngineEvaluation,
    instruction: &Instruction,
    operands: &[&[u8]],
) -> Option<Result<Vec<u8>, HandlerError>> {
    let result = match (instruction.opcode(), instruction.operands(), operands) {
        (opcode::ADD, Operands::Two(n1, n2), &[left, right]) => pair(key.key(), [n1, n2], [left, right])
            .and_then(|[left, right]| key.add(&left, &right).map_err(|e| operand_error(n2, &e))),
        (opcode::SUBTRACT, Operands::Two(n1, n2), &[left, right]) => pair(key.key(), [n1, n2], [left, right])
            .and_then(|[left, right]| key.subtract(&left, &right).map_err(|e| operand_error(n2, &e))),
        (opcode::ADD_PLAIN, Operands::Two(w, n), &[matrix, input]) => add_plain(key, [w, n], [matrix, input]),
        (opcode::SCALE, Operands::Two(w, n), &[matrix, input]) => scale(key, [w, n], [matrix, input]),
        (opcode::MAT_VEC, Operands::Two(w, n), &[matrix, input]) => multiply(key, [w, n], [matrix, input]),
        _ => return None,
    };
    let written = |result: CiphertextVector| {
        result.to_bytes().map_err(|e| HandlerError::Engine { what: format!("the result cannot be stored: {e}") })
    };
    Some(result.and_then(written))
}

fn add_plain(key: &EngineEvaluation, ids: [VrId; 2], bytes: [&[u8]; 2]) -> Result<CiphertextVector, HandlerError> {
    let matrix = weights(ids[0], bytes[0])?;
    let plain = single_row(ids[0], &matrix)?;
    key.add_public(&vector(key.key(), ids[1], bytes[1])?, plain).map_err(|e| operand_error(ids[0], &e))
}

fn scale(key: &EngineEvaluation, ids: [VrId; 2], bytes: [&[u8]; 2]) -> Result<CiphertextVector, HandlerError> {
    let matrix = weights(ids[0], bytes[0])?;
    let factors = single_row(ids[0], &matrix)?;
    key.multiply_public(&vector(key.key(), ids[1], bytes[1])?, factors).map_err(|e| operand_error(ids[0], &e))
}

fn multiply(key: &EngineEvaluation, ids: [VrId; 2], bytes: [&[u8]; 2]) -> Result<CiphertextVector, HandlerError> {
    let matrix = weights(ids[0], bytes[0])?;
    let size = CiphertextVector::sealed_len(key.key().bits(), matrix.rows() as u64);
    if size > MAX_OBJECT_BYTES {
        let what =
            format!("the product with its {} rows takes {size} bytes, at most {MAX_OBJECT_BYTES} are", matrix.rows());
        return Err(HandlerError::Operand { id: ids[0], what: format!("{what} allowed") });
    }
    key.matrix_vector_public(&vector(key.key(), ids[1], bytes[1])?, matrix.matrix())
        .map_err(|e| operand_error(ids[0], &e))
}

impl ObjectHandler for PaillierHandler {
    fn name(&self) -> &'static str {
        "paillier"
    }

    fn scheme(&self) -> &'static Scheme {
        &SCHEME
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        Ok(Arc::new(Shape { key: self.read_key(id, head)?, costs: Costs::new() }))
    }

    /// Without a key the largest object is the bound; with it, a vector is a whole number of its ciphertexts. How many, the
    /// content says: a product may have another length than the vector it was made of.
    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let wrong = |expected: String| Err(HandlerError::WrongSize { id, given: size, expected });
        let max = match id.type_code {
            KEY => {
                require_public_key(id)?;
                MAX_KEY_BYTES
            }
            _ => MAX_OBJECT_BYTES,
        };
        if !(1..=max).contains(&size) {
            return wrong(format!("1 to {max}"));
        }
        let Some(Shape { key, .. }) = downcast(shape).filter(|_| is_vector(id)) else { return Ok(()) };
        let (head, width) = (CiphertextVector::sealed_len(key.bits(), 0), u64::from(key.bits().get()) / 4);
        match size.checked_sub(head) {
            Some(rest) if rest > 0 && rest.is_multiple_of(width) => Ok(()),
            _ => wrong(format!("{head} + {width}·k for k ciphertexts, up to {max}")),
        }
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        if id.type_code == KEY {
            // One part is all there is of a key, so no other part's shape has to fit.
            return self.read_key(id, content).map(drop);
        }
        let bytes = read_whole(id, size, content)?;
        if id.type_code == WEIGHTS {
            return PublicWeights::from_bytes(&bytes).map(drop).map_err(|e| invalid(id, e));
        }
        let head = CiphertextVector::head(&bytes).map_err(|e| invalid(id, e))?;
        if head.elements == 0 {
            return Err(invalid(id, PaillierError::Empty));
        }
        let Some(Shape { key, .. }) = downcast(shape) else { return Ok(()) };
        if head.tag != key.tag() {
            let what = format!(
                "a vector of key {}, but under Key ID {} stands key {}; store it under its own key",
                head.tag,
                id.key_id,
                key.tag()
            );
            return Err(HandlerError::Invalid { id, what });
        }
        // Every ciphertext: in range, and invertible.
        CiphertextVector::from_bytes(key, &bytes).map(drop).map_err(|e| invalid(id, e))
    }

    fn key_bytes(&self, shape: &dyn KeyShape) -> u64 {
        downcast(Some(shape)).map_or(0, |Shape { key, .. }| 2 * constants_bytes(key.bits()))
    }

    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let part = parts.into_iter().find(|part| part.id.data_id == PUBLIC_KEY);
        let mut part = part.ok_or_else(|| HandlerError::KeyIncomplete {
            key: key_id,
            missing: format!("the Paillier public key {}", public_key(key_id)),
        })?;
        let key = self.read_key(part.id, &mut part.content)?;
        let evaluation = EngineEvaluation::new(&key, &*self.engine)
            .map_err(|e| HandlerError::Engine { what: format!("the key {key_id} cannot be prepared: {e}") })?;
        Ok(Arc::new(Loaded(evaluation)))
    }

    fn needs_key(&self, instruction: &Instruction) -> bool {
        SCHEME.has_opcode(instruction.opcode())
    }

    fn estimate(&self, instruction: &Instruction, operands: &[Option<u64>], shape: Option<&dyn KeyShape>) -> Duration {
        // Without a key nothing is computed.
        let Some(Shape { key, costs }) = downcast(shape) else { return Duration::ZERO };
        costs.of(instruction).map_or(Duration::ZERO, |cost| cost.expect(work(key, instruction, operands)))
    }

    /// Sums and multiples are as long as their operands; a product has an element for each row.
    fn result_size(
        &self,
        instruction: &Instruction,
        operands: &[Option<u64>],
        shape: Option<&dyn KeyShape>,
    ) -> Option<u64> {
        let size = |index: usize| operands.get(index).copied().flatten();
        match instruction.opcode() {
            opcode::ADD | opcode::SUBTRACT => size(0).or(size(1)),
            opcode::ADD_PLAIN | opcode::SCALE => size(1),
            opcode::MAT_VEC => {
                let Shape { key, .. } = downcast(shape)?;
                let rows = weights_in(size(0)?).checked_div(elements(key, size(1)?))?;
                Some(CiphertextVector::sealed_len(key.bits(), rows))
            }
            _ => None,
        }
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        let &Job { instruction, operands, key, shape, .. } = job;
        let unsupported = || HandlerError::Unsupported { handler: self.name(), opcode: instruction.opcode() };
        let Loaded(evaluation) = loaded(key, "an instruction of Paillier")?;
        let start = Instant::now();
        *result = compute(evaluation, instruction, operands).ok_or_else(unsupported)??;
        let took = start.elapsed();
        if let Some(cost) = downcast::<Shape>(shape).and_then(|shape| shape.costs.of(instruction)) {
            let sizes: Vec<_> = operands.iter().map(|bytes| Some(bytes.len() as u64)).collect();
            cost.observe(work(evaluation.key(), instruction, &sizes).unwrap_or(0.0), took);
        }
        Ok(())
    }
}

fn is_vector(id: VrId) -> bool {
    matches!(id.type_code, VECTOR_COR | VECTOR_COW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_counted_by_their_bytes() {
        for (rows, columns) in [(1usize, 1usize), (1, 63), (1, 64), (1, 65), (3, 64), (7, 129), (40, 100)] {
            let matrix = PublicWeights::from_rows(columns, vec![-3; rows * columns]).expect("whole rows");
            assert_eq!(weights_in(matrix.to_bytes().len() as u64), (rows * columns) as u64, "{rows} × {columns}");
        }
        assert_eq!((weights_in(0), weights_in(sealed_len(8))), (0, 0));
    }
}
