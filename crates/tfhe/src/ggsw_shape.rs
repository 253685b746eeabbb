//! Sizes of GGSW ciphertexts.

use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};

/// The sizes of one GGSW ciphertext.
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
