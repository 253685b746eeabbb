//! Errors of the assembler.

use std::borrow::Cow;

use thiserror::Error;

use crate::id::{ParseVrIdError, VrId};
use crate::instruction::MAX_INSTRUCTIONS;

/// An error in an assembly text, and where it is.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let wrong = assemble(set, "# a sum\nhomadd a, 3:0:3\nreturn a", &Bindings::new()).unwrap_err();
/// assert_eq!((wrong.line, wrong.column), (2, 8));
/// assert!(wrong.to_string().starts_with("line 2, column 8: `a` is read here"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct AsmError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem there.
    pub problem: AsmProblem,
}

/// A problem in an assembly text. Words quoted from the text are escaped and cut, so that a hostile text cannot
/// drive the terminal it is reported on.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let wrong = assemble(set, "homadd a, 3:0:3\nreturn a", &Bindings::new()).unwrap_err();
/// assert!(matches!(wrong.problem, AsmProblem::Unbound { .. }));
/// let wrong = assemble(set, "# no instruction", &Bindings::new()).unwrap_err();
/// assert_eq!(wrong.problem, AsmProblem::Empty);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AsmProblem {
    /// Another token is expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The expected token.
        expected: Cow<'static, str>,
        /// The found token.
        found: String,
    },
    /// A literal register is malformed.
    #[error("`{text}` is not a register: {source}")]
    Register {
        /// The found token.
        text: String,
        /// The error in it.
        source: ParseVrIdError,
    },
    /// A name is read before it is bound or written.
    #[error(
        "`{name}` is read here, but it is neither bound nor written before; add --bind {name}={example} (type:key:data of \
         the stored object) or the line `.bind {name} {example}`"
    )]
    Unbound {
        /// The name.
        name: String,
        /// A register that could stand in its place.
        example: VrId,
    },
    /// A name needs a register, but no operand names the key.
    #[error("no operand of the program is bound, so the key of `{name}` is not known; add --bind {name}={example}")]
    NoKey {
        /// The name.
        name: String,
        /// A register that could stand in its place.
        example: VrId,
    },
    /// A name needs a register, but the program's operands have several keys.
    #[error(
        "the key of `{name}` is not clear, as the program uses {first} and {second}; add --bind {name}=type:key:data"
    )]
    SeveralKeys {
        /// The name.
        name: String,
        /// An operand of one key.
        first: VrId,
        /// An operand of another key.
        second: VrId,
    },
    /// Two `.bind` lines for one name.
    #[error("`{name}` is bound at line {line} already; bind it once")]
    BoundTwice {
        /// The name.
        name: String,
        /// The line of the first `.bind`.
        line: usize,
    },
    /// No register is left for a temporary.
    #[error("no data id from 0xffff0000 is left for the temporary `{name}`; bind it to a register with --bind")]
    NoTemporaryLeft {
        /// The name.
        name: String,
    },
    /// The text is too long.
    #[error("the program has more than {MAX_INSTRUCTIONS} instructions; split it")]
    TooManyInstructions,
    /// The text has no instruction.
    #[error("the text ends without an instruction; a program has at least a return")]
    Empty,
}

/// The longest quotation in a message, in characters.
const MAX_QUOTED: usize = 40;

/// `text` prepared for a message: escaped, and cut if long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}
