//! From text to statements whose registers may still be names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::bindings::is_name;
use super::error::{AsmError, AsmProblem, shown};
use crate::id::VrId;
use crate::instruction::MAX_INSTRUCTIONS;
use crate::set::InstructionSet;
use crate::spec::{Form, InstructionSpec};

/// A word or a comma of a line, with its column.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    column: usize,
    text: &'a str,
}

/// A register in the text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Register<'a> {
    Literal(VrId),
    Name(&'a str),
}

/// A register and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand<'a> {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) register: Register<'a>,
}

/// One instruction of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement<'a> {
    pub(super) spec: &'static InstructionSpec,
    pub(super) first: Operand<'a>,
    pub(super) second: Second<'a>,
}

/// The second operand, if any.
#[derive(Clone, Copy, Debug)]
pub(super) enum Second<'a> {
    None,
    Register(Operand<'a>),
    Factor(i32),
}

/// A parsed text.
#[derive(Debug, Default)]
pub(super) struct Text<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    /// The `.bind` lines: name to register and line.
    pub(super) bindings: HashMap<&'a str, (VrId, usize)>,
}

const EXPECTED_REGISTER: &str = "a register: a name, or type:key:data as in 3:0:2";
const EXPECTED_FACTOR: &str = "an integer from -2147483648 to 2147483647, decimal or 0x…";

pub(super) fn parse<'a>(set: &InstructionSet, text: &'a str) -> Result<Text<'a>, AsmError> {
    let mut parsed = Text::default();
    let mut lines = 0;
    for (index, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        lines = index + 1;
        let mut line = Line::new(line, lines);
        let Some(head) = line.next() else { continue };
        if head.text.eq_ignore_ascii_case(".bind") {
            bind(&mut line, &mut parsed)?;
        } else {
            let statement = statement(set, head, &mut line)?;
            if parsed.statements.len() == MAX_INSTRUCTIONS {
                return Err(line.error(head.column, AsmProblem::TooManyInstructions));
            }
            parsed.statements.push(statement);
        }
        line.end()?;
    }
    if parsed.statements.is_empty() {
        return Err(AsmError { line: lines.max(1), column: 1, problem: AsmProblem::Empty });
    }
    Ok(parsed)
}

fn bind<'a>(line: &mut Line<'a>, parsed: &mut Text<'a>) -> Result<(), AsmError> {
    const EXPECTED_NAME: &str = "a register name: a letter or `_`, then letters, digits and `_`";
    let token = line.expect(EXPECTED_NAME)?;
    if !is_name(token.text) {
        return Err(line.expected(EXPECTED_NAME, token));
    }
    let value = line.expect("type:key:data as in 3:0:2")?;
    let register = line.literal(value)?;
    if let Some(&(_, first)) = parsed.bindings.get(token.text) {
        let problem = AsmProblem::BoundTwice { name: shown(token.text), line: first };
        return Err(line.error(token.column, problem));
    }
    parsed.bindings.insert(token.text, (register, line.number));
    Ok(())
}

fn statement<'a>(set: &InstructionSet, head: Token<'a>, line: &mut Line<'a>) -> Result<Statement<'a>, AsmError> {
    let spec =
        set.named(head.text).ok_or_else(|| line.expected(format!("{}, return or .bind", set.mnemonics()), head))?;
    let first = line.operand()?;
    let second = match spec.form() {
        Form::One => Second::None,
        Form::Two => {
            line.comma()?;
            Second::Register(line.operand()?)
        }
        Form::Factor => {
            line.comma()?;
            let token = line.expect(EXPECTED_FACTOR)?;
            Second::Factor(factor(token.text).ok_or_else(|| line.expected(EXPECTED_FACTOR, token))?)
        }
    };
    Ok(Statement { spec, first, second })
}

/// An `i32` in decimal or hexadecimal, with an optional minus sign.
fn factor(text: &str) -> Option<i32> {
    let (negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x" | "0X") => (16, &magnitude[2..]),
        _ => (10, magnitude),
    };
    // `from_str_radix` takes a sign of its own, which has been read already.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = i64::from_str_radix(digits, radix).ok()?;
    i32::try_from(if negative { -value } else { value }).ok()
}

/// The tokens of one line, up to its comment.
struct Line<'a> {
    number: usize,
    rest: &'a str,
    /// The column of the first character of `rest`.
    column: usize,
}

impl<'a> Line<'a> {
    fn new(text: &'a str, number: usize) -> Self {
        let code = ["#", ";", "//"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
        Self { number, rest: &text[..code], column: 1 }
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let blank = self.rest.find(|c: char| !c.is_whitespace()).unwrap_or(self.rest.len());
        self.advance(blank);
        let length = match self.rest.chars().next()? {
            ',' => 1,
            _ => self.rest.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(self.rest.len()),
        };
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

    /// The next token, which must be there.
    fn expect(&mut self, expected: &'static str) -> Result<Token<'a>, AsmError> {
        self.next().ok_or_else(|| {
            self.error(
                self.column,
                AsmProblem::Expected { expected: expected.into(), found: "the end of the line".to_owned() },
            )
        })
    }

    fn comma(&mut self) -> Result<(), AsmError> {
        const EXPECTED: &str = "`,` and a second operand";
        let token = self.expect(EXPECTED)?;
        if token.text == "," { Ok(()) } else { Err(self.expected(EXPECTED, token)) }
    }

    fn end(&mut self) -> Result<(), AsmError> {
        self.next().map_or(Ok(()), |token| Err(self.expected("the end of the line or a comment", token)))
    }

    fn operand(&mut self) -> Result<Operand<'a>, AsmError> {
        let token = self.expect(EXPECTED_REGISTER)?;
        let register = if is_name(token.text) {
            Register::Name(token.text)
        } else if token.text.starts_with(|c: char| c.is_ascii_digit()) {
            Register::Literal(self.literal(token)?)
        } else {
            return Err(self.expected(EXPECTED_REGISTER, token));
        };
        Ok(Operand { line: self.number, column: token.column, register })
    }

    fn literal(&self, token: Token<'a>) -> Result<VrId, AsmError> {
        // Cut before it is parsed: the error keeps the field it stumbles over.
        let text = shown(token.text);
        text.parse().map_err(|source| self.error(token.column, AsmProblem::Register { text, source }))
    }

    fn expected(&self, expected: impl Into<Cow<'static, str>>, token: Token<'a>) -> AsmError {
        let found = format!("`{}`", shown(token.text));
        self.error(token.column, AsmProblem::Expected { expected: expected.into(), found })
    }

    fn error(&self, column: usize, problem: AsmProblem) -> AsmError {
        AsmError { line: self.number, column, problem }
    }
}
