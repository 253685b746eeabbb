//! The tokens of a line, and the parsers of operands.

use super::error::{AsmError, AsmProblem, shown};
use crate::isa::operand::{
    Address, Core, ModulusRegister, Offset, Operand, RangeError, ScalarRegister, TwiddleRegister, VectorRegister,
};

/// A word or a punctuation character of a line, with its column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) column: usize,
    pub(super) text: &'a str,
}

/// A line without its comment, read from left to right.
#[derive(Clone)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    rest: &'a str,
    /// The column of the first character of `rest`.
    column: usize,
}

/// The characters of names, numbers and distances.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}

fn is_label(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str, number: usize) -> Self {
        let code = ["#", ";", "//"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
        Self { number, rest: &text[..code], column: 1 }
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let blank = self.rest.find(|c: char| !c.is_whitespace()).unwrap_or(self.rest.len());
        self.advance(blank);
        let first = self.rest.chars().next()?;
        let length =
            if is_word(first) { self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()) } else { first.len_utf8() };
        let column = self.column;
        let text = self.advance(length);
        Some(Token { column, text })
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.column += taken.chars().count();
        self.rest = rest;
        taken
    }

    /// Takes the next token if it is `text`.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.next().is_some_and(|token| token.text == text);
        if found {
            *self = ahead;
        }
        found
    }

    /// The label at the start of the line, if there is one.
    pub(super) fn label(&mut self) -> Result<Option<Token<'a>>, AsmError> {
        const EXPECTED: &str = "a label: a letter or `_`, then letters, digits, `_` and `.`";
        let mut ahead = self.clone();
        let Some(name) = ahead.next() else { return Ok(None) };
        if !ahead.take(":") {
            return Ok(None);
        }
        if !is_label(name.text) {
            return Err(self.expected(EXPECTED, name));
        }
        *self = ahead;
        Ok(Some(name))
    }

    /// The next token. A missing token is an error.
    pub(super) fn expect(&mut self, expected: &'static str) -> Result<Token<'a>, AsmError> {
        self.next().ok_or_else(|| {
            self.error(self.column, AsmProblem::Expected { expected, found: "the end of the line".to_owned() })
        })
    }

    fn sign(&mut self, sign: &str, expected: &'static str) -> Result<(), AsmError> {
        let token = self.expect(expected)?;
        if token.text == sign { Ok(()) } else { Err(self.expected(expected, token)) }
    }

    pub(super) fn comma(&mut self) -> Result<(), AsmError> {
        self.sign(",", "`,` and another operand")
    }

    pub(super) fn end(&mut self) -> Result<(), AsmError> {
        match self.next() {
            None => Ok(()),
            Some(token) => Err(self.expected("the end of the line", token)),
        }
    }

    pub(super) fn error(&self, column: usize, problem: AsmProblem) -> AsmError {
        AsmError { line: self.number, column, problem }
    }

    pub(super) fn expected(&self, expected: &'static str, found: Token<'_>) -> AsmError {
        let problem = AsmProblem::Expected { expected, found: format!("`{}`", shown(found.text)) };
        self.error(found.column, problem)
    }

    /// Returns the value, or its error at the column of `token`.
    pub(super) fn at<T>(&self, token: Token<'_>, given: Result<T, RangeError>) -> Result<T, AsmError> {
        given.map_err(|error| self.error(token.column, error.into()))
    }

    fn register<R>(
        &mut self,
        prefix: char,
        expected: &'static str,
        new: impl Fn(i64) -> Result<R, RangeError>,
    ) -> Result<R, AsmError> {
        let token = self.expect(expected)?;
        let digits = token.text.strip_prefix(prefix).filter(|digits| {
            digits.chars().all(|c| c.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'))
        });
        let number = digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| self.expected(expected, token))?;
        self.at(token, new(number))
    }

    pub(super) fn vector(&mut self) -> Result<VectorRegister, AsmError> {
        self.register(VectorRegister::PREFIX, "a vector register, v0 to v31", VectorRegister::new)
    }

    pub(super) fn twiddle(&mut self) -> Result<TwiddleRegister, AsmError> {
        self.register(TwiddleRegister::PREFIX, "a twiddle register, t0 to t15", TwiddleRegister::new)
    }

    pub(super) fn modulus(&mut self) -> Result<ModulusRegister, AsmError> {
        self.register(ModulusRegister::PREFIX, "a modulus register, m0 to m7", ModulusRegister::new)
    }

    pub(super) fn scalar(&mut self) -> Result<ScalarRegister, AsmError> {
        self.register(ScalarRegister::PREFIX, "a scalar register, x0 to x31", ScalarRegister::new)
    }

    pub(super) fn core(&mut self) -> Result<Core, AsmError> {
        self.register(Core::PREFIX, "a core, c0 to c31", Core::new)
    }

    pub(super) fn vector_read(&mut self) -> Result<Operand<VectorRegister>, AsmError> {
        Ok(Operand { register: self.vector()?, free: self.take("!") })
    }

    pub(super) fn twiddle_read(&mut self) -> Result<Operand<TwiddleRegister>, AsmError> {
        Ok(Operand { register: self.twiddle()?, free: self.take("!") })
    }

    /// A number with its token.
    pub(super) fn number(&mut self) -> Result<(Token<'a>, i64), AsmError> {
        const EXPECTED: &str = "a number, decimal or 0x…";
        let token = self.expect(EXPECTED)?;
        integer(token.text).map(|number| (token, number)).ok_or_else(|| self.expected(EXPECTED, token))
    }

    /// `offset(base)`.
    pub(super) fn address<const BITS: u32>(&mut self) -> Result<Address<BITS>, AsmError> {
        let (token, offset) = self.number()?;
        let offset = self.at(token, Offset::new(offset))?;
        self.sign("(", "`(` and a base register")?;
        let base = self.scalar()?;
        self.sign(")", "`)`")?;
        Ok(Address { offset, base })
    }
}

/// A decimal or hexadecimal integer with an optional sign.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x" | "0X") => (16, &magnitude[2..]),
        _ => (10, magnitude),
    };
    // `from_str_radix` would accept a second sign.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = i64::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}
