//! Powers of one base.

use super::{BigIntError, Exponents, IntegerBatch, OddModulus, Residues};

/// A base prepared for many exponentiations.
#[derive(Clone, Debug)]
pub struct FixedBase {
    base: Residues,
    bits: u32,
}

impl OddModulus {
    /// Prepares `base` (one residue) for exponents of up to `bits` bits.
    ///
    /// # Panics
    /// If `base` is not one residue, or belongs to another modulus.
    pub fn fixed_base(&self, base: &Residues, bits: u32) -> FixedBase {
        self.assert_owns(base);
        assert_eq!(base.len(), 1, "one base");
        FixedBase { base: base.clone(), bits }
    }

    /// The base to each of the exponents, which have at most [`FixedBase::bits`] bits: constant-time in the exponents.
    ///
    /// # Errors
    /// [`BigIntError::ExponentBits`].
    ///
    /// # Panics
    /// If the base belongs to another modulus.
    pub fn pow_fixed(&self, base: &FixedBase, exponents: &IntegerBatch) -> Result<Residues, BigIntError> {
        let bases = self.repeat(&base.base, exponents.len());
        self.pow(&bases, &Exponents::each(exponents.clone(), base.bits)?)
    }
}

impl FixedBase {
    /// Bits of the greatest exponent.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.base.memory_bytes()
    }
}
