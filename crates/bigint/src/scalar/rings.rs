//! The rings modulo N and modulo n², on rows of limbs.

use std::hint::black_box;

use zeroize::Zeroize;

use super::{Rows as LimbRows, product};
use crate::kernel::{Kernel, Rows, SquareKernel};
use crate::one_lane::one_lane;
use crate::{MAX_ENTRY_RATIO, constants, limbs};

/// Arithmetic modulo n with R = 2^(64·limbs).
struct Reduction<R> {
    rows: R,
    n: Vec<u64>,
    /// −n^-1 mod 2^64.
    negated_inverse: u64,
}

impl<R: LimbRows> Reduction<R> {
    fn new(rows: R, n: &[u64]) -> Self {
        Self { rows, n: n.to_vec(), negated_inverse: limbs::negated_inverse(n[0]) }
    }

    fn limbs(&self) -> usize {
        self.n.len()
    }

    /// Adds q·n to t, of 2s limbs, so that its lower half becomes 0: the upper half and the carry are (t + q·n)/R. The
    /// quotient replaces the lower half.
    fn reduce(&self, t: &mut [u64], scratch: &mut [u64]) -> u64 {
        product::reduce(self.rows, t, &self.n, self.negated_inverse, scratch)
    }

    /// (t + q·n)/R below n, where it is below 2n; 1 if n had to be subtracted. The lower limbs of t become q.
    fn reduce_below(&self, out: &mut [u64], t: &mut [u64], scratch: &mut [u64]) -> u64 {
        let carry = self.reduce(t, scratch);
        subtract_once(self.rows, out, &t[self.limbs()..], carry, &self.n)
    }

    /// a·b/R mod n, for a·b < R·n. `scratch` has 6s words.
    fn multiply_below(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let (t, scratch) = scratch.split_at_mut(2 * self.limbs());
        let len = a.len() + b.len();
        product::multiply(self.rows, &mut t[..len], a, b, scratch);
        t[len..].fill(0);
        self.reduce_below(out, t, scratch);
    }

    /// a²/R mod n, for a < n. `scratch` has 6s words.
    fn square_below(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let (t, scratch) = scratch.split_at_mut(2 * self.limbs());
        product::square(self.rows, t, a, scratch);
        self.reduce_below(out, t, scratch);
    }

    /// out = out + addend mod n, both below it; 1 if n was subtracted.
    fn add_below(&self, out: &mut [u64], addend: &[u64], scratch: &mut [u64]) -> u64 {
        let sum = &mut scratch[..self.limbs()];
        sum.copy_from_slice(out);
        let carry = self.rows.add(sum, addend, 0);
        subtract_once(self.rows, out, sum, carry, &self.n)
    }
}

impl<R> Drop for Reduction<R> {
    fn drop(&mut self) {
        self.n.zeroize();
        self.negated_inverse.zeroize();
    }
}

/// out = x − m, for x = `low` + carry·2^(64·len), if that is not negative, else x; 1 if m was subtracted. x is below 2^(64·len) + m.
fn subtract_once<R: LimbRows>(rows: R, out: &mut [u64], low: &[u64], carry: u64, m: &[u64]) -> u64 {
    let borrow = rows.subtract(out, low, m);
    let below = borrow & (carry ^ 1);
    // Hidden from the compiler, that it may not make two loops of this one, and a branch.
    let mask = black_box(below.wrapping_neg());
    for (out, &word) in out.iter_mut().zip(low) {
        *out ^= (*out ^ word) & mask;
    }
    below ^ 1
}

/// Modulo N.
pub(crate) struct Plain<R> {
    reduction: Reduction<R>,
    one: Vec<u64>,
    /// R^2, R^3, … mod N: what turns the parts of a wide value to Montgomery form.
    entry: Vec<Vec<u64>>,
}

impl<R: LimbRows> Plain<R> {
    pub(crate) fn new(rows: R, n: &[u64]) -> Self {
        let bits = n.len() as u32 * limbs::LIMB_BITS;
        let mut powers = constants::radix_powers(n, bits, MAX_ENTRY_RATIO + 1).into_iter().map(|power| power.to_vec());
        let one = powers.next().expect("the first power");
        Self { reduction: Reduction::new(rows, n), one, entry: powers.collect() }
    }
}

