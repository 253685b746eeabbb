//! Expressions.

use tree_sitter::Node;

use super::casts::is_named;
use super::{File, Text, children, field};
use crate::ast::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::diagnostic::{Problem, Result};

/// Nested expressions, including those of macros.
const MAX_DEPTH: usize = 256;

/// The operator with this spelling.
pub(super) fn binary(operator: &str) -> Option<BinaryOp> {
    Some(match operator {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Rem,
        "<<" => BinaryOp::Shl,
        ">>" => BinaryOp::Shr,
        "&" => BinaryOp::And,
        "|" => BinaryOp::Or,
        "^" => BinaryOp::Xor,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "&&" => BinaryOp::LogicalAnd,
        "||" => BinaryOp::LogicalOr,
        _ => return None,
    })
}

impl File {
    /// An expression, with macros expanded.
    pub(super) fn expression(&self, text: Text<'_>, node: Node<'_>) -> Result<Expr> {
        self.expression_at(text, node, 0)
    }

    /// The same inside `depth` other expressions.
    pub(super) fn expression_at(&self, text: Text<'_>, node: Node<'_>, depth: usize) -> Result<Expr> {
        let place = text.place(node);
        if depth > MAX_DEPTH {
            let what = format!("an expression nested more than {MAX_DEPTH} deep");
            return Err(text.problem(node, what, "use variables for parts of it"));
        }
        let depth = depth + 1;
        let inner = |name| self.expression_at(text, field(text, node, name)?, depth).map(Box::new);
        let kind = match node.kind() {
            "number_literal" if !is_named(node.kind(), text.of(node)) => {
                let (value, of) = number(text.of(node)).ok_or_else(|| no_number(text, node))?;
                ExprKind::Number(value, of)
            }
            // The parser has the words in capitals for the same. They are names in C.
            "true" | "false" if !self.booleans && matches!(text.of(node), "true" | "false") => {
                return Err(text.problem(
                    node,
                    format!("`{}` without its header", text.of(node)),
                    "include <stdbool.h>",
                ));
            }
            "true" | "false" if matches!(text.of(node), "true" | "false") => {
                ExprKind::Number(u128::from(node.kind() == "true"), Type::INT)
            }
            "identifier" | "number_literal" | "true" | "false" => {
                let name = text.of(node);
                if self.macros.get(name).is_some() {
                    return self.expanded(name, place, depth);
                }
                ExprKind::Name(name.to_owned())
            }
            "parenthesized_expression" => match children(node)[..] {
                [only] => return self.expression_at(text, only, depth),
                _ => return Err(self.no_expression(text, node)),
            },
            "subscript_expression" => {
                let mut indices = vec![*inner("index")?];
                let mut array = field(text, node, "argument")?;
                while array.kind() == "subscript_expression" {
                    indices.push(self.expression_at(text, field(text, array, "index")?, depth)?);
                    array = field(text, array, "argument")?;
                }
                if !is_named(array.kind(), text.of(array)) {
                    return Err(self.no_expression(text, array));
                }
                indices.reverse();
                ExprKind::Element(self.name_of(text, array)?.to_owned(), indices)
            }
            "unary_expression" => {
                let op = match text.of(field(text, node, "operator")?) {
                    "~" => UnaryOp::Not,
                    "!" => UnaryOp::LogicalNot,
                    "+" => UnaryOp::Plus,
                    _ => return Err(below_zero(text, node)),
                };
                ExprKind::Unary(op, inner("argument")?)
            }
            "binary_expression" => {
                let operator = text.of(field(text, node, "operator")?);
                let op = binary(operator).ok_or_else(|| self.no_expression(text, node))?;
                ExprKind::Binary(op, inner("left")?, inner("right")?)
            }
            "conditional_expression" => {
                ExprKind::Select(inner("condition")?, inner("consequence")?, inner("alternative")?)
            }
            "cast_expression" => {
                let described = field(text, node, "type")?;
                if described.child_by_field_name("declarator").is_some() {
                    return Err(text.problem(described, "a conversion to a pointer", "use arrays"));
                }
                ExprKind::Cast(self.type_of(text, field(text, described, "type")?)?, inner("value")?)
            }
            "call_expression" => {
                let function = field(text, node, "function")?;
                if let (types @ [_, ..], [value]) =
                    (&self.conversions(text, function)?[..], &arguments(text, node)?[..])
                {
                    let value = self.expression_at(text, *value, depth + types.len())?;
                    let converted = |value, of: &Type| Expr { place, kind: ExprKind::Cast(*of, Box::new(value)) };
                    return Ok(types.iter().fold(value, converted));
                }
                if !is_named(function.kind(), text.of(function)) {
                    return Err(text.problem(function, "a call through a pointer", "call a function by its name"));
                }
                ExprKind::Call(self.name_of(text, function)?.to_owned(), self.arguments(text, node, depth)?)
            }
            _ => return Err(self.no_expression(text, node)),
        };
        Ok(Expr { place, kind })
    }

    /// The arguments of a call.
    pub(super) fn arguments(&self, text: Text<'_>, call: Node<'_>, depth: usize) -> Result<Vec<Expr>> {
        let arguments = arguments(text, call)?;
        arguments.into_iter().map(|argument| self.expression_at(text, argument, depth)).collect()
    }

