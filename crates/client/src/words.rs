//! Words and tables in files: functions that a table can have, and words under a secret key.
//!
//! Some examples share the hidden start of those of [`tfhe`](crate::tfhe), with a test set that has words.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ciphermill_tfhe::serial;
use ciphermill_tfhe::word::{DenseTable, MAX_DENSE_BITS, TableError, Word};
use ciphermill_wire::Header;

use crate::error::ClientError;
use crate::files;

/// The longest file of a function's values, in bytes: 2^20 lines of two numbers.
const MAX_VALUES_BYTES: u64 = 32 << 20;
/// The longest file of a word, in bytes; far above any real one.
const MAX_WORD_BYTES: u64 = 4 << 20;
/// Bits of a function's argument if none are given.
pub const DEFAULT_BITS: u32 = 14;

/// A function that a table can have.
///
/// # Example
/// ```
/// use ciphermill_client::words::Function;
/// assert_eq!("isqrt".parse(), Ok(Function::SquareRoot));
/// assert_eq!("f.csv".parse(), Ok(Function::Values("f.csv".into())));
/// assert!("sine".parse::<Function>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// `isqrt`: the integer square root.
    SquareRoot,
    /// `crc16`: CRC-16/IBM-3740 (polynomial 0x1021, start 0xffff) of the argument's bytes, the highest first; its lowest bits
    /// where a word has fewer than 16.
    Crc16,
    /// `sbox`: the S-box of AES (FIPS 197), 8 bits to 8 bits.
    SBox,
    /// A CSV file with the values.
    Values(PathBuf),
}

/// A name without a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a function; use isqrt, crc16, sbox or the name of a .csv file")]
pub struct UnknownFunction {
    /// The name.
    pub given: String,
}

impl FromStr for Function {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        match name {
            "isqrt" => Ok(Self::SquareRoot),
            "crc16" => Ok(Self::Crc16),
            "sbox" => Ok(Self::SBox),
            path if Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) => {
                Ok(Self::Values(path.into()))
            }
            given => Err(UnknownFunction { given: given.to_owned() }),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SquareRoot => f.write_str("isqrt"),
            Self::Crc16 => f.write_str("crc16"),
            Self::SBox => f.write_str("sbox"),
            Self::Values(path) => path.display().fmt(f),
        }
    }
}

/// Why a file does not hold the values of a function, or a function has no table of the given bits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValuesError {
    /// A line is neither a value nor an argument and its value.
    #[error("line {line}: {text:?} is neither `value` nor `argument,value`; use integers from 0 to {}", u32::MAX)]
    Line {
        /// The line, from 1.
        line: usize,
        /// The beginning of its text.
        text: String,
    },
    /// A line is not of the form of the first one.
    #[error("line {line}: {text:?} is not of the form `{form}` of line {first}; use one form in the whole file")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The beginning of its text.
        text: String,
        /// The line that decides the form.
        first: usize,
        /// That form.
        form: &'static str,
    },
    /// An argument does not fit the bits.
    #[error("line {line}: the argument {given} does not fit; use 0 to {max}, or more bits (--bits)")]
    Argument {
        /// The line, from 1.
        line: usize,
        /// The argument.
        given: u64,
        /// The largest argument.
        max: u32,
    },
    /// A value does not fit any table.
    #[error("line {line}: the value {given} does not fit; use 0 to {max}")]
    Value {
        /// The line, from 1.
        line: usize,
        /// The value.
        given: u64,
        /// The largest value.
        max: u32,
    },
    /// An argument occurs twice.
    #[error("line {line}: the argument {argument} has a value already; give every argument one")]
    Twice {
        /// The line, from 1.
        line: usize,
        /// The argument.
        argument: u32,
    },
    /// Arguments have no value.
    #[error(
        "{missing} of {expected} arguments have no value, the first is {first}; {}{}",
        fits.map_or("give every argument one".to_owned(), |bits| format!("give every argument one, or use --bits {bits}")),
        names.map_or(String::new(), |line| format!(" (line {line} counts as names)"))
    )]
    Missing {
        /// Arguments without a value.
        missing: usize,
        /// All arguments.
        expected: usize,
        /// The smallest of them.
        first: usize,
        /// The bits for which the values are complete.
        fits: Option<u32>,
        /// The line of names.
        names: Option<usize>,
    },
    /// The function has a fixed number of bits.
    #[error("the argument of the function has {expected} bits, {given} were given; use --bits {expected}")]
    Bits {
        /// Bits given.
        given: u32,
        /// Bits of its argument.
        expected: u32,
    },
}

