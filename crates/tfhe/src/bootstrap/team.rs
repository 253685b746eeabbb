//! One blind rotation on several threads.
//!
//! Each party owns some components of the accumulator, and the key's rows and columns of the same numbers. A step is:
//!
//! 1. For each own component, the digits' transforms and their products with the rows of that component, all columns:
//!    a partial sum, which is published.
//! 2. A barrier.
//! 3. For each own column, the sum of the published parts of all components, and its inverse transform, added to the
//!    own component.
//!
//! So the parties exchange k+1 spectra each and nothing else, and read disjoint halves (thirds, …) of the key. Published sums
//! alternate between two places: a party that writes the next step's has passed the barrier behind which everyone has read
//! those of the step before, so that one barrier a step is enough. The sums are formed and added as on one thread.

use std::sync::{PoisonError, RwLock};

use ciphermill_lattice::Torus;

use super::key::TransformedKey;
use super::rotation::Workspace;
use super::{Domain, Rotation};
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;
use crate::memory::AlignedBuffer;

mod barrier;

use barrier::{Barrier, Broken};

/// Partial sums by parity of the step and component: k+1 spectra each.
type Published<P> = [Vec<RwLock<AlignedBuffer<P>>>; 2];

/// The components of one party, with their numbers.
type Owned<'a, E> = Vec<(usize, &'a mut [E])>;

impl<T: Torus, D: Domain<T>> TransformedKey<T, D> {
    /// One rotation on up to `threads` threads, this one among them.
    pub(super) fn rotate_in_team(
        &self,
        rotation: Rotation<'_, T>,
        threads: usize,
    ) -> Result<GlweCiphertext<T>, TfheError> {
        let (n, components) = (self.polynomial_size(), self.components());
        let parties = threads.min(components);
        let mut acc = self.start(rotation)?;
        // Party p has the components p, p + parties, …
        let mut owned: Vec<Owned<'_, D::Element>> = (0..parties).map(|_| Vec::new()).collect();
        for (c, polynomial) in acc.chunks_exact_mut(n).enumerate() {
            owned[c % parties].push((c, polynomial));
        }
        let place = || RwLock::new(AlignedBuffer::zeroed(components * n));
        let published: Published<D::Point> =
            std::array::from_fn(|_| std::iter::repeat_with(place).take(components).collect());
        let barrier = Barrier::new(parties);
        let exponents = &rotation.exponents[..self.count];
        let mut owned = owned.into_iter();
        let own = owned.next().unwrap_or_default();
        let whole = std::thread::scope(|scope| {
            let (published, barrier) = (&published, &barrier);
            for polynomials in owned {
                let party = move || self.play(exponents, polynomials, published, barrier).is_ok();
                let name = std::thread::Builder::new().name("blind-rotation".to_owned());
                if name.spawn_scoped(scope, party).is_err() {
                    // The others leave, and one thread does it all.
                    barrier.break_up();
                    return false;
                }
            }
            self.play(exponents, own, published, barrier).is_ok()
        });
        if whole { self.leave(&acc) } else { self.rotate_alone(rotation) }
    }

    /// The work of one party on its own components.
    fn play(
        &self,
        exponents: &[usize],
        mut owned: Owned<'_, D::Element>,
        published: &Published<D::Point>,
        barrier: &Barrier,
    ) -> Result<(), Broken> {
        // A party that panics must not leave the others waiting.
        let _breaker = barrier.breaker();
        let n = self.polynomial_size();
        let Workspace { mut difference, mut digits, mut sums } = self.workspace();
        let sum = &mut sums[..n];
        let steps = exponents.iter().enumerate().filter(|&(_, &exponent)| exponent != 0);
        for (parity, (index, &exponent)) in steps.enumerate().map(|(step, it)| (step % 2, it)) {
            let published = &published[parity];
            for (c, polynomial) in &owned {
                self.domain.rotated_difference(polynomial, exponent, &mut difference);
                // A poisoned lock means a broken barrier, at which everyone leaves.
                let mut place = published[*c].write().unwrap_or_else(PoisonError::into_inner);
                self.domain.multiply_component(&difference, self.component(index, *c), &mut place, false, &mut digits);
            }
            barrier.wait()?;
            for (column, polynomial) in &mut owned {
                for (c, place) in published.iter().enumerate() {
                    let partial = place.read().unwrap_or_else(PoisonError::into_inner);
                    let partial = &partial[*column * n..][..n];
                    if c == 0 { sum.copy_from_slice(partial) } else { self.domain.add(sum, partial) }
                }
                self.domain.inverse_add(sum, polynomial);
            }
        }
        Ok(())
    }
}
