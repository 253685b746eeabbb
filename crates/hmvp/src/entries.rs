//! The entries of a matrix in as few bytes as they need.

use crate::error::HmvpError;
use std::ops::Range;

use super::parts;
use crate::source::MatrixSource;
use ciphermill_bfv::error::{BfvError, require_range};

/// Rows of a matrix with 1, 2 or 4 bytes per entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackedEntries {
    cols: usize,
    first_row: usize,
    bits: u32,
    /// Row after row, little-endian two's complement.
    bytes: Vec<u8>,
}

/// Bytes of an entry of `bits` bits.
fn width(bits: u32) -> usize {
    (bits.div_ceil(8) as usize).next_power_of_two()
}

/// Entries of `W` bytes to integers.
fn widen<const W: usize>(bytes: &[u8], out: &mut [i64], widen: impl Fn([u8; W]) -> i64) {
    for (out, &entry) in out.iter_mut().zip(bytes.as_chunks().0) {
        *out = widen(entry);
    }
}

impl PackedEntries {
    /// Bytes of a whole matrix with entries of `bits` bits.
    pub(super) fn bytes(rows: usize, cols: usize, bits: u32) -> u64 {
        (rows * cols * width(bits)) as u64
    }

    /// The rows `rows` of `source`.
    ///
    /// # Errors
    /// If an entry is out of range.
    pub(super) fn read(source: &dyn MatrixSource, rows: Range<usize>, bits: u32) -> Result<Self, HmvpError> {
        let (cols, first_row, width) = (source.cols(), rows.start, width(bits));
        let mut bytes = Vec::with_capacity(rows.len() * cols * width);
        let mut row = vec![0; cols];
        for i in rows {
            source.read_row(i, &mut row);
            require_entries("entry of the matrix", &row, bits)?;
            match width {
                1 => bytes.extend(row.iter().map(|&x| x as u8)),
                2 => bytes.extend(row.iter().flat_map(|&x| (x as i16).to_le_bytes())),
                _ => bytes.extend(row.iter().flat_map(|&x| (x as i32).to_le_bytes())),
            }
        }
        Ok(Self { cols, first_row, bits, bytes })
    }

    /// A whole matrix from the bytes of [`as_bytes`](Self::as_bytes), of as many rows as they fill.
    ///
    /// # Errors
    /// If an entry is out of range.
    pub(super) fn from_bytes(cols: usize, bits: u32, bytes: Vec<u8>) -> Result<Self, HmvpError> {
        let entries = Self { cols, first_row: 0, bits, bytes };
        let mut row = vec![0; cols];
        for i in 0..entries.bytes.len() / (cols * width(bits)) {
            entries.read_row(i, &mut row);
            require_entries("entry of the matrix", &row, bits)?;
        }
        Ok(entries)
    }

    /// All entries.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Row `row` of the matrix.
    pub(super) fn read_row(&self, row: usize, out: &mut [i64]) {
        assert_eq!(out.len(), self.cols, "length of a row");
        let len = self.cols * width(self.bits);
        let bytes = &self.bytes[(row - self.first_row) * len..][..len];
        match width(self.bits) {
            1 => widen(bytes, out, |x| i8::from_le_bytes(x).into()),
            2 => widen(bytes, out, |x| i16::from_le_bytes(x).into()),
            _ => widen(bytes, out, |x| i32::from_le_bytes(x).into()),
        }
    }

    /// Part `part` of row `row` of the matrix.
    ///
    /// # Panics
    /// If the row is not here, or `out` has not as many places as there are columns.
    pub(super) fn read_part(&self, row: usize, bits: &[u32], part: usize, out: &mut [i64]) {
        self.read_row(row, out);
        if bits.len() > 1 {
            parts::take_part(out, bits, part);
        }
    }
}

/// An error unless all of `values` are in [−2^(bits−1), 2^(bits−1)). All are looked at before one is named.
pub(super) fn require_entries(what: &'static str, values: &[i64], bits: u32) -> Result<(), BfvError> {
    let (least, past) = (-1i64 << (bits - 1), 1i64 << (bits - 1));
    let (min, max) = values.iter().fold((0, 0), |(min, max), &x| (x.min(min), x.max(max)));
    require_range(what, if min < least { min } else { max }, least, past - 1)
}
