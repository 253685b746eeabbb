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

/// A field that ends before this bit of its digit's word is added to the word as a whole. Every other field is cut at the
/// borders of the digits. A word stays below 2^62 + 2·2^56 in magnitude, whatever the widths of the fields are:
///
/// - A wide value is added as two fields, its bits below [`LOW`] and those above. No two fields share a bit.
/// - Values of a field of w bits are at most 2^(w−1) in magnitude. The fields that are added to a word as a whole therefore
///   have a sum below 2^62.
/// - A cut field adds less than 2^56 to the word of each digit that it has bits of, and nothing to other words. Either it starts
///   in that digit, or it covers the digit's first bit. It ends beyond the digit in which it starts, so only the last field that
///   starts in a digit can be cut. Hence at most two cut fields add to a word.
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

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::super::layout::width;
    use super::super::request::MAX_TOTAL;
    use super::*;

    /// The greatest magnitude of a word by the proof at [`WHOLE`].
    const GREATEST: u64 = (1 << WHOLE) + 2 * (1 << DIGIT);

    /// A value of `width` bits: an extreme one, or one made of `seed`.
    fn value(width: u32, seed: u128) -> i128 {
        let greatest = 1i128 << (width.min(127) - 1);
        match seed % 4 {
            0 => greatest - i128::from(width < 128),
            1 => 1 - greatest,
            _ => (seed as i128) >> (128 - width),
        }
    }

    /// Fields of these widths and values, one after another in one coefficient: the digits are their sum, and no word is
    /// beyond the proof's limit.
    fn check(fields: &[(u32, i128)]) {
        let bits = fields.iter().map(|&(width, _)| width).sum();
        let mut digits = Digits::new(1, bits);
        let (mut shift, mut expected) = (0, BigInt::ZERO);
        for &(width, value) in fields {
            match i64::try_from(value) {
                // The form of values of 64 bits, whatever the width of their field is.
                Ok(narrow) => digits.add(0, shift, width, &[narrow], i128::from),
                Err(_) => digits.add_wide(0, shift, width, &[value]),
            }
            expected += BigInt::from(value) << shift;
            shift += width;
        }
        let words: Vec<i64> = (0..digits.count()).map(|i| digits.digit(i)[0]).collect();
        assert!(words.iter().all(|word| word.unsigned_abs() < GREATEST), "{fields:?}: {words:?}");
        let sum: BigInt = words.iter().enumerate().map(|(i, &word)| BigInt::from(word) << (DIGIT as usize * i)).sum();
        assert_eq!(sum, expected, "{fields:?}");
    }

    #[test]
    fn the_widest_field_starts_at_every_bit_of_a_digit() {
        let widest = width(MAX_TOTAL);
        assert_eq!(widest, 128);
        for start in 2..2 + DIGIT {
            for value in [MAX_TOTAL as i128, -(MAX_TOTAL as i128), i64::MAX.into(), i64::MIN.into(), 1, -1] {
                check(&[(start, -1), (widest, value), (widest, -value), (start, 1)]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn digits_of_any_fields_are_their_sum(
            fields in prop::collection::vec((prop_oneof![2u32..=128, 113u32..=128, 50u32..=66], any::<u128>()), 1..12),
        ) {
            let fields: Vec<(u32, i128)> = fields.iter().map(|&(width, seed)| (width, value(width, seed))).collect();
            check(&fields);
        }
    }
}
