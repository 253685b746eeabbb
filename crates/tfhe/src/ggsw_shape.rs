//! Sizes of GGSW ciphertexts.

use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};

/// The sizes of one GGSW ciphertext.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // k = 1, l = 5 and N = 1024: 10 rows of 2 polynomials.
/// let shape = ggsw::GgswShape {
///     glwe_dimension: GlweDimension(1),
///     polynomial_size: PolynomialSize::new(1024)?,
///     decomposition: Decomposition::new(9, 5),
/// };
/// assert_eq!((shape.row_count(), shape.row_len(), shape.len()), (10, 2 * 1024, 10 * 2 * 1024));
/// assert_eq!((shape.mask_len(), shape.bodies_len(), shape.is_empty()), (1024, 10 * 1024, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgswShape {
    /// k.
    pub glwe_dimension: GlweDimension,
    /// N.
    pub polynomial_size: PolynomialSize,
    /// B and l.
    pub decomposition: Decomposition,
}

impl GgswShape {
    /// (k+1)·l, the number of GLWE rows.
    pub fn row_count(&self) -> usize {
        self.glwe_dimension.glwe_size() * self.decomposition.level_count.0
    }

    /// (k+1)·N, the coefficients of a row.
    pub fn row_len(&self) -> usize {
        self.glwe_dimension.glwe_size() * self.polynomial_size.get()
    }

    /// (k+1)²·l·N, all coefficients.
    pub fn len(&self) -> usize {
        self.row_count() * self.row_len()
    }

    /// Whether it holds no coefficient; it always does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (k+1)·l·N, the coefficients of the bodies alone, which a seeded GGSW stores.
    pub fn bodies_len(&self) -> usize {
        self.row_count() * self.polynomial_size.get()
    }

    /// k·N, the mask coefficients of a row.
    pub fn mask_len(&self) -> usize {
        self.glwe_dimension.0 * self.polynomial_size.get()
    }
}
