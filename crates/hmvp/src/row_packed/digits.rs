//! Cutting polynomials at the top level into digits, in memory of the caller.

use ciphermill_lattice::rns::BaseConverter;
use ciphermill_math::multiversion;

use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keyswitch::digits::{BitField, balanced_digits};
use ciphermill_bfv::keyswitch::{Gadget, limb_digits};

/// The digits of one gadget.
#[derive(Clone, Debug)]
pub(crate) struct Digits {
    context: Context,
    pub(super) digits: Vec<Digit>,
}

/// One digit, and the gadget entry that it is multiplied with: 2^`shift` modulo `limbs`, 0 modulo the others.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    pub(super) limbs: std::ops::Range<usize>,
    pub(super) shift: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Limbs(BaseConverter),
    Bits(BitField),
}

impl Digits {
    /// Of `gadget`.
    ///
    /// # Errors
    /// If it does not fit the parameter set.
    pub(crate) fn new(context: &Context, gadget: Gadget) -> Result<Self, BfvError> {
        let top = context.top();
        context.digit_count(gadget, top)?;
        let basis = context.basis(top);
        let digits = match gadget {
            Gadget::Limbs { limbs_per_digit } => {
                let digit = |first| {
                    let limbs = first..top.min(first + limbs_per_digit);
                    let converter = BaseConverter::new(&basis.slice(limbs.clone()), context.chain());
                    Digit { limbs, shift: 0, kind: Kind::Limbs(converter) }
                };
                (0..top).step_by(limbs_per_digit).map(digit).collect()
            }
            Gadget::Bits { base_log } => {
                let digits = basis.moduli().enumerate().flat_map(|(limb, q)| {
                    let count = limb_digits(q.bits(), base_log);
                    (0..count).map(move |index| {
                        let field = BitField::new(q, base_log.0 as u32, index as u32, count as u32);
                        Digit { limbs: limb..limb + 1, shift: index * base_log.0, kind: Kind::Bits(field) }
                    })
                });
                digits.collect()
            }
        };
        Ok(Self { context: context.clone(), digits })
    }

    /// The number of digits.
    pub(crate) fn len(&self) -> usize {
        self.digits.len()
    }

    /// The digits of the polynomial that `words` are the limbs of, one after another, each over the whole chain. `signed`
    /// has room for N numbers.
    pub(crate) fn cut(&self, words: &[u64], signed: &mut [i64], out: &mut [u64]) {
        let (n, chain) = (self.context.n(), self.context.chain());
        for (digit, out) in self.digits.iter().zip(out.chunks_exact_mut(chain.len() * n)) {
            let words = &words[digit.limbs.start * n..digit.limbs.end * n];
            match &digit.kind {
                Kind::Limbs(converter) => converter.convert_words(words, out),
                Kind::Bits(field) => {
                    balanced_digits(self.context.isa(), words, *field, signed);
                    for (p, out) in chain.moduli().zip(out.chunks_exact_mut(n)) {
                        lift(self.context.isa(), signed, p.value(), out);
                    }
                }
            }
        }
    }
}

multiversion! {
    /// out ← x modulo p, for |x| < p.
    fn lift(isa, x: &[i64], p: u64, out: &mut [u64]) {
        for (out, &x) in out.iter_mut().zip(x) {
            // A negative word is a large one.
            *out = (x as u64).min((x as u64).wrapping_add(p));
        }
    }
}