/// A function with its values.
///
/// # Example
/// ```
/// use ciphermill_client::words::{Function, Tabulated};
/// let root = Tabulated::new(&Function::SquareRoot, Some(14))?;
/// assert_eq!((root.input_bits, root.output_bits), (14, 14));
/// assert_eq!(root.value(12_345), 111);
/// # Ok::<(), ciphermill_client::ClientError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tabulated {
    /// Bits of the argument.
    pub input_bits: u32,
    /// Bits of the value.
    pub output_bits: u32,
    values: Vec<u32>,
}

impl Tabulated {
    /// The values of a function for arguments of `bits` bits; by default [`DEFAULT_BITS`], and the eight of the S-box. The
    /// values of the built-in functions have as many bits as the arguments.
    ///
    /// # Errors
    /// [`ClientError::Content`] with a [`ValuesError`] or a [`TableError`], [`ClientError::File`].
    pub fn new(function: &Function, bits: Option<u32>) -> Result<Self, ClientError> {
        let name = PathBuf::from(function.to_string());
        let content = |error: ValuesError| ClientError::content(&name)(error);
        let given = bits.unwrap_or(if *function == Function::SBox { 8 } else { DEFAULT_BITS });
        if !(1..=MAX_DENSE_BITS).contains(&given) {
            let refused = TableError::Bits { what: "inputs", given, min: 1, max: MAX_DENSE_BITS };
            return Err(ClientError::content(&name)(refused));
        }
        let built_in = |f: &dyn Fn(u32) -> u32| Self {
            input_bits: given,
            output_bits: given,
            values: (0..1u32 << given).map(|x| f(x) & (u32::MAX >> (32 - given))).collect(),
        };
        match function {
            Function::SquareRoot => Ok(built_in(&u32::isqrt)),
            Function::Crc16 => Ok(built_in(&|x| crc16(&x.to_be_bytes()[4 - given.div_ceil(8) as usize..]).into())),
            Function::SBox if given != 8 => Err(content(ValuesError::Bits { given, expected: 8 })),
            Function::SBox => Ok(built_in(&|x| s_box(x as u8).into())),
            Function::Values(path) => {
                let bytes = files::read(path, MAX_VALUES_BYTES)?;
                let values = read_values(files::utf8(path, &bytes)?, given).map_err(content)?;
                let most = values.iter().max().copied().unwrap_or_default();
                Ok(Self { input_bits: given, output_bits: (32 - most.leading_zeros()).max(1), values })
            }
        }
    }

    /// The value of an argument; 0 for one that is out of range.
    #[must_use]
    pub fn value(&self, argument: u32) -> u32 {
        self.values.get(argument as usize).copied().unwrap_or_default()
    }

    /// The table, of the digits at these positions; by default the first ones.
    ///
    /// # Errors
    /// [`TableError`] for other positions than the digits need.
    pub fn dense(&self, positions: Option<&[u8]>) -> Result<DenseTable, TableError> {
        let first: Vec<u8> = (0..self.input_bits.div_ceil(2) as u8).collect();
        let positions = positions.unwrap_or(&first).to_vec();
        DenseTable::new(self.input_bits, self.output_bits, positions, self.values.clone())
    }
}

/// The form of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Value,
    Pair,
}

impl Form {
    /// By the number of fields.
    fn of(fields: &[&str]) -> Option<Self> {
        match fields.len() {
            1 => Some(Self::Value),
            2 => Some(Self::Pair),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Pair => "argument,value",
        }
    }
}

/// Whether a first line holds names: letters, no digits, and no field such as `nan`, which programs write for a number.
fn is_header(fields: &[&str]) -> bool {
    let all = || fields.iter().flat_map(|field| field.chars());
    all().any(char::is_alphabetic) && !all().any(char::is_numeric) && fields.iter().all(|f| f.parse::<f64>().is_err())
}

/// The beginning of a line, for messages.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let end = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    text.chars().take(LONGEST).collect::<String>() + end
}

