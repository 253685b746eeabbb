//! Lowering of syntax to memories and kernels: functions are inlined, loops unrolled, and branches become selections.

mod body;
mod bounds;
mod calls;
pub(crate) mod constants;
mod expression;
mod facts;
mod names;
mod passes;
mod pragmas;
mod tables;

use std::collections::{HashMap, HashSet};

use crate::ast::{BinaryOp, Declaration, Expr, ExprKind, For, Function, Stmt, StmtKind, Type, Unit};
use crate::diagnostic::{Place, Problem, Result};
use crate::interpret::{Array, Interpreter};
use crate::ir::{Kernel, Loop, Memory, Node, Program, Role, Room};
use crate::pragma::{Ports, Pragma};
use body::Body;
pub(crate) use passes::lower;

/// Iterations of all kernels together.
const MAX_ITERATIONS: usize = 1 << 22;
/// Statements after unrolling and inlining.
const MAX_STATEMENTS: usize = 1 << 18;
/// Statements and expressions after unrolling and inlining.
const MAX_STEPS: usize = 1 << 22;
/// Nested calls.
const MAX_CALLS: usize = 64;
/// Nested loops.
const MAX_LOOPS: usize = 8;
/// Accesses of a kernel in all of its iterations.
const MAX_VISITS: usize = 1 << 23;
/// Pairs of accesses of a kernel in all of its iterations, each of which may meet in a bank.
const MAX_PAIRS: usize = 1 << 30;
/// Elements of an array that a kernel declares.
const MAX_TEMPORARIES: usize = 1 << 12;

/// The meaning of a name.
#[derive(Clone, Debug)]
enum Binding {
    /// A constant, with its type.
    Constant(i128, Type),
    /// A variable of an iteration, without a node before its first assignment, and the number of conditions at its
    /// declaration.
    Value(Type, Option<Node>, usize),
    /// An array of an iteration, whose indices are constants.
    Values(Type, Vec<usize>, Vec<Option<Node>>, usize),
    /// An array, or a variable, that outlives an iteration.
    Memory(usize, Type),
}

type Scope = HashMap<String, Binding>;

/// The loops of a kernel, the outermost first.
struct Nest<'u> {
    loops: Vec<(Loop, &'u For)>,
    /// Declarations and assertions before inner loops, each with the number of loops around it.
    before: Vec<(usize, &'u Stmt)>,
    /// The pragma `pipeline` of the innermost loop, with its interval.
    pipeline: Option<Option<u32>>,
    /// The memories of its pragmas `dependence`.
    independent: Vec<(usize, Place)>,
    /// The statements of the innermost loop.
    statements: &'u [Stmt],
}

struct Lowering<'u> {
    interpreter: Interpreter<'u>,
    /// The ranges of memories that an earlier pass found.
    ranges: &'u [(i128, i128)],
    memories: Vec<Memory>,
    /// `static` memories that no function has filled yet. A filled one is a table.
    fixed: HashMap<usize, Array>,
    /// The elements that functions have written to each filled table.
    filled: HashMap<usize, Vec<Option<i128>>>,
    /// The memory of each `static` array, which all calls of its function share.
    statics: HashMap<*const Declaration, usize>,
    /// Tables that are `const` in the source.
    constants: HashSet<usize>,
    /// The ports that pragmas have chosen.
    ports: HashMap<usize, Ports>,
    kernels: Vec<Kernel>,
    /// The room for the nodes of further kernels.
    room: Room,
    /// Names outside of functions.
    globals: Scope,
    /// Names of the present function, the innermost scope last.
    scopes: Vec<Scope>,
    /// The number of memories of each name in the source.
    copies: HashMap<String, usize>,
    /// The functions that are being lowered.
    calls: Vec<&'u Function>,
    statements: usize,
    iterations: usize,
    /// Statements and expressions around the present one.
    nesting: usize,
    /// Statements and expressions so far.
    steps: usize,
    /// The kernel under construction.
    body: Option<Body>,
}

