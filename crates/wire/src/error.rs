//! Errors of the envelope and of its fields.

use std::io;

use crate::kind;

/// An object that was refused, or that could not be read or written.
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, WireError, open, seal};
///
/// let sealed = seal(Kind(0x0202), 1, b"body");
/// let error = open(&sealed, Kind(0x0201), 1..=1, 4).unwrap_err();
/// assert!(matches!(error, WireError::WrongKind { given: 0x0202, expected: 0x0201 }));
/// assert!(error.to_string().contains("a TFHE ciphertext"));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The input ends before the field or the object does.
    #[error(
        "input is truncated: {needed} bytes needed, {available} available; fetch the whole object again, or check that this is the right file"
    )]
    Truncated {
        /// Bytes that the field or object takes from here on.
        needed: u64,
        /// Bytes that are left.
        available: u64,
    },
    /// The input does not start with the magic.
    #[error(
        "input starts with bytes {given:02x?}, a Ciphermill object with \"CMIL\"; check that this is the right file"
    )]
    BadMagic {
        /// The first four bytes.
        given: [u8; 4],
    },
    /// The envelope is of a version that this build does not know.
    #[error("envelope version {given} is unknown, this build reads {supported}; use the release that wrote it")]
    UnknownEnvelopeVersion {
        /// The version found.
        given: u16,
        /// The only version this build reads.
        supported: u16,
    },
    /// The reserved field of the header is not zero.
    #[error("reserved header field is {given:#06x}, must be 0; use the release that wrote the object")]
    Reserved {
        /// The value found.
        given: u16,
    },
    /// The object is of another kind than the one expected.
    #[error(
        "object is of kind {given:#06x} ({}), expected {expected:#06x} ({}); pass an object of the expected kind",
        kind::words(*given), kind::words(*expected)
    )]
    WrongKind {
        /// The kind found.
        given: u16,
        /// The kind the caller expects.
        expected: u16,
    },
    /// The body's layout is of a version that the caller does not read.
    #[error(
        "body version {given} is unsupported, versions {min} to {max} are; convert it with a release that knows it"
    )]
    UnsupportedVersion {
        /// The version found.
        given: u16,
        /// The oldest version the caller reads.
        min: u16,
        /// The newest version the caller reads.
        max: u16,
    },
    /// The body is longer than the caller allows.
    #[error("body has {given} bytes, the limit is {limit}; raise the limit only for a trusted source")]
    TooLarge {
        /// Body length that the header declares.
        given: u64,
        /// Largest body length the caller allows.
        limit: u64,
    },
    /// As many body bytes as declared were not written, or not read.
    #[error("body is declared to have {declared} bytes, {given} were transferred; transfer exactly as many")]
    BodyLength {
        /// Bytes written or read, or that would have been.
        given: u64,
        /// Body length that the header declares.
        declared: u64,
    },
    /// The header does not match its checksum.
    #[error(
        "header checksum is {stored:#010x}, computed {computed:#010x}: the header is damaged; fetch the object again"
    )]
    HeaderChecksum {
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the header's first 20 bytes.
        computed: u32,
    },
    /// The body does not match its checksum.
    #[error("body checksum is {stored:#010x}, computed {computed:#010x}: the body is damaged; fetch the object again")]
    BodyChecksum {
        /// The checksum in the trailer.
        stored: u32,
        /// The checksum of the body.
        computed: u32,
    },
    /// Bytes are left after the last field, or after the object.
    #[error("at least {given} bytes follow the end, 0 expected; pass exactly one object")]
    TrailingBytes {
        /// Bytes that are left.
        given: u64,
    },
    /// Reading or writing failed below.
    #[error("input/output failed: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for WireError {
    /// Takes back a [`WireError`] that travelled through [`io::Read`] or [`io::Write`] inside an [`io::Error`].
    fn from(error: io::Error) -> Self {
        error.downcast::<WireError>().unwrap_or_else(WireError::Io)
    }
}
