//! Reports of the tasks of a connection's own commands.

use crate::{
    CommandError,
    command::Command,
    server::{handshake::Request, io::Work, memory::Charge, queue::Queue},
};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A report to a connection.
#[derive(Debug)]
pub(super) enum Message {
    /// A command that waited for others of its host may begin.
    Begin(Box<Begin>, OwnedSemaphorePermit),
    /// A namespace answered.
    Done(Done),
    /// No command of the host's lost queues is in progress any more (or, `false`, some took too long): a Connect goes on.
    Settled(Box<Held>, bool),
}

/// A command that waits for others of its host to end. Nothing of it has begun, so it is dropped with its connection.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) command: Command,
    pub(super) work: Work,
    pub(super) data: Vec<u8>,
    pub(super) charge: Option<Charge>,
    /// Keeps the connection's place, since its memory is of the connection's share.
    pub(super) queue: Arc<Queue>,
}

/// A command that a namespace answered.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) command: Command,
    pub(super) outcome: Result<Vec<u8>, CommandError>,
    pub(super) charge: Option<Charge>,
}

/// A Connect that waits.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) command: Command,
    pub(super) request: Request,
}
