//! AVX-512 IFMA: eight residues side by side, in digits of 52 bits.
//!
//! **Reduction.** β = 2^520 is a block of [`TILE`] = 10 digits, R = β^H with H blocks for n. As M = μ·n with μ = −n^-1 mod β
//! is −1 modulo β, the quotient digits of a whole block that make t + q·M divisible by β are t mod β itself: nothing but
//! carries has to be waited for, and (t + q·M)/β = ⌊t/β⌋ + q·(M + 1)/β, where (M + 1)/β ≤ n has H blocks. This is done for
//! all blocks but the last, whose quotient digits are found one by one with n (Montgomery's method), so that the result is
//! again as short as n:
//!
//! - t_{k+1} = (t_k + q_k·M)/β gives t_{H−1} < t/β^(H−1) + M, and M < β·n;
//! - z = (t_{H−1} + q·n)/β < t/R + 2n.
//!
//! **Bounds.** R ≥ 64·n ([`SLACK_BITS`]). Residues are kept below 3n, the pairs of the ring modulo n² too: the greatest t of a
//! product is R·2 + 2·(3n)² (a quotient, see below, and two products), hence z < 2 + 18n²/R + 2n < 3n. On entry t is
//! the sum of up to [`MAX_CHUNKS`] = 6 products of a chunk below R by a constant of at most n, and a quotient: z < 2 + 6n + 2n;
//! a product with 1 then gives less than 2 + 2·8n·n/64n + 2n + … < 3n.
//!
//! **The ring modulo n².** A residue is x₀ − x₁·n here, with the sign of the second part turned over: x₀·y₀ = R·z₀ − q·n gives
//! x·y ≡ R·z₀ − (q + x₀·y₁ + x₁·y₀)·n, a sum without any subtraction. With quotients q' = q₀ + q₁·β + … for M and q_{H−1}
//! for n, q = μ·q' + q_{H−1}·β^(H−1) < 2R, of which μ·q' takes H − 1 tiles more.

mod lanes;
mod select;
#[cfg(test)]
mod tests;
mod tiles;

use zeroize::Zeroize;

use super::kernel::{Kernel, Rows, SquareKernel};
use super::{MAX_ENTRY_RATIO, constants, limbs};
use tiles::Divisor;

/// Residues per group.
const LANES: usize = 8;
/// Bits of a digit: what `vpmadd52` multiplies.
const DIGIT_BITS: u32 = 52;
/// Digits of a block.
const TILE: usize = 10;
/// R ≥ 2^`SLACK_BITS`·n.
const SLACK_BITS: u32 = 6;
/// Chunks of R that a value on entry has, at most: 5·64·⌈b/64⌉ ≤ 6·(b + 6) for b ≥ 256, and 520 bits at least.
const MAX_CHUNKS: usize = 6;

/// Constants of n, one word per digit.
struct Modulus {
    /// Limbs of n.
    limbs: usize,
    /// H.
    blocks: usize,
    n: Vec<u64>,
    /// 3n.
    thrice: Vec<u64>,
    negated_inverse: u64,
    /// (M + 1)/β.
    multiple: Vec<u64>,
    /// μ.
    factor: Vec<u64>,
}

/// The digits of a number that fits them.
fn digits_of(value: &[u64], digits: usize) -> Vec<u64> {
    let at = |i: usize| value.get(i).copied().unwrap_or(0);
    let digit = |d: usize| {
        let bit = d * DIGIT_BITS as usize;
        let (limb, shift) = (bit / 64, bit % 64);
        let wide = u128::from(at(limb)) | u128::from(at(limb + 1)) << 64;
        (wide >> shift) as u64 & ((1 << DIGIT_BITS) - 1)
    };
    (0..digits).map(digit).collect()
}

