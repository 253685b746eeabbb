//! Numbers of bytes as people write them.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A number of bytes: an integer, optionally followed by K, M, G or T (powers of 1024; `KiB`, `MiB`, … mean the same).
///
/// ```
/// use ciphermill_client::size::Bytes;
///
/// assert_eq!("256M".parse(), Ok(Bytes(256 << 20)));
/// assert!("256 MB".parse::<Bytes>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// Why a text is not a number of bytes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BytesError {
    /// The text has another form.
    #[error("`{0}` is not {EXPECTED}")]
    Form(String),
    /// The number does not fit 64 bits.
    #[error("`{0}` is more than 2^64 - 1 bytes")]
    TooLarge(String),
}

/// The expected form, for messages.
const EXPECTED: &str = "a number of bytes, as 4096, 256M or 1T (powers of 1024)";

impl FromStr for Bytes {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit {
            "" => 0,
            "K" | "KiB" => 10,
            "M" | "MiB" => 20,
            "G" | "GiB" => 30,
            "T" | "TiB" => 40,
            _ => return Err(BytesError::Form(text.to_owned())),
        };
        let number: u64 = number.parse().map_err(|_| BytesError::Form(text.to_owned()))?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(|| BytesError::TooLarge(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Bytes, E> {
                u64::try_from(value).map(Bytes).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Bytes, E> {
                Ok(Bytes(value))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Bytes, E> {
                value.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("1K", 1024), ("256M", 256 << 20), ("3GiB", 3 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "M", "-1", "1.5G", "256MB", "256 M", "1k", "18446744073709551616"] {
            assert!(text.parse::<Bytes>().unwrap_err().to_string().contains("is not a number of bytes"), "{text}");
        }
        assert!("18014398509481984K".parse::<Bytes>().unwrap_err().to_string().contains("more than 2^64"));
    }
}
