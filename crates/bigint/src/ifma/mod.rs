//! AVX-512 IFMA: eight residues side by side, in digits of 52 bits.
//!
//! **Reduction.** β = 2^520 is a block of `TILE` = 10 digits, R = β^H with H blocks for n. As M = μ·n with μ = −n^-1
//! mod β is −1 modulo β, the quotient digits of a whole block that make t + q·M divisible by β are t mod β itself. So
//! nothing but carries delays the next block, and (t + q·M)/β = ⌊t/β⌋ + q·(M + 1)/β, where (M + 1)/β ≤ n has H blocks.
//! This is done for all blocks but the last, whose quotient digits are found one by one with n (Montgomery's method),
//! so that the result is again as short as n:
//!
//! - t_{k+1} = (t_k + q_k·M)/β gives t_{H−1} < t/β^(H−1) + M, and M < β·n;
//! - z = (t_{H−1} + q·n)/β < t/R + 2n.
//!
//! **Bounds.** R ≥ 64·n (`SLACK_BITS`). Residues are kept below 3n, the pairs of the ring modulo n² too: the greatest t of a
//! product is R·2 + 2·(3n)² (a quotient, see below, and two products), hence z < 2 + 18n²/R + 2n < 3n. On entry t is
//! the sum of up to `MAX_CHUNKS` = 6 products of a chunk below R by a constant of at most n, and a quotient: z < 2 + 6n + 2n;
//! a product with 1 then gives less than 2 + 2·8n·n/64n + 2n + … < 3n.
//!
//! **The ring modulo n².** A residue is x₀ − x₁·n here, with the sign of the second part turned over: x₀·y₀ = R·z₀ − q·n gives
//! x·y ≡ R·z₀ − (q + x₀·y₁ + x₁·y₀)·n, a sum without any subtraction. With quotients q' = q₀ + q₁·β + … for M and q_{H−1}
//! for n, q = μ·q' + q_{H−1}·β^(H−1) < 2R, of which μ·q' takes H − 1 tiles more.
//!
//! **Prediction and result.** A product takes 200·H² multiply-adds and a reduction 200·H² + 10, a square 100·H² + 10·H. For a
//! squaring of 1024 bits, 605 cycles of them, some 150 cycles of waiting for carries and quotient digits were expected:
//! 80 % of the rate of independent multiply-adds. Measured on a Sapphire Rapids at 3.0 GHz (kernels alone, 5th percentile): 76 %,
//! and 83 % at 1536 bits, 86 % at 2048, 87 to 93 % from 3072 to 8192, where a tile by itself reaches 94 %. Without the tile
//! between the last quotient digits it was 72, 80 and 84 %. A last block by a product with −n^-1 mod β, a shorter chain but
//! more registers than there are, gained nothing.

mod lanes;
mod modulus;
mod select;
#[cfg(test)]
mod tests;
mod tiles;

use zeroize::{Zeroize, Zeroizing};

use super::kernel::{Kernel, Rows, SquareKernel};
use super::{constants, limbs};
use lanes::LANES;
#[cfg(test)]
use lanes::{DIGIT_BITS, TILE};
#[cfg(test)]
use modulus::SLACK_BITS;
use modulus::{Modulus, Scratch, digits_of};

/// The common part of the kernels of both rings: a group is digits, of any meaning.
macro_rules! eight_lanes {
    () => {
        fn lanes(&self) -> usize {
            LANES
        }

        fn scratch_words(&self) -> usize {
            self.modulus.scratch_words()
        }

        fn value_limbs(&self) -> usize {
            self.modulus.limbs
        }

        fn select(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            assert_eq!(out.len(), self.group_words());
            // SAFETY: a path is chosen only if the CPU has it.
            unsafe { select::select(out, table, index) };
        }

        fn select_single(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            assert_eq!(out.len(), self.group_words());
            // SAFETY: a path is chosen only if the CPU has it.
            unsafe { select::select_single(out, table, index) };
        }

        fn select_lane(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            assert!(out.len().is_multiple_of(self.group_words()) && index.len() == out.len() / self.single_words());
            // SAFETY: a path is chosen only if the CPU has it.
            unsafe { select::select_lane(out, table, self.group_words(), index) };
        }

        fn select_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            assert_eq!(out.len(), self.group_words());
            // SAFETY: a path is chosen only if the CPU has it.
            unsafe { select::select_public(out, table, index) };
        }

        fn select_single_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            assert_eq!(out.len(), self.group_words());
            // SAFETY: a path is chosen only if the CPU has it.
            unsafe { select::select_single_public(out, table, index) };
        }

        fn extract(&self, out: &mut [u64], group: &[u64], lane: usize) {
            assert!(lane < LANES);
            for (out, digit) in out.iter_mut().zip(group.chunks_exact(LANES)) {
                *out = digit[lane];
            }
        }

        fn insert(&self, group: &mut [u64], lane: usize, single: &[u64]) {
            assert!(lane < LANES);
            for (digit, word) in group.chunks_exact_mut(LANES).zip(single) {
                digit[lane] = *word;
            }
        }
    };
}

