//! Random programs: functions, parameters, tables, and statements outside of loops.

use ciphermill_hls::ast::Type;

use super::Random;
use super::expression::{Expression, type_name};

/// A program with one function to compile.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Its number, which all of its names contain, so that many programs fit into one C file.
    pub(crate) number: u64,
    /// The C source without its head.
    pub(crate) text: String,
    /// The function.
    pub(crate) function: String,
    /// The function's parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// The bits of the function's result.
    pub(crate) result: Option<u32>,
}

/// A parameter of the function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// The bits of a value or an element.
    pub(crate) bits: u32,
    /// The lengths of its dimensions; none for a value.
    pub(crate) lengths: Vec<usize>,
    /// The greatest value that may be given.
    pub(crate) most: u64,
}

/// How a variable behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is never assigned to.
    Fixed,
    /// It lives in one iteration.
    Local,
    /// It outlives iterations; it has the range of its type.
    Register,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) bits: u32,
    pub(super) range: (i128, i128),
    pub(super) kind: Kind,
    /// Whether it depends on loop variables alone.
    pub(super) known: bool,
    /// Whether it is a constant once loops are unrolled.
    pub(super) constant: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) bits: u32,
    pub(super) lengths: Vec<usize>,
    /// The greatest value that may be written.
    pub(super) most: i128,
    /// The greatest value that a read may have, as far as the compiler knows.
    pub(super) read_most: i128,
    pub(super) writable: bool,
    /// Whether it is an array of one iteration, whose indices must be constants.
    pub(super) temporary: bool,
}

/// A function of values.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub(super) name: String,
    pub(super) parameters: Vec<u32>,
    pub(super) bits: u32,
    pub(super) range: (i128, i128),
    /// The number of statements and calls in a call.
    pub(super) weight: usize,
}

/// A function that works on arrays of some shapes.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    name: String,
    shapes: Vec<usize>,
    value: Option<u32>,
}

#[derive(Clone, Debug)]
struct Shape {
    bits: u32,
    lengths: Vec<usize>,
    most: u64,
}

/// A program under construction.
pub(crate) struct Generator {
    pub(super) random: Random,
    number: u64,
    pub(super) text: String,
    pub(super) indent: usize,
    pub(super) macros: Vec<(String, u32)>,
    pub(super) variables: Vec<Variable>,
    pub(super) arrays: Vec<Array>,
    pub(super) helpers: Vec<Helper>,
    stages: Vec<Stage>,
    shapes: Vec<Shape>,
    names: usize,
    /// The number of statements after unrolling, and the greatest number for the function.
    pub(super) spent: usize,
    pub(super) budget: usize,
    /// How often the present statement is unrolled.
    pub(super) multiple: usize,
    /// Conditions around the present statement.
    pub(super) conditions: usize,
    /// The first variable of the innermost block.
    pub(super) scope: usize,
    /// Whether the present nest is a pipeline.
    pub(super) pipelined: bool,
    /// Expressions inside of indices.
    pub(super) depth: usize,
}

impl Program {
    /// The program with this number.
    pub(crate) fn random(number: u64) -> Self {
        let generator = Generator {
            random: Random::new(number ^ 0x5eed_c1fe_0000_0000),
            number,
            text: String::new(),
            indent: 0,
            macros: Vec::new(),
            variables: Vec::new(),
            arrays: Vec::new(),
            helpers: Vec::new(),
            stages: Vec::new(),
            shapes: Vec::new(),
            names: 0,
            spent: 0,
            budget: 30,
            multiple: 1,
            conditions: 0,
            scope: 0,
            pipelined: false,
            depth: 0,
        };
        generator.program()
    }
}

