//! Many rows per plaintext, split trace, double hoisting.

mod digits;
mod keys;
mod layout;
mod matrix;
mod product;
mod recycle;
#[cfg(test)]
mod reference;
mod tables;
#[cfg(test)]
mod tests;
mod vector;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use self::keys::PreparedKeys;
use self::layout::Layout;
use self::matrix::PreparedTile;
use self::product::Multiplier;
use self::tables::Tables;
use self::vector::PreparedVector;
use super::{Algorithm, Costs, Operands, Prepared, RowReader, prepared};
use crate::ciphertext::{Ciphertext, Plaintext};
use crate::context::Context;
use crate::error::{BfvError, require_length, require_range};
use crate::keys::{GaloisKeys, GaloisRequest};
use crate::keyswitch::{Gadget, MAX_BASE_LOG};
use crate::noise;
use crate::parameters::{ParameterSet, ParameterSpec};

/// What a planner may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPackedOptions {
    /// B, a power of two: of the P automorphisms per column tile B are applied to the vector, P/B to sums. More than P
    /// count as P.
    pub(crate) baby_steps: usize,
    /// How the vector is cut into digits. What baby steps add to the noise is multiplied by the matrix.
    pub(crate) baby_gadget: Gadget,
    /// How sums are cut into digits.
    pub(crate) giant_gadget: Gadget,
}

/// The strategy, for one shape of matrices.
#[derive(Debug)]
pub(crate) struct RowPacked {
    layout: Layout,
    spec: ParameterSpec,
    options: RowPackedOptions,
    tables: OnceLock<Arc<Tables>>,
}

impl RowPacked {
    /// For a matrix of `rows` × `cols` entries.
    ///
    /// # Errors
    /// If a dimension is out of range, if the number of baby steps is not a power of two up to N, or if the set has no
    /// special modulus or no room for a gadget's digits.
    pub(crate) fn new(
        rows: usize,
        cols: usize,
        parameters: &ParameterSet,
        options: RowPackedOptions,
    ) -> Result<Self, BfvError> {
        let layout = Layout::new(rows, cols, parameters.polynomial_size.get(), options.baby_steps)?;
        if parameters.special_moduli.is_empty() {
            let what = format!("{} has no special modulus, which the row-packed strategy needs", parameters.name);
            return Err(BfvError::Unsupported { what });
        }
        for gadget in [options.baby_gadget, options.giant_gadget] {
            require_gadget(parameters, gadget)?;
        }
        let spec: &ParameterSpec = parameters;
        Ok(Self { layout, spec: spec.clone(), options, tables: OnceLock::new() })
    }

    /// The tables for a context of this plan; those of the first one are kept.
    fn tables(&self, context: &Context) -> Result<Arc<Tables>, BfvError> {
        if let Some(tables) = self.tables.get().filter(|tables| tables.isa() == context.isa()) {
            return Ok(tables.clone());
        }
        let tables = Arc::new(Tables::new(context, &self.layout, &self.options)?);
        // Another thread may have been first: both made the same.
        let _ = self.tables.set(tables.clone());
        Ok(tables)
    }
}

impl Algorithm for RowPacked {
    fn galois_requests(&self) -> Vec<GaloisRequest> {
        let request = |gadget| move |element| GaloisRequest { element, gadget };
        let babies = self.layout.baby_elements().skip(1).map(request(self.options.baby_gadget));
        babies.chain(self.layout.giant_elements().skip(1).map(request(self.options.giant_gadget))).collect()
    }

    fn encode_vector(&self, context: &Context, values: &[i64]) -> Result<Vec<Plaintext>, BfvError> {
        require_length("number of entries of a vector", values.len(), self.layout.cols)?;
        (0..self.layout.column_tiles()).map(|tile| context.encode(&values[self.layout.columns(tile)])).collect()
    }

    fn vector_limbs(&self) -> usize {
        self.spec.ciphertext_moduli.len()
    }

    fn vector_len(&self) -> usize {
        self.layout.column_tiles()
    }

    fn tiles(&self) -> Vec<Range<usize>> {
        self.layout.tiles().map(|tile| tile.rows).collect()
    }

    fn product_len(&self, _: usize) -> usize {
        1
    }

    fn product_limbs(&self) -> usize {
        self.spec.ciphertext_moduli.len()
    }

    fn prepare(&self, context: &Context, tile: usize, read: &RowReader<'_>) -> Result<Arc<dyn Prepared>, BfvError> {
        let tables = self.tables(context)?;
        Ok(Arc::new(PreparedTile::new(context, &self.layout, &tables, &self.layout.tile(tile), read)?))
    }

    fn prepare_keys(&self, context: &Context, keys: &GaloisKeys) -> Result<Arc<dyn Prepared>, BfvError> {
        Ok(Arc::new(PreparedKeys::new(&self.layout, &*self.tables(context)?, keys)?))
    }

    fn prepare_vector(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        vector: &[Ciphertext],
    ) -> Result<Arc<dyn Prepared>, BfvError> {
        let tables = self.tables(context)?;
        Ok(Arc::new(PreparedVector::new(context, &self.layout, &tables, prepared(keys), vector)?))
    }

