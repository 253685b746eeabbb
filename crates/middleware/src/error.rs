//! Errors of the middleware.

use crate::{blob::BlobId, transport::TransportError};
use std::{io, path::PathBuf};

/// Why a call failed. Unless a variant says otherwise, everything is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MiddlewareError {
    /// The configuration cannot work.
    #[error("middleware configuration: {what}")]
    Configuration {
        /// The setting and its valid range.
        what: String,
    },
    /// The system gave no thread for a worker.
    #[error("cannot start worker {worker} of {workers}: {source}; lower `workers`")]
    Worker {
        /// Its number, from 1.
        worker: usize,
        /// Workers wanted.
        workers: usize,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The queue is full; the callback is not called. Futures wait instead.
    #[error("{limit} operations are accepted and not complete, which is the limit; try again when one is")]
    Busy {
        /// The limit.
        limit: usize,
    },
    /// The middleware was dropped before it accepted the operation.
    #[error("the middleware is closed")]
    Closed,
    /// There is such a blob already.
    #[error("blob {id} exists; write to it, or delete it first")]
    Exists {
        /// The blob.
        id: BlobId,
    },
    /// There is no such blob.
    #[error("blob {id} does not exist; create it first")]
    UnknownBlob {
        /// The blob.
        id: BlobId,
    },
    /// The blob was created and has no content yet.
    #[error("blob {id} was created but never written; write it first")]
    NotWritten {
        /// The blob.
        id: BlobId,
    },
    /// A blob would have no bytes.
    #[error("blob {id} would be empty, a blob has at least one byte{}", match file {
        Some(file) => format!("; {} has none", file.display()),
        None => String::new(),
    })]
    Empty {
        /// The blob.
        id: BlobId,
        /// The file it was to come from.
        file: Option<PathBuf>,
    },
    /// A file cannot be used.
    #[error("blob {id}: cannot {operation} {}: {source}", path.display())]
    File {
        /// The blob.
        id: BlobId,
        /// The file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The path leads to a directory, a device, a pipe or a socket.
    #[error("blob {id}: {} is not a regular file", path.display())]
    NotAFile {
        /// The blob.
        id: BlobId,
        /// The path.
        path: PathBuf,
    },
    /// The file changed its length while it was read.
    #[error("blob {id}: {} had {size} bytes and changed its length while it was read", path.display())]
    FileChanged {
        /// The blob.
        id: BlobId,
        /// The file.
        path: PathBuf,
        /// Its length at first, in bytes.
        size: u64,
    },
    /// The transport or the device behind it refused or failed.
    #[error("blob {id}: {source}")]
    Transport {
        /// The blob.
        id: BlobId,
        /// Why.
        #[source]
        source: TransportError,
    },
    /// The blobs could not be listed.
    #[error("cannot list the blobs: {0}")]
    List(#[source] TransportError),
    /// The transport panicked, which is a defect of it. What became of the operation is unknown.
    #[error("the transport panicked: {what}")]
    Panicked {
        /// Its message.
        what: String,
    },
}

impl MiddlewareError {
    /// Gives a transport's error its place among the middleware's.
    pub(crate) fn transport(id: BlobId, source: TransportError) -> Self {
        match source {
            TransportError::NotFound { .. } => Self::UnknownBlob { id },
            TransportError::Empty => Self::Empty { id, file: None },
            source => Self::Transport { id, source },
        }
    }
}
