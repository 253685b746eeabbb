//! A toy scheme, for the tests of this crate and of those above it.

use ciphermill_device::handlers::tfhe::{self, opcode};
use ciphermill_device::{
    HandlerError, ObjectHandler,
    handler::{Job, KeyContext, KeyPart, KeyShape, Residency, Role, Trigger, TypeDescriptor},
};
use ciphermill_program::{Instruction, KeyId, Operands, Scheme, TypeCode, VrId};
use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Vectors of 64-bit words in place of ciphertexts (types 3 and 4), and tables of any size (type 1); none may begin with
/// `BAD`. It adds and multiplies in the clear; a product with a negative factor −k is k copies of the operand, so that
/// results can be longer; a difference waits while the scheme is held.
#[derive(Debug, Default)]
pub(crate) struct Toy {
    pub(crate) held: AtomicBool,
    pub(crate) runs: AtomicU64,
}

const fn toy_type(code: TypeCode, name: &'static str, residency: Residency, role: Role) -> TypeDescriptor {
    TypeDescriptor { code, name, residency, role }
}

const TYPES: [TypeDescriptor; 3] = [
    toy_type(tfhe::TV, "toy table", Residency::Persistent, Role::TestVector),
    toy_type(tfhe::TLWE_COR, "toy vector, on read", Residency::Paged, Role::Value(Trigger::OnRead)),
    toy_type(tfhe::TLWE_COW, "toy vector, on write", Residency::Paged, Role::Value(Trigger::OnWrite)),
];

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

    fn describe_key(&self, id: VrId, _: u64, _: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        Err(HandlerError::Invalid { id, what: "the toy scheme has no keys".to_owned() })
    }

    fn check_size(&self, id: VrId, size: u64, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        match id.type_code {
            tfhe::TV => Ok(()),
            _ if size.is_multiple_of(8) => Ok(()),
            _ => Err(HandlerError::WrongSize { id, given: size, expected: "a multiple of 8".to_owned() }),
        }
    }

    fn validate(&self, id: VrId, _: u64, content: &mut dyn Read, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let mut head = Vec::new();
        content.take(3).read_to_end(&mut head).map_err(|error| HandlerError::read(id, error))?;
        match head.as_slice() {
            b"BAD" => Err(HandlerError::Invalid { id, what: "it begins with BAD".to_owned() }),
            _ => Ok(()),
        }
    }

    fn key_bytes(&self, _: &dyn KeyShape) -> u64 {
        0
    }

    fn open_key(&self, key: KeyId, _: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        Err(HandlerError::KeyIncomplete { key, missing: "everything".to_owned() })
    }

    fn needs_key(&self, _: &Instruction) -> bool {
        false
    }

    fn estimate(&self, _: &Instruction, _: &[Option<u64>], _: Option<&dyn KeyShape>) -> Duration {
        Duration::ZERO
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        let &Job { instruction, operands, .. } = job;
        self.runs.fetch_add(1, Ordering::SeqCst);
        let words = |index: usize| operands[index].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let zipped = |f: fn(u64, u64) -> u64| words(0).zip(words(1)).map(|(a, b)| f(a, b)).collect::<Vec<_>>();
        let out = match (instruction.opcode(), instruction.operands()) {
            (opcode::HOM_ADD, _) => zipped(u64::wrapping_add),
            (opcode::HOM_SUB, _) => {
                while self.held.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                zipped(u64::wrapping_sub)
            }
            (opcode::HOM_INT_MULT, Operands::Factor(_, ..0)) if operands[0].len() > 1 << 20 => {
                return Err(HandlerError::Engine { what: "too long for copies".to_owned() });
            }
            (opcode::HOM_INT_MULT, Operands::Factor(_, value @ ..0)) => {
                (0..value.unsigned_abs()).flat_map(|_| words(0)).collect()
            }
            (opcode::HOM_INT_MULT, Operands::Factor(_, value)) => {
                words(0).map(|word| word.wrapping_mul(value as u64)).collect()
            }
            _ => return Err(HandlerError::Unsupported { handler: "toy", opcode: instruction.opcode() }),
        };
        result.extend(out.iter().flat_map(|word| word.to_le_bytes()));
        Ok(())
    }
}
