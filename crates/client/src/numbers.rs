//! Matrices and vectors of integers in text files and NumPy's .npy files.
//!
//! ```
//! use ciphermill_client::numbers;
//!
//! # fn main() -> Result<(), ciphermill_client::ClientError> {
//! let directory = tempfile::tempdir().expect("a directory");
//! let path = directory.path().join("v.txt");
//! std::fs::write(&path, "3, -4; 5 # a vector").expect("room");
//! assert_eq!(numbers::read::<i64>(&path)?.entries, [3, -4, 5]);
//! # Ok(())
//! # }
//! ```

use std::path::Path;
use std::str::FromStr;

use npyz::{DType, NpyFile, Order};
use num_bigint::BigInt;

use crate::error::ClientError;
use crate::files;

/// Most bytes of such a file: 16384 × 16384 entries of 8 bytes, and the head.
const MAX_BYTES: u64 = (16384 * 16384 * 8) + 4096;

/// The magic bytes of .npy.
const NPY: &[u8] = b"\x93NUMPY";

/// An integer type that a file of numbers can be read into.
pub trait Number: FromStr + TryFrom<i128> {}

impl Number for i64 {}
impl Number for i128 {}
impl Number for BigInt {}

/// A matrix of integers.
#[derive(Debug, PartialEq, Eq)]
pub struct Numbers<T> {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The entries in row-major order.
    pub entries: Vec<T>,
}

/// Why a file is not a matrix of integers.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// std::fs::write(&path, "1 2\n3\n")?;
/// let Err(ClientError::Content { source, .. }) = numbers::read::<i64>(&path) else { panic!("not a matrix") };
/// let ragged = numbers::NumbersError::Ragged { line: 2, given: 1, expected: 2 };
/// assert_eq!(source.downcast_ref::<numbers::NumbersError>(), Some(&ragged));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumbersError {
    /// The file is neither text nor .npy.
    #[error("byte {0} is neither UTF-8 text nor .npy")]
    Text(usize),
    /// A field of the text is not an integer, or too large for its type.
    #[error("line {line}: {field:.40?} is not an integer")]
    Field {
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
    },
    /// The lines have different lengths.
    #[error("line {line} has {given} values, but line 1 of the values has {expected}; give every line as many")]
    Ragged {
        /// The line, from 1.
        line: usize,
        /// Numbers on the line.
        given: usize,
        /// Numbers on the lines before it.
        expected: usize,
    },
    /// The text holds no numbers.
    #[error("there are no numbers in it")]
    Empty,
    /// The .npy header or its data is malformed.
    #[error("not a .npy file: {0}")]
    Npy(String),
    /// The array has neither one dimension nor two.
    #[error("an array of {0} dimensions; use one or two")]
    Dimensions(usize),
    /// The header declares more entries than the file can hold, or none.
    #[error("an array of {rows} × {cols} entries in {bytes} bytes")]
    Shape {
        /// Rows declared.
        rows: u64,
        /// Columns declared.
        cols: u64,
        /// Bytes of the file.
        bytes: usize,
    },
    /// The data does not have the declared number of entries.
    #[error("{given} entries where the head says {declared}")]
    Count {
        /// Entries in the data.
        given: usize,
        /// Entries declared.
        declared: usize,
    },
    /// The entries are not integers.
    #[error("an array of {0}; use integers")]
    Type(String),
    /// An entry is too large.
    #[error("{0} is too large")]
    TooLarge(i128),
}

/// Reads a matrix. A vector is a matrix of one row or one column.
///
/// A text file has one row per line. Blanks, commas or semicolons separate its numbers, and `#` starts a comment. A .npy file
/// holds integers of any width, in one dimension (a row) or two, in either storage order.
///
/// # Errors
/// [`ClientError::File`]; [`ClientError::Content`] with a [`NumbersError`], or for a file of more than 2 GiB.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// std::fs::write(&path, "1, -2 # the first row\n3, 4\n")?;
/// let matrix = numbers::read::<i64>(&path)?;
/// assert_eq!((matrix.rows, matrix.cols), (2, 2));
/// assert_eq!(matrix.entries, [1, -2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<T: Number>(path: &Path) -> Result<Numbers<T>, ClientError> {
    let bytes = files::read(path, MAX_BYTES)?;
    let numbers = if bytes.starts_with(NPY) { npy(&bytes) } else { text(&bytes) };
    numbers.map_err(ClientError::content(path))
}

/// Numbers of a text, as [`read`] takes it.
fn text<T: Number>(bytes: &[u8]) -> Result<Numbers<T>, NumbersError> {
    let text = std::str::from_utf8(bytes).map_err(|error| NumbersError::Text(error.valid_up_to()))?;
    let mut numbers = Numbers { rows: 0, cols: 0, entries: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let fields = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|field| !field.is_empty());
        let before = numbers.entries.len();
        for field in fields {
            let wrong = || NumbersError::Field { line: index + 1, field: field.to_owned() };
            numbers.entries.push(field.parse().map_err(|_| wrong())?);
        }
        let count = numbers.entries.len() - before;
        if count == 0 {
            continue;
        }
        if numbers.rows > 0 && count != numbers.cols {
            return Err(NumbersError::Ragged { line: index + 1, given: count, expected: numbers.cols });
        }
        (numbers.rows, numbers.cols) = (numbers.rows + 1, count);
    }
    if numbers.rows == 0 { Err(NumbersError::Empty) } else { Ok(numbers) }
}

