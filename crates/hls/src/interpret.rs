//! The reference interpreter, which runs a source statement by statement.
//!
//! It also computes the constants of a source: lengths, bounds of loops, and tables that functions fill. It is stricter than C:
//! a result that exceeds its type is an error, even if the type is unsigned.

use std::collections::HashMap;

use crate::arithmetic::unary;
pub(crate) use crate::arithmetic::{binary, fitting, not_negative};
use crate::ast::{BinaryOp, Declaration, Expr, ExprKind, For, Function, Initial, Stmt, StmtKind, Type, Unit};
use crate::diagnostic::{Place, Problem, Result};
use crate::typing::{Names, type_of};

/// Statements and operations of a call.
const MAX_STEPS: u64 = 1 << 28;
/// Statements and operations of all constants of a source.
const MAX_STEPS_OF_CONSTANTS: u64 = 1 << 23;
/// Nested statements and expressions, including those of called functions.
pub(crate) const MAX_NESTING: usize = 512;
/// Nested calls.
const MAX_CALLS: usize = 64;
/// Elements of all arrays.
const MAX_ELEMENTS: usize = 1 << 22;

/// An array with its elements. An element is `None` until it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// The type of an element.
    pub of: Type,
    /// The lengths of its dimensions.
    pub lengths: Vec<usize>,
    /// The elements; the last index changes fastest.
    pub elements: Vec<Option<i128>>,
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value.
    Value(i128),
    /// The elements of an array.
    Elements(Vec<i128>),
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Value(Type, Option<i128>),
    Array(usize),
}

type Scope = HashMap<String, Slot>;

/// Names inside of a function with their types; a variable has no value.
pub(crate) type Known = HashMap<String, (Option<i128>, Type)>;

/// The scope of these names.
fn scope_of(known: &Known) -> Scope {
    known.iter().map(|(name, (value, of))| (name.clone(), Slot::Value(*of, *value))).collect()
}

/// An interpretation of a source.
#[derive(Debug)]
pub(crate) struct Interpreter<'u> {
    unit: &'u Unit,
    functions: HashMap<&'u str, &'u Function>,
    constants: Scope,
    arrays: Vec<Array>,
    elements: usize,
    /// The `static` arrays of a run of a function; `None` if constants are evaluated.
    statics: Option<HashMap<*const Declaration, usize>>,
    /// The remaining statements and operations, and their number at the start.
    steps: (u64, u64),
    calls: usize,
    nesting: usize,
}

impl<'u> Interpreter<'u> {
    pub(crate) fn new(unit: &'u Unit) -> Result<Self> {
        let mut this = Self {
            unit,
            functions: unit.functions.iter().rev().map(|function| (function.name.as_str(), function)).collect(),
            constants: Scope::new(),
            arrays: Vec::new(),
            elements: 0,
            statics: None,
            steps: (MAX_STEPS_OF_CONSTANTS, MAX_STEPS_OF_CONSTANTS),
            calls: 0,
            nesting: 0,
        };
        for constant in &unit.constants {
            let mut scopes = vec![];
            let slot = this.declared(constant, &mut scopes)?;
            this.constants.insert(constant.name.clone(), slot);
        }
        Ok(this)
    }

