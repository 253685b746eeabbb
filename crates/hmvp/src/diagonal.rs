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

use std::ops::Range;
use std::sync::Arc;

use super::slots::{
    self, Layout, Lifted, RingCache, SlotKeys, SlotMatrix, SlotModel, SlotSums, SlotVector, SumStep, TileRows,
};
use super::{Algorithm, Costs, Operands, Prepared, RowReader, prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::error::{BfvError, require_length};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::parameters::ParameterSet;

/// Slots that a step adds up.
const RADIX: usize = 4;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Diagonal {
    model: SlotModel,
    layout: Layout,
    /// B.
    babies: usize,
    sums: Vec<SumStep>,
    ring: RingCache,
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
        let methods = all.map(|(log, babies)| Self::with(model.clone(), layout(log), babies));
        let fitting = methods.filter(|method| method.layout.diagonals == 1 || method.tile_bytes() <= slots::TILE_BYTES);
        // More diagonals than the rows need are only more work.
        let fitting =
            fitting.filter(|method| method.layout.diagonals == 1 || method.layout.rows_per_ciphertext() < 2 * rows);
        let best = fitting.min_by(|a, b| a.estimate().total_cmp(&b.estimate()));
        Ok(best.expect("one diagonal always fits"))
    }

    /// The method with so many diagonals and baby steps.
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
        Ok(Self::with(model, layout, babies.min(layout.diagonals)))
    }

    fn with(model: SlotModel, layout: Layout, babies: usize) -> Self {
        let sums = SumStep::all(layout.diagonals, layout.summands(), RADIX);
        Self { model, layout, babies, sums, ring: RingCache::default() }
    }

    /// G.
    fn giants(&self) -> usize {
        self.layout.diagonals / self.babies
    }

    fn tile_bytes(&self) -> u64 {
        self.layout.diagonals as u64
            * self.layout.column_tiles() as u64
            * self.model.packed_bytes(self.model.extended())
    }

    /// All rotations that need keys.
    fn rotations(&self) -> Vec<usize> {
        let giants = (1..self.giants()).map(|i| i * self.babies);
        (1..self.babies).chain(giants).chain(self.sums.iter().flat_map(SumStep::rotations)).collect()
    }

    /// Transforms of one ciphertext of a vector: both parts, and the digits of one if there are baby steps.
    fn vector_ntts(&self) -> u64 {
        let digits = if self.babies > 1 { self.model.digits() * self.model.extended() } else { 0 };
        (2 * self.model.top() + digits) as u64
    }

    /// The rows of a tile.
    fn tile(&self, tile: usize) -> Range<usize> {
        let size = self.layout.rows_per_ciphertext();
        tile * size..((tile + 1) * size).min(self.layout.rows)
    }

    /// Estimated time of a product in transforms of N words. The weights are ratios measured on Zen 5 with AVX-512 IFMA.
    fn estimate(&self) -> f64 {
        /// A product with a plaintext, both parts, per limb.
        const PRODUCT: f64 = 0.2;
        /// A product of a digit with a key, both parts, per limb.
        const KEY_PRODUCT: f64 = 1.0;
        /// A change of the order of a spectrum, and what else comes with a transform.
        const GATHER: f64 = 0.9;
        /// What each ciphertext of a result costs beside transforms: decryption and transport.
        const RESULT: f64 = 20.0;
        let costs = self.costs();
        let key_products = (costs.hoisted_key_switches + costs.key_switches) as f64
            * (self.model.digits() * self.model.extended()) as f64;
        costs.ntts as f64 * (1.0 + GATHER)
            + (costs.plain_products * self.model.extended() as u64) as f64 * PRODUCT
            + key_products * KEY_PRODUCT
            + self.tiles().len() as f64 * RESULT
    }
}

impl Algorithm for Diagonal {
    fn galois_requests(&self) -> Vec<GaloisRequest> {
        self.model.requests(&self.rotations())
    }

    fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError> {
        self.layout.encode_vector(context, values)
    }

    fn vector_limbs(&self) -> usize {
        self.model.top()
    }

    fn vector_len(&self) -> usize {
        self.layout.column_tiles()
    }

    fn tiles(&self) -> Vec<Range<usize>> {
        self.layout.row_tiles(self.layout.rows_per_ciphertext())
    }

    fn product_len(&self, _tile: usize) -> usize {
        1
    }

    fn product_limbs(&self) -> usize {
        self.model.top()
    }

