//! Where a transform takes its coefficients from.

/// A polynomial whose coefficients are produced on demand, block by block.
///
/// A forward transform reads each coefficient exactly once, in blocks that it chooses, so a source can rotate, subtract
/// or decompose while the transform's first pass loads.
pub trait CoefficientSource<T: Copy> {
    /// Number of coefficients.
    fn len(&self) -> usize;

    /// Whether the polynomial has no coefficients.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the coefficients `start..start + out.len()` to `out`.
    ///
    /// # Panics
    /// If `start + out.len() > self.len()`: a caller's error, never an effect of outside input.
    fn read(&self, start: usize, out: &mut [T]);

    /// What the coefficients are, where a transform can make better use of that than of [`read`](Self::read): it then
    /// computes them in registers. Both must agree.
    fn view(&self) -> SourceView<'_, T> {
        SourceView::Opaque
    }
}

/// A source's own description of its coefficients.
#[derive(Clone, Copy, Debug)]
pub enum SourceView<'a, T> {
    /// Only [`CoefficientSource::read`] tells.
    Opaque,
    /// They lie in memory.
    Slice(&'a [T]),
    /// Each is one digit of a 64-bit word.
    Digits(&'a [u64], BalancedDigit),
    /// Each is one digit of a 32-bit word, taken as the upper half of 64 bits.
    Digits32(&'a [u32], BalancedDigit),
    /// Each is one digit of ⌊x·2^64/p⌋ for a residue x modulo the Goldilocks prime p: of x + ⌊(x − 1)/2^32⌋ for x > 0
    /// and of 0 for 0. The lowest set bit of `offset` lies below the field, so that rounding makes 0 and −1 the same.
    ResidueDigits(&'a [u64], BalancedDigit),
}

/// One digit of a balanced decomposition: d = (((x + offset) mod 2^64) >> shift & mask) − half, in
/// \[−half, half − 1\] for mask = 2·half − 1.
///
/// With B/2 at every digit's place (and half a step for rounding) in `offset`, the carries of balancing are those of one
/// addition, and the digits are independent of each other. Over Z_p a negative digit d stands for p + d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancedDigit {
    /// Added before the field is cut out.
    pub offset: u64,
    /// Lowest bit of the field.
    pub shift: u32,
    /// 2·half − 1.
    pub mask: u64,
    /// B/2.
    pub half: u64,
}

impl BalancedDigit {
    /// The digit of `x`.
    #[inline(always)]
    pub const fn extract(self, x: u64) -> i64 {
        (x.wrapping_add(self.offset) >> self.shift & self.mask) as i64 - self.half as i64
    }
}

impl<T: Copy> CoefficientSource<T> for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn read(&self, start: usize, out: &mut [T]) {
        out.copy_from_slice(&self[start..start + out.len()]);
    }

    fn view(&self) -> SourceView<'_, T> {
        SourceView::Slice(self)
    }
}

impl<T: Copy> CoefficientSource<T> for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn read(&self, start: usize, out: &mut [T]) {
        self.as_slice().read(start, out);
    }

    fn view(&self) -> SourceView<'_, T> {
        SourceView::Slice(self)
    }
}
