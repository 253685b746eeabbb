//! Macros with values, and the expressions of the values.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use tree_sitter::Node;

use super::{File, Text, tree, words};
use crate::ast::{BinaryOp, Expr, ExprKind, Initial, UnaryOp};
use crate::diagnostic::{Place, Problem, Result};

/// Uses of macros, including uses in the values of macros.
const MAX_EXPANSIONS: usize = 1 << 14;

/// The macros of a file.
pub(super) struct Macros {
    values: BTreeMap<String, String>,
    /// The number of uses of macros.
    expansions: Cell<usize>,
    /// The macros that are being expanded.
    open: RefCell<Vec<String>>,
}

/// Why a macro is not defined.
pub(super) enum Undefined {
    /// It has another value.
    Twice,
    /// Its name is one of C or its headers.
    OfC,
}

impl Macros {
    pub(super) fn new(defines: &[(String, String)]) -> Result<Self> {
        let refused = |name: &str, what: &str, way_out: &str| {
            Err(Problem::new(Place::BEGIN, format!("-D {name}: {what}"), way_out))
        };
        if let Some((name, _)) = defines.iter().find(|(name, _)| !words::is_name(name)) {
            return refused(name, "not a name", "use -D NAME=VALUE");
        }
        if let Some((name, _)) = defines.iter().find(|(name, _)| words::is_of_c(name)) {
            return refused(name, "a name of C and its headers", "rename it");
        }
        Ok(Self { values: defines.iter().cloned().collect(), expansions: Cell::new(0), open: RefCell::default() })
    }

    /// Defines a macro.
    pub(super) fn insert(&mut self, name: &str, value: &str) -> Result<(), Undefined> {
        if words::is_of_c(name) {
            return Err(Undefined::OfC);
        }
        if self.get(name).is_some_and(|known| known != value) {
            return Err(Undefined::Twice);
        }
        self.values.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// The value of a macro, which is an expression.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

impl File {
    /// The value of a macro, or of a constant outside of functions, for a setting of a pragma at `place`.
    pub(super) fn setting(&self, name: &str, place: Place) -> Result<Option<i128>> {
        if self.macros.get(name).is_some() {
            return Ok(value(&self.expanded(name, place, 0)?));
        }
        let mut constants = self.unit.constants.iter().filter(|one| one.name == name && one.lengths.is_empty());
        Ok(constants.next().and_then(|one| match &one.initial {
            Some(Initial::Value(expression)) => value(expression),
            _ => None,
        }))
    }

    /// The expression of a macro, placed at `place`.
    pub(super) fn expanded(&self, name: &str, place: Place, depth: usize) -> Result<Expr> {
        let value = self.macros.get(name).unwrap_or_default();
        let refused =
            |what: &str| Problem::new(place, format!("macro {name}: {what}"), "give it a constant expression");
        let used = self.macros.expansions.get() + 1;
        self.macros.expansions.set(used);
        if used > MAX_EXPANSIONS {
            return Err(refused(&format!("more than {MAX_EXPANSIONS} uses of macros")));
        }
        if value.is_empty() {
            return Err(refused("it has no value"));
        }
        if self.macros.open.borrow().iter().any(|open| open == name) {
            return Err(refused("it expands to itself"));
        }
        let begin = "unsigned value = (";
        let wrapped = format!("{begin}{value});");
        let text = Text { text: &wrapped, file: place.file, at: Some(place) };
        let tree =
            tree(text, place, &self.typedefs).map_err(|_| refused(&format!("`{value}` is not an expression")))?;
        let found = tree.root_node().named_descendant_for_byte_range(begin.len(), begin.len() + value.len());
        // The expression must fill the parentheses.
        let fills = |node: &Node<'_>| node.parent().is_some_and(|parent| parent.kind() == "parenthesized_expression");
        let Some(node) = found.filter(fills) else {
            return Err(refused(&format!("`{value}` is not an expression")));
        };
        if is_open(node) {
            let what = format!("macro {name}: its value `{value}` has operators outside of parentheses");
            return Err(Problem::new(place, what, "put its value into parentheses"));
        }
        self.macros.open.borrow_mut().push(name.to_owned());
        let found = self.expression_at(text, node, depth);
        self.macros.open.borrow_mut().pop();
        found
    }

    /// A name that stands for itself. The value of a macro would take its place.
    pub(super) fn name_of<'t>(&self, text: Text<'t>, node: Node<'_>) -> Result<&'t str> {
        let name = text.of(node);
        match self.macros.get(name) {
            Some(_) => Err(text.problem(node, format!("`{name}` is the name of a macro as well"), "rename it")),
            None => Ok(name),
        }
    }
}

/// Whether operators around the text of an expression would take only a part of it.
fn is_open(node: Node<'_>) -> bool {
    matches!(node.kind(), "binary_expression" | "conditional_expression")
}

/// The value of a constant expression.
fn value(expression: &Expr) -> Option<i128> {
    match &expression.kind {
        ExprKind::Number(number, _) => i128::try_from(*number).ok(),
        ExprKind::Unary(UnaryOp::LogicalNot, inner) => Some(i128::from(value(inner)? == 0)),
        ExprKind::Unary(UnaryOp::Plus, inner) => value(inner),
        ExprKind::Binary(op, a, b) => constant(*op, value(a)?, value(b)?),
        ExprKind::Select(condition, yes, no) => value(if value(condition)? != 0 { yes } else { no }),
        ExprKind::Cast(of, inner) => {
            let (least, most) = of.range();
            value(inner).filter(|value| (least..=most).contains(value))
        }
        _ => None,
    }
}

/// The result of an operation on constants; `None` if it has none of up to 127 bits.
pub(super) fn constant(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    let shift = || u32::try_from(b).ok().filter(|shift| *shift < 127);
    Some(match op {
        BinaryOp::Add => a.checked_add(b)?,
        BinaryOp::Sub => a.checked_sub(b)?,
        BinaryOp::Mul => a.checked_mul(b)?,
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem => a.checked_rem(b)?,
        BinaryOp::Shl => a.checked_mul(1i128 << shift()?)?,
        BinaryOp::Shr => a >> shift()?,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Lt => i128::from(a < b),
        BinaryOp::Le => i128::from(a <= b),
        BinaryOp::Gt => i128::from(a > b),
        BinaryOp::Ge => i128::from(a >= b),
        BinaryOp::Eq => i128::from(a == b),
        BinaryOp::Ne => i128::from(a != b),
        BinaryOp::LogicalAnd => i128::from(a != 0 && b != 0),
        BinaryOp::LogicalOr => i128::from(a != 0 || b != 0),
    })
}
