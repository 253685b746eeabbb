//! Random statements: of a kernel, and nests of loops.

use ciphermill_hls::ast::Type;

use super::expression::type_name;
use super::generate::{Array, Generator, Kind, Variable};

impl Generator {
    /// Statements of an iteration, declarations among them.
    pub(super) fn statements(&mut self, count: usize) {
        (0..count).for_each(|_| self.statement(2));
    }

    /// Statements outside of loops, where a declaration would be a variable that outlives an iteration.
    pub(super) fn statements_without_declarations(&mut self, count: usize) {
        for _ in 0..count {
            match self.random.below(3) {
                0 => self.assign_element(),
                1 => self.branch(1),
                _ => self.assign_variable(),
            }
        }
    }

    fn statement(&mut self, depth: usize) {
        self.spent += self.multiple;
        if self.spent > self.budget {
            return self.assign_element();
        }
        match self.random.below(20) {
            0..=3 => self.declare(),
            4 => self.declare_late(),
            5 => self.declare_array(),
            6..=8 => self.assign_variable(),
            9 | 10 => self.compound(),
            11..=14 => self.assign_element(),
            15 => self.assertion(),
            16 | 17 if depth > 0 => self.branch(depth - 1),
            18 if depth > 0 => self.unrolled(depth - 1),
            19 if depth > 0 => {
                self.line("{");
                self.block(depth - 1);
                self.line("}");
            }
            _ => self.assign_element(),
        }
    }

    /// Statements in their own block.
    fn block(&mut self, depth: usize) {
        self.indent += 1;
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        for _ in 0..self.random.between(1, 3) {
            self.statement(depth);
        }
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
        self.indent -= 1;
    }

    fn local(&mut self, name: String, bits: u32, range: (i128, i128), kind: Kind) {
        self.variables.push(Variable { name, bits, range, kind, known: false, constant: false });
    }

    fn declare(&mut self) {
        let bits = self.bits_of_type();
        let value = self.expression(3);
        let value = self.fit(value, Type::unsigned(bits).range().1);
        let fixed = self.random.chance(15);
        let hidden = self.variables.iter().find(|one| one.kind == Kind::Local && !value.text.contains(&one.name));
        let hidden = hidden.map(|one| one.name.clone());
        // In an inner block, a name may hide another one.
        let hides = self.conditions > 0 && self.random.chance(10);
        let name = match hidden {
            Some(name) if hides && !self.declared_here(&name) => name,
            _ => self.name("t"),
        };
        let (before, kind) = if fixed { ("const ", Kind::Fixed) } else { ("", Kind::Local) };
        if bits == 8 && value.range.1 <= 1 {
            self.line(&format!("{before}bool {name} = {};", value.text));
        } else {
            self.line(&format!("{before}{} {name} = {};", type_name(bits), value.text));
        }
        let bits = if bits == 8 && value.range.1 <= 1 { 1 } else { bits };
        self.local(name, bits, value.range, kind);
    }

    /// A variable of an outer loop. It reads nothing that the inner loop changes, and the inner loop does not assign to it.
    fn declare_early(&mut self) {
        let (variables, arrays) = (self.variables.clone(), self.arrays.clone());
        self.variables.retain(|one| one.kind == Kind::Fixed);
        self.arrays.retain(|one| !one.writable);
        self.declare();
        let declared = self.variables.pop();
        (self.variables, self.arrays) = (variables, arrays);
        self.variables.extend(declared.map(|one| Variable { kind: Kind::Fixed, ..one }));
    }

    /// Whether a name may belong to the innermost block, where C allows it only once.
    fn declared_here(&self, name: &str) -> bool {
        self.variables[self.scope..].iter().any(|one| one.name == name)
    }

    /// A variable that gets its value on each of two ways.
    fn declare_late(&mut self) {
        let (name, bits) = (self.name("t"), self.bits_of_type());
        let most = Type::unsigned(bits).range().1;
        let (condition, yes, no) = (self.expression(2), self.expression(2), self.expression(2));
        let (yes, no) = (self.fit(yes, most), self.fit(no, most));
        self.line(&format!("{} {name};", type_name(bits)));
        self.line(&format!("if ({}) {name} = {};", condition.text, yes.text));
        self.line(&format!("else {name} = {};", no.text));
        let range = (yes.range.0.min(no.range.0), yes.range.1.max(no.range.1));
        self.local(name, bits, range, Kind::Local);
    }