impl<'u> Lowering<'u> {
    fn run(unit: &'u Unit, name: &str, ranges: &'u [(i128, i128)]) -> Result<Program> {
        let interpreter = Interpreter::new(unit)?;
        let function = interpreter.function(name, Place::BEGIN)?;
        let mut this = Self {
            interpreter,
            ranges,
            memories: Vec::new(),
            filled: HashMap::new(),
            fixed: HashMap::new(),
            statics: HashMap::new(),
            constants: HashSet::new(),
            ports: HashMap::new(),
            kernels: Vec::new(),
            room: Room::default(),
            globals: Scope::new(),
            scopes: Vec::new(),
            copies: HashMap::new(),
            calls: vec![function],
            statements: 0,
            iterations: 0,
            nesting: 0,
            steps: 0,
            body: None,
        };
        for constant in &unit.constants {
            let binding = if let Some((value, of)) = this.interpreter.named(&constant.name) {
                Binding::Constant(value, of)
            } else {
                let table = this.interpreter.table(&constant.name).cloned();
                let table =
                    table.ok_or_else(|| Problem::new(constant.place, "a constant without a value", "give it one"))?;
                this.table(constant, table)
            };
            this.globals.insert(constant.name.clone(), binding);
        }
        this.scopes = vec![Scope::new()];
        for parameter in &function.parameters {
            let lengths = this.lengths(parameter)?;
            let number = this.memory(parameter, lengths, Role::Parameter);
            this.declare(&parameter.name, Binding::Memory(number, parameter.of));
        }
        if let Some(of) = function.result {
            let place = function.place;
            let name = "result".to_owned();
            this.copies.entry(name.clone()).or_insert(1);
            this.memories.push(Memory {
                name,
                place,
                range: this.range_of(this.memories.len(), of),
                lengths: Vec::new(),
                divisions: Vec::new(),
                ports: Default::default(),
                mode: None,
                role: Role::Result,
            });
        }
        this.function_level(&function.body, true)?;
        if function.result.is_some() && !ends_with_value(&function.body) {
            let what = format!("`{}` returns no value", function.name);
            return Err(Problem::new(function.place, what, "return one at its end"));
        }
        this.end_straight()?;
        this.fill_with_zeros();
        if this.kernels.is_empty() {
            let what = format!("`{}` does nothing", function.name);
            return Err(Problem::new(function.place, what, "write to an array, or return a value"));
        }
        Ok(Program { name: function.name.clone(), memories: this.memories, kernels: this.kernels })
    }

    fn lengths(&mut self, declaration: &Declaration) -> Result<Vec<usize>> {
        let mut lengths = Vec::new();
        let most = 1usize << 22;
        for length in &declaration.lengths {
            let what = || format!("the length of `{}`", declaration.name);
            let value = self.demanded(length, what, "use a constant or a macro")?;
            match usize::try_from(value) {
                Ok(value) if (1..=most).contains(&value) => lengths.push(value),
                _ => {
                    return Err(Problem::new(length.place, format!("a length of {value}"), format!("use 1 to {most}")));
                }
            }
        }
        if lengths.iter().try_fold(1usize, |all, &one| all.checked_mul(one)).is_none_or(|all| all > most) {
            return Err(Problem::new(declaration.place, format!("more than {most} elements"), "use a shorter array"));
        }
        Ok(lengths)
    }

    fn range_of(&self, memory: usize, of: Type) -> (i128, i128) {
        self.ranges.get(memory).copied().unwrap_or(of.range())
    }

    fn memory(&mut self, declaration: &Declaration, lengths: Vec<usize>, role: Role) -> usize {
        let number = self.memories.len();
        let name = self.unused(&declaration.name);
        self.memories.push(Memory {
            name,
            place: declaration.place,
            range: self.range_of(number, declaration.of),
            divisions: vec![None; lengths.len()],
            lengths,
            ports: Default::default(),
            mode: None,
            role,
        });
        number
    }

    fn table(&mut self, declaration: &Declaration, table: Array) -> Binding {
        let elements: Vec<i128> = table.elements.iter().map(|element| element.unwrap_or(0)).collect();
        let range = elements.iter().fold((i128::MAX, 0), |(a, b), &v| (a.min(v), b.max(v)));
        let number = self.memory(declaration, table.lengths, Role::Table(elements));
        self.memories[number].range = range;
        self.constants.insert(number);
        Binding::Memory(number, declaration.of)
    }

