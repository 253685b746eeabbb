//! Objects too large to hold in memory twice.

use std::io::{self, Read, Write};
use std::ops::RangeInclusive;

use crate::envelope::{HEADER_LEN, TRAILER_LEN};
use crate::{Header, Kind, WireError};

/// Writes an object whose body length is known beforehand.
///
/// Without [`finish`](SealWriter::finish) the object has no trailer, and every reader refuses it. Writes go to `W` as they
/// come: wrap a `W` that is slow for small writes in a [`BufWriter`](io::BufWriter).
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, SealWriter, seal};
/// use std::io::Write;
///
/// let mut writer = SealWriter::new(Vec::new(), Kind(0x0205), 1, 4)?;
/// writer.write_all(b"bo")?;
/// writer.write_all(b"dy")?;
/// assert_eq!(writer.finish()?, seal(Kind(0x0205), 1, b"body"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SealWriter<W: Write> {
    inner: W,
    declared: u64,
    written: u64,
    crc: u32,
}

impl<W: Write> SealWriter<W> {
    /// Writes the header of an object whose body will have `body_len` bytes.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut inner: W, kind: Kind, version: u16, body_len: u64) -> Result<Self, WireError> {
        inner.write_all(&Header { kind, version, body_len }.encode())?;
        Ok(SealWriter { inner, declared: body_len, written: 0, crc: 0 })
    }

    /// Writes the trailer, flushes, and gives the writer back.
    ///
    /// # Errors
    /// [`WireError::BodyLength`] if fewer bytes were written than declared, or if writing fails.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Kind, SealWriter, WireError};
    /// use std::io::Write;
    ///
    /// let mut writer = SealWriter::new(Vec::new(), Kind(0x0205), 1, 4)?;
    /// writer.write_all(b"bo")?;
    /// assert!(matches!(writer.finish(), Err(WireError::BodyLength { given: 2, declared: 4 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<W, WireError> {
        if self.written != self.declared {
            return Err(WireError::BodyLength { given: self.written, declared: self.declared });
        }
        self.inner.write_all(&self.crc.to_le_bytes())?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for SealWriter<W> {
    /// Writes body bytes. More than the declared length is refused before any of `buf` is written.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let given = self.written.saturating_add(buf.len() as u64);
        if given > self.declared {
            let error = WireError::BodyLength { given, declared: self.declared };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let n = self.inner.write(buf)?;
        self.crc = crc32c::crc32c_append(self.crc, &buf[..n]);
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Reads an object from a stream.
///
/// The body is handed out before its checksum can be known: trust nothing of it before [`finish`](OpenReader::finish)
/// has returned. Reads go to `R` as they come: wrap an `R` that is slow for small reads in a
/// [`BufReader`](io::BufReader).
///
/// # Example
/// ```
/// use ciphermill_wire::{Kind, OpenReader, seal};
/// use std::io::Read;
///
/// let sealed = seal(Kind(0x0205), 1, b"body");
/// let mut reader = OpenReader::new(&sealed[..], Kind(0x0205), 1..=1, 1 << 20)?;
/// assert_eq!((reader.version(), reader.body_len(), reader.remaining()), (1, 4, 4));
/// let mut body = Vec::new();
/// reader.read_to_end(&mut body)?;
/// reader.finish()?;
/// assert_eq!(body, b"body");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OpenReader<R: Read> {
    inner: R,
    version: u16,
    body_len: u64,
    read: u64,
    crc: u32,
}

impl<R: Read> OpenReader<R> {
    /// Reads the header and checks it; arguments as for [`open`](crate::open).
    ///
    /// # Errors
    /// If reading fails, or the header is damaged or not as expected.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Kind, OpenReader, WireError, seal};
    ///
    /// let sealed = seal(Kind(0x0205), 1, b"body");
    /// // The header is enough to refuse an object.
    /// let refused = OpenReader::new(&sealed[..24], Kind(0x0205), 2..=3, 1 << 20);
    /// assert!(matches!(refused, Err(WireError::UnsupportedVersion { given: 1, min: 2, max: 3 })));
    /// ```
    pub fn new(mut inner: R, kind: Kind, versions: RangeInclusive<u16>, limit: u64) -> Result<Self, WireError> {
        let mut bytes = [0; HEADER_LEN];
        fill(&mut inner, &mut bytes)?;
        let header = Header::decode(&bytes)?;
        header.expect(kind, &versions, limit)?;
        Ok(OpenReader { inner, version: header.version, body_len: header.body_len, read: 0, crc: 0 })
    }

    /// Version of the body's layout.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Bytes of the body.
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Bytes of the body not read yet.
    pub fn remaining(&self) -> u64 {
        self.body_len - self.read
    }

    /// Reads the trailer and gives the reader back, positioned behind the object.
    ///
    /// # Errors
    /// [`WireError::BodyLength`] if the body was not read to its end, [`WireError::BodyChecksum`] if it is damaged, or if
    /// reading fails.
    ///
    /// # Example
    /// ```
    /// use ciphermill_wire::{Kind, OpenReader, WireError, seal};
    /// use std::io::Read;
    ///
    /// let mut sealed = seal(Kind(0x0205), 1, b"body");
    /// sealed[24] ^= 1;
    /// let mut reader = OpenReader::new(&sealed[..], Kind(0x0205), 1..=1, 1 << 20)?;
    /// let mut body = Vec::new();
    /// // The body arrives before its checksum.
    /// reader.read_to_end(&mut body)?;
    /// assert!(matches!(reader.finish(), Err(WireError::BodyChecksum { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<R, WireError> {
        if self.read != self.body_len {
            return Err(WireError::BodyLength { given: self.read, declared: self.body_len });
        }
        let mut trailer = [0; TRAILER_LEN];
        fill(&mut self.inner, &mut trailer)?;
        let (stored, computed) = (u32::from_le_bytes(trailer), self.crc);
        if stored != computed {
            return Err(WireError::BodyChecksum { stored, computed });
        }
        Ok(self.inner)
    }
}

impl<R: Read> Read for OpenReader<R> {
    /// Reads body bytes, never past the body. A stream that ends within the body is an error
    /// ([`UnexpectedEof`](io::ErrorKind::UnexpectedEof) around [`WireError::Truncated`]), never a silent end.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = usize::try_from(self.remaining()).map_or(buf.len(), |left| left.min(buf.len()));
        if n == 0 {
            return Ok(0);
        }
        let n = self.inner.read(&mut buf[..n])?;
        if n == 0 {
            let error = WireError::Truncated { needed: self.body_len, available: self.read };
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error));
        }
        self.crc = crc32c::crc32c_append(self.crc, &buf[..n]);
        self.read += n as u64;
        Ok(n)
    }
}

/// Fills `buf`, naming how much was there if the stream ends before.
fn fill(reader: &mut impl Read, buf: &mut [u8]) -> Result<(), WireError> {
    let mut filled = 0;
    while filled < buf.len() {
        match reader.read(&mut buf[filled..]) {
            Ok(0) => return Err(WireError::Truncated { needed: buf.len() as u64, available: filled as u64 }),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
