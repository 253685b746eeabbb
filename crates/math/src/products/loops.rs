//! Plain loops on 128-bit sums, for every CPU and every modulus below 2^62.
//!
//! A reduced sum and [`MAX_TERMS`] = 16 products fit 128 bits, see `pointwise`; after as many products a sum is reduced
//! and goes on. The CPU makes one 128-bit product per cycle.

use super::matrix::{GROUP, group_size};
use super::orbit::Rotation;
use super::{KeyBlock, LANES, MatrixBlock, Output, SumPart, VectorBlock, packing};
use crate::pointwise::loops::{MAX_TERMS, reduce};
use crate::pointwise::word64::Constants;

type Sums = [u128; LANES];

fn words(slice: &[u64]) -> &[u64; LANES] {
    slice.first_chunk().expect("a block of words")
}

#[inline(always)]
fn add_product(sums: &mut Sums, lhs: &[u64; LANES], rhs: &[u64; LANES]) {
    for ((sum, &l), &r) in sums.iter_mut().zip(lhs).zip(rhs) {
        *sum += u128::from(l) * u128::from(r);
    }
}

#[inline(always)]
fn reduce_all(c: &Constants, sums: &Sums) -> [u64; LANES] {
    sums.map(|sum| reduce(c, sum))
}

impl Rotation {
    /// Words `index` … `index` + 7 of the rotated spectrum; `index` is a multiple of 8.
    #[inline(always)]
    pub(super) fn load(&self, spectrum: &[u64], index: usize) -> [u64; LANES] {
        let at = self.source(index);
        let end = (at | (self.sequence - 1)) + 1;
        if at + LANES <= end {
            *words(&spectrum[at..])
        } else {
            std::array::from_fn(|i| spectrum[self.source(index + i)])
        }
    }
}

/// See [`ProductKernels::key_products`](super::ProductKernels::key_products).
pub(super) fn key_products(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    mut out: Output<'_>,
    accumulate: bool,
) {
    let width = key.width();
    for index in out.window().step_by(LANES) {
        let mut key = key.words(index);
        let mut sums = [[0; LANES]; 2];
        let out = out.block(index);
        if accumulate {
            sums = out.each_ref().map(|out| words(out).map(u128::from));
        }
        if let Some((head, factor)) = head {
            add_product(&mut sums[0], &rotation.load(head, index), &[factor; LANES]);
        }
        // One term is taken.
        for digits in digits.chunks(MAX_TERMS - 1) {
            for digit in digits {
                let digit = rotation.load(digit, index);
                for sums in &mut sums {
                    add_product(sums, &digit, &packing::unpack(width, key));
                    key = &key[width..];
                }
            }
            sums = sums.map(|sums| reduce_all(c, &sums).map(u128::from));
        }
        for (out, sums) in out.into_iter().zip(sums) {
            out.copy_from_slice(&sums.map(|sum| sum as u64));
        }
    }
}

/// See [`ProductKernels::multiply`](super::ProductKernels::multiply).
pub(super) fn multiply(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    sums: &mut SumPart<'_>,
    accumulate: bool,
) {
    let (rows, columns, width) = (matrix.rows(), matrix.columns(), matrix.width());
    let (stride, count) = (sums.stride(), sums.vectors);
    for (block, entries) in vectors.blocks().zip(vectors.words.chunks_exact(vectors.stride())) {
        let matrix = &matrix.words()[block * rows * columns * width..];
        for row in sums.rows.clone() {
            let (group, size) = (row / GROUP * GROUP, group_size(rows, row / GROUP * GROUP));
            let factor =
                |j: usize| packing::unpack(width, &matrix[(group * columns + j * size + row - group) * width..]);
            for (v, entries) in entries.chunks_exact(columns * 2 * LANES).enumerate() {
                let at = [0, 1].map(|k| (((row - sums.rows.start) * count + v) * 2 + k) * stride + block * LANES);
                let mut sum = [[0; LANES]; 2];
                if accumulate {
                    sum = at.map(|at| words(&sums.words[at..]).map(u128::from));
                }
                for (chunk, entries) in entries.chunks(MAX_TERMS * 2 * LANES).enumerate() {
                    for (j, entry) in entries.chunks_exact(2 * LANES).enumerate() {
                        let (factor, (first, second)) = (factor(chunk * MAX_TERMS + j), entry.split_at(LANES));
                        add_product(&mut sum[0], &factor, words(first));
                        add_product(&mut sum[1], &factor, words(second));
                    }
                    sum = sum.map(|sum| reduce_all(c, &sum).map(u128::from));
                }
                for (at, sum) in at.into_iter().zip(sum) {
                    sums.words[at..at + LANES].copy_from_slice(&sum.map(|sum| sum as u64));
                }
            }
        }
    }
}
