//! The vector: from its ciphertexts to the digits of which baby steps are sums.

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::RnsPoly;

use super::layout::Layout;
use super::tables::Tables;
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::{BfvError, require_length};
use crate::keyswitch::Gadget;

/// One part of a vector: c′ = c/P of every column tile, in orbit order.
#[derive(Debug)]
pub(super) struct PreparedVector {
    pub(super) tag: KeyTag,
    pub(super) column_tiles: Vec<ColumnTile>,
}

/// S stands for the product of the special primes.
#[derive(Debug)]
pub(super) struct ColumnTile {
    /// S·c′_0 and S·c′_1, by prime of ciphertexts.
    pub(super) parts: [Vec<Vec<u64>>; 2],
    /// The digits of c′_1, by prime of the chain.
    pub(super) digits: Vec<Vec<Vec<u64>>>,
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
        gadget: Gadget,
        vector: &[Ciphertext],
    ) -> Result<Self, BfvError> {
        require_length("number of ciphertexts of a vector", vector.len(), layout.column_tiles())?;
        for ciphertext in vector {
            require_length("number of parts of a vector's ciphertext", ciphertext.parts.len(), 2)?;
            require_length("number of limbs of a vector's ciphertext", ciphertext.limb_count(), context.top())?;
        }
        let basis = context.basis(context.top());
        let column_tile = |ciphertext: &Ciphertext| {
            let n = context.n();
            let to_orbit = |limb: usize, spectrum: &[u64]| {
                let mut out = vec![0; n];
                tables.limbs[limb].order.to_orbit(spectrum, &mut out);
                out
            };
            let mut scaled = ciphertext.parts.clone();
            scaled.iter_mut().for_each(|part| basis.multiply_scalar(part, &tables.inverse));
            let digits = context.decompose(&scaled[1], gadget).digits;
            let parts = [0, 1].map(|k| {
                let mut part = std::mem::replace(&mut scaled[k], RnsPoly::zero(basis.polynomial_size(), 0));
                basis.multiply_scalar(&mut part, &tables.special);
                let spectrum = basis.forward(part);
                spectrum.limbs().enumerate().map(|(limb, spectrum)| to_orbit(limb, spectrum)).collect()
            });
            let limbs = (0..tables.limbs.len())
                .map(|limb| digits.iter().map(|digit| to_orbit(limb, digit.limb(limb))).collect());
            ColumnTile { parts, digits: limbs.collect() }
        };
        Ok(Self { tag: vector[0].tag, column_tiles: vector.iter().map(column_tile).collect() })
    }
}