/// Modulo N.
pub(super) struct Plain {
    modulus: Modulus,
    /// R mod N.
    one: Vec<u64>,
    /// R², R³, … mod N.
    entry: Vec<Vec<u64>>,
}

impl Plain {
    pub(super) fn new(n: &[u64]) -> Self {
        let modulus = Modulus::new(n);
        let mut powers = constants::radix_powers(n, modulus.radix_bits(), modulus.max_chunks() + 1)
            .into_iter()
            .map(|power| digits_of(&power, modulus.digits()));
        let one = powers.next().expect("the first power");
        let entry = powers.collect();
        Self { one, entry, modulus }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.one.zeroize();
        self.entry.zeroize();
    }
}

impl Kernel for Plain {
    eight_lanes!();

    fn group_words(&self) -> usize {
        self.modulus.words()
    }

    fn one(&self, out: &mut [u64]) {
        self.modulus.fill(out, &self.one);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, .. } = self.modulus.scratch(scratch);
        self.modulus.product::<false>(t, &[[a, b]]);
        self.modulus.reduce::<false>(out, t, q);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, .. } = self.modulus.scratch(scratch);
        self.modulus.square(t, a);
        self.modulus.reduce::<false>(out, t, q);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let Scratch { t, q, x, buffer } = self.modulus.scratch(scratch);
        let (x, _) = x.split_at_mut(self.modulus.words());
        t.fill(0);
        for (i, power) in self.entry[..self.modulus.chunks(rows.limbs)].iter().enumerate() {
            self.modulus.chunk(x, rows, i, u64::from(i == 0), buffer);
            self.modulus.add_product_constant(t, x, power);
        }
        self.modulus.reduce::<false>(x, t, q);
        t.fill(0);
        self.modulus.add_product_constant(t, x, &self.one);
        self.modulus.reduce::<false>(out, t, q);
    }

    fn leave(&self, low: &mut [u64], _high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, x, buffer } = self.modulus.scratch(scratch);
        let (value, x) = x.split_at_mut(self.modulus.words());
        t[..group.len()].copy_from_slice(group);
        t[group.len()..].fill(0);
        self.modulus.reduce::<false>(value, t, q);
        // At most 2n.
        for _ in 0..2 {
            self.modulus.subtract_once(value, &self.modulus.n, x);
        }
        self.modulus.to_rows(low, value, buffer);
    }
}

/// Modulo n² through n; see the documentation of the module.
pub(super) struct Square {
    modulus: Modulus,
    /// R mod n²: both parts, one after the other, as all pairs.
    one: Vec<u64>,
    /// R², R³, … mod n².
    entry: Vec<Vec<u64>>,
}

impl Square {
    pub(super) fn new(n: &[u64]) -> Self {
        let modulus = Modulus::new(n);
        let square = constants::square(n);
        let mut powers =
            constants::radix_powers(&square, modulus.radix_bits(), modulus.max_chunks() + 1).into_iter().map(|power| {
                let (low, high) = constants::split(&power, n);
                // x = low + high·n ≡ low − (n − high)·n.
                let mut negated = Zeroizing::new(n.to_vec());
                limbs::sub_assign(&mut negated, &high);
                let parts = [&low, &negated].map(|part| Zeroizing::new(digits_of(part, modulus.digits())));
                constants::extended(&parts[0], &parts[1])
            });
        let one = powers.next().expect("the first power");
        let entry = powers.collect();
        Self { one, entry, modulus }
    }

    /// t = Σ x·c of one part of constants, over the chunks of the rows.
    fn entry_products(&self, t: &mut [u64], x: &mut [u64], rows: Rows<'_>, part: usize, buffer: &mut [u64]) {
        let digits = self.modulus.digits();
        t.fill(0);
        for (i, power) in self.entry[..self.modulus.chunks(rows.limbs)].iter().enumerate() {
            self.modulus.chunk(x, rows, i, u64::from(i == 0), buffer);
            self.modulus.add_product_constant(t, x, &power[part * digits..][..digits]);
        }
    }
}

impl Drop for Square {
    fn drop(&mut self) {
        self.one.zeroize();
        self.entry.zeroize();
    }
}

