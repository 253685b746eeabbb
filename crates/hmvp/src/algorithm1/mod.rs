//! The paper's algorithm 1: a product for each row, of which the constant coefficient is the row's entry of u; it is
//! extracted as an LWE ciphertext, and the LWE ciphertexts are packed ([`lwe`](ciphermill_bfv::lwe)).
//!
//! * The vector is encrypted modulo the whole chain Q·P, N columns to a ciphertext.
//! * A matrix is held as its entries, 32 bits each, and a row is transformed when it is multiplied, as in the paper's
//!   first stage. Spectra would save three of eighteen transforms, but need 96 KiB per row at the moduli of `CHAM_PAPER`
//!   instead of 1 KiB: reading them takes as long as the transforms, and writing them far longer. A matrix needs no
//!   preparation.
//! * A row's products are added up over its column tiles and divided by P: the paper's rescale. The division also
//!   reduces their noise to that of rounding.
//! * Up to N rows, a *tile*, are packed into one ciphertext: row i of 2^l at the coefficient i·N/2^l. Other
//!   coefficients hold sums of other functions of the matrix. Rows shorter than N are not put together into one
//!   plaintext: the paper has one product for each row, which makes this strategy slower than
//!   [`RowPacked`](super::Strategy::RowPacked).

mod noise;
pub mod reference;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::RnsPoly;
use rayon::prelude::*;

use super::{Algorithm, Costs, MAX_DIMENSION, Operands, Prepared, RowReader, prepared};
use crate::layout::PlanLayout;
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_length, require_range};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::lwe::tree::{self, PackingKeys, Workspaces};
use ciphermill_bfv::parameters::ParameterSet;
use rows::{RowProduct, Rows, Vector};

/// Algorithm 1 for one shape and parameter set.
#[derive(Clone, Debug)]
pub(crate) struct Algorithm1 {
    rows: usize,
    cols: usize,
    parameters: ParameterSet,
    /// Rows of a tile, a power of two up to N; the last tile may have fewer.
    tile_rows: usize,
}

/// The keys of all levels, with tables and scratch memory.
struct PreparedKeys {
    tag: KeyTag,
    packing: PackingKeys,
    product: RowProduct,
    /// Kept from one product to the next: a few polynomials for each thread and level.
    spaces: Workspaces,
}

impl Algorithm1 {
    /// For a matrix part of `rows` × `cols` entries.
    ///
    /// # Errors
    /// If a dimension is not from 1 to [`MAX_DIMENSION`], or the parameter set has no special modulus.
    pub(crate) fn new(rows: usize, cols: usize, parameters: &ParameterSet) -> Result<Self, BfvError> {
        require_range("number of rows", rows as u64, 1, MAX_DIMENSION as u64)?;
        require_range("number of columns", cols as u64, 1, MAX_DIMENSION as u64)?;
        if parameters.special_moduli.is_empty() {
            let what = "algorithm 1 without a special modulus; use a parameter set that has one".to_owned();
            return Err(BfvError::Unsupported { what });
        }
        let tile_rows = parameters.polynomial_size.get().min(rows.next_power_of_two());
        Ok(Self { rows, cols, parameters: parameters.clone(), tile_rows })
    }

    fn n(&self) -> usize {
        self.parameters.polynomial_size.get()
    }

    /// Ciphertexts of a vector.
    fn column_tiles(&self) -> usize {
        self.cols.div_ceil(self.n())
    }

    fn tile(&self, tile: usize) -> Range<usize> {
        let first = tile * self.tile_rows;
        first..(first + self.tile_rows).min(self.rows)
    }

    /// log2 of the places that tile `tile` is packed into.
    fn levels(&self, tile: usize) -> u32 {
        self.tile(tile).len().next_power_of_two().ilog2()
    }

    /// Coefficients from one entry of tile `tile` to the next.
    fn stride(&self, tile: usize) -> usize {
        self.n() >> self.levels(tile)
    }
}

impl Algorithm for Algorithm1 {
    fn galois_requests(&self) -> Vec<GaloisRequest> {
        let gadget = self.parameters.gadget;
        let levels = self.tile_rows.ilog2();
        (1..=levels).map(|level| GaloisRequest { element: tree::element(level), gadget }).collect()
    }

    fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError> {
        require_length("number of entries of the vector", values.len(), self.cols)?;
        values.chunks(self.n()).map(|columns| context.encode(columns)).collect()
    }

    fn vector_limbs(&self) -> usize {
        self.parameters.chain().count()
    }

    fn vector_len(&self) -> usize {
        self.column_tiles()
    }

    fn tiles(&self) -> Vec<Range<usize>> {
        (0..self.rows.div_ceil(self.tile_rows)).map(|tile| self.tile(tile)).collect()
    }

    fn product_len(&self, _tile: usize) -> usize {
        1
    }

    fn product_limbs(&self) -> usize {
        self.parameters.ciphertext_moduli.len()
    }

