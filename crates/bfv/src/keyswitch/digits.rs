//! Cutting polynomials into digits.

use std::ops::Range;

use ciphermill_lattice::rns::{BaseConverter, Coefficients, RnsPoly};
use ciphermill_math::{Modulus, multiversion};

use super::HoistedDigits;
use crate::context::Context;
use crate::gadget::{Gadget, limb_digits};

/// How polynomials of one level are cut into the digits of one gadget.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    context: &'a Context,
    limbs: usize,
    digits: Vec<Digit<'a>>,
}

#[derive(Debug)]
enum Digit<'a> {
    /// From limbs of the polynomial, by limb of the extended basis.
    Limbs(Range<usize>, &'a [BaseConverter]),
    /// From one limb.
    Bits(usize, BitField),
}

impl<'a> Cut<'a> {
    /// # Panics
    /// If [`digit_count`](Context::digit_count) refuses the gadget or the number of limbs.
    pub(super) fn new(context: &'a Context, gadget: Gadget, limbs: usize) -> Self {
        context.digit_count(gadget, limbs).expect("a gadget and a level of this set");
        let digits = match gadget {
            Gadget::Limbs { limbs_per_digit } => {
                let converters = context.tables().digit_converters(context.bases(), limbs, limbs_per_digit).iter();
                let own = (0..limbs).step_by(limbs_per_digit).map(|first| first..limbs.min(first + limbs_per_digit));
                own.zip(converters).map(|(own, converters)| Digit::Limbs(own, converters)).collect()
            }
            Gadget::Bits { base_log } => {
                let moduli = context.basis(limbs).moduli().enumerate();
                let digits = moduli.flat_map(|(limb, q)| {
                    let count = limb_digits(q.bits(), base_log);
                    let field = move |index| BitField::new(q, base_log.0 as u32, index as u32, count as u32);
                    (0..count).map(move |index| Digit::Bits(limb, field(index)))
                });
                digits.collect()
            }
        };
        Self { context, limbs, digits }
    }

    /// The number of digits.
    pub(super) fn len(&self) -> usize {
        self.digits.len()
    }

    /// The residues of digit `j` of `poly` modulo limb `i` of the extended basis.
    pub(super) fn residues(&self, poly: &RnsPoly<Coefficients>, j: usize, i: usize, out: &mut [u64]) {
        match &self.digits[j] {
            Digit::Limbs(own, converters) => {
                let n = poly.polynomial_size();
                converters[i].convert_words(&poly.words()[own.start * n..own.end * n], out);
            }
            Digit::Bits(limb, field) => {
                let modulus = self.context.extended(self.limbs).limbs()[i].modulus();
                let residues = poly.limb(*limb);
                if field.greatest < modulus.value() {
                    balanced_residues(self.context.isa(), residues, *field, modulus.value(), out);
                } else {
                    // Digits larger than a prime: what is cut are parts of ciphertexts, so divisions may take their time.
                    out.iter_mut().zip(residues).for_each(|(out, &x)| *out = modulus.reduce_signed(field.digit(x)));
                }
            }
        }
    }
}

impl Context {
    /// The digits of `poly` (1 to L limbs), transformed.
    ///
    /// # Panics
    /// If [`digit_count`](Self::digit_count) refuses the gadget or the number of limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let key = keys.get(3).expect("generated");
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let digits = context.decompose(&x.parts()[1], key.gadget());
    /// let [_, sum] = context.key_switch_extended(&digits, key, 1);
    /// assert_eq!(sum.limb_count(), context.extended(top).len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decompose(&self, poly: &RnsPoly<Coefficients>, gadget: Gadget) -> HoistedDigits {
        let limbs = poly.limb_count();
        let cut = Cut::new(self, gadget, limbs);
        let extended = self.extended(limbs);
        let digit = |j| {
            let mut digit = extended.zero();
            for (i, (limb, out)) in extended.limbs().iter().zip(digit.limbs_mut()).enumerate() {
                cut.residues(poly, j, i, out);
                limb.engine().forward_in_place(out);
            }
            digit
        };
        HoistedDigits { limbs, gadget, digits: (0..cut.len()).map(digit).collect() }
    }
}

/// One balanced digit of residues modulo q, centred.
///
/// With B/2 at the place of every digit but the last in `offset`, the carries of balancing are those of one addition:
/// the digit is a field of x + offset, less B/2; the last digit is the rest above them. As x is at most q/2 < 2^61 in
/// magnitude, and the offset below the last digit's unit, at most 2^61, nothing overflows.
///
/// # Example
/// ```
/// use ciphermill_bfv::keyswitch::digits::{BitField, balanced_digits};
/// use ciphermill_math::{Isa, Modulus};
///
/// // 30 = −2 + 2·16, and 90 is −7 modulo 97.
/// let mut digits = [[0; 2]; 2];
/// for (index, out) in digits.iter_mut().enumerate() {
///     let field = BitField::new(Modulus::new(97)?, 4, index as u32, 2);
///     balanced_digits(Isa::current(), &[30, 90], field, out);
/// }
/// assert_eq!(digits, [[-2, -7], [2, 0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BitField {
    q: u64,
    offset: i64,
    shift: u32,
    /// Of the field; all ones for the last digit.
    mask: i64,
    /// B/2, or 0 for the last digit.
    half: i64,
    /// B/2: no digit is greater in magnitude.
    greatest: u64,
}

impl BitField {
    /// Digit `index` of `count` in base 2^`base_log`, the least significant first.
    pub fn new(q: Modulus, base_log: u32, index: u32, count: u32) -> Self {
        let last = index + 1 == count;
        let half = 1i64 << (base_log - 1);
        Self {
            q: q.value(),
            offset: (0..count - 1).map(|i| half << (base_log * i)).sum(),
            shift: base_log * index,
            mask: if last { -1 } else { 2 * half - 1 },
            half: if last { 0 } else { half },
            greatest: half as u64,
        }
    }

    /// The digit of x ∈ [0, q).
    #[inline(always)]
    fn digit(self, x: u64) -> i64 {
        let negative = ((self.q / 2).wrapping_sub(x) as i64) >> 63;
        let centred = (x as i64).wrapping_sub(self.q as i64 & negative);
        ((centred.wrapping_add(self.offset) >> self.shift) & self.mask).wrapping_sub(self.half)
    }
}

multiversion! {
    /// The digit of each of `residues`; no branch or index depends on them.
    pub fn balanced_digits(isa, residues: &[u64], field: BitField, out: &mut [i64]) {
        for (out, &x) in out.iter_mut().zip(residues) {
            *out = field.digit(x);
        }
    }
}

multiversion! {
    /// The same modulo p, which is above the greatest digit.
    fn balanced_residues(isa, residues: &[u64], field: BitField, p: u64, out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(residues) {
            // A negative word is a large one.
            let digit = field.digit(x) as u64;
            *out = digit.min(digit.wrapping_add(p));
        }
    }
}
