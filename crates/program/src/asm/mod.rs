//! The assembler and the disassembler. `docs/program.md` is the reference of the language.

mod bindings;
mod disasm;
mod error;
mod parse;
mod resolve;

pub use bindings::{Binding, BindingError, Bindings};
pub use disasm::{disassemble, disassemble_named};
pub use error::{AsmError, AsmProblem};

use crate::id::VrId;
use crate::instruction::Program;
use crate::set::InstructionSet;

/// The source line of every instruction of an assembled program.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let assembly = assemble(set, "# a sum\n\nhomadd 3:0:2, 3:0:3\nreturn 3:0:2", &Bindings::new())?;
/// assert_eq!(assembly.lines.line(0), Some(3));
/// assert_eq!(assembly.lines.line(2), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    lines: Vec<usize>,
}

impl LineMap {
    /// The line, counted from 1, of the instruction with this index, counted from 0.
    #[must_use]
    pub fn line(&self, index: usize) -> Option<usize> {
        self.lines.get(index).copied()
    }
}

/// An assembled program.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let assembly = assemble(set, "mov a, 3:0:2\nreturn a", &Bindings::new())?;
/// let (name, register) = &assembly.names[0];
/// assert_eq!(name, "a");
/// assert!(register.data_id.is_temporary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The program.
    pub program: Program,
    /// The source line of every instruction.
    pub lines: LineMap,
    /// Every name that the program uses and the register it stands for, by name. Names that the assembler placed itself
    /// have a [temporary](crate::DataId::is_temporary) data id; `tv` may stand for its default.
    pub names: Vec<(String, VrId)>,
}

/// Translates a text into a program over `set`.
///
/// A name stands for the register that `bindings` gives it, or else a `.bind` line of the text. Of the other names, a class's
/// [default name](crate::ObjectClass::default_name) is object 0 of the program's key. A name that is written before it is
/// read becomes a temporary: a compute-on-read register of the class of its content, of the program's key. Its data id is
/// at least [`FIRST_TEMPORARY`](crate::DataId::FIRST_TEMPORARY).
/// The program's key is the one key of all registers that the text and its bindings spell out.
///
/// # Errors
/// The first error of form, or else the first name without a register, with line and column.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let bindings = Bindings::collect(["a=3:0:2".parse()?, "b=3:0:3".parse()?])?;
/// let text = "homadd a, b # a + b\nreturn a";
/// assert_eq!(assemble(set, text, &bindings)?.program, sum);
/// assert!(assemble(set, text, &Bindings::new()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assemble(set: &InstructionSet, text: &str, bindings: &Bindings) -> Result<Assembly, AsmError> {
    let parsed = parse::parse(set, text)?;
    let mut resolver = resolve::Resolver::new(set, &parsed, bindings);
    let mut instructions = Vec::with_capacity(parsed.statements.len());
    let mut lines = LineMap::default();
    for statement in &parsed.statements {
        instructions.push(resolver.instruction(statement)?);
        lines.lines.push(statement.first.line);
    }
    let mut names: Vec<_> =
        resolver.into_names().into_iter().map(|(name, register)| (name.to_owned(), register)).collect();
    names.sort();
    // The parser has counted the statements already.
    let program = Program::new(instructions).map_err(|_| AsmError {
        line: 1,
        column: 1,
        problem: AsmProblem::TooManyInstructions,
    })?;
    Ok(Assembly { program, lines, names })
}
