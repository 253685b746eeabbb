//! The product: sums of the baby steps, giant steps.

use ciphermill_lattice::rns::RnsPoly;
use ciphermill_math::PointwiseKernels;
use ciphermill_math::products::{Rotation, SumBlock, VectorBlock};

use super::keys::{PreparedKeys, giant_group};
use super::layout::{Layout, Tile};
use super::matrix::PreparedTile;
use super::scratch::{GiantScratch, ThreadScratch};
use super::tables::{LimbTables, Tables, for_each};
use super::vector::{BabySteps, PreparedVector};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::context::Context;

/// What a product needs besides its operands.
pub(super) struct Multiplier<'a> {
    pub(super) context: &'a Context,
    pub(super) layout: &'a Layout,
    pub(super) tables: &'a Tables,
    pub(super) keys: &'a PreparedKeys,
}

/// Bytes of the baby steps of one prime that are made and multiplied at a time: about half of a second-level cache.
const WINDOW_BYTES: usize = 512 << 10;

/// The words of a window of N for `columns` columns.
fn window(n: usize, columns: usize) -> usize {
    let words = (WINDOW_BYTES / (16 * columns)).max(1);
    (1 << words.ilog2()).clamp(MIN_WINDOW.min(n), n)
}

/// Shorter windows are more calls than work.
const MIN_WINDOW: usize = 128;

