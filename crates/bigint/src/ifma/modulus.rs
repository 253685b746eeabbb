//! The constants of a modulus, and the kernels on slices whose lengths are checked.

use zeroize::Zeroize;

use super::lanes::{self, DIGIT_BITS, LANES, TILE};
use super::tiles::{self, Divisor};
use crate::kernel::Rows;
use crate::{MAX_ENTRY_RATIO, Path, constants, limbs};

/// R ≥ 2^`SLACK_BITS`·n.
pub(super) const SLACK_BITS: u32 = 6;
/// Chunks of R that a value on entry has, at most: 5·64·⌈b/64⌉ ≤ 6·(b + 6) for b > 260, and 520 bits at least.
const MAX_CHUNKS: usize = 6;

/// Constants of n, one word per digit.
pub(super) struct Modulus {
    /// Limbs of n.
    pub(super) limbs: usize,
    /// H.
    pub(super) blocks: usize,
    pub(super) n: Vec<u64>,
    /// 3n.
    pub(super) thrice: Vec<u64>,
    pub(super) negated_inverse: u64,
    /// (M + 1)/β.
    pub(super) multiple: Vec<u64>,
    /// μ.
    pub(super) factor: Vec<u64>,
}

/// The digits of a number that fits them.
pub(super) fn digits_of(value: &[u64], digits: usize) -> Vec<u64> {
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
    pub(super) fn new(value: &[u64]) -> Self {
        // All that is unsafe here rests on it.
        assert!(Path::Ifma.is_available(), "the CPU has AVX-512 IFMA");
        let bits = limbs::bit_length_public(value);
        let blocks = (bits + SLACK_BITS).div_ceil(DIGIT_BITS * TILE as u32) as usize;
        let digits = TILE * blocks;
        let n = digits_of(value, digits);
        let mut thrice = constants::extended(value, &[0]);
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

    pub(super) fn digits(&self) -> usize {
        TILE * self.blocks
    }

    /// Words of the digits of eight lanes.
    pub(super) fn words(&self) -> usize {
        LANES * self.digits()
    }

    pub(super) fn radix_bits(&self) -> u32 {
        DIGIT_BITS * self.digits() as u32
    }

    /// Chunks of R of values of `limbs` limbs.
    pub(super) fn chunks(&self, limbs: usize) -> usize {
        (limbs as u32 * limbs::LIMB_BITS).div_ceil(self.radix_bits()) as usize
    }

    pub(super) fn max_chunks(&self) -> usize {
        let chunks = self.chunks(MAX_ENTRY_RATIO * self.limbs);
        assert!(chunks <= MAX_CHUNKS, "{chunks} chunks");
        chunks
    }

    pub(super) fn divisor(&self) -> Divisor {
        Divisor {
            blocks: self.blocks,
            n: self.n.as_ptr(),
            negated_inverse: self.negated_inverse,
            multiple: self.multiple.as_ptr(),
            factor: self.factor.as_ptr(),
        }
    }

    pub(super) fn scratch_words(&self) -> usize {
        5 * self.words() + LANES * lanes::limbs_touched(self.digits()).max(self.limbs)
    }

    pub(super) fn scratch<'a>(&self, words: &'a mut [u64]) -> Scratch<'a> {
        let (t, rest) = words[..self.scratch_words()].split_at_mut(2 * self.words());
        let (q, rest) = rest.split_at_mut(self.words());
        let (x, buffer) = rest.split_at_mut(2 * self.words());
        Scratch { t, q, x, buffer }
    }

    /// out = t/R modulo n.
    pub(super) fn reduce<const WITH_QUOTIENT: bool>(&self, out: &mut [u64], t: &[u64], q: &mut [u64]) {
        assert!(out.len() == self.words() && t.len() == 2 * self.words() && q.len() == self.words());
        // SAFETY: a path is chosen only if the CPU has it (`checked` in `modulus.rs`); the lengths were checked.
        unsafe { tiles::reduce::<WITH_QUOTIENT>(out.as_mut_ptr(), t.as_ptr(), q.as_mut_ptr(), &self.divisor()) };
    }

    /// t = Σ a·b, or twice that.
    pub(super) fn product<const TWICE: bool>(&self, t: &mut [u64], pairs: &[[&[u64]; 2]]) {
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
    pub(super) fn add_product_constant(&self, t: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(t.len() == 2 * self.words() && a.len() == self.words() && b.len() == self.digits());
        // SAFETY: as in `reduce`.
        unsafe { tiles::add_product_broadcast(t.as_mut_ptr(), a.as_ptr(), b.as_ptr(), self.blocks) };
    }

    /// t = a².
    pub(super) fn square(&self, t: &mut [u64], a: &[u64]) {
        assert!(t.len() == 2 * self.words() && a.len() == self.words());
        // SAFETY: as in `reduce`.
        unsafe { tiles::square(t.as_mut_ptr(), a.as_ptr(), self.blocks) };
    }

    /// The digits of one chunk of each row.
    pub(super) fn chunk(&self, out: &mut [u64], rows: Rows<'_>, chunk: usize, padding: u64, buffer: &mut [u64]) {
        assert!(out.len() == self.words() && buffer.len() >= LANES * lanes::limbs_touched(self.digits()));
        let (digits, buffer) = (self.digits(), buffer.as_mut_ptr());
        // SAFETY: as in `reduce`.
        unsafe { lanes::to_digits(out.as_mut_ptr(), rows, chunk * digits, digits, padding, buffer) };
    }

    pub(super) fn subtract_once(&self, x: &mut [u64], m: &[u64], buffer: &mut [u64]) -> u8 {
        assert!(x.len() == self.words() && buffer.len() >= self.words() && m.len() == self.digits());
        // SAFETY: as in `reduce`.
        unsafe { lanes::subtract_once(x.as_mut_ptr(), m, buffer.as_mut_ptr()) }
    }

    pub(super) fn to_rows(&self, rows: &mut [u64], group: &[u64], buffer: &mut [u64]) {
        assert!(group.len() == self.words() && buffer.len() >= LANES * self.limbs);
        // SAFETY: as in `reduce`.
        unsafe { lanes::to_rows(rows, self.limbs, group.as_ptr(), self.digits(), buffer.as_mut_ptr()) };
    }

    pub(super) fn fill(&self, out: &mut [u64], constant: &[u64]) {
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
pub(super) struct Scratch<'a> {
    /// 2: columns of a product.
    pub(super) t: &'a mut [u64],
    /// 1: quotient digits.
    pub(super) q: &'a mut [u64],
    /// 2.
    pub(super) x: &'a mut [u64],
    /// Limbs of the rows of all lanes.
    pub(super) buffer: &'a mut [u64],
}
