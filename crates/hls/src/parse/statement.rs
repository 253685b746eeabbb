//! Statements.

use tree_sitter::Node;

use super::preprocess::without_comment;
use super::{File, Text, children, expression, field};
use crate::ast::{BinaryOp, Expr, ExprKind, For, Stmt, StmtKind, Type};
use crate::diagnostic::{Problem, Result};
use crate::pragma::Pragma;

impl File {
    /// The statements in braces.
    pub(super) fn block(&mut self, text: Text<'_>, node: Node<'_>) -> Result<Vec<Stmt>> {
        self.statements(text, children(node))
    }

    fn statements(&mut self, text: Text<'_>, nodes: Vec<Node<'_>>) -> Result<Vec<Stmt>> {
        let mut found = Vec::new();
        for node in nodes {
            match self.preprocess(text, node)? {
                Some(chosen) => found.extend(self.statements(text, chosen)?),
                None => found.push(self.statement(text, node, None)?),
            }
        }
        Ok(found)
    }

    fn statement(&mut self, text: Text<'_>, node: Node<'_>, label: Option<&str>) -> Result<Stmt> {
        let refused = |what: &str, way_out: &str| Err(text.problem(node, what, way_out));
        let kind = match node.kind() {
            "preproc_call" => {
                let argument = node.child_by_field_name("argument").map_or("", |argument| text.of(argument));
                let (argument, place) = (without_comment(argument), text.place(node));
                StmtKind::Pragma(Pragma::read(argument, place, &|name| self.setting(name, place))?)
            }
            "declaration" => StmtKind::Declare(self.declaration(text, node)?),
            "compound_statement" => StmtKind::Block(self.block(text, node)?),
            "expression_statement" => match children(node)[..] {
                [] => StmtKind::Block(Vec::new()),
                [only] => self.effect(text, only)?,
                _ => return refused("more than one expression", "use statements"),
            },
            "if_statement" => {
                let condition = self.expression(text, field(text, node, "condition")?)?;
                let yes = self.statement(text, field(text, node, "consequence")?, None)?;
                let no = match node.child_by_field_name("alternative").map(children).as_deref() {
                    Some([other]) => Some(Box::new(self.statement(text, *other, None)?)),
                    _ => None,
                };
                StmtKind::If(condition, Box::new(yes), no)
            }
            "for_statement" => StmtKind::For(Box::new(self.loop_of(text, node, label)?)),
            "labeled_statement" => {
                let label = self.name_of(text, field(text, node, "label")?)?;
                return match children(node).last() {
                    Some(labelled) if labelled.kind() == "for_statement" => {
                        self.statement(text, *labelled, Some(label))
                    }
                    _ => refused("a label of a statement that is not a `for` loop", "remove it"),
                };
            }
            "return_statement" => match children(node)[..] {
                [value] => StmtKind::Return(Some(self.expression(text, value)?)),
                _ => StmtKind::Return(None),
            },
            "while_statement" => {
                return refused("a `while` loop", "use a `for` loop with a constant number of iterations");
            }
            "do_statement" => return refused("a `do` loop", "use a `for` loop with a constant number of iterations"),
            "break_statement" | "continue_statement" => {
                return refused("a loop that ends an iteration early", "use `if` for the rest of the body");
            }
            "goto_statement" => return refused("`goto`", "use loops and `if`"),
            "switch_statement" => return refused("`switch`", "use `if`"),
            _ => {
                let what = format!("`{}` is not a statement of the subset", text.short(node));
                return refused(&what, "use declarations, assignments, `if`, `for` and calls");
            }
        };
        Ok(Stmt { place: text.place(node), kind })
    }

