//! The common part of the kernels of one residue per group: a group is a single.

use std::hint::black_box;

/// The entry of `table` at `index`; every entry is read.
pub(super) fn select(out: &mut [u64], table: &[u64], index: u64) {
    out.fill(0);
    for (i, entry) in table.chunks_exact(out.len()).enumerate() {
        let difference = i as u64 ^ index;
        // All ones where the difference is 0; hidden from the compiler, that it may not branch on it.
        let mask = black_box(((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1));
        for (out, &word) in out.iter_mut().zip(entry) {
            *out |= word & mask;
        }
    }
}

/// The entry of `table` at `index`.
pub(super) fn select_public(out: &mut [u64], table: &[u64], index: u64) {
    out.copy_from_slice(&table[index as usize * out.len()..][..out.len()]);
}

/// The methods of `Kernel` that move residues.
macro_rules! one_lane {
    () => {
        fn lanes(&self) -> usize {
            1
        }

        fn select(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            crate::one_lane::select(out, table, index[0]);
        }

        fn select_single(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            crate::one_lane::select(out, table, index[0]);
        }

        fn select_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            crate::one_lane::select_public(out, table, index[0]);
        }

        fn select_single_public(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
            crate::one_lane::select_public(out, table, index[0]);
        }

        fn extract(&self, out: &mut [u64], group: &[u64], _lane: usize) {
            out.copy_from_slice(group);
        }

        fn insert(&self, group: &mut [u64], _lane: usize, single: &[u64]) {
            group.copy_from_slice(single);
        }
    };
}

pub(super) use one_lane;
