//! The specification of an instruction: its text form, its binary form and the rules of the verifier.

use std::fmt;

use crate::class::ObjectClass;
use crate::id::{DataId, KeyId, TypeCode, VrId};

/// The number of an instruction in the binary form: the Type column of the paper's Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub u16);

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// How an instruction uses the content of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written only; the register may be new.
    Write,
    /// Read, then written.
    ReadWrite,
}

impl Access {
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// The objects that an operand accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandClass {
    /// A ciphertext of any scheme.
    AnyCiphertext,
    /// An object of this class.
    Class(&'static ObjectClass),
}

/// A register operand of an instruction.
///
/// # Example
/// ```
/// use ciphermill_program::{Access, ObjectClass, Operand, OperandClass, TypeCode};
///
/// static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
/// let n = Operand::read_write("n", &NUMBER);
/// assert_eq!(n, Operand { name: "n", class: OperandClass::Class(&NUMBER), access: Access::ReadWrite });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its name in the documentation, as in `n1`.
    pub name: &'static str,
    /// The objects that it accepts.
    pub class: OperandClass,
    /// How the instruction uses its content.
    pub access: Access,
}

impl Operand {
    /// An operand that is read.
    #[must_use]
    pub const fn read(name: &'static str, class: &'static ObjectClass) -> Self {
        Self { name, class: OperandClass::Class(class), access: Access::Read }
    }

    /// An operand that is written, and may be new.
    #[must_use]
    pub const fn write(name: &'static str, class: &'static ObjectClass) -> Self {
        Self { name, class: OperandClass::Class(class), access: Access::Write }
    }

    /// An operand that is read and then written.
    #[must_use]
    pub const fn read_write(name: &'static str, class: &'static ObjectClass) -> Self {
        Self { name, class: OperandClass::Class(class), access: Access::ReadWrite }
    }

    const fn any(name: &'static str, access: Access) -> Self {
        Self { name, class: OperandClass::AnyCiphertext, access }
    }
}

/// A key object that an instruction uses, of the key id of its operands.
///
/// # Example
/// ```
/// use ciphermill_program::{DataId, KeyId, KeyUse, TypeCode};
///
/// let key = KeyUse { name: "number key", type_code: TypeCode(99), data_id: DataId(1) };
/// assert_eq!(key.register(KeyId(7)).to_string(), "99:7:1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The key's name in messages, as in `bootstrapping key`.
    pub name: &'static str,
    /// Its type.
    pub type_code: TypeCode,
    /// Its data id.
    pub data_id: DataId,
}

impl KeyUse {
    /// The register of the key object under `key_id`.
    #[must_use]
    pub const fn register(&self, key_id: KeyId) -> VrId {
        VrId::new(self.type_code, key_id, self.data_id)
    }
}

/// State that the instructions of a run share under one key, in addition to the registers. It is empty when a run begins, and gone
/// when it ends.
///
/// # Example
/// ```
/// use ciphermill_program::{Access, RunState};
///
/// static COUNTER: RunState = RunState { name: "the counter", access: Access::ReadWrite };
/// assert_eq!(COUNTER.access, Access::ReadWrite);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunState {
    /// Its name in the documentation; instructions of one scheme with one name use the same state.
    pub name: &'static str,
    /// How the instruction uses it.
    pub access: Access,
}

/// The length of a result, as far as the verifier knows it before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLength {
    /// Not known.
    Unknown,
    /// The same as that of the operand with this index; only operands that are read count.
    OfOperand(usize),
    /// All operands that are read must have one length, and the result has it too.
    Common,
}

/// The executor of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The device: ends the program with its operand as the result.
    Return,
    /// The device: copies a register.
    Move,
    /// The device: puts a register on the stack.
    Push,
    /// The device: takes the top of the stack into a register.
    Pop,
    /// The handler of the type of the register that the instruction writes.
    Compute,
}

/// The form of the operands of an instruction, in text and in the binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One register.
    One,
    /// Two registers.
    Two,
    /// A register and an integer.
    Factor,
}

