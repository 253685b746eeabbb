//! The vector: from its ciphertexts to baby steps.

use ciphermill_lattice::KeyTag;
use ciphermill_math::products::VectorBlock;
use ciphermill_math::{CoefficientSource, SourceView};

use super::keys::PreparedKeys;
use super::layout::Layout;
use super::recycle::Lease;
use super::scratch::{ColumnTile, LimbDigits, VectorScratch};
use super::tables::{Tables, for_each};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_length};

/// One part of a vector: c/P for the ciphertext c of each column tile, cut into digits.
#[derive(Debug)]
pub(super) struct PreparedVector {
    pub(super) tag: KeyTag,
    column_tiles: Lease<Vec<ColumnTile>>,
}

impl PreparedVector {
    /// Prepares one part of a vector.
    ///
    /// # Errors
    /// If there are not as many ciphertexts as column tiles, or they have not two parts at the top level.
    pub(super) fn new(
        context: &Context,
        layout: &Layout,
        tables: &Tables,
        vector: &[Ciphertext],
    ) -> Result<Self, BfvError> {
        require_length("number of ciphertexts of a vector", vector.len(), layout.column_tiles())?;
        for ciphertext in vector {
            require_length("number of parts of a vector's ciphertext", ciphertext.parts().len(), 2)?;
            require_length("number of limbs of a vector's ciphertext", ciphertext.limb_count(), context.top())?;
        }
        let (n, threads) = (context.n(), rayon::current_num_threads());
        let (chain, digit_count) = (tables.limbs.len(), tables.baby_digits.len());
        let column_tile = || (0..chain).map(|_| LimbDigits::new(n, digit_count)).collect::<ColumnTile>();
        let mut column_tiles =
            tables.vectors.lease(|_| true, || (0..layout.column_tiles()).map(|_| column_tile()).collect());
        let mut scratch =
            tables.vector_scratch.lease(|_| true, || VectorScratch::new(n, context.top(), chain, digit_count));
        let VectorScratch { scaled, signed, digits, spectra } = &mut *scratch;
        for (out, ciphertext) in column_tiles.iter_mut().zip(vector) {
            for (scaled, part) in scaled.iter_mut().zip(ciphertext.parts()) {
                scaled.copy_from_slice(part.words());
                for (i, scaled) in scaled.chunks_exact_mut(n).enumerate() {
                    tables.limbs[i].kernels.pointwise().multiply_scalar(scaled, tables.inverse[i]);
                }
            }
            tables.baby_digits.cut(&scaled[1], signed, digits);
            let (c0, digits) = (&scaled[0], &digits[..]);
            for_each(threads, out.iter_mut().zip(spectra.iter_mut()).enumerate(), |(limb, (out, spectrum))| {
                transform(context, tables, limb, c0, digits, spectrum, out);
            });
        }
        Ok(Self { tag: vector[0].key_tag(), column_tiles })
    }
}

/// From c_0/P and the digits of c_1/P over the chain to the spectra modulo one prime.
fn transform(
    context: &Context,
    tables: &Tables,
    limb: usize,
    c0: &[u64],
    digits: &[u64],
    spectrum: &mut [u64],
    out: &mut LimbDigits,
) {
    let n = context.n();
    let (engine, p) = (context.chain().limbs()[limb].engine(), context.chain().limbs()[limb].modulus());
    let order = &tables.limbs[limb].order;
    for (digit, out) in digits.chunks_exact(tables.limbs.len() * n).zip(&mut out.digits) {
        engine.forward(&Words(&digit[limb * n..][..n]), spectrum);
        order.to_orbit(spectrum, out);
    }
    let Some(&special) = tables.special.get(limb) else {
        return;
    };
    let kernels = tables.limbs[limb].kernels.pointwise();
    spectrum.copy_from_slice(&c0[limb * n..][..n]);
    kernels.multiply_scalar(spectrum, special);
    engine.forward_in_place(spectrum);
    let [part0, part1] = &mut out.parts;
    order.to_orbit(spectrum, part0);
    // c_1 is the sum of its digits times the gadget.
    part1.fill(0);
    for (digit, from) in tables.baby_digits.digits.iter().zip(&out.digits) {
        if digit.limbs.contains(&limb) {
            spectrum.copy_from_slice(from);
            kernels.multiply_scalar(spectrum, p.mul(special, p.pow(2, digit.shift as u64)));
            kernels.add(part1, spectrum);
        }
    }
}

/// Words as a source of coefficients.
struct Words<'a>(&'a [u64]);

impl CoefficientSource<u64> for Words<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        self.0.read(start, out);
    }

    fn view(&self) -> SourceView<'_, u64> {
        SourceView::Slice(self.0)
    }
}

/// Baby steps modulo one prime.
pub(super) struct BabySteps<'a> {
    pub(super) tables: &'a Tables,
    pub(super) keys: &'a PreparedKeys,
    pub(super) limb: usize,
}

impl BabySteps<'_> {
    /// S·σ_g(c/P) for all baby steps g of all column tiles of all vectors: the words of the window of `columns`.
    pub(super) fn write(&self, vectors: &[&PreparedVector], columns: &mut VectorBlock) {
        let (kernels, babies) = (&self.tables.limbs[self.limb].kernels, &self.keys.limbs[self.limb].babies);
        for (v, vector) in vectors.iter().enumerate() {
            for (i, column_tile) in vector.column_tiles.iter().enumerate() {
                let LimbDigits { parts: [c0, c1], digits } = &column_tile[self.limb];
                let first = i * (babies.len() + 1);
                let mut head = None;
                // Modulo special primes the identity has 0, as columns have at first.
                if self.limb < self.tables.special.len() {
                    columns.set(v, first, [c0, c1]);
                    head = Some((&c0[..], 1));
                }
                let digits: Vec<&[u64]> = digits.iter().map(|digit| &digit[..]).collect();
                for (column, (rotation, key)) in (first + 1..).zip(babies) {
                    kernels.key_products_entry(rotation, &digits, head, key, columns, v, column);
                }
            }
        }
    }
}
