//! Instructions and the programs made of them.

use std::fmt;
use std::hash::{Hash, Hasher};

use thiserror::Error;

use crate::id::{KeyId, VrId};
use crate::spec::{Access, Action, Form, InstructionSpec, MOVE, Opcode, POP, PUSH, RETURN};

/// The most instructions a program may have. It bounds the memory of a decoder (1.5 MiB of instructions on the wire)
/// before the verifier applies the device's own, usually lower, limit.
pub const MAX_INSTRUCTIONS: usize = 65_536;

/// The operands of an instruction, in the order of the text.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let triple = Instruction::new(&tfhe::HOM_INT_MULT, Operands::Factor(x, 3))?;
/// assert_eq!(triple.to_string(), "homintmult 3:0:2, 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// One register.
    One(VrId),
    /// Two registers.
    Two(VrId, VrId),
    /// A register and an integer.
    Factor(VrId, i32),
}

impl Operands {
    const fn form(self) -> Form {
        match self {
            Self::One(_) => Form::One,
            Self::Two(..) => Form::Two,
            Self::Factor(..) => Form::Factor,
        }
    }
}

/// The operands are not of the form that the instruction takes.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let wrong = Instruction::new(&tfhe::HOM_ADD, Operands::One(x)).unwrap_err();
/// assert_eq!((wrong.expected, wrong.given), (Form::Two, Form::One));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("`{mnemonic}` takes operands of the form {expected:?}, not {given:?}")]
pub struct OperandsError {
    /// The instruction.
    pub mnemonic: &'static str,
    /// The form it takes.
    pub expected: Form,
    /// The form of the given operands.
    pub given: Form,
}

/// One secure-computing instruction: a row of the instruction set and its operands (paper, section 4.4 and Table 4).
///
/// Two instructions are equal if their opcodes and operands are.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let copy = Instruction::mov(x, y);
/// assert_eq!(copy.opcode(), Opcode(1));
/// assert!(copy.reads().eq([y]));
/// assert_eq!(copy.writes(), Some(x));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Instruction {
    spec: &'static InstructionSpec,
    operands: Operands,
}

impl Instruction {
    /// The instruction `spec` with these operands.
    ///
    /// # Errors
    /// If the operands are of another form.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let add = Instruction::new(&tfhe::HOM_ADD, Operands::Two(x, y))?;
    /// assert_eq!(add.to_string(), "homadd 3:0:2, 3:0:3");
    /// assert_eq!(add, sum.instructions()[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: &'static InstructionSpec, operands: Operands) -> Result<Self, OperandsError> {
        let (expected, given) = (spec.form(), operands.form());
        if expected == given {
            Ok(Self { spec, operands })
        } else {
            Err(OperandsError { mnemonic: spec.mnemonic(), expected, given })
        }
    }

    /// The same, where the caller has chosen the operands by [`InstructionSpec::form`].
    pub(crate) const fn of_form(spec: &'static InstructionSpec, operands: Operands) -> Self {
        Self { spec, operands }
    }

    /// `return n`: ends the program with the content of `n` as its result.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(Instruction::ret(x), sum.instructions()[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn ret(n: VrId) -> Self {
        Self { spec: &RETURN, operands: Operands::One(n) }
    }

    /// `mov dst, src`: `dst ← src`. The source keeps its content.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(Instruction::mov(x, y).to_string(), "mov 3:0:2, 3:0:3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn mov(dst: VrId, src: VrId) -> Self {
        Self { spec: &MOVE, operands: Operands::Two(dst, src) }
    }

    /// `push n`: puts the content of `n` on the stack. The register keeps its content.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let push = Instruction::push(x);
    /// assert!(push.reads().eq([x]));
    /// assert_eq!(push.writes(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn push(n: VrId) -> Self {
        Self { spec: &PUSH, operands: Operands::One(n) }
    }

    /// `pop n`: takes the top of the stack into `n`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // Exchanges x and y.
    /// let (push, pop) = (Instruction::push, Instruction::pop);
    /// let program = Program::new(vec![push(x), push(y), pop(x), pop(y), Instruction::ret(x)])?;
    /// assert_eq!(verify(set, &program, &stored, &Limits::default())?.stack_depth(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn pop(n: VrId) -> Self {
        Self { spec: &POP, operands: Operands::One(n) }
    }

    /// The row of the instruction set.
    #[must_use]
    pub const fn spec(&self) -> &'static InstructionSpec {
        self.spec
    }

    /// The operands.
    #[must_use]
    pub const fn operands(&self) -> Operands {
        self.operands
    }

    /// The number of the instruction in the binary form.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.spec.opcode()
    }

    /// The name of the instruction in assembly text.
    #[must_use]
    pub const fn mnemonic(&self) -> &'static str {
        self.spec.mnemonic()
    }

    /// The executor of the instruction.
    #[must_use]
    pub const fn action(&self) -> Action {
        self.spec.action()
    }

    /// The registers in the order of the operands: one or two.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(sum.instructions()[0].registers().eq([x, y]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn registers(&self) -> impl Iterator<Item = VrId> + use<> {
        let (first, second) = self.first_and_second();
        std::iter::once(first).chain(second)
    }

    pub(crate) const fn first_and_second(&self) -> (VrId, Option<VrId>) {
        match self.operands {
            Operands::One(n) | Operands::Factor(n, _) => (n, None),
            Operands::Two(a, b) => (a, Some(b)),
        }
    }

    /// The Key ID that it computes under: that of its first register.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(sum.instructions()[0].key_id(), x.key_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn key_id(&self) -> KeyId {
        self.first_and_second().0.key_id
    }

    /// The registers whose content the instruction needs, in the order of the operands. Keys are not among them: they
    /// follow from the key id.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let add = sum.instructions()[0];
    /// assert!(add.reads().eq([x, y]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reads(&self) -> impl Iterator<Item = VrId> + use<> {
        self.with_access(Access::reads)
    }

    /// The register the instruction changes; none for `return` and `push`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let [add, ret] = [sum.instructions()[0], sum.instructions()[1]];
    /// assert_eq!((add.writes(), ret.writes()), (Some(x), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn writes(&self) -> Option<VrId> {
        self.with_access(Access::writes).next()
    }

    fn with_access(&self, rule: fn(Access) -> bool) -> impl Iterator<Item = VrId> + use<> {
        let operands = self.spec.operands();
        self.registers().zip(operands).filter(move |(_, operand)| rule(operand.access)).map(|(register, _)| register)
    }
}

