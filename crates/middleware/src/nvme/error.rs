//! Errors of the connection to a served device.

use crate::{blob::BlobId, transport::TransportError};
use ciphermill_blockspace::adapter::status;
use ciphermill_nvme::{CommandError, Status, initiator::InitiatorError};
use std::{fmt, io};

/// Why a served device cannot be had.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let (address, host) = ("127.0.0.1:4420".to_owned(), DEFAULT_HOST_NQN.to_owned());
/// let error = NvmeError::Subsystems { address, host, names: Vec::new() };
/// assert!(error.to_string().ends_with("no subsystem; the server must allow this host"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvmeError {
    /// The connection, or a command on it.
    #[error(transparent)]
    Initiator(#[from] InitiatorError),
    /// The target offers this host no subsystem, or several.
    #[error("{address} offers {host} {}", match names.as_slice() {
        [] => "no subsystem; the server must allow this host".to_owned(),
        names => format!("{} subsystems, name one of them: {}", names.len(), names.join(", ")),
    })]
    Subsystems {
        /// The target.
        address: String,
        /// This host.
        host: String,
        /// The namespaces that it offers.
        names: Vec<String>,
    },
    /// The system gave no threads.
    #[error("cannot start the threads of the NVMe transport: {0}")]
    Threads(#[source] io::Error),
    /// The system gave no random bytes for the identifier of this host.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// A task ended early.
    #[error("a task of the NVMe transport ended early, which is a defect of it")]
    Runtime,
}

/// The device's message, or the meaning of the status.
#[derive(Debug)]
struct Told(CommandError);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.detail.is_empty() { self.0.fmt(f) } else { f.write_str(&self.0.detail) }
    }
}

impl std::error::Error for Told {}

/// Maps the error of a command to the variant on which a caller can act.
pub(super) fn mapped(id: BlobId, error: InitiatorError) -> TransportError {
    let InitiatorError::Command { error } = error else { return TransportError::Failed(Box::new(error)) };
    let given = error.status;
    let is = |known: &[Status]| known.iter().any(|known| given.is(*known));
    if is(&[status::NO_SUCH_OBJECT]) {
        return TransportError::NotFound { id };
    }
    let cause = Box::new(Told(error));
    if is(&[status::OBJECT_REFUSED, status::CONTENT_REFUSED, status::METADATA_INVALID, status::NO_PROGRAM]) {
        TransportError::Refused(cause)
    } else if is(&[
        status::PROGRAM_FAILED,
        status::RESULT_TOO_LARGE,
        status::FAILURE_TOO_LIKELY,
        status::RANGE_EXCEEDED,
        status::RANGE_UNKNOWN,
    ]) {
        TransportError::ProgramFailed(cause)
    } else if is(&[Status::CAPACITY_EXCEEDED, status::TOO_MANY_OBJECTS]) {
        TransportError::NoSpace(cause)
    } else if is(&[status::BUSY, Status::COMMAND_INTERRUPTED, Status::NAMESPACE_NOT_READY]) {
        TransportError::Busy(cause)
    } else {
        TransportError::Failed(cause)
    }
}

/// The device answered something that makes no sense.
pub(super) fn malformed(what: impl fmt::Display) -> TransportError {
    TransportError::Failed(format!("the answer of the device makes no sense: {what}").into())
}
