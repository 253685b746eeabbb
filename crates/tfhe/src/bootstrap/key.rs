//! The transformed key: how it is kept, and how it is made from GGSW ciphertexts that arrive in batches.

use std::fmt::Debug;
use std::marker::PhantomData;

use ciphermill_lattice::Torus;
use rayon::prelude::*;

use super::{BlindRotation, Builder, Domain, Rotation};
use crate::error::{TfheError, require_equal};
use crate::ggsw_shape::GgswShape;
use crate::glwe::GlweCiphertext;
use crate::memory::AlignedBuffer;

/// A transformed bootstrapping key: `count` GGSW ciphertexts of k+1 components, each of which the domain keeps in the order
/// in which blind rotation reads it.
pub(super) struct TransformedKey<T: Torus, D: Domain<T>> {
    pub(super) domain: D,
    pub(super) shape: GgswShape,
    pub(super) count: usize,
    filled: usize,
    words: AlignedBuffer<D::Word>,
    torus: PhantomData<T>,
}

impl<T: Torus, D: Domain<T>> Debug for TransformedKey<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TransformedKey({:?}, {} ciphertexts of {:?})", self.domain, self.count, self.shape)
    }
}

/// A builder for `count` ciphertexts.
///
/// # Errors
/// [`TfheError::Memory`].
pub(super) fn builder<T: Torus, D: Domain<T>>(
    domain: D,
    shape: GgswShape,
    count: usize,
) -> Result<Box<dyn Builder<T>>, TfheError> {
    let len = count * shape.glwe_dimension.glwe_size() * domain.component_len(shape);
    // It grows with what is pushed: a key that only claims to be large costs no memory.
    let words = AlignedBuffer::try_with_capacity("the transformed bootstrapping key", len)?;
    Ok(Box::new(TransformedKey { domain, shape, count, filled: 0, words, torus: PhantomData }))
}

impl<T: Torus, D: Domain<T>> TransformedKey<T, D> {
    /// k+1.
    pub(super) fn components(&self) -> usize {
        self.shape.glwe_dimension.glwe_size()
    }

    /// N.
    pub(super) fn polynomial_size(&self) -> usize {
        self.shape.polynomial_size.get()
    }

    /// The rows of one component of the `index`-th ciphertext.
    pub(super) fn component(&self, index: usize, component: usize) -> &[D::Word] {
        let len = self.domain.component_len(self.shape);
        &self.words[(index * self.components() + component) * len..][..len]
    }

    /// Whether a ciphertext is of this key's sizes.
    pub(super) fn check(&self, glwe: &GlweCiphertext<T>) -> Result<(), TfheError> {
        require_equal("GLWE dimension of the ciphertext", glwe.dimension().0, self.shape.glwe_dimension.0)?;
        require_equal("polynomial size of the ciphertext", glwe.polynomial_size().get(), self.polynomial_size())
    }
}

impl<T: Torus, D: Domain<T>> Builder<T> for TransformedKey<T, D> {
    fn push(&mut self, rows: &[T]) -> Result<(), TfheError> {
        let shape = self.shape;
        require_equal("remainder of the batch by a ciphertext's size", rows.len() % shape.len(), 0)?;
        let pushed = rows.len() / shape.len();
        let room = self.count - self.filled;
        if pushed > room {
            return Err(TfheError::Mismatch { what: "GGSW ciphertexts", given: pushed as u64, expected: room as u64 });
        }
        let len = self.domain.component_len(shape);
        let start = self.filled * self.components() * len;
        self.words.grow(start + pushed * self.components() * len);
        let domain = &self.domain;
        let component_coefficients = shape.len() / shape.glwe_dimension.glwe_size();
        self.words[start..].par_chunks_exact_mut(len).zip(rows.par_chunks_exact(component_coefficients)).for_each_init(
            || AlignedBuffer::zeroed(component_coefficients),
            |spectra, (component, rows)| domain.transform_component(rows, spectra, component),
        );
        self.filled += pushed;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn BlindRotation<T>>, TfheError> {
        require_equal("GGSW ciphertexts of the bootstrapping key", self.filled, self.count)?;
        Ok(self)
    }
}

impl<T: Torus, D: Domain<T>> BlindRotation<T> for TransformedKey<T, D> {
    fn blind_rotate(&self, rotation: Rotation<'_, T>, threads: usize) -> Result<GlweCiphertext<T>, TfheError> {
        let digits = self.shape.decomposition.level_count.0 * self.polynomial_size();
        if threads > 1 && digits >= D::TEAM_DIGITS {
            self.rotate_in_team(rotation, threads)
        } else {
            self.rotate_alone(rotation)
        }
    }

    fn blind_rotate_batch(&self, rotations: &[Rotation<'_, T>]) -> Result<Vec<GlweCiphertext<T>>, TfheError> {
        self.rotate_in_lockstep(rotations)
    }

    fn external_product(&self, index: usize, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError> {
        self.multiply(index, glwe)
    }

    fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }
}
