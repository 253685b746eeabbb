//! The part of a strategy that all strategies with entries in slots share.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Layout, RingCache, SlotKeys, SlotModel, SlotRing, SlotVector, SumStep, TileRows, in_pool};
use crate::layout::PlanLayout;
use crate::{Algorithm, Costs, Operands, Prepared, RowReader, prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::error::{BfvError, require_length};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};

/// The places of entries, and the sums of slots that end a product.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) model: SlotModel,
    pub(crate) layout: Layout,
    pub(crate) sums: Vec<SumStep>,
}

impl Shape {
    /// The shape whose sums take `radix` slots in a step.
    pub(crate) fn new(model: SlotModel, layout: Layout, radix: usize) -> Self {
        Self { sums: SumStep::all(layout.diagonals, layout.summands(), radix), model, layout }
    }
}

/// The order of the key switches of a strategy: rotations before the products, and rotations after them.
pub(crate) trait Schedule: fmt::Debug + Send + Sync {
    /// A row tile in the form in which it multiplies.
    type Matrix: Any + Send + Sync;

    /// B: vectors are rotated by 0 to B − 1.
    fn babies(&self) -> usize;

    /// The rotations that need keys, those of the sums of slots excepted.
    fn rotations(&self, shape: &Shape) -> Vec<usize>;

    /// The rows of a row tile, a multiple of those of a ciphertext.
    fn tile_rows(&self, shape: &Shape) -> usize;

    /// Encodes the rows of a tile whose product has `ciphertexts` ciphertexts.
    fn encode(
        &self,
        shape: &Shape,
        ring: &SlotRing,
        rows: &TileRows,
        ciphertexts: usize,
    ) -> Result<Self::Matrix, BfvError>;

    /// As [`Algorithm::multiply`].
    fn multiply(
        &self,
        shape: &Shape,
        keys: &SlotKeys,
        matrices: &[&Self::Matrix],
        vectors: &[&SlotVector],
    ) -> Vec<Vec<Vec<Ciphertext>>>;

    /// As [`Algorithm::costs`], for a product with these numbers of row tiles and ciphertexts.
    fn costs(&self, shape: &Shape, tiles: u64, ciphertexts: u64) -> Costs;

    /// As [`Algorithm::shared_costs`], for a product with this number of row tiles.
    fn shared_costs(&self, shape: &Shape, tiles: u64) -> Costs;

    /// As [`Algorithm::noise_std_dev`].
    fn noise_std_dev(&self, shape: &Shape, operands: &Operands) -> f64;
}

/// A strategy with entries in slots.
#[derive(Debug)]
pub(crate) struct Slots<S> {
    pub(crate) shape: Shape,
    pub(crate) schedule: S,
    ring: RingCache,
}

impl<S: Schedule> Slots<S> {
    pub(crate) fn with(shape: Shape, schedule: S) -> Self {
        Self { shape, schedule, ring: RingCache::default() }
    }

    /// All rotations that need keys.
    fn rotations(&self) -> Vec<usize> {
        let sums = self.shape.sums.iter().flat_map(SumStep::rotations);
        self.schedule.rotations(&self.shape).into_iter().chain(sums).collect()
    }

    /// The rows of a tile.
    fn tile(&self, tile: usize) -> Range<usize> {
        let size = self.schedule.tile_rows(&self.shape);
        tile * size..((tile + 1) * size).min(self.shape.layout.rows)
    }

    /// The rows of the tile that ciphertext `ciphertext` holds.
    fn rows_of(&self, tile: usize, ciphertext: usize) -> Range<usize> {
        let (size, rows) = (self.shape.layout.rows_per_ciphertext(), self.tile(tile).len());
        (ciphertext * size).min(rows)..((ciphertext + 1) * size).min(rows)
    }
}

impl<S: Schedule> Algorithm for Slots<S> {
    fn galois_requests(&self) -> Vec<GaloisRequest> {
        self.shape.model.requests(&self.rotations())
    }

    fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError> {
        self.shape.layout.encode_vector(context, values)
    }

    fn vector_limbs(&self) -> usize {
        self.shape.model.top()
    }

    fn vector_len(&self) -> usize {
        self.shape.layout.column_tiles()
    }

    fn tiles(&self) -> Vec<Range<usize>> {
        self.shape.layout.row_tiles(self.schedule.tile_rows(&self.shape))
    }

    fn product_len(&self, tile: usize) -> usize {
        self.tile(tile).len().div_ceil(self.shape.layout.rows_per_ciphertext())
    }

    fn product_limbs(&self) -> usize {
        self.shape.model.top()
    }

    fn prepare(&self, context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError> {
        let rows = TileRows::read(self.tile(tile), self.shape.layout.cols, read);
        let (ring, ciphertexts) = (self.ring.get(context), self.product_len(tile));
        let matrix = || self.schedule.encode(&self.shape, &ring, &rows, ciphertexts);
        Ok(Arc::new(in_pool(matrix)?))
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
        Ok(Arc::new(in_pool(|| SlotVector::new(ring, vector, self.schedule.babies() > 1))))
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
        let matrices: Vec<&S::Matrix> = matrices.iter().map(|&matrix| prepared(matrix)).collect();
        Ok(in_pool(|| self.schedule.multiply(&self.shape, keys, &matrices, &vectors)))
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
        self.shape.layout.places(rows.len()).into_iter().map(|(slot, row)| (slot, rows.start + row)).collect()
    }

    fn layout(&self) -> PlanLayout<'_> {
        PlanLayout::Slots { layout: &self.shape.layout, babies: self.schedule.babies(), sums: &self.shape.sums }
    }

    fn batched(&self) -> bool {
        true
    }

    fn costs(&self) -> Costs {
        let tiles = self.tiles().len();
        let ciphertexts: usize = (0..tiles).map(|tile| self.product_len(tile)).sum();
        let key_bytes = self.rotations().len() as u64 * self.shape.model.key_bytes();
        Costs { key_bytes, ..self.schedule.costs(&self.shape, tiles as u64, ciphertexts as u64) }
    }

    fn shared_costs(&self) -> Costs {
        self.schedule.shared_costs(&self.shape, self.tiles().len() as u64)
    }

    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        self.schedule.noise_std_dev(&self.shape, operands)
    }
}
