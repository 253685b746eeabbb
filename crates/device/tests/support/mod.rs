//! A toy scheme, so that the device can be tested without a real one: a "ciphertext" is a vector of 64-bit words.

use ciphermill_device::handlers::tfhe::{self, opcode};
use ciphermill_device::{
    Device, DeviceConfig, HandlerError, ObjectHandler, Space, SpaceId, WriteOptions,
    handler::{Job, KeyContext, KeyPart, KeyShape, Residency, Role, Trigger, TypeDescriptor},
};
use ciphermill_program::{DataId, Instruction, KeyId, Operands, Program, Scheme, TypeCode, VrId};
use std::{
    any::Any,
    io::Read,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

const TYPES: [TypeDescriptor; 4] = [
    descriptor(1, "toy table", Residency::Persistent, Role::TestVector),
    descriptor(2, "toy key", Residency::Persistent, Role::Key),
    descriptor(3, "toy value, on read", Residency::Paged, Role::Value(Trigger::OnRead)),
    descriptor(4, "toy value, on write", Residency::Paged, Role::Value(Trigger::OnWrite)),
];

const fn descriptor(code: u16, name: &'static str, residency: Residency, role: Role) -> TypeDescriptor {
    TypeDescriptor { code: TypeCode(code), name, residency, role }
}

/// The instructions of TFHE, which the toy scheme computes in its own way.
pub(crate) mod code {
    use ciphermill_device::handlers::tfhe;
    use ciphermill_program::{Instruction, InstructionSpec, Operands, VrId};

    fn two(spec: &'static InstructionSpec, a: VrId, b: VrId) -> Instruction {
        Instruction::new(spec, Operands::Two(a, b)).expect("two registers")
    }

    pub(crate) fn add(n1: VrId, n2: VrId) -> Instruction {
        two(&tfhe::HOM_ADD, n1, n2)
    }

    pub(crate) fn sub(n1: VrId, n2: VrId) -> Instruction {
        two(&tfhe::HOM_SUB, n1, n2)
    }

    pub(crate) fn bootstrap(tv: VrId, n: VrId) -> Instruction {
        two(&tfhe::BOOTSTRAP, tv, n)
    }

    pub(crate) fn int_mult(n: VrId, value: i32) -> Instruction {
        Instruction::new(&tfhe::HOM_INT_MULT, Operands::Factor(n, value)).expect("a register and a factor")
    }
}

/// A key object is `b"TOY!"`, its part number, the dimension of the values (u32, words), and any filling. Loaded, it claims
/// [`LOADED_BYTES`] for each word of the dimension.
#[derive(Debug)]
struct Shape {
    dimension: u64,
}

pub(crate) const LOADED_BYTES: u64 = 1 << 20;

struct Context(u64);

impl KeyContext for Context {
    fn memory_bytes(&self) -> u64 {
        self.0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Toy {
    pub(crate) keys_opened: AtomicU64,
    /// Milliseconds that each part of a key takes to load.
    pub(crate) load_ms: AtomicU64,
    /// Milliseconds that an instruction claims to take.
    pub(crate) claimed_ms: AtomicU64,
    /// Milliseconds that a bootstrap really sleeps.
    pub(crate) bootstrap_ms: AtomicU64,
    /// Bootstraps begun.
    pub(crate) bootstraps: AtomicU64,
    /// The sizes that estimates were asked for.
    pub(crate) operand_sizes: Mutex<Vec<Vec<Option<u64>>>>,
    /// While set, a bootstrap does not go on.
    pub(crate) held: AtomicBool,
}

fn downcast(shape: Option<&dyn KeyShape>) -> Option<&Shape> {
    (shape? as &dyn Any).downcast_ref()
}

impl Toy {
    fn head(id: VrId, content: &mut dyn Read) -> Result<Shape, HandlerError> {
        let mut head = [0; 12];
        content.read_exact(&mut head).map_err(|error| HandlerError::read(id, error))?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if &head[..4] != b"TOY!" || word(4) != id.data_id.0 {
            return Err(HandlerError::Invalid { id, what: "not a toy key".to_owned() });
        }
        Ok(Shape { dimension: u64::from(word(8)) })
    }
}

impl ObjectHandler for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn scheme(&self) -> &'static Scheme {
        &tfhe::SCHEME
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        Ok(Arc::new(Self::head(id, head)?))
    }

    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let expected = match (id.type_code.0, downcast(shape)) {
            (2, _) if size >= 12 => return Ok(()),
            (3 | 4, Some(shape)) if size == shape.dimension * 8 => return Ok(()),
            (3 | 4, Some(shape)) => (shape.dimension * 8).to_string(),
            _ if size.is_multiple_of(8) => return Ok(()),
            _ => "a multiple of 8".to_owned(),
        };
        Err(HandlerError::WrongSize { id, given: size, expected })
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        if id.type_code == tfhe::KEY {
            let own = Self::head(id, content)?;
            if downcast(shape).is_some_and(|other| other.dimension != own.dimension) {
                return Err(HandlerError::Invalid { id, what: "dimension differs from the other part".to_owned() });
            }
        }
        let rest = if id.type_code == tfhe::KEY { size - 12 } else { size };
        match std::io::copy(content, &mut std::io::sink()) {
            Ok(count) if count == rest => Ok(()),
            Ok(_) => Err(HandlerError::Invalid { id, what: "another length than declared".to_owned() }),
            Err(error) => Err(HandlerError::read(id, error)),
        }
    }

    fn key_bytes(&self, shape: &dyn KeyShape) -> u64 {
        downcast(Some(shape)).map_or(0, |shape| shape.dimension * LOADED_BYTES)
    }

    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        self.keys_opened.fetch_add(1, Ordering::SeqCst);
        for part in [1, 2] {
            if !parts.iter().any(|present| present.id.data_id == DataId(part)) {
                return Err(HandlerError::KeyIncomplete { key: key_id, missing: format!("part {part}") });
            }
        }
        let mut dimension = 0;
        for mut part in parts {
            dimension = Self::head(part.id, &mut part.content)?.dimension;
            std::thread::sleep(Duration::from_millis(self.load_ms.load(Ordering::SeqCst)));
        }
        Ok(Arc::new(Context(dimension * LOADED_BYTES)))
    }

    fn needs_key(&self, instruction: &Instruction) -> bool {
        instruction.opcode() == opcode::BOOTSTRAP
    }

    fn estimate(&self, instruction: &Instruction, operands: &[Option<u64>], _: Option<&dyn KeyShape>) -> Duration {
        assert_eq!(operands.len(), instruction.reads().count());
        self.operand_sizes.lock().expect("no panic").push(operands.to_vec());
        Duration::from_millis(self.claimed_ms.load(Ordering::SeqCst))
    }

    /// Reports it for sums only.
    fn result_size(
        &self,
        instruction: &Instruction,
        operands: &[Option<u64>],
        _: Option<&dyn KeyShape>,
    ) -> Option<u64> {
        match instruction.opcode() {
            opcode::HOM_ADD => operands.first().copied().flatten(),
            _ => None,
        }
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        let &Job { instruction, operands, key, .. } = job;
        assert_eq!(key.is_some(), self.needs_key(instruction));
        assert!(result.is_empty());
        let words: Vec<Vec<u64>> = operands.iter().map(|bytes| to_words(bytes)).collect();
        let zipped = |f: fn(u64, u64) -> u64| words[0].iter().zip(&words[1]).map(|(a, b)| f(*a, *b)).collect();
        let out: Vec<u64> = match (instruction.opcode(), instruction.operands()) {
            (opcode::HOM_ADD, _) => zipped(u64::wrapping_add),
            (opcode::HOM_SUB, _) => zipped(u64::wrapping_sub),
            (opcode::HOM_INT_MULT, Operands::Factor(_, value)) => {
                words[0].iter().map(|word| word.wrapping_mul(i64::from(value) as u64)).collect()
            }
            (opcode::BOOTSTRAP, _) => {
                self.bootstraps.fetch_add(1, Ordering::SeqCst);
                while self.held.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(self.bootstrap_ms.load(Ordering::SeqCst)));
                words[1].iter().map(|word| words[0][(word % words[0].len() as u64) as usize]).collect()
            }
            _ => return Err(HandlerError::Unsupported { handler: "toy", opcode: instruction.opcode() }),
        };
        result.extend_from_slice(&bytes(&out));
        Ok(())
    }
}

