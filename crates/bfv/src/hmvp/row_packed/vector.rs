//! The vector: from its ciphertexts to baby steps.

use ciphermill_lattice::KeyTag;
use ciphermill_math::products::VectorBlock;

use super::keys::PreparedKeys;
use super::layout::Layout;
use super::recycle::Lease;
use super::tables::{Tables, for_each};
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::{BfvError, require_length};

/// One part of a vector: S·σ_g(c/P) for all baby steps g of the ciphertext c of each column tile, for each prime of the
/// chain.
#[derive(Debug)]
pub(super) struct PreparedVector {
    pub(super) tag: KeyTag,
    pub(super) limbs: Lease<Vec<VectorBlock>>,
}

/// Memory for one column tile.
#[derive(Debug)]
pub(super) struct VectorScratch {
    /// c/P, both parts.
    scaled: [Vec<u64>; 2],
    signed: Vec<i64>,
    /// Over the chain, by digit.
    digits: Vec<u64>,
    limbs: Vec<LimbScratch>,
}

/// Memory for one prime: spectra of N words.
#[derive(Debug)]
struct LimbScratch {
    /// In the transform's order.
    spectrum: Vec<u64>,
    /// S·c_0/P and S·c_1/P in orbit order, 0 modulo special primes.
    parts: [Vec<u64>; 2],
    /// The digits of c_1/P in orbit order.
    digits: Vec<Vec<u64>>,
}

impl VectorScratch {
    fn new(n: usize, limbs: usize, chain: usize, digits: usize) -> Self {
        let limb =
            || LimbScratch { spectrum: vec![0; n], parts: [vec![0; n], vec![0; n]], digits: vec![vec![0; n]; digits] };
        Self {
            scaled: [vec![0; limbs * n], vec![0; limbs * n]],
            signed: vec![0; n],
            digits: vec![0; digits * chain * n],
            limbs: (0..chain).map(|_| limb()).collect(),
        }
    }
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
        keys: &PreparedKeys,
        vector: &[Ciphertext],
    ) -> Result<Self, BfvError> {
        require_length("number of ciphertexts of a vector", vector.len(), layout.column_tiles())?;
        for ciphertext in vector {
            require_length("number of parts of a vector's ciphertext", ciphertext.parts.len(), 2)?;
            require_length("number of limbs of a vector's ciphertext", ciphertext.limb_count(), context.top())?;
        }
        let (n, threads) = (context.n(), rayon::current_num_threads());
        let (babies, columns) = (layout.babies(), layout.column_tiles() * layout.babies());
        let mut limbs = tables.vectors.lease(
            |limbs| limbs[0].columns() == columns && limbs[0].vectors() == 1,
            || tables.limbs.iter().map(|_| VectorBlock::zeroed(n, 1, columns)).collect(),
        );
        let mut scratch = tables
            .vector_scratch
            .lease(|_| true, || VectorScratch::new(n, context.top(), tables.limbs.len(), tables.baby_digits.len()));
        let VectorScratch { scaled, signed, digits, limbs: limb_scratch } = &mut *scratch;
        for (column_tile, ciphertext) in vector.iter().enumerate() {
            for (scaled, part) in scaled.iter_mut().zip(&ciphertext.parts) {
                scaled.copy_from_slice(part.words());
                for (i, scaled) in scaled.chunks_exact_mut(n).enumerate() {
                    tables.limbs[i].kernels.pointwise().multiply_scalar(scaled, tables.inverse[i]);
                }
            }
            tables.baby_digits.cut(&scaled[1], signed, digits);
            let (c0, digits) = (&scaled[0], &digits[..]);
            for_each(
                threads,
                limbs.iter_mut().zip(limb_scratch.iter_mut()).enumerate(),
                |(limb, (columns, scratch))| {
                    let step = BabySteps { context, tables, keys, limb };
                    step.transform(c0, digits, scratch);
                    step.write(scratch, columns, column_tile * babies);
                },
            );
        }
        Ok(Self { tag: vector[0].tag, limbs })
    }
}

/// The baby steps of one column tile modulo one prime.
struct BabySteps<'a> {
    context: &'a Context,
    tables: &'a Tables,
    keys: &'a PreparedKeys,
    limb: usize,
}

impl BabySteps<'_> {
    /// From c_0/P and the digits of c_1/P over the chain to what `scratch` holds.
    fn transform(&self, c0: &[u64], digits: &[u64], scratch: &mut LimbScratch) {
        let (n, limb) = (self.context.n(), self.limb);
        let engine = self.context.chain().limbs()[limb].engine();
        let order = &self.tables.limbs[limb].order;
        let LimbScratch { spectrum, parts, digits: spectra } = scratch;
        for (digit, out) in digits.chunks_exact(self.tables.limbs.len() * n).zip(spectra.iter_mut()) {
            spectrum.copy_from_slice(&digit[limb * n..][..n]);
            engine.forward_in_place(spectrum);
            order.to_orbit(spectrum, out);
        }
        let Some(&special) = self.tables.special.get(limb) else {
            return;
        };
        let (kernels, p) = (self.tables.limbs[limb].kernels.pointwise(), self.context.chain().limbs()[limb].modulus());
        spectrum.copy_from_slice(&c0[limb * n..][..n]);
        kernels.multiply_scalar(spectrum, special);
        engine.forward_in_place(spectrum);
        order.to_orbit(spectrum, &mut parts[0]);
        // c_1 is the sum of its digits times the gadget.
        parts[1].fill(0);
        let digits = self.tables.baby_digits.digits.iter().zip(spectra);
        for (digit, from) in digits.filter(|(digit, _)| digit.limbs.contains(&limb)) {
            spectrum.copy_from_slice(from);
            kernels.multiply_scalar(spectrum, p.mul(special, p.pow(2, digit.shift as u64)));
            kernels.add(&mut parts[1], spectrum);
        }
    }

    /// The baby steps to `columns` from column `first` on.
    fn write(&self, scratch: &LimbScratch, columns: &mut VectorBlock, first: usize) {
        let kernels = &self.tables.limbs[self.limb].kernels;
        let [c0, c1] = &scratch.parts;
        columns.set(0, first, [c0, c1]);
        let digits: Vec<&[u64]> = scratch.digits.iter().map(|digit| &digit[..]).collect();
        let head = (self.limb < self.tables.special.len()).then_some((&c0[..], 1));
        for (i, (rotation, key)) in self.keys.limbs[self.limb].babies.iter().enumerate() {
            kernels.key_products_entry(rotation, &digits, head, key, columns, 0, first + 1 + i);
        }
    }
}
