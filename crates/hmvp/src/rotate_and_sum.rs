//! Rotate and sum, in slots (C. Juvekar, V. Vaikuntanathan, A. Chandrakasan, "GAZELLE", USENIX Security 2018, §4; the paper's
//! batch-encoded baseline).
//!
//! With the [`layout`](super::slots) of one diagonal every slot has the product of one entry of the matrix and one of the
//! vector: a plaintext holds N/width rows. Its product with the vector is rotated by 1, 2, 4, … width/2 and added to
//! itself, log2(width) key switches, after which the first slot of each segment of `width` slots has an entry and all
//! others have sums that reach into the next segment. Each plaintext makes a ciphertext of its own, as nothing but another
//! product could clear those slots to make room. Products of column tiles are added before they are rotated.
//!
//! **Keys**: rotations by the powers of two below width.
//!
//! **When it wins**: a few rows, as it takes the fewest keys. Otherwise it is the baseline for the [diagonal
//! method](super::diagonal), whose key switches serve as many rows as there are slots.

use std::ops::Range;
use std::sync::Arc;

use super::slots::{self, Layout, RingCache, SlotKeys, SlotMatrix, SlotModel, SlotSums, SlotVector, SumStep, TileRows};
use super::{Algorithm, Costs, Operands, Prepared, RowReader, prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::error::{BfvError, require_length};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::parameters::ParameterSet;

/// Plaintexts whose products are computed together: bounds the memory for sums.
const GROUP: usize = 16;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct RotateAndSum {
    model: SlotModel,
    layout: Layout,
    sums: Vec<SumStep>,
    ring: RingCache,
}

impl RotateAndSum {
    /// The method for a matrix of `rows` × `cols`.
    ///
    /// # Errors
    /// If a dimension is out of range, or the set has no slots or no special modulus.
    pub(super) fn new(rows: usize, cols: usize, parameters: &ParameterSet) -> Result<Self, BfvError> {
        let model = SlotModel::new(rows, cols, parameters)?;
        let layout = Layout::new(model.n(), rows, cols, 1);
        Ok(Self { sums: SumStep::all(1, layout.summands(), 2), model, layout, ring: RingCache::default() })
    }

    fn rotations(&self) -> Vec<usize> {
        self.sums.iter().flat_map(SumStep::rotations).collect()
    }

    /// Bytes of the spectra of one plaintext for each column tile.
    fn plaintext_bytes(&self) -> u64 {
        self.layout.column_tiles() as u64 * self.model.packed_bytes(self.model.top())
    }

    /// Rows of a row tile.
    fn tile_rows(&self) -> usize {
        (slots::TILE_BYTES / self.plaintext_bytes()).max(1) as usize * self.layout.rows_per_ciphertext()
    }

    fn tile(&self, tile: usize) -> Range<usize> {
        tile * self.tile_rows()..((tile + 1) * self.tile_rows()).min(self.layout.rows)
    }

    /// The rows of the tile that ciphertext `ciphertext` holds.
    fn rows_of(&self, tile: usize, ciphertext: usize) -> Range<usize> {
        let (size, rows) = (self.layout.rows_per_ciphertext(), self.tile(tile).len());
        (ciphertext * size).min(rows)..((ciphertext + 1) * size).min(rows)
    }
}

impl Algorithm for RotateAndSum {
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
        self.layout.row_tiles(self.tile_rows())
    }

    fn product_len(&self, tile: usize) -> usize {
        self.tile(tile).len().div_ceil(self.layout.rows_per_ciphertext())
    }

    fn product_limbs(&self) -> usize {
        self.model.top()
    }

    fn prepare(&self, context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError> {
        let rows = TileRows::read(self.tile(tile), self.layout.cols, read);
        let ring = self.ring.get(context);
        let (tiles, size) = (self.layout.column_tiles(), self.layout.rows_per_ciphertext());
        let slots = |tile, plaintext, _| self.layout.diagonal_slots(&rows, plaintext * size, tile, 0, 0);
        let group = |group| SlotMatrix::encode(&ring, self.model.top(), tiles, group, 1, slots);
        let groups = slots::groups(self.product_len(tile), GROUP);
        let matrix: Vec<SlotMatrix> =
            slots::in_pool(|| groups.into_iter().map(group).collect::<Result<_, BfvError>>())?;
        Ok(Arc::new(matrix))
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
        let ring = &prepared::<SlotKeys>(keys).ring;
        Ok(Arc::new(slots::in_pool(|| SlotVector::new(ring, vector, false))))
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
        let matrices: Vec<&Vec<SlotMatrix>> = matrices.iter().map(|&matrix| prepared(matrix)).collect();
        let mut products = vec![vec![Vec::new(); matrices.len()]; vectors.len()];
        slots::in_pool(|| {
            for group in 0..matrices[0].len() {
                let group: Vec<&SlotMatrix> = matrices.iter().map(|matrix| &matrix[group]).collect();
                let sums = SlotMatrix::multiply(&keys.ring, keys, &group, &vectors);
                for (v, products) in products.iter_mut().enumerate() {
                    for (m, product) in products.iter_mut().enumerate() {
                        let switch = |row| self.switch(keys, &sums, m, row, v);
                        product.extend(slots::map((0..group[m].rows()).collect(), switch));
                    }
                }
            }
        });
        Ok(products)
    }

    fn decode_product(&self, context: &Context, tile: usize, plaintexts: &[Plaintext]) -> Result<Vec<i64>, BfvError> {
        require_length("number of ciphertexts of the product", plaintexts.len(), self.product_len(tile))?;
        let encoder = BatchEncoder::new(context)?;
        let entries = |(ciphertext, plaintext)| {
            let slots = encoder.decode(plaintext);
            self.product_places(tile, ciphertext).into_iter().map(move |(slot, _)| slots[slot])
        };
        Ok(plaintexts.iter().enumerate().flat_map(entries).collect())
    }

    fn product_places(&self, tile: usize, ciphertext: usize) -> Vec<(usize, usize)> {
        let rows = self.rows_of(tile, ciphertext);
        self.layout.places(rows.len()).into_iter().map(|(slot, row)| (slot, rows.start + row)).collect()
    }

    fn batched(&self) -> bool {
        true
    }

    fn costs(&self) -> Costs {
        let (model, tiles) = (&self.model, self.layout.column_tiles() as u64);
        let ciphertexts: u64 = (0..self.tiles().len()).map(|tile| self.product_len(tile) as u64).sum();
        let rotations = self.sums.len() as u64;
        let matrix_bytes = ciphertexts * self.plaintext_bytes();
        Costs {
            plain_products: ciphertexts * tiles,
            hoisted_key_switches: 0,
            key_switches: ciphertexts * rotations,
            ntts: tiles * 2 * model.top() as u64
                + ciphertexts * (rotations * model.switch_ntts() + model.finish_ntts()),
            prepare_ntts: ciphertexts * tiles * (model.top() as u64 + 1),
            words: (matrix_bytes + ciphertexts * rotations * model.key_bytes()) / 8,
            matrix_bytes,
            key_bytes: rotations * model.key_bytes(),
        }
    }

    /// The transforms of the vector.
    fn shared_costs(&self) -> Costs {
        Costs { ntts: (self.layout.column_tiles() * 2 * self.model.top()) as u64, ..Costs::default() }
    }

    /// The fresh error of each column tile is multiplied by a plaintext with coefficients up to t/2, N·t²/4·σ²; each of the
    /// log2(width) sums doubles the worst coefficient and adds the rounding of its c_1 and the error of a key (the first
    /// one divides P times a ciphertext by P and rounds nothing, which the formula leaves aside); the end rounds once more.
    ///
    /// For random entries the first term is smaller by a factor of 3.
    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        let model = &self.model;
        let tiles = self.layout.column_tiles() as f64;
        let products = tiles * model.plaintext_growth() * model.fresh_variance(operands.encryption);
        (model.summed_variance(products, &self.sums) + model.rounding_variance()).sqrt()
    }
}

impl RotateAndSum {
    /// The ciphertext of one plaintext's product with one vector.
    fn switch(&self, keys: &SlotKeys, sums: &SlotSums, matrix: usize, row: usize, vector: usize) -> Ciphertext {
        let ring = &keys.ring;
        // P times the product, which is 0 modulo the special primes.
        let lifted = ring.lifted(&sums.get(matrix, row, vector));
        ring.finish(keys, &ring.sum_slots(keys, &self.sums, lifted))
    }
}
