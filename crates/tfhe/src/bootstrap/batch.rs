//! Several blind rotations in one pass over the key.
//!
//! Each GGSW ciphertext is read from memory for the first rotation of a batch and from a cache for the others.

use ciphermill_lattice::Torus;

use super::key::TransformedKey;
use super::{Domain, Rotation};
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;

/// Rotations that share a pass. Each needs memory for its accumulator, (k+1)·N elements (256 KiB at the paper's
/// dimensions), which all lie in the caches; larger batches are split, so that memory stays bounded.
pub(crate) const MAX_LOCKSTEP: usize = 16;

impl<T: Torus, D: Domain<T>> TransformedKey<T, D> {
    /// Each rotation, in order, on this thread.
    pub(super) fn rotate_in_lockstep(
        &self,
        rotations: &[Rotation<'_, T>],
    ) -> Result<Vec<GlweCiphertext<T>>, TfheError> {
        let mut workspace = self.workspace();
        let mut results = Vec::with_capacity(rotations.len());
        for rotations in rotations.chunks(MAX_LOCKSTEP) {
            let mut accs = rotations.iter().map(|&rotation| self.start(rotation)).collect::<Result<Vec<_>, _>>()?;
            for index in 0..self.count {
                for (rotation, acc) in rotations.iter().zip(&mut accs) {
                    self.step(index, rotation.exponents[index], acc, &mut workspace);
                }
            }
            for acc in &accs {
                results.push(self.leave(acc)?);
            }
        }
        Ok(results)
    }
}
