//! From names to registers.

use std::collections::{HashMap, HashSet};

use super::bindings::Bindings;
use super::error::{AsmError, AsmProblem, shown};
use super::parse::{Operand, Register, Second, Statement, Text};
use crate::id::{DataId, KeyId, TypeClass, TypeCode, VrId};
use crate::instruction::{Instruction, Opcode};

/// The name that stands for the test vector 0 of the program's key unless it is bound.
const DEFAULT_TEST_VECTOR: &str = "tv";

/// The keys of the registers that the text and its bindings spell out, by registers that have them.
#[derive(Clone, Copy)]
enum ProgramKey {
    Unknown,
    One(VrId),
    Several(VrId, VrId),
}

/// Gives every name its register, statement by statement, in the order in which the program will run.
pub(super) struct Resolver<'a> {
    outer: &'a Bindings,
    text: &'a Text<'a>,
    key: ProgramKey,
    /// Registers that the text and its bindings spell out, which no temporary may take.
    explicit: HashSet<VrId>,
    temporaries: HashMap<&'a str, VrId>,
    /// The data id to try for the next temporary; beyond `u32` when none is left.
    next_temporary: u64,
    /// Types of the registers on the stack, for the temporaries that take them off again.
    stack: Vec<TypeCode>,
    names: HashMap<&'a str, VrId>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(text: &'a Text<'a>, outer: &'a Bindings) -> Self {
        let mut explicit = HashSet::new();
        let mut key = ProgramKey::Unknown;
        for register in text.statements.iter().flat_map(operands).filter_map(|operand| spelt_out(outer, text, operand))
        {
            explicit.insert(register);
            match key {
                ProgramKey::Unknown => key = ProgramKey::One(register),
                ProgramKey::One(first) if first.key_id != register.key_id => key = ProgramKey::Several(first, register),
                ProgramKey::One(_) | ProgramKey::Several(..) => {}
            }
        }
        Self {
            outer,
            text,
            key,
            explicit,
            temporaries: HashMap::new(),
            next_temporary: u64::from(DataId::FIRST_TEMPORARY.0),
            stack: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// The instruction of a statement. Sources are resolved before destinations, as they are read first.
    pub(super) fn instruction(&mut self, statement: &Statement<'a>) -> Result<Instruction, AsmError> {
        let first = statement.first;
        Ok(match (statement.opcode, statement.second) {
            (Opcode::POP, _) => {
                let held = self.stack.pop().unwrap_or(TypeCode::TLWE_COR);
                Instruction::Pop { n: self.written(first, held)? }
            }
            (Opcode::PUSH, _) => {
                let n = self.read(first, TypeCode::TLWE_COR)?;
                self.stack.push(n.type_code);
                Instruction::Push { n }
            }
            (Opcode::MOVE, Second::Register(second)) => {
                let src = self.read(second, TypeCode::TLWE_COR)?;
                Instruction::Move { dst: self.written(first, src.type_code)?, src }
            }
            (Opcode::HMVP, Second::Register(second)) => Instruction::Hmvp {
                matrix: self.read(first, TypeCode::BFV_MATRIX)?,
                n: self.read(second, TypeCode::BFV_COR)?,
            },
            (Opcode::BOOTSTRAP, Second::Register(second)) => Instruction::Bootstrap {
                tv: self.read(first, TypeCode::TV)?,
                n: self.read(second, TypeCode::TLWE_COR)?,
            },
            (Opcode::HOM_ADD, Second::Register(second)) => Instruction::HomAdd {
                n1: self.read(first, TypeCode::TLWE_COR)?,
                n2: self.read(second, TypeCode::TLWE_COR)?,
            },
            (Opcode::HOM_SUB, Second::Register(second)) => Instruction::HomSub {
                n1: self.read(first, TypeCode::TLWE_COR)?,
                n2: self.read(second, TypeCode::TLWE_COR)?,
            },
            (Opcode::PAILLIER_ADD, Second::Register(second)) => {
                let [n1, n2] = [self.read(first, TypeCode::PAILLIER_COR)?, self.read(second, TypeCode::PAILLIER_COR)?];
                Instruction::PaillierAdd { n1, n2 }
            }
            (Opcode::PAILLIER_SUB, Second::Register(second)) => {
                let [n1, n2] = [self.read(first, TypeCode::PAILLIER_COR)?, self.read(second, TypeCode::PAILLIER_COR)?];
                Instruction::PaillierSub { n1, n2 }
            }
            (Opcode::PAILLIER_ADD_PLAIN, Second::Register(second)) => {
                let [weights, n] = self.weighed(first, second)?;
                Instruction::PaillierAddPlain { weights, n }
            }
            (Opcode::PAILLIER_SCALE, Second::Register(second)) => {
                let [weights, n] = self.weighed(first, second)?;
                Instruction::PaillierScale { weights, n }
            }
            (Opcode::PAILLIER_MAT_VEC, Second::Register(second)) => {
                let [weights, n] = self.weighed(first, second)?;
                Instruction::PaillierMatVec { weights, n }
            }
            (_, Second::Factor(value)) => Instruction::HomIntMult { n: self.read(first, TypeCode::TLWE_COR)?, value },
            // The parser gives a second operand to all others.
            _ => Instruction::Return { n: self.read(first, TypeCode::TLWE_COR)? },
        })
    }

    /// The operands of what combines public weights with a Paillier vector.
    fn weighed(&mut self, weights: Operand<'a>, n: Operand<'a>) -> Result<[VrId; 2], AsmError> {
        Ok([self.read(weights, TypeCode::PAILLIER_WEIGHTS)?, self.read(n, TypeCode::PAILLIER_COR)?])
    }

    /// Every name of the program and the register it stands for.
    pub(super) fn into_names(self) -> HashMap<&'a str, VrId> {
        self.names
    }

    /// A register whose content is needed; `role` is the type that belongs in its place.
    fn read(&mut self, operand: Operand<'a>, role: TypeCode) -> Result<VrId, AsmError> {
        let name = match (spelt_out(self.outer, self.text, operand), operand.register) {
            (Some(register), _) | (None, Register::Literal(register)) => return Ok(self.keep(operand, register)),
            (None, Register::Name(name)) => name,
        };
        if let Some(&register) = self.temporaries.get(name) {
            return Ok(register);
        }
        if name == DEFAULT_TEST_VECTOR {
            let key = self.key_for(name, TypeCode::TV, operand)?;
            return Ok(self.keep(operand, VrId::new(TypeCode::TV, key, DataId(0))));
        }
        Err(at(operand, AsmProblem::Unbound { name: shown(name), example: example(role) }))
    }

    /// A register whose content is replaced by that of a register of type `source`. A new name becomes a temporary that
    /// holds the same kind of ciphertext, compute-on-read.
    fn written(&mut self, operand: Operand<'a>, source: TypeCode) -> Result<VrId, AsmError> {
        let role = match source.class() {
            TypeClass::BfvVector => TypeCode::BFV_COR,
            TypeClass::PaillierVector => TypeCode::PAILLIER_COR,
            _ => TypeCode::TLWE_COR,
        };
        let name = match operand.register {
            Register::Name(name) if name != DEFAULT_TEST_VECTOR => name,
            _ => return self.read(operand, role),
        };
        if let Some(register) =
            spelt_out(self.outer, self.text, operand).or_else(|| self.temporaries.get(name).copied())
        {
            return Ok(self.keep(operand, register));
        }
        let key = self.key_for(name, role, operand)?;
        while let Ok(data) = u32::try_from(self.next_temporary) {
            self.next_temporary += 1;
            let register = VrId::new(role, key, DataId(data));
            if !self.explicit.contains(&register) {
                self.temporaries.insert(name, register);
                return Ok(self.keep(operand, register));
            }
        }
        Err(at(operand, AsmProblem::NoTemporaryLeft { name: shown(name) }))
    }

    fn key_for(&self, name: &str, role: TypeCode, operand: Operand<'_>) -> Result<KeyId, AsmError> {
        match self.key {
            ProgramKey::One(register) => Ok(register.key_id),
            ProgramKey::Unknown => Err(at(operand, AsmProblem::NoKey { name: shown(name), example: example(role) })),
            ProgramKey::Several(first, second) => {
                Err(at(operand, AsmProblem::SeveralKeys { name: shown(name), first, second }))
            }
        }
    }

    fn keep(&mut self, operand: Operand<'a>, register: VrId) -> VrId {
        if let Register::Name(name) = operand.register {
            self.names.insert(name, register);
        }
        register
    }
}

/// The register of an operand that is a literal or a bound name. The command line wins over `.bind`, so that a text can
/// carry defaults.
fn spelt_out(outer: &Bindings, text: &Text<'_>, operand: Operand<'_>) -> Option<VrId> {
    match operand.register {
        Register::Literal(register) => Some(register),
        Register::Name(name) => outer.get(name).or_else(|| text.bindings.get(name).map(|&(register, _)| register)),
    }
}

fn operands<'a>(statement: &Statement<'a>) -> impl Iterator<Item = Operand<'a>> + use<'a> {
    let second = match statement.second {
        Second::Register(operand) => Some(operand),
        Second::None | Second::Factor(_) => None,
    };
    std::iter::once(statement.first).chain(second)
}

fn example(role: TypeCode) -> VrId {
    let data = if role == TypeCode::TV { DataId(0) } else { DataId(1) };
    VrId::new(role, KeyId(0), data)
}

fn at(operand: Operand<'_>, problem: AsmProblem) -> AsmError {
    AsmError { line: operand.line, column: operand.column, problem }
}
