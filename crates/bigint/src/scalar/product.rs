//! Products, squares and Montgomery reductions of whole numbers, from rows of limbs.

use std::hint::black_box;

use super::Rows;

/// Words of scratch of each function here, for operands of `limbs` limbs.
pub(super) const fn scratch_words(limbs: usize) -> usize {
    // A split multiplication takes 2·limbs and recurses to half; a split reduction takes a product of `limbs` more.
    4 * limbs
}

/// out = a·b, where `out` has as many limbs as both together, which need not have equally many.
pub(super) fn multiply<R: Rows>(rows: R, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
    debug_assert_eq!(out.len(), a.len() + b.len());
    if a.len() != b.len() || a.len() < R::SPLIT_MULTIPLY || !a.len().is_multiple_of(2) {
        return multiply_by_rows(rows, out, a, b);
    }
    let half = a.len() / 2;
    let ((a0, a1), (b0, b1)) = (a.split_at(half), b.split_at(half));
    let (differences, rest) = scratch.split_at_mut(2 * half);
    let (middle, rest) = rest.split_at_mut(2 * half);
    // a₀b₁ + a₁b₀ = a₀b₀ + a₁b₁ − (a₁ − a₀)(b₁ − b₀) (Karatsuba).
    let (a_difference, b_difference) = differences.split_at_mut(half);
    let a_negative = distance(rows, a_difference, a1, a0);
    let b_negative = distance(rows, b_difference, b1, b0);
    multiply(rows, middle, a_difference, b_difference, rest);
    multiply(rows, &mut out[..2 * half], a0, b0, rest);
    multiply(rows, &mut out[2 * half..], a1, b1, rest);
    join(rows, out, middle, a_negative ^ b_negative, differences);
}

/// out = a², where `out` has twice as many limbs.
pub(super) fn square<R: Rows>(rows: R, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
    debug_assert_eq!(out.len(), 2 * a.len());
    if a.len() < R::SPLIT_SQUARE || !a.len().is_multiple_of(2) {
        return square_by_rows(rows, out, a);
    }
    let half = a.len() / 2;
    let (a0, a1) = a.split_at(half);
    let (outer, rest) = scratch.split_at_mut(2 * half);
    let (middle, rest) = rest.split_at_mut(2 * half);
    distance(rows, &mut outer[..half], a1, a0);
    square(rows, middle, &outer[..half], rest);
    square(rows, &mut out[..2 * half], a0, rest);
    square(rows, &mut out[2 * half..], a1, rest);
    join(rows, out, middle, 0, outer);
}

fn multiply_by_rows<R: Rows>(rows: R, out: &mut [u64], a: &[u64], b: &[u64]) {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let Some((&first, others)) = short.split_first() else { return out.fill(0) };
    let n = long.len();
    out[n] = rows.multiply(&mut out[..n], first, long);
    for (i, &x) in others.iter().enumerate() {
        out[i + 1 + n] = rows.multiply_add(&mut out[i + 1..i + 1 + n], x, long);
    }
}

fn square_by_rows<R: Rows>(rows: R, out: &mut [u64], a: &[u64]) {
    let n = a.len();
    let Some((&first, others)) = a.split_first() else { return };
    out[0] = 0;
    out[2 * n - 1] = 0;
    if n > 1 {
        // The products aᵢ·aⱼ with i < j.
        out[n] = rows.multiply(&mut out[1..n], first, others);
        for i in 1..n - 1 {
            out[n + i] = rows.multiply_add(&mut out[2 * i + 1..n + i], a[i], &a[i + 1..]);
        }
    }
    rows.double_add_squares(out, a);
}

/// out = |a − b|; 1 if a < b.
fn distance<R: Rows>(rows: R, out: &mut [u64], a: &[u64], b: &[u64]) -> u64 {
    let negative = rows.subtract(out, a, b);
    // Hidden from the compiler, that it may not make two loops of this one, and a branch.
    let mask = black_box(negative.wrapping_neg());
    // −x = !x + 1.
    let mut carry = negative;
    for word in out {
        let (value, c) = (*word ^ mask).overflowing_add(carry);
        *word = value;
        carry = c.into();
    }
    negative
}

/// Adds low + high − middle (+ if `negative` is 1) to the middle half of `out`, low and high being its halves. Overwrites
/// `outer`, of as many limbs as `middle`.
fn join<R: Rows>(rows: R, out: &mut [u64], middle: &mut [u64], negative: u64, outer: &mut [u64]) {
    let n = middle.len();
    outer.copy_from_slice(&out[..n]);
    let mut top = rows.add(outer, &out[n..], 0);
    // −x = !x + 1 − 2^(64·n).
    let positive = negative ^ 1;
    let mask = black_box(positive.wrapping_neg());
    for word in middle.iter_mut() {
        *word ^= mask;
    }
    top += rows.add(outer, middle, positive);
    top -= positive;
    top += rows.add(&mut out[n / 2..n / 2 + n], outer, 0);
    carry_on(&mut out[n / 2 + n..], top);
}

fn carry_on(words: &mut [u64], mut carry: u64) {
    for word in words {
        let (sum, c) = word.overflowing_add(carry);
        *word = sum;
        carry = c.into();
    }
}

/// Adds q·n to t, of twice n's limbs, so that its lower half becomes 0: its upper half, with the carry that is returned, is
/// (t + q·n)/R. The quotient q replaces the lower half. `negated_inverse` is −n^-1 mod 2^64.
pub(super) fn reduce<R: Rows>(rows: R, t: &mut [u64], n: &[u64], negated_inverse: u64, scratch: &mut [u64]) -> u64 {
    debug_assert_eq!(t.len(), 2 * n.len());
    let s = n.len();
    if s < R::SPLIT_REDUCE || !s.is_multiple_of(2) {
        let mut carry = 0;
        for i in 0..s {
            let q = t[i].wrapping_mul(negated_inverse);
            let high = rows.multiply_add(&mut t[i..i + s], q, n);
            // At most 2^64 − 1 plus two carries at the place of one word: the carry stays 0 or 1.
            let (sum, c1) = t[i + s].overflowing_add(high);
            let (sum, c2) = sum.overflowing_add(carry);
            t[i + s] = sum;
            carry = u64::from(c1 | c2);
            t[i] = q;
        }
        return carry;
    }
    // Each half of the quotient is found against the lower half of n, and then multiplied with the upper one as a whole.
    let half = s / 2;
    let (n0, n1) = n.split_at(half);
    let (product, rest) = scratch.split_at_mut(s);
    let first = reduce(rows, &mut t[..s], n0, negated_inverse, rest);
    multiply(rows, product, &t[..half], n1, rest);
    let sum = add_above(rows, &mut t[half..s + half], product, first);
    let second = reduce(rows, &mut t[half..s + half], n0, negated_inverse, rest);
    multiply(rows, product, &t[half..s], n1, rest);
    // Both at the limb s + half.
    add_above(rows, &mut t[s..], product, sum + second)
}

/// acc += addend + carry·2^(64·half) for a carry of at most 2; the carry out.
fn add_above<R: Rows>(rows: R, acc: &mut [u64], addend: &[u64], carry: u64) -> u64 {
    let half = acc.len() / 2;
    let (low, high) = acc.split_at_mut(half);
    let below = rows.add(low, &addend[..half], 0);
    let mut out = rows.add(high, &addend[half..], below);
    let mut carry = carry;
    for word in high {
        let (sum, c) = word.overflowing_add(carry);
        *word = sum;
        carry = c.into();
    }
    out += carry;
    out
}
