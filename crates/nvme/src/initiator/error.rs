//! Errors of the initiator.

use crate::{
    namespace::CommandError,
    pdu::{PduError, PduType},
    status::Status,
};
use std::{io, sync::Arc, time::Duration};
use thiserror::Error;

/// A breach of the transport by the target. The connection ends with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The PDU itself is malformed.
    #[error(transparent)]
    Unit(#[from] PduError),
    /// A PDU of a type that may not come now.
    #[error("a PDU of type {kind:?} may not come now")]
    Unexpected {
        /// Its type.
        kind: PduType,
    },
    /// An answer to a command that is not in progress.
    #[error("the target answers command {id:#06x}, which is not in progress on queue {queue}")]
    UnknownCommand {
        /// The queue.
        queue: u16,
        /// The identifier it named.
        id: u16,
    },
    /// Data for the host that the command did not ask for, or out of order.
    #[error(
        "{length} bytes of data at offset {offset} for command {id:#06x}, which expects {expected} of {room} bytes next"
    )]
    DataRange {
        /// The command.
        id: u16,
        /// Offset given.
        offset: u32,
        /// Bytes given.
        length: u32,
        /// Offset that comes next.
        expected: usize,
        /// Bytes of the whole buffer.
        room: usize,
    },
    /// The header of a data PDU and its length disagree.
    #[error("a unit carries {unit} bytes of data, its header says {header}")]
    DataLength {
        /// Bytes by the PDU's length.
        unit: usize,
        /// Bytes by its header.
        header: u32,
    },
    /// A request for data that the command does not have.
    #[error(
        "the target asks command {id:#06x} for {length} bytes at offset {offset}; it has {room}, {asked} are asked for already"
    )]
    ReadyRange {
        /// The command.
        id: u16,
        /// Offset asked for.
        offset: u32,
        /// Bytes asked for.
        length: u32,
        /// Bytes asked for before.
        asked: usize,
        /// Bytes of the command's data.
        room: usize,
    },
    /// More requests for data at once than agreed.
    #[error("the target has more than {limit} requests for data of command {id:#06x} open")]
    TooManyReady {
        /// The command.
        id: u16,
        /// How many were agreed.
        limit: u32,
    },
    /// A data PDU that stands for a completion but is not the last of its transfer.
    #[error("a unit for command {id:#06x} says success, but not that it is the last")]
    SuccessBeforeLast {
        /// The command.
        id: u16,
    },
    /// Success without having taken all data of the command.
    #[error("the target says that command {id:#06x} is done, having asked for {asked} of {room} bytes")]
    DoneWithoutData {
        /// The command.
        id: u16,
        /// Bytes asked for.
        asked: usize,
        /// Bytes of the command's data.
        room: usize,
    },
    /// The target ended the connection for a fatal error of its own finding.
    #[error("the target ends the connection: fatal error {error}, information {information:#010x}")]
    Terminated {
        /// Fatal error status, see [`FatalError`](crate::pdu::FatalError).
        error: u16,
        /// Its information.
        information: u32,
    },
    /// The answer to Connect, or to another step of setting up, makes no sense.
    #[error("setting up: {what}")]
    Setup {
        /// The error.
        what: String,
    },
}