    /// An array of the iteration.
    fn declare_array(&mut self) {
        let (name, bits, length) = (self.name("e"), self.bits_of_type(), self.random.between(1, 4));
        let most = Type::unsigned(bits).range().1;
        let elements = (0..length).map(|_| {
            let element = self.expression(1);
            self.fit(element, most).text
        });
        let elements: Vec<String> = elements.collect();
        self.line(&format!("{} {name}[{length}] = {{{}}};", type_name(bits), elements.join(", ")));
        self.arrays.push(Array {
            name,
            bits,
            lengths: vec![length],
            most,
            read_most: most,
            writable: true,
            temporary: true,
        });
    }

    /// A variable that can be assigned to.
    fn target(&mut self) -> Option<usize> {
        let name = self.variable_that(|one| one.kind != Kind::Fixed && one.bits > 1)?.text;
        self.variables.iter().rposition(|one| one.name == name)
    }

    fn assigned(&mut self, target: usize, range: (i128, i128)) {
        let one = &mut self.variables[target];
        if one.kind == Kind::Local {
            one.range = range;
        }
    }

    fn assign_variable(&mut self) {
        let Some(target) = self.target() else { return self.assign_element() };
        let (name, bits) = (self.variables[target].name.clone(), self.variables[target].bits);
        let value = self.expression(3);
        let value = self.fit(value, Type::unsigned(bits).range().1);
        self.line(&format!("{name} = {};", value.text));
        self.assigned(target, value.range);
    }

    /// A compound assignment to a variable.
    fn compound(&mut self) {
        let Some(target) = self.target() else { return self.assign_element() };
        let one = self.variables[target].clone();
        let most = Type::unsigned(one.bits).range().1;
        let (least, greatest) = one.range;
        let (op, value, range) = match self.random.below(10) {
            0 | 1 if greatest < most => {
                let value = self.expression(2);
                // C computes in int or in the wider of both types.
                let value = self.fit(value, (most - greatest).min(i128::MAX >> 97));
                if one.bits == 32 && value.of.signed && greatest + value.range.1 > most {
                    return self.assign_element();
                }
                let range = (least + value.range.0, greatest + value.range.1);
                ("+=", value, range)
            }
            2 if least > 0 => {
                let value = self.expression(1);
                let value = self.fit(value, least);
                let range = (least - value.range.1, greatest - value.range.0);
                ("-=", value, range)
            }
            3 if greatest < most => {
                let text = if self.random.chance(50) { format!("{}++;", one.name) } else { format!("++{};", one.name) };
                self.line(&text);
                return self.assigned(target, (least + 1, greatest + 1));
            }
            4 => {
                let d = self.random.between(1, 5000) as u64;
                let range = (0, greatest.min(i128::from(d) - 1));
                ("%=", self.number(d), range)
            }
            5 => {
                let d = self.random.between(1, 100) as u64;
                let range = (least / i128::from(d), greatest / i128::from(d));
                ("/=", self.number(d), range)
            }
            6 => {
                let by = self.random.below(8);
                let value = self.number(by as u64);
                (">>=", value, (least >> by, greatest >> by))
            }
            7 if greatest << 2 <= most.min(i128::MAX >> 97) => {
                let value = self.number(2);
                ("<<=", value, (least << 2, greatest << 2))
            }
            8 => {
                let value = self.expression(2);
                let value = self.fit(value, most);
                let range = (0, greatest.min(value.range.1));
                ("&=", value, range)
            }
            _ => {
                let value = self.expression(2);
                let value = self.fit(value, most);
                (*self.random.pick(&["|=", "^="]), value, (0, most))
            }
        };
        self.line(&format!("{} {op} {};", one.name, value.text));
        self.assigned(target, range);
    }

    fn assign_element(&mut self) {
        let writable: Vec<usize> = (0..self.arrays.len()).filter(|&array| self.arrays[array].writable).collect();
        if writable.is_empty() {
            return self.line(";");
        }
        let array = *self.random.pick(&writable);
        let text = self.access(array);
        let (most, read_most) = (self.arrays[array].most, self.arrays[array].read_most);
        let value = self.expression(3);
        let value = self.fit(value, most);
        let op = match self.random.below(12) {
            0 if most == read_most => "^=",
            1 => "&=",
            2 if most == read_most => "|=",
            _ => "=",
        };
        self.line(&format!("{text} {op} {};", value.text));
    }

