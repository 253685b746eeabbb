//! 64-bit limbs, one residue per group. Residues are canonical.

use zeroize::Zeroize;

use super::kernel::{Kernel, Rows, SquareKernel};
use super::{MAX_ENTRY_RATIO, constants, limbs};

/// Constants of reduction modulo n with R = 2^(64·limbs).
struct Reduction {
    n: Vec<u64>,
    /// −n^-1 mod 2^64.
    negated_inverse: u64,
}

impl Reduction {
    fn new(n: &[u64]) -> Self {
        Self { n: n.to_vec(), negated_inverse: limbs::negated_inverse(n[0]) }
    }

    /// Adds q·n to t, of 2s + 1 limbs, so that its lower s limbs become 0: the upper ones are (t + q·n)/R. The quotient's
    /// limbs replace the lower ones.
    fn reduce(&self, t: &mut [u64]) {
        let s = self.n.len();
        for i in 0..s {
            let q = t[i].wrapping_mul(self.negated_inverse);
            limbs::multiply_add(&mut t[i..], &[q], &self.n);
            t[i] = q;
        }
    }

    /// (t + q·n)/R below n, where it is below 2n; 1 if n had to be subtracted. The lower limbs of t become q.
    fn reduce_below(&self, out: &mut [u64], t: &mut [u64]) -> u64 {
        let s = self.n.len();
        self.reduce(t);
        out.copy_from_slice(&t[s..2 * s]);
        let above = t[2 * s] | (limbs::less_than(out, &self.n) ^ 1);
        limbs::reduce_once(out, t[2 * s], &self.n);
        above
    }
}

impl Drop for Reduction {
    fn drop(&mut self) {
        self.n.zeroize();
        self.negated_inverse.zeroize();
    }
}

/// out = out + addend mod n; the carry.
fn add_below(out: &mut [u64], addend: &[u64], n: &[u64]) -> u64 {
    let carry = limbs::add_assign(out, addend);
    let above = carry | (limbs::less_than(out, n) ^ 1);
    limbs::reduce_once(out, carry, n);
    above
}

fn select(out: &mut [u64], table: &[u64], index: u64) {
    out.fill(0);
    for (i, entry) in table.chunks_exact(out.len()).enumerate() {
        let difference = i as u64 ^ index;
        // All ones where the difference is 0.
        let mask = ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1);
        for (out, &word) in out.iter_mut().zip(entry) {
            *out |= word & mask;
        }
    }
}

fn select_public(out: &mut [u64], table: &[u64], index: u64) {
    out.copy_from_slice(&table[index as usize * out.len()..][..out.len()]);
}

/// What both kernels of one lane share.
macro_rules! one_lane {
    () => {
        fn lanes(&self) -> usize {
            1
        }

        fn select(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            select(out, table, index[0]);
        }

        fn select_single(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            select(out, table, index[0]);
        }

        fn select_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            select_public(out, table, index[0]);
        }

        fn select_single_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            select_public(out, table, index[0]);
        }

        fn extract(&self, out: &mut [u64], group: &[u64], _lane: usize) {
            out.copy_from_slice(group);
        }

        fn insert(&self, group: &mut [u64], _lane: usize, single: &[u64]) {
            group.copy_from_slice(single);
        }
    };
}

/// Modulo N.
pub(super) struct Plain {
    reduction: Reduction,
    one: Vec<u64>,
    /// R^2, R^3, … mod N: what turns the parts of a wide value to Montgomery form.
    entry: Vec<Vec<u64>>,
}

impl Plain {
    pub(super) fn new(n: &[u64]) -> Self {
        let bits = n.len() as u32 * limbs::LIMB_BITS;
        let mut powers =
            constants::radix_powers(n, bits, MAX_ENTRY_RATIO + 1).into_iter().map(|p| limbs::from_uint(&p, n.len()));
        let one = powers.next().expect("the first power");
        Self { reduction: Reduction::new(n), one, entry: powers.collect() }
    }

    fn multiply_below(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let t = &mut scratch[..2 * self.reduction.n.len() + 1];
        t.fill(0);
        limbs::multiply_add(t, a, b);
        self.reduction.reduce_below(out, t);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.one.zeroize();
        self.entry.zeroize();
    }
}

impl Kernel for Plain {
    one_lane!();

    fn group_words(&self) -> usize {
        self.reduction.n.len()
    }

    fn scratch_words(&self) -> usize {
        3 * self.reduction.n.len() + 1
    }

    fn value_limbs(&self) -> usize {
        self.reduction.n.len()
    }

    fn one(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.one);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        self.multiply_below(out, a, b, scratch);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        self.multiply_below(out, a, a, scratch);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.n.len();
        let (part, scratch) = scratch.split_at_mut(s);
        out.fill(0);
        for (words, power) in rows.words.chunks(s).zip(&self.entry) {
            self.multiply_below(part, words, power, scratch);
            add_below(out, part, &self.reduction.n);
        }
    }

    fn leave(&self, low: &mut [u64], _high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        self.multiply_below(low, group, &[1], scratch);
    }
}

/// Modulo n² through n; see the documentation of the module.
pub(super) struct Square {
    reduction: Reduction,
    /// The least multiple of n from R on, s + 1 limbs: added before a quotient is subtracted.
    offset: Vec<u64>,
    one: (Vec<u64>, Vec<u64>),
    /// R^2 mod n.
    radix_squared: Vec<u64>,
    /// R^2, R^3, … mod n².
    entry: Vec<(Vec<u64>, Vec<u64>)>,
}

