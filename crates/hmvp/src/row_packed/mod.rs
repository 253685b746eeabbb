//! Many rows per plaintext, the packing split into baby steps before and giant steps after the products.
//!
//! **Packing.** For n ≤ N columns (padded to a power of two) a plaintext p_i holds r = N/n rows, each reversed so that its
//! product with the vector Σ v_j·X^j stands at a multiple of X^n (see `matrix`). σ_g for g = 1 + c·i, c = 2N/n, leaves
//! multiples of X^n alone; summed over P such g whose i are all residues modulo P, it takes the other multiples of
//! X^(n/P) away. So with P plaintexts and c′ = c/P modulo Q
//!
//! Σ_g (Σ_i X^(i·n/P)·σ_g(p_i))·σ_g(c′)
//!
//! has the entry of row i·r + k at X^(i·n/P + k·n), and other functions of the matrix elsewhere. It is the trace with
//! which LWE ciphertexts are packed (H. Chen, W. Dai, M. Kim, Y. Song, "Efficient homomorphic conversion between (ring)
//! LWE ciphertexts", ACNS 2021), applied to all plaintexts at once.
//!
//! **Steps.** With g = g_1·g_2, g_1 = 1 + c·i for i < B and g_2 = 1 + c·B·i for i < P/B, the sum is
//! Σ_(g_2) σ_(g_2)(Σ_(g_1) R·σ_(g_1)(c′)) for prepared R (baby and giant steps: S. Halevi, V. Shoup, CRYPTO 2014). The
//! digits of c′_1 are shared by all baby steps, whose results stay modulo Q·S, S the product of the special primes, until
//! after the sums; so do those of giant steps until one last division ("double hoisting": J.-P. Bossuat, C. Mouchet,
//! J. Troncoso-Pastoriza, J.-P. Hubaux, EUROCRYPT 2021). What baby steps add to the noise is multiplied by the matrix but
//! divided by S. Spectra are in orbit order (`ciphermill_math::products`), in which baby steps are rotations.
//!
//! More columns than N are *column tiles* whose sums are added before the giant steps, more rows than N *row tiles*.
//!
//! **Choosing B.** A baby step costs little more than reading its key, a giant step a transform back and one forth for each
//! prime of the chain (with one digit). The products cost reading the matrix, whatever B is.
//!
//! **Measured** on one Zen 5 core with AVX-512 IFMA, N = 4096, 8-bit entries, q and S primes of 46 bits (2048 × 4096:
//! of 50 and 46), baby steps with two digits: medians of two runs, of 1000 (30) products each. Other programs used the
//! caches and the memory; the greater numbers show their effect.
//!
//! | rows × columns | B | vector alone, µs | product with a prepared matrix, vector included, µs | with a fresh one, µs |
//! | --- | --- | --- | --- | --- |
//! | 64 × 256 | 4 | 26, 28 | 77, 93 (alone in three more runs: 71, 71, 77) | 133, 163 |
//! | 256 × 256 | 8 | 24, 25 | 115, 116 | 306, 310 |
//! | 1024 × 256 | 16 | 25 | 223, 264 | 1014, 1173 |
//! | 2048 × 256 | 16 | 24, 27 | 383, 440 | 2511, 6773 |
//! | 2048 × 4096 | 32 | 29 | 6269, 15481 | 72911, 180842 |
//!
//! Reading a prepared 1024 × 256 matrix from the third-level cache at 110 GB/s takes 29 µs, the baby steps' keys 27 µs.

pub(super) mod digits;
mod keys;
pub(super) mod layout;
mod matrix;
mod product;
pub(super) mod recycle;
pub mod reference;
mod scratch;
mod tables;
#[cfg(test)]
mod tests;
mod vector;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use self::keys::PreparedKeys;
use self::layout::{Layout, Tile};
use self::matrix::PreparedTile;
use self::product::Multiplier;
use self::tables::Tables;
use self::vector::PreparedVector;
use super::layout::PlanLayout;
use super::{Algorithm, Costs, Operands, Prepared, RowReader, prepared};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_length, require_range};
use ciphermill_bfv::keys::{GaloisKeys, GaloisRequest};
use ciphermill_bfv::keyswitch::{Gadget, MAX_BASE_LOG, limb_digits};
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::{ParameterSet, ParameterSpec};

