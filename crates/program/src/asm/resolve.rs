//! Resolution of names to registers.

use std::collections::{HashMap, HashSet};

use super::bindings::Bindings;
use super::error::{AsmError, AsmProblem, shown};
use super::parse::{Operand, Register, Second, Statement, Text};
use crate::class::{ObjectClass, TypeClass};
use crate::id::{DataId, KeyId, TypeCode, VrId};
use crate::instruction::{Instruction, Operands};
use crate::set::InstructionSet;
use crate::spec::{Action, OperandClass};

/// The keys of the registers that the text and its bindings spell out, by registers that have them.
#[derive(Clone, Copy)]
enum ProgramKey {
    Unknown,
    One(VrId),
    Several(VrId, VrId),
}

/// Gives every name its register, statement by statement, in the order in which the program will run.
pub(super) struct Resolver<'a> {
    set: &'a InstructionSet,
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
    pub(super) fn new(set: &'a InstructionSet, text: &'a Text<'a>, outer: &'a Bindings) -> Self {
        let mut explicit = HashSet::new();
        let mut key = ProgramKey::Unknown;
        for register in
            text.statements.iter().flat_map(operands).flatten().filter_map(|operand| spelt_out(outer, text, operand))
        {
            explicit.insert(register);
            match key {
                ProgramKey::Unknown => key = ProgramKey::One(register),
                ProgramKey::One(first) if first.key_id != register.key_id => key = ProgramKey::Several(first, register),
                ProgramKey::One(_) | ProgramKey::Several(..) => {}
            }
        }
        Self {
            set,
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

    /// The instruction of a statement. Sources are resolved before registers that are only written.
    pub(super) fn instruction(&mut self, statement: &Statement<'a>) -> Result<Instruction, AsmError> {
        let spec = statement.spec;
        let texts = operands(statement);
        let mut registers = [None; 2];
        for ((register, text), operand) in registers.iter_mut().zip(texts).zip(spec.operands()) {
            if let (true, Some(text)) = (operand.access.reads(), text) {
                *register = Some(self.read(text, self.role(operand.class))?);
            }
        }
        // The content of a register that is only written: the source, or the top of the stack.
        let mut content = registers.into_iter().flatten().next().map(|register| register.type_code);
        match spec.action() {
            Action::Push => self.stack.extend(content),
            Action::Pop => content = self.stack.pop(),
            Action::Return | Action::Move | Action::Compute => {}
        }
        for ((register, text), operand) in registers.iter_mut().zip(texts).zip(spec.operands()) {
            if let (None, Some(text)) = (*register, text) {
                let source = match operand.class {
                    OperandClass::Class(_) => self.role(operand.class),
                    OperandClass::AnyCiphertext => content.unwrap_or(self.set.any_ciphertext()),
                };
                *register = Some(self.written(text, source)?);
            }
        }
        let [first, second] = registers;
        let first = first.unwrap_or(self.example(self.set.any_ciphertext()));
        let operands = match (second, statement.second) {
            (Some(second), _) => Operands::Two(first, second),
            (None, Second::Factor(value)) => Operands::Factor(first, value),
            (None, _) => Operands::One(first),
        };
        Ok(Instruction::of_form(spec, operands))
    }

    /// The type that belongs in an operand, for messages and temporaries.
    fn role(&self, class: OperandClass) -> TypeCode {
        match class {
            OperandClass::AnyCiphertext => self.set.any_ciphertext(),
            OperandClass::Class(class) => class.example(),
        }
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
        if let Some(class) = self.default_class(name) {
            let key = self.key_for(name, class.example(), operand)?;
            return Ok(self.keep(operand, VrId::new(class.example(), key, DataId(0))));
        }
        Err(at(operand, AsmProblem::Unbound { name: shown(name), example: self.example(role) }))
    }

    /// A register whose content is replaced by that of a register of type `source`. A new name becomes a temporary that
    /// holds the same kind of ciphertext, compute-on-read.
    fn written(&mut self, operand: Operand<'a>, source: TypeCode) -> Result<VrId, AsmError> {
        let role = match self.set.class(source) {
            TypeClass::Known(class) => class.on_read(),
            TypeClass::Unassigned { .. } => None,
        };
        let role = role.unwrap_or(self.set.any_ciphertext());
        let name = match operand.register {
            Register::Name(name) if self.default_class(name).is_none() => name,
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
            ProgramKey::Unknown => {
                Err(at(operand, AsmProblem::NoKey { name: shown(name), example: self.example(role) }))
            }
            ProgramKey::Several(first, second) => {
                Err(at(operand, AsmProblem::SeveralKeys { name: shown(name), first, second }))
            }
        }
    }

    /// The class whose object 0 has this name by default.
    fn default_class(&self, name: &str) -> Option<&'static ObjectClass> {
        self.set.classes().find(|class| class.default_name() == Some(name))
    }

    /// A register that could stand in an operand of this type, under the key of the program as far as it is known.
    fn example(&self, role: TypeCode) -> VrId {
        let named = matches!(self.set.class(role), TypeClass::Known(class) if class.default_name().is_some());
        let key = match self.key {
            ProgramKey::One(register) => register.key_id,
            ProgramKey::Unknown | ProgramKey::Several(..) => KeyId(0),
        };
        VrId::new(role, key, DataId(u32::from(!named)))
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

fn operands<'a>(statement: &Statement<'a>) -> [Option<Operand<'a>>; 2] {
    let second = match statement.second {
        Second::Register(operand) => Some(operand),
        Second::None | Second::Factor(_) => None,
    };
    [Some(statement.first), second]
}

fn at(operand: Operand<'_>, problem: AsmProblem) -> AsmError {
    AsmError { line: operand.line, column: operand.column, problem }
}