    fn multiply(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        tile: usize,
        matrices: &[&dyn Prepared],
        vectors: &[&dyn Prepared],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let multiplier = Multiplier { context, tables: &*self.tables(context)?, keys: prepared(keys) };
        let matrices: Vec<&PreparedTile> = matrices.iter().map(|&matrix| prepared(matrix)).collect();
        let vectors: Vec<&PreparedVector> = vectors.iter().map(|&vector| prepared(vector)).collect();
        let products = multiplier.multiply(&self.layout.tile(tile), &matrices, &vectors);
        Ok(products.into_iter().map(|products| products.into_iter().map(|c| vec![c]).collect()).collect())
    }

    fn decode_product(&self, context: &Context, tile: usize, plaintexts: &[Plaintext]) -> Result<Vec<i64>, BfvError> {
        require_length("number of ciphertexts of a product's tile", plaintexts.len(), 1)?;
        let coefficients = context.decode(&plaintexts[0]);
        Ok(self.product_places(tile, 0).into_iter().map(|(place, _)| coefficients[place]).collect())
    }

    fn product_places(&self, tile: usize, _: usize) -> Vec<(usize, usize)> {
        let tile = self.layout.tile(tile);
        (0..tile.rows.len()).map(|row| (self.layout.place(&tile, row), row)).collect()
    }

    fn batched(&self) -> bool {
        false
    }

    fn costs(&self) -> Costs {
        let (layout, spec) = (&self.layout, &self.spec);
        let words = layout.polynomial_size as u64;
        let limbs = spec.ciphertext_moduli.len() as u64;
        let chain = limbs + spec.special_moduli.len() as u64;
        let digits = |gadget| digit_count(spec, gadget);
        let (baby_digits, giant_digits) = (digits(self.options.baby_gadget), digits(self.options.giant_gadget));
        let [column_tiles, babies] = [layout.column_tiles(), layout.babies()].map(|x| x as u64);
        let key_words = |steps: u64, digits: u64| 2 * chain * words * steps * digits;
        let baby_words = key_words(babies - 1, baby_digits);
        let mut costs = Costs {
            hoisted_key_switches: column_tiles * (babies - 1),
            // Of c_0 and the digits of c_1.
            ntts: column_tiles * (limbs + baby_digits * chain),
            words: column_tiles * baby_words,
            key_bytes: 8 * (baby_words + key_words(layout.tile(0).giants as u64 - 1, giant_digits)),
            ..Costs::default()
        };
        for tile in layout.tiles() {
            let (products, steps) = (column_tiles * tile.plaintexts as u64, tile.giants as u64 - 1);
            costs.plain_products += products;
            costs.key_switches += steps;
            // For each giant step u_1 back and its digits forth; the result back.
            costs.ntts += steps * (1 + giant_digits) * chain + 2 * chain;
            costs.prepare_ntts += products * chain;
            costs.words += products * chain * words + key_words(steps, giant_digits);
            costs.matrix_bytes += 8 * products * chain * words;
        }
        costs
    }

    /// With A = 2^(matrix_bits − 1), which bounds all entries, and P of the first tile:
    ///
    /// * the vector's fresh noise is multiplied by a row: n·A²·(variance of a fresh encryption);
    /// * the error that a baby step adds to each coefficient is multiplied by a row of transformed polynomials; the
    ///   transform has P·Σ‖p_i‖² = Σ‖R_g‖² (Parseval), so all together add P·(P·r·n·A²)·(variance of a key switch's error
    ///   divided by S, without rounding), of which the identity has a share of 1/B;
    /// * each giant step adds a key switch's error and the rounding of u_1, N/18, and the last division its rounding.
    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        let (layout, spec) = (&self.layout, &self.spec);
        let limbs = spec.ciphertext_moduli.len();
        let square = f64::from(operands.matrix_bits - 1).exp2().powi(2) * layout.cols as f64;
        let first = layout.tile(0);
        let [plaintexts, babies, giants] = [first.plaintexts, layout.babies(), first.giants].map(|x| x as f64);
        let key_error = |gadget| noise::key_error_variance(spec, gadget, limbs);
        let rounding = noise::rounding_variance(layout.polynomial_size as f64);
        let fresh = noise::fresh_variance(spec, operands.encryption) * square;
        let rows = plaintexts * layout.rows_per_plaintext() as f64;
        let baby = key_error(self.options.baby_gadget) * plaintexts * rows * square * (1.0 - 1.0 / babies);
        let giant = (giants - 1.0) * (key_error(self.options.giant_gadget) + rounding);
        (fresh + baby + giant + rounding).sqrt()
    }
}

/// An error unless digits of `gadget` fit every prime.
fn require_gadget(spec: &ParameterSpec, gadget: Gadget) -> Result<(), BfvError> {
    match gadget {
        Gadget::Limbs { limbs_per_digit } => {
            let limbs = spec.ciphertext_moduli.len();
            require_range("limbs per digit of a gadget", limbs_per_digit as u64, 1, limbs as u64)
        }
        Gadget::Bits { base_log } => {
            let bits = spec.chain().map(|p| 64 - p.leading_zeros()).fold(MAX_BASE_LOG as u32, u32::min);
            require_range("log2 of the base of a gadget", base_log.0 as u64, 1, bits)
        }
    }
}

/// The number of digits of a polynomial at the top level.
fn digit_count(spec: &ParameterSpec, gadget: Gadget) -> u64 {
    match gadget {
        Gadget::Limbs { limbs_per_digit } => spec.ciphertext_moduli.len().div_ceil(limbs_per_digit) as u64,
        Gadget::Bits { base_log } => {
            spec.ciphertext_moduli.iter().map(|q| u64::from((64 - q.leading_zeros()).div_ceil(base_log.0 as u32))).sum()
        }
    }
}
