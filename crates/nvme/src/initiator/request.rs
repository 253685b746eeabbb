//! A command on its way from a caller to a connection and back.

use super::error::InitiatorError;
use crate::{command::Command, status::Status};
use bytes::Bytes;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

/// The data of a command.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// None.
    None,
    /// To the target.
    Out(Bytes),
    /// From the target: how many bytes at most, and whether it must be exactly as many.
    In {
        /// Bytes.
        length: usize,
        /// Whether fewer are an error.
        exact: bool,
    },
}

impl Payload {
    /// Bytes to the target.
    pub(super) fn out(&self) -> Option<&Bytes> {
        match self {
            Self::Out(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Bytes that the target may send.
    pub(super) const fn room(&self) -> usize {
        match self {
            Self::In { length, .. } => *length,
            _ => 0,
        }
    }

    /// Bytes that the target must send, if the count is fixed.
    pub(super) const fn exact(&self) -> Option<usize> {
        match self {
            Self::In { length, exact: true } => Some(*length),
            _ => None,
        }
    }
}

/// The response of a target.
#[derive(Debug)]
pub(super) struct Reply {
    /// How the command ended.
    pub(super) status: Status,
    /// Dwords 0 and 1 of the completion.
    pub(super) result: u64,
    /// The data that it read.
    pub(super) data: Vec<u8>,
    /// The queue that carried it and its identifier there, to find it in the error log.
    pub(super) place: (u16, u16),
}

pub(super) type Outcome = Result<Reply, InitiatorError>;

/// A command with everything needed to send it, once or again.
#[derive(Debug)]
pub(super) struct Request {
    /// The entry, without identifier and data pointer.
    pub(super) command: Command,
    /// Its data.
    pub(super) payload: Payload,
    /// When it is too late; none for a command that waits for an event.
    pub(super) deadline: Option<Instant>,
    /// Whether it may be sent again on a new connection after it was sent on one that broke.
    pub(super) repeatable: bool,
    /// How often its data came with a wrong digest.
    pub(super) damaged: u32,
    /// The order of the calls, which requests that are sent again keep.
    pub(super) order: u64,
    /// Where the answer goes, until it went.
    pub(super) reply: Option<oneshot::Sender<Outcome>>,
    /// Its place among all commands; free when the request is dropped.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl Request {
    /// Whether anyone still waits and there is still time.
    pub(super) fn is_wanted(&self, now: Instant) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
            && self.deadline.is_none_or(|deadline| deadline > now)
    }

    /// Answers; the permit and the data of the request stay until it is dropped.
    pub(super) fn answer(&mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            // Whoever asked may be gone.
            let _ = reply.send(outcome);
        }
    }

    /// Answers and drops.
    pub(super) fn finish(mut self, outcome: Outcome) {
        self.answer(outcome);
    }
}
