//! High-level synthesis: a compiler of a C subset with pragmas to SystemVerilog.

pub mod ast;
mod diagnostic;
mod interpret;
pub mod ir;
mod parse;
pub mod pragma;

pub use diagnostic::{Diagnostic, Place};
pub use parse::parse;

/// A C source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// A source of that name, which diagnostics show.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
