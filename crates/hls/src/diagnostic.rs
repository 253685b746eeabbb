//! Diagnostics of a source: the place, the violated bound, and a way out.

use std::fmt;

use crate::Source;

/// A place in a source or one of its headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// 0 for the source; from 1, its headers in the order of their names.
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
    /// The place of the mistake.
    pub place: Place,
    /// The mistake, with the violated bound.
    pub what: String,
    /// A way to correct the source.
    pub way_out: String,
}

/// A diagnostic before the name of its source is known.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    /// A second place, which replaces `{also}` in `what`.
    pub(crate) also: Option<Place>,
    pub(crate) what: String,
    pub(crate) way_out: String,
}

impl Problem {
    pub(crate) fn new(place: Place, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { place, also: None, what: what.into(), way_out: way_out.into() }
    }

    /// The same with a second place.
    pub(crate) fn and(mut self, also: Place) -> Self {
        self.also = Some(also);
        self
    }

    pub(crate) fn of(self, source: &Source) -> Diagnostic {
        let file = source.file(self.place.file).to_owned();
        let what = match self.also {
            Some(also) => self.what.replace("{also}", &format!("{}:{also}", source.file(also.file))),
            None => self.what,
        };
        Diagnostic { file, place: self.place, what: printable(&what), way_out: printable(&self.way_out) }
    }
}

/// The greatest number of characters of a message.
const MAX_MESSAGE: usize = 400;

/// A text that is safe to print: short, and without control characters from a source.
fn printable(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let end = if text.chars().nth(MAX_MESSAGE).is_some() { "…" } else { "" };
    shown.take(MAX_MESSAGE).collect::<String>() + end
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;