    /// An expression as a statement.
    fn effect(&self, text: Text<'_>, node: Node<'_>) -> Result<StmtKind> {
        match node.kind() {
            "assignment_expression" => {
                let target = self.target(text, field(text, node, "left")?)?;
                let operator = text.of(field(text, node, "operator")?);
                let op = match operator.strip_suffix('=') {
                    Some("") => None,
                    Some(operator) => expression::binary(operator),
                    None => None,
                };
                Ok(StmtKind::Assign(target, op, self.expression(text, field(text, node, "right")?)?))
            }
            "update_expression" => {
                let target = self.target(text, field(text, node, "argument")?)?;
                let one = Expr { place: text.place(node), kind: ExprKind::Number(1, Type::INT) };
                let op = if text.of(field(text, node, "operator")?) == "++" { BinaryOp::Add } else { BinaryOp::Sub };
                Ok(StmtKind::Assign(target, Some(op), one))
            }
            "call_expression" => {
                let function = text.of(field(text, node, "function")?);
                let mut arguments = self.arguments(text, node, 0)?;
                match (function, arguments.len()) {
                    ("assert", 1) => Ok(StmtKind::Assert(arguments.remove(0))),
                    _ => match self.expression(text, node)?.kind {
                        ExprKind::Call(name, arguments) => Ok(StmtKind::Call(name, arguments)),
                        _ => Err(text.problem(node, "a call of a macro", "call a function")),
                    },
                }
            }
            _ => {
                let what = format!("`{}` has no effect", text.short(node));
                Err(text.problem(node, what, "assign its value to a variable"))
            }
        }
    }

    /// The target of an assignment.
    fn target(&self, text: Text<'_>, node: Node<'_>) -> Result<Expr> {
        let target = self.expression(text, node)?;
        match target.kind {
            ExprKind::Name(_) | ExprKind::Element(..) => Ok(target),
            _ => {
                let what = format!("`{}` cannot be assigned to", text.short(node));
                Err(text.problem(node, what, "assign to a variable or an element"))
            }
        }
    }

    fn loop_of(&mut self, text: Text<'_>, node: Node<'_>, label: Option<&str>) -> Result<For> {
        let part = |name: &str, form: &str| {
            let what = format!("a loop that does not have the form `for (unsigned i = a; i < b; i += c)`: {form}");
            node.child_by_field_name(name).ok_or_else(|| text.problem(node, what, "use that form"))
        };
        let wrong = |node: Node<'_>, form: &str| -> Problem {
            let what = format!("`{}` in a loop", text.short(node));
            text.problem(node, what, format!("use the form `for (unsigned i = a; i < b; i += c)`: {form}"))
        };
        let first = part("initializer", "it declares no variable")?;
        if first.kind() != "declaration" {
            return Err(wrong(first, "declare its variable there"));
        }
        let mut declared = self.declaration(text, first)?;
        let (Some(variable), true) = (declared.pop(), declared.is_empty()) else {
            return Err(wrong(first, "declare one variable"));
        };
        let Some(crate::ast::Initial::Value(from)) = variable.initial else {
            return Err(wrong(first, "give the variable its first value"));
        };
        let condition = self.expression(text, part("condition", "it has no bound")?)?;
        let is_variable =
            |expression: &Expr| matches!(&expression.kind, ExprKind::Name(name) if *name == variable.name);
        let (compare, bound) = match condition.kind {
            ExprKind::Binary(
                op @ (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Ne),
                left,
                right,
            ) if is_variable(&left) => (op, *right),
            _ => return Err(wrong(part("condition", "")?, "compare the variable with a constant")),
        };
        let update = part("update", "it has no step")?;
        let wrong_step = || wrong(update, "add a constant to the variable, or subtract it");
        let StmtKind::Assign(changed, op, by) = self.effect(text, update)? else { return Err(wrong_step()) };
        if !is_variable(&changed) {
            return Err(wrong_step());
        }
        let (op, step) = match (op, by.kind) {
            (Some(op @ (BinaryOp::Add | BinaryOp::Sub)), kind) => (op, Expr { place: by.place, kind }),
            (None, ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right)) if is_variable(&left) => {
                (op, *right)
            }
            _ => return Err(wrong_step()),
        };
        let body = self.statement(text, field(text, node, "body")?, None)?;
        Ok(For {
            label: label.map(str::to_owned),
            variable: variable.name,
            of: variable.of,
            first: from,
            compare,
            bound,
            step,
            down: op == BinaryOp::Sub,
            body,
        })
    }
}