pub(crate) fn to_words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).collect()
}

pub(crate) fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `n` words that differ by `seed`.
pub(crate) fn value(seed: u64, n: u64) -> Vec<u8> {
    let words: Vec<u64> = (0..n).map(|i| (seed * 1_000_003 + i).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    bytes(&words)
}

pub(crate) fn vr(type_code: u16, key: u32, data: u32) -> VrId {
    VrId::new(TypeCode(type_code), KeyId(key), DataId(data))
}

pub(crate) fn toy_key(part: u32, dimension: u32, filling: usize) -> Vec<u8> {
    let mut bytes = b"TOY!".to_vec();
    bytes.extend_from_slice(&part.to_le_bytes());
    bytes.extend_from_slice(&dimension.to_le_bytes());
    bytes.resize(12 + filling, 0xA5);
    bytes
}

pub(crate) fn program(instructions: Vec<Instruction>) -> Vec<u8> {
    Program::new(instructions).expect("a program").encode()
}

pub(crate) fn open(config: DeviceConfig) -> (Device, Space) {
    let device = Device::open(config, vec![Arc::new(Toy::default())]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space 0");
    (device, space)
}

pub(crate) fn put(space: &Space, id: VrId, bytes: &[u8]) -> bool {
    space.write_bytes(id, bytes, WriteOptions::default()).expect("write").computed
}

/// xorshift64*, for workloads that must be repeatable.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}
