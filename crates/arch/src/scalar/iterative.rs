//! The durations of the iterative multiplier and divider: the steps of Rocket Chip's `MulDiv` for given operands.

use super::instruction::Op;
use super::machine::{Divider, Multiplier};

/// Steps of a multiplication with first operand `x`, of which each step takes `bits_per_cycle` bits from the low end.
pub(super) fn multiply_steps(unit: &Multiplier, op: Op, x: u64) -> u32 {
    let bits = unit.bits_per_cycle;
    // 32-bit words need half as many steps.
    let (width, x) = if op == Op::Mulw { (32, u64::from(x as u32)) } else { (64, x) };
    let all = u32::max(width / bits, 1);
    if !unit.early_out || !matches!(op, Op::Mul | Op::Mulw) {
        return all;
    }
    // The unit detects at the beginning of a step that the rest is zero; in a full-width multiplication not in the
    // first step.
    let significant = (64 - x.leading_zeros()).div_ceil(bits);
    let least = if op == Op::Mulw { 1 } else { 2 };
    (significant + 1).max(least).min(all)
}

/// Steps of a division: one for each bit of the quotient, one more, and one for each change of sign.
pub(super) fn divide_steps(unit: &Divider, op: Op, x: u64, y: u64) -> u32 {
    let signed = matches!(op, Op::Div | Op::Rem | Op::Divw | Op::Remw);
    let remainder = matches!(op, Op::Rem | Op::Remu | Op::Remw | Op::Remuw);
    let half = matches!(op, Op::Divw | Op::Divuw | Op::Remw | Op::Remuw);
    let widen = |v: u64| match (half, signed) {
        (false, _) => v,
        (true, true) => i64::from(v as i32) as u64,
        (true, false) => u64::from(v as u32),
    };
    let (x, y) = (widen(x), widen(y));
    let negative = |v: u64| signed && (v as i64) < 0;
    let magnitude = |v: u64| if negative(v) { v.wrapping_neg() } else { v };
    let mut steps = 65;
    if unit.early_out && y != 0 {
        // The positions of the leading ones are subtracted modulo 64. A divisor longer than the dividend therefore
        // looks like a very long quotient.
        let top = |v: u64| 63 - (v | 1).leading_zeros();
        let skipped = 63 - (top(magnitude(x)).wrapping_sub(top(magnitude(y))) & 63);
        if skipped >= 1 {
            // One step for the detection, and the remaining steps.
            steps = 1 + 65 - skipped;
        }
    }
    steps += u32::from(negative(x) || negative(y));
    let negative_result = if remainder { negative(x) } else { negative(x) != negative(y) && y != 0 };
    steps + u32::from(negative_result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROCKET: Multiplier = Multiplier { bits_per_cycle: 8, early_out: true, request_to_use: 2 };

    /// `MulDiv`'s loop, state by state, for the multiplier.
    fn multiply_by_states(bits: u32, early_out: bool, op: Op, x: u64) -> u32 {
        let last = 64 / bits - 1;
        let half = op == Op::Mulw && 32 > bits;
        let mut rest = if op == Op::Mulw { u64::from(x as u32) } else { x };
        let mut count = if half { 64 / bits / 2 } else { 0 };
        let mut steps = 0;
        loop {
            steps += 1;
            let high = !matches!(op, Op::Mul | Op::Mulw);
            if count == last || (early_out && count != 0 && !high && rest == 0) {
                return steps;
            }
            rest >>= bits;
            count += 1;
        }
    }

    #[test]
    fn multiplications_take_the_steps_of_the_state_machine() {
        let mut interesting: Vec<u64> = (0..64).flat_map(|i| [1 << i, (1 << i) - 1, u64::MAX << i]).collect();
        interesting.push(u64::MAX);
        for bits in [1, 2, 4, 8, 16] {
            for early_out in [false, true] {
                let unit = Multiplier { bits_per_cycle: bits, early_out, request_to_use: 2 };
                for &x in &interesting {
                    for op in [Op::Mul, Op::Mulh, Op::Mulhsu, Op::Mulhu, Op::Mulw] {
                        let by_states = multiply_by_states(bits, early_out, op, x);
                        assert_eq!(multiply_steps(&unit, op, x), by_states, "{op:?} of {x:#x}, {bits} bits");
                    }
                }
            }
        }
    }

    #[test]
    fn known_latencies_of_multiplications() {
        // 8 steps for 64 bits, 4 for 32, and two additional ones.
        assert_eq!(multiply_steps(&ROCKET, Op::Mul, u64::MAX), 8);
        assert_eq!(multiply_steps(&ROCKET, Op::Mulhu, 1), 8);
        assert_eq!(multiply_steps(&ROCKET, Op::Mul, 0x7fff_ffff), 5);
        assert_eq!(multiply_steps(&ROCKET, Op::Mul, 1), 2);
        assert_eq!(multiply_steps(&ROCKET, Op::Mulw, 0x7fff_ffff), 4);
        assert_eq!(multiply_steps(&ROCKET, Op::Mulw, 0), 1);
    }

    /// `MulDiv`'s loop, state by state, for unsigned division: steps and quotient.
    fn divide_by_states(early_out: bool, x: u64, y: u64) -> (u32, u64) {
        let log2 = |v: u64| 63 - (v | 1).leading_zeros();
        let (mut high, mut low, mut count, mut steps) = (0u128, x, 0u32, 0u32);
        loop {
            steps += 1;
            let skip = !(log2(x).wrapping_sub(log2(y))) & 63;
            if early_out && count == 0 && y != 0 && skip >= 1 {
                let shifted = u128::from(x) << skip;
                (high, low, count) = (shifted >> 64, shifted as u64, skip);
                continue;
            }
            let less = high < u128::from(y);
            let kept = if less { high } else { high - u128::from(y) };
            (high, low) = (kept << 1 | u128::from(low >> 63), low << 1 | u64::from(!less));
            if count == 64 {
                return (steps, low);
            }
            count += 1;
        }
    }

    #[test]
    fn divisions_take_the_steps_of_the_state_machine() {
        let values: Vec<u64> = (0..64).flat_map(|i| [1 << i, (1u64 << i) | 0x15]).chain([0, 7, u64::MAX]).collect();
        for &x in &values {
            for &y in &values {
                for early_out in [false, true] {
                    let (steps, quotient) = divide_by_states(early_out, x, y);
                    assert_eq!(divide_steps(&Divider { early_out }, Op::Divu, x, y), steps, "{x:#x} / {y:#x}");
                    assert_eq!(quotient, x.checked_div(y).unwrap_or(u64::MAX), "{x:#x} / {y:#x}");
                }
            }
        }
    }

    #[test]
    fn known_latencies_of_divisions() {
        let plain = Divider { early_out: false };
        let early = Divider { early_out: true };
        for op in [Op::Divu, Op::Remu, Op::Divuw, Op::Remuw] {
            assert_eq!(divide_steps(&plain, op, 100, 7), 65);
        }
        // Quotients of 1 and of 31 bits; a divisor one bit longer than the dividend.
        assert_eq!(divide_steps(&early, Op::Remu, 5, 4), 3);
        assert_eq!(divide_steps(&early, Op::Remu, 1 << 61, 1 << 30), 34);
        assert_eq!(divide_steps(&early, Op::Remu, 4, 8), 65);
        assert_eq!(divide_steps(&early, Op::Remu, 1, 0), 65);
        // Signs: inputs, output.
        let minus = |x: u64| x.wrapping_neg();
        assert_eq!(divide_steps(&plain, Op::Div, minus(7), 2), 67);
        assert_eq!(divide_steps(&plain, Op::Div, minus(7), minus(2)), 66);
        assert_eq!(divide_steps(&plain, Op::Rem, 7, minus(2)), 66);
        assert_eq!(divide_steps(&plain, Op::Rem, minus(7), minus(2)), 67);
        assert_eq!(divide_steps(&plain, Op::Divw, 0xffff_fff9, 2), 67);
        assert_eq!(divide_steps(&plain, Op::Div, minus(7), 0), 66);
    }
}