impl Modulus {
    fn new(value: &[u64]) -> Self {
        let bits = limbs::to_uint(value).bits_vartime();
        let blocks = (bits + SLACK_BITS).div_ceil(DIGIT_BITS * TILE as u32) as usize;
        let digits = TILE * blocks;
        let n = digits_of(value, digits);
        let mut thrice = value.to_vec();
        thrice.push(0);
        for _ in 0..2 {
            limbs::add_assign(&mut thrice, value);
        }
        let negated_inverse = limbs::negated_inverse(value[0]) & ((1 << DIGIT_BITS) - 1);
        // Montgomery's reduction of 1 by one block finds −1/n digit by digit, and leaves (1 + μ·n)/β.
        let mut sum = vec![0u64; digits + TILE + 1];
        sum[0] = 1;
        let mut factor = Vec::with_capacity(TILE);
        for i in 0..TILE {
            let q = sum[i].wrapping_mul(negated_inverse) & ((1 << DIGIT_BITS) - 1);
            let mut carry = 0u128;
            for (j, word) in sum[i..].iter_mut().enumerate() {
                let n = n.get(j).copied().unwrap_or(0);
                carry += u128::from(*word) + u128::from(q) * u128::from(n);
                *word = carry as u64 & ((1 << DIGIT_BITS) - 1);
                carry >>= DIGIT_BITS;
            }
            factor.push(q);
        }
        let multiple = sum[TILE..TILE + digits].to_vec();
        sum.zeroize();
        let modulus = Self {
            limbs: value.len(),
            blocks,
            thrice: digits_of(&thrice, digits),
            n,
            negated_inverse,
            multiple,
            factor,
        };
        thrice.zeroize();
        modulus
    }

    fn digits(&self) -> usize {
        TILE * self.blocks
    }

    /// Words of the digits of eight lanes.
    fn words(&self) -> usize {
        LANES * self.digits()
    }

    fn radix_bits(&self) -> u32 {
        DIGIT_BITS * self.digits() as u32
    }

    /// Chunks of R of values of `limbs` limbs.
    fn chunks(&self, limbs: usize) -> usize {
        (limbs as u32 * limbs::LIMB_BITS).div_ceil(self.radix_bits()) as usize
    }

    fn max_chunks(&self) -> usize {
        let chunks = self.chunks(MAX_ENTRY_RATIO * self.limbs);
        assert!(chunks <= MAX_CHUNKS, "{chunks} chunks");
        chunks
    }

    fn divisor(&self) -> Divisor {
        Divisor {
            blocks: self.blocks,
            n: self.n.as_ptr(),
            negated_inverse: self.negated_inverse,
            multiple: self.multiple.as_ptr(),
            factor: self.factor.as_ptr(),
        }
    }

    fn scratch_words(&self) -> usize {
        5 * self.words() + LANES * lanes::limbs_touched(self.digits()).max(self.limbs)
    }

