//! Calls: functions become part of their callers.

use super::expression::Typed;
use super::{Binding, Lowering, MAX_CALLS, Scope, assigns};
use crate::ast::{Declaration, Expr, ExprKind, Function, Stmt, StmtKind, Type};
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::{Node, Role};

impl<'u> Lowering<'u> {
    /// A call outside of loops whose result is not used.
    pub(super) fn call_outside(&mut self, name: &str, arguments: &'u [Expr], place: Place) -> Result<()> {
        let function = self.callee(name, arguments.len(), place)?;
        if self.fills(function, arguments) {
            return self.fill(function, arguments, place);
        }
        self.end_straight()?;
        let mut scope = Scope::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let binding = if parameter.lengths.is_empty() {
                match self.constant(argument).filter(|_| !assigns(&function.body, &parameter.name)) {
                    Some(value) => {
                        crate::interpret::fitting(value, parameter.of, argument.place)?;
                        Binding::Constant(value, parameter.of)
                    }
                    None => {
                        let number = self.memory(parameter, Vec::new(), Role::Local);
                        self.straight(argument.place)?;
                        let given = self.expression(argument)?;
                        self.assign_variable(number, parameter.of, given, argument.place)?;
                        self.end_straight()?;
                        Binding::Memory(number, parameter.of)
                    }
                }
            } else {
                self.array_argument(parameter, argument)?
            };
            scope.insert(parameter.name.clone(), binding);
        }
        let outer = std::mem::replace(&mut self.scopes, vec![scope]);
        self.calls.push(function);
        self.nested(place, |this| this.function_level(&function.body, true))?;
        self.end_straight()?;
        self.calls.pop();
        self.scopes = outer;
        Ok(())
    }

    /// The function of a call.
    pub(super) fn callee(&self, name: &str, arguments: usize, place: Place) -> Result<&'u Function> {
        let function = self.interpreter.function(name, place)?;
        if function.parameters.len() != arguments {
            let what = format!("{arguments} arguments of `{name}`, which has {} parameters", function.parameters.len());
            return Err(Problem::new(place, what, "give one argument for each parameter"));
        }
        if self.calls.iter().any(|caller| std::ptr::eq(*caller, function)) {
            return Err(Problem::new(place, format!("`{name}` calls itself"), "use a loop"));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(Problem::new(
                place,
                format!("more than {MAX_CALLS} calls inside of one another"),
                "use fewer nested calls",
            ));
        }
        Ok(function)
    }

    pub(super) fn array_argument(&mut self, parameter: &'u Declaration, argument: &Expr) -> Result<Binding> {
        let refused =
            |what: String| Problem::new(argument.place, what, format!("give an array for `{}`", parameter.name));
        let ExprKind::Name(name) = &argument.kind else {
            return Err(refused("an argument that is not an array".to_owned()));
        };
        // The names in its lengths are not those of the caller.
        let caller = std::mem::take(&mut self.scopes);
        let wanted = self.lengths(parameter);
        self.scopes = caller;
        let wanted = wanted?;
        let binding = self.find(name, argument.place)?.clone();
        let lengths = match &binding {
            Binding::Memory(number, _) => &self.memories[*number].lengths,
            Binding::Values(_, lengths, ..) => lengths,
            _ => return Err(refused(format!("`{name}` is not an array"))),
        };
        if *lengths != wanted {
            return Err(refused(format!("`{name}` has the lengths {lengths:?}, not {wanted:?}")));
        }
        Ok(binding)
    }

    /// A call inside of a kernel: the function's statements with its parameters bound.
    pub(super) fn called(&mut self, name: &str, arguments: &[Expr], place: Place) -> Result<Option<Typed>> {
        let function = self.callee(name, arguments.len(), place)?;
        let depth = self.work(place)?.depth();
        let mut scope = Scope::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let binding = if parameter.lengths.is_empty() {
                let (node, _) = self.expression(argument)?;
                self.fitting(node, parameter.of, argument.place)?;
                match self.work(place)?.graph.constant(node) {
                    Some(value) if !assigns(&function.body, &parameter.name) => Binding::Constant(value, parameter.of),
                    _ => Binding::Value(parameter.of, Some(node), depth),
                }
            } else {
                match self.array_argument(parameter, argument)? {
                    Binding::Values(..) => {
                        let what = format!("`{}` is an array inside of a loop", parameter.name);
                        return Err(Problem::new(argument.place, what, "pass its elements as values"));
                    }
                    binding => binding,
                }
            };
            scope.insert(parameter.name.clone(), binding);
        }
        let outer = std::mem::replace(&mut self.scopes, vec![scope]);
        self.calls.push(function);
        let result = self.tail(&function.body, function.result, None);
        self.calls.pop();
        self.scopes = outer;
        match (function.result, result?) {
            (Some(of), Some(node)) => Ok(Some((node, of))),
            (Some(_), None) => {
                Err(Problem::new(place, format!("`{name}` returns no value"), "return one on every way"))
            }
            (None, _) => Ok(None),
        }
    }

    /// Lowers the statements of a function and those after them, and returns its result. Statements after a `return` are
    /// skipped.
    fn tail(
        &mut self,
        statements: &'u [Stmt],
        of: Option<Type>,
        after: Option<&After<'u, '_>>,
    ) -> Result<Option<Node>> {
        self.scopes.push(Scope::new());
        let result = self.tail_in_scope(statements, of, after);
        self.scopes.pop();
        result
    }

    fn tail_in_scope(
        &mut self,
        statements: &'u [Stmt],
        of: Option<Type>,
        after: Option<&After<'u, '_>>,
    ) -> Result<Option<Node>> {
        for (index, statement) in statements.iter().enumerate() {
            let place = statement.place;
            let after = After { statements: &statements[index + 1..], scopes: self.scopes.len(), next: after };
            match &statement.kind {
                StmtKind::Return(Some(value)) => {
                    let Some(of) = of else {
                        return Err(Problem::new(place, "a value that a `void` function returns", "return no value"));
                    };
                    let (node, _) = self.expression(value)?;
                    self.fitting(node, of, value.place)?;
                    return Ok(Some(node));
                }
                StmtKind::Return(None) => return Ok(None),
                StmtKind::Block(inner) if returns(statement) => {
                    self.count(place)?;
                    return self.nested(place, |this| this.tail(inner, of, Some(&after)));
                }
                StmtKind::If(condition, yes, no) if returns(statement) => {
                    self.count(place)?;
                    let condition = self.expression(condition)?.0;
                    let condition = self.work(place)?.truth(condition, place)?;
                    let opposite = self.work(place)?.not(condition, place)?;
                    let no: &[Stmt] = no.as_ref().map_or(&[], |no| std::slice::from_ref(&**no));
                    let known = self.work(place)?.graph.constant(condition);
                    let ways = [(condition, std::slice::from_ref(&**yes)), (opposite, no)];
                    // A way that is never chosen need not be valid.
                    if let Some(value) = known {
                        let (_, chosen) = ways[usize::from(value == 0)];
                        return self.nested(place, |this| this.tail(chosen, of, Some(&after)));
                    }
                    let mut results = [None; 2];
                    for ((holds, chosen), result) in ways.into_iter().zip(&mut results) {
                        self.work(place)?.enter(holds);
                        let done = self.nested(place, |this| this.tail(chosen, of, Some(&after)));
                        self.work(place)?.leave();
                        *result = done?;
                    }
                    return match results {
                        [Some(a), Some(b)] => self.work(place)?.select(condition, a, b, place).map(Some),
                        [None, None] => Ok(None),
                        _ => Err(Problem::new(place, "a `return` on one of two ways", "return on both")),
                    };
                }
                _ => self.statement(statement)?,
            }
        }
        let Some(after) = after else { return Ok(None) };
        // The names of inner blocks do not hide those of the statements after them.
        let inner = self.scopes.split_off(after.scopes);
        let result = self.tail(after.statements, of, after.next);
        self.scopes.extend(inner);
        result
    }
}

/// The statements after a branch or a block with a `return` inside.
struct After<'u, 'a> {
    statements: &'u [Stmt],
    /// The number of scopes around them.
    scopes: usize,
    /// The statements after these.
    next: Option<&'a After<'u, 'a>>,
}

/// Whether a statement has a `return` inside.
fn returns(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(inner) => inner.iter().any(returns),
        StmtKind::If(_, yes, no) => returns(yes) || no.as_ref().is_some_and(|no| returns(no)),
        StmtKind::For(one) => returns(&one.body),
        _ => false,
    }
}
