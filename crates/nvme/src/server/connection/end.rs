//! The ends of a connection.

use crate::pdu::FatalError;
use std::io;

/// The host broke the protocol.
#[derive(Debug)]
pub(super) struct Fatal {
    pub(super) error: FatalError,
    pub(super) information: u32,
    pub(super) what: String,
    pub(super) quote: Vec<u8>,
}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum End {
    /// The host closed it, or it broke.
    Gone,
    /// All was said.
    Finished,
    Told(&'static str),
    Timeout(&'static str),
    KeepAlive,
    /// The host ended it on an error of the target.
    Terminated,
    Protocol(Fatal),
}

impl End {
    /// Whether the log reports it.
    pub(super) const fn is_told(&self) -> bool {
        !matches!(self, Self::Gone | Self::Finished | Self::Terminated)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        tracing::debug!(%error, "connection broke");
        Self::Gone
    }
}
