//! I/O commands: when they begin, and what becomes of them when their connection ends.

use super::{
    message::{Begin, Done, Message},
    state::Connection,
};
use crate::{
    CommandError, Status,
    command::Command,
    server::{
        io::{Started, Work},
        memory::Charge,
        queue::Queue,
        subsystem::Subsystem,
    },
};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::{OwnedSemaphorePermit, mpsc::UnboundedSender};

/// A command that a namespace works on. It reports when it is dropped, so also when the namespace panics.
#[derive(Debug)]
struct UnderWay {
    subsystem: Arc<Subsystem>,
    queue: Arc<Queue>,
    /// Whether it may change blocks.
    changes: bool,
    outbox: UnboundedSender<Message>,
    command: Command,
    charge: Option<Charge>,
    outcome: Option<Result<Vec<u8>, CommandError>>,
    /// Dropped, another command of the host may begin.
    _permit: OwnedSemaphorePermit,
}

impl UnderWay {
    fn answered(&mut self, outcome: Result<Vec<u8>, CommandError>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let failed = || Err(CommandError::new(Status::INTERNAL_ERROR, "the namespace gave no answer"));
        let outcome = self.outcome.take().unwrap_or_else(failed);
        self.queue.controller.under_way.fetch_sub(1, Relaxed);
        if self.changes {
            self.subsystem.change_ended(&self.queue);
        }
        let done = Done { command: self.command, outcome, charge: self.charge.take() };
        // A connection that has ended wants to know nothing; what the command held is given back either way.
        let _ = self.outbox.send(Message::Done(done));
        self.subsystem.command_ended();
    }
}

impl<S> Connection<S> {
    /// An I/O command has all it needs: it begins, unless its host has as many in progress as it may.
    pub(super) fn start_io(&mut self, command: Command, work: Work, data: Vec<u8>, charge: Option<Charge>) {
        let Some(queue) = self.queue.clone() else { return };
        let permit = queue.place.shares.try_begin();
        let begin = Begin { command, work, data, charge, queue };
        self.running += 1;
        match permit {
            Some(permit) => self.on_begin(begin, permit),
            None => self.wait_to_begin(begin),
        }
    }

    fn wait_to_begin(&self, begin: Begin) {
        let (outbox, shares) = (self.outbox.clone(), begin.queue.place.shares.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = outbox.closed() => {}
                Some(permit) = shares.begin() => {
                    let _ = outbox.send(Message::Begin(Box::new(begin), permit));
                }
            }
        });
    }

    /// A command begins.
    pub(super) fn on_begin(&mut self, begin: Begin, permit: OwnedSemaphorePermit) {
        let Begin { command, work, data, charge, queue } = begin;
        // It may have waited: for its data, for memory, or for others of its host.
        if !queue.controller.is_ready() {
            self.running -= 1;
            let error = CommandError::new(Status::COMMAND_SEQUENCE_ERROR, "the controller is shut down");
            return self.finish(&command, Err(error), charge);
        }
        let changes = work.may_change();
        match work.start(&self.subsystem, &queue.controller, data) {
            Started::Ready(outcome) => {
                self.running -= 1;
                self.finish(&command, outcome, charge);
            }
            Started::Running(running) => {
                self.subsystem.command_begun();
                queue.controller.under_way.fetch_add(1, Relaxed);
                if changes {
                    queue.change_begun();
                }
                let (subsystem, outbox) = (self.subsystem.clone(), self.outbox.clone());
                let mut under_way =
                    UnderWay { subsystem, queue, changes, outbox, command, charge, outcome: None, _permit: permit };
                tokio::spawn(async move {
                    let outcome = running.wait().await;
                    under_way.answered(outcome);
                });
            }
        }
    }

    /// A namespace answered.
    pub(super) fn on_done(&mut self, done: Done) {
        self.running -= 1;
        self.finish(&done.command, done.outcome, done.charge);
    }
}
