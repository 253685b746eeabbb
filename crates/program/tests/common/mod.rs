//! What several test files share.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::time::Duration;

use ciphermill_program::{Binding, Bindings, Environment, Instruction, KeyId, ObjectInfo, Program, VrId, assemble};
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
        match instruction {
            Instruction::Bootstrap { .. } => Duration::from_secs(1),
            _ => Duration::from_millis(1),
        }
    }
}

/// Any instruction over registers drawn from `register`.
pub(crate) fn instruction(
    register: impl Strategy<Value = VrId> + Clone + 'static,
) -> impl Strategy<Value = Instruction> {
    (0..14_u8, register.clone(), register, any::<i32>()).prop_map(|(which, a, b, value)| match which {
        0 => Instruction::Return { n: a },
        1 => Instruction::Move { dst: a, src: b },
        2 => Instruction::Push { n: a },
        3 => Instruction::Pop { n: a },
        4 => Instruction::Bootstrap { tv: a, n: b },
        5 => Instruction::HomAdd { n1: a, n2: b },
        6 => Instruction::HomSub { n1: a, n2: b },
        7 => Instruction::Hmvp { matrix: a, n: b },
        8 => Instruction::PaillierAdd { n1: a, n2: b },
        9 => Instruction::PaillierSub { n1: a, n2: b },
        10 => Instruction::PaillierAddPlain { weights: a, n: b },
        11 => Instruction::PaillierScale { weights: a, n: b },
        12 => Instruction::PaillierMatVec { weights: a, n: b },
        _ => Instruction::HomIntMult { n: a, value },
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