impl Multiplier<'_> {
    /// The product of a tile of each of `matrices` with each of `vectors`: by vector, then matrix.
    pub(super) fn multiply(
        &self,
        tile: &Tile,
        matrices: &[&PreparedTile],
        vectors: &[&PreparedVector],
    ) -> Vec<Vec<Ciphertext>> {
        let n = self.context.n();
        let threads = rayon::current_num_threads();
        let chain = self.tables.limbs.len();
        let inner = if threads == 1 { 1 } else { threads.div_ceil(chain) };
        let mut sums = self.tables.sums.lease(
            |sums| {
                let shape = (sums[0].len(), sums[0][0].rows(), sums[0][0].vectors());
                shape == (matrices.len(), tile.giants, vectors.len())
            },
            || {
                let sums = || matrices.iter().map(|_| SumBlock::zeroed(n, tile.giants, vectors.len())).collect();
                (0..chain).map(|_| sums()).collect()
            },
        );
        let columns = self.layout.column_tiles() * self.layout.babies();
        let window = if inner == 1 { window(n, vectors.len() * columns) } else { n };
        let mut blocks = self.tables.columns.lease(
            |blocks| {
                let shape = (blocks[0].vectors(), blocks[0].columns(), blocks[0].words().len());
                shape == (vectors.len(), columns, window)
            },
            || (0..chain).map(|_| VectorBlock::window(n, window, vectors.len(), columns)).collect(),
        );
        for_each(threads, sums.iter_mut().zip(blocks.iter_mut()).enumerate(), |(limb, (sums, columns))| {
            let babies = BabySteps { tables: self.tables, keys: self.keys, limb };
            let kernels = &self.tables.limbs[limb].kernels;
            for start in (0..n).step_by(window) {
                columns.move_to(start);
                babies.write(vectors, columns);
                for (matrix, sums) in matrices.iter().zip(sums.iter_mut()) {
                    for_each(inner, sums.parts(inner), |mut part| {
                        kernels.multiply(&matrix.limbs[limb], columns, &mut part, false);
                    });
                }
            }
        });
        let mut products: Vec<Vec<Option<Ciphertext>>> = vec![vec![None; matrices.len()]; vectors.len()];
        let results = products.iter_mut().enumerate().flat_map(|(vector, results)| {
            results.iter_mut().enumerate().map(move |(matrix, result)| (vector, matrix, result))
        });
        for_each(threads, results, |(vector, matrix, result)| {
            let sums: Vec<&SumBlock> = sums.iter().map(|sums| &sums[matrix]).collect();
            let parts = self.giant_steps(tile, &sums, vector);
            let parameters = self.context.parameters().id();
            *result = Some(Ciphertext::new(parameters, vectors[vector].tag, parts));
        });
        products.into_iter().map(|products| products.into_iter().flatten().collect()).collect()
    }

    /// Σ σ_g(u_g)/S over all giant steps g, switched to the key.
    fn giant_steps(
        &self,
        tile: &Tile,
        sums: &[&SumBlock],
        vector: usize,
    ) -> Vec<RnsPoly<ciphermill_lattice::rns::Coefficients>> {
        let (n, chain, digits) = (self.context.n(), self.tables.limbs.len(), self.tables.giant_digits.len());
        let (steps, threads) = (tile.giants - 1, rayon::current_num_threads());
        let step_words = digits * chain * n;
        let mut scratch = self.tables.giant_scratch.lease(
            |scratch| scratch.digits.len() == steps * step_words && scratch.threads.len() == threads,
            || GiantScratch::new(n, chain, threads, steps * digits),
        );
        let GiantScratch { acc: [acc0, acc1], threads: thread_scratch, digits: spectra } = &mut *scratch;

        let share = steps.div_ceil(threads).max(1);
        let shares = spectra.chunks_mut(share * step_words).zip(thread_scratch.iter_mut()).enumerate();
        for_each(threads, shares, |(i, (spectra, scratch))| {
            for (step, spectra) in spectra.chunks_exact_mut(step_words).enumerate() {
                self.giant_digits(sums, vector, 1 + i * share + step, scratch, spectra);
            }
        });

        let spectra = &spectra[..];
        let accs = acc0.chunks_exact_mut(n).zip(acc1.chunks_exact_mut(n)).zip(sums).enumerate();
        for_each(threads, accs, |(limb, ((acc0, acc1), sums))| {
            let LimbTables { kernels, order } = &self.tables.limbs[limb];
            let keys = &self.keys.limbs[limb];
            // What needs no key: u_1 of the identity, and all u_0, added in orbit order.
            let [u0, u1] = sums.get(0, vector);
            if steps == 0 {
                order.from_orbit(u0, acc0);
            } else {
                acc1.copy_from_slice(u0);
                for (step, rotation) in (1..tile.giants).zip(&keys.rotations) {
                    add_rotated(kernels.pointwise(), rotation, sums.get(step, vector)[0], acc1);
                }
                order.from_orbit(acc1, acc0);
            }
            order.from_orbit(u1, acc1);
            let spectrum =
                |step: usize, digit: usize| &spectra[(((step - 1) * digits + digit) * chain + limb) * n..][..n];
            for (group, key) in keys.giants[..tile.giants.trailing_zeros() as usize].iter().enumerate() {
                let spectra: Vec<&[u64]> = giant_group(group)
                    .flat_map(|step| (0..digits).map(move |digit| (step, digit)))
                    .map(|(step, digit)| spectrum(step, digit))
                    .collect();
                kernels.add_key_products(&Rotation::none(n), &spectra, None, key, [acc0, acc1]);
            }
            let engine = self.context.chain().limbs()[limb].engine();
            engine.inverse_in_place(acc0);
            engine.inverse_in_place(acc1);
        });
        let part = |acc: &mut [u64]| {
            let quotient = self.divide(acc).to_vec();
            RnsPoly::from_words(self.context.parameters().polynomial_size, quotient)
        };
        vec![part(acc0), part(acc1)]
    }

    /// The digits of σ_g(u_1)/S for giant step `step`, transformed.
    fn giant_digits(
        &self,
        sums: &[&SumBlock],
        vector: usize,
        step: usize,
        scratch: &mut ThreadScratch,
        digits: &mut [u64],
    ) {
        let (n, limbs) = (self.context.n(), self.context.chain().limbs());
        let ThreadScratch { sum, signed } = scratch;
        for (((sum, sums), keys), limb) in sum.chunks_exact_mut(n).zip(sums).zip(&self.keys.limbs).zip(limbs) {
            keys.turns[step - 1].apply(sums.get(step, vector)[1], sum);
            limb.engine().inverse_in_place(sum);
        }
        self.tables.giant_digits.cut(self.divide(sum), signed, digits);
        for (digit, limb) in digits.chunks_exact_mut(n).zip(limbs.iter().cycle()) {
            limb.engine().forward_in_place(digit);
        }
    }

    /// ⌊u/S⌉ for the words u over the chain.
    fn divide<'w>(&self, words: &'w mut [u64]) -> &'w [u64] {
        let top = self.context.top();
        let (keep, drop) = words.split_at_mut(top * self.context.n());
        self.context.mod_down(top).apply_words(keep, drop);
        keep
    }
}

/// acc += the rotated `spectrum`.
fn add_rotated(kernels: &PointwiseKernels<u64>, rotation: &Rotation, spectrum: &[u64], acc: &mut [u64]) {
    for (s, acc) in acc.chunks_exact_mut(rotation.sequence).enumerate() {
        let from = &spectrum[(s ^ usize::from(rotation.swap)) * rotation.sequence..][..rotation.sequence];
        let (head, tail) = from.split_at(rotation.offset);
        let (first, second) = acc.split_at_mut(tail.len());
        kernels.add(first, tail);
        kernels.add(second, head);
    }
}
