//! The product: baby steps, sums, giant steps.

use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_math::products::{Rotation, SumBlock, VectorBlock};

use super::keys::{LimbKeys, PreparedKeys, giant_group};
use super::layout::{Layout, Tile};
use super::matrix::PreparedTile;
use super::tables::{LimbTables, Tables, for_each};
use super::vector::PreparedVector;
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::keyswitch::Gadget;

/// What a product needs besides its operands.
pub(super) struct Multiplier<'a> {
    pub(super) context: &'a Context,
    pub(super) layout: &'a Layout,
    pub(super) tables: &'a Tables,
    pub(super) keys: &'a PreparedKeys,
    pub(super) giant_gadget: Gadget,
}

impl Multiplier<'_> {
    /// The product of a tile of each of `matrices` with each of `vectors`: by vector, then matrix.
    pub(super) fn multiply(
        &self,
        tile: &Tile,
        matrices: &[&PreparedTile],
        vectors: &[&PreparedVector],
    ) -> Vec<Vec<Ciphertext>> {
        let n = self.layout.polynomial_size;
        let threads = rayon::current_num_threads();
        let inner = if threads == 1 { 1 } else { threads.div_ceil(self.tables.limbs.len()) };
        let mut sums: Vec<Vec<SumBlock>> = self
            .tables
            .limbs
            .iter()
            .map(|_| matrices.iter().map(|_| SumBlock::zeroed(n, tile.giants, vectors.len())).collect())
            .collect();
        for_each(threads, sums.iter_mut().enumerate(), |(limb, sums)| {
            let mut columns = VectorBlock::zeroed(n, vectors.len(), self.layout.column_tiles() * tile.babies);
            self.baby_steps(limb, tile, vectors, &mut columns);
            for (matrix, sums) in matrices.iter().zip(sums) {
                let kernels = &self.tables.limbs[limb].kernels;
                for_each(inner, sums.parts(inner), |mut part| {
                    kernels.multiply(&matrix.limbs[limb], &columns, &mut part, false);
                });
            }
        });
        let product = |vector: usize, matrix: usize| {
            let sums: Vec<&SumBlock> = sums.iter().map(|sums| &sums[matrix]).collect();
            let [u0, u1] = self.giant_steps(tile, &sums, vector);
            Ciphertext {
                parameters: self.context.parameters().id(),
                tag: vectors[vector].tag,
                parts: [u0, u1].map(|part| self.divide(part)).to_vec(),
            }
        };
        (0..vectors.len()).map(|v| (0..matrices.len()).map(|m| product(v, m)).collect()).collect()
    }

    /// S·σ_g(c′) for all baby steps g of all vectors, modulo one prime.
    fn baby_steps(&self, limb: usize, tile: &Tile, vectors: &[&PreparedVector], columns: &mut VectorBlock) {
        let (kernels, keys) = (&self.tables.limbs[limb].kernels, &self.keys.limbs[limb]);
        let zeros = vec![0; self.layout.polynomial_size];
        for (v, vector) in vectors.iter().enumerate() {
            for (c, column_tile) in vector.column_tiles.iter().enumerate() {
                let parts = column_tile.parts.each_ref().map(|part| part.get(limb).map(|part| &part[..]));
                let first = c * tile.babies;
                columns.set(v, first, parts.map(|part| part.unwrap_or(&zeros)));
                let digits: Vec<&[u64]> = column_tile.digits[limb].iter().map(|digit| &digit[..]).collect();
                let head = parts[0].map(|part| (part, 1));
                for (i, (rotation, key)) in keys.babies[..tile.babies - 1].iter().enumerate() {
                    kernels.key_products_entry(rotation, &digits, head, key, columns, v, first + 1 + i);
                }
            }
        }
    }

    /// Σ σ_g(u_g) over all giant steps g, as spectra over the whole chain: S times the result.
    fn giant_steps(&self, tile: &Tile, sums: &[&SumBlock], vector: usize) -> [RnsPoly<Spectrum>; 2] {
        let chain = self.context.chain();
        let mut acc: [RnsPoly<Spectrum>; 2] = [chain.zero(), chain.zero()];
        // What needs no key: u_1 of the identity, and all u_0, added in orbit order.
        for (limb, (LimbTables { kernels, order }, sums)) in self.tables.limbs.iter().zip(sums).enumerate() {
            let [u0, u1] = sums.get(0, vector);
            order.from_orbit(u1, acc[1].limb_mut(limb));
            let mut sum = u0.to_vec();
            for (step, rotation) in (1..tile.giants).zip(&self.keys.limbs[limb].rotations) {
                add_rotated(kernels.pointwise(), rotation, sums.get(step, vector)[0], &mut sum);
            }
            order.from_orbit(&sum, acc[0].limb_mut(limb));
        }
        for group in 0..tile.giants.trailing_zeros() as usize {
            let digits: Vec<RnsPoly<Spectrum>> =
                giant_group(group).flat_map(|step| self.giant_digits(sums, vector, step)).collect();
            let [acc0, acc1] = &mut acc;
            let accs = acc0.limbs_mut().zip(acc1.limbs_mut());
            for (limb, (acc, LimbKeys { giants, .. })) in accs.zip(&self.keys.limbs).enumerate() {
                let digits: Vec<&[u64]> = digits.iter().map(|digit| digit.limb(limb)).collect();
                let none = Rotation::none(self.layout.polynomial_size);
                let kernels = &self.tables.limbs[limb].kernels;
                kernels.add_key_products(&none, &digits, None, &giants[group], acc.into());
            }
        }
        acc
    }

    /// The digits of σ_g(u_1)/S for giant step `step`.
    fn giant_digits(&self, sums: &[&SumBlock], vector: usize, step: usize) -> Vec<RnsPoly<Spectrum>> {
        let mut turned: RnsPoly<Spectrum> = self.context.chain().zero();
        for ((turned, sums), keys) in turned.limbs_mut().zip(sums).zip(&self.keys.limbs) {
            keys.turns[step - 1].apply(sums.get(step, vector)[1], turned);
        }
        self.context.decompose(&self.divide(turned), self.giant_gadget).digits
    }

    /// ⌊u/S⌉.
    fn divide(&self, u: RnsPoly<Spectrum>) -> RnsPoly<ciphermill_lattice::rns::Coefficients> {
        self.context.mod_down(self.context.top()).apply(self.context.chain().inverse(u))
    }
}

/// acc += the rotated `spectrum`.
fn add_rotated(
    kernels: &ciphermill_math::PointwiseKernels<u64>,
    rotation: &Rotation,
    spectrum: &[u64],
    acc: &mut [u64],
) {
    for (s, acc) in acc.chunks_exact_mut(rotation.sequence).enumerate() {
        let from = &spectrum[(s ^ usize::from(rotation.swap)) * rotation.sequence..][..rotation.sequence];
        let (head, tail) = from.split_at(rotation.offset);
        let (first, second) = acc.split_at_mut(tail.len());
        kernels.add(first, tail);
        kernels.add(second, head);
    }
}
