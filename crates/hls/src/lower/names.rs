//! Names and their meanings, and the values of expressions of constants.

use std::collections::HashMap;

use super::{Binding, Lowering};
use crate::ast::{Declaration, Expr};
use crate::diagnostic::{Place, Problem, Result};
use crate::interpret::Known;
use crate::ir::Role;

impl Lowering<'_> {
    pub(super) fn declare(&mut self, name: &str, binding: Binding) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), binding);
        }
    }

    /// The meaning of a name of the present function.
    fn local(&self, name: &str) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    pub(super) fn find(&self, name: &str, place: Place) -> Result<&Binding> {
        self.local(name).or_else(|| self.globals.get(name)).ok_or_else(|| {
            Problem::new(place, format!("`{name}` is not declared"), "declare it, or define it as a macro")
        })
    }

    /// A name for a memory that no other memory has: the name in the source, with a number if it is taken.
    pub(super) fn unused(&mut self, name: &str) -> String {
        let Some(mut copies) = self.copies.insert(name.to_owned(), 1) else { return name.to_owned() };
        let other = loop {
            copies += 1;
            let other = format!("{name}_{copies}");
            if !self.copies.contains_key(&other) {
                break other;
            }
        };
        self.copies.insert(name.to_owned(), copies);
        self.copies.insert(other.clone(), 1);
        other
    }

    /// Notes a name of the present function. The interpreter knows names outside of functions. A variable has no value, and
    /// hides them.
    fn note(&self, name: &str, known: &mut Known) {
        let meaning = match self.local(name) {
            None => return,
            Some(Binding::Constant(value, of)) => (Some(*value), *of),
            Some(Binding::Value(of, ..) | Binding::Values(of, ..) | Binding::Memory(_, of)) => (None, *of),
        };
        known.insert(name.to_owned(), meaning);
    }

    /// The names of the present function in an expression.
    fn known(&self, expression: &Expr) -> Known {
        let mut known = HashMap::new();
        expression.for_each_name(&mut |name| self.note(name, &mut known));
        known
    }

    /// The names of the present function in a declaration.
    pub(super) fn known_in_declaration(&self, declaration: &Declaration) -> Known {
        let mut known = HashMap::new();
        let mut note = |name: &str| self.note(name, &mut known);
        declaration.lengths.iter().for_each(|length| length.for_each_name(&mut note));
        declaration.initial.iter().for_each(|initial| initial.for_each_name(&mut note));
        known
    }

    /// The value of an expression, if that is a constant.
    pub(super) fn constant(&mut self, expression: &Expr) -> Option<i128> {
        let known = self.known(expression);
        self.interpreter.constant(expression, &known).ok()
    }

    /// The value of an expression that must be a constant.
    pub(super) fn demanded(&mut self, expression: &Expr, what: impl Fn() -> String, way_out: &str) -> Result<i128> {
        if self.varies(expression) {
            return Err(Problem::new(expression.place, format!("{} is not a constant", what()), way_out));
        }
        let known = self.known(expression);
        self.interpreter.constant(expression, &known)
    }

    /// Whether an expression contains a variable.
    fn varies(&self, expression: &Expr) -> bool {
        let mut varies = false;
        expression.for_each_name(&mut |name| varies |= self.is_variable(name));
        varies
    }

    /// Whether a name is a variable, or a table of a function, which the interpreter does not know.
    fn is_variable(&self, name: &str) -> bool {
        match self.local(name) {
            Some(binding) => !matches!(binding, Binding::Constant(..)),
            None => match self.globals.get(name) {
                Some(Binding::Memory(number, _)) => !matches!(self.memories[*number].role, Role::Table(_)),
                _ => false,
            },
        }
    }
}
