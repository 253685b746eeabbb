//! The arithmetic of values with their types, in which no result wraps around.

use crate::ast::{BinaryOp, Type, UnaryOp};
use crate::diagnostic::{Place, Problem, Result};

/// Refuses a value outside of the range of a type.
pub(crate) fn fitting(value: i128, of: Type, place: Place) -> Result<()> {
    not_negative(value, place)?;
    if value > of.range().1 {
        return Err(Problem::new(place, format!("{value} is beyond {of}"), "use a wider type, or a mask"));
    }
    Ok(())
}

impl Type {
    /// The complement of 0 in a promoted type: its greatest value, or −1. A complement of 128 bits has a value of 128 bits,
    /// which is refused.
    pub(crate) fn all_ones(self, place: Place) -> Result<i128> {
        match self.bits {
            128 => Err(Problem::new(
                place,
                "`~` of 128 bits, but values have at most 127 bits",
                "use `^` with the bits to invert, or `~` of a narrower type",
            )),
            _ if self.signed => Ok(-1),
            _ => Ok(self.range().1),
        }
    }
}

pub(crate) fn not_negative(value: i128, place: Place) -> Result<()> {
    if value < 0 {
        return Err(Problem::new(place, format!("{value} is below zero"), "subtract from a number that is not less"));
    }
    Ok(())
}

pub(crate) fn unary(op: UnaryOp, (value, of): (i128, Type), place: Place) -> Result<(i128, Type)> {
    Ok(match op {
        UnaryOp::Plus => (value, of.promoted()),
        UnaryOp::LogicalNot => (i128::from(value == 0), Type::INT),
        UnaryOp::Not => {
            let of = of.promoted();
            (of.all_ones(place)? - value, of)
        }
    })
}

/// The value and the type of an operation.
pub(crate) fn binary(
    op: BinaryOp,
    (a, of_a): (i128, Type),
    (b, of_b): (i128, Type),
    place: Place,
) -> Result<(i128, Type)> {
    let of = of_a.common(of_b);
    let beyond = || Problem::new(place, format!("a result beyond {of}"), "first convert an operand to a wider type");
    let zero = || Problem::new(place, "a division by zero", "divide by a constant above zero");
    let condition = |holds: bool| Ok((i128::from(holds), Type::INT));
    let shift = || {
        let most = of_a.promoted().bits;
        let amount = u32::try_from(b).ok().filter(|amount| *amount < most.min(127));
        amount.ok_or_else(|| Problem::new(place, format!("a shift by {b} of {most} bits"), "shift by less"))
    };
    // C would convert a number below zero to a large one.
    if op.is_comparison() && !of.signed {
        not_negative(a, place)?;
        not_negative(b, place)?;
    }
    let (value, of) = match op {
        BinaryOp::Add => (a.checked_add(b).ok_or_else(beyond)?, of),
        BinaryOp::Sub => (a.checked_sub(b).ok_or_else(beyond)?, of),
        BinaryOp::Mul => (a.checked_mul(b).ok_or_else(beyond)?, of),
        BinaryOp::Div | BinaryOp::Rem => {
            not_negative(a, place)?;
            not_negative(b, place)?;
            let result = if op == BinaryOp::Div { a.checked_div(b) } else { a.checked_rem(b) };
            (result.ok_or_else(zero)?, of)
        }
        BinaryOp::Shl => {
            not_negative(a, place)?;
            (a.checked_mul(1i128 << shift()?).ok_or_else(beyond)?, of_a.promoted())
        }
        BinaryOp::Shr => {
            not_negative(a, place)?;
            (a >> shift()?, of_a.promoted())
        }
        BinaryOp::And => (a & b, of),
        BinaryOp::Or => (a | b, of),
        BinaryOp::Xor => (a ^ b, of),
        BinaryOp::Lt => return condition(a < b),
        BinaryOp::Le => return condition(a <= b),
        BinaryOp::Gt => return condition(a > b),
        BinaryOp::Ge => return condition(a >= b),
        BinaryOp::Eq => return condition(a == b),
        BinaryOp::Ne => return condition(a != b),
        BinaryOp::LogicalAnd => return condition(a != 0 && b != 0),
        BinaryOp::LogicalOr => return condition(a != 0 || b != 0),
    };
    // A complement of a promoted type is below zero until a mask is applied.
    let least = if of.signed { of.range().0 } else { 0 };
    if value < least && value < 0 {
        return Err(Problem::new(place, format!("{value} is below zero"), "subtract from a number that is not less"));
    }
    if value > of.range().1 {
        return Err(beyond());
    }
    Ok((value, of))
}
