//! Numbers and texts at fixed places of records.

use std::borrow::Cow;
use thiserror::Error;

/// A record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Bytes are missing.
    #[error("{record} has {needed} bytes, only {given} are present")]
    Short {
        /// The record.
        record: &'static str,
        /// Bytes that it has.
        needed: usize,
        /// Bytes given.
        given: usize,
    },
    /// A text is not one.
    #[error("{field} at byte {offset}: {what}")]
    Text {
        /// The field.
        field: &'static str,
        /// Where it begins.
        offset: usize,
        /// The error.
        what: &'static str,
    },
}

/// The first `needed` bytes of a record.
pub(crate) fn record<'a>(bytes: &'a [u8], record: &'static str, needed: usize) -> Result<&'a [u8], RecordError> {
    bytes.get(..needed).ok_or(RecordError::Short { record, needed, given: bytes.len() })
}

/// The `N` bytes at `at`; bytes beyond the end are 0.
pub(crate) fn bytes<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| record.get(at + index).copied().unwrap_or(0))
}

pub(crate) fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes(record, at))
}

pub(crate) fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes(record, at))
}

pub(crate) fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes(record, at))
}

pub(crate) fn u128_at(record: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(bytes(record, at))
}

/// Puts bytes at `at`; bytes past the end are dropped.
pub(crate) fn put(record: &mut [u8], at: usize, value: &[u8]) {
    for (to, from) in record.iter_mut().skip(at).zip(value) {
        *to = *from;
    }
}

/// Puts a text of printable ASCII, filled up with spaces to `width` bytes; other characters become `?`.
pub(crate) fn put_ascii(record: &mut [u8], at: usize, width: usize, text: &str) {
    let printable = text.chars().map(|c| if matches!(c, ' '..='~') { c as u8 } else { b'?' });
    let padded: Vec<u8> = printable.chain(std::iter::repeat(b' ')).take(width).collect();
    put(record, at, &padded);
}

/// The text of a field that spaces or zeros fill up; unprintable bytes become `?`.
pub(crate) fn ascii(record: &[u8], at: usize, width: usize) -> String {
    let field = record.get(at..at + width).unwrap_or_default();
    let end = field.iter().rposition(|byte| !matches!(byte, 0 | b' ')).map_or(0, |last| last + 1);
    field[..end].iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' }).collect()
}

/// Puts a text that a NUL ends; the text is cut to fit into `width` bytes with it.
pub(crate) fn put_text(record: &mut [u8], at: usize, width: usize, text: &str) {
    put(record, at, cut(text, width.saturating_sub(1)).as_bytes());
}

/// The text, cut between characters to at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().map(|(index, c)| index + c.len_utf8()).take_while(|end| *end <= most).last();
    &text[..end.unwrap_or(0)]
}

/// The text in at most `most` bytes; where it is longer, it ends with an ellipsis, between words if there are any.
pub(crate) fn abridged(text: &str, most: usize) -> Cow<'_, str> {
    const ELLIPSIS: char = '…';
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = cut(text, most.saturating_sub(ELLIPSIS.len_utf8()));
    // A last word of more than half the text is no word.
    let head = head.rfind(' ').filter(|at| *at >= head.len() / 2).map_or(head, |at| &head[..at]);
    Cow::Owned(format!("{}{ELLIPSIS}", head.trim_end()))
}

/// The UTF-8 text that a NUL within `width` bytes ends.
pub(crate) fn text(record: &[u8], at: usize, width: usize, field: &'static str) -> Result<String, RecordError> {
    let bytes = record.get(at..at + width).unwrap_or_default();
    let error = |what| RecordError::Text { field, offset: at, what };
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(error("no NUL ends it"))?;
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(error("it is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters_and_keep_their_nul() {
        let mut record = [0xff; 8];
        put_text(&mut record[..4], 0, 4, "aéé");
        assert_eq!(record[..3], [b'a', 0xc3, 0xa9]);
        let mut record = [0; 8];
        put_text(&mut record, 0, 4, "abcdef");
        assert_eq!(&record, b"abc\0\0\0\0\0");
        assert_eq!(text(&record, 0, 4, "t"), Ok("abc".into()));
        assert!(text(b"abcd", 0, 4, "t").is_err() && text(b"\xff\0", 0, 2, "t").is_err());
    }

    #[test]
    fn ascii_is_padded_and_read_back() {
        let mut record = [0; 6];
        put_ascii(&mut record, 1, 5, "ab\u{e9}");
        assert_eq!(&record, b"\0ab?  ");
        assert_eq!(ascii(&record, 1, 5), "ab?");
        assert_eq!(ascii(&record, 4, 5), "", "a field beyond the record is empty");
        assert_eq!(ascii(b"xabcdey", 1, 5), "abcde");
    }

    #[test]
    fn numbers_are_little_endian() {
        let record: Vec<u8> = (0..17).collect();
        assert_eq!(u128_at(&record, 1), 0x100f_0e0d_0c0b_0a09_0807_0605_0403_0201);
    }

    #[test]
    fn texts_are_abridged_after_a_word() {
        assert_eq!(abridged("aaaa bb cc", 10), "aaaa bb cc");
        for (text, short) in [
            ("aaaa bb cc", "aaaa…"),
            ("aaa bbbbbb", "aaa…"),
            // A word of more than half the text is cut.
            ("aa bbbbbbb", "aa bbb…"),
            ("a bbbbbbbb", "a bbbb…"),
            ("éééééé", "ééé…"),
        ] {
            assert_eq!(abridged(text, 9), short);
        }
    }
}