    /// The types of conversions, the last one first, that the grammar takes for the function of a call: `(word)(x)` has one,
    /// `(word)(uint8_t)(x)` has two. Empty if the node is another function.
    fn conversions(&self, text: Text<'_>, mut function: Node<'_>) -> Result<Vec<Type>> {
        let mut found = Vec::new();
        loop {
            let (inside, next) = match function.kind() {
                "call_expression" => {
                    (function.child_by_field_name("arguments"), function.child_by_field_name("function"))
                }
                "parenthesized_expression" => (Some(function), None),
                _ => return Ok(Vec::new()),
            };
            match inside.map(children).unwrap_or_default()[..] {
                [of] if self.types.contains_key(text.of(of)) => found.push(self.type_of(text, of)?),
                _ => return Ok(Vec::new()),
            }
            match next {
                Some(next) => function = next,
                None => return Ok(found),
            }
        }
    }

    fn no_expression(&self, text: Text<'_>, node: Node<'_>) -> Problem {
        let (what, way_out) = match node.kind() {
            "pointer_expression" => ("a pointer", "use an array and an index"),
            "assignment_expression" | "update_expression" => {
                ("an assignment inside of an expression", "make it a statement")
            }
            "sizeof_expression" => ("`sizeof`", "use a macro for the length"),
            "string_literal" | "char_literal" => ("a string or character", "use numbers"),
            "field_expression" => ("a member of a structure", "use an array for each member"),
            "comma_expression" => ("a comma", "use statements"),
            _ => ("an expression that is not in the subset", "use numbers, variables, elements, operators and calls"),
        };
        text.problem(node, format!("{what}: `{}`", text.short(node)), way_out)
    }
}

fn arguments<'t>(text: Text<'_>, call: Node<'t>) -> Result<Vec<Node<'t>>> {
    Ok(children(field(text, call, "arguments")?))
}

fn below_zero(text: Text<'_>, node: Node<'_>) -> Problem {
    text.problem(node, format!("`{}` is below zero", text.short(node)), "subtract from a number that is not less")
}

/// Why a literal is refused.
fn no_number(text: Text<'_>, node: Node<'_>) -> Problem {
    let literal = text.of(node);
    if literal.starts_with('-') {
        return below_zero(text, node);
    }
    if literal.contains('.') {
        let what = format!("number `{}` has a fraction", text.short(node));
        return text.problem(node, what, "use integers; a fixed-point number is an integer");
    }
    let way_out = "use a decimal or hexadecimal number of up to 64 bits";
    text.problem(node, format!("number `{}`", text.short(node)), way_out)
}

/// The value and the type of a literal.
fn number(literal: &str) -> Option<(u128, Type)> {
    // The parser reads a sign before a digit as a part of the literal.
    let literal = literal.strip_prefix('+').unwrap_or(literal);
    if !literal.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let lower = literal.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = &lower[digits.len()..];
    if !matches!(suffix, "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu") {
        return None;
    }
    let value = match digits.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|digit| digit.is_ascii_hexdigit()) => u64::from_str_radix(hex, 16).ok()?,
        Some(_) => return None,
        // In C a number that begins with 0 is octal.
        None if digits.len() > 1 && digits.starts_with('0') => return None,
        None => digits.parse().ok()?,
    };
    let hexadecimal = digits.starts_with("0x");
    let (unsigned, long) = (suffix.contains('u'), suffix.contains('l'));
    let fits = |of: Type| i128::from(value) <= of.range().1;
    let types = [Type::INT, Type::unsigned(32), Type { bits: 64, signed: true }, Type::unsigned(64)];
    // A decimal number without a `u` is of a signed type, a hexadecimal one of the first that holds it.
    let allowed = |of: &Type| (of.bits == 64 || !long) && (of.signed != unsigned || (!of.signed && hexadecimal));
    types.into_iter().find(|of| allowed(of) && fits(*of)).map(|of| (u128::from(value), of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_types_of_c() {
        let signed = |bits| Type { bits, signed: true };
        for (literal, expected) in [
            ("0", Some((0, Type::INT))),
            ("2147483647", Some((2_147_483_647, Type::INT))),
            ("2147483648", Some((2_147_483_648, signed(64)))),
            ("0x7fffffff", Some((0x7fff_ffff, Type::INT))),
            ("0xffffffff", Some((0xffff_ffff, Type::unsigned(32)))),
            ("0x1ffffffff", Some((0x1_ffff_ffff, signed(64)))),
            ("17u", Some((17, Type::unsigned(32)))),
            ("17UL", Some((17, Type::unsigned(64)))),
            ("17ll", Some((17, signed(64)))),
            ("4294967296u", Some((4_294_967_296, Type::unsigned(64)))),
            ("0xffffffffffffffff", Some((0xffff_ffff_ffff_ffff, Type::unsigned(64)))),
            ("18446744073709551615", None),
            ("18446744073709551616u", None),
            ("017", None),
            ("+017", None),
            ("+17", Some((17, Type::INT))),
            ("++17", None),
            ("-17", None),
            ("0x+1", None),
            ("1.5", None),
            ("1uu", None),
        ] {
            assert_eq!(number(literal), expected, "{literal}");
        }
    }
}
