//! The types of expressions that are not evaluated, such as the side of a `?:` that is not chosen.

use crate::ast::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::diagnostic::{Place, Result};

/// The types of the names in an expression.
pub(crate) trait Names {
    /// The type of a variable, or of the elements of an array.
    fn variable(&mut self, name: &str, place: Place) -> Result<Type>;
    /// The type of a function's result.
    fn result(&mut self, function: &str, place: Place) -> Result<Type>;
}

/// The type of an expression.
pub(crate) fn type_of(expression: &Expr, names: &mut impl Names) -> Result<Type> {
    match &expression.kind {
        ExprKind::Number(_, of) | ExprKind::Cast(of, _) => Ok(*of),
        ExprKind::Name(name) | ExprKind::Element(name, _) => names.variable(name, expression.place),
        ExprKind::Unary(UnaryOp::LogicalNot, _) => Ok(Type::INT),
        ExprKind::Unary(_, inner) => Ok(type_of(inner, names)?.promoted()),
        ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, left, _) => Ok(type_of(left, names)?.promoted()),
        ExprKind::Binary(op, ..) if op.is_condition() => Ok(Type::INT),
        ExprKind::Binary(_, left, right) => Ok(type_of(left, names)?.common(type_of(right, names)?)),
        ExprKind::Select(_, yes, no) => Ok(type_of(yes, names)?.common(type_of(no, names)?)),
        ExprKind::Call(name, _) => names.result(name, expression.place),
    }
}
