//! Coefficients as digits: from the values of a contribution to a polynomial.
//!
//! A coefficient Σ x_k·2^(s_k) may be longer than a word. It is collected as Σ_i D_i·2^(56·i) with signed words D_i, from which
//! Horner's rule makes its residues. No branch and no place in memory depends on the values.

use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use zeroize::Zeroizing;

use super::layout::Layout;
use super::request::Values;

/// Bits of a digit.
pub(super) const DIGIT: u32 = 56;

/// A field that ends before this bit of its digit's word is added to the word as a whole. Fields do not overlap, so the sum
/// of such values is below 2^62. Of the other fields at most one starts in each digit, as starts are a width apart and theirs
/// are among the last width − 7 bits. It adds less than 2^56 to each of at most three words: a word stays below 2^62 + 3·2^56.
const WHOLE: u32 = 62;

/// The parts of a wide value x = high·2^62 + low, with low below 2^62.
const LOW: u32 = 62;

/// The digits of the coefficients of one ciphertext.
struct Digits {
    n: usize,
    /// The words of digit 0, then those of digit 1, …
    words: Zeroizing<Vec<i64>>,
}

impl Digits {
    /// Of `n` coefficients of `bits` bits.
    fn new(n: usize, bits: u32) -> Self {
        Self { n, words: Zeroizing::new(vec![0; n * bits.div_ceil(DIGIT) as usize]) }
    }

    /// The words of digit i, one for each coefficient.
    fn digit(&self, i: usize) -> &[i64] {
        &self.words[i * self.n..][..self.n]
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.words.len() / self.n
    }

    /// Adds x·2^`shift` to the coefficients from `at` on, for values of `width` bits.
    fn add<T: Copy>(&mut self, at: usize, shift: u32, width: u32, values: &[T], x: impl Fn(T) -> i128) {
        let (first, shift) = ((shift / DIGIT) as usize * self.n + at, shift % DIGIT);
        if shift + width <= WHOLE {
            let words = &mut self.words[first..][..values.len()];
            words.iter_mut().zip(values).for_each(|(word, &value)| *word += (x(value) as i64) << shift);
            return;
        }
        let last = (shift + width - 1) / DIGIT;
        for (i, &value) in values.iter().enumerate() {
            let (mut rest, mut place) = (x(value) << shift, first + i);
            for _ in 0..last {
                self.words[place] += rest as i64 & ((1 << DIGIT) - 1);
                rest >>= DIGIT;
                place += self.n;
            }
            // The last digit takes the sign.
            self.words[place] += rest as i64;
        }
    }

    /// As [`add`](Self::add) for values of any length.
    fn add_wide(&mut self, at: usize, shift: u32, width: u32, values: &[i128]) {
        if width <= u64::BITS {
            return self.add(at, shift, width, values, |x| x);
        }
        self.add(at, shift, LOW + 1, values, |x| x & ((1 << LOW) - 1));
        self.add(at, shift + LOW, width - LOW, values, |x| x >> LOW);
    }

    /// The residues of 2^`shift` times the coefficients.
    fn residues(&self, basis: &RnsBasis, shift: u32) -> RnsPoly<Coefficients> {
        let powers = |exponent: u32| -> Vec<u64> { basis.moduli().map(|q| q.pow(2, exponent.into())).collect() };
        let step = powers(DIGIT);
        let mut poly = basis.from_signed(self.digit(self.count() - 1));
        for i in (0..self.count() - 1).rev() {
            basis.multiply_scalar(&mut poly, &step);
            let digit = Zeroizing::new(basis.from_signed(self.digit(i)));
            basis.add_assign(&mut poly, &digit);
        }
        basis.multiply_scalar(&mut poly, &powers(shift));
        poly
    }
}

/// The message of ciphertext `ciphertext`: 2^`shift` times its coefficients.
pub(super) fn message(
    layout: &Layout,
    basis: &RnsBasis,
    shift: u32,
    ciphertext: usize,
    values: &[Values<'_>],
) -> RnsPoly<Coefficients> {
    let n = basis.polynomial_size().get();
    let mut digits = Digits::new(n, layout.bits);
    for (block, values) in layout.blocks.iter().zip(values) {
        let at = block.coefficients_in(n, ciphertext).start;
        for field in 0..block.fields() {
            let (range, shift) = (block.values_in(n, ciphertext, field), block.shift(field));
            match values {
                Values::Narrow(values) => digits.add(at, shift, block.width, &values[range], i128::from),
                Values::Wide(values) => digits.add_wide(at, shift, block.width, &values[range]),
            }
        }
    }
    digits.residues(basis, shift)
}