impl Generator {
    /// A name that the program does not have yet.
    pub(super) fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// A name that no other program has either.
    fn global(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}_{}", self.number, self.names)
    }

    pub(super) fn line(&mut self, text: &str) {
        self.text.extend(std::iter::repeat_n(' ', 2 * self.indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(super) fn bits_of_type(&mut self) -> u32 {
        *self.random.pick(&[8, 16, 16, 32, 32, 64])
    }

    /// A variable for which a condition holds and which no inner one hides.
    pub(super) fn variable_that(&mut self, holds: impl Fn(&Variable) -> bool) -> Option<Expression> {
        let seen = |(at, one): (usize, &Variable)| {
            holds(one) && !self.variables[at + 1..].iter().any(|other| other.name == one.name)
        };
        let found: Vec<usize> =
            self.variables.iter().enumerate().filter(|&(at, one)| seen((at, one))).map(|(at, _)| at).collect();
        let one = &self.variables[*found.get(self.random.below(found.len().max(1)))?];
        Some(Expression::primary(one.name.clone(), Type::unsigned(one.bits), one.range))
    }

    pub(super) fn variable(&mut self) -> Option<Expression> {
        self.variable_that(|_| true)
    }

    fn program(mut self) -> Program {
        for _ in 0..self.random.below(3) {
            let (name, value) = (self.global("M"), self.random.between(1, 9) as u32);
            self.line(&format!("#define {name} {value}"));
            self.macros.push((name, value));
        }
        for _ in 0..self.random.below(2) {
            self.constant_table();
        }
        for _ in 0..self.random.below(4) {
            self.helper();
        }
        for _ in 0..self.random.between(1, 3) {
            let shape = self.shape();
            self.shapes.push(shape);
        }
        for _ in 0..self.random.below(3) {
            self.stage();
        }
        let function = self.global("f");
        self.function(function)
    }

    fn shape(&mut self) -> Shape {
        let bits = self.bits_of_type();
        let lengths = match self.random.below(10) {
            0..=5 => vec![*self.random.pick(&[4, 5, 8, 8, 12, 16])],
            6..=8 => vec![*self.random.pick(&[2, 3, 4]), *self.random.pick(&[2, 4, 6])],
            _ => vec![2, *self.random.pick(&[2, 3]), 2],
        };
        let most = Type::unsigned(bits).range().1 as u64;
        let most =
            if self.random.chance(60) { (most >> self.random.below(bits as usize - 1)).max(2) - 1 } else { most };
        Shape { bits, lengths, most }
    }

    fn lengths(lengths: &[usize]) -> String {
        lengths.iter().map(|length| format!("[{length}]")).collect()
    }

    /// A table outside of functions.
    fn constant_table(&mut self) {
        let (name, bits, shape) = (self.global("table"), self.bits_of_type(), self.shape());
        let mut most = 0;
        let mut row = |this: &mut Self, length: usize| {
            let elements = (0..length).map(|_| {
                let value = this.random.draw() >> (64 - bits);
                most = most.max(value);
                format!("{value}u{}", if bits == 64 { "ll" } else { "" })
            });
            let elements: Vec<String> = elements.collect();
            format!("{{{}}}", elements.join(", "))
        };
        let lengths = shape.lengths[..shape.lengths.len().min(2)].to_vec();
        let elements = match lengths[..] {
            [length] => row(self, length),
            _ => {
                let rows: Vec<String> = (0..lengths[0]).map(|_| row(self, lengths[1])).collect();
                format!("{{{}}}", rows.join(", "))
            }
        };
        self.line(&format!("static const {} {name}{} = {elements};", type_name(bits), Self::lengths(&lengths)));
        let most = i128::from(most);
        self.arrays.push(Array { name, bits, lengths, most, read_most: most, writable: false, temporary: false });
    }

    /// A function of values, with returns on several ways.
    fn helper(&mut self) {
        let name = self.global("h");
        let bits = self.bits_of_type();
        let parameters: Vec<u32> = (0..self.random.between(1, 3)).map(|_| self.bits_of_type()).collect();
        let (before, arrays, spent) = (self.variables.len(), self.arrays.len(), self.spent);
        let named: Vec<String> = parameters
            .iter()
            .map(|&bits| {
                let name = self.name("p");
                let range = Type::unsigned(bits).range();
                self.variables.push(Variable {
                    name: name.clone(),
                    bits,
                    range,
                    kind: Kind::Local,
                    known: false,
                    constant: false,
                });
                format!("{} {name}", type_name(bits))
            })
            .collect();
        self.line(&format!("static {} {name}({}) {{", type_name(bits), named.join(", ")));
        self.indent += 1;
        let statements = self.random.below(3);
        self.statements(statements);
        let most = Type::unsigned(bits).range().1;
        let mut range = (i128::MAX, 0);
        let mut ways = self.random.below(3);
        loop {
            let (condition, value) = (self.expression(1), self.expression(2));
            let value = self.fit(value, most);
            range = (range.0.min(value.range.0), range.1.max(value.range.1));
            if ways == 0 {
                self.line(&format!("return {};", value.text));
                break;
            }
            let (inner, other) = (self.expression(1), self.expression(2));
            let (condition, value, inner) = (condition.text, value.text, inner.text);
            match self.random.below(4) {
                // One way of a branch returns, and another one goes on.
                0 => self.line(&format!("if ({condition}) {{ if ({inner}) return {value}; }}")),
                1 => {
                    let other = self.fit(other, most);
                    range = (range.0.min(other.range.0), range.1.max(other.range.1));
                    self.line(&format!("if ({condition}) return {value}; else if ({inner}) return {};", other.text));
                }
                _ => self.line(&format!("if ({condition}) return {value};")),
            }
            ways -= 1;
        }
        self.indent -= 1;
        self.line("}");
        self.variables.truncate(before);
        self.arrays.truncate(arrays);
        let weight = self.spent - spent + 3;
        self.spent = spent;
        self.helpers.push(Helper { name, parameters, bits, range, weight });
    }

    fn shape_array(&mut self, name: String, shape: usize) -> Array {
        let Shape { bits, lengths, most } = self.shapes[shape].clone();
        let read_most = Type::unsigned(bits).range().1;
        Array { name, bits, lengths, most: most.into(), read_most, writable: true, temporary: false }
    }

    /// A function that changes arrays in loops.
    fn stage(&mut self) {
        let name = self.global("stage");
        let shapes: Vec<usize> = (0..self.random.between(1, 2)).map(|_| self.random.below(self.shapes.len())).collect();
        let value = self.random.chance(50).then(|| self.bits_of_type());
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        let mut parameters = Vec::new();
        for &shape in &shapes {
            let array_name = self.name("a");
            let array = self.shape_array(array_name, shape);
            parameters.push(format!("{} {}{}", type_name(array.bits), array.name, Self::lengths(&array.lengths)));
            self.arrays.push(array);
        }
        if let Some(bits) = value {
            let name = self.name("v");
            parameters.push(format!("{} {name}", type_name(bits)));
            self.register(name, bits);
        }
        self.line(&format!("static void {name}({}) {{", parameters.join(", ")));
        self.indent += 1;
        let spent = self.spent;
        self.nest();
        self.spent = spent;
        self.indent -= 1;
        self.line("}");
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
        self.stages.push(Stage { name, shapes, value });
    }

    pub(super) fn register(&mut self, name: String, bits: u32) {
        let range = Type::unsigned(bits).range();
        self.variables.push(Variable { name, bits, range, kind: Kind::Register, known: false, constant: false });
    }

    /// The function to compile.
    fn function(mut self, function: String) -> Program {
        let mut parameters = Vec::new();
        let mut declared = Vec::new();
        for shape in 0..self.shapes.len() {
            let name = self.name("a");
            let array = self.shape_array(name, shape);
            declared.push(format!("{} {}{}", type_name(array.bits), array.name, Self::lengths(&array.lengths)));
            let Shape { bits, lengths, most } = self.shapes[shape].clone();
            parameters.push(Parameter { bits, lengths, most });
            self.arrays.push(array);
        }
        for _ in 0..self.random.below(3) {
            let (name, bits) = (self.name("x"), self.bits_of_type());
            declared.push(format!("{} {name}", type_name(bits)));
            parameters.push(Parameter { bits, lengths: Vec::new(), most: Type::unsigned(bits).range().1 as u64 });
            self.register(name, bits);
        }
        let result = self.random.chance(40).then(|| self.bits_of_type());
        self.line(&format!("{} {function}({}) {{", result.map_or("void", type_name), declared.join(", ")));
        self.indent += 1;
        let arrays = self.arrays.len();
        (arrays - self.shapes.len()..arrays).for_each(|array| self.storage(array));
        for _ in 0..self.random.below(3) {
            self.local_array();
        }
        if self.random.chance(20) {
            self.filled_table();
        }
        for _ in 0..self.random.below(3) {
            self.declare_register();
        }
        for _ in 0..self.random.between(1, 3) {
            self.part();
        }
        if let Some(bits) = result {
            let value = self.expression(2);
            let value = self.fit(value, Type::unsigned(bits).range().1);
            self.line(&format!("return {};", value.text));
        }
        self.indent -= 1;
        self.line("}");
        Program { number: self.number, text: self.text, function, parameters, result }
    }

    /// Pragmas of an array.
    fn storage(&mut self, array: usize) {
        let (name, lengths) = (self.arrays[array].name.clone(), self.arrays[array].lengths.clone());
        if self.random.chance(65) {
            let dimension = self.random.between(0, lengths.len());
            // A factor is at most the length of each dimension that it divides.
            let divided = if dimension == 0 { &lengths[..] } else { &lengths[dimension - 1..dimension] };
            let most = divided.iter().copied().min().map_or(4, |shortest| shortest.min(4));
            let kind = match self.random.below(3) {
                0 => "complete".to_owned(),
                1 => format!("block factor={}", self.random.between(1, most)),
                _ => format!("cyclic factor={}", self.random.between(1, most)),
            };
            let kind = if self.random.chance(30) { format!("type={kind}") } else { kind };
            self.line(&format!("#pragma HLS array_partition variable={name} {kind} dim={dimension}"));
        }
        if self.random.chance(30) {
            let ports = *self.random.pick(&["ram_s2p", "ram_t2p"]);
            self.line(&format!("#pragma HLS bind_storage variable={name} type={ports}"));
        }
    }

    /// An array of the function, filled by loops before anything reads it.
    fn local_array(&mut self) {
        let shape = self.random.below(self.shapes.len());
        let name = self.name("l");
        let array = self.shape_array(name.clone(), shape);
        let lengths = Self::lengths(&array.lengths);
        self.line(&format!("{} {name}{lengths};", type_name(array.bits)));
        self.arrays.push(array.clone());
        self.storage(self.arrays.len() - 1);
        // It must not be read before all of it is written.
        self.arrays.pop();
        let before = self.variables.len();
        let mut indices = String::new();
        for &length in &array.lengths {
            let index = self.name("i");
            self.line(&format!("for (unsigned {index} = 0; {index} < {length}; {index}++) {{"));
            self.indent += 1;
            self.loop_variable(index.clone(), 32, (0, length as i128 - 1), false);
            indices += &format!("[{index}]");
        }
        if self.random.chance(60) {
            self.line("#pragma HLS pipeline");
        }
        let value = self.expression(2);
        let value = self.fit(value, array.most);
        self.line(&format!("{name}{indices} = {};", value.text));
        for _ in 0..array.lengths.len() {
            self.indent -= 1;
            self.line("}");
        }
        self.variables.truncate(before);
        self.arrays.push(array);
    }

    pub(super) fn loop_variable(&mut self, name: String, bits: u32, range: (i128, i128), constant: bool) {
        self.variables.push(Variable { name, bits, range, kind: Kind::Fixed, known: true, constant });
    }

    /// A `static` array that a function of constants fills.
    fn filled_table(&mut self) {
        let (name, fill, bits) = (self.name("w"), self.global("fill"), self.bits_of_type().min(32));
        let (length, modulus) = (*self.random.pick(&[4, 8, 9]), self.random.between(2, 200));
        let (of, factor) = (type_name(bits), self.random.between(1, 20));
        let text = format!(
            "static void {fill}({of} w[{length}], unsigned c) {{\n  w[0] = 1;\n  \
             for (unsigned i = 1; i < {length}; i++) w[i] = ((uint32_t)w[i - 1] * c + i) % {modulus};\n}}\n"
        );
        // A function must stand before the present one.
        let at = self.text.rfind("\nvoid f").or_else(|| self.text.rfind("\nuint")).map_or(0, |at| at + 1);
        self.text.insert_str(at, &text);
        self.line(&format!("static {of} {name}[{length}];"));
        self.line(&format!("{fill}({name}, {factor});"));
        let most = modulus as i128;
        self.arrays.push(Array {
            name,
            bits,
            lengths: vec![length],
            most,
            read_most: most,
            writable: false,
            temporary: false,
        });
    }

    fn declare_register(&mut self) {
        let (name, bits) = (self.name("r"), self.bits_of_type());
        let value = self.expression(1);
        let value = self.fit(value, Type::unsigned(bits).range().1);
        self.line(&format!("{} {name} = {};", type_name(bits), value.text));
        self.register(name, bits);
    }

    /// A part of the function: loops, statements without loops, a call, or an unrolled loop around one.
    fn part(&mut self) {
        let spent = self.spent;
        match self.random.below(10) {
            0..=4 => self.nest(),
            5 | 6 => {
                let statements = self.random.between(1, 3);
                self.statements_without_declarations(statements);
            }
            7 | 8 if !self.stages.is_empty() => self.call_stage(),
            9 => {
                let (index, trips) = (self.name("u"), self.random.between(1, 3));
                self.line(&format!("for (unsigned {index} = 0; {index} < {trips}; {index}++) {{"));
                self.line("#pragma HLS unroll");
                self.indent += 1;
                let before = self.variables.len();
                self.loop_variable(index, 32, (0, trips as i128 - 1), true);
                if self.stages.is_empty() || self.random.chance(60) {
                    self.nest()
                } else {
                    self.call_stage()
                }
                self.variables.truncate(before);
                self.indent -= 1;
                self.line("}");
            }
            _ => self.nest(),
        }
        self.spent = spent;
    }

    fn call_stage(&mut self) {
        let stage = self.random.pick(&self.stages).clone();
        let first = self.arrays.iter().position(|array| array.writable).unwrap_or_default();
        let mut arguments = Vec::new();
        for &shape in &stage.shapes {
            let wanted = self.shapes[shape].clone();
            let fits = |array: &&Array| {
                array.writable
                    && (array.bits, &array.lengths, array.most) == (wanted.bits, &wanted.lengths, wanted.most.into())
            };
            let fitting: Vec<String> =
                self.arrays[first..].iter().filter(fits).map(|array| array.name.clone()).collect();
            arguments.push(self.random.pick(&fitting).clone());
        }
        if let Some(bits) = stage.value {
            let value = self.expression(1);
            arguments.push(self.fit(value, Type::unsigned(bits).range().1).text);
        }
        self.line(&format!("{}({});", stage.name, arguments.join(", ")));
    }
}
