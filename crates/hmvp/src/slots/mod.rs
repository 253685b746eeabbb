//! What the strategies that keep entries in slots share: where entries stand ([`layout`]), and rotations of ciphertexts.
//!
//! Rotations by k columns are σ_g for g = 3^k mod 2N. Spectra are kept in *orbit order*, in which every automorphism is a
//! rotation of words ([`OrbitOrder`]), so that a rotated spectrum costs an offset where a kernel loads. Between the first
//! key switch and the result ciphertexts are *lifted*: P times the ciphertext modulo Q·P, P the product of the special
//! primes. A key switch then ends without a division (double hoisting: J.-P. Bossuat, C. Mouchet, J. Troncoso-Pastoriza,
//! J.-P. Hubaux, EUROCRYPT 2021): only a part c_1 that is cut into digits is divided, and at the end both.

mod keys;
mod layout;
mod matrix;
mod model;
mod ring;
#[cfg(test)]
mod tests;
mod threads;

pub(super) use keys::{SlotKeys, rotation_element};
pub(super) use layout::{Layout, SumStep, TileRows};
pub(super) use matrix::{SlotMatrix, SlotSums, SlotVector};
pub(super) use model::SlotModel;
pub(super) use ring::{Lifted, RingCache, SlotRing};
pub(super) use threads::{fold, in_pool, map};

/// The most bytes of a prepared row tile, unless a tile of the least size has more.
pub(super) const TILE_BYTES: u64 = 1 << 29;

/// 0 … `count` − 1 in groups of `size`, the last one perhaps smaller.
pub(super) fn groups(count: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    (0..count).step_by(size).map(|start| start..(start + size).min(count)).collect()
}
