//! Macros with values, headers, and conditional parts.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use tree_sitter::Node;

use super::{File, Text, children, field, tree};
use crate::ast::{BinaryOp, Expr, ExprKind, Initial, UnaryOp};
use crate::diagnostic::{Place, Problem, Result};

/// Headers of the C standard, which are built in.
const HEADERS: [&str; 4] = ["<stdint.h>", "<assert.h>", "<stdbool.h>", "<stddef.h>"];
/// Uses of macros, including uses in the values of macros.
const MAX_EXPANSIONS: usize = 1 << 14;
/// Headers, repeated ones included.
const MAX_INCLUDES: usize = 64;

/// The macros of a file.
pub(super) struct Macros {
    values: BTreeMap<String, String>,
    /// The number of uses of macros.
    expansions: Cell<usize>,
    /// The macros that are being expanded.
    open: RefCell<Vec<String>>,
}

impl Macros {
    pub(super) fn new(defines: &[(String, String)]) -> Result<Self> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match defines.iter().find(|(name, _)| !is_name(name)) {
            Some((name, _)) => Err(Problem::new(Place::BEGIN, format!("-D {name}: not a name"), "use -D NAME=VALUE")),
            None => Ok(Self {
                values: defines.iter().cloned().collect(),
                expansions: Cell::new(0),
                open: RefCell::default(),
            }),
        }
    }

    /// The value of a macro, which is an expression.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

impl File {
    /// Processes a directive. Returns the chosen nodes of a conditional part, or `None` if the node is a pragma or not a
    /// directive.
    pub(super) fn preprocess<'t>(&mut self, text: Text<'_>, node: Node<'t>) -> Result<Option<Vec<Node<'t>>>> {
        Ok(Some(match node.kind() {
            "preproc_include" => {
                self.include(text, node)?;
                Vec::new()
            }
            "preproc_def" => {
                let name = text.of(field(text, node, "name")?).to_owned();
                let value = node.child_by_field_name("value").map(|value| text.of(value).trim());
                // A macro without a value can be tested by `#ifdef`.
                let value = without_comment(value.unwrap_or_default()).to_owned();
                if self.macros.values.get(&name).is_some_and(|known| *known != value) {
                    let what = format!("macro {name} is defined with two values");
                    return Err(text.problem(node, what, "use `#undef`, or `#ifndef` around the second one"));
                }
                self.macros.values.insert(name, value);
                Vec::new()
            }
            "preproc_function_def" => {
                let what = "a macro with arguments";
                return Err(text.problem(node, what, "write a `static` function"));
            }
            "preproc_ifdef" => {
                let name = text.of(field(text, node, "name")?);
                let defined = self.macros.values.contains_key(name);
                let negated = text.of(node).trim_start().starts_with("#ifndef");
                self.chosen(text, node, defined != negated)?
            }
            "preproc_if" | "preproc_elif" => {
                let condition = self.condition(text, field(text, node, "condition")?)?;
                self.chosen(text, node, condition)?
            }
            "preproc_else" => children(node),
            "preproc_call" => {
                let directive = field(text, node, "directive")?;
                let argument = node.child_by_field_name("argument").map_or("", |argument| text.of(argument).trim());
                match text.of(directive) {
                    "#pragma" => return Ok(None),
                    "#undef" => drop(self.macros.values.remove(argument)),
                    "#error" => {
                        return Err(text.problem(
                            node,
                            format!("#error {argument}"),
                            "define the macros that the source requires, or change their values",
                        ));
                    }
                    other => {
                        return Err(text.problem(node, format!("directive `{other}`"), "remove it"));
                    }
                }
                Vec::new()
            }
            _ => return Ok(None),
        }))
    }

