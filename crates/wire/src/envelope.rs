//! The header, and whole objects in memory.

use std::ops::RangeInclusive;

use crate::kind::Kind;
use crate::{Decoder, WireError};

/// The first four bytes of every object.
pub const MAGIC: [u8; 4] = *b"CMIL";
/// The version of the envelope that this build writes and reads.
pub const ENVELOPE_VERSION: u16 = 1;
/// Bytes of a header.
pub const HEADER_LEN: usize = 24;
/// Bytes that the envelope adds to a body: the header and the trailer.
pub const OVERHEAD: usize = HEADER_LEN + TRAILER_LEN;

pub(crate) const TRAILER_LEN: usize = 4;
/// Bytes of the header that its checksum covers.
const CHECKED_LEN: usize = 20;

/// The header of an object.
///
/// # Example
/// ```
/// use ciphermill_wire::{HEADER_LEN, Header, Kind, MAGIC, seal};
///
/// let sealed = seal(Kind(0x0201), 1, b"body");
/// let header = Header::decode(&sealed)?;
/// assert_eq!(header, Header { kind: Kind(0x0201), version: 1, body_len: 4 });
/// assert_eq!(header.encode(), sealed[..HEADER_LEN]);
/// assert!(sealed.starts_with(&MAGIC));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Header {
    /// The type of the object.
    pub kind: Kind,
    /// Version of the body's layout.
    pub version: u16,
    /// Bytes of the body.
    pub body_len: u64,
}

impl Header {
    /// The header's bytes.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{ENVELOPE_VERSION, Header, Kind};
    ///
    /// let header = Header { kind: Kind(0x0201), version: 1, body_len: 4 };
    /// assert_eq!(header.encode()[4..6], ENVELOPE_VERSION.to_le_bytes());
    /// assert_eq!(Header::decode(&header.encode())?, header);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[0..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&ENVELOPE_VERSION.to_le_bytes());
        out[6..8].copy_from_slice(&self.kind.0.to_le_bytes());
        out[8..10].copy_from_slice(&self.version.to_le_bytes());
        out[12..20].copy_from_slice(&self.body_len.to_le_bytes());
        let crc = crc32c::crc32c(&out[..CHECKED_LEN]);
        out[20..24].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the header at the start of `bytes`; later bytes are not read.
    ///
    /// # Errors
    /// If `bytes` has fewer than [`HEADER_LEN`] bytes, or the magic, the envelope version, the checksum or the reserved
    /// field is wrong. The kind, the version and the length are for the caller to judge, see [`Header::expect`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Header, Kind, WireError};
    ///
    /// let mut bytes = Header { kind: Kind(0x0201), version: 1, body_len: 4 }.encode();
    /// // A length is believed only if the checksum holds.
    /// bytes[12] ^= 1;
    /// assert!(matches!(Header::decode(&bytes), Err(WireError::HeaderChecksum { .. })));
    /// ```
    pub fn decode(bytes: &[u8]) -> Result<Header, WireError> {
        let mut fields = Decoder::new(bytes);
        if bytes.len() < HEADER_LEN {
            return Err(WireError::Truncated { needed: HEADER_LEN as u64, available: bytes.len() as u64 });
        }
        let magic = fields.array()?;
        if magic != MAGIC {
            return Err(WireError::BadMagic { given: magic });
        }
        // Before the checksum: another envelope version may keep its checksum elsewhere.
        let envelope = fields.u16()?;
        if envelope != ENVELOPE_VERSION {
            return Err(WireError::UnknownEnvelopeVersion { given: envelope, supported: ENVELOPE_VERSION });
        }
        let (kind, version, reserved, body_len) = (Kind(fields.u16()?), fields.u16()?, fields.u16()?, fields.u64()?);
        let (stored, computed) = (fields.u32()?, crc32c::crc32c(&bytes[..CHECKED_LEN]));
        if stored != computed {
            return Err(WireError::HeaderChecksum { stored, computed });
        }
        if reserved != 0 {
            return Err(WireError::Reserved { given: reserved });
        }
        Ok(Header { kind, version, body_len })
    }