/// The choices of a planner.
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

    /// Bytes of one packed spectrum over the chain.
    fn spectrum_bytes(&self) -> u64 {
        let bytes = |p| u64::from(bit_length(p)).div_ceil(8);
        self.layout.polynomial_size as u64 * self.spec.chain().map(bytes).sum::<u64>()
    }

    /// The tables for a context of this plan; those of the first one are kept.
    fn tables(&self, context: &Context) -> Result<Arc<Tables>, BfvError> {
        if let Some(tables) = self.tables.get().filter(|tables| tables.serve(context)) {
            return Ok(tables.clone());
        }
        let tables = Arc::new(Tables::new(context, &self.layout, self.options.baby_gadget, self.options.giant_gadget)?);
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
        _: &dyn Prepared,
        vector: &[Ciphertext],
    ) -> Result<Arc<dyn Prepared>, BfvError> {
        let tables = self.tables(context)?;
        Ok(Arc::new(PreparedVector::new(context, &self.layout, &tables, vector)?))
    }

    fn multiply(
        &self,
        context: &Context,
        keys: &dyn Prepared,
        tile: usize,
        matrices: &[&dyn Prepared],
        vectors: &[&dyn Prepared],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>, BfvError> {
        let multiplier =
            Multiplier { context, layout: &self.layout, tables: &*self.tables(context)?, keys: prepared(keys) };
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

    fn max_entry(&self) -> u64 {
        matrix::max_entry(self.spec.chain(), &self.layout, i32::MAX as u64)
    }

    fn layout(&self) -> PlanLayout<'_> {
        let RowPackedOptions { baby_gadget, giant_gadget, .. } = self.options;
        PlanLayout::RowPacked { layout: &self.layout, baby_gadget, giant_gadget }
    }

    fn batched(&self) -> bool {
        false
    }

    fn shared_costs(&self) -> Costs {
        let (layout, spec) = (&self.layout, &self.spec);
        let (limbs, chain) = (spec.ciphertext_moduli.len() as u64, spec.chain().count() as u64);
        let digits = digit_count(spec, self.options.baby_gadget);
        let [column_tiles, tiles, baby_steps] =
            [layout.column_tiles(), layout.tile_count(), layout.babies() - 1].map(|x| x as u64);
        let hoisted_key_switches = tiles * column_tiles * baby_steps;
        Costs {
            hoisted_key_switches,
            ntts: column_tiles * (limbs + digits * chain),
            words: hoisted_key_switches * 2 * digits * self.spectrum_bytes() / 8,
            ..Costs::default()
        }
    }

    /// Matrix and keys are packed to whole bytes per word; each product reads the key of a baby step once per column tile.
    fn costs(&self) -> Costs {
        let (layout, spec) = (&self.layout, &self.spec);
        let limbs = spec.ciphertext_moduli.len() as u64;
        let chain = spec.chain().count() as u64;
        let bytes = self.spectrum_bytes();
        let digits = |gadget| digit_count(spec, gadget);
        let (baby_digits, giant_digits) = (digits(self.options.baby_gadget), digits(self.options.giant_gadget));
        let [column_tiles, baby_steps] = [layout.column_tiles(), layout.babies() - 1].map(|x| x as u64);
        let giant_steps = |tile: &Tile| tile.giants as u64 - 1;
        let (baby_bytes, giant_bytes) = (2 * bytes * baby_digits, 2 * bytes * giant_digits);
        // Where words come from on the way back from orbit order: 32 bits for each.
        let turn_bytes = 4 * chain * layout.polynomial_size as u64;
        let mut costs = Costs {
            // Of c_0 and the digits of c_1.
            ntts: column_tiles * (limbs + baby_digits * chain),
            key_bytes: baby_steps * baby_bytes + giant_steps(&layout.tile(0)) * (giant_bytes + turn_bytes),
            ..Costs::default()
        };
        for tile in layout.tiles() {
            let (products, steps) = (column_tiles * tile.plaintexts as u64, giant_steps(&tile));
            costs.plain_products += products;
            costs.hoisted_key_switches += column_tiles * baby_steps;
            costs.key_switches += steps;
            // For each giant step u_1 back and its digits forth; the result back.
            costs.ntts += steps * (1 + giant_digits) * chain + 2 * chain;
            costs.prepare_ntts += products * chain;
            costs.matrix_bytes += products * bytes;
            let keys = column_tiles * baby_steps * baby_bytes + steps * giant_bytes;
            costs.words += (products * bytes + keys) / 8;
        }
        costs
    }

    /// With A = 2^(matrix_bits − 1), which bounds all entries, r rows per plaintext and P of the first tile:
    ///
    /// * fresh noise stands at all N coefficients, so a row's product has that of all r rows of its plaintext: r·n·A²·(the
    ///   variance of a fresh encryption);
    /// * the error that a baby step adds to each coefficient meets a row of transformed polynomials R_g. Their squares sum
    ///   to P·Σ‖p_i‖² (Parseval), at most P²·r·n·A², so that all together add P²·r·n·A²·(the variance of a key switch's
    ///   error divided by S, without rounding), less the share of 1/B of the identity;
    /// * each giant step adds a key switch's error and the rounding of u_1, the last division its rounding.
    fn noise_std_dev(&self, operands: &Operands) -> f64 {
        let (layout, spec) = (&self.layout, &self.spec);
        let limbs = spec.ciphertext_moduli.len();
        let [plaintexts, babies, giants] = [layout.divisor(), layout.babies(), layout.tile(0).giants].map(|x| x as f64);
        let key_error = |gadget| noise::key_error_variance(spec, gadget, limbs);
        let rounding = noise::rounding_variance(layout.polynomial_size as f64);
        let plaintext =
            (layout.rows_per_plaintext() * layout.cols) as f64 * f64::from(2 * operands.matrix_bits - 2).exp2();
        let fresh = operands.vector_variance(spec);
        let baby = key_error(self.options.baby_gadget) * plaintexts * plaintexts * (1.0 - 1.0 / babies);
        let giant = key_error(self.options.giant_gadget) + rounding;
        ((fresh + baby) * plaintext + (giants - 1.0) * giant + rounding).sqrt()
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
            let bits = spec.chain().map(bit_length).fold(MAX_BASE_LOG as u32, u32::min);
            require_range("log2 of the base of a gadget", base_log.0 as u64, 1, bits)
        }
    }
}

/// The number of digits of a polynomial at the top level.
fn digit_count(spec: &ParameterSpec, gadget: Gadget) -> u64 {
    match gadget {
        Gadget::Limbs { limbs_per_digit } => spec.ciphertext_moduli.len().div_ceil(limbs_per_digit) as u64,
        Gadget::Bits { base_log } => {
            spec.ciphertext_moduli.iter().map(|&q| limb_digits(bit_length(q), base_log) as u64).sum()
        }
    }
}

fn bit_length(x: u64) -> u32 {
    64 - x.leading_zeros()
}
