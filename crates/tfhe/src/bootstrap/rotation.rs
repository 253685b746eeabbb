//! One blind rotation on one thread, and the steps that all strategies share.

use ciphermill_lattice::Torus;

use super::key::TransformedKey;
use super::{Domain, Rotation};
use crate::error::{TfheError, require_equal};
use crate::glwe::GlweCiphertext;
use crate::memory::AlignedBuffer;

/// Working memory of one thread.
pub(super) struct Workspace<T: Torus, D: Domain<T>> {
    /// N elements.
    pub(super) difference: AlignedBuffer<D::Element>,
    /// l spectra.
    pub(super) digits: AlignedBuffer<D::Point>,
    /// k+1 spectra.
    pub(super) sums: AlignedBuffer<D::Point>,
}

impl<T: Torus, D: Domain<T>> TransformedKey<T, D> {
    pub(super) fn workspace(&self) -> Workspace<T, D> {
        let n = self.polynomial_size();
        Workspace {
            difference: AlignedBuffer::zeroed(n),
            digits: AlignedBuffer::zeroed(self.shape.decomposition.level_count.0 * n),
            sums: AlignedBuffer::zeroed(self.shape.row_len()),
        }
    }

    /// X^(−body) · accumulator: where a rotation starts.
    pub(super) fn start(&self, rotation: Rotation<'_, T>) -> Result<AlignedBuffer<D::Element>, TfheError> {
        self.check(rotation.accumulator)?;
        require_equal("exponents (mask and body)", rotation.exponents.len(), self.count + 1)?;
        let n = self.polynomial_size();
        let coefficients = rotation.accumulator.coefficients();
        let mut entered = AlignedBuffer::zeroed(coefficients.len());
        self.domain.enter(coefficients, &mut entered);
        let mut acc = AlignedBuffer::zeroed(coefficients.len());
        let exponent = (2 * n - rotation.exponents[self.count] % (2 * n)) % (2 * n);
        for (from, to) in entered.chunks_exact(n).zip(acc.chunks_exact_mut(n)) {
            self.domain.rotate(from, exponent, to);
        }
        Ok(acc)
    }

    /// The `index`-th CMux: acc += GGSW_index ⊡ (X^exponent − 1)·acc.
    pub(super) fn step(&self, index: usize, exponent: usize, acc: &mut [D::Element], workspace: &mut Workspace<T, D>) {
        // The exponents are public, so skipping a zero reveals nothing.
        if exponent == 0 {
            return;
        }
        let n = self.polynomial_size();
        let Workspace { difference, digits, sums } = workspace;
        for (c, polynomial) in acc.chunks_exact(n).enumerate() {
            self.domain.rotated_difference(polynomial, exponent, difference);
            self.domain.multiply_component(difference, self.component(index, c), sums, c > 0, digits);
        }
        for (sum, polynomial) in sums.chunks_exact_mut(n).zip(acc.chunks_exact_mut(n)) {
            self.domain.inverse_add(sum, polynomial);
        }
    }

    /// The accumulator as a ciphertext.
    pub(super) fn leave(&self, acc: &[D::Element]) -> Result<GlweCiphertext<T>, TfheError> {
        let mut torus = vec![T::ZERO; acc.len()];
        self.domain.leave(acc, &mut torus);
        GlweCiphertext::from_coefficients(torus, self.shape.polynomial_size)
    }

    /// One rotation on this thread.
    pub(super) fn rotate_alone(&self, rotation: Rotation<'_, T>) -> Result<GlweCiphertext<T>, TfheError> {
        let mut acc = self.start(rotation)?;
        let mut workspace = self.workspace();
        for (index, &exponent) in rotation.exponents[..self.count].iter().enumerate() {
            self.step(index, exponent, &mut acc, &mut workspace);
        }
        self.leave(&acc)
    }

    /// External product with the `index`-th ciphertext.
    pub(super) fn multiply(&self, index: usize, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError> {
        self.check(glwe)?;
        if index >= self.count {
            let max = self.count as u64 - 1;
            return Err(TfheError::Field { what: "index of the GGSW ciphertext", given: index as u64, min: 0, max });
        }
        let n = self.polynomial_size();
        let mut input = AlignedBuffer::zeroed(glwe.coefficients().len());
        self.domain.enter(glwe.coefficients(), &mut input);
        let Workspace { mut digits, mut sums, .. } = self.workspace();
        for (c, polynomial) in input.chunks_exact(n).enumerate() {
            self.domain.multiply_component(polynomial, self.component(index, c), &mut sums, c > 0, &mut digits);
        }
        let mut out = AlignedBuffer::zeroed(input.len());
        for (sum, polynomial) in sums.chunks_exact_mut(n).zip(out.chunks_exact_mut(n)) {
            self.domain.inverse_add(sum, polynomial);
        }
        self.leave(&out)
    }
}