/// One row of the table that is an [`InstructionSet`](crate::InstructionSet).
///
/// The assembler, the disassembler, the codec, the verifier and the instruction table of `docs/program.md` read it. A
/// scheme's rows are statics next to the code that carries the instructions out:
///
/// ```
/// use ciphermill_program::{InstructionSpec, ObjectClass, Opcode, Operand, ResultLength, TypeCode};
///
/// static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
/// static MAXIMUM: InstructionSpec = InstructionSpec::new(
///     Opcode(900),
///     "max",
///     &[Operand::read_write("n1", &NUMBER), Operand::read("n2", &NUMBER)],
///     "n1 ← max(n1, n2)",
/// )
/// .result(ResultLength::Common);
/// assert_eq!(MAXIMUM.syntax(), "max n1, n2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSpec {
    opcode: Opcode,
    mnemonic: &'static str,
    alias: Option<&'static str>,
    operands: &'static [Operand],
    factor: Option<&'static str>,
    keys: &'static [KeyUse],
    state: Option<RunState>,
    result: ResultLength,
    action: Action,
    effect: &'static str,
}

impl InstructionSpec {
    /// An instruction that a handler carries out: one or two operands, exactly one of which is written, or none if it writes
    /// a [state of the run](Self::state). `effect` is the text of the documentation.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// static DOUBLE: InstructionSpec =
    ///     InstructionSpec::new(Opcode(900), "double", &[Operand::read_write("n", &NUMBER)], "n ← 2n");
    /// assert_eq!(DOUBLE.syntax(), "double n");
    /// assert_eq!((DOUBLE.form(), DOUBLE.action()), (Form::One, Action::Compute));
    /// ```
    #[must_use]
    pub const fn new(
        opcode: Opcode,
        mnemonic: &'static str,
        operands: &'static [Operand],
        effect: &'static str,
    ) -> Self {
        Self {
            opcode,
            mnemonic,
            alias: None,
            operands,
            factor: None,
            keys: &[],
            state: None,
            result: ResultLength::Unknown,
            action: Action::Compute,
            effect,
        }
    }

    /// With a signed 32-bit integer after its only register operand.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// static SCALE: InstructionSpec =
    ///     InstructionSpec::new(Opcode(901), "scale", &[Operand::read_write("n", &NUMBER)], "n ← v · n").factor("v");
    /// assert_eq!(SCALE.syntax(), "scale n, v");
    /// assert_eq!(SCALE.form(), Form::Factor);
    /// ```
    #[must_use]
    pub const fn factor(mut self, name: &'static str) -> Self {
        self.factor = Some(name);
        self
    }

    /// With keys that must be stored under the key id of the operands.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// static DOUBLE: InstructionSpec =
    ///     InstructionSpec::new(Opcode(900), "double", &[Operand::read_write("n", &NUMBER)], "n ← 2n")
    ///         .keys(&[KeyUse { name: "number key", type_code: TypeCode(99), data_id: DataId(1) }]);
    /// assert_eq!(DOUBLE.key_uses()[0].name, "number key");
    /// ```
    #[must_use]
    pub const fn keys(mut self, keys: &'static [KeyUse]) -> Self {
        self.keys = keys;
        self
    }

    /// With a state of the run that it uses. An instruction that writes the state may write no register.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// static NOTE: InstructionSpec =
    ///     InstructionSpec::new(Opcode(902), "note", &[Operand::read("n", &NUMBER)], "notes n for later")
    ///         .state("the notes", Access::ReadWrite);
    /// assert_eq!(NOTE.run_state().map(|state| state.name), Some("the notes"));
    /// ```
    #[must_use]
    pub const fn state(mut self, name: &'static str, access: Access) -> Self {
        self.state = Some(RunState { name, access });
        self
    }

    /// With a rule for the length of the result; [`ResultLength::Unknown`] by default.
    ///
    /// # Example
    /// ```
    /// # use ciphermill_program::*;
    /// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// static DOUBLE: InstructionSpec =
    ///     InstructionSpec::new(Opcode(900), "double", &[Operand::read_write("n", &NUMBER)], "n ← 2n")
    ///         .result(ResultLength::OfOperand(0));
    /// assert_eq!(DOUBLE.result_length(), ResultLength::OfOperand(0));
    /// ```
    #[must_use]
    pub const fn result(mut self, length: ResultLength) -> Self {
        self.result = length;
        self
    }

