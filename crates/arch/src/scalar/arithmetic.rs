//! The instructions of the M extension and of RVFHE that need more than one Rust operator.

/// High half of a product of signed numbers.
pub(super) fn mulh(x: u64, y: u64) -> u64 {
    ((i128::from(x as i64) * i128::from(y as i64)) >> 64) as u64
}

/// High half of a product of a signed and an unsigned number.
pub(super) fn mulhsu(x: u64, y: u64) -> u64 {
    ((i128::from(x as i64) * i128::from(y)) >> 64) as u64
}

/// High half of a product of unsigned numbers.
pub(super) fn mulhu(x: u64, y: u64) -> u64 {
    ((u128::from(x) * u128::from(y)) >> 64) as u64
}

/// Division by zero gives all ones; the one overflow gives the dividend.
pub(super) fn div(x: u64, y: u64) -> u64 {
    if y == 0 { u64::MAX } else { (x as i64).wrapping_div(y as i64) as u64 }
}

/// Division by zero gives all ones.
pub(super) fn divu(x: u64, y: u64) -> u64 {
    x.checked_div(y).unwrap_or(u64::MAX)
}

/// Division by zero gives the dividend; the one overflow gives 0.
pub(super) fn rem(x: u64, y: u64) -> u64 {
    if y == 0 { x } else { (x as i64).wrapping_rem(y as i64) as u64 }
}

/// Division by zero gives the dividend.
pub(super) fn remu(x: u64, y: u64) -> u64 {
    x.checked_rem(y).unwrap_or(x)
}

/// A 32-bit result, sign-extended to a register.
pub(super) fn word(x: u32) -> u64 {
    i64::from(x as i32) as u64
}

pub(super) fn divw(x: u32, y: u32) -> u64 {
    word(if y == 0 { u32::MAX } else { (x as i32).wrapping_div(y as i32) as u32 })
}

pub(super) fn divuw(x: u32, y: u32) -> u64 {
    word(x.checked_div(y).unwrap_or(u32::MAX))
}

pub(super) fn remw(x: u32, y: u32) -> u64 {
    word(if y == 0 { x } else { (x as i32).wrapping_rem(y as i32) as u32 })
}

pub(super) fn remuw(x: u32, y: u32) -> u64 {
    word(x.checked_rem(y).unwrap_or(x))
}

/// The modular adder: x + y, minus m if the sum is not below m. For x, y < m the result is x + y mod m.
pub(super) fn madd(x: u32, y: u32, m: u32) -> u64 {
    let sum = u64::from(x) + u64::from(y);
    word((if sum >= u64::from(m) { sum.wrapping_sub(m.into()) } else { sum }) as u32)
}

/// The modular subtractor: x - y, plus m if the difference is negative. For x, y < m the result is x - y mod m.
pub(super) fn msub(x: u32, y: u32, m: u32) -> u64 {
    let difference = x.wrapping_sub(y);
    word(if x < y { difference.wrapping_add(m) } else { difference })
}

/// The modular multiplier. `pair` has a factor w below m in its low half and floor(w * 2^32 / m) in its high half. For
/// any word y the result is y * w mod m: the estimate of the quotient is at most one too small (Shoup), so one
/// subtraction corrects it.
pub(super) fn mmul(y: u32, pair: u64, m: u32) -> u64 {
    let (factor, companion) = (pair as u32, (pair >> 32) as u32);
    let quotient = ((u64::from(y) * u64::from(companion)) >> 32) as u32;
    let remainder = y.wrapping_mul(factor).wrapping_sub(quotient.wrapping_mul(m));
    word(if remainder >= m { remainder - m } else { remainder })
}
