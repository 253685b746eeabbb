//! High-level synthesis: a compiler of a C subset with pragmas to SystemVerilog.

pub mod analysis;
mod arithmetic;
pub mod ast;
pub mod banks;
mod compile;
mod diagnostic;
mod emit;
pub mod explore;
mod interpret;
pub mod ir;
mod lifetimes;
mod lower;
mod naming;
mod parse;
pub mod pragma;
mod read;
pub mod report;
pub mod schedule;
mod sharing;
mod streams;
mod typing;
mod unwritten;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use compile::{Design, Scheduled};
pub use diagnostic::{Diagnostic, Place};
pub use emit::bench::{ElementError, OnBench, Run, bench};
pub use emit::{Memories, Options, ZeroBits};
pub use interpret::Argument;
pub use parse::parse;
pub use read::ReadError;

/// A C source, with the headers that it may include.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    headers: Arc<BTreeMap<String, String>>,
}

impl Source {
    /// A source. Diagnostics show its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), headers: Arc::default() }
    }

    /// The same source, which may include a header by `#include "name"`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::{Source, parse};
    ///
    /// let source = Source::new("twice.c", "#include \"size.h\"\nvoid twice(word a[N]) { a[0] = 2; }");
    /// let source = source.with_header("size.h", "#define N 4\ntypedef unsigned char word;");
    /// assert_eq!(parse(&source, &[])?.functions[0].name, "twice");
    /// # Ok::<(), ciphermill_hls::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.headers).insert(name.into(), text.into());
        self
    }

    /// The name of a file of a [`Place`].
    fn file(&self, file: u16) -> &str {
        let header = usize::from(file).checked_sub(1).and_then(|index| self.headers.keys().nth(index));
        header.unwrap_or(&self.name)
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
        lower::lower(&unit, function).map_err(|problem| problem.of(self))
    }

    /// Interprets a function statement by statement. Returns its result and the final elements of its array parameters.
    /// Elements without a value are `None`.
    ///
    /// # Errors
    /// A [`Diagnostic`], for example if a result exceeds its type.
    #[expect(clippy::type_complexity, reason = "a result and arrays")]
    pub fn interpret(
        &self,
        defines: &[(String, String)],
        function: &str,
        arguments: &[Argument],
    ) -> Result<(Option<i128>, Vec<Vec<Option<i128>>>), Diagnostic> {
        let mut outcomes = self.interpret_each(defines, function, &[arguments.to_vec()])?;
        Ok(outcomes.remove(0))
    }

    /// Interprets a function for each of several arguments, and parses it once. The outcomes are those of
    /// [`interpret`](Self::interpret).
    ///
    /// # Errors
    /// The first [`Diagnostic`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::{Argument, Source};
    ///
    /// let source = Source::new("half.c", "unsigned half(unsigned x) { return x / 2; }");
    /// let outcomes = source.interpret_each(&[], "half", &[vec![Argument::Value(7)], vec![Argument::Value(8)]])?;
    /// assert_eq!(outcomes.iter().map(|(result, _)| *result).collect::<Vec<_>>(), [Some(3), Some(4)]);
    /// # Ok::<(), ciphermill_hls::Diagnostic>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "results and arrays")]
    pub fn interpret_each(
        &self,
        defines: &[(String, String)],
        function: &str,
        arguments: &[Vec<Argument>],
    ) -> Result<Vec<(Option<i128>, Vec<Vec<Option<i128>>>)>, Diagnostic> {
        let unit = parse(self, defines)?;
        let run = |arguments: &Vec<Argument>| {
            let outcome = interpret::Interpreter::new(&unit).and_then(|mut one| one.call_with(function, arguments));
            outcome.map_err(|problem| problem.of(self))
        };
        arguments.iter().map(run).collect()
    }
}
