//! A job and its operation counts in algorithm 1, by formulas.
//!
//! For m rows and n columns in a ring of N, with l primes of ciphertexts, K special ones and d digits; c = l + K:
//!
//! * A vector of n columns is T = ⌈n/N⌉ ciphertexts of two polynomials with c limbs, each transformed once: 2·T·c
//!   transforms.
//! * A row is T plaintexts, each transformed modulo c primes and multiplied with its ciphertext: m·T products, m·T·c
//!   transforms.
//! * The sum over the T products is transformed back. All coefficients of c_1 are needed, but only the constant one of
//!   c_0, which is the sum of the spectrum divided by N. That is m·c transforms, or 2·m·c if c_0 is also transformed.
//! * Up to N rows, a tile, are packed into one ciphertext at 2^L places, where 2^L is the smallest sufficient power of
//!   two. Node f of level j has the leaves f, f + 2^(L−j), f + 2·2^(L−j), …. Such a node exists for each f below the
//!   smaller of 2^(L−j) and the number of leaves. Each node from level 1 on is a merge, and a merge is a key switch. A
//!   full tile of 2^L rows has 2^L − 1 merges.
//! * A key switch transforms d digits modulo c primes, and two sums back: (d + 2)·c transforms.
//!
//! These are the counts of `hmvp` with the strategy `Algorithm1` and [`Body::Sum`]. A test of that crate compares
//! them.

use serde::Serialize;

use super::error::{PipelineError, require_range};
use super::parts::{Body, Ring};

/// The maximum number of rows and of columns, equal to that of `hmvp`.
pub const MAX_DIMENSION: u64 = 16384;
/// The maximum number of products in a run.
pub const MAX_PRODUCTS: u64 = 1 << 20;

/// An encrypted matrix-vector product by algorithm 1.
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{Body, CHAM_PAPER, Job, PipelineMachine};
///
/// let machine = PipelineMachine::from_toml(CHAM_PAPER)?;
/// let counts = Job { rows: 8, columns: 256 }.counts(&machine.ring(), Body::Sum)?;
/// assert_eq!((counts.products, counts.key_switches), (8, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Job {
    /// m, 1 to 16384.
    pub rows: u64,
    /// n, 1 to 16384.
    pub columns: u64,
}

/// The operation counts of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Products of a plaintext and a ciphertext.
    pub products: u64,
    /// Transforms of one polynomial modulo one prime, in both directions.
    pub ntts: u64,
    /// Key switches, one per merge of the packing tree.
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

    /// The operation counts of algorithm 1, by the formulas of this module.
    ///
    /// # Errors
    /// If the dimensions are out of range, or there are more than [`MAX_PRODUCTS`] products.
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

/// The tiling of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: u64,
    pub(crate) column_tiles: u64,
    /// Rows of a full tile, a power of two. The last tile may have fewer.
    tile_rows: u64,
}

impl Shape {
    pub(crate) fn tiles(&self) -> u64 {
        self.rows.div_ceil(self.tile_rows)
    }

    /// The rows of a tile.
    pub(crate) fn leaves(&self, tile: u64) -> u64 {
        (self.rows - tile * self.tile_rows).min(self.tile_rows)
    }

    /// The levels of a tile's tree.
    pub(crate) fn levels(&self, tile: u64) -> u32 {
        self.leaves(tile).next_power_of_two().ilog2()
    }

    pub(crate) fn merges(&self, tile: u64) -> u64 {
        let (leaves, levels) = (self.leaves(tile), self.levels(tile));
        (1..=levels).map(|level| leaves.min(1 << (levels - level))).sum()
    }
}
