//! The signals that end a command.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

impl Ending {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        }
    }

    /// The exit code that a shell reports for a process that the signal has ended.
    pub(crate) fn exit_code(self) -> i32 {
        let kind = match self {
            Self::Terminate => SignalKind::terminate(),
            Self::Interrupt => SignalKind::interrupt(),
        };
        128 + kind.as_raw_value()
    }
}

/// SIGTERM and SIGINT, which no longer end the process by themselves.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches them from now on; within a runtime of Tokio.
    pub(crate) fn new() -> Result<Self, CliError> {
        let caught = |kind| signal(kind).map_err(|error| CliError::Server(format!("cannot catch signals: {error}")));
        Ok(Self { terminate: caught(SignalKind::terminate())?, interrupt: caught(SignalKind::interrupt())? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Ending {
        tokio::select! {
            _ = self.terminate.recv() => Ending::Terminate,
            _ = self.interrupt.recv() => Ending::Interrupt,
        }
    }
}