    fn count(&mut self, place: Place) -> Result<()> {
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            let what = format!("more than {MAX_STATEMENTS} statements after unrolling");
            return Err(Problem::new(place, what, "unroll less"));
        }
        Ok(())
    }

    // Statements outside of loops.

    /// Statements of a function, and of functions that it calls, outside of loops. `last` if nothing follows them.
    fn function_level(&mut self, statements: &'u [Stmt], last: bool) -> Result<()> {
        self.scopes.push(Scope::new());
        for (index, statement) in statements.iter().enumerate() {
            self.count(statement.place)?;
            let is_last = last && index + 1 == statements.len();
            match &statement.kind {
                StmtKind::Pragma(pragma) => self.pragma(pragma, statement.place)?,
                StmtKind::Block(inner) => {
                    self.nested(statement.place, |this| this.function_level(inner, is_last))?;
                }
                StmtKind::Declare(declarations) => {
                    for declaration in declarations {
                        self.declaration_outside(declaration, &statements[index + 1..])?;
                    }
                }
                StmtKind::For(one) => {
                    self.end_straight()?;
                    self.loop_outside(one, statement.place)?;
                }
                StmtKind::Call(name, arguments) => self.call_outside(name, arguments, statement.place)?,
                StmtKind::Return(value) if is_last => {
                    if let Some(value) = value {
                        self.returned_outside(value, statement.place)?;
                    }
                }
                StmtKind::Return(_) => {
                    return Err(Problem::new(statement.place, "a `return` before the end", "return at the end"));
                }
                _ => {
                    self.straight(statement.place)?;
                    self.statement(statement)?;
                }
            }
        }
        self.scopes.pop();
        Ok(())
    }

    /// Begins a kernel that runs once, unless one is under construction.
    fn straight(&mut self, place: Place) -> Result<()> {
        if self.body.is_none() {
            self.body = Some(Body::new(place, Vec::new(), self.room)?);
        }
        Ok(())
    }

    fn end_straight(&mut self) -> Result<()> {
        match self.body.take() {
            Some(body) => self.finish(body, None, Vec::new(), None),
            None => Ok(()),
        }
    }

    /// Ends a kernel.
    fn finish(
        &mut self,
        mut body: Body,
        pipeline: Option<Option<u32>>,
        independent: Vec<(usize, Place)>,
        name: Option<&str>,
    ) -> Result<()> {
        body.write_variables();
        // A kernel without writes has no effect.
        if body.accesses.iter().all(|access| access.written.is_none()) {
            return Ok(());
        }
        let iterations: usize = body.loops.iter().map(|one| one.trips).product();
        let accesses = body.accesses.len();
        if accesses * iterations > MAX_VISITS || accesses * accesses * iterations > MAX_PAIRS {
            let what = format!("{accesses} accesses in each of {iterations} iterations");
            return Err(Problem::new(body.place, what, "unroll less, or use fewer iterations"));
        }
        let name = name.map_or_else(|| format!("code_{}", self.kernels.len()), str::to_owned);
        self.room = self.room.without(&body.graph);
        self.kernels.push(Kernel {
            name,
            place: body.place,
            loops: body.loops,
            graph: body.graph,
            accesses: body.accesses,
            pipeline,
            independent,
        });
        Ok(())
    }

    fn declaration_outside(&mut self, declaration: &'u Declaration, after: &'u [Stmt]) -> Result<()> {
        if !declaration.lengths.is_empty() {
            let binding = match &declaration.initial {
                Some(_) if declaration.constant => {
                    let known = self.known_in_declaration(declaration);
                    let table = self.interpreter.initial(declaration, &known)?;
                    self.table(declaration, table)
                }
                Some(_) => {
                    return Err(Problem::new(
                        declaration.place,
                        "an array with initial elements",
                        "make it `const`, or assign to them",
                    ));
                }
                None if declaration.fixed && self.statics.contains_key(&std::ptr::from_ref(declaration)) => {
                    Binding::Memory(self.statics[&std::ptr::from_ref(declaration)], declaration.of)
                }
                None => {
                    let lengths = self.lengths(declaration)?;
                    let empty = Array {
                        of: declaration.of,
                        elements: vec![None; lengths.iter().product()],
                        lengths: lengths.clone(),
                    };
                    let number = self.memory(declaration, lengths, Role::Local);
                    if declaration.fixed {
                        self.fixed.insert(number, empty);
                        self.statics.insert(declaration, number);
                    }
                    Binding::Memory(number, declaration.of)
                }
            };
            self.declare(&declaration.name, binding);
            return Ok(());
        }
        let initial = match &declaration.initial {
            Some(crate::ast::Initial::Value(value)) => Some(value),
            Some(crate::ast::Initial::Elements(_, place)) => {
                return Err(Problem::new(*place, "braces around a value", "remove them"));
            }
            None => None,
        };
        if declaration.fixed && !declaration.constant {
            return Err(crate::interpret::keeps_its_value(declaration));
        }
        let constant = initial.and_then(|value| self.constant(value));
        if let Some(value) = constant
            && (declaration.constant || !assigns(after, &declaration.name))
        {
            crate::interpret::fitting(value, declaration.of, declaration.place)?;
            self.declare(&declaration.name, Binding::Constant(value, declaration.of));
            return Ok(());
        }
        let number = self.memory(declaration, Vec::new(), Role::Local);
        self.declare(&declaration.name, Binding::Memory(number, declaration.of));
        if let Some(value) = initial {
            self.straight(declaration.place)?;
            let given = self.expression(value)?;
            self.assign_variable(number, declaration.of, given, declaration.place)?;
        }
        Ok(())
    }

    fn returned_outside(&mut self, value: &Expr, place: Place) -> Result<()> {
        let Some(number) = self.memories.iter().position(|memory| memory.role == Role::Result) else {
            return Err(Problem::new(place, "a value that a `void` function returns", "return no value"));
        };
        if self.calls.len() > 1 {
            return Err(Problem::new(place, "a result of a function with loops", "write it to an array"));
        }
        let of = self.calls[0].result.unwrap_or(Type::unsigned(32));
        self.straight(place)?;
        let given = self.expression(value)?;
        self.assign_variable(number, of, given, place)
    }

    // Loops.

    fn loop_outside(&mut self, one: &'u For, place: Place) -> Result<()> {
        let (pragmas, statements) = parts(&one.body);
        if pragmas.iter().any(|(pragma, _)| **pragma == Pragma::Unroll) {
            only_unroll(&pragmas, "remove it, or remove the pragma `unroll`")?;
            let known = self.trips(one, place)?;
            for iteration in 0..known.trips {
                let value = known.first + known.step * iteration as i64;
                self.scopes.push(Scope::from([(one.variable.clone(), Binding::Constant(value.into(), one.of))]));
                self.nested(place, |this| this.function_level(statements, false))?;
                self.scopes.pop();
            }
            return self.end_straight();
        }
        self.nest(one, place)
    }

    fn constant_of_loop(&mut self, expression: &Expr, of: &str) -> Result<i128> {
        let way_out = "use constants for its first value, bound and step, and an `if` in the body";
        self.demanded(expression, || format!("the {of} of a loop"), way_out)
    }

    /// A loop whose trip count is a constant.
    fn trips(&mut self, one: &For, place: Place) -> Result<Loop> {
        let first = self.constant_of_loop(&one.first, "first value")?;
        // Its own variable is not a constant in its bound and its step.
        self.scopes.push(Scope::from([(one.variable.clone(), Binding::Value(one.of, None, 0))]));
        let bound = self.constant_of_loop(&one.bound, "bound");
        let step = self.constant_of_loop(&one.step, "step");
        self.scopes.pop();
        let (bound, step) = (bound?, step?);
        let step = if one.down { -step } else { step };
        crate::interpret::fitting(first, one.of, one.first.place)?;
        crate::interpret::not_negative(bound, one.bound.place)?;
        let Some(trips) = trip_count(one.compare, first, bound, step) else {
            return Err(Problem::new(place, "a loop without an end", "let its step reach its bound"));
        };
        if trips > MAX_ITERATIONS as i128 {
            let what = format!("a loop of {trips} iterations, at most {MAX_ITERATIONS}");
            return Err(Problem::new(place, what, "use fewer"));
        }
        // C also computes the variable after the last iteration.
        let last = step.checked_mul(trips).and_then(|all| all.checked_add(first)).unwrap_or(i128::MAX);
        let after = |bound: String| format!("`{}` is {last} after the last iteration, {bound}", one.variable);
        if last < 0 {
            return Err(Problem::new(place, after("below zero".to_owned()), "count up, or end above zero"));
        }
        if last > one.of.range().1 {
            return Err(Problem::new(place, after(format!("beyond {}", one.of)), "use a wider type"));
        }
        let number = |value: i128| {
            let beyond =
                || Problem::new(place, format!("{value} of a loop, beyond 63 bits"), "count from a smaller number");
            i64::try_from(value).map_err(|_| beyond())
        };
        number(last)?;
        let name = one.label.clone().unwrap_or_else(|| one.variable.clone());
        Ok(Loop { name, place, first: number(first)?, step: number(step)?, trips: trips as usize })
    }

    /// The loops of a nest. Their variables, and declarations between them, are variables in the bounds of inner loops.
    fn headers(&mut self, outermost: &'u For, place: Place) -> Result<Nest<'u>> {
        let mut loops: Vec<(Loop, &'u For)> = Vec::new();
        let mut before: Vec<(usize, &'u Stmt)> = Vec::new();
        let mut one = outermost;
        let mut at = place;
        loop {
            if loops.len() == MAX_LOOPS {
                let what = format!("more than {MAX_LOOPS} loops inside of one another");
                return Err(Problem::new(at, what, "unroll some, or merge two loops into one"));
            }
            loops.push((self.trips(one, at)?, one));
            self.declare(&one.variable, Binding::Value(one.of, None, 0));
            let (pragmas, statements) = parts(&one.body);
            let mut pipeline = None;
            let mut independent = Vec::new();
            for (pragma, place) in pragmas {
                match pragma {
                    Pragma::Pipeline { interval } => {
                        if pipeline.replace(*interval).is_some() {
                            return Err(Problem::new(place, "a second pragma `pipeline` of a loop", "use one of them"));
                        }
                    }
                    Pragma::Independent { variable } => match self.find(variable, place)? {
                        Binding::Memory(number, _) => independent.push((*number, place)),
                        _ => return Err(Problem::new(place, format!("`{variable}` is not an array"), "name an array")),
                    },
                    _ => {
                        return Err(Problem::new(
                            place,
                            "a pragma that is not of this loop",
                            "put it after the declaration, or first into its loop",
                        ));
                    }
                }
            }
            let inner = statements
                .iter()
                .position(|statement| matches!(&statement.kind, StmtKind::For(inner) if !unrolled(inner)));
            match inner {
                Some(index) if pipeline.is_none() => {
                    if index + 1 < statements.len() {
                        let after = statements[index + 1].place;
                        return Err(Problem::new(
                            after,
                            "a statement after an inner loop",
                            "put it into its own loop, or into the inner loop under an `if`",
                        ));
                    }
                    let is_pure =
                        |statement: &Stmt| matches!(statement.kind, StmtKind::Declare(_) | StmtKind::Assert(_));
                    if let Some(other) = statements[..index].iter().find(|statement| !is_pure(statement)) {
                        return Err(Problem::new(
                            other.place,
                            "a statement before an inner loop",
                            "put it into its own loop, or into the inner loop under an `if`",
                        ));
                    }
                    if !independent.is_empty() {
                        return Err(Problem::new(
                            at,
                            "a dependence pragma of an outer loop",
                            "put it into the inner loop",
                        ));
                    }
                    before.extend(statements[..index].iter().map(|statement| (loops.len(), statement)));
                    for statement in &statements[..index] {
                        let StmtKind::Declare(declarations) = &statement.kind else { continue };
                        declarations.iter().for_each(|one| self.declare(&one.name, Binding::Value(one.of, None, 0)));
                    }
                    let StmtKind::For(inner) = &statements[index].kind else { continue };
                    (one, at) = (inner, statements[index].place);
                }
                _ => return Ok(Nest { loops, before, pipeline, independent, statements }),
            }
        }
    }

    /// A nest of loops as a kernel.
    fn nest(&mut self, outermost: &'u For, place: Place) -> Result<()> {
        self.scopes.push(Scope::new());
        let found = self.headers(outermost, place);
        self.scopes.pop();
        let Nest { loops, before, pipeline, independent, statements } = found?;
        distinct(&loops, &before)?;
        let iterations = loops.iter().try_fold(1usize, |all, (one, _)| all.checked_mul(one.trips));
        self.iterations = iterations.map_or(usize::MAX, |iterations| self.iterations.saturating_add(iterations));
        if self.iterations > MAX_ITERATIONS {
            let what = format!("more than {MAX_ITERATIONS} iterations in all");
            return Err(Problem::new(place, what, "use fewer"));
        }
        if iterations == Some(0) {
            return self.check_skipped(&loops, &before);
        }
        self.body = Some(Body::new(place, loops.iter().map(|(one, _)| one.clone()).collect(), self.room)?);
        self.scopes.push(Scope::new());
        for (level, (_, one)) in loops.iter().enumerate() {
            let node = self.work(place)?.variable(level);
            self.declare(&one.variable, Binding::Value(one.of, Some(node), 0));
            // Names of inner loops are not known yet.
            for (_, statement) in before.iter().filter(|(around, _)| *around == level + 1) {
                self.statement(statement)?;
            }
        }
        let early = self.work(place)?.accesses.len();
        for (_, statement) in before {
            let StmtKind::Declare(declarations) = &statement.kind else { continue };
            if let Some(one) = declarations.iter().find(|one| assigns(statements, &one.name)) {
                let what = format!("`{}` is declared before an inner loop that assigns to it", one.name);
                return Err(Problem::new(one.place, what, "declare it outside of all loops, or in the inner loop"));
            }
        }
        self.scopes.push(Scope::new());
        for statement in statements {
            self.statement(statement)?;
        }
        self.scopes.pop();
        self.scopes.pop();
        let name = loops.last().map(|(one, _)| one.name.clone());
        let Some(body) = self.body.take() else { return Ok(()) };
        let kernels = self.kernels.len();
        self.finish(body, pipeline, independent, name.as_deref())?;
        if self.kernels.len() > kernels { self.check_early(early) } else { Ok(()) }
    }

    /// Refuses a call that may change an array before inner loops, if it happens and an inner loop has no iteration.
    fn check_skipped(&self, loops: &[(Loop, &'u For)], before: &[(usize, &'u Stmt)]) -> Result<()> {
        for (around, statement) in before {
            if loops[..*around].iter().any(|(one, _)| one.trips == 0) {
                continue;
            }
            let mut changing = Ok(None);
            let mut note = |one: &Expr| {
                if let Ok(None) = changing {
                    changing = self.interpreter.changing_call(one);
                }
            };
            match &statement.kind {
                StmtKind::Declare(all) => {
                    all.iter().flat_map(|one| &one.initial).for_each(|one| one.for_each(&mut note))
                }
                StmtKind::Assert(condition) => note(condition),
                _ => {}
            }
            if let Some(name) = changing? {
                let what = format!("a call of `{name}`, which may change an array, before a loop without an iteration");
                return Err(Problem::new(statement.place, what, "call it outside of the loops"));
            }
        }
        Ok(())
    }

    /// Refuses a read before an inner loop that changes the memory, because the kernel repeats the read in each iteration.
    fn check_early(&self, early: usize) -> Result<()> {
        let Some(kernel) = self.kernels.last() else { return Ok(()) };
        let changed =
            |memory: usize| kernel.accesses.iter().any(|other| other.memory == memory && other.written.is_some());
        match kernel.accesses.iter().take(early).find(|one| changed(one.memory)) {
            None => Ok(()),
            Some(one) => {
                let what = format!("`{}` is read before an inner loop that changes it", self.memories[one.memory].name);
                Err(Problem::new(one.place, what, "read it in the inner loop, or copy it in an earlier loop"))
            }
        }
    }
}

/// Whether the last one of some statements returns a value.
fn ends_with_value(statements: &[Stmt]) -> bool {
    match statements.last().map(|one| &one.kind) {
        Some(StmtKind::Return(value)) => value.is_some(),
        Some(StmtKind::Block(inner)) => ends_with_value(inner),
        _ => false,
    }
}

/// The trip count of a loop; `None` if the loop does not end, or if the count exceeds 127 bits.
fn trip_count(compare: BinaryOp, first: i128, bound: i128, step: i128) -> Option<i128> {
    let up_to = |first: i128, end: i128, step: i128| {
        let distance = end.checked_sub(first)?;
        match distance {
            ..=0 => Some(0),
            _ if step <= 0 => None,
            _ => Some((distance - 1) / step + 1),
        }
    };
    match compare {
        BinaryOp::Lt => up_to(first, bound, step),
        BinaryOp::Le => up_to(first, bound.checked_add(1)?, step),
        BinaryOp::Gt => up_to(-first, -bound, -step),
        BinaryOp::Ge => up_to(-first, 1 - bound, -step),
        _ => {
            let distance = bound.checked_sub(first)?;
            match distance {
                0 => Some(0),
                _ if step == 0 || distance % step != 0 => None,
                _ => Some(distance / step).filter(|trips| *trips > 0),
            }
        }
    }
}

/// Refuses names that the loops of a nest share, because their variables and the declarations between them have one scope.
fn distinct(loops: &[(Loop, &For)], before: &[(usize, &Stmt)]) -> Result<()> {
    let refused = |place: Place, name: &str, of: &str| {
        Err(Problem::new(place, format!("`{name}` is the variable of {of} as well"), "rename it"))
    };
    for (level, (one, inner)) in loops.iter().enumerate() {
        if loops[..level].iter().any(|(_, outer)| outer.variable == inner.variable) {
            return refused(one.place, &inner.variable, "an outer loop");
        }
    }
    let declared = before.iter().filter_map(|(_, statement)| match &statement.kind {
        StmtKind::Declare(declarations) => Some(declarations),
        _ => None,
    });
    match declared.flatten().find(|one| loops.iter().any(|(_, of)| of.variable == one.name)) {
        Some(one) => refused(one.place, &one.name, "a loop"),
        None => Ok(()),
    }
}

/// Pragmas at the beginning of a loop's body, and the statements after them.
fn parts(body: &Stmt) -> (Vec<(&Pragma, Place)>, &[Stmt]) {
    let statements = match &body.kind {
        StmtKind::Block(statements) => statements.as_slice(),
        _ => std::slice::from_ref(body),
    };
    let first = statements.iter().position(|statement| !matches!(statement.kind, StmtKind::Pragma(_)));
    let first = first.unwrap_or(statements.len());
    let pragmas = statements[..first].iter().filter_map(|statement| match &statement.kind {
        StmtKind::Pragma(pragma) => Some((pragma, statement.place)),
        _ => None,
    });
    (pragmas.collect(), &statements[first..])
}

/// Refuses other pragmas of a loop that is unrolled.
fn only_unroll(pragmas: &[(&Pragma, Place)], way_out: &str) -> Result<()> {
    match pragmas.iter().find(|(pragma, _)| **pragma != Pragma::Unroll) {
        Some((_, place)) => Err(Problem::new(*place, "a pragma of a loop that is unrolled", way_out)),
        None => Ok(()),
    }
}

fn unrolled(one: &For) -> bool {
    parts(&one.body).0.iter().any(|(pragma, _)| **pragma == Pragma::Unroll)
}

/// Whether statements assign to the variable that has this name before them, or to its elements.
fn assigns(statements: &[Stmt], name: &str) -> bool {
    let hides = |statement: &&Stmt| matches!(&statement.kind, StmtKind::Declare(declarations) if declarations.iter().any(|one| one.name == name));
    statements.iter().take_while(|statement| !hides(statement)).any(|statement| match &statement.kind {
        StmtKind::Assign(target, ..) => {
            matches!(&target.kind, ExprKind::Name(assigned) | ExprKind::Element(assigned, _) if assigned == name)
        }
        StmtKind::If(_, yes, no) => {
            assigns(std::slice::from_ref(yes), name)
                || no.as_ref().is_some_and(|no| assigns(std::slice::from_ref(no), name))
        }
        StmtKind::For(one) => assigns(std::slice::from_ref(&one.body), name),
        StmtKind::Block(inner) => assigns(inner, name),
        _ => false,
    })
}
