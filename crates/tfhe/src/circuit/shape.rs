//! Sizes of conversion keys.

use crate::dimension::{Decomposition, PolynomialSize};

/// The sizes of a conversion key.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let shape = parameters.conversion_shape().ok_or("a set with words")?;
/// // N' = 2·256, with log2(N') automorphisms of 6 levels and 4 levels of the scheme switch.
/// assert_eq!((shape.polynomial_size.get(), shape.automorphisms(), shape.row_count()), (512, 9, 9 * 6 + 4));
/// assert_eq!((shape.exponent(0), shape.exponent(8)), (513, 3));
/// assert!(!shape.is_empty() && shape.len() == 2 * shape.bodies_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionShape {
    /// N' = k·N.
    pub polynomial_size: PolynomialSize,
    /// The gadget of the trace.
    pub trace: Decomposition,
    /// The gadget of the scheme switch.
    pub square: Decomposition,
}

impl ConversionShape {
    /// log2(N'), the automorphisms of the trace.
    pub fn automorphisms(&self) -> usize {
        self.polynomial_size.log2() as usize
    }

    /// The exponent t of the `index`-th automorphism X ↦ X^t: N'/2^index + 1.
    pub fn exponent(&self, index: usize) -> usize {
        (self.polynomial_size.get() >> index) + 1
    }

    /// All rows: those of the trace, automorphism by automorphism, then those of the scheme switch.
    pub fn row_count(&self) -> usize {
        self.automorphisms() * self.trace.level_count.0 + self.square.level_count.0
    }

    /// All coefficients, two polynomials a row.
    pub fn len(&self) -> usize {
        2 * self.bodies_len()
    }

    /// Whether it holds no coefficient; it never does for a valid parameter set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The coefficients of the bodies, which a seeded key holds.
    pub fn bodies_len(&self) -> usize {
        self.row_count() * self.polynomial_size.get()
    }

    /// The polynomial that a row hides, and its level, which counts from 1.
    pub(super) fn row(&self, row: usize) -> (Option<usize>, usize) {
        let levels = self.trace.level_count.0;
        match row.checked_sub(self.automorphisms() * levels) {
            None => (Some(row / levels), row % levels + 1),
            Some(row) => (None, row + 1),
        }
    }
}
