//! Public weights as an object: the factors or summands of an encrypted vector.
//!
//! ```text
//! WEIGHTS   u32 rows | u32 columns | rows·columns × u64 |w|, row after row | ⌈rows·columns / 64⌉ × u64 signs
//! ```
//!
//! Bit i mod 64 of sign word i div 64 is set if weight i is negative. A 0 has no sign and bits without a weight are 0, so that
//! a matrix has one encoding. It stands in the envelope of `ciphermill-wire`.

use std::fmt;

use ciphermill_bigint::WeightMatrix;
use ciphermill_wire::{Decoder, Encoder, Kind, WireError, open, seal};

use crate::error::PaillierError;

/// Envelope kind of a matrix of public weights.
pub const WEIGHTS: Kind = Kind(0x0407);
/// Version of its body.
pub const WEIGHTS_VERSION: u16 = 1;
/// Most weights of a matrix: 128 MiB of magnitudes.
pub const MAX_WEIGHTS: u64 = 1 << 24;

/// Bytes of the body before the weights.
const HEAD: u64 = 8;
/// Weights that share a word of signs.
const SIGNS: u64 = 64;

/// A matrix of public integers of magnitudes below 2^64, of at least one row and one column.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let weights = PublicWeights::from_rows(2, vec![1, 0, 4, 2])?;
/// assert_eq!((weights.rows(), weights.row(1)), (2, [4, 2].as_slice()));
/// assert_eq!(PublicWeights::from_bytes(&weights.to_bytes())?, weights);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PublicWeights {
    matrix: WeightMatrix,
}

impl PublicWeights {
    /// Weights that a matrix holds.
    ///
    /// # Errors
    /// [`PaillierError::Empty`], [`PaillierError::TooMany`] beyond [`MAX_WEIGHTS`].
    pub fn new(matrix: WeightMatrix) -> Result<Self, PaillierError> {
        check_shape(matrix.rows() as u64, matrix.columns() as u64)?;
        Ok(Self { matrix })
    }

    /// Weights row after row, `columns` each.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`PaillierError::BigInt`] unless they are whole rows of magnitudes below 2^64.
    pub fn from_rows(columns: usize, values: Vec<i128>) -> Result<Self, PaillierError> {
        Self::new(WeightMatrix::new(columns, values)?)
    }

    /// The matrix.
    pub fn matrix(&self) -> &WeightMatrix {
        &self.matrix
    }

    /// Rows, at least one.
    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    /// Columns, at least one.
    pub fn columns(&self) -> usize {
        self.matrix.columns()
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> &[i128] {
        self.matrix.row(index)
    }

    /// The sealed matrix.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.rows() * self.columns();
        let mut out = Encoder::with_capacity((HEAD as usize) + count * 8 + count.div_ceil(64) * 8);
        // They fit: their product is bounded.
        out.u32(self.rows() as u32).u32(self.columns() as u32);
        let mut signs = vec![0; count.div_ceil(64)];
        for (index, weight) in (0..self.rows()).flat_map(|row| self.row(row)).enumerate() {
            out.u64(weight.unsigned_abs() as u64);
            signs[index / 64] |= u64::from(*weight < 0) << (index % 64);
        }
        out.u64s(&signs);
        seal(WEIGHTS, WEIGHTS_VERSION, &out.into_vec())
    }

    /// Reads a sealed matrix.
    ///
    /// # Errors
    /// If it is malformed or has more than [`MAX_WEIGHTS`] weights. Memory is allocated only after the lengths agree.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PaillierError> {
        let limit = HEAD + MAX_WEIGHTS * 8 + MAX_WEIGHTS / SIGNS * 8;
        let (_, mut input) = open(bytes, WEIGHTS, WEIGHTS_VERSION..=WEIGHTS_VERSION, limit)?;
        let (rows, columns) = (input.u32()?, input.u32()?);
        let count = check_shape(u64::from(rows), u64::from(columns))?;
        let needed = count * 8 + count.div_ceil(SIGNS) * 8;
        let available = input.remaining() as u64;
        if available < needed {
            return Err(WireError::Truncated { needed, available }.into());
        }
        let values = read_weights(&mut input, count as usize)?;
        input.finish()?;
        Self::from_rows(columns as usize, values)
    }
}

/// The number of weights.
fn check_shape(rows: u64, columns: u64) -> Result<u64, PaillierError> {
    let count = rows.saturating_mul(columns);
    match count {
        0 => Err(PaillierError::Empty),
        1..=MAX_WEIGHTS => Ok(count),
        _ => Err(PaillierError::TooMany { given: count, limit: MAX_WEIGHTS }),
    }
}

fn read_weights(input: &mut Decoder<'_>, count: usize) -> Result<Vec<i128>, PaillierError> {
    let (magnitudes, signs) = (input.u64s(count)?, input.u64s(count.div_ceil(64))?);
    if let (Some(last), used @ 1..) = (signs.last(), count % 64)
        && last >> used != 0
    {
        return Err(PaillierError::Malformed { field: "signs", reason: "bits without a weight must be 0" });
    }
    let weight = |(index, &magnitude): (usize, &u64)| match signs[index / 64] >> (index % 64) & 1 {
        0 => Ok(i128::from(magnitude)),
        _ if magnitude == 0 => Err(PaillierError::Malformed { field: "signs", reason: "0 has no sign" }),
        _ => Ok(-i128::from(magnitude)),
    };
    magnitudes.iter().enumerate().map(weight).collect()
}

/// Shows the shape only.
impl fmt::Debug for PublicWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicWeights").field("rows", &self.rows()).field("columns", &self.columns()).finish()
    }
}
