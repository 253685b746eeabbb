//! Several blind rotations in one pass over the key.
//!
//! Each GGSW ciphertext is read from memory for the first rotations of a batch and from a cache for the others, by two
//! rotations at a time.

use ciphermill_lattice::Torus;
use rayon::prelude::*;

use super::key::TransformedKey;
use super::rotation::Workspace;
use super::{Domain, Rotation};
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;

/// Rotations that share a pass. Each needs memory for its accumulator, (k+1)·N elements (256 KiB at the paper's
/// dimensions), which all lie in the caches; larger batches are split, so that memory stays bounded.
pub(crate) const MAX_LOCKSTEP: usize = 16;

/// Shares jobs among the threads of the current Rayon pool. `run` receives either several jobs and one thread, up to
/// [`MAX_LOCKSTEP`] jobs that share a pass over the key, or one job and several threads. Every thread runs as many jobs as
/// every other; jobs that are left over, too few to give each thread one, are shared by several threads each.
pub(crate) fn share_among_threads<J: Sync, O: Send>(
    jobs: &[J],
    run: impl Fn(&[J], usize) -> Result<Vec<O>, TfheError> + Sync,
) -> Result<Vec<O>, TfheError> {
    let threads = rayon::current_num_threads();
    let (even, rest) = jobs.split_at(jobs.len() - jobs.len() % threads);
    let chunks = |jobs: &[J], together: usize, threads: usize| {
        jobs.par_chunks(together).map(|jobs| run(jobs, threads)).collect::<Result<Vec<_>, _>>()
    };
    let even = chunks(even, (even.len() / threads).clamp(1, MAX_LOCKSTEP), 1)?;
    let rest = chunks(rest, 1, threads / rest.len().max(1))?;
    Ok(even.into_iter().chain(rest).flatten().collect())
}

impl<T: Torus, D: Domain<T>> TransformedKey<T, D> {
    /// Each rotation, in order, on this thread.
    pub(super) fn rotate_in_lockstep(
        &self,
        rotations: &[Rotation<'_, T>],
    ) -> Result<Vec<GlweCiphertext<T>>, TfheError> {
        let mut workspaces = [self.workspace(), self.workspace()];
        let mut results = Vec::with_capacity(rotations.len());
        for rotations in rotations.chunks(MAX_LOCKSTEP) {
            let mut accs = rotations.iter().map(|&rotation| self.start(rotation)).collect::<Result<Vec<_>, _>>()?;
            for index in 0..self.count {
                for (rotations, accs) in rotations.chunks(2).zip(accs.chunks_mut(2)) {
                    match (rotations, accs) {
                        ([r0, r1], [a0, a1]) if r0.exponents[index] != 0 && r1.exponents[index] != 0 => {
                            let exponents = [r0.exponents[index], r1.exponents[index]];
                            self.step_pair(index, exponents, [a0, a1], &mut workspaces);
                        }
                        (rotations, accs) => {
                            for (rotation, acc) in rotations.iter().zip(accs) {
                                self.step(index, rotation.exponents[index], acc, &mut workspaces[0]);
                            }
                        }
                    }
                }
            }
            for acc in &accs {
                results.push(self.leave(acc)?);
            }
        }
        Ok(results)
    }

    /// [`step`](Self::step) for two accumulators at once, neither exponent being 0.
    fn step_pair(
        &self,
        index: usize,
        exponents: [usize; 2],
        mut accs: [&mut [D::Element]; 2],
        [w0, w1]: &mut [Workspace<T, D>; 2],
    ) {
        let n = self.polynomial_size();
        for c in 0..self.components() {
            self.domain.rotated_difference(&accs[0][c * n..][..n], exponents[0], &mut w0.difference);
            self.domain.rotated_difference(&accs[1][c * n..][..n], exponents[1], &mut w1.difference);
            self.domain.multiply_component_pair(
                [&w0.difference, &w1.difference],
                self.component(index, c),
                [&mut w0.sums, &mut w1.sums],
                c > 0,
                [&mut w0.digits, &mut w1.digits],
            );
        }
        for (acc, sums) in accs.iter_mut().zip([&mut w0.sums, &mut w1.sums]) {
            for (sum, polynomial) in sums.chunks_exact_mut(n).zip(acc.chunks_exact_mut(n)) {
                self.domain.inverse_add(sum, polynomial);
            }
        }
    }
}