    /// The number in the binary form.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The name in assembly text.
    #[must_use]
    pub const fn mnemonic(&self) -> &'static str {
        self.mnemonic
    }

    /// The register operands, in the order of the text.
    #[must_use]
    pub const fn operands(&self) -> &'static [Operand] {
        self.operands
    }

    /// The keys that the instruction uses, besides its operands.
    #[must_use]
    pub const fn key_uses(&self) -> &'static [KeyUse] {
        self.keys
    }

    /// The state of the run that the instruction uses.
    #[must_use]
    pub const fn run_state(&self) -> Option<RunState> {
        self.state
    }

    /// The rule for the length of the result.
    #[must_use]
    pub const fn result_length(&self) -> ResultLength {
        self.result
    }

    /// The executor of the instruction.
    #[must_use]
    pub const fn action(&self) -> Action {
        self.action
    }

    /// The text of the documentation, as in `n1 ← n1 + n2`.
    #[must_use]
    pub const fn effect(&self) -> &'static str {
        self.effect
    }

    /// The form of the operands.
    #[must_use]
    pub const fn form(&self) -> Form {
        match (self.factor, self.operands.len()) {
            (Some(_), _) => Form::Factor,
            (None, 1) => Form::One,
            (None, _) => Form::Two,
        }
    }

    /// The instruction as a line of text with the names of its operands, as in `homadd n1, n2`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(tfhe::HOM_INT_MULT.syntax(), "homintmult n, v");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn syntax(&self) -> String {
        let names: Vec<_> = self.operands.iter().map(|operand| operand.name).chain(self.factor).collect();
        format!("{} {}", self.mnemonic, names.join(", "))
    }

    /// Whether `word` is the mnemonic or its other spelling, in any case.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        self.mnemonic.eq_ignore_ascii_case(word) || self.alias.is_some_and(|alias| alias.eq_ignore_ascii_case(word))
    }

    /// The contradiction in the row, if there is one.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_lowercase())
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let count = |rule: fn(Access) -> bool| self.operands.iter().filter(|operand| rule(operand.access)).count();
        let (written, read) = (count(Access::writes), count(Access::reads));
        let changes_state = self.state.is_some_and(|state| state.access.writes());
        match self.result {
            _ if !word(self.mnemonic) => Some("its mnemonic is not a word of lower-case letters and digits"),
            _ if !matches!((self.operands.len(), self.factor), (1, _) | (2, None)) => {
                Some("it has neither one or two registers nor one register and a factor")
            }
            _ if self.action == Action::Compute && written != 1 && !(written == 0 && changes_state) => {
                Some("it does not write exactly one operand, or a state of the run")
            }
            ResultLength::OfOperand(index) if index >= read => {
                Some("its result has the length of an operand that it does not read")
            }
            _ => None,
        }
    }
}

/// `return n`
pub(crate) static RETURN: InstructionSpec = InstructionSpec {
    action: Action::Return,
    ..InstructionSpec::new(Opcode(0), "return", &[Operand::any("n", Access::Read)], "ends the program; its result is n")
};
/// `mov n1, n2`
pub(crate) static MOVE: InstructionSpec = InstructionSpec {
    action: Action::Move,
    alias: Some("move"),
    ..InstructionSpec::new(
        Opcode(1),
        "mov",
        &[Operand::any("n1", Access::Write), Operand::any("n2", Access::Read)],
        "n1 ← n2",
    )
};
/// `push n`
pub(crate) static PUSH: InstructionSpec = InstructionSpec {
    action: Action::Push,
    ..InstructionSpec::new(Opcode(2), "push", &[Operand::any("n", Access::Read)], "puts the content of n on the stack")
};
/// `pop n`
pub(crate) static POP: InstructionSpec = InstructionSpec {
    action: Action::Pop,
    ..InstructionSpec::new(Opcode(3), "pop", &[Operand::any("n", Access::Write)], "n ← the top of the stack")
};