    /// The function with this name.
    pub(crate) fn function(&self, name: &str, place: Place) -> Result<&'u Function> {
        self.functions
            .get(name)
            .copied()
            .ok_or_else(|| Problem::new(place, format!("no function `{name}`"), self.defined()))
    }

    /// The way out where a function does not exist.
    fn defined(&self) -> String {
        let names: Vec<&str> = self.unit.functions.iter().map(|function| function.name.as_str()).collect();
        if names.is_empty() {
            "define it".to_owned()
        } else {
            format!("define it; the source has {}", names.join(", "))
        }
    }

    /// Refuses a call that may change an array in the index of a compound assignment, because the index is evaluated twice.
    pub(crate) fn check_repeated(&self, target: &Expr) -> Result<()> {
        let ExprKind::Element(_, indices) = &target.kind else { return Ok(()) };
        for index in indices {
            if let Some(name) = self.changing_call(index)? {
                let what =
                    format!("a call of `{name}`, which may change an array, in the index of a compound assignment");
                let way_out = "assign its result to a variable first, or make its arrays `const`";
                return Err(Problem::new(target.place, what, way_out));
            }
        }
        Ok(())
    }

    /// The function of a call in an expression that may change an array, if there is such a call.
    pub(crate) fn changing_call(&self, expression: &Expr) -> Result<Option<String>> {
        let mut calls = Vec::new();
        expression.visit(&mut |one| {
            if let ExprKind::Call(name, _) = &one.kind {
                calls.push(name.clone());
            }
        });
        for name in calls {
            let function = self.function(&name, expression.place)?;
            if function.parameters.iter().any(|one| !one.lengths.is_empty() && !one.constant) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The type of a function's result.
    pub(crate) fn result(&self, name: &str, place: Place) -> Result<Type> {
        let result = self.function(name, place)?.result;
        result.ok_or_else(|| Problem::new(place, format!("`{name}` returns no value"), "return one"))
    }

    /// Calls a function with these arguments. Returns its result and the final elements of its arrays.
    #[expect(clippy::type_complexity, reason = "a result and arrays")]
    pub(crate) fn call_with(
        &mut self,
        name: &str,
        arguments: &[Argument],
    ) -> Result<(Option<i128>, Vec<Vec<Option<i128>>>)> {
        let function = self.function(name, Place::BEGIN)?;
        self.steps = (MAX_STEPS, MAX_STEPS);
        self.statics = Some(HashMap::new());
        let wrong = |what: String| Problem::new(function.place, what, "give an argument for each parameter");
        if arguments.len() != function.parameters.len() {
            return Err(wrong(format!("{} arguments for {} parameters", arguments.len(), function.parameters.len())));
        }
        let mut slots = Vec::new();
        let mut arrays = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let slot = self.array_or_value(parameter, &mut Vec::new())?;
            let fits = |value: &i128| (parameter.of.range().0..=parameter.of.range().1).contains(value);
            match (slot, argument) {
                (Slot::Value(of, _), Argument::Value(value)) if fits(value) => {
                    slots.push(Slot::Value(of, Some(*value)))
                }
                (Slot::Array(array), Argument::Elements(elements))
                    if elements.len() == self.arrays[array].elements.len() && elements.iter().all(fits) =>
                {
                    self.arrays[array].elements = elements.iter().copied().map(Some).collect();
                    arrays.push(array);
                    slots.push(slot);
                }
                _ => return Err(wrong(format!("an argument that does not fit `{}`", parameter.name))),
            }
        }
        let result = self.call(function, slots, function.place)?;
        Ok((result, arrays.into_iter().map(|array| self.arrays[array].elements.clone()).collect()))
    }

    /// The value of an expression of constants and of these variables.
    pub(crate) fn constant(&mut self, expression: &Expr, known: &Known) -> Result<i128> {
        Ok(self.value(expression, &mut vec![scope_of(known)])?.0)
    }

    /// The elements of a table outside of functions.
    pub(crate) fn table(&self, name: &str) -> Option<&Array> {
        match self.constants.get(name) {
            Some(Slot::Array(array)) => Some(&self.arrays[*array]),
            _ => None,
        }
    }

    /// The value of a constant outside of functions.
    pub(crate) fn named(&self, name: &str) -> Option<(i128, Type)> {
        match self.constants.get(name) {
            Some(Slot::Value(of, Some(value))) => Some((*value, *of)),
            _ => None,
        }
    }

    /// The elements of a declaration's array, from its initial value.
    pub(crate) fn initial(&mut self, declaration: &Declaration, known: &Known) -> Result<Array> {
        match self.declared(declaration, &mut vec![scope_of(known)])? {
            Slot::Array(array) => Ok(self.arrays[array].clone()),
            Slot::Value(..) => Err(Problem::new(
                declaration.place,
                format!("`{}` is not an array", declaration.name),
                "give it a length",
            )),
        }
    }

    /// Calls a function that fills tables. Takes and returns the elements of the tables.
    pub(crate) fn fill(
        &mut self,
        function: &'u Function,
        arguments: Vec<Argumented>,
        place: Place,
    ) -> Result<Vec<Array>> {
        let mut slots = Vec::new();
        let mut arrays = Vec::new();
        for argument in arguments {
            slots.push(match argument {
                Argumented::Value(value, of) => Slot::Value(of, Some(value)),
                Argumented::Array(array) => {
                    let number = self.keep(array, place)?;
                    arrays.push(number);
                    Slot::Array(number)
                }
            });
        }
        self.call(function, slots, place)?;
        Ok(arrays.into_iter().map(|array| self.arrays[array].clone()).collect())
    }

    fn keep(&mut self, array: Array, place: Place) -> Result<usize> {
        self.elements += array.elements.len();
        if self.elements > MAX_ELEMENTS {
            let what = format!("more than {MAX_ELEMENTS} elements of all arrays");
            return Err(Problem::new(place, what, "use shorter arrays"));
        }
        self.arrays.push(array);
        Ok(self.arrays.len() - 1)
    }

    fn step(&mut self, place: Place) -> Result<()> {
        match self.steps.0.checked_sub(1) {
            Some(left) => {
                self.steps.0 = left;
                Ok(())
            }
            None => {
                let what = format!("more than {} steps of an interpretation", self.steps.1);
                Err(Problem::new(place, what, "use fewer iterations"))
            }
        }
    }

    fn array_or_value(&mut self, declaration: &Declaration, scopes: &mut Vec<Scope>) -> Result<Slot> {
        if declaration.lengths.is_empty() {
            return Ok(Slot::Value(declaration.of, None));
        }
        let mut lengths = Vec::new();
        let mut elements: usize = 1;
        for length in &declaration.lengths {
            let value = self.value(length, scopes)?.0;
            let fits = usize::try_from(value).ok().filter(|value| (1..=MAX_ELEMENTS).contains(value));
            let (Some(length), what) = (fits, format!("a length of {value}")) else {
                let what = format!("a length of {value}");
                return Err(Problem::new(length.place, what, format!("use 1 to {MAX_ELEMENTS}")));
            };
            elements = elements.saturating_mul(length);
            if elements > MAX_ELEMENTS {
                return Err(Problem::new(
                    declaration.place,
                    what,
                    format!("use arrays of at most {MAX_ELEMENTS} elements"),
                ));
            }
            lengths.push(length);
        }
        let array = Array { of: declaration.of, lengths, elements: vec![None; elements] };
        self.keep(array, declaration.place).map(Slot::Array)
    }

    fn declared(&mut self, declaration: &Declaration, scopes: &mut Vec<Scope>) -> Result<Slot> {
        if declaration.fixed && !declaration.constant {
            return self.kept(declaration, scopes);
        }
        self.fresh(declaration, scopes)
    }

    /// A `static` variable or array, which keeps its value from call to call.
    fn kept(&mut self, declaration: &Declaration, scopes: &mut Vec<Scope>) -> Result<Slot> {
        let key = std::ptr::from_ref(declaration);
        // Functions of constants are evaluated any number of times.
        let Some(statics) = self.statics.as_ref().filter(|_| !declaration.lengths.is_empty()) else {
            return Err(keeps_its_value(declaration));
        };
        if let Some(array) = statics.get(&key) {
            return Ok(Slot::Array(*array));
        }
        let slot = self.fresh(declaration, scopes)?;
        if let (Slot::Array(array), Some(statics)) = (slot, &mut self.statics) {
            statics.insert(key, array);
        }
        Ok(slot)
    }

    fn fresh(&mut self, declaration: &Declaration, scopes: &mut Vec<Scope>) -> Result<Slot> {
        let slot = self.array_or_value(declaration, scopes)?;
        match (&declaration.initial, slot) {
            // A `static` array begins with zeros.
            (None, Slot::Array(array)) if declaration.fixed => {
                self.arrays[array].elements.fill(Some(0));
                Ok(slot)
            }
            (None, _) => Ok(slot),
            (Some(Initial::Value(value)), Slot::Value(of, _)) => {
                let (value, _) = self.value(value, scopes)?;
                fitting(value, of, declaration.place)?;
                Ok(Slot::Value(of, Some(value)))
            }
            (Some(initial @ Initial::Elements(..)), Slot::Array(array)) => {
                let (of, lengths) = (self.arrays[array].of, self.arrays[array].lengths.clone());
                let mut elements = Vec::with_capacity(self.arrays[array].elements.len());
                self.elements_of(initial, &lengths, of, scopes, &mut elements)?;
                self.arrays[array].elements = elements.into_iter().map(Some).collect();
                Ok(slot)
            }
            _ => Err(Problem::new(declaration.place, "an initial value of another form", "use braces for arrays only")),
        }
    }

    /// Elements that are not listed are 0, as in C.
    fn elements_of(
        &mut self,
        initial: &Initial,
        lengths: &[usize],
        of: Type,
        scopes: &mut Vec<Scope>,
        elements: &mut Vec<i128>,
    ) -> Result<()> {
        match (initial, lengths) {
            (Initial::Value(value), []) => {
                let (found, _) = self.value(value, scopes)?;
                fitting(found, of, value.place)?;
                elements.push(found);
                Ok(())
            }
            (Initial::Elements(listed, place), [length, inner @ ..]) => {
                if listed.len() > *length {
                    let what = format!("{} elements for a length of {length}", listed.len());
                    return Err(Problem::new(*place, what, "make the array longer"));
                }
                listed.iter().try_for_each(|one| self.elements_of(one, inner, of, scopes, elements))?;
                let missing = (length - listed.len()) * inner.iter().product::<usize>();
                elements.extend(std::iter::repeat_n(0, missing));
                Ok(())
            }
            (Initial::Value(value), _) => Err(Problem::new(
                value.place,
                "a value for an array",
                "use braces around the elements of each dimension",
            )),
            (Initial::Elements(_, place), []) => Err(Problem::new(*place, "braces around a value", "remove them")),
        }
    }

    fn call(&mut self, function: &'u Function, slots: Vec<Slot>, place: Place) -> Result<Option<i128>> {
        if self.calls == MAX_CALLS {
            let what = format!("`{}` is called inside of more than {MAX_CALLS} calls", function.name);
            return Err(Problem::new(place, what, "use a loop in place of recursion"));
        }
        self.calls += 1;
        let scope = function.parameters.iter().map(|parameter| parameter.name.clone()).zip(slots).collect();
        let result = self.statements(&function.body, &mut vec![scope]);
        self.calls -= 1;
        match (function.result, result?) {
            (Some(of), Some(Some(value))) => {
                fitting(value, of, place)?;
                Ok(Some(value))
            }
            (Some(_), _) => Err(Problem::new(place, format!("`{}` returns no value", function.name), "return one")),
            (None, _) => Ok(None),
        }
    }

    /// Runs statements. `Some` is the value of a `return`.
    fn statements(&mut self, statements: &'u [Stmt], scopes: &mut Vec<Scope>) -> Result<Option<Option<i128>>> {
        scopes.push(Scope::new());
        for statement in statements {
            let returned = self.statement(statement, scopes)?;
            if returned.is_some() {
                scopes.pop();
                return Ok(returned);
            }
        }
        scopes.pop();
        Ok(None)
    }

    fn statement(&mut self, statement: &'u Stmt, scopes: &mut Vec<Scope>) -> Result<Option<Option<i128>>> {
        self.step(statement.place)?;
        self.nested(statement.place, |this| this.statement_inside(statement, scopes))
    }

    /// Runs a closure one level deeper. The level is left even after an error, because the interpretation continues if the
    /// expression need not be a constant.
    fn nested<T>(&mut self, place: Place, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            return Err(too_deep(place));
        }
        self.nesting += 1;
        let result = run(self);
        self.nesting -= 1;
        result
    }

    fn statement_inside(&mut self, statement: &'u Stmt, scopes: &mut Vec<Scope>) -> Result<Option<Option<i128>>> {
        match &statement.kind {
            StmtKind::Declare(declarations) => {
                for declaration in declarations {
                    let slot = self.declared(declaration, scopes)?;
                    if let Some(scope) = scopes.last_mut() {
                        scope.insert(declaration.name.clone(), slot);
                    }
                }
            }
            StmtKind::Assign(target, op, value) => {
                let given = self.value(value, scopes)?;
                let given = match op {
                    None => given.0,
                    Some(op) => {
                        self.check_repeated(target)?;
                        let before = self.value(target, scopes)?;
                        binary(*op, before, given, statement.place)?.0
                    }
                };
                self.assign(target, given, scopes)?;
            }
            StmtKind::If(condition, yes, no) => {
                if self.value(condition, scopes)?.0 != 0 {
                    return self.statements(std::slice::from_ref(yes), scopes);
                } else if let Some(no) = no {
                    return self.statements(std::slice::from_ref(no), scopes);
                }
            }
            StmtKind::For(one) => return self.loop_of(one, statement.place, scopes),
            StmtKind::Block(statements) => return self.statements(statements, scopes),
            StmtKind::Call(name, arguments) => drop(self.called(name, arguments, statement.place, scopes)?),
            StmtKind::Assert(condition) => {
                if self.value(condition, scopes)?.0 == 0 {
                    return Err(Problem::new(
                        statement.place,
                        "an assertion does not hold",
                        "correct the source or its input",
                    ));
                }
            }
            StmtKind::Return(value) => {
                return Ok(Some(match value {
                    Some(value) => Some(self.value(value, scopes)?.0),
                    None => None,
                }));
            }
            StmtKind::Pragma(_) => {}
        }
        Ok(None)
    }

    fn loop_of(&mut self, one: &'u For, place: Place, scopes: &mut Vec<Scope>) -> Result<Option<Option<i128>>> {
        let mut variable = self.value(&one.first, scopes)?.0;
        loop {
            self.step(place)?;
            fitting(variable, one.of, place)?;
            scopes.push(Scope::from([(one.variable.clone(), Slot::Value(one.of, Some(variable)))]));
            let bound = self.value(&one.bound, scopes)?;
            let goes_on = binary(one.compare, (variable, one.of), bound, place)?.0 != 0;
            let returned = if goes_on { self.statements(std::slice::from_ref(&one.body), scopes)? } else { None };
            let step = self.value(&one.step, scopes)?;
            scopes.pop();
            if !goes_on || returned.is_some() {
                return Ok(returned);
            }
            let op = if one.down { BinaryOp::Sub } else { BinaryOp::Add };
            variable = binary(op, (variable, one.of), step, place)?.0;
        }
    }

    fn slot(&self, name: &str, scopes: &[Scope], place: Place) -> Result<Slot> {
        let found = scopes.iter().rev().find_map(|scope| scope.get(name)).or_else(|| self.constants.get(name));
        found.copied().ok_or_else(|| {
            Problem::new(place, format!("`{name}` is not declared"), "declare it, or define it as a macro")
        })
    }

    fn element(
        &mut self,
        name: &str,
        indices: &[Expr],
        place: Place,
        scopes: &mut Vec<Scope>,
    ) -> Result<(usize, usize)> {
        let Slot::Array(array) = self.slot(name, scopes, place)? else {
            return Err(Problem::new(place, format!("`{name}` is not an array"), "use it without an index"));
        };
        let lengths = self.arrays[array].lengths.clone();
        if indices.len() != lengths.len() {
            let what = format!("{} indices of `{name}`, which has {} dimensions", indices.len(), lengths.len());
            return Err(Problem::new(place, what, "use one index for each dimension"));
        }
        let mut element = 0;
        for (index, length) in indices.iter().zip(lengths) {
            let value = self.value(index, scopes)?.0;
            match usize::try_from(value) {
                Ok(value) if value < length => element = element * length + value,
                _ => {
                    let what = format!("index {value} of `{name}`, which has the length {length}");
                    return Err(Problem::new(index.place, what, "keep indices below the length"));
                }
            }
        }
        Ok((array, element))
    }

    fn assign(&mut self, target: &Expr, value: i128, scopes: &mut Vec<Scope>) -> Result<()> {
        match &target.kind {
            ExprKind::Element(name, indices) => {
                let (array, element) = self.element(name, indices, target.place, scopes)?;
                fitting(value, self.arrays[array].of, target.place)?;
                self.arrays[array].elements[element] = Some(value);
            }
            ExprKind::Name(name) => {
                let Slot::Value(of, _) = self.slot(name, scopes, target.place)? else {
                    return Err(Problem::new(target.place, format!("`{name}` is an array"), "assign to its elements"));
                };
                fitting(value, of, target.place)?;
                if let Some(slot) = scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
                    *slot = Slot::Value(of, Some(value));
                } else {
                    return Err(Problem::new(target.place, format!("`{name}` is a constant"), "assign to a variable"));
                }
            }
            _ => {
                return Err(Problem::new(
                    target.place,
                    "an assignment to something that is not a variable",
                    "assign to a variable",
                ));
            }
        }
        Ok(())
    }

    fn called(
        &mut self,
        name: &str,
        arguments: &[Expr],
        place: Place,
        scopes: &mut Vec<Scope>,
    ) -> Result<Option<(i128, Type)>> {
        let function = self.function(name, place)?;
        if function.parameters.len() != arguments.len() {
            let what = format!(
                "{} arguments of `{name}`, which has {} parameters",
                arguments.len(),
                function.parameters.len()
            );
            return Err(Problem::new(place, what, "give one argument for each parameter"));
        }
        let mut slots = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            slots.push(if parameter.lengths.is_empty() {
                let (value, _) = self.value(argument, scopes)?;
                fitting(value, parameter.of, argument.place)?;
                Slot::Value(parameter.of, Some(value))
            } else {
                let ExprKind::Name(array) = &argument.kind else {
                    return Err(Problem::new(
                        argument.place,
                        "an argument that is not an array",
                        format!("give an array for `{}`", parameter.name),
                    ));
                };
                match self.slot(array, scopes, argument.place)? {
                    slot @ Slot::Array(_) => slot,
                    Slot::Value(..) => {
                        let what = format!("`{array}` is not an array");
                        return Err(Problem::new(
                            argument.place,
                            what,
                            format!("give an array for `{}`", parameter.name),
                        ));
                    }
                }
            });
        }
        let result = self.call(function, slots, place)?;
        Ok(result.zip(function.result))
    }

    fn value(&mut self, expression: &Expr, scopes: &mut Vec<Scope>) -> Result<(i128, Type)> {
        self.step(expression.place)?;
        self.nested(expression.place, |this| this.value_inside(expression, scopes))
    }

    fn value_inside(&mut self, expression: &Expr, scopes: &mut Vec<Scope>) -> Result<(i128, Type)> {
        let place = expression.place;
        match &expression.kind {
            ExprKind::Number(value, of) => Ok((i128::try_from(*value).unwrap_or(i128::MAX), *of)),
            ExprKind::Name(name) => match self.slot(name, scopes, place)? {
                Slot::Value(of, Some(value)) => Ok((value, of)),
                Slot::Value(_, None) => {
                    Err(Problem::new(place, format!("`{name}` has no value yet"), "assign to it first"))
                }
                Slot::Array(_) => Err(Problem::new(place, format!("`{name}` is an array"), "use one of its elements")),
            },
            ExprKind::Element(name, indices) => {
                let (array, element) = self.element(name, indices, place, scopes)?;
                let array = &self.arrays[array];
                match array.elements[element] {
                    Some(value) => Ok((value, array.of)),
                    None => Err(Problem::new(
                        place,
                        format!("an element of `{name}` has no value yet"),
                        "assign to it first",
                    )),
                }
            }
            ExprKind::Unary(op, inner) => {
                let given = self.value(inner, scopes)?;
                unary(*op, given, place)
            }
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), left, right) => {
                let left = self.value(left, scopes)?.0 != 0;
                let decided = left == (*op == BinaryOp::LogicalOr);
                let value = if decided { left } else { self.value(right, scopes)?.0 != 0 };
                Ok((value.into(), Type::INT))
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.value(left, scopes)?, self.value(right, scopes)?);
                binary(*op, left, right, place)
            }
            ExprKind::Select(condition, yes, no) => {
                let (chosen, other) = if self.value(condition, scopes)?.0 != 0 { (yes, no) } else { (no, yes) };
                let (value, of) = self.value(chosen, scopes)?;
                let of = of.common(type_of(other, &mut Scoped { interpreter: self, scopes })?);
                if !of.signed {
                    not_negative(value, place)?;
                }
                Ok((value, of))
            }
            ExprKind::Cast(of, inner) => {
                let (value, _) = self.value(inner, scopes)?;
                not_negative(value, place)?;
                // Any other number than 0 is true.
                Ok((if of.bits == 1 { i128::from(value != 0) } else { value & of.range().1 }, *of))
            }
            ExprKind::Call(name, arguments) => {
                let result = self.called(name, arguments, place, scopes)?;
                result.ok_or_else(|| Problem::new(place, format!("`{name}` returns no value"), "return one"))
            }
        }
    }
}

