//! Conditions of `#if`, in the arithmetic of the preprocessor: numbers have 64 bits, and are unsigned if an operand is.

use tree_sitter::Node;

use super::macros::constant;
use super::{File, Text, children, expression, field, words};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::diagnostic::Result;

/// A number of a condition.
#[derive(Clone, Copy)]
struct Number {
    value: i128,
    unsigned: bool,
}

impl Number {
    const fn signed(value: i128) -> Self {
        Self { value, unsigned: false }
    }

    fn truth(holds: bool) -> Self {
        Self::signed(i128::from(holds))
    }
}

/// Why a condition is refused: its mistake, and a way out.
type Refusal = (&'static str, &'static str);

const OTHER: Refusal = ("", "compare macros and constants");
const BELOW: Refusal =
    (" mixes unsigned numbers with a number below zero", "remove the suffix `u`, or use greater numbers");
const BEYOND: Refusal = (" has more than 63 bits", "use smaller numbers");

impl File {
    /// Whether the condition of an `#if` holds.
    pub(super) fn condition(&self, text: Text<'_>, node: Node<'_>) -> Result<bool> {
        Ok(self.number(text, node)?.value != 0)
    }

    /// Whether the source has defined a macro. The macros of compilers and headers are not known here.
    pub(super) fn is_defined(&self, text: Text<'_>, name: Node<'_>) -> Result<bool> {
        let of = text.of(name);
        let defined = self.macros.get(of).is_some();
        if !defined && words::is_predefined(of) {
            let what = format!("`{of}` in a condition is a name for compilers and their headers");
            return Err(text.problem(name, what, "use a macro with another name"));
        }
        Ok(defined)
    }

    fn number(&self, text: Text<'_>, node: Node<'_>) -> Result<Number> {
        let refused =
            |(why, way_out): Refusal| text.problem(node, format!("`{}` in an #if{why}", text.short(node)), way_out);
        match node.kind() {
            "preproc_defined" => match children(node)[..] {
                [name] => self.is_defined(text, name).map(Number::truth),
                _ => Err(refused(OTHER)),
            },
            "parenthesized_expression" => match children(node)[..] {
                [inner] => self.number(text, inner),
                _ => Err(refused(OTHER)),
            },
            "unary_expression" if text.of(node).starts_with('!') => {
                Ok(Number::truth(!self.condition(text, field(text, node, "argument")?)?))
            }
            "binary_expression" => {
                let (left, right) = (field(text, node, "left")?, field(text, node, "right")?);
                match text.of(field(text, node, "operator")?) {
                    "&&" => Ok(Number::truth(self.condition(text, left)? && self.condition(text, right)?)),
                    "||" => Ok(Number::truth(self.condition(text, left)? || self.condition(text, right)?)),
                    operator => {
                        let op = expression::binary(operator).ok_or_else(|| refused(OTHER))?;
                        operation(op, self.number(text, left)?, self.number(text, right)?).map_err(refused)
                    }
                }
            }
            // A name that is not a macro is 0.
            "identifier" if !self.is_defined(text, node)? => Ok(Number::signed(0)),
            _ => number(&self.expression(text, node)?).map_err(refused),
        }
    }
}

/// The number of an expression, such as the value of a macro.
fn number(expression: &Expr) -> Result<Number, Refusal> {
    match &expression.kind {
        ExprKind::Number(value, of) => {
            let value = i128::try_from(*value).map_err(|_| BEYOND)?;
            Ok(Number { value, unsigned: !of.signed })
        }
        ExprKind::Unary(UnaryOp::LogicalNot, inner) => Ok(Number::truth(number(inner)?.value == 0)),
        ExprKind::Unary(UnaryOp::Plus, inner) => number(inner),
        ExprKind::Binary(op, left, right) => operation(*op, number(left)?, number(right)?),
        ExprKind::Select(condition, yes, no) => {
            let (chosen, other) = if number(condition)?.value != 0 { (yes, no) } else { (no, yes) };
            let (Number { value, unsigned }, other) = (number(chosen)?, number(other)?);
            fitting(value, unsigned || other.unsigned)
        }
        _ => Err(OTHER),
    }
}

fn operation(op: BinaryOp, left: Number, right: Number) -> Result<Number, Refusal> {
    let of_left = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
    let unsigned = left.unsigned || (right.unsigned && !of_left);
    if unsigned && left.value.min(right.value) < 0 {
        return Err(BELOW);
    }
    fitting(constant(op, left.value, right.value).ok_or(OTHER)?, unsigned && !op.is_condition())
}

/// Refuses a result that the preprocessor of C would wrap.
fn fitting(value: i128, unsigned: bool) -> Result<Number, Refusal> {
    if unsigned && value < 0 {
        return Err(BELOW);
    }
    if i64::try_from(value).is_err() {
        return Err(BEYOND);
    }
    Ok(Number { value, unsigned })
}
