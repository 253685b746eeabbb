//! What can be wrong with an assembly text.

use thiserror::Error;

use crate::isa::instruction::OperandError;
use crate::isa::operand::RangeError;
use crate::isa::program::ProgramProblem;

/// The maximum length of an assembly text in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 26;

/// An error in an assembly text, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct AsmError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: AsmProblem,
}

/// What is wrong with an assembly text. Words quoted from the text are escaped and cut, so that a hostile text cannot
/// drive the terminal it is reported on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AsmProblem {
    /// Something else belongs here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What belongs here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Operands do not go together.
    #[error(transparent)]
    Operand(#[from] OperandError),
    /// Two places with one label.
    #[error("the label `{name}` is already defined in line {line}; use another name")]
    LabelTwice {
        /// The label.
        name: String,
        /// The line of the first one.
        line: usize,
    },
    /// A branch to nowhere.
    #[error("the label `{name}` is not defined")]
    LabelUnknown {
        /// The label.
        name: String,
    },
    /// More labels than the instruction memory has words.
    #[error("more than {limit} labels; the instruction memory has only {limit} words")]
    TooManyLabels {
        /// How many are allowed.
        limit: usize,
    },
    /// The program does not fit.
    #[error("the instruction memory holds {limit} instructions and is full; shorten the program or enlarge the memory")]
    TooManyInstructions {
        /// How many it holds.
        limit: usize,
    },
    /// The text is too long.
    #[error("the text has {bytes} bytes; the limit is {MAX_TEXT_BYTES}")]
    TextTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The instructions are no program.
    #[error(transparent)]
    Program(ProgramProblem),
}

/// The longest quotation in a message, in characters.
const MAX_QUOTED: usize = 40;

/// `text` fit to be shown: escaped, and cut if long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}