    /// An assertion that holds, and the range that the compiler may conclude from it.
    fn assertion(&mut self) {
        if let Some(target) = self.target()
            && self.random.chance(50)
        {
            let one = self.variables[target].clone();
            let bound = self.number(u64::try_from(one.range.1).unwrap_or(u64::MAX));
            return self.line(&format!("assert({} <= {});", one.name, bound.text));
        }
        // If a variable has the value of an element, the assertion narrows the variable.
        let arrays: Vec<usize> = (0..self.arrays.len()).filter(|&array| !self.arrays[array].temporary).collect();
        if arrays.is_empty() {
            return;
        }
        let array = *self.random.pick(&arrays);
        let (text, name, bits) = (self.access(array), self.name("t"), self.arrays[array].bits);
        let most = self.arrays[array].most;
        let bound = self.number(u64::try_from(most).unwrap_or(u64::MAX));
        self.line(&format!("{} {name} = {text};", type_name(bits)));
        self.line(&format!("assert({name} <= {});", bound.text));
        self.local(name, bits, (0, most), Kind::Local);
    }

    fn ranges(&self) -> Vec<(i128, i128)> {
        self.variables.iter().map(|one| one.range).collect()
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.expression(2);
        let before = self.ranges();
        self.conditions += 1;
        let scope = std::mem::replace(&mut self.scope, self.variables.len());
        self.line(&format!("if ({}) {{", condition.text));
        self.block(depth);
        let after = self.ranges();
        for (one, range) in self.variables.iter_mut().zip(&before) {
            one.range = *range;
        }
        if self.random.chance(50) {
            self.line("} else {");
            self.block(depth);
        }
        self.line("}");
        self.scope = scope;
        self.conditions -= 1;
        for (one, range) in self.variables.iter_mut().zip(after) {
            one.range = (one.range.0.min(range.0), one.range.1.max(range.1));
        }
    }

    /// A loop inside of an iteration.
    fn unrolled(&mut self, depth: usize) {
        let (name, trips) = (self.name("j"), self.random.between(1, 4));
        // A variable that the body assigns to may have any value of its type at the beginning of the body.
        self.widen();
        self.line(&format!("for (unsigned {name} = 0; {name} < {trips}; {name}++) {{"));
        // Without a pipeline a loop inside of a loop belongs to the nest.
        if !self.pipelined || self.random.chance(30) {
            self.line("#pragma HLS unroll");
        }
        let scope = std::mem::replace(&mut self.scope, self.variables.len());
        self.loop_variable(name, 32, (0, trips as i128 - 1), true);
        self.multiple *= trips;
        self.block(depth);
        self.multiple /= trips;
        self.variables.truncate(self.scope);
        self.scope = scope;
        self.line("}");
        self.widen();
    }

    fn widen(&mut self) {
        for one in self.variables.iter_mut().filter(|one| one.kind == Kind::Local) {
            one.range = Type::unsigned(one.bits).range();
        }
    }

    /// A nest of loops as a kernel.
    pub(super) fn nest(&mut self) {
        let levels = self.random.between(1, 3);
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        let scope = self.scope;
        self.pipelined = self.random.chance(75);
        for level in 0..levels {
            let trips = if levels == 1 { self.random.between(1, 16) } else { self.random.between(1, 5) };
            self.header(trips);
            self.indent += 1;
            self.scope = self.variables.len();
            if level + 1 < levels && self.random.chance(12) {
                self.declare_early();
            }
        }
        if self.pipelined {
            let interval =
                if self.random.chance(20) { format!(" II={}", self.random.between(1, 4)) } else { String::new() };
            self.line(&format!("#pragma HLS pipeline{interval}"));
        }
        let statements = self.random.between(1, 5);
        self.statements(statements);
        for _ in 0..levels {
            self.indent -= 1;
            self.line("}");
        }
        self.scope = scope;
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
    }

    /// The first line of a loop.
    fn header(&mut self, trips: usize) {
        let (name, bits) = (self.name("i"), *self.random.pick(&[8, 16, 32, 32, 64]));
        let of = if bits == 32 && self.random.chance(70) { "unsigned" } else { type_name(bits) };
        let (first, step) = (self.random.below(4), self.random.between(1, 3));
        let last = first + step * (trips - 1);
        let label = if self.random.chance(20) { format!("{}: ", self.name("L")) } else { String::new() };
        let text = match self.random.below(5) {
            0 => format!("{label}for ({of} {name} = {last}; {name} >= {first} + {step}; {name} -= {step}) {{"),
            1 => format!("{label}for ({of} {name} = {first}; {name} <= {last}; {name} += {step}) {{"),
            2 => format!("{label}for ({of} {name} = {first}; {name} != {}; {name} = {name} + {step}) {{", last + step),
            3 if step == 1 => format!("{label}for ({of} {name} = {first}; {name} < {}; ++{name}) {{", last + 1),
            _ => format!("{label}for ({of} {name} = {first}; {name} < {}; {name} += {step}) {{", last + 1),
        };
        self.line(&text);
        self.loop_variable(name, bits, (first as i128, last as i128), false);
    }
}