fn npy<T: Number>(bytes: &[u8]) -> Result<Numbers<T>, NumbersError> {
    let file = NpyFile::new(bytes).map_err(|error| NumbersError::Npy(error.to_string()))?;
    let (rows, cols) = match *file.shape() {
        [cols] => (1, cols),
        [rows, cols] => (rows, cols),
        ref shape => return Err(NumbersError::Dimensions(shape.len())),
    };
    // The head may state anything; the entries that are there cannot be more than the file has bytes.
    let count = rows.checked_mul(cols).filter(|&count| count <= bytes.len() as u64 && count > 0);
    let count = count.ok_or(NumbersError::Shape { rows, cols, bytes: bytes.len() })? as usize;
    let (rows, cols) = (rows as usize, cols as usize);
    let order = file.order();
    let mut stored: Vec<Option<T>> = integers(file)?;
    if stored.len() != count {
        return Err(NumbersError::Count { given: stored.len(), declared: count });
    }
    let place = |i: usize| match order {
        Order::C => i,
        Order::Fortran => i % cols * rows + i / cols,
    };
    let entries = (0..count).filter_map(|i| stored[place(i)].take()).collect();
    Ok(Numbers { rows, cols, entries })
}

/// The entries, in the order of the file.
fn integers<T: Number>(file: NpyFile<&[u8]>) -> Result<Vec<Option<T>>, NumbersError> {
    let DType::Plain(kind) = file.dtype() else { return Err(NumbersError::Type("records".to_owned())) };
    let kind = kind.to_string();
    let failed = |error: std::io::Error| NumbersError::Npy(error.to_string());
    macro_rules! read {
        ($($name:literal $ty:ty),*) => {
            match kind.trim_start_matches(['<', '>', '|', '=']) {
                $($name => {
                    let entries = file.into_vec::<$ty>().map_err(failed)?;
                    let wide = |entry: $ty| {
                        let entry = i128::from(entry);
                        T::try_from(entry).map(Some).map_err(|_| NumbersError::TooLarge(entry))
                    };
                    entries.into_iter().map(wide).collect()
                })*
                other => Err(NumbersError::Type(format!("type {other}"))),
            }
        };
    }
    read!("i1" i8, "i2" i16, "i4" i32, "i8" i64, "u1" u8, "u2" u16, "u4" u32, "u8" u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_row_per_line() {
        let numbers = text::<i64>(b"# a matrix\n1, -2;3\n\n 4 5\t6 # its second row\n").expect("a matrix");
        assert_eq!(numbers, Numbers { rows: 2, cols: 3, entries: vec![1, -2, 3, 4, 5, 6] });
        assert_eq!(
            text::<i64>(b"1 2\n3\n").unwrap_err().to_string(),
            "line 2 has 1 values, but line 1 of the values has 2; give every line as many"
        );
        assert_eq!(text::<i64>(b"1 x\n").unwrap_err().to_string(), "line 1: \"x\" is not an integer");
        assert!(text::<i64>(b"# nothing\n").is_err() && text::<i64>(b"\xff").is_err());
    }

    /// A .npy file as NumPy writes it.
    fn array(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut head = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        head.extend(std::iter::repeat_n(' ', 117 - head.len()).chain(['\n']));
        [NPY, &[1, 0], &(head.len() as u16).to_le_bytes(), head.as_bytes(), data].concat()
    }

    #[test]
    fn npy_in_both_orders_and_any_width() {
        let expected = Numbers { rows: 2, cols: 3, entries: vec![1i64, -2, 3, 4, 5, 6] };
        assert_eq!(npy(&array("|i1", "False", "(2, 3)", &[1, 254, 3, 4, 5, 6])).expect("a matrix"), expected);
        assert_eq!(npy(&array("|i1", "True", "(2, 3)", &[1, 4, 254, 5, 3, 6])).expect("a matrix"), expected);
        let large = Numbers { rows: 1, cols: 1, entries: vec![BigInt::from(u64::MAX)] };
        assert_eq!(npy(&array("<u8", "False", "(1,)", &[255; 8])).expect("a large number"), large);
        let vector = Numbers { rows: 1, cols: 2, entries: vec![258i64, 1] };
        assert_eq!(npy(&array("<i2", "False", "(2,)", &[2, 1, 1, 0])).expect("a vector"), vector);
        assert_eq!(npy(&array(">u2", "False", "(2,)", &[1, 2, 0, 1])).expect("a vector"), vector);
    }

    #[test]
    fn other_arrays_are_refused() {
        for (descr, shape, data) in [
            ("<f8", "(1,)", &[0; 8][..]),
            ("|i1", "(1, 1, 1)", &[0]),
            ("|i1", "(4000000000, 4000000000)", &[0]),
            ("|i1", "(3,)", &[0]),
            ("|i1", "(0,)", &[]),
            ("<u8", "(1,)", &[255; 8]),
        ] {
            assert!(npy::<i64>(&array(descr, "False", shape, data)).is_err(), "{descr} {shape}");
        }
    }
}
