//! Assignments to a variable in statements.

use crate::ast::{ExprKind, Stmt, StmtKind};
use crate::diagnostic::Place;

/// The first assignment to the variable with this name, which is declared outside of the statement.
pub(super) fn assignment(statement: &Stmt, name: &str) -> Option<Place> {
    match &statement.kind {
        StmtKind::Assign(target, ..) => match &target.kind {
            ExprKind::Name(assigned) if assigned == name => Some(statement.place),
            _ => None,
        },
        StmtKind::If(_, yes, no) => assignment(yes, name).or_else(|| no.as_ref().and_then(|no| assignment(no, name))),
        // The variable of an inner loop hides an outer one.
        StmtKind::For(one) if one.variable != name => assignment(&one.body, name),
        StmtKind::Block(inner) => visible(inner, name).find_map(|statement| assignment(statement, name)),
        _ => None,
    }
}

/// The statements of a block up to the declaration of another variable with this name.
fn visible<'s>(statements: &'s [Stmt], name: &str) -> impl Iterator<Item = &'s Stmt> {
    statements.iter().take_while(move |statement| match &statement.kind {
        StmtKind::Declare(declarations) => declarations.iter().all(|one| one.name != name),
        _ => true,
    })
}
