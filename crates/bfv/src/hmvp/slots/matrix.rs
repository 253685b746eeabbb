//! Matrices of plaintexts, vectors of ciphertexts, and their products, as spectra in orbit order.

use std::ops::Range;

use ciphermill_math::products::{MatrixBlock, SumBlock, VectorBlock};

use super::ring::Limbs;
use super::{SlotRing, map};
use crate::encoding::BatchEncoder;
use crate::error::BfvError;

/// Plaintexts for consecutive rows of plaintexts: by column tile, and by limb a block of rows × columns of the tile.
pub(in crate::hmvp) struct SlotMatrix {
    blocks: Vec<Vec<MatrixBlock>>,
    rows: usize,
}

/// Vectors of lifted ciphertexts: by column tile, and by limb the tile's columns.
pub(in crate::hmvp) struct SlotVectors {
    pub(in crate::hmvp) blocks: Vec<Vec<VectorBlock>>,
}

impl SlotVectors {
    /// Several vectors as one, so that a product reads the matrix once.
    pub(in crate::hmvp) fn join(vectors: &[&Self]) -> Self {
        let block = |tile: usize, limb: usize| {
            let blocks: Vec<&VectorBlock> = vectors.iter().map(|vector| &vector.blocks[tile][limb]).collect();
            VectorBlock::join(&blocks)
        };
        let shape = vectors[0].blocks.iter().map(Vec::len).enumerate();
        Self { blocks: shape.map(|(tile, limbs)| map((0..limbs).collect(), |limb| block(tile, limb))).collect() }
    }

    /// How many vectors.
    pub(in crate::hmvp) fn len(&self) -> usize {
        self.blocks[0][0].vectors()
    }
}

/// Sums of products, by limb.
pub(in crate::hmvp) struct SlotSums {
    sums: Vec<SumBlock>,
}

impl SlotSums {
    /// Both parts of the sum of `row` and vector `v`, by limb.
    pub(in crate::hmvp) fn get(&self, row: usize, v: usize) -> [Limbs<'_>; 2] {
        [0, 1].map(|k| self.sums.iter().map(|limb| limb.get(row, v)[k]).collect())
    }
}

impl SlotMatrix {
    /// Encodes the slots that `slots` gives for (column tile, row, column), over the first `limbs` primes: a row for each of
    /// `rows`, `columns` columns for each of `tiles` column tiles.
    ///
    /// # Errors
    /// If an entry is out of the range of t.
    pub(in crate::hmvp) fn encode(
        ring: &SlotRing,
        limbs: usize,
        tiles: usize,
        rows: Range<usize>,
        columns: usize,
        slots: impl Fn(usize, usize, usize) -> Vec<i64> + Sync + Send,
    ) -> Result<Self, BfvError> {
        let (context, encoder) = (&ring.context, BatchEncoder::new(&ring.context)?);
        let n = context.n();
        let blocks = |tile| {
            let spectrum = |(row, column)| {
                let plaintext = encoder.encode(&slots(tile, row, column))?;
                Ok(ring.plaintext(&context.centred(&plaintext), limbs))
            };
            let entries = rows.clone().flat_map(|row| (0..columns).map(move |column| (row, column)));
            let spectra: Vec<_> = map(entries.collect(), spectrum).into_iter().collect::<Result<_, BfvError>>()?;
            let block = |limb| {
                MatrixBlock::pack(n, rows.len(), columns, |row, column| spectra[row * columns + column].limb(limb))
            };
            Ok(map((0..limbs).collect(), block))
        };
        let blocks = (0..tiles).map(blocks).collect::<Result<_, BfvError>>()?;
        Ok(Self { blocks, rows: rows.len() })
    }

    /// The number of rows.
    pub(in crate::hmvp) fn rows(&self) -> usize {
        self.rows
    }

    /// The product with each vector.
    pub(in crate::hmvp) fn multiply(&self, ring: &SlotRing, vectors: &SlotVectors) -> SlotSums {
        let limbs = self.blocks[0].len();
        let sum = |limb: usize| {
            let mut sums = SumBlock::zeroed(ring.context.n(), self.rows, vectors.len());
            let parts = sums.parts(rayon::current_num_threads().div_ceil(limbs));
            map(parts, |mut part| {
                for (tile, (matrix, vector)) in self.blocks.iter().zip(&vectors.blocks).enumerate() {
                    ring.kernels(limb).multiply(&matrix[limb], &vector[limb], &mut part, tile > 0);
                }
            });
            sums
        };
        SlotSums { sums: map((0..limbs).collect(), sum) }
    }
}
