//! The interface between the middleware and a device.

use crate::blob::{BlobId, BlobStat, Metadata, ReadMode, Transferred, WriteMode, Written};
use std::{
    error::Error,
    fmt,
    io::{self, Read, Write},
};

/// Carries blobs to and from one space of a device.
///
/// Calls block, and come from many threads at once. A blob exists from its first complete write to its deletion; there is
/// no call that makes an empty one.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let transport: Arc<dyn Transport> = Arc::new(EmbeddedTransport::new(space));
/// transport.write(&metadata, bytes.len() as u64, &mut bytes.as_slice(), WriteMode::Stored)?;
/// let mut out = Vec::new();
/// transport.read(id, ReadMode::Stored, &mut out)?;
/// assert_eq!(out, bytes);
/// transport.delete(id)?;
/// assert!(transport.list()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Transport: Send + Sync + fmt::Debug {
    /// Writes a blob of exactly `size` bytes from `content`, in place of an earlier version if there is one. The new
    /// version is visible only when it is complete, and durable with its flags when this returns; after an error the
    /// earlier version is still present. Never holds more of a large blob in memory than a fixed number of chunks.
    ///
    /// # Errors
    /// [`TransportError::Content`] when `content` fails, [`TransportError::Length`] when it ends early or goes on past
    /// `size`; [`TransportError::Empty`], [`TransportError::TooLarge`], [`TransportError::NoSpace`],
    /// [`TransportError::Refused`], [`TransportError::ProgramFailed`], [`TransportError::Busy`],
    /// [`TransportError::Failed`].
    fn write(
        &self,
        metadata: &Metadata,
        size: u64,
        content: &mut dyn Read,
        mode: WriteMode,
    ) -> Result<Written, TransportError>;

    /// Reads a blob into `out`: one version of it, whole, whatever is written meanwhile. Never holds more of a large blob
    /// in memory than a fixed number of chunks. After an error, `out` may have taken a part.
    ///
    /// # Errors
    /// [`TransportError::NotFound`]; [`TransportError::Output`] when `out` fails; for a computed read
    /// [`TransportError::Refused`], [`TransportError::ProgramFailed`] and [`TransportError::Busy`];
    /// [`TransportError::Failed`], also for a damaged blob.
    fn read(&self, id: BlobId, mode: ReadMode, out: &mut dyn Write) -> Result<Transferred, TransportError>;

    /// Deletes a blob; durable when this returns.
    ///
    /// # Errors
    /// [`TransportError::NotFound`], [`TransportError::Failed`].
    fn delete(&self, id: BlobId) -> Result<(), TransportError>;

    /// Returns the metadata of a blob.
    ///
    /// # Errors
    /// [`TransportError::NotFound`], [`TransportError::Failed`].
    fn stat(&self, id: BlobId) -> Result<BlobStat, TransportError>;

    /// All blobs, ascending by name.
    ///
    /// # Errors
    /// [`TransportError::Failed`].
    fn list(&self) -> Result<Vec<BlobStat>, TransportError>;
}

/// The cause of a [`TransportError`]: the error of the device or the network.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Errors of a transport. After an error nothing has changed, unless [`Transport`] states otherwise.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let transport = EmbeddedTransport::new(space);
/// assert!(matches!(transport.stat(id), Err(TransportError::NotFound { .. })));
/// let empty = transport.write(&metadata, 0, &mut std::io::empty(), WriteMode::Stored);
/// assert!(matches!(empty, Err(TransportError::Empty)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No such blob.
    #[error("blob {id} is not stored")]
    NotFound {
        /// The blob.
        id: BlobId,
    },
    /// A blob without bytes.
    #[error("a blob has at least one byte, this one has none")]
    Empty,
    /// Larger than the device takes.
    #[error("{size} bytes are more than the device's limit of {limit}")]
    TooLarge {
        /// Declared size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The content has another length than was declared.
    #[error("{declared} bytes were declared, but the content {}", match given {
        Some(given) => format!("ended after {given}"),
        None => "goes on".to_owned(),
    })]
    Length {
        /// Declared size in bytes.
        declared: u64,
        /// Bytes given, `None` when there were more than declared.
        given: Option<u64>,
    },
    /// The device, or the quota of the space, is full.
    #[error("the device has no room: {0}")]
    NoSpace(#[source] Cause),
    /// The device knows no such type, the size or content does not fit it, or it does not compute.
    #[error("the device refused: {0}")]
    Refused(#[source] Cause),
    /// The program that the read or write ran failed.
    #[error("{0}")]
    ProgramFailed(#[source] Cause),
    /// The device has too many programs waiting.
    #[error("the device is busy: {0}")]
    Busy(#[source] Cause),
    /// The content that was to be written could not be read.
    #[error("the content could not be read: {0}")]
    Content(#[source] io::Error),
    /// The sink of a read failed.
    #[error("the output failed: {0}")]
    Output(#[source] io::Error),
    /// The device or the connection to it failed.
    #[error("the device failed: {0}")]
    Failed(#[source] Cause),
}

/// Reads once, and again when a signal interrupted the read.
pub(crate) fn pull(content: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match content.read(out) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
