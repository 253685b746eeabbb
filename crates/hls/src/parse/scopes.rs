//! Rules for names: a scope has a name once, and nothing assigns to a `const` or to the variable of a loop in its body.

use std::collections::HashMap;

use crate::ast::{Declaration, Expr, ExprKind, For, Function, Stmt, StmtKind, Unit};
use crate::diagnostic::{Place, Problem, Result};

/// Kinds of names, as assignments see them.
#[derive(Clone, Copy)]
enum Kind {
    Variable,
    Constant,
    LoopVariable,
}

/// A declared name.
#[derive(Clone, Copy)]
struct Declared {
    place: Place,
    kind: Kind,
}

/// Names of one kind in a scope, or labels of a function.
type Names<'u> = HashMap<&'u str, Declared>;

/// Checks all names of a source. The rule of the variables of loops is the subset's, the others are those of C.
pub(super) fn check(unit: &Unit) -> Result<()> {
    let mut scopes = Scopes { names: vec![Names::new()], labels: Names::new() };
    let constants = unit.constants.iter().map(|one| (&one.name, one.place));
    let functions = unit.functions.iter().map(|one| (&one.name, one.place));
    if let Some(one) = unit.functions.iter().find(|one| one.name == "assert") {
        return Err(Problem::new(one.place, "a function `assert`, which is the macro of <assert.h>", "rename it"));
    }
    for (name, place) in constants.chain(functions) {
        scopes.declare(name, place, Kind::Constant)?;
    }
    unit.functions.iter().try_for_each(|one| scopes.function(one))
}

/// The names around a statement.
struct Scopes<'u> {
    /// The innermost scope is the last one.
    names: Vec<Names<'u>>,
    labels: Names<'u>,
}

/// Adds a name, unless it is among the others.
fn add<'u>(names: &mut Names<'u>, name: &'u str, place: Place, kind: Kind) -> Result<()> {
    match names.insert(name, Declared { place, kind }) {
        None => Ok(()),
        Some(first) => {
            let what = format!("`{name}` is declared twice in a scope, first at {{also}}");
            Err(Problem::new(place, what, "rename one of the two, or remove it").and(first.place))
        }
    }
}

/// Refuses a variable in its own initial value, whose names `each` gives. In C the name is that of the new variable already
/// there.
fn check_initial(name: &str, place: Place, each: impl FnOnce(&mut dyn FnMut(&str))) -> Result<()> {
    let mut is_own = false;
    each(&mut |other| is_own |= other == name);
    if is_own {
        let what = format!("`{name}` is in its own initial value");
        return Err(Problem::new(place, what, "use another variable there, or another name"));
    }
    Ok(())
}

impl<'u> Scopes<'u> {
    fn declare(&mut self, name: &'u str, place: Place, kind: Kind) -> Result<()> {
        self.names.last_mut().map_or(Ok(()), |scope| add(scope, name, place, kind))
    }

    fn declarations(&mut self, all: &'u [Declaration]) -> Result<()> {
        all.iter().try_for_each(|one| {
            check_initial(&one.name, one.place, |see| one.initial.iter().for_each(|one| one.for_each_name(see)))?;
            self.declare(&one.name, one.place, if one.constant { Kind::Constant } else { Kind::Variable })
        })
    }

    /// The parameters of a function are in the scope of its outermost statements.
    fn function(&mut self, one: &'u Function) -> Result<()> {
        self.labels.clear();
        self.names.push(Names::new());
        self.declarations(&one.parameters)?;
        one.body.iter().try_for_each(|statement| self.statement(statement))?;
        self.names.pop();
        Ok(())
    }

    fn statement(&mut self, one: &'u Stmt) -> Result<()> {
        match &one.kind {
            StmtKind::Declare(declarations) => self.declarations(declarations),
            StmtKind::Assign(target, ..) => self.assigned(target, one.place),
            StmtKind::If(_, yes, no) => {
                self.statement(yes)?;
                no.as_ref().map_or(Ok(()), |no| self.statement(no))
            }
            StmtKind::For(inner) => self.repeated(inner, one.place),
            StmtKind::Block(inner) => {
                self.names.push(Names::new());
                inner.iter().try_for_each(|statement| self.statement(statement))?;
                self.names.pop();
                Ok(())
            }
            StmtKind::Call(..) | StmtKind::Assert(_) | StmtKind::Return(_) | StmtKind::Pragma(_) => Ok(()),
        }
    }

    fn repeated(&mut self, one: &'u For, place: Place) -> Result<()> {
        if let Some(label) = &one.label {
            add(&mut self.labels, label, place, Kind::Variable)?;
        }
        check_initial(&one.variable, one.first.place, |see| one.first.for_each_name(see))?;
        self.names.push(Names::from([(one.variable.as_str(), Declared { place, kind: Kind::LoopVariable })]));
        self.statement(&one.body)?;
        self.names.pop();
        Ok(())
    }

    fn assigned(&self, target: &Expr, place: Place) -> Result<()> {
        let (ExprKind::Name(name) | ExprKind::Element(name, _)) = &target.kind else { return Ok(()) };
        let found = self.names.iter().rev().find_map(|scope| scope.get(name.as_str()));
        let (what, way_out) = match found.map(|one| one.kind) {
            None | Some(Kind::Variable) => return Ok(()),
            Some(Kind::Constant) => ("is a constant", "remove its `const`, or assign to another variable"),
            Some(Kind::LoopVariable) => (
                "is assigned to in the body of its loop",
                "assign to another variable, and let the loop's step change this one",
            ),
        };
        Err(Problem::new(place, format!("`{name}` {what}"), way_out))
    }
}