    /// Reads a header of the source. Headers of the C standard are built in.
    fn include(&mut self, text: Text<'_>, node: Node<'_>) -> Result<()> {
        let path = text.of(field(text, node, "path")?);
        if HEADERS.contains(&path) {
            return Ok(());
        }
        let headers = Arc::clone(&self.headers);
        let name = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some((index, (name, content))) =
            headers.iter().enumerate().find(|(_, (known, _))| Some(known.as_str()) == name)
        else {
            let known = HEADERS.iter().map(|&one| one.to_owned()).chain(headers.keys().map(|one| format!("\"{one}\"")));
            let known = known.collect::<Vec<_>>().join(", ");
            let way_out = match name {
                Some(name) => format!("add `{name}` to the folder of the source, or include {known}"),
                None => format!("include {known} only"),
            };
            return Err(text.problem(node, format!("`#include {path}`"), way_out));
        };
        if std::iter::successors(node.parent(), |one| one.parent()).any(|one| one.kind() == "compound_statement") {
            return Err(text.problem(node, "an #include in a function", "include at the top of the source"));
        }
        if self.once.contains(name) {
            return Ok(());
        }
        self.included += 1;
        if self.included > MAX_INCLUDES {
            let what = format!("more than {MAX_INCLUDES} headers are included");
            return Err(text.problem(node, what, "write `#pragma once` at the top of the header"));
        }
        let header = Text { text: content, file: index as u16 + 1, at: None };
        let tree = tree(header, header.begin())?;
        let nodes = children(tree.root_node());
        if nodes.iter().any(|one| header.of(*one).trim_end() == "#pragma once") {
            self.once.insert(name.clone());
        }
        self.items(header, nodes)
    }

    /// The nodes of a conditional part, or of its alternative.
    fn chosen<'t>(&mut self, text: Text<'_>, node: Node<'t>, condition: bool) -> Result<Vec<Node<'t>>> {
        let part = |name| node.child_by_field_name(name);
        if condition {
            let others = ["name", "condition", "alternative"].map(|name| part(name).map(|other| other.id()));
            return Ok(children(node).into_iter().filter(|child| !others.contains(&Some(child.id()))).collect());
        }
        match part("alternative") {
            Some(alternative) => Ok(self.preprocess(text, alternative)?.unwrap_or_default()),
            None => Ok(Vec::new()),
        }
    }

    /// Whether the condition of an `#if` holds.
    fn condition(&self, text: Text<'_>, node: Node<'_>) -> Result<bool> {
        Ok(self.condition_value(text, node)? != 0)
    }

    fn condition_value(&self, text: Text<'_>, node: Node<'_>) -> Result<i128> {
        let refused =
            || text.problem(node, format!("`{}` in an #if", text.short(node)), "compare macros and constants");
        match node.kind() {
            "preproc_defined" => {
                let name = children(node).first().map_or("", |name| text.of(*name));
                Ok(i128::from(self.macros.values.contains_key(name)))
            }
            "parenthesized_expression" => match children(node)[..] {
                [inner] => self.condition_value(text, inner),
                _ => Err(refused()),
            },
            "unary_expression" if text.of(node).starts_with('!') => {
                Ok(i128::from(self.condition_value(text, field(text, node, "argument")?)? == 0))
            }
            "binary_expression" => {
                let side = |name| self.condition_value(text, field(text, node, name)?);
                let operator = text.of(field(text, node, "operator")?);
                match operator {
                    "&&" => return Ok(i128::from(side("left")? != 0 && side("right")? != 0)),
                    "||" => return Ok(i128::from(side("left")? != 0 || side("right")? != 0)),
                    _ => {}
                }
                let op = super::expression::binary(operator).ok_or_else(refused)?;
                constant(op, side("left")?, side("right")?).ok_or_else(refused)
            }
            // A name that is not a macro is 0.
            "identifier" if self.macros.get(text.of(node)).is_none() => Ok(0),
            _ => value(&self.expression(text, node)?).ok_or_else(refused),
        }
    }

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
        let tree = tree(text, place).map_err(|_| refused(&format!("`{value}` is not an expression")))?;
        let found = tree.root_node().named_descendant_for_byte_range(begin.len(), begin.len() + value.len());
        // The expression must fill the parentheses.
        match found {
            Some(node) if node.parent().is_some_and(|parent| parent.kind() == "parenthesized_expression") => {
                self.macros.open.borrow_mut().push(name.to_owned());
                let found = self.expression_at(text, node, depth);
                self.macros.open.borrow_mut().pop();
                found
            }
            _ => Err(refused(&format!("`{value}` is not an expression"))),
        }
    }
}

/// The words of a directive.
pub(super) fn without_comment(value: &str) -> &str {
    let end = value.find("//").into_iter().chain(value.find("/*")).min();
    value[..end.unwrap_or(value.len())].trim()
}

/// The value of a constant expression.
pub(super) fn value(expression: &Expr) -> Option<i128> {
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

fn constant(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
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
