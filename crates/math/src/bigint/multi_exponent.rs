//! Products of powers for exponents that everyone may know.

use super::{BigIntError, Exponents, IntegerBatch, OddModulus, Residues};

/// A matrix of public integer weights, row after row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightMatrix {
    columns: usize,
    /// Magnitudes below 2^64.
    values: Vec<i128>,
}

impl WeightMatrix {
    /// The greatest magnitude of a weight: 2^64 − 1.
    pub const MAX_MAGNITUDE: u128 = u64::MAX as u128;

    /// `values` row after row, `columns` each.
    ///
    /// # Errors
    /// [`BigIntError::WeightShape`] unless they are whole rows of at least one column, [`BigIntError::WeightMagnitude`].
    pub fn new(columns: usize, values: Vec<i128>) -> Result<Self, BigIntError> {
        if columns == 0 || !values.len().is_multiple_of(columns) {
            return Err(BigIntError::WeightShape { columns, values: values.len() });
        }
        if let Some(index) = values.iter().position(|w| w.unsigned_abs() > Self::MAX_MAGNITUDE) {
            return Err(BigIntError::WeightMagnitude { index });
        }
        Ok(Self { columns, values })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> &[i128] {
        &self.values[index * self.columns..][..self.columns]
    }
}

impl OddModulus {
    /// For each row of weights the product of the bases to the weights of that row. Time depends on the weights.
    ///
    /// # Errors
    /// [`BigIntError::Length`] unless there is a base for every column; [`BigIntError::NotInvertible`] if a base that has
    /// a negative weight has no inverse.
    ///
    /// # Panics
    /// If the bases belong to another modulus.
    pub fn multi_pow_public(&self, bases: &Residues, weights: &WeightMatrix) -> Result<Residues, BigIntError> {
        self.assert_owns(bases);
        if bases.len() != weights.columns {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns });
        }
        let inverses = self.invert(bases)?;
        let mut sums = Vec::new();
        for row in 0..weights.rows() {
            let mut product = self.one(1);
            for (column, &weight) in weights.row(row).iter().enumerate() {
                let base = self.gather(if weight < 0 { &inverses } else { bases }, &[column]);
                let exponent = IntegerBatch::from_u64s(&[weight.unsigned_abs() as u64]);
                product = self.multiply(&product, &self.pow(&base, &Exponents::each(exponent, 64)?)?)?;
            }
            sums.push(product);
        }
        let rows: Vec<IntegerBatch> = sums.iter().map(|sum| self.leave(sum)).collect();
        self.enter(&IntegerBatch::concat(&rows))
    }
}
