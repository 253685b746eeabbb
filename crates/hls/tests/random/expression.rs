//! Random expressions, with the range that interval arithmetic gives them.

use ciphermill_hls::ast::Type;

use super::generate::Generator;

/// The binding of C's operators, from 0 for `?:` on.
const PRIMARY: u32 = 20;
const UNARY: u32 = 15;
const PRODUCT: u32 = 10;
const SUM: u32 = 9;
const SHIFT: u32 = 8;

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) of: Type,
    pub(super) range: (i128, i128),
    binding: u32,
}

impl Expression {
    pub(super) fn primary(text: String, of: Type, range: (i128, i128)) -> Self {
        Self { text, of, range, binding: PRIMARY }
    }

    /// Whether it may stand in a program three times. Under a condition, the compiler reads an element again at each use.
    /// A comparison of one read then says nothing about another read.
    fn is_repeatable(&self) -> bool {
        self.text.len() < 40 && !self.text.contains('[') && !self.text.contains("h")
    }

    /// In parentheses if an operator with this binding would split it.
    fn inside(&self, binding: u32) -> String {
        if self.binding < binding { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// The name of an unsigned type.
pub(super) fn type_name(bits: u32) -> &'static str {
    match bits {
        1 => "bool",
        8 => "uint8_t",
        16 => "uint16_t",
        32 => "uint32_t",
        64 => "uint64_t",
        _ => "unsigned __int128",
    }
}

/// The least 2^k − 1 that is not below a value.
fn ones(value: i128) -> i128 {
    if value <= 0 { 0 } else { i128::MAX >> (value.leading_zeros() - 1) }
}

impl Generator {
    /// A literal with this value.
    pub(super) fn number(&mut self, value: u64) -> Expression {
        let (text, of) = match value {
            0..=0x7fff_ffff if self.random.chance(70) => (value.to_string(), Type::INT),
            0..=0xffff_ffff if self.random.chance(50) => (format!("{value}u"), Type::unsigned(32)),
            0x8000_0000..=0xffff_ffff => (format!("{value:#x}"), Type::unsigned(32)),
            0..=0x7fff_ffff => (format!("{value:#x}"), Type::INT),
            _ => (format!("{value}ull"), Type::unsigned(64)),
        };
        Expression::primary(text, of, (value.into(), value.into()))
    }

    fn random_number(&mut self) -> Expression {
        if let Some((name, value)) = self.macros.get(self.random.below(self.macros.len() + 2)).cloned() {
            return Expression::primary(name, Type::INT, (value.into(), value.into()));
        }
        let bits = *self.random.pick(&[1, 2, 3, 4, 6, 8, 8, 12, 16, 24, 31, 32, 45, 63]);
        let value = self.random.draw() >> (64 - bits);
        self.number(value)
    }

    /// A literal above zero, to divide by.
    fn divisor(&mut self) -> Expression {
        let bits = *self.random.pick(&[1, 2, 3, 4, 5, 7, 8, 10, 12, 14, 16, 20, 23]);
        let value = (self.random.draw() >> (64 - bits)).max(1);
        self.number(value)
    }

    fn leaf(&mut self) -> Expression {
        match self.random.below(10) {
            0 | 1 => self.random_number(),
            2..=6 => self.variable().unwrap_or_else(|| self.random_number()),
            _ => self.element().unwrap_or_else(|| self.random_number()),
        }
    }

    /// An element of an array that may be read.
    fn element(&mut self) -> Option<Expression> {
        if self.arrays.is_empty() {
            return None;
        }
        let array = self.random.below(self.arrays.len());
        let text = self.access(array);
        let array = &self.arrays[array];
        Some(Expression::primary(text, Type::unsigned(array.bits), (0, array.read_most)))
    }

    /// An element as text, with indices that are below the lengths.
    pub(super) fn access(&mut self, array: usize) -> String {
        let (name, lengths, temporary) = {
            let array = &self.arrays[array];
            (array.name.clone(), array.lengths.clone(), array.temporary)
        };
        let indices = lengths.into_iter().map(|length| {
            let index = if temporary { self.constant_index(length) } else { self.index(length) };
            format!("[{}]", index.text)
        });
        let indices: String = indices.collect();
        format!("{name}{indices}")
    }

    fn constant_index(&mut self, length: usize) -> Expression {
        let index = self.variable_that(|variable| variable.constant);
        match index {
            Some(index) if self.random.chance(80) => self.fit(index, length as i128 - 1),
            _ => {
                let index = self.random.below(length);
                self.number(index as u64)
            }
        }
    }

    fn index(&mut self, length: usize) -> Expression {
        let most = length as i128 - 1;
        if self.random.chance(12) && self.depth == 0 {
            self.depth += 1;
            let index = self.expression(1);
            self.depth -= 1;
            return self.fit(index, most);
        }
        let Some(index) = self.variable_that(|variable| variable.known) else { return self.constant_index(length) };
        let by = self.random.between(1, 3) as u64;
        let by = self.number(by);
        let index = match self.random.below(6) {
            0 => self.sum(index, by),
            1 => self.product(index, by),
            2 => match self.variable_that(|variable| variable.known) {
                Some(other) => self.bits('^', index, other),
                None => index,
            },
            _ => index,
        };
        self.fit(index, most)
    }

    /// An expression whose operators are at most `depth` deep.
    pub(super) fn expression(&mut self, depth: usize) -> Expression {
        if depth == 0 || self.random.chance(12) {
            return self.leaf();
        }
        let a = self.expression(depth - 1);
        let other = |this: &mut Self| this.expression(depth - 1);
        match self.random.below(17) {
            0 | 1 => {
                let b = other(self);
                self.sum(a, b)
            }
            2 => {
                let b = other(self);
                self.difference(a, b)
            }
            3 if self.random.chance(50) => {
                let b = other(self);
                self.guarded(a, b)
            }
            3 => self.reduced(a),
            4 | 5 => {
                let b = other(self);
                self.product(a, b)
            }
            6 => {
                let d = self.divisor();
                self.quotient(a, d, '/')
            }
            7 => {
                let d = self.divisor();
                self.quotient(a, d, '%')
            }
            8 => {
                let (b, op) = (other(self), *self.random.pick(&['&', '|', '^']));
                self.bits(op, a, b)
            }
            9 => self.shifted(a, depth),
            10 => self.complement(a),
            11 => {
                let b = other(self);
                self.comparison(a, b)
            }
            12 => {
                let b = other(self);
                self.logical(a, b)
            }
            13 => Expression { text: format!("!{}", a.inside(UNARY)), of: Type::INT, range: (0, 1), binding: UNARY },
            14 => {
                let (b, c) = (other(self), other(self));
                self.select(a, b, c)
            }
            15 => {
                let bits = *self.random.pick(&[8, 16, 32, 64]);
                self.cast(a, bits)
            }
            _ => self.call(depth).unwrap_or(a),
        }
    }

    pub(super) fn cast(&mut self, a: Expression, bits: u32) -> Expression {
        let of = Type::unsigned(bits);
        let range = if a.range.1 <= of.range().1 { a.range } else { (0, of.range().1) };
        let name =
            if bits <= 64 && self.random.chance(30) { format!("word{bits}") } else { type_name(bits).to_owned() };
        Expression { text: format!("({name}){}", a.inside(UNARY)), of, range, binding: UNARY }
    }

    fn operation(&mut self, op: &str, binding: u32, a: &Expression, b: &Expression, range: (i128, i128)) -> Expression {
        // Parentheses that C does not need are left out only sometimes. Some are around names.
        let extra = *self.random.pick(&[0, 0, 0, PRIMARY, PRIMARY, PRIMARY + 1]);
        let text = format!("{} {op} {}", a.inside(extra.max(binding)), b.inside(extra.max(binding + 1)));
        Expression { text, of: a.of.common(b.of), range, binding }
    }

    /// The operands widened until the result fits.
    fn widened(
        &mut self,
        mut a: Expression,
        mut b: Expression,
        range: impl Fn(&Expression, &Expression) -> Option<(i128, i128)>,
        widest: u32,
    ) -> (Expression, Expression, (i128, i128)) {
        let mut most = i128::MAX >> 66;
        loop {
            let of = a.of.common(b.of);
            match range(&a, &b) {
                Some(found) if found.1 <= of.range().1 => return (a, b, found),
                Some(found) if of.bits < 64 && found.1 <= Type::unsigned(64).range().1 => a = self.cast(a, 64),
                Some(_) if of.bits < widest => a = self.cast(a, widest),
                _ => {
                    most >>= 10;
                    (a, b) = (self.fit(a, most), self.fit(b, most));
                }
            }
        }
    }

    pub(super) fn sum(&mut self, a: Expression, b: Expression) -> Expression {
        let range = |a: &Expression, b: &Expression| {
            Some((a.range.0.saturating_add(b.range.0), a.range.1.checked_add(b.range.1)?))
        };
        let (a, b, range) = self.widened(a, b, range, 64);
        self.operation("+", SUM, &a, &b, range)
    }

    fn product(&mut self, a: Expression, b: Expression) -> Expression {
        let range = |a: &Expression, b: &Expression| {
            Some((a.range.0.saturating_mul(b.range.0), a.range.1.checked_mul(b.range.1)?))
        };
        let widest = if self.random.chance(30) { 128 } else { 64 };
        let (a, b, range) = self.widened(a, b, range, widest);
        self.operation("*", PRODUCT, &a, &b, range)
    }

    /// a − b, with as much added to a as is needed.
    fn difference(&mut self, a: Expression, b: Expression) -> Expression {
        let b = self.fit(b, i128::MAX >> 66);
        let missing = (b.range.1 - a.range.0).max(0);
        let extra = self.number(u64::try_from(missing).unwrap_or_default());
        let a = if missing > 0 { self.sum(a, extra) } else { a };
        // A mask on the sum may have lowered its least value.
        if a.range.0 < b.range.1 {
            return a;
        }
        let range = (a.range.0 - b.range.1, a.range.1 - b.range.0);
        self.operation("-", SUM, &a, &b, range)
    }

    /// a less a constant, where a is not below the constant.
    fn reduced(&mut self, a: Expression) -> Expression {
        let bound = a.range.1.min(i128::MAX >> 65) / 2 + 1;
        if !a.is_repeatable() || bound < 2 {
            return a;
        }
        let k = self.number(u64::try_from(bound).unwrap_or(1));
        let text = format!("{} >= {} ? {} - {} : {}", a.inside(SHIFT), k.text, a.inside(SUM), k.text, a.inside(1));
        Expression { text, of: a.of.common(k.of), range: (0, (bound - 1).max(a.range.1 - bound)), binding: 0 }
    }

    /// The quotient or the remainder of a − b, which is below zero in some iterations that do not use it.
    fn guarded(&mut self, a: Expression, b: Expression) -> Expression {
        if !a.is_repeatable() || !b.is_repeatable() || a.range.1 < b.range.0 {
            return a;
        }
        let (d, op) = (self.divisor(), *self.random.pick(&['%', '/']));
        let (most, divisor) = (a.range.1 - b.range.0, d.range.0);
        let most = if op == '/' { most / divisor } else { most.min(divisor - 1) };
        let (difference, condition) = (
            format!("({} - {})", a.inside(SUM), b.inside(PRODUCT)),
            format!("{} >= {}", a.inside(SHIFT), b.inside(SHIFT)),
        );
        let text = format!("{condition} ? {difference} {op} {} : {}", d.text, b.inside(1));
        Expression { text, of: a.of.common(b.of).common(d.of), range: (0, most.max(b.range.1)), binding: 0 }
    }

    fn quotient(&mut self, a: Expression, d: Expression, op: char) -> Expression {
        let divisor = d.range.0;
        let range = match op {
            '/' => (a.range.0 / divisor, a.range.1 / divisor),
            _ if a.range.1 < divisor => a.range,
            _ => (0, divisor - 1),
        };
        self.operation(&op.to_string(), PRODUCT, &a, &d, range)
    }

    pub(super) fn bits(&mut self, op: char, a: Expression, b: Expression) -> Expression {
        let most = ones(a.range.1.max(b.range.1));
        let (binding, range) = match op {
            '&' => (5, (0, a.range.1.min(b.range.1))),
            '^' => (4, (0, most)),
            _ => (3, (a.range.0.max(b.range.0), most)),
        };
        self.operation(&op.to_string(), binding, &a, &b, range)
    }

    fn shifted(&mut self, a: Expression, depth: usize) -> Expression {
        let by = if self.random.chance(30) {
            let by = self.expression(depth - 1);
            self.fit(by, 7)
        } else {
            let most = if a.of.bits < 64 { 16 } else { 40 };
            let by = self.random.between(0, most);
            self.number(by as u64)
        };
        if self.random.chance(50) {
            let range = (a.range.0 >> by.range.1, a.range.1 >> by.range.0);
            let of = a.of.promoted();
            return Expression { of, ..self.operation(">>", SHIFT, &a, &by, range) };
        }
        let mut a = a;
        let most = |a: &Expression| a.range.1.checked_mul(1 << by.range.1);
        if most(&a).is_none_or(|most| most > a.of.promoted().range().1) && a.of.bits < 64 {
            a = self.cast(a, 64);
        }
        if most(&a).is_none_or(|most| most > a.of.promoted().range().1) {
            a = self.fit(a, 0xffff);
            a = self.cast(a, 64);
        }
        let range = (a.range.0 << by.range.0, a.range.1 << by.range.1);
        let of = a.of.promoted();
        Expression { of, ..self.operation("<<", SHIFT, &a, &by, range) }
    }

    fn complement(&mut self, a: Expression) -> Expression {
        let of = a.of.promoted();
        if of.bits > 64 {
            return a;
        }
        let text = format!("~{}", a.inside(UNARY));
        if !of.signed && self.random.chance(50) {
            let most = of.range().1;
            return Expression { text, of, range: (most - a.range.1, most - a.range.0), binding: UNARY };
        }
        let mask = ones((self.random.draw() >> self.random.between(34, 60)) as i128 + 1);
        let mask = self.number(u64::try_from(mask).unwrap_or(1));
        // Only the mask makes the value not negative.
        let not = Expression { text, of, range: (0, i128::MAX), binding: UNARY };
        let most = mask.range.1;
        self.operation("&", 5, &not, &mask, (0, most))
    }

    pub(super) fn comparison(&mut self, a: Expression, b: Expression) -> Expression {
        let (op, binding) = *self.random.pick(&[("<", 7), ("<=", 7), (">", 7), (">=", 7), ("==", 6), ("!=", 6)]);
        Expression { of: Type::INT, ..self.operation(op, binding, &a, &b, (0, 1)) }
    }

    fn logical(&mut self, a: Expression, b: Expression) -> Expression {
        let (op, binding) = *self.random.pick(&[("&&", 2), ("||", 1)]);
        Expression { of: Type::INT, ..self.operation(op, binding, &a, &b, (0, 1)) }
    }

    fn select(&mut self, condition: Expression, yes: Expression, no: Expression) -> Expression {
        let text = format!("{} ? {} : {}", condition.inside(1), yes.inside(1), no.inside(0));
        let range = (yes.range.0.min(no.range.0), yes.range.1.max(no.range.1));
        Expression { text, of: yes.of.common(no.of), range, binding: 0 }
    }

    /// A call of an earlier function.
    fn call(&mut self, depth: usize) -> Option<Expression> {
        if self.helpers.is_empty() || self.spent > self.budget {
            return None;
        }
        let helper = self.helpers[self.random.below(self.helpers.len())].clone();
        self.spent += helper.weight * self.multiple;
        let arguments = helper.parameters.iter().map(|&bits| {
            let argument = self.expression(depth - 1);
            self.fit(argument, Type::unsigned(bits).range().1).inside(0)
        });
        let arguments: Vec<String> = arguments.collect();
        let text = format!("{}({})", helper.name, arguments.join(", "));
        Some(Expression::primary(text, Type::unsigned(helper.bits), helper.range))
    }

    /// The expression, changed so that it is at most `most`.
    pub(super) fn fit(&mut self, a: Expression, most: i128) -> Expression {
        if a.range.1 <= most {
            return a;
        }
        let bits = [8, 16, 32, 64].into_iter().find(|&bits| Type::unsigned(bits).range().1 == most);
        match bits {
            Some(bits) if bits == 64 || self.random.chance(50) => return self.cast(a, bits),
            _ => {}
        }
        let mask = ones(most + 1) >> 1;
        let limit = |value: i128| u64::try_from(value).unwrap_or(u64::MAX);
        match self.random.below(3) {
            0 if most < u64::MAX.into() => {
                let d = self.number(limit(most + 1));
                self.quotient(a, d, '%')
            }
            1 if a.range.1 <= 2 * most + 1 && a.is_repeatable() => {
                let k = self.number(limit(most + 1));
                let text = format!("{} >= {} ? {} - {} : {}", a.inside(SHIFT), k.text, a.inside(SUM), k.text, a.text);
                Expression { text, of: a.of.common(k.of), range: (0, most), binding: 0 }
            }
            _ => {
                let mask = self.number(limit(if ones(most) == most { most } else { mask }));
                self.bits('&', a, mask)
            }
        }
    }
}
