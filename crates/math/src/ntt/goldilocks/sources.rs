//! Sources of coefficients that the first pass computes in registers.

use super::lanes::Lanes;
use crate::goldilocks::EPSILON;
use crate::{BalancedDigit, CoefficientSource, SourceView};

/// A source from which the first pass loads vectors of canonical coefficients.
pub(super) trait Coefficients: Copy {
    /// The coefficients `index` … `index + LANES − 1`.
    ///
    /// # Safety
    /// The CPU has the features of `V`; the coefficients exist.
    unsafe fn load<V: Lanes>(self, index: usize) -> V;
}

/// Coefficients in memory.
#[derive(Clone, Copy)]
pub(super) struct Words(pub(super) *const u64);

/// Digits of 64-bit words.
#[derive(Clone, Copy)]
pub(super) struct Digits(pub(super) *const u64, pub(super) BalancedDigit);

/// Digits of 32-bit words.
#[derive(Clone, Copy)]
pub(super) struct Digits32(pub(super) *const u32, pub(super) BalancedDigit);

/// Digits of residues.
#[derive(Clone, Copy)]
pub(super) struct ResidueDigits(pub(super) *const u64, pub(super) BalancedDigit);

/// The digit of each lane; a negative digit d is p + d.
#[inline(always)]
fn digit<V: Lanes>(x: V, digit: BalancedDigit) -> V {
    let field = x.wrapping_add(x.same(digit.offset)).shr(digit.shift).and(x.same(digit.mask));
    field.sub_lazy(x.same(digit.half))
}

impl Coefficients for Words {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, index: usize) -> V {
        // SAFETY: the caller's contract.
        unsafe { V::load(self.0.add(index)) }
    }
}

impl Coefficients for Digits {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, index: usize) -> V {
        // SAFETY: the caller's contract.
        unsafe { digit(V::load(self.0.add(index)), self.1) }
    }
}

impl Coefficients for Digits32 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, index: usize) -> V {
        // SAFETY: the caller's contract.
        unsafe { digit(V::load_upper_halves(self.0.add(index)), self.1) }
    }
}

impl Coefficients for ResidueDigits {
    /// ⌊(x − 1)/2^32⌋ is ⌊(x + ε)/2^32⌋ − 1 for x > 0. For x = 0 the difference is below the field.
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, index: usize) -> V {
        // SAFETY: the caller's contract.
        let x = unsafe { V::load(self.0.add(index)) };
        let upper = x.wrapping_add(x.same(EPSILON)).shr(32);
        digit(x.wrapping_add(upper), BalancedDigit { offset: self.1.offset.wrapping_sub(1), ..self.1 })
    }
}

/// A source whose coefficients can be loaded, or one that only [`CoefficientSource::read`] can read.
pub(super) enum Known<'a> {
    Words(Words),
    Digits(Digits),
    Digits32(Digits32),
    ResidueDigits(ResidueDigits),
    Opaque(&'a dyn CoefficientSource<u64>),
}

impl<'a> Known<'a> {
    /// The source, with a pointer to a slice of `n` coefficients; without a source, the pointer `words`.
    ///
    /// # Panics
    /// If the source describes more or fewer than `n` coefficients. Its `len` is not used, because it may return a
    /// different number at every call.
    pub(super) fn of(source: Option<&'a dyn CoefficientSource<u64>>, n: usize, words: *const u64) -> Self {
        let Some(source) = source else {
            return Known::Words(Words(words));
        };
        let (len, known) = match source.view() {
            SourceView::Slice(x) => (x.len(), Known::Words(Words(x.as_ptr()))),
            SourceView::Digits(x, digit) => (x.len(), Known::Digits(Digits(x.as_ptr(), digit))),
            SourceView::Digits32(x, digit) => (x.len(), Known::Digits32(Digits32(x.as_ptr(), digit))),
            SourceView::ResidueDigits(x, digit) => (x.len(), Known::ResidueDigits(ResidueDigits(x.as_ptr(), digit))),
            SourceView::Opaque => return Known::Opaque(source),
        };
        assert_eq!(len, n, "number of coefficients that the source describes");
        known
    }
}
