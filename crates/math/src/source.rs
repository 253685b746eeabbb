//! Sources of a transform's coefficients.

/// A polynomial whose coefficients are produced on demand, block by block.
///
/// A forward transform reads each coefficient exactly once, in blocks that it chooses, so a source can rotate, subtract
/// or decompose while the transform's first pass loads.
///
/// # Example
/// A polynomial times X, modulo X^N + 1 and p:
/// ```
/// use ciphermill_math::ntt::prime_engine;
/// use ciphermill_math::{CoefficientSource, Isa};
///
/// struct TimesX(Vec<u64>);
///
/// impl CoefficientSource<u64> for TimesX {
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///     fn read(&self, start: usize, out: &mut [u64]) {
///         for (i, value) in out.iter_mut().enumerate() {
///             *value = match start + i {
///                 0 => (7681 - self.0[self.0.len() - 1]) % 7681,
///                 i => self.0[i - 1],
///             };
///         }
///     }
/// }
///
/// let engine = prime_engine(256, 7681, Isa::current())?;
/// let mut values = vec![0; 256];
/// engine.forward(&TimesX((0..256).collect()), &mut values);
/// engine.inverse_in_place(&mut values);
/// assert_eq!(values[..4], [7681 - 255, 0, 1, 2]);
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
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

    /// The coefficients in a form that a transform can compute in registers, as an alternative to [`read`](Self::read).
    /// Both must agree.
    fn view(&self) -> SourceView<'_, T> {
        SourceView::Opaque
    }
}

/// A source's own description of its coefficients.
#[derive(Clone, Copy, Debug)]
pub enum SourceView<'a, T> {
    /// Only [`CoefficientSource::read`] returns the coefficients.
    Opaque,
    /// The coefficients are in memory.
    Slice(&'a [T]),
    /// Each coefficient is one digit of a 64-bit word.
    Digits(&'a [u64], BalancedDigit),
    /// Each coefficient is one digit of a 32-bit word, which is the upper half of 64 bits.
    Digits32(&'a [u32], BalancedDigit),
    /// Each coefficient is one digit of ⌊x·2^64/p⌋ for a residue x modulo the Goldilocks prime p. That is x + ⌊(x −
    /// 1)/2^32⌋ for x > 0, and 0 for 0. The lowest set bit of `offset` lies below the field, so rounding makes 0 and −1
    /// the same.
    ResidueDigits(&'a [u64], BalancedDigit),
}

/// One digit of a balanced decomposition: d = (((x + offset) mod 2^64) >> shift & mask) − half, in
/// \[−half, half − 1\] for mask = 2·half − 1.
///
/// `offset` has B/2 at every digit's place, and half a step for rounding. So one addition does all carries of
/// balancing, and the digits are independent of each other. Over Z_p a negative digit d is p + d.
///
/// # Example
/// ```
/// use ciphermill_math::BalancedDigit;
///
/// // The upper digit of base 2^8: x rounded to 8 bits, in [−128, 127].
/// let digit = BalancedDigit { offset: (128 << 56) + (1 << 55), shift: 56, mask: 255, half: 128 };
/// assert_eq!(digit.extract(5 << 56), 5);
/// assert_eq!(digit.extract((5 << 56) + (1 << 55)), 6);
/// assert_eq!(digit.extract(255 << 56), -1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancedDigit {
    /// The number that is added before the field is cut out.
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
