//! A job, and what algorithm 1 does for it, by formulas.
//!
//! For m rows and n columns in a ring of N, with l primes of ciphertexts, K special ones and d digits; c = l + K:
//!
//! * a vector of n columns is T = ⌈n/N⌉ ciphertexts, each of two polynomials of c limbs that are transformed once: 2·T·c;
//! * a row is T plaintexts, each transformed modulo c primes and multiplied with its ciphertext: m·T products, m·T·c
//!   transforms;
//! * the sum over the T products is transformed back: of c_1 all coefficients are needed, of c_0 only the constant one, which
//!   is the sum of the spectrum divided by N. That is m·c transforms, or 2·m·c where c_0 is transformed, too;
//! * up to N rows, a tile, are packed into one ciphertext at 2^L places, 2^L the least power of two that is enough. Node f of
//!   level j has the leaves f, f + 2^(L−j), f + 2·2^(L−j), …, so that there is one for each f below the lesser of 2^(L−j) and
//!   the number of leaves. Each node from level 1 on is a merge, and a merge is a key switch. A full tile of 2^L rows has
//!   2^L − 1 of them;
//! * a key switch transforms d digits modulo c primes, and two sums back: (d + 2)·c.
//!
//! These are the counts of `bfv::hmvp`, strategy `Algorithm1`, with [`Body::Sum`]; a test of that crate compares them.

use serde::Serialize;

use super::error::{PipelineError, require_range};
use super::parts::{Body, Ring};

/// The greatest number of rows and of columns, that of `bfv::hmvp`.
pub const MAX_DIMENSION: u64 = 16384;
/// The greatest number of products of a run.
pub const MAX_PRODUCTS: u64 = 1 << 20;

/// An encrypted matrix-vector product by algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Job {
    /// m, 1 to 16384.
    pub rows: u64,
    /// n, 1 to 16384.
    pub columns: u64,
}

/// What a job takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Products of a plaintext and a ciphertext.
    pub products: u64,
    /// Transforms of one polynomial modulo one prime, forward and inverse.
    pub ntts: u64,
    /// Key switches, which are the merges of the packing tree.
    pub key_switches: u64,
}

impl Job {
    /// The shape of a job in a ring.
    pub(crate) fn shape(&self, ring: &Ring) -> Result<Shape, PipelineError> {
        require_range("number of rows", self.rows, 1, MAX_DIMENSION)?;
        require_range("number of columns", self.columns, 1, MAX_DIMENSION)?;
        let (n, rows) = (ring.polynomial_size, self.rows);
        let column_tiles = self.columns.div_ceil(n);
        let given = rows * column_tiles;
        if given > MAX_PRODUCTS {
            return Err(PipelineError::TooLarge { rows, column_tiles, given, max: MAX_PRODUCTS });
        }
        Ok(Shape { rows, column_tiles, tile_rows: n.min(rows.next_power_of_two()) })
    }

    /// What algorithm 1 takes for the job, by the formulas above.
    ///
    /// # Errors
    /// If the dimensions are out of their range, or there are more than [`MAX_PRODUCTS`] products.
    pub fn counts(&self, ring: &Ring, body: Body) -> Result<Counts, PipelineError> {
        let shape = self.shape(ring)?;
        let key_switches = (0..shape.tiles()).map(|tile| shape.merges(tile)).sum();
        let (products, chain) = (shape.rows * shape.column_tiles, ring.chain());
        let back = match body {
            Body::Transform => 2,
            Body::Sum => 1,
        };
        let polynomials = 2 * shape.column_tiles + products + back * shape.rows + key_switches * (ring.digits + 2);
        Ok(Counts { products, ntts: polynomials * chain, key_switches })
    }
}

/// How a job is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: u64,
    pub(crate) column_tiles: u64,
    /// Rows of a tile, a power of two; the last may have fewer.
    tile_rows: u64,
}

impl Shape {
    pub(crate) fn tiles(&self) -> u64 {
        self.rows.div_ceil(self.tile_rows)
    }

    /// Rows of a tile.
    pub(crate) fn leaves(&self, tile: u64) -> u64 {
        (self.rows - tile * self.tile_rows).min(self.tile_rows)
    }

    /// Levels of a tile's tree.
    pub(crate) fn levels(&self, tile: u64) -> u32 {
        self.leaves(tile).next_power_of_two().ilog2()
    }

    pub(crate) fn merges(&self, tile: u64) -> u64 {
        let (leaves, levels) = (self.leaves(tile), self.levels(tile));
        (1..=levels).map(|level| leaves.min(1 << (levels - level))).sum()
    }
}