impl PartialEq for Instruction {
    fn eq(&self, other: &Self) -> bool {
        self.opcode() == other.opcode() && self.operands == other.operands
    }
}

impl Eq for Instruction {}

impl Hash for Instruction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.opcode(), self.operands).hash(state);
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instruction({self})")
    }
}

/// The instruction as a line of assembly with literal registers, as in `homadd 3:0:1, 4:0:3`.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mnemonic = self.mnemonic();
        match self.operands {
            Operands::One(n) => write!(f, "{mnemonic} {n}"),
            Operands::Two(a, b) => write!(f, "{mnemonic} {a}, {b}"),
            Operands::Factor(n, value) => write!(f, "{mnemonic} {n}, {value}"),
        }
    }
}

/// The program has no instruction, or too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a program has 1 to {MAX_INSTRUCTIONS} instructions, this one has {count}")]
pub struct ProgramLengthError {
    /// How many instructions there are.
    pub count: u64,
}

/// A straight line of 1 to [`MAX_INSTRUCTIONS`] instructions. Whether it may run is decided by
/// [`crate::verify`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let program = Program::new(vec![Instruction::mov(x, y), Instruction::ret(x)])?;
/// assert_eq!(disassemble(&program), "mov 3:0:2, 3:0:3\nreturn 3:0:2\n");
/// assert_eq!(Program::decode(set, &program.encode())?, program);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// A program of these instructions.
    ///
    /// # Errors
    /// If there is none, or more than [`MAX_INSTRUCTIONS`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(Program::new(vec![Instruction::ret(x)]).is_ok());
    /// assert_eq!(Program::new(Vec::new()), Err(ProgramLengthError { count: 0 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, ProgramLengthError> {
        if (1..=MAX_INSTRUCTIONS).contains(&instructions.len()) {
            Ok(Self { instructions })
        } else {
            Err(ProgramLengthError { count: instructions.len() as u64 })
        }
    }

    /// The instructions, at least one.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_at_least_one_instruction_and_at_most_the_bound() {
        let one = Instruction::push("3:0:1".parse().unwrap());
        assert_eq!(Program::new(vec![]), Err(ProgramLengthError { count: 0 }));
        assert_eq!(Program::new(vec![one]).unwrap().instructions(), [one]);
        assert!(Program::new(vec![one; MAX_INSTRUCTIONS]).is_ok());
        let error = Program::new(vec![one; MAX_INSTRUCTIONS + 1]).unwrap_err();
        assert_eq!(error.to_string(), "a program has 1 to 65536 instructions, this one has 65537");
    }

    #[test]
    fn an_instruction_is_small() {
        assert!(size_of::<Instruction>() <= 40);
    }

    #[test]
    fn operands_of_another_form_are_refused() {
        let n = "3:0:1".parse().unwrap();
        let error = Instruction::new(&PUSH, Operands::Two(n, n)).unwrap_err();
        assert_eq!(error.to_string(), "`push` takes operands of the form One, not Two");
    }
}