impl<R> Drop for Plain<R> {
    fn drop(&mut self) {
        self.one.zeroize();
        self.entry.zeroize();
    }
}

impl<R: LimbRows> Kernel for Plain<R> {
    one_lane!();

    fn group_words(&self) -> usize {
        self.reduction.limbs()
    }

    fn scratch_words(&self) -> usize {
        3 * self.reduction.limbs() + product::scratch_words(self.reduction.limbs())
    }

    fn value_limbs(&self) -> usize {
        self.reduction.limbs()
    }

    fn one(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.one);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        self.reduction.multiply_below(out, a, b, scratch);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        self.reduction.square_below(out, a, scratch);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.limbs();
        let (part, scratch) = scratch.split_at_mut(s);
        out.fill(0);
        for (words, power) in rows.words.chunks(s).zip(&self.entry) {
            self.reduction.multiply_below(part, words, power, scratch);
            self.reduction.add_below(out, part, scratch);
        }
    }

    fn leave(&self, low: &mut [u64], _high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        self.reduction.multiply_below(low, group, &[1], scratch);
    }
}

/// Modulo n² through n; see the documentation of the module.
pub(crate) struct Square<R> {
    reduction: Reduction<R>,
    /// 2n, s + 1 limbs.
    double: Vec<u64>,
    /// The least multiple of n from R on, s + 1 limbs: added before a quotient is subtracted.
    offset: Vec<u64>,
    one: (Vec<u64>, Vec<u64>),
    /// R^2 mod n.
    radix_squared: Vec<u64>,
    /// R^2, R^3, … mod n².
    entry: Vec<(Vec<u64>, Vec<u64>)>,
}

impl<R: LimbRows> Square<R> {
    pub(crate) fn new(rows: R, n: &[u64]) -> Self {
        let s = n.len();
        let bits = s as u32 * limbs::LIMB_BITS;
        let mut powers = constants::radix_powers(&constants::square(n), bits, MAX_ENTRY_RATIO + 1)
            .into_iter()
            .map(|power| constants::split(&power, n))
            .map(|(low, high)| (low.to_vec(), high.to_vec()));
        let one = powers.next().expect("the first power");
        let entry: Vec<_> = powers.collect();
        // R + (n − R mod n), where R mod n is not 0 as n is odd.
        let mut offset = constants::extended(n, &[1]);
        limbs::sub_assign(&mut offset[..s], &one.0);
        let mut double = constants::extended(n, &[0]);
        limbs::add_assign(&mut double, n);
        Self { reduction: Reduction::new(rows, n), double, offset, radix_squared: entry[0].0.clone(), one, entry }
    }

    /// (z₀, z₁) from t = x₀·y₀, of 2s limbs, and u = x₀·y₁ + x₁·y₀, of 2s + 1.
    fn finish(&self, low: &mut [u64], high: &mut [u64], t: &mut [u64], u: &mut [u64], scratch: &mut [u64]) {
        let (s, rows) = (self.reduction.limbs(), self.reduction.rows);
        let above = self.reduction.reduce_below(low, t, scratch);
        // u + offset + (R if n was subtracted) − q: the offset is R at least, and q is below it.
        let carry = rows.add(&mut u[..s], &self.offset[..s], 0);
        let difference = &mut scratch[..s];
        let borrow = rows.subtract(difference, &u[..s], &t[..s]);
        u[..s].copy_from_slice(difference);
        limbs::add_assign(&mut u[s..], &[carry + 1 + above - borrow]);
        u[2 * s] += self.reduction.reduce(&mut u[..2 * s], scratch);
        // Below 4n: u was below 2n² + 2R + n, with q'·n < R·n it is below 3n + 3 over R. The first step is for 2n.
        let part = &mut scratch[..s + 1];
        subtract_once(rows, part, &u[s..], 0, &self.double);
        subtract_once(rows, high, &part[..s], part[s], &self.reduction.n);
    }