    /// Checks the header against the caller's expectations: the kind, the body versions, and the largest body length in
    /// bytes.
    ///
    /// # Errors
    /// [`WireError::WrongKind`], [`WireError::UnsupportedVersion`] or [`WireError::TooLarge`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Header, Kind, WireError};
    ///
    /// let header = Header { kind: Kind(0x0201), version: 3, body_len: 100 };
    /// assert!(header.expect(Kind(0x0201), &(1..=3), 100).is_ok());
    /// let other_kind = header.expect(Kind(0x0202), &(1..=3), 100);
    /// assert!(matches!(other_kind, Err(WireError::WrongKind { given: 0x0201, expected: 0x0202 })));
    /// let low_limit = header.expect(Kind(0x0201), &(1..=3), 99);
    /// assert!(matches!(low_limit, Err(WireError::TooLarge { given: 100, limit: 99 })));
    /// ```
    pub fn expect(&self, kind: Kind, versions: &RangeInclusive<u16>, limit: u64) -> Result<(), WireError> {
        if self.kind != kind {
            return Err(WireError::WrongKind { given: self.kind.0, expected: kind.0 });
        }
        if !versions.contains(&self.version) {
            let (min, max) = (*versions.start(), *versions.end());
            return Err(WireError::UnsupportedVersion { given: self.version, min, max });
        }
        if self.body_len > limit {
            return Err(WireError::TooLarge { given: self.body_len, limit });
        }
        Ok(())
    }
}

/// Bytes of an object whose body has `body_len` bytes; `u64::MAX` if that does not fit.
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, OVERHEAD, seal, sealed_len};
///
/// assert_eq!(sealed_len(4), 4 + OVERHEAD as u64);
/// assert_eq!(sealed_len(4), seal(Kind(0x0201), 1, b"body").len() as u64);
/// assert_eq!(sealed_len(u64::MAX), u64::MAX);
/// ```
pub const fn sealed_len(body_len: u64) -> u64 {
    body_len.saturating_add(OVERHEAD as u64)
}

/// Puts `body` into its envelope.
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, open, seal};
///
/// let sealed = seal(Kind(0x0201), 1, b"body");
/// let (version, mut fields) = open(&sealed, Kind(0x0201), 1..=1, 4)?;
/// assert_eq!((version, fields.bytes(4)?), (1, &b"body"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn seal(kind: Kind, version: u16, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + OVERHEAD);
    out.extend_from_slice(&Header { kind, version, body_len: body.len() as u64 }.encode());
    out.extend_from_slice(body);
    out.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    out
}

/// Opens an object that fills all of `bytes`: its body version, and a decoder over its body.
///
/// `versions` are the body versions that the caller reads, `limit` the largest body length in bytes that it accepts.
///
/// # Errors
/// If the header is damaged or not as expected, `bytes` is shorter or longer than the object, or the body's checksum is
/// wrong.
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, WireError, open, seal};
///
/// let mut sealed = seal(Kind(0x0201), 1, b"body");
/// assert!(open(&sealed, Kind(0x0201), 1..=1, 4).is_ok());
/// let low_limit = open(&sealed, Kind(0x0201), 1..=1, 3);
/// assert!(matches!(low_limit, Err(WireError::TooLarge { given: 4, limit: 3 })));
/// sealed[24] ^= 1;
/// let damaged = open(&sealed, Kind(0x0201), 1..=1, 4);
/// assert!(matches!(damaged, Err(WireError::BodyChecksum { .. })));
/// ```
pub fn open(
    bytes: &[u8],
    kind: Kind,
    versions: RangeInclusive<u16>,
    limit: u64,
) -> Result<(u16, Decoder<'_>), WireError> {
    let header = Header::decode(bytes)?;
    header.expect(kind, &versions, limit)?;
    let (needed, available) = (sealed_len(header.body_len), bytes.len() as u64);
    if available < needed {
        return Err(WireError::Truncated { needed, available });
    }
    if available > needed {
        return Err(WireError::TrailingBytes { given: available - needed });
    }
    let (body, trailer) = bytes[HEADER_LEN..].split_at(bytes.len() - OVERHEAD);
    let (stored, computed) = (Decoder::new(trailer).u32()?, crc32c::crc32c(body));
    if stored != computed {
        return Err(WireError::BodyChecksum { stored, computed });
    }
    Ok((header.version, Decoder::new(body)))
}