impl Kernel for Square {
    eight_lanes!();

    fn group_words(&self) -> usize {
        2 * self.modulus.words()
    }

    fn one(&self, out: &mut [u64]) {
        self.modulus.fill(out, &self.one);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, .. } = self.modulus.scratch(scratch);
        let words = self.modulus.words();
        let ((low, high), (a0, a1)) = (out.split_at_mut(words), a.split_at(words));
        let (b0, b1) = b.split_at(words);
        self.modulus.product::<false>(t, &[[a0, b0]]);
        self.modulus.reduce::<false>(low, t, q);
        self.modulus.product::<false>(t, &[[a0, b1], [a1, b0]]);
        self.modulus.reduce::<true>(high, t, q);
    }

    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, .. } = self.modulus.scratch(scratch);
        let words = self.modulus.words();
        let ((low, high), (a0, a1)) = (out.split_at_mut(words), a.split_at(words));
        self.modulus.square(t, a0);
        self.modulus.reduce::<false>(low, t, q);
        self.modulus.product::<true>(t, &[[a0, a1]]);
        self.modulus.reduce::<true>(high, t, q);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let Scratch { t, q, x, buffer } = self.modulus.scratch(scratch);
        let (x0, x1) = x.split_at_mut(self.modulus.words());
        let (low, high) = out.split_at_mut(self.modulus.words());
        // The chunks are parts of a first kind only; `low` holds them for now.
        self.entry_products(t, low, rows, 0, buffer);
        self.modulus.reduce::<false>(x0, t, q);
        self.entry_products(t, low, rows, 1, buffer);
        self.modulus.reduce::<true>(x1, t, q);
        let (one0, one1) = self.one.split_at(self.modulus.digits());
        t.fill(0);
        self.modulus.add_product_constant(t, x0, one0);
        self.modulus.reduce::<false>(low, t, q);
        t.fill(0);
        self.modulus.add_product_constant(t, x0, one1);
        self.modulus.add_product_constant(t, x1, one0);
        self.modulus.reduce::<true>(high, t, q);
    }

    fn leave(&self, low: &mut [u64], high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let Scratch { t, q, x, buffer } = self.modulus.scratch(scratch);
        let words = self.modulus.words();
        let ((x0, x1), (a0, a1)) = (x.split_at_mut(words), group.split_at(words));
        t[..words].copy_from_slice(a0);
        t[words..].fill(0);
        self.modulus.reduce::<false>(x0, t, q);
        t[..words].copy_from_slice(a1);
        self.modulus.reduce::<true>(x1, t, q);
        // x₀ ≤ 2n, and x₁ ≤ 2n + 2: what is taken from x₀ makes 3n + 2 − x₁ at most, which is not negative.
        let taken = [0; 2].map(|_: u8| self.modulus.subtract_once(x0, &self.modulus.n, t));
        // SAFETY: a path is chosen only if the CPU has it; both have h digits.
        unsafe { lanes::subtract_from(x1.as_mut_ptr(), &self.modulus.thrice, &taken) };
        for _ in 0..3 {
            self.modulus.subtract_once(x1, &self.modulus.n, t);
        }
        self.modulus.to_rows(low, x0, buffer);
        self.modulus.to_rows(high, x1, buffer);
    }
}

impl SquareKernel for Square {
    fn multiply_unit(&self, out: &mut [u64], a: &[u64], m: Rows<'_>, scratch: &mut [u64]) {
        let Scratch { t, q, x, buffer } = self.modulus.scratch(scratch);
        let words = self.modulus.words();
        let ((x, product), (low, high), (a0, a1)) = (x.split_at_mut(words), out.split_at_mut(words), a.split_at(words));
        // (x₀ − x₁·n)(1 + m·n) ≡ x₀ − (x₁ + (n − m)·x₀)·n.
        self.modulus.chunk(x, m, 0, 0, buffer);
        // SAFETY: a path is chosen only if the CPU has it; both have h digits.
        unsafe { lanes::subtract_from(x.as_mut_ptr(), &self.modulus.n, &[]) };
        t.fill(0);
        self.modulus.add_product_constant(t, x, &self.entry[0][..self.modulus.digits()]);
        self.modulus.reduce::<false>(product, t, q);
        self.modulus.product::<false>(t, &[[product, a0]]);
        self.modulus.reduce::<false>(high, t, q);
        // SAFETY: as above.
        unsafe { lanes::add(high.as_mut_ptr(), a1.as_ptr(), self.modulus.digits()) };
        // Below 6n.
        self.modulus.subtract_once(high, &self.modulus.thrice, t);
        low.copy_from_slice(a0);
    }
}
