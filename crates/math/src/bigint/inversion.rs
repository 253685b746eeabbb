//! Inverses of many residues at once.

use crypto_bigint::Odd;

use super::{BigIntError, IntegerBatch, OddModulus, Residues, limbs};

impl OddModulus {
    /// The inverses.
    ///
    /// # Errors
    /// [`BigIntError::NotInvertible`] names the first value that shares a factor with the modulus.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    pub fn invert(&self, values: &Residues) -> Result<Residues, BigIntError> {
        let plain = self.leave(values);
        let modulus: Odd<_> = Odd::new(limbs::to_uint(self.value())).expect("the modulus is odd");
        let mut out = IntegerBatch::zeros(plain.len(), self.limbs());
        for index in 0..plain.len() {
            let inverse: Option<_> = plain.uint(index).invert_odd_mod(&modulus).into();
            let inverse = inverse.ok_or(BigIntError::NotInvertible { index })?;
            out.row_mut(index).copy_from_slice(&limbs::from_uint(&inverse, self.limbs()));
        }
        self.enter(&out)
    }
}
