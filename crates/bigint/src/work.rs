//! Buffers of the algorithms over kernels.

use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

use super::kernel::Kernel;
use ciphermill_math::memory::AlignedWords;

/// Aligned words that are wiped when dropped.
#[derive(Clone)]
pub(super) struct Wiped(AlignedWords);

impl Wiped {
    pub(super) fn zeroed(len: usize) -> Self {
        Self(AlignedWords::zeroed(len))
    }
}

impl Deref for Wiped {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for Wiped {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A group that operations are applied to. It owns a second buffer that takes the result, after which both change
/// places: kernels do not work in place, and a copy would cost as much as a select.
pub(super) struct Accumulator {
    value: Wiped,
    spare: Wiped,
}

impl Accumulator {
    /// The value is undefined before it is [`set`](Self::set).
    pub(super) fn new(kernel: &dyn Kernel) -> Self {
        Self { value: Wiped::zeroed(kernel.group_words()), spare: Wiped::zeroed(kernel.group_words()) }
    }

    pub(super) fn get(&self) -> &[u64] {
        &self.value
    }

    /// To write a group into.
    pub(super) fn set(&mut self) -> &mut [u64] {
        &mut self.value
    }

    pub(super) fn square(&mut self, kernel: &dyn Kernel, scratch: &mut [u64]) {
        kernel.square(&mut self.spare, &self.value, scratch);
        std::mem::swap(&mut self.value, &mut self.spare);
    }

    pub(super) fn multiply(&mut self, kernel: &dyn Kernel, factor: &[u64], scratch: &mut [u64]) {
        kernel.multiply(&mut self.spare, &self.value, factor, scratch);
        std::mem::swap(&mut self.value, &mut self.spare);
    }
}

/// A single in every lane.
pub(super) fn broadcast(kernel: &dyn Kernel, out: &mut [u64], single: &[u64]) {
    for lane in 0..kernel.lanes() {
        kernel.insert(out, lane, single);
    }
}

/// The product of the first `count` > 0 lanes, as a single.
pub(super) fn fold_lanes(kernel: &dyn Kernel, out: &mut [u64], group: &[u64], count: usize, scratch: &mut [u64]) {
    let mut product = Accumulator::new(kernel);
    let mut shifted = Wiped::zeroed(kernel.group_words());
    let mut single = Wiped::zeroed(kernel.single_words());
    product.set().copy_from_slice(group);
    let mut count = count;
    while count > 1 {
        // The upper half is multiplied to the lower one; an odd lane in the middle stays.
        let half = count.div_ceil(2);
        kernel.one(&mut shifted);
        for lane in half..count {
            kernel.extract(&mut single, product.get(), lane);
            kernel.insert(&mut shifted, lane - half, &single);
        }
        product.multiply(kernel, &shifted, scratch);
        count = half;
    }
    kernel.extract(out, product.get(), 0);
}
