//! Expressions and statements of a kernel.

use super::{Binding, Lowering, MAX_STEPS, MAX_TEMPORARIES, Scope, only_unroll, parts};
use crate::ast::{BinaryOp, Declaration, Expr, ExprKind, Initial, Stmt, StmtKind, Type, UnaryOp};
use crate::diagnostic::{Place, Problem, Result};
use crate::interpret::{MAX_NESTING, too_deep};
use crate::ir::{Memory, Node, Op, Role};
use crate::pragma::Pragma;
use crate::typing::{Names, type_of};

use super::body::Body;

/// A value and its type in C.
pub(super) type Typed = (Node, Type);

impl<'u> Lowering<'u> {
    /// The kernel under construction.
    pub(super) fn work(&mut self, place: Place) -> Result<&mut Body> {
        let lost = || Problem::new(place, "an expression outside of a kernel that is not a constant", "use constants");
        self.body.as_mut().ok_or_else(lost)
    }

    fn add(&mut self, op: Op, place: Place) -> Result<Node> {
        self.work(place)?.add(op, place)
    }

    fn number(&mut self, value: i128, place: Place) -> Result<Node> {
        self.work(place)?.number(value, place)
    }

    /// Refuses a value that may be below zero. C would convert it to a large number.
    fn not_negative(&mut self, node: Node, place: Place) -> Result<()> {
        let least = self.work(place)?.range(node).0;
        if least < 0 {
            let way_out = "subtract from a number that is never less, or add a condition that ensures it";
            return Err(Problem::new(place, format!("a value that may be {least}, below zero"), way_out));
        }
        Ok(())
    }

    /// Refuses a value that may be beyond its type.
    pub(super) fn fitting(&mut self, node: Node, of: Type, place: Place) -> Result<()> {
        self.not_negative(node, place)?;
        let most = self.work(place)?.range(node).1;
        if most > of.range().1 {
            let way_out = "use a wider type, a mask, or assert its range";
            return Err(Problem::new(place, format!("a value that may be {most}, beyond {of}"), way_out));
        }
        Ok(())
    }

    pub(super) fn expression(&mut self, expression: &Expr) -> Result<Typed> {
        self.nested(expression.place, |this| this.expression_inside(expression))
    }