/// Why a call of the initiator failed.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = served(subsystem()?).await?;
/// # let controller = Controller::connect(config).await?;
/// # let disk = controller.namespace(1).await?;
/// let error = disk.read(63, 2).await.unwrap_err();
/// assert!(matches!(error, InitiatorError::Argument { .. }));
/// assert!(error.to_string().contains("pass the end of the namespace at 64"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum InitiatorError {
    /// The configuration cannot be meant.
    #[error("the configuration: {what}")]
    Config {
        /// Which bound it breaks.
        what: String,
    },
    /// The arguments of a call break a bound; nothing was sent.
    #[error("{what}")]
    Argument {
        /// Which bound.
        what: String,
    },
    /// No TCP connection, or it broke.
    #[error("{address}: {source}")]
    Io {
        /// The target.
        address: String,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The target did not answer in time while a connection was set up.
    #[error("{address} did not answer within {after:?} while the connection was set up ({step})")]
    SetupTimeout {
        /// The target.
        address: String,
        /// How long it had.
        after: Duration,
        /// The step that took too long.
        step: &'static str,
    },
    /// The target broke the protocol.
    #[error("{address} breaks the protocol: {error}")]
    Protocol {
        /// The target.
        address: String,
        /// How.
        error: ProtocolError,
    },
    /// The target refuses the connection.
    #[error("{address} refuses to connect {host} to {subsystem}: {status}{}", match status.is(Status::CONNECT_INVALID_HOST) {
        true => "; the server must allow a host of this name",
        false => "",
    })]
    Refused {
        /// The target.
        address: String,
        /// The host.
        host: String,
        /// The subsystem.
        subsystem: String,
        /// Why.
        status: Status,
    },
    /// The target needs a feature that this initiator lacks.
    #[error("{address} cannot be used: {what}")]
    Unsupported {
        /// The target.
        address: String,
        /// The feature that it needs or lacks.
        what: String,
    },
    /// After a reconnect, something else is there than before. No command was sent to it.
    #[error("{address} is another than before: {what} was {expected}, now it is {found}")]
    Identity {
        /// The target.
        address: String,
        /// What differs.
        what: &'static str,
        /// As it was.
        expected: String,
        /// As it is.
        found: String,
    },
    /// The target answered the command with an error.
    #[error("{error}")]
    Command {
        /// The status, and the cause in words where the target has one.
        error: CommandError,
    },
    /// The command was not answered before its deadline. It may or may not have taken effect, and may still do so.
    #[error("no answer within {after:?}; the command may or may not have taken effect")]
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// The connection was lost while a command was in progress that must not be sent twice.
    #[error("the connection was lost: {cause}; the command may or may not have taken effect and is not sent again")]
    Interrupted {
        /// Why it was lost.
        cause: Box<InitiatorError>,
    },
    /// The target sent fewer bytes than the command reads.
    #[error("the target sent {given} of {expected} bytes")]
    ShortData {
        /// Bytes that came.
        given: usize,
        /// Bytes asked for.
        expected: usize,
    },
    /// Data came with a wrong digest, as often as they were asked for.
    #[error("the data came with a wrong digest {attempts} times")]
    DataDigest {
        /// How often.
        attempts: u32,
    },
    /// The target could not be reached again for too long; the controller stays down.
    #[error("gave up after {after:?} and {attempts} attempts to reconnect; the last: {last}")]
    GaveUp {
        /// How long it was tried.
        after: Duration,
        /// How often.
        attempts: u32,
        /// Why the last attempt failed.
        last: Box<InitiatorError>,
    },
    /// The namespace does not exist, or this initiator cannot use it.
    #[error("namespace {nsid}: {what}")]
    Namespace {
        /// Its number.
        nsid: u32,
        /// The error.
        what: String,
    },
    /// The target answered with data that make no sense.
    #[error("the target's {what} makes no sense: {why}")]
    Malformed {
        /// The value that was read.
        what: &'static str,
        /// The error in it.
        why: String,
    },
    /// The controller was disconnected by its user.
    #[error("the controller is disconnected")]
    Closed,
}

impl InitiatorError {
    /// The status that the target gave the command, if it answered it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// let error = disk.vendor_read(0xc6, [0; 6], 4096).await.unwrap_err();
    /// assert!(error.status().is_some_and(|status| status.is(Status::vendor(1))));
    /// assert_eq!(InitiatorError::Closed.status(), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn status(&self) -> Option<Status> {
        match self {
            Self::Command { error } => Some(error.status),
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether a new attempt to connect could end otherwise.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Identity { .. } | Self::Config { .. } | Self::Closed => false,
            Self::Refused { status, .. } => !status.is_final(),
            _ => true,
        }
    }

    pub(super) fn io(address: &str, source: io::Error) -> Self {
        Self::Io { address: address.into(), source: Arc::new(source) }
    }

    pub(super) fn protocol(address: &str, error: impl Into<ProtocolError>) -> Self {
        Self::Protocol { address: address.into(), error: error.into() }
    }

    pub(super) fn setup(address: &str, what: impl Into<String>) -> Self {
        Self::protocol(address, ProtocolError::Setup { what: what.into() })
    }
}

impl From<Status> for InitiatorError {
    fn from(status: Status) -> Self {
        Self::Command { error: status.into() }
    }
}
