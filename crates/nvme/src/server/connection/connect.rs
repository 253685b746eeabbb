//! Connect: how a connection becomes a queue.

use super::{
    message::{Held, Message},
    state::Connection,
};
use crate::{
    CommandError, Status,
    command::Command,
    fabrics::Connect,
    identify::ControllerKind,
    server::{admin::Admin, handshake::ConnectError},
};

/// Connects that are refused on one connection before it ends.
const MAX_REFUSED: u32 = 16;

impl<S> Connection<S> {
    pub(super) fn connect(&mut self, command: &Command, connect: &Connect, data: &[u8]) {
        let request = match self.registration.judge(connect, data) {
            Ok(request) => request,
            Err(refused) => return self.refuse_connect(command, &refused),
        };
        let host = request.host();
        let held = Held { command: *command, request };
        if held.request.kind != ControllerKind::Io || self.subsystem.is_settled(&host) {
            return self.enter(held);
        }
        tracing::debug!(host = host.nqn, "Connect waits for commands of queues that the host lost");
        self.held += 1;
        self.registration.wait();
        let (subsystem, outbox) = (self.subsystem.clone(), self.outbox.clone());
        tokio::spawn(async move {
            tokio::select! {
                // Nobody waits for the answer any more.
                () = outbox.closed() => {}
                settled = subsystem.settled(&host) => {
                    let _ = outbox.send(Message::Settled(Box::new(held), settled));
                }
            }
        });
    }

    /// A Connect need not wait any more.
    pub(super) fn on_settled(&mut self, held: Held, settled: bool) {
        self.held -= 1;
        if settled {
            return self.enter(held);
        }
        let detail = "commands of queues that the host lost are still in progress";
        let error = CommandError::new(Status::CONNECT_CONTROLLER_BUSY, detail);
        self.refuse_connect(&held.command, &ConnectError { error, result: 0 });
    }

    fn refuse_connect(&mut self, command: &Command, refused: &ConnectError) {
        // Hosts that are refused close. To close at once could hide the answer: Linux heeds the end of the stream first.
        self.refused += 1;
        self.closing |= self.refused >= MAX_REFUSED;
        let completion = self.failure(command, &refused.error, refused.result);
        self.ids.remove(command.id);
        self.out.respond(completion);
    }

    fn enter(&mut self, held: Held) {
        let Held { command, request } = held;
        match self.registration.connect(request) {
            Ok(queue) => {
                self.entries = queue.entries;
                self.head = if self.entries > 1 { 1 } else { 0 };
                let (id, host) = (queue.controller.id, &queue.controller.host().nqn);
                if queue.place.shares.may_log() {
                    tracing::info!(host, controller = id, queue = queue.id, "queue connected");
                }
                if queue.id == 0 {
                    let admin = Admin::new(self.subsystem.clone(), queue.clone(), self.local);
                    self.keep_alive.as_mut().reset(admin.keep_alive_deadline());
                    self.admin = Some(admin);
                }
                self.queue = Some(queue);
                self.complete(&command, u64::from(id));
            }
            Err(refused) => self.refuse_connect(&command, &refused),
        }
    }
}
