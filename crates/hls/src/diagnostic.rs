//! What is wrong with a source: where, which bound it breaks, and a way out.

use std::fmt;

use crate::Source;

/// A place in a source or one of its headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// 0 is the source, and from 1 on its headers by name.
    pub file: u16,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
}

impl Place {
    /// The first character of the source.
    pub(crate) const BEGIN: Self = Self { file: 0, line: 1, column: 1 };
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a source cannot be compiled.
///
/// # Example
/// ```
/// use ciphermill_hls::{Source, parse};
///
/// let source = Source::new("wait.c", "void wait(void) { while (1) { } }");
/// let error = parse(&source, &[]).unwrap_err();
/// assert_eq!(error.to_string(), "wait.c:1:19: a `while` loop; use a `for` loop with a constant number of iterations");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{place}: {what}; {way_out}")]
pub struct Diagnostic {
    /// The name of the source or header.
    pub file: String,
    /// Where.
    pub place: Place,
    /// What is wrong, with the bound that it breaks.
    pub what: String,
    /// What to write instead.
    pub way_out: String,
}

/// A diagnostic before the name of its source is known.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) what: String,
    pub(crate) way_out: String,
}

impl Problem {
    pub(crate) fn new(place: Place, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { place, what: what.into(), way_out: way_out.into() }
    }

    pub(crate) fn of(self, source: &Source) -> Diagnostic {
        let file = source.file(self.place.file).to_owned();
        Diagnostic { file, place: self.place, what: printable(&self.what), way_out: printable(&self.way_out) }
    }
}

/// Characters of a message.
const MAX_MESSAGE: usize = 400;

/// A text with parts of a source, which may be long, or made to change the terminal.
fn printable(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let end = if text.chars().nth(MAX_MESSAGE).is_some() { "…" } else { "" };
    shown.take(MAX_MESSAGE).collect::<String>() + end
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;