    /// Runs a closure one level deeper.
    pub(super) fn nested<T>(&mut self, place: Place, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            return Err(too_deep(place));
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = format!("more than {MAX_STEPS} statements and expressions after unrolling");
            return Err(Problem::new(place, what, "unroll less"));
        }
        self.nesting += 1;
        let result = run(self);
        self.nesting -= 1;
        result
    }

    fn expression_inside(&mut self, expression: &Expr) -> Result<Typed> {
        let place = expression.place;
        match &expression.kind {
            ExprKind::Number(value, of) => {
                let value = i128::try_from(*value).unwrap_or(i128::MAX);
                Ok((self.number(value, place)?, *of))
            }
            ExprKind::Name(name) => match self.find(name, place)?.clone() {
                Binding::Constant(value, of) => Ok((self.number(value, place)?, of)),
                Binding::Value(of, Some(node), _) => Ok((node, of)),
                Binding::Value(_, None, _) => {
                    Err(Problem::new(place, format!("`{name}` has no value yet"), "assign to it first"))
                }
                Binding::Memory(memory, of) if self.memories[memory].lengths.is_empty() => {
                    let range = self.memories[memory].range;
                    Ok((self.work(place)?.register(memory, range, place)?, of))
                }
                Binding::Memory(..) | Binding::Values(..) => {
                    Err(Problem::new(place, format!("`{name}` is an array"), "use one of its elements"))
                }
            },
            ExprKind::Element(name, indices) => self.element(name, indices, place),
            ExprKind::Unary(op, inner) => {
                let (node, of) = self.expression(inner)?;
                let promoted = of.promoted();
                Ok(match op {
                    UnaryOp::Plus => (node, promoted),
                    UnaryOp::LogicalNot => {
                        let truth = self.work(place)?.truth(node, place)?;
                        (self.work(place)?.not(truth, place)?, Type::INT)
                    }
                    UnaryOp::Not => {
                        let all = self.number(promoted.all_ones(place)?, place)?;
                        (self.add(Op::Sub(all, node), place)?, promoted)
                    }
                })
            }
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), left, right) => {
                let left = self.expression(left)?.0;
                let left = self.work(place)?.truth(left, place)?;
                // The right side is evaluated only if the left one does not decide.
                if let Some(decided) = self.work(place)?.graph.constant(left)
                    && (decided != 0) == (*op == BinaryOp::LogicalOr)
                {
                    return Ok((left, Type::INT));
                }
                let open = if *op == BinaryOp::LogicalAnd { left } else { self.work(place)?.not(left, place)? };
                self.work(place)?.enter(open);
                let right = self.expression(right);
                self.work(place)?.leave();
                let right = self.work(place)?.truth(right?.0, place)?;
                let op = if *op == BinaryOp::LogicalAnd { Op::And(left, right) } else { Op::Or(left, right) };
                Ok((self.add(op, place)?, Type::INT))
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.binary(*op, left, right, place)
            }
            ExprKind::Select(condition, yes, no) => {
                let condition = self.expression(condition)?.0;
                let condition = self.work(place)?.truth(condition, place)?;
                // A side that is never chosen need not be valid.
                if let Some(decided) = self.work(place)?.graph.constant(condition) {
                    let (chosen, other) = if decided != 0 { (yes, no) } else { (no, yes) };
                    let (node, of) = self.expression(chosen)?;
                    let of = of.common(type_of(other, self)?);
                    if !of.signed {
                        self.not_negative(node, place)?;
                    }
                    return Ok((node, of));
                }
                let opposite = self.work(place)?.not(condition, place)?;
                self.work(place)?.enter(condition);
                let yes = self.expression(yes);
                self.work(place)?.leave();
                self.work(place)?.enter(opposite);
                let no = self.expression(no);
                self.work(place)?.leave();
                let ((yes, of_yes), (no, of_no)) = (yes?, no?);
                let of = of_yes.common(of_no);
                let chosen = self.work(place)?.select(condition, yes, no, place)?;
                if !of.signed {
                    self.not_negative(chosen, place)?;
                }
                Ok((chosen, of))
            }
            ExprKind::Cast(of, inner) => {
                let (node, _) = self.expression(inner)?;
                self.not_negative(node, place)?;
                if self.work(place)?.range(node).1 <= of.range().1 {
                    return Ok((node, *of));
                }
                if of.bits == 1 {
                    return Ok((self.work(place)?.truth(node, place)?, *of));
                }
                let mask = self.number(of.range().1, place)?;
                Ok((self.add(Op::And(node, mask), place)?, *of))
            }
            ExprKind::Call(name, arguments) => {
                let result = self.called(name, arguments, place)?;
                result.ok_or_else(|| Problem::new(place, format!("`{name}` returns no value"), "return one"))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, (a, of_a): Typed, (b, of_b): Typed, place: Place) -> Result<Typed> {
        let of = of_a.common(of_b);
        if op.is_comparison() && !of.signed {
            self.not_negative(a, place)?;
            self.not_negative(b, place)?;
        }
        let condition = |this: &mut Self, op: Op, negated: bool| {
            let node = this.add(op, place)?;
            let node = if negated { this.work(place)?.not(node, place)? } else { node };
            Ok((node, Type::INT))
        };
        let (op, of) = match op {
            BinaryOp::Add => (Op::Add(a, b), of),
            BinaryOp::Sub => (Op::Sub(a, b), of),
            BinaryOp::Mul => (Op::Mul(a, b), of),
            BinaryOp::Div | BinaryOp::Rem => {
                self.not_negative(a, place)?;
                let divisor = self.work(place)?.graph.constant(b).filter(|divisor| *divisor > 0);
                let Some(divisor) = divisor else {
                    return Err(Problem::new(
                        place,
                        "a division by a variable or by zero",
                        "divide by a constant above zero",
                    ));
                };
                (if op == BinaryOp::Div { Op::Div(a, divisor) } else { Op::Rem(a, divisor) }, of)
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                self.not_negative(a, place)?;
                let bits = of_a.promoted().bits;
                let (least, most) = self.work(place)?.range(b);
                if least < 0 || most >= i128::from(bits.min(127)) {
                    let wrong = if least < 0 { least } else { most };
                    return Err(Problem::new(place, format!("a shift by {wrong} of {bits} bits"), "shift by less"));
                }
                (if op == BinaryOp::Shl { Op::Shl(a, b) } else { Op::Shr(a, b) }, of_a.promoted())
            }
            BinaryOp::And => (Op::And(a, b), of),
            BinaryOp::Or => (Op::Or(a, b), of),
            BinaryOp::Xor => (Op::Xor(a, b), of),
            BinaryOp::Lt => return condition(self, Op::Lt(a, b), false),
            BinaryOp::Ge => return condition(self, Op::Lt(a, b), true),
            BinaryOp::Gt => return condition(self, Op::Lt(b, a), false),
            BinaryOp::Le => return condition(self, Op::Lt(b, a), true),
            BinaryOp::Eq => return condition(self, Op::Eq(a, b), false),
            BinaryOp::Ne => return condition(self, Op::Eq(a, b), true),
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => {
                return Err(Problem::new(place, "a condition as a number", "use it in an `if`"));
            }
        };
        let node = self.add(op, place)?;
        let (least, most) = self.work(place)?.range(node);
        let bound = of.range();
        // C computes an unsigned result modulo a power of two. Here, an overflow is a mistake unless a mask removes it.
        if least < if of.signed { bound.0 } else { 0 } {
            let way_out = "subtract from a number that is never less, or add a condition that ensures it";
            return Err(Problem::new(place, format!("a result that may be {least}, below zero"), way_out));
        }
        if most > bound.1 {
            let way_out = "first convert an operand to a wider type, or assert its range";
            return Err(Problem::new(place, format!("a result that may be {most}, beyond {of}"), way_out));
        }
        Ok((node, of))
    }

    /// The indices of an element, each below its length.
    fn indices(&mut self, name: &str, lengths: &[usize], indices: &[Expr], place: Place) -> Result<Vec<Node>> {
        if indices.len() != lengths.len() {
            let what = format!("{} indices of `{name}`, which has {} dimensions", indices.len(), lengths.len());
            return Err(Problem::new(place, what, "use one index for each dimension"));
        }
        let mut nodes = Vec::new();
        for (index, &length) in indices.iter().zip(lengths) {
            let node = self.expression(index)?.0;
            let body = self.work(place)?;
            let (least, most) = body.range(node);
            let wrong = if body.graph.get(node).is_known() {
                // Exact, in the iterations in which the conditions hold.
                let inside = |value: &i128| (0..length as i128).contains(value);
                body.iterations().find_map(|iteration| {
                    body.graph
                        .value_in(node, iteration)
                        .filter(|value| !inside(value))
                        .map(|value| (value, Some(iteration)))
                })
            } else if least < 0 {
                Some((least, None))
            } else {
                (most >= length as i128).then_some((most, None))
            };
            if let Some((value, iteration)) = wrong {
                let may_be = if iteration.is_some() { "is" } else { "may be" };
                let at = iteration.map_or(String::new(), |iteration| format!(" in {}", self.named(iteration)));
                let what = format!("an index of `{name}` {may_be} {value}{at}; its length is {length}");
                return Err(Problem::new(index.place, what, "keep indices below the length, or assert it"));
            }
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// The description of an iteration: the values of its loop variables.
    fn named(&self, iteration: usize) -> String {
        let Some(body) = &self.body else { return String::new() };
        let value = |(level, one): (usize, &crate::ir::Loop)| {
            let value = body.graph.value_in(body.variable(level), iteration).unwrap_or_default();
            format!("{} = {value}", one.name)
        };
        body.loops.iter().enumerate().map(value).collect::<Vec<_>>().join(", ")
    }

    fn element(&mut self, name: &str, indices: &[Expr], place: Place) -> Result<Typed> {
        match self.find(name, place)?.clone() {
            Binding::Values(of, lengths, values, _) => {
                let at = self.temporary(name, &lengths, indices, place)?;
                match values[at] {
                    Some(node) => Ok((node, of)),
                    None => Err(Problem::new(
                        place,
                        format!("an element of `{name}` has no value yet"),
                        "assign to it first",
                    )),
                }
            }
            Binding::Memory(memory, of) => {
                let lengths = self.memories[memory].lengths.clone();
                let nodes = self.indices(name, &lengths, indices, place)?;
                let found = &self.memories[memory];
                if let Role::Table(elements) = &found.role {
                    let body = self.work_ref(place)?;
                    if let Some(values) = known_elements(found, elements, &nodes, body) {
                        let (least, most) = values.iter().fold((i64::MAX, i64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
                        if least == most {
                            return Ok((self.number(least.into(), place)?, of));
                        }
                        let range = (least.into(), most.into());
                        return Ok((self.work(place)?.read_known(memory, nodes, range, Some(values), place)?, of));
                    }
                }
                let range = found.range;
                Ok((self.work(place)?.read(memory, nodes, range, place)?, of))
            }
            _ => Err(Problem::new(place, format!("`{name}` is not an array"), "use it without an index")),
        }
    }

    fn work_ref(&self, place: Place) -> Result<&Body> {
        self.body.as_ref().ok_or_else(|| Problem::new(place, "an element outside of a kernel", "use constants"))
    }

    /// The number of an element of an array of the iteration.
    fn temporary(&mut self, name: &str, lengths: &[usize], indices: &[Expr], place: Place) -> Result<usize> {
        let nodes = self.indices(name, lengths, indices, place)?;
        let mut at = 0;
        for (node, length) in nodes.into_iter().zip(lengths) {
            let Some(index) = self.work(place)?.graph.constant(node) else {
                let what = format!("an index of `{name}`, an array inside of a loop, is not a constant");
                return Err(Problem::new(
                    place,
                    what,
                    "declare the array outside of the loop, or unroll the loop of the index",
                ));
            };
            // Where no iteration is left, the bounds of indices are not checked.
            let inside = usize::try_from(index).ok().filter(|index| index < length);
            let Some(index) = inside else {
                let what = format!("an index of `{name}` is {index}; its length is {length}");
                return Err(Problem::new(place, what, "keep indices below the length"));
            };
            at = at * length + index;
        }
        Ok(at)
    }

    // Statements.

    pub(super) fn block(&mut self, statements: &'u [Stmt]) -> Result<()> {
        self.scopes.push(Scope::new());
        let done = statements.iter().try_for_each(|statement| self.statement(statement));
        self.scopes.pop();
        done
    }

    pub(super) fn statement(&mut self, statement: &'u Stmt) -> Result<()> {
        self.count(statement.place)?;
        self.nested(statement.place, |this| this.statement_inside(statement))
    }

    fn statement_inside(&mut self, statement: &'u Stmt) -> Result<()> {
        let place = statement.place;
        match &statement.kind {
            StmtKind::Declare(declarations) => declarations.iter().try_for_each(|one| self.declaration(one)),
            StmtKind::Assign(target, op, value) => {
                let mut given = self.expression(value)?;
                if let Some(op) = op {
                    self.interpreter.check_repeated(target)?;
                    let before = self.expression(target)?;
                    given = self.binary(*op, before, given, place)?;
                }
                self.assign(target, given)
            }
            StmtKind::If(condition, yes, no) => {
                let condition = self.expression(condition)?.0;
                let condition = self.work(place)?.truth(condition, place)?;
                let opposite = self.work(place)?.not(condition, place)?;
                for (holds, statements) in [(condition, Some(yes)), (opposite, no.as_ref())] {
                    // A side that is never chosen need not be valid.
                    if let Some(statements) = statements
                        && self.work(place)?.graph.constant(holds) != Some(0)
                    {
                        self.work(place)?.enter(holds);
                        let done = self.block(std::slice::from_ref(statements));
                        self.work(place)?.leave();
                        done?;
                    }
                }
                Ok(())
            }
            StmtKind::For(one) => {
                let (pragmas, statements) = parts(&one.body);
                only_unroll(&pragmas, "remove it; loops inside of a pipeline are unrolled")?;
                let trips = self.trips(one, place)?;
                for iteration in 0..trips.trips {
                    self.count(place)?;
                    let value = i128::from(trips.first) + i128::from(trips.step) * iteration as i128;
                    self.scopes.push(Scope::from([(one.variable.clone(), Binding::Constant(value, one.of))]));
                    let done = self.block(statements);
                    self.scopes.pop();
                    done?;
                }
                Ok(())
            }
            StmtKind::Block(statements) => self.block(statements),
            StmtKind::Call(name, arguments) => self.called(name, arguments, place).map(drop),
            StmtKind::Assert(condition) => {
                let condition = self.expression(condition)?.0;
                let body = self.work(place)?;
                let condition = body.truth(condition, place)?;
                if body.graph.constant(condition) == Some(0) {
                    return Err(Problem::new(place, "an assertion that never holds", "correct it"));
                }
                body.assert(condition, place)
            }
            StmtKind::Return(_) => Err(Problem::new(
                place,
                "a `return` before the end of the function",
                "assign the result to a variable, and return it at the end",
            )),
            StmtKind::Pragma(pragma) => self.pragma_inside(pragma, place),
        }
    }

    /// A pragma inside of a kernel. A partition of an array of the iteration changes nothing, as it is built of registers.
    fn pragma_inside(&mut self, pragma: &Pragma, place: Place) -> Result<()> {
        if let Pragma::Partition { variable, .. } = pragma
            && let Binding::Values(..) = self.find(variable, place)?
        {
            return Ok(());
        }
        if *pragma == Pragma::Inline {
            return Ok(());
        }
        Err(Problem::new(place, "a pragma inside of a kernel", "put it after the declaration, or first into its loop"))
    }

    fn declaration(&mut self, declaration: &'u Declaration) -> Result<()> {
        let place = declaration.place;
        if declaration.fixed {
            if declaration.lengths.is_empty() {
                return Err(crate::interpret::keeps_its_value(declaration));
            }
            let what = format!("`{}` is static inside of a loop", declaration.name);
            return Err(Problem::new(place, what, "declare it outside of loops"));
        }
        let depth = self.work(place)?.depth();
        if declaration.lengths.is_empty() {
            let node = match &declaration.initial {
                None => None,
                Some(Initial::Value(value)) => {
                    let (node, _) = self.expression(value)?;
                    self.fitting(node, declaration.of, value.place)?;
                    Some(node)
                }
                Some(Initial::Elements(_, place)) => {
                    return Err(Problem::new(*place, "braces around a value", "remove them"));
                }
            };
            if let Some(node) = node {
                self.work(place)?.graph.name(node, Some(&declaration.name));
            }
            self.declare(&declaration.name, Binding::Value(declaration.of, node, depth));
            return Ok(());
        }
        let lengths = self.lengths(declaration)?;
        let length: usize = lengths.iter().product();
        if length > MAX_TEMPORARIES {
            let what = format!("{length} elements of an array inside of a loop, at most {MAX_TEMPORARIES}");
            return Err(Problem::new(place, what, "declare it outside of the loop"));
        }
        let mut values = vec![None; length];
        match (&declaration.initial, lengths.as_slice()) {
            (None, _) => {}
            (Some(Initial::Elements(listed, _)), [length]) if listed.len() <= *length => {
                let zero = self.number(0, place)?;
                values.fill(Some(zero));
                for (place_of, one) in values.iter_mut().zip(listed) {
                    let Initial::Value(value) = one else {
                        return Err(Problem::new(place, "braces in braces", "list values"));
                    };
                    let (node, _) = self.expression(value)?;
                    self.fitting(node, declaration.of, value.place)?;
                    *place_of = Some(node);
                }
            }
            _ => return Err(Problem::new(place, "initial elements of another form", "assign to the elements")),
        }
        self.declare(&declaration.name, Binding::Values(declaration.of, lengths, values, depth));
        Ok(())
    }

    fn assign(&mut self, target: &Expr, (node, _): Typed) -> Result<()> {
        let place = target.place;
        let (name, indices) = match &target.kind {
            ExprKind::Name(name) => (name, None),
            ExprKind::Element(name, indices) => (name, Some(indices)),
            _ => {
                return Err(Problem::new(
                    place,
                    "an assignment to something that is not a variable",
                    "assign to a variable or an element",
                ));
            }
        };
        match (self.find(name, place)?.clone(), indices) {
            (Binding::Value(of, before, depth), None) => {
                self.fitting(node, of, place)?;
                let value = self.merged(node, before, depth, place)?;
                self.work(place)?.graph.name(value, Some(name));
                self.replace(name, Binding::Value(of, Some(value), depth));
            }
            (Binding::Values(of, lengths, mut values, depth), Some(indices)) => {
                self.fitting(node, of, place)?;
                let at = self.temporary(name, &lengths, indices, place)?;
                let value = self.merged(node, values[at], depth, place)?;
                self.work(place)?.graph.name(value, Some(&format!("{name}_{at}")));
                values[at] = Some(value);
                self.replace(name, Binding::Values(of, lengths, values, depth));
            }
            (Binding::Memory(memory, of), None) if self.memories[memory].lengths.is_empty() => {
                self.assign_variable(memory, of, (node, of), place)?;
            }
            (Binding::Memory(memory, of), Some(indices)) => {
                if self.is_fixed(memory) {
                    let what = format!("`{name}` is a table");
                    return Err(Problem::new(
                        place,
                        what,
                        "remove `static` or `const`, or fill it by a function of constants alone",
                    ));
                }
                self.fitting(node, of, place)?;
                let lengths = self.memories[memory].lengths.clone();
                let nodes = self.indices(name, &lengths, indices, place)?;
                self.work(place)?.write(memory, nodes, node, place)?;
            }
            (Binding::Constant(..), None) => {
                return Err(Problem::new(place, format!("`{name}` is a constant"), "assign to a variable"));
            }
            _ => {
                return Err(Problem::new(
                    place,
                    format!("`{name}` and its index do not fit"),
                    "use indices with arrays only",
                ));
            }
        }
        Ok(())
    }

    /// Assigns to a variable that outlives an iteration.
    pub(super) fn assign_variable(&mut self, memory: usize, of: Type, (node, _): Typed, place: Place) -> Result<()> {
        self.fitting(node, of, place)?;
        let range = self.memories[memory].range;
        let body = self.work(place)?;
        let value = match body.condition(0, place)? {
            None => node,
            Some(condition) => {
                let before = body.register(memory, range, place)?;
                body.select(condition, node, before, place)?
            }
        };
        body.set_register(memory, value, place);
        Ok(())
    }

    /// A new value of a variable that was declared under `depth` conditions.
    fn merged(&mut self, node: Node, before: Option<Node>, depth: usize, place: Place) -> Result<Node> {
        let body = self.work(place)?;
        match (body.condition(depth, place)?, before) {
            (Some(condition), Some(before)) => body.select(condition, node, before, place),
            _ => Ok(node),
        }
    }

    fn replace(&mut self, name: &str, binding: Binding) {
        if let Some(slot) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
            *slot = binding;
        }
    }
}

/// The element of a table in each iteration, if its indices depend on loop variables alone. In iterations without
/// the access, the value is arbitrary.
fn known_elements(table: &Memory, elements: &[i128], indices: &[Node], body: &Body) -> Option<Box<[i64]>> {
    let count: usize = body.loops.iter().map(|one| one.trips).product();
    let of = |iteration: usize| {
        let mut at = Vec::with_capacity(indices.len());
        for (&index, &length) in indices.iter().zip(&table.lengths) {
            at.push((body.graph.value_in(index, iteration)? as i64).clamp(0, length as i64 - 1));
        }
        i64::try_from(elements[table.element(at)]).ok()
    };
    (0..count).map(of).collect()
}

impl Names for Lowering<'_> {
    fn variable(&mut self, name: &str, place: Place) -> Result<Type> {
        Ok(match self.find(name, place)? {
            Binding::Constant(_, of) | Binding::Value(of, ..) | Binding::Values(of, ..) | Binding::Memory(_, of) => *of,
        })
    }

    fn result(&mut self, function: &str, place: Place) -> Result<Type> {
        self.interpreter.result(function, place)
    }
}
