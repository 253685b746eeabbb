//! Errors of assembly texts.

use thiserror::Error;

use crate::isa::instruction::OperandError;
use crate::isa::operand::RangeError;
use crate::isa::program::ProgramProblem;

/// The maximum length of an assembly text in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 26;

/// An error in an assembly text, with its position.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{AsmProblem, Core, InstructionMemory, assemble};
///
/// let refused = assemble("bne x1, x2, away\nebreak", Core::FIRST, InstructionMemory::PAPER).unwrap_err();
/// assert_eq!(refused.line, 1);
/// assert!(matches!(refused.problem, AsmProblem::LabelUnknown { name } if name == "away"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct AsmError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The problem.
    pub problem: AsmProblem,
}

/// The problem in an assembly text. Quoted words are escaped and truncated, so that a hostile text cannot control the
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AsmProblem {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The expected token.
        expected: &'static str,
        /// The found token.
        found: String,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The operands cannot be combined.
    #[error(transparent)]
    Operand(#[from] OperandError),
    /// A label is defined twice.
    #[error("the label `{name}` is already defined in line {line}; use another name")]
    LabelTwice {
        /// The label.
        name: String,
        /// The line of the first definition.
        line: usize,
    },
    /// A branch to an undefined label.
    #[error("the label `{name}` is not defined")]
    LabelUnknown {
        /// The label.
        name: String,
    },
    /// More labels than the instruction memory has words.
    #[error("more than {limit} labels; the instruction memory has only {limit} words")]
    TooManyLabels {
        /// The maximum.
        limit: usize,
    },
    /// The program does not fit.
    #[error("the instruction memory holds {limit} instructions and is full; shorten the program or enlarge the memory")]
    TooManyInstructions {
        /// The capacity of the instruction memory.
        limit: usize,
    },
    /// The text is too long.
    #[error("the text has {bytes} bytes; the limit is {MAX_TEXT_BYTES}")]
    TextTooLong {
        /// The length of the text.
        bytes: usize,
    },
    /// The instructions do not form a valid program.
    #[error(transparent)]
    Program(ProgramProblem),
}

/// The maximum length of a quotation in characters.
const MAX_QUOTED: usize = 40;

/// `text` for messages: escaped, and truncated if it is long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}
