//! The shared part of the strategies with entries in slots: the places of entries ([`layout`]), and rotations of
//! ciphertexts.
//!
//! Rotations by k columns are σ_g for g = 3^k mod 2N. Spectra are kept in *orbit order*, in which every automorphism is a
//! rotation of words ([`OrbitOrder`]), so that a rotated spectrum costs an offset where a kernel loads. Between the first
//! key switch and the result ciphertexts are *lifted*: P times the ciphertext modulo Q·P, P the product of the special
//! primes. A key switch then ends without a division (double hoisting: J.-P. Bossuat, C. Mouchet, J. Troncoso-Pastoriza,
//! J.-P. Hubaux, EUROCRYPT 2021): only a part c_1 that is cut into digits is divided, and at the end both.

mod algorithm;
mod keys;
mod layout;
mod matrix;
mod model;
mod ring;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

pub(super) use algorithm::{Schedule, Shape, Slots};
pub(super) use keys::SlotKeys;
pub use keys::rotation_element;
pub(super) use layout::TileRows;
pub use layout::{Layout, SumStep};
pub(super) use matrix::{SlotMatrix, SlotSums, SlotVector};
pub(super) use model::SlotModel;
pub(super) use ring::{Lifted, RingCache, SlotRing};

/// The most bytes of a prepared row tile, unless a tile of the least size has more.
pub(super) const TILE_BYTES: u64 = 1 << 29;

/// 0 … `count` − 1 in groups of `size`, the last one perhaps smaller.
pub(super) fn groups(count: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    (0..count).step_by(size).map(|start| start..(start + size).min(count)).collect()
}

/// Whether the current rayon pool has one thread. Handing work over to it would take longer than many a step.
fn single() -> bool {
    rayon::current_num_threads() == 1
}

/// Runs `f` on a thread of the pool, so that the steps within find the pool at hand.
pub(super) fn in_pool<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    if single() { f() } else { rayon::scope(|_| f()) }
}

/// `f` of every item, in order.
pub(super) fn map<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> T + Sync + Send) -> Vec<T> {
    if single() { items.into_iter().map(f).collect() } else { items.into_par_iter().map(f).collect() }
}

/// The sum of `step`s 0 … `count` − 1 onto `zero`, with `add` to add up the sums of threads.
pub(super) fn fold<T: Send>(
    count: usize,
    zero: impl Fn() -> T + Sync + Send,
    step: impl Fn(&mut T, usize) + Sync + Send,
    add: impl Fn(&mut T, T) + Sync + Send,
) -> T {
    let with = |mut sum: T, i| {
        step(&mut sum, i);
        sum
    };
    if single() {
        return (0..count).fold(zero(), with);
    }
    (0..count).into_par_iter().fold(&zero, with).reduce(&zero, |mut lhs, rhs| {
        add(&mut lhs, rhs);
        lhs
    })
}