    fn scratch<'a>(&self, words: &'a mut [u64]) -> Scratch<'a> {
        let (t, rest) = words[..self.scratch_words()].split_at_mut(2 * self.words());
        let (q, rest) = rest.split_at_mut(self.words());
        let (x, buffer) = rest.split_at_mut(2 * self.words());
        Scratch { t, q, x, buffer }
    }

    /// out = t/R modulo n.
    fn reduce<const WITH_QUOTIENT: bool>(&self, out: &mut [u64], t: &[u64], q: &mut [u64]) {
        assert!(out.len() == self.words() && t.len() == 2 * self.words() && q.len() == self.words());
        // SAFETY: a path is chosen only if the CPU has it (`checked` in `modulus.rs`); the lengths were checked.
        unsafe { tiles::reduce::<WITH_QUOTIENT>(out.as_mut_ptr(), t.as_ptr(), q.as_mut_ptr(), &self.divisor()) };
    }

    /// t = Σ a·b, or twice that.
    fn product<const TWICE: bool>(&self, t: &mut [u64], pairs: &[[&[u64]; 2]]) {
        assert!(t.len() == 2 * self.words() && pairs.len() <= 2);
        assert!(pairs.iter().flatten().all(|operand| operand.len() == self.words()));
        let mut pointers = [[std::ptr::null(); 2]; 2];
        for (pointers, pair) in pointers.iter_mut().zip(pairs) {
            *pointers = pair.map(<[u64]>::as_ptr);
        }
        // SAFETY: as in `reduce`.
        unsafe { tiles::product::<TWICE>(t.as_mut_ptr(), &pointers[..pairs.len()], self.blocks) };
    }

    /// t += a·b with a constant b.
    fn add_product_constant(&self, t: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(t.len() == 2 * self.words() && a.len() == self.words() && b.len() == self.digits());
        // SAFETY: as in `reduce`.
        unsafe { tiles::add_product_broadcast(t.as_mut_ptr(), a.as_ptr(), b.as_ptr(), self.blocks) };
    }

    /// t = a².
    fn square(&self, t: &mut [u64], a: &[u64]) {
        assert!(t.len() == 2 * self.words() && a.len() == self.words());
        // SAFETY: as in `reduce`.
        unsafe { tiles::square(t.as_mut_ptr(), a.as_ptr(), self.blocks) };
    }

    /// The digits of one chunk of each row.
    fn chunk(&self, out: &mut [u64], rows: Rows<'_>, chunk: usize, padding: u64, buffer: &mut [u64]) {
        assert!(out.len() == self.words() && buffer.len() >= LANES * lanes::limbs_touched(self.digits()));
        let (digits, buffer) = (self.digits(), buffer.as_mut_ptr());
        // SAFETY: as in `reduce`.
        unsafe { lanes::to_digits(out.as_mut_ptr(), rows, chunk * digits, digits, padding, buffer) };
    }

    fn subtract_once(&self, x: &mut [u64], m: &[u64], buffer: &mut [u64]) -> u8 {
        assert!(x.len() == self.words() && buffer.len() >= self.words() && m.len() == self.digits());
        // SAFETY: as in `reduce`.
        unsafe { lanes::subtract_once(x.as_mut_ptr(), m, buffer.as_mut_ptr()) }
    }

    fn to_rows(&self, rows: &mut [u64], group: &[u64], buffer: &mut [u64]) {
        assert!(group.len() == self.words() && buffer.len() >= LANES * self.limbs);
        // SAFETY: as in `reduce`.
        unsafe { lanes::to_rows(rows, self.limbs, group.as_ptr(), self.digits(), buffer.as_mut_ptr()) };
    }

    fn fill(&self, out: &mut [u64], constant: &[u64]) {
        assert!(out.len() == LANES * constant.len());
        // SAFETY: as in `reduce`.
        unsafe { lanes::fill(out.as_mut_ptr(), constant) };
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        for digits in [&mut self.n, &mut self.thrice, &mut self.multiple, &mut self.factor] {
            digits.zeroize();
        }
        self.negated_inverse.zeroize();
    }
}

/// Parts of a kernel's scratch, in operands of h digits.
struct Scratch<'a> {
    /// 2: columns of a product.
    t: &'a mut [u64],
    /// 1: quotient digits.
    q: &'a mut [u64],
    /// 2.
    x: &'a mut [u64],
    /// Limbs of the rows of all lanes.
    buffer: &'a mut [u64],
}

/// What the kernels of both rings share: a group is digits, of whatever meaning.
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
            .map(|power| wiped_digits(&mut limbs::from_uint(&power, n.len()), modulus.digits()));
        let one = powers.next().expect("the first power");
        let entry = powers.collect();
        Self { one, entry, modulus }
    }
}

/// The digits of a constant, whose limbs are wiped.
fn wiped_digits(value: &mut [u64], digits: usize) -> Vec<u64> {
    let out = digits_of(value, digits);
    value.zeroize();
    out
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
        let mut square = constants::square(n);
        let mut powers =
            constants::radix_powers(&square, modulus.radix_bits(), modulus.max_chunks() + 1).into_iter().map(|power| {
                let (mut low, high) = constants::split(&power, n);
                // x = low + high·n ≡ low − (n − high)·n.
                let mut negated = n.to_vec();
                limbs::sub_assign(&mut negated, &high);
                let mut pair = wiped_digits(&mut low, modulus.digits());
                pair.append(&mut wiped_digits(&mut negated, modulus.digits()));
                pair
            });
        let one = powers.next().expect("the first power");
        let entry = powers.collect();
        square.zeroize();
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