/// The values in a text, by argument: a value on each line, or an argument and its value on each. `#` starts a comment; a
/// first line of names is skipped.
fn read_values(text: &str, bits: u32) -> Result<Vec<u32>, ValuesError> {
    let expected = 1usize << bits;
    let max = (expected - 1) as u32;
    let mut values: Vec<Option<u32>> = vec![None; expected];
    let (mut form, mut names, mut next) = (None, None, 0u64);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().zip(1..).map(|(text, line)| (text.split('#').next().unwrap_or_default().trim(), line));
    for (text, line) in lines.filter(|(text, _)| !text.is_empty()) {
        let fields: Vec<_> = text.split(',').map(str::trim).collect();
        let own = Form::of(&fields);
        if form.is_none() && is_header(&fields) && own.is_some() {
            (form, names) = (own.map(|form| (form, line)), Some(line));
            continue;
        }
        let numbers = fields.iter().map(|field| field.parse::<u64>()).collect::<Result<Vec<_>, _>>();
        let (Some(own), Ok(numbers)) = (own, numbers) else {
            return Err(ValuesError::Line { line, text: quoted(text) });
        };
        let (expected_form, first) = *form.get_or_insert((own, line));
        if own != expected_form {
            return Err(ValuesError::Form { line, text: quoted(text), first, form: expected_form.name() });
        }
        let (argument, given) =
            if let [argument, value] = numbers[..] { (argument, value) } else { (next, numbers[0]) };
        let Some(slot) = usize::try_from(argument).ok().and_then(|argument| values.get_mut(argument)) else {
            return Err(ValuesError::Argument { line, given: argument, max });
        };
        let value = u32::try_from(given).map_err(|_| ValuesError::Value { line, given, max: u32::MAX })?;
        if slot.replace(value).is_some() {
            return Err(ValuesError::Twice { line, argument: argument as u32 });
        }
        next += 1;
    }
    let missing = values.iter().filter(|value| value.is_none()).count();
    match values.iter().position(Option::is_none) {
        Some(first) => {
            // The file may be complete for fewer bits.
            let (given, all) = (expected - missing, first == expected - missing);
            let fits = (all && given > 1 && given.is_power_of_two()).then(|| given.ilog2());
            Err(ValuesError::Missing { missing, expected, first, fits, names })
        }
        None => Ok(values.into_iter().flatten().collect()),
    }
}

/// CRC-16/IBM-3740: polynomial 0x1021, start 0xffff, nothing reflected.
fn crc16(bytes: &[u8]) -> u16 {
    let bit = |crc: u16| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
    bytes.iter().fold(0xffff, |crc, &byte| (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| bit(crc)))
}

/// The S-box of AES: the inverse in GF(2^8), then an affine map.
fn s_box(x: u8) -> u8 {
    let times = |a: u8, b: u8| {
        let double = |a: u8| a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x1b };
        let (mut sum, mut power) = (0, a);
        for i in 0..8 {
            sum ^= if b >> i & 1 == 1 { power } else { 0 };
            power = double(power);
        }
        sum
    };
    // x^254 is the inverse, and 0 for 0.
    let inverse = (0..253).fold(x, |power, _| times(power, x));
    [1, 2, 3, 4].into_iter().fold(inverse, |sum, by| sum ^ inverse.rotate_left(by)) ^ 0x63
}