/// The names in scope of an interpretation.
struct Scoped<'a, 'u> {
    interpreter: &'a mut Interpreter<'u>,
    scopes: &'a [Scope],
}

impl Names for Scoped<'_, '_> {
    fn variable(&mut self, name: &str, place: Place) -> Result<Type> {
        self.interpreter.step(place)?;
        Ok(match self.interpreter.slot(name, self.scopes, place)? {
            Slot::Value(of, _) => of,
            Slot::Array(array) => self.interpreter.arrays[array].of,
        })
    }

    fn result(&mut self, function: &str, place: Place) -> Result<Type> {
        self.interpreter.result(function, place)
    }
}

/// An argument of a call that fills tables.
#[derive(Debug)]
pub(crate) enum Argumented {
    Value(i128, Type),
    Array(Array),
}

/// The refusal of a `static` variable.
pub(crate) fn keeps_its_value(declaration: &Declaration) -> Problem {
    let what = format!("`{}` keeps its value from call to call", declaration.name);
    Problem::new(declaration.place, what, "remove `static`")
}

/// The refusal of statements and expressions that are nested too deep for the stack.
pub(crate) fn too_deep(place: Place) -> Problem {
    let what =
        format!("statements and expressions nested more than {MAX_NESTING} deep, including those of called functions");
    Problem::new(place, what, "use variables for parts of it")
}
