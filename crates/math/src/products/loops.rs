//! Plain loops on 128-bit sums, for every CPU and every modulus below 2^62.
//!
//! It serves moduli and CPUs that neither `ifma.rs` nor `fma.rs` does. The CPU makes one 128-bit product per cycle;
//! vectors of 32-bit products are not faster. Four sums at a time stay in registers, and packed words are unpacked once
//! for all four. A sum is reduced before it could exceed 128 bits: after [`most_terms`] products, at least 15.

use super::matrix::{GROUP, group_size};
use super::orbit::Rotation;
use super::{KeyBlock, LANES, MatrixBlock, Output, SumPart, VectorBlock, packing};
use crate::pointwise::loops::reduce;
use crate::pointwise::word64::Constants;

/// The number of sums that stay in registers; each takes two.
const SUMS: usize = 4;

type Block = [u64; LANES];

/// Calls the function for packed words of `$width` bytes.
macro_rules! with_width {
    ($width:expr, $function:ident($($argument:expr),*)) => {
        match $width {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            7 => $function::<7>($($argument),*),
            8 => $function::<8>($($argument),*),
            width => unreachable!("packed words of {width} bytes; at most 8"),
        }
    };
}

impl Rotation {
    /// Words `index` … `index` + 7 of the rotated spectrum; `index` is a multiple of 8.
    #[inline(always)]
    pub(super) fn load(&self, spectrum: &[u64], index: usize) -> Block {
        let at = self.source(index);
        if at & (self.sequence - 1) <= self.sequence - LANES {
            *spectrum[at..].first_chunk().expect("a block of words")
        } else {
            std::array::from_fn(|i| spectrum[self.source(index + i)])
        }
    }
}

/// T such that T products of residues, one more product and a residue add up to less than 2^128:
/// T·(p − 1)² + (p − 1)² + p.
fn most_terms(p: u64) -> usize {
    let square = u128::from(p - 1) * u128::from(p - 1);
    usize::try_from((u128::MAX - u128::from(p)) / square - 1).unwrap_or(usize::MAX)
}

/// start + Σ_j lhs_j ∘ rhs_(2j + part) modulo p, for `start` below p² + p and at most `terms` products.
#[inline(always)]
fn sums(c: &Constants, terms: usize, start: [u128; LANES], lhs: &[Block], rhs: &[Block], part: usize) -> Block {
    let mut result = [0; LANES];
    for first in (0..LANES).step_by(SUMS) {
        let four = |block: &Block| -> [u64; SUMS] { *block[first..].first_chunk().expect("four words") };
        let mut sums: [u128; SUMS] = *start[first..].first_chunk().expect("four sums");
        for (lhs, rhs) in lhs.chunks(terms).zip(rhs.chunks(terms.saturating_mul(2))) {
            for (lhs, rhs) in lhs.iter().zip(rhs.as_chunks::<2>().0) {
                let (lhs, rhs) = (four(lhs), four(&rhs[part]));
                for i in 0..SUMS {
                    sums[i] += u128::from(lhs[i]) * u128::from(rhs[i]);
                }
            }
            sums = sums.map(|sum| u128::from(reduce(c, sum)));
        }
        for (result, sum) in result[first..].iter_mut().zip(sums) {
            *result = sum as u64;
        }
    }
    result
}

/// See [`ProductKernels::key_products`](super::ProductKernels::key_products).
pub(super) fn key_products(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    out: Output<'_>,
    accumulate: bool,
) {
    with_width!(key.width(), key_products_of(c, rotation, digits, head, key, out, accumulate));
}

fn key_products_of<const WIDTH: usize>(
    c: &Constants,
    rotation: &Rotation,
    digits: &[&[u64]],
    head: Option<(&[u64], u64)>,
    key: &KeyBlock,
    mut out: Output<'_>,
    accumulate: bool,
) {
    let terms = most_terms(c.p);
    let (mut lhs, mut rhs) = (vec![[0; LANES]; digits.len()], vec![[0; LANES]; 2 * digits.len()]);
    for index in out.window().step_by(LANES) {
        for (lhs, digit) in lhs.iter_mut().zip(digits) {
            *lhs = rotation.load(digit, index);
        }
        for (j, rhs) in rhs.iter_mut().enumerate() {
            *rhs = packing::unpack::<WIDTH>(&key.words(index)[j * WIDTH..]);
        }
        for (part, out) in out.block(index).into_iter().enumerate() {
            let out: &mut Block = out.first_chunk_mut().expect("a block of words");
            let mut start = if accumulate { out.map(u128::from) } else { [0; LANES] };
            if let (0, Some((head, factor))) = (part, head) {
                for (start, head) in start.iter_mut().zip(rotation.load(head, index)) {
                    *start += u128::from(head) * u128::from(factor);
                }
            }
            *out = sums(c, terms, start, &lhs, &rhs, part);
        }
    }
}

/// See [`ProductKernels::multiply`](super::ProductKernels::multiply).
pub(super) fn multiply(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    results: &mut SumPart<'_>,
    accumulate: bool,
) {
    with_width!(matrix.width(), multiply_of(c, matrix, vectors, results, accumulate));
}

fn multiply_of<const WIDTH: usize>(
    c: &Constants,
    matrix: &MatrixBlock,
    vectors: &VectorBlock,
    results: &mut SumPart<'_>,
    accumulate: bool,
) {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let (terms, stride, count) = (most_terms(c.p), results.stride(), results.vectors);
    let mut lhs = vec![[0; LANES]; columns];
    for (block, entries) in vectors.blocks().zip(vectors.words.chunks_exact(vectors.stride())) {
        let matrix = &matrix.words()[block * rows * columns * WIDTH..];
        for row in results.rows.clone() {
            let (group, size) = (row / GROUP * GROUP, group_size(rows, row / GROUP * GROUP));
            for (j, lhs) in lhs.iter_mut().enumerate() {
                *lhs = packing::unpack::<WIDTH>(&matrix[(group * columns + j * size + row - group) * WIDTH..]);
            }
            for (v, entries) in entries.chunks_exact(columns * 2 * LANES).enumerate() {
                for part in 0..2 {
                    let at = (((row - results.rows.start) * count + v) * 2 + part) * stride + block * LANES;
                    let out: &mut Block = results.words[at..].first_chunk_mut().expect("a block of words");
                    let start = if accumulate { out.map(u128::from) } else { [0; LANES] };
                    *out = sums(c, terms, start, &lhs, entries.as_chunks().0, part);
                }
            }
        }
    }
}
