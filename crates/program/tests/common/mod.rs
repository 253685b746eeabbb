//! What several test files share.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::time::Duration;

use ciphermill_program::{
    AsmError, Assembly, Binding, Bindings, DecodeError, Environment, Form, Instruction, InstructionSet, KeyId, Limits,
    ObjectInfo, Operands, Program, Verified, VerifyError, VrId,
};
use proptest::prelude::*;

pub(crate) const XY_SOURCE: &str = include_str!("../../../../examples/programs/xy.cms");
/// The length of a TLWE ciphertext of dimension 630.
pub(crate) const TLWE_BYTES: u64 = 631 * 4;

pub(crate) fn vr(text: &str) -> VrId {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn bind(bindings: &[&str]) -> Bindings {
    Bindings::collect(bindings.iter().map(|text| text.parse::<Binding>().unwrap())).unwrap()
}

/// The instructions of the standard handlers.
pub(crate) fn set() -> &'static InstructionSet {
    ciphermill_device::handlers::instruction_set()
}

pub(crate) fn assemble(source: &str, bindings: &Bindings) -> Result<Assembly, AsmError> {
    ciphermill_program::assemble(set(), source, bindings)
}

pub(crate) fn disassemble_named(program: &Program) -> String {
    ciphermill_program::disassemble_named(set(), program)
}

pub(crate) fn verify<'a>(
    program: &'a Program,
    environment: &dyn Environment,
    limits: &Limits,
) -> Result<Verified<'a>, VerifyError> {
    ciphermill_program::verify(set(), program, environment, limits)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Program, DecodeError> {
    Program::decode(set(), bytes)
}

/// A program from lines with literal registers.
pub(crate) fn program(source: &str) -> Program {
    assemble(source, &Bindings::new()).unwrap_or_else(|error| panic!("{error}\n{source}")).program
}

/// A store in memory; every bootstrap costs one second, everything else one millisecond.
#[derive(Clone, Default)]
pub(crate) struct Store(pub(crate) BTreeMap<VrId, ObjectInfo>);

impl Store {
    /// Ciphertexts of one size, test vectors and keys.
    pub(crate) fn with(registers: &[&str]) -> Self {
        Self(registers.iter().map(|text| (vr(text), ObjectInfo { size: TLWE_BYTES })).collect())
    }

    pub(crate) fn put(mut self, register: &str, size: u64) -> Self {
        self.0.insert(vr(register), ObjectInfo { size });
        self
    }
}

impl Environment for Store {
    fn object(&self, id: VrId) -> Option<ObjectInfo> {
        self.0.get(&id).copied()
    }

    fn cost(&self, instruction: &Instruction) -> Duration {
        match instruction.mnemonic() {
            "bootstrap" => Duration::from_secs(1),
            _ => Duration::from_millis(1),
        }
    }
}

/// Any instruction over registers drawn from `register`.
pub(crate) fn instruction(
    register: impl Strategy<Value = VrId> + Clone + 'static,
) -> impl Strategy<Value = Instruction> {
    let specs: Vec<_> = set().instructions().collect();
    (prop::sample::select(specs), register.clone(), register, any::<i32>()).prop_map(|(spec, a, b, value)| {
        let operands = match spec.form() {
            Form::One => Operands::One(a),
            Form::Two => Operands::Two(a, b),
            Form::Factor => Operands::Factor(a, value),
        };
        Instruction::new(spec, operands).unwrap()
    })
}

/// Any register of any type, key and data id.
pub(crate) fn any_register() -> impl Strategy<Value = VrId> + Clone {
    (any::<u16>(), any::<u32>(), any::<u32>()).prop_map(|(type_code, key, data)| VrId {
        type_code: ciphermill_program::TypeCode(type_code),
        key_id: KeyId(key),
        data_id: ciphermill_program::DataId(data),
    })
}

/// Any program of up to 40 instructions over registers drawn from `register`.
pub(crate) fn any_program(register: impl Strategy<Value = VrId> + Clone + 'static) -> impl Strategy<Value = Program> {
    prop::collection::vec(instruction(register), 1..40).prop_map(|list| Program::new(list).unwrap())
}