    /// `scratch` has 10s + 1 words.
    fn multiply_pairs(
        &self,
        (low, high): (&mut [u64], &mut [u64]),
        (x0, x1): (&[u64], &[u64]),
        (y0, y1): (&[u64], &[u64]),
        scratch: &mut [u64],
    ) {
        let (s, rows) = (self.reduction.limbs(), self.reduction.rows);
        let (t, scratch) = scratch.split_at_mut(2 * s);
        let (u, scratch) = scratch.split_at_mut(2 * s + 1);
        // Operands may be shorter than n: plain values on their way in, and 1 on the way out.
        let product = |out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]| {
            let len = a.len() + b.len();
            product::multiply(rows, &mut out[..len], a, b, scratch);
            out[len..].fill(0);
        };
        product(u, x0, y1, scratch);
        product(t, x1, y0, scratch);
        u[2 * s] = rows.add(&mut u[..2 * s], t, 0);
        product(t, x0, y0, scratch);
        self.finish(low, high, t, u, scratch);
    }
}

impl<R> Drop for Square<R> {
    fn drop(&mut self) {
        self.double.zeroize();
        self.offset.zeroize();
        self.one.0.zeroize();
        self.one.1.zeroize();
        self.radix_squared.zeroize();
        for (low, high) in &mut self.entry {
            low.zeroize();
            high.zeroize();
        }
    }
}

impl<R: LimbRows> Kernel for Square<R> {
    one_lane!();

    fn group_words(&self) -> usize {
        2 * self.reduction.limbs()
    }

    fn scratch_words(&self) -> usize {
        6 * self.reduction.limbs() + 1 + product::scratch_words(self.reduction.limbs())
    }

    fn value_limbs(&self) -> usize {
        self.reduction.limbs()
    }

    fn one(&self, out: &mut [u64]) {
        let (low, high) = out.split_at_mut(self.reduction.limbs());
        low.copy_from_slice(&self.one.0);
        high.copy_from_slice(&self.one.1);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let s = self.reduction.limbs();
        self.multiply_pairs(out.split_at_mut(s), a.split_at(s), b.split_at(s), scratch);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let (s, rows) = (self.reduction.limbs(), self.reduction.rows);
        let ((low, high), (a0, a1)) = (out.split_at_mut(s), a.split_at(s));
        let (t, scratch) = scratch.split_at_mut(2 * s);
        let (u, scratch) = scratch.split_at_mut(2 * s + 1);
        product::multiply(rows, &mut u[..2 * s], a0, a1, scratch);
        let mut shifted_out = 0;
        for word in &mut u[..2 * s] {
            (*word, shifted_out) = (*word << 1 | shifted_out, *word >> 63);
        }
        u[2 * s] = shifted_out;
        product::square(rows, t, a0, scratch);
        self.finish(low, high, t, u, scratch);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.limbs();
        let (part, scratch) = scratch.split_at_mut(2 * s);
        out.fill(0);
        let (low, high) = out.split_at_mut(s);
        for (words, (e0, e1)) in rows.words.chunks(s).zip(&self.entry) {
            let (part_low, part_high) = part.split_at_mut(s);
            self.multiply_pairs((part_low, part_high), (words, &[]), (e0, e1), scratch);
            let carry = self.reduction.add_below(low, part_low, scratch);
            self.reduction.add_below(high, part_high, scratch);
            // high < n, so that one more is n at most.
            let overflow = limbs::add_assign(high, &[carry]);
            limbs::reduce_once(high, overflow, &self.reduction.n);
        }
    }

    fn leave(&self, low: &mut [u64], high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let (a0, a1) = group.split_at(self.reduction.limbs());
        self.multiply_pairs((low, high), (a0, a1), (&[1], &[]), scratch);
    }
}

impl<R: LimbRows> SquareKernel for Square<R> {
    fn multiply_unit(&self, out: &mut [u64], a: &[u64], m: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.limbs();
        let (a0, a1) = a.split_at(s);
        let (low, high) = out.split_at_mut(s);
        let (part, scratch) = scratch.split_at_mut(s);
        self.reduction.multiply_below(part, m.words, &self.radix_squared, scratch);
        self.reduction.multiply_below(high, part, a0, scratch);
        self.reduction.add_below(high, a1, scratch);
        low.copy_from_slice(a0);
    }
}
