//! Rotate and sum, in slots (C. Juvekar, V. Vaikuntanathan, A. Chandrakasan, "GAZELLE", USENIX Security 2018, §4; the paper's
//! batch-encoded baseline).
//!
//! With the [`layout`](super::slots) of one diagonal every slot has the product of one entry of the matrix and one of
//! the vector: a plaintext holds N/width rows. Its product with the vector is rotated by 1, 2, 4, … width/2 and added
//! to itself: log2(width) key switches. The first slot of each segment of `width` slots then holds an entry, and all
//! others hold sums that reach into the next segment. Each plaintext makes a separate ciphertext, because only another
//! product could clear those slots. Products of column tiles are added before they are rotated.
//!
//! **Keys**: rotations by the powers of two below width.
//!
//! **When it wins**: a few rows, as it takes the fewest keys. Otherwise it is the baseline for the [diagonal
//! method](super::diagonal), whose key switches serve as many rows as there are slots.

use super::slots::{
    self, Layout, Schedule, Shape, SlotKeys, SlotMatrix, SlotModel, SlotRing, SlotSums, SlotVector, Slots, TileRows,
};
use super::{Costs, Operands};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::parameters::ParameterSet;

/// Plaintexts whose products are computed together: bounds the memory for sums.
const GROUP: usize = 16;

/// See the [module](self).
pub(super) type RotateAndSum = Slots<SumsOnly>;

/// Nothing before the products, sums after them.
#[derive(Debug)]
pub(super) struct SumsOnly;

impl RotateAndSum {
    /// The method for a matrix of `rows` × `cols`.
    ///
    /// # Errors
    /// If a dimension is out of range, or the set has no slots or no special modulus.
    pub(super) fn new(rows: usize, cols: usize, parameters: &ParameterSet) -> Result<Self, BfvError> {
        let model = SlotModel::new(rows, cols, parameters)?;
        let layout = Layout::new(model.n(), rows, cols, 1);
        Ok(Self::with(Shape::new(model, layout, 2), SumsOnly))
    }
}

/// Bytes of the spectra of one plaintext for each column tile.
fn plaintext_bytes(shape: &Shape) -> u64 {
    shape.layout.column_tiles() as u64 * shape.model.packed_bytes(shape.model.top())
}

/// The ciphertext of one plaintext's product with one vector.
fn switch(shape: &Shape, keys: &SlotKeys, sums: &SlotSums, (matrix, row): (usize, usize), vector: usize) -> Ciphertext {
    let ring = &keys.ring;
    // P times the product, which is 0 modulo the special primes.
    let lifted = ring.lifted(&sums.get(matrix, row, vector));
    ring.finish(keys, &ring.sum_slots(keys, &shape.sums, lifted))
}

impl Schedule for SumsOnly {
    /// By group of plaintexts.
    type Matrix = Vec<SlotMatrix>;

    fn babies(&self) -> usize {
        1
    }

    fn rotations(&self, _: &Shape) -> Vec<usize> {
        Vec::new()
    }

    fn tile_rows(&self, shape: &Shape) -> usize {
        (slots::TILE_BYTES / plaintext_bytes(shape)).max(1) as usize * shape.layout.rows_per_ciphertext()
    }

    fn encode(
        &self,
        shape: &Shape,
        ring: &SlotRing,
        rows: &TileRows,
        ciphertexts: usize,
    ) -> Result<Vec<SlotMatrix>, BfvError> {
        let (tiles, size) = (shape.layout.column_tiles(), shape.layout.rows_per_ciphertext());
        let slots = |tile, plaintext, _| shape.layout.diagonal_slots(rows, plaintext * size, tile, 0, 0);
        let group = |group| SlotMatrix::encode(ring, shape.model.top(), tiles, group, 1, slots);
        slots::groups(ciphertexts, GROUP).into_iter().map(group).collect()
    }

    fn multiply(
        &self,
        shape: &Shape,
        keys: &SlotKeys,
        matrices: &[&Vec<SlotMatrix>],
        vectors: &[&SlotVector],
    ) -> Vec<Vec<Vec<Ciphertext>>> {
        let mut products = vec![vec![Vec::new(); matrices.len()]; vectors.len()];
        for group in 0..matrices[0].len() {
            let group: Vec<&SlotMatrix> = matrices.iter().map(|matrix| &matrix[group]).collect();
            let sums = SlotMatrix::multiply(&keys.ring, keys, &group, vectors);
            for (v, products) in products.iter_mut().enumerate() {
                for (m, product) in products.iter_mut().enumerate() {
                    let switch = |row| switch(shape, keys, &sums, (m, row), v);
                    product.extend(slots::map((0..group[m].rows()).collect(), switch));
                }
            }
        }
        products
    }

    fn costs(&self, shape: &Shape, _: u64, ciphertexts: u64) -> Costs {
        let (model, tiles) = (&shape.model, shape.layout.column_tiles() as u64);
        let rotations = shape.sums.len() as u64;
        let matrix_bytes = ciphertexts * plaintext_bytes(shape);
        Costs {
            plain_products: ciphertexts * tiles,
            key_switches: ciphertexts * rotations,
            ntts: tiles * 2 * model.top() as u64
                + ciphertexts * (rotations * model.switch_ntts() + model.finish_ntts()),
            prepare_ntts: ciphertexts * tiles * (model.top() as u64 + 1),
            words: (matrix_bytes + ciphertexts * rotations * model.key_bytes()) / 8,
            matrix_bytes,
            ..Costs::default()
        }
    }

    /// The transforms of the vector.
    fn shared_costs(&self, shape: &Shape, _: u64) -> Costs {
        Costs { ntts: (shape.layout.column_tiles() * 2 * shape.model.top()) as u64, ..Costs::default() }
    }

    /// The fresh error of each column tile is multiplied by a plaintext with coefficients up to t/2: N·t²/4·σ². Each of
    /// the log2(width) sums doubles the worst coefficient and adds the rounding of its c_1 and the error of a key. (The
    /// first sum divides P times a ciphertext by P and rounds nothing, which the formula ignores.) The end rounds once
    /// more.
    ///
    /// For random entries the first term is smaller by a factor of 3.
    fn noise_std_dev(&self, shape: &Shape, operands: &Operands) -> f64 {
        let Shape { model, layout, sums } = shape;
        let tiles = layout.column_tiles() as f64;
        let products = tiles * model.plaintext_growth() * model.vector_variance(operands);
        (model.summed_variance(products, sums) + model.rounding_variance()).sqrt()
    }
}
