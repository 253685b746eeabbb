//! Cutting polynomials into digits.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_math::{Modulus, multiversion};
use zeroize::Zeroizing;

use super::{Gadget, HoistedDigits, limb_digits};
use crate::context::Context;

impl Context {
    /// The digits of `poly` (1 to L limbs), transformed.
    ///
    /// # Panics
    /// If [`digit_count`](Self::digit_count) refuses the gadget or the number of limbs.
    pub fn decompose(&self, poly: &RnsPoly<Coefficients>, gadget: Gadget) -> HoistedDigits {
        let limbs = poly.limb_count();
        let count = self.digit_count(gadget, limbs).expect("a gadget and a level of this set");
        let (n, basis, extended) = (self.n(), self.basis(limbs), self.extended(limbs));
        let mut digits = Vec::with_capacity(count);
        match gadget {
            Gadget::Limbs { limbs_per_digit } => {
                let converters = self.tables().digit_converters(self, limbs, limbs_per_digit);
                for (converter, words) in converters.iter().zip(poly.words().chunks(limbs_per_digit * n)) {
                    let mut digit = extended.zero();
                    converter.convert_words(words, digit.words_mut());
                    digits.push(extended.forward(digit));
                }
            }
            Gadget::Bits { base_log } => {
                let mut digit = Zeroizing::new(vec![0; n]);
                for (limb, q) in poly.limbs().zip(basis.moduli()) {
                    let count = limb_digits(q.bits(), base_log);
                    for index in 0..count {
                        let field = BitField::new(q, base_log.0 as u32, index as u32, count as u32);
                        balanced_digits(self.isa(), limb, field, &mut digit);
                        digits.push(extended.forward(extended.from_signed(&digit)));
                    }
                }
            }
        }
        HoistedDigits { limbs, gadget, digits }
    }
}

/// One balanced digit of residues modulo q, centred.
///
/// With B/2 at the place of every digit but the last in `offset`, the carries of balancing are those of one addition: the
/// digit is a field of x + offset, less B/2; the last digit is what is left above. As x is at most q/2 < 2^61 in
/// magnitude, and the offset below the last digit's unit, at most 2^61, nothing overflows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitField {
    q: u64,
    offset: i64,
    shift: u32,
    /// Of the field; all ones for the last digit.
    mask: i64,
    /// B/2, or 0 for the last digit.
    half: i64,
}

impl BitField {
    /// Digit `index` of `count` in base 2^`base_log`, the least significant first.
    pub(crate) fn new(q: Modulus, base_log: u32, index: u32, count: u32) -> Self {
        let last = index + 1 == count;
        let half = 1i64 << (base_log - 1);
        Self {
            q: q.value(),
            offset: (0..count - 1).map(|i| half << (base_log * i)).sum(),
            shift: base_log * index,
            mask: if last { -1 } else { 2 * half - 1 },
            half: if last { 0 } else { half },
        }
    }
}

multiversion! {
    /// The digit of each of `residues`; no branch or index depends on them.
    pub(crate) fn balanced_digits(isa, residues: &[u64], field: BitField, out: &mut [i64]) {
        let BitField { q, offset, shift, mask, half } = field;
        for (out, &x) in out.iter_mut().zip(residues) {
            let negative = ((q / 2).wrapping_sub(x) as i64) >> 63;
            let centred = (x as i64).wrapping_sub(q as i64 & negative);
            *out = ((centred.wrapping_add(offset) >> shift) & mask).wrapping_sub(half);
        }
    }
}
