//! A command after it was judged, while it waits for memory or data.

use crate::{CommandError, Status, command::Command, fabrics::Connect, server::io::Work};

/// The kind of a command, with the fields that it needs.
#[derive(Debug)]
pub(crate) enum Job {
    Connect(Connect),
    Admin,
    Disconnect,
    Io(Work),
}

/// A command that waits for memory.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(super) command: Command,
    pub(super) job: Job,
    /// Bytes that it needs.
    pub(super) needs: usize,
    /// Bytes that the host is asked for.
    pub(super) from_host: usize,
}

pub(super) fn refuse<T>(status: Status, detail: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::new(status.do_not_retry(), detail))
}
