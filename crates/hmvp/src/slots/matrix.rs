//! Matrices of plaintexts, vectors of ciphertexts, and their products, as spectra in orbit order.

use std::ops::Range;

use ciphermill_math::products::{MatrixBlock, Rotation, SumBlock, VectorBlock};

use super::keys::SlotKeys;
use super::ring::{Lifted, Limbs, OrbitSpectra};
use super::{SlotRing, map};
use crate::row_packed::recycle::Lease;
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::error::BfvError;

/// Plaintexts that are encoded before they are packed.
const BATCH: usize = 16;

/// Bytes of the rotations of vectors that are made and multiplied at a time: about half of a second-level cache.
const WINDOW_BYTES: usize = 512 << 10;

/// Shorter windows are more calls than work.
const MIN_WINDOW: usize = 128;

/// Rows of plaintexts, each with as many columns as a vector is rotated for: by column tile and limb.
pub(crate) struct SlotMatrix {
    blocks: Vec<Vec<MatrixBlock>>,
}

/// A vector: by column tile P times its ciphertext, and the digits that it is rotated by, if it is.
pub(crate) struct SlotVector {
    tiles: Vec<(Lifted, Option<OrbitSpectra>)>,
}

/// Sums of products: by limb and matrix.
pub(crate) struct SlotSums {
    sums: Vec<Vec<Lease<SumBlock>>>,
}

impl SlotVector {
    /// The vector of these ciphertexts, `rotated` or not.
    pub(crate) fn new(ring: &SlotRing, ciphertexts: &[Ciphertext], rotated: bool) -> Self {
        let tile = |ciphertext: &Ciphertext| {
            let digits = rotated.then(|| ring.digits(ciphertext.parts()[1].words()));
            (ring.lift(ciphertext), digits)
        };
        Self { tiles: map(ciphertexts.iter().collect(), tile) }
    }
}

impl SlotSums {
    /// Both parts of the sum of row `row` of matrix `matrix` and vector `vector`, by limb.
    pub(crate) fn get(&self, matrix: usize, row: usize, vector: usize) -> [Limbs<'_>; 2] {
        [0, 1].map(|k| self.sums.iter().map(|limb| limb[matrix].get(row, vector)[k]).collect())
    }
}

impl SlotMatrix {
    /// Encodes the slots that `slots` gives for (column tile, row, column), over the first `limbs` primes: a row for each of
    /// `rows`, `columns` columns for each of `tiles` column tiles.
    ///
    /// # Errors
    /// If an entry is out of the range of t.
    pub(crate) fn encode(
        ring: &SlotRing,
        limbs: usize,
        tiles: usize,
        rows: Range<usize>,
        columns: usize,
        slots: impl Fn(usize, usize, usize) -> Vec<i64> + Sync + Send,
    ) -> Result<Self, BfvError> {
        let (context, encoder) = (&ring.context, BatchEncoder::new(&ring.context)?);
        let (n, none) = (context.n(), Rotation::none(context.n()));
        let tile = |tile| {
            let mut blocks: Vec<MatrixBlock> =
                (0..limbs).map(|limb| ring.kernels(limb).matrix(n, rows.len(), columns)).collect();
            let entries: Vec<(usize, usize)> = (0..rows.len() * columns).map(|at| blocks[0].entry(at)).collect();
            for (batch, entries) in entries.chunks(BATCH).enumerate() {
                let spectrum = |&(row, column): &(usize, usize)| {
                    let plaintext = encoder.encode(&slots(tile, rows.start + row, column))?;
                    Ok(ring.plaintext(&context.centred(&plaintext), limbs))
                };
                let spectra = map(entries.iter().collect(), spectrum);
                let spectra: Vec<OrbitSpectra> = spectra.into_iter().collect::<Result<_, BfvError>>()?;
                map(blocks.iter_mut().enumerate().collect(), |(limb, block): (usize, &mut MatrixBlock)| {
                    let spectra: Vec<_> = spectra.iter().map(|spectrum| (spectrum.limb(limb), none)).collect();
                    block.part().set(batch * BATCH, &spectra);
                });
            }
            Ok(blocks)
        };
        Ok(Self { blocks: (0..tiles).map(tile).collect::<Result<_, BfvError>>()? })
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.blocks[0][0].rows()
    }

    /// The products of all `matrices`, of one shape, with all `vectors`: column j of a column tile with the vector's
    /// ciphertext rotated by j. Rotations are made for one window of words after the other, so that they stay in the cache
    /// until all matrices have been multiplied.
    pub(crate) fn multiply(ring: &SlotRing, keys: &SlotKeys, matrices: &[&Self], vectors: &[&SlotVector]) -> SlotSums {
        let (n, first) = (ring.context.n(), matrices[0]);
        let (limbs, rows, columns) = (first.blocks[0].len(), first.rows(), first.blocks[0][0].columns());
        let threads = rayon::current_num_threads().div_ceil(limbs);
        let window = WINDOW_BYTES / (16 * columns * vectors.len());
        let window = if threads > 1 { n } else { window.max(MIN_WINDOW).next_power_of_two().min(n) };
        let limb = |limb: usize| {
            let sums = |_| {
                let fits = |sums: &SumBlock| (sums.rows(), sums.vectors()) == (rows, vectors.len());
                ring.sums.lease(fits, || SumBlock::zeroed(n, rows, vectors.len()))
            };
            let mut sums: Vec<Lease<SumBlock>> = matrices.iter().map(sums).collect();
            let shape = (vectors.len(), columns, window);
            let mut block = ring.columns.lease(
                |block| (block.vectors(), block.columns(), block.words().len()) == shape,
                || VectorBlock::window(n, window, vectors.len(), columns),
            );
            for start in (0..n).step_by(window) {
                block.move_to(start);
                for tile in 0..first.blocks.len() {
                    for (v, vector) in vectors.iter().enumerate() {
                        let (lifted, digits) = &vector.tiles[tile];
                        for column in 0..columns {
                            ring.write_rotation(keys, column, (lifted, digits.as_ref()), limb, (&mut block, v));
                        }
                    }
                    for (matrix, sums) in matrices.iter().zip(&mut sums) {
                        map(sums.parts(threads), |mut part| {
                            ring.kernels(limb).multiply(&matrix.blocks[tile][limb], &block, &mut part, tile > 0);
                        });
                    }
                }
            }
            sums
        };
        SlotSums { sums: map((0..limbs).collect(), limb) }
    }
}