    fn prepare(&self, context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError> {
        let rows = TileRows::read(self.tile(tile), self.layout.cols, read);
        let ring = self.ring.get(context);
        let (tiles, babies) = (self.layout.column_tiles(), self.babies);
        let slots = |tile, giant, baby| self.layout.diagonal_slots(&rows, 0, tile, giant * babies, baby);
        let matrix = || SlotMatrix::encode(&ring, ring.limb_count(), tiles, 0..self.giants(), babies, slots);
        Ok(Arc::new(slots::in_pool(matrix)?))
    }

    fn prepare_keys(&self, context: &Context, keys: &GaloisKeys) -> Result<Arc<dyn Prepared>, BfvError> {
        Ok(Arc::new(SlotKeys::prepare(self.ring.get(context), &self.rotations(), keys)?))
    }

    fn prepare_vector(
        &self,
        _context: &Context,
        keys: &dyn Prepared,
        vector: &[Ciphertext],
    ) -> Result<Arc<dyn Prepared>, BfvError> {
        let keys: &SlotKeys = prepared(keys);
        Ok(Arc::new(slots::in_pool(|| SlotVector::new(&keys.ring, vector, self.babies > 1))))
    }

    fn multiply(
        &self,
        _context: &Context,
        keys: &dyn Prepared,
        _tile: usize,
        matrices: &[&dyn Prepared],
        vectors: &[&dyn Prepared],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let keys: &SlotKeys = prepared(keys);
        let vectors: Vec<&SlotVector> = vectors.iter().map(|&vector| prepared(vector)).collect();
        let matrices: Vec<&SlotMatrix> = matrices.iter().map(|&matrix| prepared(matrix)).collect();
        Ok(slots::in_pool(|| {
            let sums = SlotMatrix::multiply(&keys.ring, keys, &matrices, &vectors);
            let product = |v| {
                let product = |matrix| vec![self.switch(keys, &sums, matrix, v)];
                slots::map((0..matrices.len()).collect(), product)
            };
            slots::map((0..vectors.len()).collect(), product)
        }))
    }

    fn decode_product(&self, context: &Context, tile: usize, plaintexts: &[Plaintext]) -> Result<Vec<i64>, BfvError> {
        require_length("number of ciphertexts of the product", plaintexts.len(), 1)?;
        let slots = BatchEncoder::new(context)?.decode(&plaintexts[0]);
        Ok(self.product_places(tile, 0).into_iter().map(|(slot, _)| slots[slot]).collect())
    }

    fn product_places(&self, tile: usize, _ciphertext: usize) -> Vec<(usize, usize)> {
        self.layout.places(self.tile(tile).len())
    }

    fn batched(&self) -> bool {
        true
    }

    fn costs(&self) -> Costs {
        let (model, layout) = (&self.model, &self.layout);
        let tiles = self.tiles().len() as u64;
        let column_tiles = layout.column_tiles() as u64;
        let babies = tiles * column_tiles * (self.babies as u64 - 1);
        // Of sums of slots, steps with more than one rotation share digits.
        let rotations = |shared: bool| -> u64 {
            self.sums.iter().map(SumStep::rotation_count).filter(|&count| (count > 1) == shared).sum()
        };
        let hoisted_key_switches = babies + tiles * rotations(true);
        let key_switches = tiles * (self.giants() as u64 - 1 + rotations(false));
        let plain_products = tiles * column_tiles * layout.diagonals as u64;
        let switches = self.giants() as u64 - 1 + self.sums.len() as u64;
        let matrix_bytes = plain_products * model.packed_bytes(model.extended());
        Costs {
            plain_products,
            hoisted_key_switches,
            key_switches,
            ntts: column_tiles * self.vector_ntts() + tiles * (switches * model.switch_ntts() + model.finish_ntts()),
            prepare_ntts: plain_products * (model.extended() as u64 + 1),
            words: (matrix_bytes + (hoisted_key_switches + key_switches) * model.key_bytes()) / 8,
            matrix_bytes,
            key_bytes: self.rotations().len() as u64 * model.key_bytes(),
        }
    }

    /// The baby steps, which are made anew for each row tile.
    fn shared_costs(&self) -> Costs {
        let (model, column_tiles) = (&self.model, self.layout.column_tiles() as u64);
        let hoisted_key_switches = self.tiles().len() as u64 * column_tiles * (self.babies as u64 - 1);
        Costs {
            hoisted_key_switches,
            ntts: column_tiles * self.vector_ntts(),
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
    /// For a matrix of random entries the errors of the products are as good as independent and m is uniform, which makes
    /// the first term smaller by a factor of 3·D; a matrix that is made for it can come close.
    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        let model = &self.model;
        let [diagonals, babies, giants] = [self.layout.diagonals, self.babies, self.giants()].map(|x| x as f64);
        let fresh = diagonals * diagonals * model.fresh_variance(operands.encryption);
        let keys = (babies - 1.0) * giants * giants * model.key_variance();
        let products = self.layout.column_tiles() as f64 * model.plaintext_growth() * (fresh + keys);
        let switched = products + (giants - 1.0) * (model.rounding_variance() + model.key_variance());
        (model.summed_variance(switched, &self.sums) + model.rounding_variance()).sqrt()
    }
}

impl Diagonal {
    /// The giant steps and sums of slots for the inner sums of one matrix and one vector.
    fn switch(&self, keys: &SlotKeys, sums: &SlotSums, matrix: usize, vector: usize) -> Ciphertext {
        let ring = &keys.ring;
        let giant = |acc: &mut Lifted, giant: usize| {
            ring.add_switched(keys, giant * self.babies, &sums.get(matrix, giant, vector), acc);
        };
        let sum = slots::fold(self.giants(), || ring.zero(), giant, |lhs, rhs| ring.add(lhs, &rhs));
        ring.finish(keys, &ring.sum_slots(keys, &self.sums, sum))
    }
}