/// Reads a word; `None` if the file does not say that it is one.
///
/// # Errors
/// [`ClientError::File`], and [`ClientError::Content`] for a damaged word.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// use ciphermill_client::words;
/// let three = key.encrypt(&encoding, 3, KeyOrder::Small, &mut tfhe::randomness()?)?;
/// files::write(&path, &three.to_bytes(), files::PUBLIC, false)?;
/// assert!(words::word(&path)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn word(path: &Path) -> Result<Option<Word>, ClientError> {
    files::decode(path, MAX_WORD_BYTES, |bytes| match Header::decode(bytes) {
        // Anything else is told apart by its own reader.
        Ok(Header { kind: serial::WORD, .. }) => Word::from_bytes(bytes).map(Some),
        _ => Ok(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_published_values() {
        // The check value of the catalogue of parametrised CRC algorithms, and FIPS 197, figure 7.
        assert_eq!(crc16(b"123456789"), 0x29b1);
        assert_eq!([0x00, 0x01, 0x53, 0xca, 0xff].map(s_box), [0x63, 0x7c, 0xed, 0x74, 0x16]);
        let all: std::collections::BTreeSet<u8> = (0..=255).map(s_box).collect();
        assert_eq!(all.len(), 256, "a permutation");
    }

    #[test]
    fn tables_have_the_values_of_their_function() {
        let crc = Tabulated::new(&Function::Crc16, Some(16)).expect("a table");
        assert_eq!(crc.value(0x3132), u32::from(crc16(b"12")));
        let short = Tabulated::new(&Function::Crc16, Some(6)).expect("a table");
        assert_eq!(short.value(7), u32::from(crc16(&[7])) & 63);
        let table = crc.dense(None).expect("the first positions");
        assert_eq!((table.output_digits(), table.selectors().len()), (8, 16));
        assert_eq!(crc.dense(Some(&[0, 1])), Err(TableError::Positions { given: 2, expected: 8 }));
        let bits =
            |function, bits| Tabulated::new(&function, bits).map(|table| table.input_bits).map_err(|e| e.to_string());
        assert_eq!(bits(Function::SBox, None), Ok(8));
        assert_eq!(
            bits(Function::SBox, Some(7)),
            Err("sbox: the argument of the function has 8 bits, 7 were given; use --bits 8".to_owned())
        );
        assert_eq!(bits(Function::SquareRoot, None), Ok(14));
        assert!(bits(Function::SquareRoot, Some(21)).is_err() && bits(Function::SquareRoot, Some(0)).is_err());
    }

    #[test]
    fn values_are_read_in_both_forms() {
        assert_eq!(read_values("3\n2\n1 # one\n\n0", 2), Ok(vec![3, 2, 1, 0]));
        assert_eq!(read_values("# squares\nx,f(x)\n2, 7\n0,5\n1,6\n3,8\n", 2), Ok(vec![5, 6, 7, 8]));
        assert_eq!(read_values("value\r\n5\r\n6\r\n", 1), Ok(vec![5, 6]));
        // A byte order mark, as spreadsheets write one.
        assert_eq!(read_values("\u{feff}0,1\n1,0\n", 1), Ok(vec![1, 0]));
        let line = |line, text: &str| Err(ValuesError::Line { line, text: text.to_owned() });
        assert_eq!(read_values("0\nx\n", 1), line(2, "x"));
        assert_eq!(read_values("0,1,2\n", 1), line(1, "0,1,2"));
        assert_eq!(read_values("0\n-1\n", 1), line(2, "-1"));
        assert_eq!(read_values("a\nb\n0\n1\n", 1), line(2, "b"));
        assert_eq!(read_values(&"9".repeat(1 << 20), 1), line(1, &("9".repeat(40) + "…")));
        assert_eq!(read_values("0,1\n2,1\n", 1), Err(ValuesError::Argument { line: 2, given: 2, max: 1 }));
        assert_eq!(read_values("0,1\n0,1\n", 1), Err(ValuesError::Twice { line: 2, argument: 0 }));
        let wide = ValuesError::Value { line: 1, given: 1 << 32, max: u32::MAX };
        assert_eq!(read_values("4294967296\n", 1), Err(wide));
        let missing = |missing, first, fits, names| ValuesError::Missing { missing, expected: 4, first, fits, names };
        assert_eq!(read_values("1,1\n", 2), Err(missing(3, 0, None, None)));
        assert_eq!(read_values("18446744073709551615,1\n", 1).map_err(|e| e.to_string().len() > 10), Err(true));
        assert_eq!(read_values("", 2), Err(missing(4, 0, None, None)));
        // Complete for fewer bits, and not.
        let short = missing(2, 2, Some(1), None);
        let message = "2 of 4 arguments have no value, the first is 2; give every argument one, or use --bits 1";
        assert_eq!(short.to_string(), message);
        assert_eq!(read_values("1\n2\n", 2), Err(short));
        assert_eq!(read_values("1\n2\n3\n", 2), Err(missing(1, 3, None, None)));
        assert_eq!(read_values("0,1\n2,1\n", 2), Err(missing(2, 1, None, None)));
        let named = missing(1, 3, None, Some(1));
        assert!(named.to_string().ends_with("give every argument one (line 1 counts as names)"), "{named}");
        assert_eq!(read_values("value\n1\n2\n3\n", 2), Err(named));
    }

    /// A first line that is a slip in a value is refused. If it counted as names, the values would move by one argument.
    #[test]
    fn a_first_line_that_is_not_a_value_is_refused() {
        for first in [
            "-7",
            "-1",
            "1.5",
            "1e3",
            "0x10",
            "99999999999999999999",
            "0;1",
            "\"1\"",
            "x1",
            "nan",
            "-inf",
            "+",
            "\u{664}",
        ] {
            let refused = read_values(&format!("{first}\n0\n1\n2\n3\n"), 2);
            assert_eq!(refused, Err(ValuesError::Line { line: 1, text: first.to_owned() }));
        }
    }

    #[test]
    fn a_file_is_of_one_form() {
        let form = |line, text: &str, first, form| Err(ValuesError::Form { line, text: text.to_owned(), first, form });
        assert_eq!(read_values("0,1\n7\n2,2\n3,9\n", 2), form(2, "7", 1, "argument,value"));
        assert_eq!(read_values("# f\n5\n1,7\n", 1), form(3, "1,7", 2, "value"));
        // Names have the form of the values.
        assert_eq!(read_values("x,f(x)\n5\n7\n", 1), form(2, "5", 1, "argument,value"));
        assert_eq!(read_values("a,b,c\n0,1\n1,1\n", 1), Err(ValuesError::Line { line: 1, text: "a,b,c".to_owned() }));
    }
}
