//! The abstract syntax of a source, with macros expanded and conditional parts chosen.

use crate::diagnostic::Place;
use crate::pragma::Pragma;

/// An integer type of C. Variables are unsigned. `int` is the type of constants and of promoted values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type {
    /// Its bits: 1 for `bool`, 8, 16, 32, 64 or 128.
    pub bits: u32,
    /// Whether it has values below zero.
    pub signed: bool,
}

impl Type {
    /// `int`, of 32 bits.
    pub const INT: Self = Self { bits: 32, signed: true };

    /// An unsigned type.
    #[must_use]
    pub const fn unsigned(bits: u32) -> Self {
        Self { bits, signed: false }
    }

    /// The type in which C computes with a value of this one.
    #[must_use]
    pub fn promoted(self) -> Self {
        if self.bits < 32 { Self::INT } else { self }
    }

    /// The type of an operation on values of two types.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        let (a, b) = (self.promoted(), other.promoted());
        let bits = a.bits.max(b.bits);
        let widest_is_signed = |x: Self| x.bits < bits || x.signed;
        Self { bits, signed: widest_is_signed(a) && widest_is_signed(b) }
    }

    /// The least and the greatest value. Types of 128 bits are limited to values of 127 bits.
    #[must_use]
    pub fn range(self) -> (i128, i128) {
        let most = if self.bits == 128 { i128::MAX } else { (1i128 << (self.bits - u32::from(self.signed))) - 1 };
        (if self.signed { -most - 1 } else { 0 }, most)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.bits, self.signed) {
            (1, false) => f.write_str("bool"),
            (32, true) => f.write_str("int"),
            (128, false) => f.write_str("unsigned __int128"),
            (bits, false) => write!(f, "uint{bits}_t"),
            (bits, true) => write!(f, "int{bits}_t"),
        }
    }
}

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
}

impl BinaryOp {
    /// Whether it compares two numbers.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne)
    }

    /// Whether its result is 0 or 1, an `int`.
    #[must_use]
    pub fn is_condition(self) -> bool {
        self.is_comparison() || matches!(self, Self::LogicalAnd | Self::LogicalOr)
    }
}

/// An operator of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `~`
    Not,
    /// `!`
    LogicalNot,
    /// `+`
    Plus,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Where it is.
    pub place: Place,
    /// Its kind, with its operands.
    pub kind: ExprKind,
}

impl Expr {
    /// Visits this expression and all of its parts.
    pub(crate) fn visit(&self, visitor: &mut impl FnMut(&Self)) {
        visitor(self);
        match &self.kind {
            ExprKind::Number(..) | ExprKind::Name(_) => {}
            ExprKind::Element(_, inner) | ExprKind::Call(_, inner) => inner.iter().for_each(|one| one.visit(visitor)),
            ExprKind::Unary(_, inner) | ExprKind::Cast(_, inner) => inner.visit(visitor),
            ExprKind::Binary(_, left, right) => [left, right].into_iter().for_each(|one| one.visit(visitor)),
            ExprKind::Select(condition, yes, no) => {
                [condition, yes, no].into_iter().for_each(|one| one.visit(visitor));
            }
        }
    }

    /// Calls a function with each name of a variable or an array.
    pub(crate) fn for_each_name(&self, note: &mut (impl FnMut(&str) + ?Sized)) {
        self.visit(&mut |one| {
            if let ExprKind::Name(name) | ExprKind::Element(name, _) = &one.kind {
                note(name);
            }
        });
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant, and its type.
    Number(u128, Type),
    /// A variable.
    Name(String),
    /// An element of an array.
    Element(String, Vec<Expr>),
    /// An operation on one value.
    Unary(UnaryOp, Box<Expr>),
    /// An operation on two values.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? yes : no`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A conversion to a type.
    Cast(Type, Box<Expr>),
    /// A call of a function.
    Call(String, Vec<Expr>),
}

/// The initial value of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// A value.
    Value(Expr),
    /// The elements of an array.
    Elements(Vec<Initial>, Place),
}

impl Initial {
    /// Calls a function with each expression, which is a value or an element.
    pub(crate) fn for_each(&self, note: &mut impl FnMut(&Expr)) {
        match self {
            Self::Value(value) => note(value),
            Self::Elements(listed, _) => listed.iter().for_each(|one| one.for_each(note)),
        }
    }

    /// Calls a function with each name of a variable or an array.
    pub(crate) fn for_each_name(&self, note: &mut (impl FnMut(&str) + ?Sized)) {
        self.for_each(&mut |one| one.for_each_name(note));
    }
}

/// A variable or an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Where its name is.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// The type of its value or its elements.
    pub of: Type,
    /// The lengths of its dimensions; empty for a variable.
    pub lengths: Vec<Expr>,
    /// Whether it is `const`.
    pub constant: bool,
    /// Whether it is `static`.
    pub fixed: bool,
    /// Its initial value.
    pub initial: Option<Initial>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Where it is.
    pub place: Place,
    /// Its kind, with its parts.
    pub kind: StmtKind,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Declarations.
    Declare(Vec<Declaration>),
    /// `target = value`, or a compound assignment such as `+=`. The target is a variable or an element.
    Assign(Expr, Option<BinaryOp>, Expr),
    /// `if (condition) yes else no`
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    /// A `for` loop.
    For(Box<For>),
    /// Statements in braces.
    Block(Vec<Stmt>),
    /// A call whose result is not used.
    Call(String, Vec<Expr>),
    /// `assert(condition)`
    Assert(Expr),
    /// `return value`
    Return(Option<Expr>),
    /// A pragma.
    Pragma(Pragma),
}

/// `for (type variable = first; variable op bound; variable += step) body`
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// Its label.
    pub label: Option<String>,
    /// Its variable.
    pub variable: String,
    /// The variable's type.
    pub of: Type,
    /// The first value.
    pub first: Expr,
    /// How the variable is compared with the bound: `<`, `<=`, `>`, `>=` or `!=`.
    pub compare: BinaryOp,
    /// The bound.
    pub bound: Expr,
    /// The value that each iteration adds or subtracts.
    pub step: Expr,
    /// Whether the step is subtracted.
    pub down: bool,
    /// The body.
    pub body: Stmt,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Where its name is.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// The type of its result; `None` if it is `void`.
    pub result: Option<Type>,
    /// Its parameters.
    pub parameters: Vec<Declaration>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Whether it is `static`. A `static` function is not compiled by itself.
    pub internal: bool,
}

/// A source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// Constants outside of functions.
    pub constants: Vec<Declaration>,
    /// The functions, in their order.
    pub functions: Vec<Function>,
}
