//! Matrices and vectors of numbers in files: text, or NumPy's .npy with integers.

use std::path::Path;
use std::str::FromStr;

use npyz::{DType, NpyFile, Order};
use num_bigint::BigInt;

use crate::error::CliError;
use crate::files;

/// Most bytes of such a file: 16384 × 16384 entries of 8 bytes, and the head.
const MAX_BYTES: u64 = (16384 * 16384 * 8) + 4096;

/// The magic bytes of .npy.
const NPY: &[u8] = b"\x93NUMPY";

/// What a file may hold: numbers that are written as text, and those of the integers of .npy that are in range.
pub(crate) trait Number: FromStr + TryFrom<i128> {
    /// What such a number is called, with its article.
    const NAME: &str;
}

impl Number for i64 {
    const NAME: &str = "an integer";
}

impl Number for i128 {
    const NAME: &str = "an integer";
}

impl Number for BigInt {
    const NAME: &str = "an integer";
}

/// Rows of numbers, all of one length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Numbers<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Row after row.
    pub(crate) entries: Vec<T>,
}

/// Reads a matrix; a vector is one row or one column.
///
/// A text has a row per line, its numbers separated by blanks, commas or semicolons; `#` begins a comment. In .npy, integers of
/// any width, in one dimension (a row) or two, in either order of storage.
pub(crate) fn read<T: Number>(path: &Path) -> Result<Numbers<T>, CliError> {
    let bytes = files::read(path, MAX_BYTES)?;
    let numbers = if bytes.starts_with(NPY) { npy(&bytes) } else { text(&bytes) };
    numbers.map_err(|what| CliError::Content { path: path.to_owned(), what })
}

/// Numbers of a text, as [`read`] takes it.
fn text<T: Number>(bytes: &[u8]) -> Result<Numbers<T>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is neither UTF-8 text nor .npy", error.valid_up_to()))?;
    let mut numbers = Numbers { rows: 0, cols: 0, entries: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let fields = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|field| !field.is_empty());
        let before = numbers.entries.len();
        for field in fields {
            let number = field.parse().map_err(|_| format!("line {}: {field:.40?} is not {}", index + 1, T::NAME))?;
            numbers.entries.push(number);
        }
        let count = numbers.entries.len() - before;
        if count == 0 {
            continue;
        }
        if numbers.rows > 0 && count != numbers.cols {
            return Err(format!("line {} has {count} numbers, the lines before it {}", index + 1, numbers.cols));
        }
        (numbers.rows, numbers.cols) = (numbers.rows + 1, count);
    }
    if numbers.rows == 0 { Err("there are no numbers in it".to_owned()) } else { Ok(numbers) }
}

fn npy<T: Number>(bytes: &[u8]) -> Result<Numbers<T>, String> {
    let file = NpyFile::new(bytes).map_err(|error| format!("not a .npy file: {error}"))?;
    let (rows, cols) = match *file.shape() {
        [cols] => (1, cols),
        [rows, cols] => (rows, cols),
        ref shape => return Err(format!("an array of {} dimensions; use one or two", shape.len())),
    };
    // The head may state anything; the entries that are there cannot be more than the file has bytes.
    let count = rows.checked_mul(cols).filter(|&count| count <= bytes.len() as u64 && count > 0);
    let count = count.ok_or_else(|| format!("an array of {rows} × {cols} entries in {} bytes", bytes.len()))? as usize;
    let (rows, cols) = (rows as usize, cols as usize);
    let order = file.order();
    let mut stored: Vec<Option<T>> = integers(file)?;
    if stored.len() != count {
        return Err(format!("{} entries where the head says {count}", stored.len()));
    }
    let place = |i: usize| match order {
        Order::C => i,
        Order::Fortran => i % cols * rows + i / cols,
    };
    let entries = (0..count).filter_map(|i| stored[place(i)].take()).collect();
    Ok(Numbers { rows, cols, entries })
}

/// The entries, in the order of the file.
fn integers<T: Number>(file: NpyFile<&[u8]>) -> Result<Vec<Option<T>>, String> {
    let DType::Plain(kind) = file.dtype() else { return Err("an array of records; use one of integers".to_owned()) };
    let kind = kind.to_string();
    let failed = |error: std::io::Error| format!("not a .npy file: {error}");
    macro_rules! read {
        ($($name:literal $ty:ty),*) => {
            match kind.trim_start_matches(['<', '>', '|', '=']) {
                $($name => {
                    let entries = file.into_vec::<$ty>().map_err(failed)?;
                    let wide = |entry: $ty| {
                        let number = T::try_from(i128::from(entry)).map_err(|_| format!("{entry} is too large"))?;
                        Ok(Some(number))
                    };
                    entries.into_iter().map(wide).collect()
                })*
                other => Err(format!("an array of type {other}; use integers")),
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
        assert_eq!(text::<i64>(b"1 2\n3\n").unwrap_err(), "line 2 has 1 numbers, the lines before it 2");
        assert_eq!(text::<i64>(b"1 x\n").unwrap_err(), "line 1: \"x\" is not an integer");
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
