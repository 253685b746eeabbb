//! High-level synthesis: a compiler of a C subset with pragmas to SystemVerilog.

pub mod analysis;
pub mod ast;
mod compile;
mod diagnostic;
mod emit;
mod interpret;
pub mod ir;
mod lower;
mod parse;
pub mod pragma;
pub mod schedule;

pub use compile::{Design, Scheduled};
pub use diagnostic::{Diagnostic, Place};
pub use interpret::Argument;
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

    /// The memories and kernels of a function.
    ///
    /// # Errors
    /// The first [`Diagnostic`].
    pub fn lower(&self, defines: &[(String, String)], function: &str) -> Result<ir::Program, Diagnostic> {
        let unit = parse(self, defines)?;
        lower::lower(&unit, function).map_err(|problem| problem.of(&self.name))
    }

    /// Calls a function statement by statement. Returns its result, and the arrays of its parameters as it leaves them:
    /// elements without a value are `None`.
    ///
    /// # Errors
    /// A [`Diagnostic`], also where a result is beyond its type.
    #[expect(clippy::type_complexity, reason = "a result and arrays")]
    pub fn interpret(
        &self,
        defines: &[(String, String)],
        function: &str,
        arguments: &[Argument],
    ) -> Result<(Option<i128>, Vec<Vec<Option<i128>>>), Diagnostic> {
        let unit = parse(self, defines)?;
        let run = || interpret::Interpreter::new(&unit)?.call_with(function, arguments);
        run().map_err(|problem| problem.of(&self.name))
    }
}