impl Square {
    pub(super) fn new(n: &[u64]) -> Self {
        let s = n.len();
        let bits = s as u32 * limbs::LIMB_BITS;
        let mut powers = constants::radix_powers(&constants::square(n), bits, MAX_ENTRY_RATIO + 1)
            .into_iter()
            .map(|power| constants::split(&power, n));
        let one = powers.next().expect("the first power");
        let entry: Vec<_> = powers.collect();
        // R + (n − R mod n), where R mod n is not 0 as n is odd.
        let mut offset = n.to_vec();
        limbs::sub_assign(&mut offset, &one.0);
        offset.push(1);
        Self { reduction: Reduction::new(n), offset, radix_squared: entry[0].0.clone(), one, entry }
    }

    /// (z₀, z₁) from t = x₀·y₀ in the scratch's first part and u = x₀·y₁ + x₁·y₀ in its second.
    fn finish(&self, low: &mut [u64], high: &mut [u64], t: &mut [u64], u: &mut [u64]) {
        let s = self.reduction.n.len();
        let above = self.reduction.reduce_below(low, t);
        // u + offset + (R if n was subtracted) − q.
        limbs::add_assign(u, &self.offset);
        limbs::add_assign(&mut u[s..], &[above]);
        limbs::sub_assign(u, &t[..s]);
        self.reduction.reduce(u);
        // Below 4n: u < R·n + 2R + n (n² ≤ R·n) or 2n² + 2R + n before q'·n < R·n was added.
        high.copy_from_slice(&u[s..2 * s]);
        let mut top = u[2 * s];
        for _ in 0..3 {
            let borrow = limbs::sub_assign(high, &self.reduction.n);
            let below = borrow & u64::from(top == 0);
            limbs::add_assign_if(high, &self.reduction.n, below);
            top -= borrow & (below ^ 1);
        }
    }

    fn multiply_pairs(
        &self,
        (low, high): (&mut [u64], &mut [u64]),
        (x0, x1): (&[u64], &[u64]),
        (y0, y1): (&[u64], &[u64]),
        scratch: &mut [u64],
    ) {
        let wide = 2 * self.reduction.n.len() + 1;
        let (t, u) = scratch[..2 * wide].split_at_mut(wide);
        t.fill(0);
        u.fill(0);
        limbs::multiply_add(t, x0, y0);
        limbs::multiply_add(u, x0, y1);
        limbs::multiply_add(u, x1, y0);
        self.finish(low, high, t, u);
    }

    /// a·b/R mod n.
    fn multiply_low(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let t = &mut scratch[..2 * self.reduction.n.len() + 1];
        t.fill(0);
        limbs::multiply_add(t, a, b);
        self.reduction.reduce_below(out, t);
    }
}

impl Drop for Square {
    fn drop(&mut self) {
        self.offset.zeroize();
        self.one.zeroize();
        self.radix_squared.zeroize();
        for (low, high) in &mut self.entry {
            low.zeroize();
            high.zeroize();
        }
    }
}

impl Kernel for Square {
    one_lane!();

    fn group_words(&self) -> usize {
        2 * self.reduction.n.len()
    }

    fn scratch_words(&self) -> usize {
        6 * self.reduction.n.len() + 2
    }

    fn value_limbs(&self) -> usize {
        self.reduction.n.len()
    }

    fn one(&self, out: &mut [u64]) {
        let (low, high) = out.split_at_mut(self.reduction.n.len());
        low.copy_from_slice(&self.one.0);
        high.copy_from_slice(&self.one.1);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let s = self.reduction.n.len();
        self.multiply_pairs(out.split_at_mut(s), a.split_at(s), b.split_at(s), scratch);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        self.multiply(out, a, a, scratch);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.n.len();
        let (part, scratch) = scratch.split_at_mut(2 * s);
        out.fill(0);
        let (low, high) = out.split_at_mut(s);
        for (words, (e0, e1)) in rows.words.chunks(s).zip(&self.entry) {
            let (part_low, part_high) = part.split_at_mut(s);
            self.multiply_pairs((part_low, part_high), (words, &[]), (e0, e1), scratch);
            let carry = add_below(low, part_low, &self.reduction.n);
            add_below(high, part_high, &self.reduction.n);
            // high < n, so that one more is n at most.
            let overflow = limbs::add_assign(high, &[carry]);
            limbs::reduce_once(high, overflow, &self.reduction.n);
        }
    }

    fn leave(&self, low: &mut [u64], high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let (a0, a1) = group.split_at(self.reduction.n.len());
        self.multiply_pairs((low, high), (a0, a1), (&[1], &[]), scratch);
    }
}

impl SquareKernel for Square {
    fn multiply_unit(&self, out: &mut [u64], a: &[u64], m: Rows<'_>, scratch: &mut [u64]) {
        let s = self.reduction.n.len();
        let (a0, a1) = a.split_at(s);
        let (low, high) = out.split_at_mut(s);
        let (part, scratch) = scratch.split_at_mut(s);
        self.multiply_low(part, m.words, &self.radix_squared, scratch);
        self.multiply_low(high, part, a0, scratch);
        add_below(high, a1, &self.reduction.n);
        low.copy_from_slice(a0);
    }
}