    fn prepare(&self, _context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError> {
        let rows = self.tile(tile);
        Ok(Arc::new(Rows::read(rows.start, rows.len(), self.cols, read)?))
    }

    fn prepare_keys(&self, context: &Context, keys: &GaloisKeys) -> Result<Arc<dyn Prepared>, BfvError> {
        let packing = PackingKeys::new(context, keys, context.top(), 1..=self.tile_rows.ilog2())?;
        Ok(Arc::new(PreparedKeys {
            tag: keys.tag(),
            packing,
            product: RowProduct::new(context)?,
            spaces: Workspaces::default(),
        }))
    }

    fn prepare_vector(
        &self,
        context: &Context,
        _keys: &dyn Prepared,
        vector: &[Ciphertext],
    ) -> Result<Arc<dyn Prepared>, BfvError> {
        Ok(Arc::new(Vector::prepare(context, vector)))
    }

    fn multiply(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        tile: usize,
        matrices: &[&dyn Prepared],
        vectors: &[&dyn Prepared],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let keys: &PreparedKeys = prepared(keys);
        let vectors: Vec<&Vector> = vectors.iter().map(|&vector| prepared(vector)).collect();
        let levels = self.levels(tile);
        let inverses = context.inverse_power_of_two(context.top(), levels);
        let multiply = |matrix: &&dyn Prepared| {
            let rows: &Rows = prepared(*matrix);
            tree::pack(&keys.packing, &keys.spaces, rows.len(), levels, &|i, space| {
                let leaf = |vector: &&Vector| keys.product.leaf(context, rows.row(i), vector, &inverses, space);
                vectors.iter().map(leaf).collect()
            })
        };
        let mut products = vec![Vec::with_capacity(matrices.len()); vectors.len()];
        for nodes in matrices.par_iter().map(multiply).collect::<Vec<_>>() {
            for (product, node) in products.iter_mut().zip(nodes) {
                let size = self.parameters.polynomial_size;
                let parts = node.into_parts().map(|words| RnsPoly::from_words(size, words)).into();
                product.push(vec![Ciphertext::new(self.parameters.id(), keys.tag, parts)]);
            }
        }
        Ok(products)
    }

    fn decode_product(&self, context: &Context, tile: usize, plaintexts: &[Plaintext]) -> Result<Vec<i64>, BfvError> {
        require_length("number of ciphertexts of the tile", plaintexts.len(), self.product_len(tile))?;
        let coefficients = context.decode(&plaintexts[0]);
        let entries = coefficients.iter().step_by(self.stride(tile));
        Ok(entries.take(self.tile(tile).len()).copied().collect())
    }

    fn product_places(&self, tile: usize, _ciphertext: usize) -> Vec<(usize, usize)> {
        (0..self.tile(tile).len()).map(|row| (row * self.stride(tile), row)).collect()
    }

    fn layout(&self) -> PlanLayout<'_> {
        PlanLayout::Algorithm1 { tile_rows: self.tile_rows }
    }

    fn batched(&self) -> bool {
        false
    }

    fn costs(&self) -> Costs {
        let (n, chain) = (self.n() as u64, self.parameters.chain().count() as u64);
        let (rows, column_tiles) = (self.rows as u64, self.column_tiles() as u64);
        let digits: u64 = match self.parameters.gadget {
            Gadget::Limbs { limbs_per_digit } => {
                self.parameters.ciphertext_moduli.len().div_ceil(limbs_per_digit) as u64
            }
            Gadget::Bits { base_log } => {
                let digits = |&q: &u64| u64::from(u64::BITS - q.leading_zeros()).div_ceil(base_log.0 as u64);
                self.parameters.ciphertext_moduli.iter().map(digits).sum()
            }
        };
        // A node of the tree takes a key switch unless all its leaves are 0.
        let merges = |tile: usize| -> u64 {
            let places = 1usize << self.levels(tile);
            (1..=self.levels(tile)).map(|level| self.tile(tile).len().min(places >> level) as u64).sum()
        };
        let key_switches = (0..self.tiles().len()).map(merges).sum();
        let key_words = digits * 2 * chain * n;
        let matrix_bytes = rows * self.cols as u64 * size_of::<i32>() as u64;
        Costs {
            plain_products: rows * column_tiles,
            hoisted_key_switches: 0,
            key_switches,
            ntts: self.shared_costs().ntts + rows * (column_tiles + 1) * chain + key_switches * (digits + 2) * chain,
            prepare_ntts: 0,
            words: matrix_bytes / 8 + key_switches * key_words,
            matrix_bytes,
            key_bytes: u64::from(self.tile_rows.ilog2()) * key_words * 8,
        }
    }

    /// The transforms of the vector.
    fn shared_costs(&self) -> Costs {
        let ntts = 2 * self.column_tiles() * self.parameters.chain().count();
        Costs { ntts: ntts as u64, ..Costs::default() }
    }

    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        noise::greatest_variance(&self.parameters, operands, self.cols, self.tile_rows.ilog2()).sqrt()
    }
}
