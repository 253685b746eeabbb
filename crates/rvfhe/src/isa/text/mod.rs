//! The assembler: from text to the program of a core.
//!
//! The text has one instruction per line, in the form of the `Display` of [`Instruction`], with labels and comments.
//! Directives, expressions and macros are not supported; use GNU as with the macros of `include/rvfhe.inc`.

mod error;
mod line;
mod statement;

use std::collections::HashMap;

pub use error::{AsmError, AsmProblem, MAX_TEXT_BYTES};

use super::instruction::Instruction;
use super::operand::{BranchOffset, Core, JumpOffset, wide};
use super::program::{InstructionMemory, Program};
use error::shown;
use line::Line;
use statement::{Statement, Target};

/// A program with the source line of each instruction.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Core, InstructionMemory, assemble};
///
/// let assembly = assemble("# the end\n\nphase\nebreak", Core::FIRST, InstructionMemory::PAPER)?;
/// assert_eq!(assembly.lines, [3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The program.
    pub program: Program,
    /// The line of each instruction, counted from 1.
    pub lines: Vec<usize>,
}

/// The position of a label.
struct Label {
    line: usize,
    index: usize,
}

/// Assembles the program of a core.
///
/// # Errors
/// [`AsmError`], with line and column, for invalid texts, for texts above [`MAX_TEXT_BYTES`], and for programs that
/// [`Program::new`] rejects.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, assemble};
///
/// let text = "again: mbfly v3, v7, t2!, m0\nbne x1, x2, again\nebreak";
/// let program = assemble(text, Core::FIRST, InstructionMemory::PAPER)?.program;
/// assert_eq!(program.instructions()[0], Instruction::decode(0x2623_81ab)?);
/// assert!(assemble("mbfly v3, v3, t2, m0\nebreak", Core::FIRST, InstructionMemory::PAPER).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assemble(text: &str, core: Core, memory: InstructionMemory) -> Result<Assembly, AsmError> {
    if text.len() > MAX_TEXT_BYTES {
        let problem = AsmProblem::TextTooLong { bytes: text.len() };
        return Err(AsmError { line: 1, column: 1, problem });
    }
    let mut statements: Vec<Statement<'_>> = Vec::new();
    let mut labels: HashMap<&str, Label> = HashMap::new();
    let mut last = 1;
    for (number, content) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
        last = number;
        let mut line = Line::new(content, number);
        while let Some(name) = line.label()? {
            if let Some(first) = labels.get(name.text) {
                let problem = AsmProblem::LabelTwice { name: shown(name.text), line: first.line };
                return Err(line.error(name.column, problem));
            }
            if labels.len() == memory.words() {
                return Err(line.error(name.column, AsmProblem::TooManyLabels { limit: memory.words() }));
            }
            labels.insert(name.text, Label { line: number, index: statements.len() });
        }
        if let Some(statement) = statement::parse(&mut line)? {
            if statements.len() == memory.words() {
                return Err(line.error(statement.column, AsmProblem::TooManyInstructions { limit: memory.words() }));
            }
            statements.push(statement);
        }
    }
    let mut instructions = Vec::with_capacity(statements.len());
    for (index, statement) in statements.iter().enumerate() {
        instructions.push(resolved(statement, index, &labels)?);
    }
    let program = Program::new(core, instructions, memory).map_err(|error| {
        // An empty program has no word, so the error is at the end of the text.
        let place = error.problem.index().and_then(|index| statements.get(index));
        let (line, column) = place.map_or((last, 1), |statement| (statement.line, statement.column));
        AsmError { line, column, problem: AsmProblem::Program(error.problem) }
    })?;
    Ok(Assembly { program, lines: statements.iter().map(|statement| statement.line).collect() })
}

/// The instruction with the distance of its branch resolved.
fn resolved(statement: &Statement<'_>, index: usize, labels: &HashMap<&str, Label>) -> Result<Instruction, AsmError> {
    let Statement { line, mut instruction, target, .. } = *statement;
    if let Some(Target { name, column }) = target {
        let error = |problem| AsmError { line, column, problem };
        let label = labels.get(name).ok_or_else(|| error(AsmProblem::LabelUnknown { name: shown(name) }))?;
        let distance = wide(label.index) - wide(index);
        match &mut instruction {
            Instruction::Bne { offset, .. } => {
                *offset = BranchOffset::new(distance).map_err(|range| error(range.into()))?;
            }
            Instruction::Jal { offset, .. } => {
                *offset = JumpOffset::new(distance).map_err(|range| error(range.into()))?;
            }
            _ => {}
        }
    }
    Ok(instruction)
}
