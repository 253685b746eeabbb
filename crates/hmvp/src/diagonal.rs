//! The diagonal method with baby and giant steps, in slots (S. Halevi, V. Shoup, "Algorithms in HElib", CRYPTO 2014, and
//! "Faster homomorphic linear transformations in HElib", CRYPTO 2018; for matrices with fewer rows than slots the hybrid of
//! C. Juvekar, V. Vaikuntanathan, A. Chandrakasan, "GAZELLE", USENIX Security 2018).
//!
//! With the [`layout`](super::slots) of D diagonals and D = B·G,
//!
//! ```text
//! A·v = Σ_(i<G) rot_(iB)( Σ_(j<B) rot_(−iB)(diagonal_(iB+j)) ∘ rot_j(v) ),     then width/D slots are added up.
//! ```
//!
//! The B − 1 rotations of v share the digits of its c_1 and stay lifted (modulo Q·P, times P), as do the products and the
//! sums; of each giant step only part 1 is divided by P, to be cut into digits. Sums of slots take two levels at a time,
//! three rotations that share their digits. All T column tiles add into the same sums, so that giant steps are paid once.
//!
//! **Keys**: rotations by 1 … B − 1, by B, 2B … (G − 1)·B, and by those of the [`SumStep`]s; one each, none twice.
//!
//! **When it wins**: many rows or a narrow plaintext modulus. Its plaintexts have coefficients of the size of t whatever
//! the entries are, so that it needs a larger Q than strategies with entries in coefficients.

use super::slots::{
    self, Layout, Lifted, Schedule, Shape, SlotKeys, SlotMatrix, SlotModel, SlotRing, SlotSums, SlotVector, Slots,
    SumStep, TileRows,
};
use super::{Algorithm, Costs, Operands};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::parameters::ParameterSet;

/// Slots that a step adds up.
const RADIX: usize = 4;

/// See the [module](self).
pub(super) type Diagonal = Slots<BabyGiantSteps>;

/// Baby steps before the products, giant steps and sums after them.
#[derive(Debug)]
pub(super) struct BabyGiantSteps {
    /// B.
    babies: usize,
}

impl Diagonal {
    /// The method for a matrix of `rows` × `cols`, its numbers of diagonals and baby steps those of least estimated time.
    ///
    /// # Errors
    /// If a dimension is out of range, or the set has no slots or no special modulus.
    pub(super) fn new(rows: usize, cols: usize, parameters: &ParameterSet) -> Result<Self, BfvError> {
        let model = SlotModel::new(rows, cols, parameters)?;
        let layout = |log: u32| Layout::new(model.n(), rows, cols, 1 << log);
        let width = layout(0).width;
        let all = (0..=width.ilog2()).flat_map(|log| (0..=log).map(move |babies| (log, 1 << babies)));
        let methods = all.map(|(log, babies)| Self::of(model.clone(), layout(log), babies));
        let diagonals = |method: &Self| method.shape.layout.diagonals;
        let fitting = methods.filter(|method| diagonals(method) == 1 || method.tile_bytes() <= slots::TILE_BYTES);
        // More diagonals than the rows need are only more work.
        let fitting =
            fitting.filter(|method| diagonals(method) == 1 || method.shape.layout.rows_per_ciphertext() < 2 * rows);
        let best = fitting.min_by(|a, b| a.estimate().total_cmp(&b.estimate()));
        Ok(best.expect("one diagonal always fits"))
    }

    /// The method with these numbers of diagonals and baby steps.
    #[cfg(test)]
    pub(super) fn fixed(
        rows: usize,
        cols: usize,
        parameters: &ParameterSet,
        diagonals: usize,
        babies: usize,
    ) -> Result<Self, BfvError> {
        let model = SlotModel::new(rows, cols, parameters)?;
        let layout = Layout::new(model.n(), rows, cols, diagonals);
        Ok(Self::of(model, layout, babies.min(layout.diagonals)))
    }

    fn of(model: SlotModel, layout: Layout, babies: usize) -> Self {
        Self::with(Shape::new(model, layout, RADIX), BabyGiantSteps { babies })
    }

    fn tile_bytes(&self) -> u64 {
        let Shape { model, layout, .. } = &self.shape;
        layout.diagonals as u64 * layout.column_tiles() as u64 * model.packed_bytes(model.extended())
    }

    /// Estimated time of a product in transforms of N words. The weights are ratios measured on Zen 5 with AVX-512 IFMA.
    fn estimate(&self) -> f64 {
        /// A product with a plaintext, both parts, per limb.
        const PRODUCT: f64 = 0.2;
        /// A product of a digit with a key, both parts, per limb.
        const KEY_PRODUCT: f64 = 1.0;
        /// A change of the order of a spectrum, and what else comes with a transform.
        const GATHER: f64 = 0.9;
        /// The cost of each ciphertext of a result in addition to transforms: decryption and transport.
        const RESULT: f64 = 20.0;
        let (costs, model) = (self.costs(), &self.shape.model);
        let key_products =
            (costs.hoisted_key_switches + costs.key_switches) as f64 * (model.digits() * model.extended()) as f64;
        costs.ntts as f64 * (1.0 + GATHER)
            + (costs.plain_products * model.extended() as u64) as f64 * PRODUCT
            + key_products * KEY_PRODUCT
            + self.tiles().len() as f64 * RESULT
    }
}

impl BabyGiantSteps {
    /// G.
    fn giants(&self, shape: &Shape) -> usize {
        shape.layout.diagonals / self.babies
    }

    /// Transforms of one ciphertext of a vector: both parts, and the digits of one if there are baby steps.
    fn vector_ntts(&self, model: &SlotModel) -> u64 {
        let digits = if self.babies > 1 { model.digits() * model.extended() } else { 0 };
        (2 * model.top() + digits) as u64
    }

    /// The giant steps and sums of slots for the inner sums of one matrix and one vector.
    fn switch(&self, shape: &Shape, keys: &SlotKeys, sums: &SlotSums, matrix: usize, vector: usize) -> Ciphertext {
        let ring = &keys.ring;
        let giant = |acc: &mut Lifted, giant: usize| {
            ring.add_switched(keys, giant * self.babies, &sums.get(matrix, giant, vector), acc);
        };
        let sum = slots::fold(self.giants(shape), || ring.zero(), giant, |lhs, rhs| ring.add(lhs, &rhs));
        ring.finish(keys, &ring.sum_slots(keys, &shape.sums, sum))
    }
}

impl Schedule for BabyGiantSteps {
    type Matrix = SlotMatrix;

    fn babies(&self) -> usize {
        self.babies
    }

    fn rotations(&self, shape: &Shape) -> Vec<usize> {
        (1..self.babies).chain((1..self.giants(shape)).map(|i| i * self.babies)).collect()
    }

    fn tile_rows(&self, shape: &Shape) -> usize {
        shape.layout.rows_per_ciphertext()
    }

    fn encode(&self, shape: &Shape, ring: &SlotRing, rows: &TileRows, _: usize) -> Result<SlotMatrix, BfvError> {
        let (tiles, babies) = (shape.layout.column_tiles(), self.babies);
        let slots = |tile, giant, baby| shape.layout.diagonal_slots(rows, 0, tile, giant * babies, baby);
        SlotMatrix::encode(ring, ring.limb_count(), tiles, 0..self.giants(shape), babies, slots)
    }

    fn multiply(
        &self,
        shape: &Shape,
        keys: &SlotKeys,
        matrices: &[&SlotMatrix],
        vectors: &[&SlotVector],
    ) -> Vec<Vec<Vec<Ciphertext>>> {
        let sums = SlotMatrix::multiply(&keys.ring, keys, matrices, vectors);
        let product = |v| {
            let product = |matrix| vec![self.switch(shape, keys, &sums, matrix, v)];
            slots::map((0..matrices.len()).collect(), product)
        };
        slots::map((0..vectors.len()).collect(), product)
    }

    fn costs(&self, shape: &Shape, tiles: u64, _: u64) -> Costs {
        let Shape { model, layout, sums } = shape;
        let column_tiles = layout.column_tiles() as u64;
        let babies = tiles * column_tiles * (self.babies as u64 - 1);
        // Of sums of slots, steps with more than one rotation share digits.
        let rotations = |shared: bool| -> u64 {
            sums.iter().map(SumStep::rotation_count).filter(|&count| (count > 1) == shared).sum()
        };
        let giants = self.giants(shape) as u64 - 1;
        let hoisted_key_switches = babies + tiles * rotations(true);
        let key_switches = tiles * (giants + rotations(false));
        let plain_products = tiles * column_tiles * layout.diagonals as u64;
        let switches = giants + sums.len() as u64;
        let matrix_bytes = plain_products * model.packed_bytes(model.extended());
        Costs {
            plain_products,
            hoisted_key_switches,
            key_switches,
            ntts: column_tiles * self.vector_ntts(model)
                + tiles * (switches * model.switch_ntts() + model.finish_ntts()),
            prepare_ntts: plain_products * (model.extended() as u64 + 1),
            words: (matrix_bytes + (hoisted_key_switches + key_switches) * model.key_bytes()) / 8,
            matrix_bytes,
            ..Costs::default()
        }
    }

    /// The baby steps, which are repeated for each row tile.
    fn shared_costs(&self, shape: &Shape, tiles: u64) -> Costs {
        let (model, column_tiles) = (&shape.model, shape.layout.column_tiles() as u64);
        let hoisted_key_switches = tiles * column_tiles * (self.babies as u64 - 1);
        Costs {
            hoisted_key_switches,
            ntts: column_tiles * self.vector_ntts(model),
            words: hoisted_key_switches * model.key_bytes() / 8,
            ..Costs::default()
        }
    }

    /// With W = width/D slots added up and m a coefficient of a plaintext, at most t/2:
    ///
    /// * the fresh error is in all D products of a column tile: D²·N·t²/4·σ²;
    /// * the key error of a baby step is in G of them: G²·N·t²/4·σ_key² for each of B − 1;
    /// * each giant step but the first adds the rounding of its c_1 and the error of a key;
    /// * a sum of W slots multiplies the worst coefficient by W and adds its own;
    /// * the end rounds once more.
    ///
    /// For a matrix of random entries the errors of the products are nearly independent and m is uniform, so that the
    /// first term is smaller by a factor of 3·D. A matrix chosen for the purpose can come close to the bound.
    fn noise_std_dev(&self, shape: &Shape, operands: &Operands) -> f64 {
        let Shape { model, layout, sums } = shape;
        let [diagonals, babies, giants] = [layout.diagonals, self.babies, self.giants(shape)].map(|x| x as f64);
        let fresh = diagonals * diagonals * model.vector_variance(operands);
        let keys = (babies - 1.0) * giants * giants * model.key_variance();
        let products = layout.column_tiles() as f64 * model.plaintext_growth() * (fresh + keys);
        let switched = products + (giants - 1.0) * (model.rounding_variance() + model.key_variance());
        (model.summed_variance(switched, sums) + model.rounding_variance()).sqrt()
    }
}
