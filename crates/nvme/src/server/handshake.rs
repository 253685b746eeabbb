//! Connect: the rules for new queues.

use super::{
    controller::{Controller, QueueError},
    notice::{Notice, Notices},
    queue::Queue,
    subsystem::Subsystem,
};
use crate::{
    Account, Caller, CommandError, Host, Status,
    fabrics::{Connect, ConnectData, DISCOVERY_NQN, DYNAMIC_CONTROLLER, InvalidParameter, is_nqn},
    identify::ControllerKind,
};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// A connection in the tables, until it is dropped: when its stream is closed.
#[derive(Debug)]
pub(crate) struct Registration {
    subsystem: Arc<Subsystem>,
    number: u64,
    /// The source address of the connection.
    peer: IpAddr,
    notices: Notices,
    queue: Option<Arc<Queue>>,
    /// Whether it ever was a queue.
    connected: bool,
}

/// A Connect found right.
#[derive(Debug)]
pub(crate) struct Request {
    connect: Connect,
    data: ConnectData,
    pub(crate) kind: ControllerKind,
}

impl Request {
    /// The host that it names.
    pub(crate) fn host(&self) -> Host {
        Host { nqn: self.data.host.clone(), id: self.data.host_id }
    }
}

/// Why a Connect failed: the error, and the result of its completion.
#[derive(Debug)]
pub(crate) struct ConnectError {
    pub(crate) error: CommandError,
    pub(crate) result: u64,
}

fn refused(status: Status, detail: impl Into<String>) -> ConnectError {
    ConnectError { error: CommandError::new(status, detail), result: 0 }
}

fn invalid(offset: u16, in_data: bool, detail: impl Into<String>) -> ConnectError {
    let error = CommandError::new(Status::CONNECT_INVALID_PARAMETERS.do_not_retry(), detail);
    ConnectError { error, result: InvalidParameter { offset, in_data }.result() }
}

/// Offsets in the command of Connect.
const QUEUE_OFFSET: u16 = 42;
const SIZE_OFFSET: u16 = 44;
const ATTRIBUTES_OFFSET: u16 = 46;

impl Registration {
    /// Registers a connection from this address; `None` when its source has its share of connections before Connect.
    pub(crate) fn new(subsystem: Arc<Subsystem>, peer: IpAddr, notices: Notices) -> Option<Self> {
        let opened = subsystem.registry().open(notices.clone(), &Account::source(peer), subsystem.limits());
        let Some((number, pushed)) = opened else {
            subsystem.counters.handshakes_refused.fetch_add(1, Relaxed);
            tracing::debug!(%peer, "refused: its source has its share of connections before Connect");
            return None;
        };
        subsystem.counters.connections.fetch_add(1, Relaxed);
        if let Some(pushed) = pushed {
            let _ = pushed.send(Notice::Close("newer connections came before its Connect"));
        }
        Some(Self { subsystem, number, peer, notices, queue: None, connected: false })
    }

    /// A Connect was found right and waits for this side: no newcomer takes the place of its connection.
    pub(crate) fn wait(&self) {
        if let Some(handshake) = self.subsystem.registry().handshakes.get_mut(&self.number) {
            handshake.waits = true;
        }
    }

    /// Judges a Connect as far as it can be before the tables are looked at.
    pub(crate) fn judge(&self, connect: &Connect, data: &[u8]) -> Result<Request, ConnectError> {
        let limits = self.subsystem.limits();
        if self.queue.is_some() {
            let status = Status::COMMAND_SEQUENCE_ERROR.do_not_retry();
            return Err(refused(status, "the connection is a queue already"));
        }
        if connect.format != 0 {
            let detail = format!("the record format is 0, not {}", connect.format);
            return Err(refused(Status::CONNECT_INCOMPATIBLE_FORMAT.do_not_retry(), detail));
        }
        if connect.size == 0 || connect.size >= limits.queue_depth {
            let detail =
                format!("a queue has 2 to {} entries, not {}", limits.queue_depth, u32::from(connect.size) + 1);
            return Err(invalid(SIZE_OFFSET, false, detail));
        }
        if connect.attributes & !0b1111 != 0 {
            return Err(invalid(ATTRIBUTES_OFFSET, false, "the attributes are bits 0 to 3"));
        }
        let data = ConnectData::decode(data).map_err(|error| {
            let offset = match error {
                crate::RecordError::Text { offset, .. } => offset as u16,
                crate::RecordError::Short { .. } => 0,
            };
            invalid(offset, true, error.to_string())
        })?;
        if !is_nqn(&data.host) {
            return Err(invalid(ConnectData::HOST_OFFSET, true, "the host's name is not an NVMe qualified name"));
        }
        // Before the subsystem's name: whoever may not connect does not learn it, neither by trying nor by discovery.
        if !self.subsystem.hosts.allows(&data.host) {
            // Anybody can cause this, as often as it likes.
            if let Some(held_back) = self.subsystem.refusals.pass() {
                tracing::warn!(host = data.host, held_back, "a host that may not connect was refused");
            }
            let detail = format!("host {} may not connect", data.host);
            return Err(refused(Status::CONNECT_INVALID_HOST.do_not_retry(), detail));
        }
        let kind = if data.subsystem == DISCOVERY_NQN {
            ControllerKind::Discovery
        } else if data.subsystem == self.subsystem.config.nqn {
            ControllerKind::Io
        } else {
            return Err(invalid(ConnectData::SUBSYSTEM_OFFSET, true, "no subsystem has this name"));
        };
        Ok(Request { connect: *connect, data, kind })
    }

    /// Makes the connection a queue.
    pub(crate) fn connect(&mut self, request: Request) -> Result<Arc<Queue>, ConnectError> {
        if self.queue.is_some() {
            let status = Status::COMMAND_SEQUENCE_ERROR.do_not_retry();
            return Err(refused(status, "the connection is a queue already"));
        }
        let queue = self.enter(request)?;
        self.queue = Some(queue.clone());
        self.connected = true;
        Ok(queue)
    }

    /// Puts the connection into the tables as a queue.
    fn enter(&self, request: Request) -> Result<Arc<Queue>, ConnectError> {
        let Request { connect, data, kind } = request;
        let limits = self.subsystem.limits();
        let mut registry = self.subsystem.registry();
        if !registry.handshakes.contains_key(&self.number) {
            return Err(refused(Status::CONNECT_CONTROLLER_BUSY, "newer connections came before its Connect"));
        }
        let account = self.subsystem.places.account(&data.host, self.peer);
        let place = self.subsystem.places.enter(&data.host, &account).map_err(|full| {
            self.subsystem.counters.shares_refused.fetch_add(1, Relaxed);
            refused(Status::CONNECT_CONTROLLER_BUSY, full)
        })?;
        let (controller, generation) = if connect.queue == 0 {
            if data.controller != DYNAMIC_CONTROLLER {
                let detail = "controllers are dynamic: the identifier asked for must be ffffh";
                return Err(invalid(ConnectData::CONTROLLER_OFFSET, true, detail));
            }
            if Duration::from_millis(connect.keep_alive.into()) > limits.max_keep_alive {
                let detail = format!("the keep-alive timeout is at most {} s", limits.max_keep_alive.as_secs());
                return Err(refused(Status::KEEP_ALIVE_INVALID.do_not_retry(), detail));
            }
            let Some(id) = registry.free_controller() else {
                return Err(refused(Status::CONNECT_CONTROLLER_BUSY, "no controller identifier is free"));
            };
            let host = Host { nqn: data.host.clone(), id: data.host_id };
            let visible = self.subsystem.visible(&host.nqn);
            let record = place.record.clone();
            let caller = Arc::new(Caller { host, account });
            let controller =
                Controller::new(id, kind, caller, visible, record, self.notices.clone(), limits.max_queues);
            let controller = Arc::new(controller);
            registry.controllers.insert(id, controller.clone());
            (controller, 0)
        } else {
            let controller = registry.controllers.get(&data.controller).cloned();
            let Some(controller) = controller.filter(|controller| controller.kind == kind) else {
                return Err(invalid(ConnectData::CONTROLLER_OFFSET, true, "no controller has this identifier"));
            };
            if controller.host().nqn != data.host {
                return Err(invalid(ConnectData::HOST_OFFSET, true, "the controller belongs to another host"));
            }
            if controller.host().id != data.host_id {
                return Err(invalid(ConnectData::HOST_ID_OFFSET, true, "the host identifier is another than before"));
            }
            if kind == ControllerKind::Discovery {
                return Err(invalid(QUEUE_OFFSET, false, "a discovery controller has an admin queue only"));
            }
            let added = controller.add_queue(connect.queue, self.notices.clone()).map_err(|error| match error {
                QueueError::NotReady => refused(Status::COMMAND_SEQUENCE_ERROR, "the controller is not enabled"),
                QueueError::InUse => refused(Status::COMMAND_SEQUENCE_ERROR, "the queue exists already"),
                QueueError::TooMany => invalid(QUEUE_OFFSET, false, "the controller has fewer queues"),
            });
            (controller, added?)
        };
        registry.handshakes.remove(&self.number);
        let queue = Arc::new(Queue {
            controller,
            id: connect.queue,
            entries: connect.size + 1,
            flow_control: connect.attributes & Connect::NO_FLOW_CONTROL == 0,
            keep_alive: connect.keep_alive,
            generation,
            changes: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            place,
        });
        if queue.id > 0 {
            registry.queues.insert(self.number, queue.clone());
        }
        Ok(queue)
    }
}

impl Registration {
    /// The connection is over, even if its last words are still to be said: nothing begins on its queue any more, and with
    /// an admin queue its controller ends.
    pub(crate) fn leave(&mut self) {
        let Some(queue) = self.queue.take() else {
            if let Some(handshake) = self.subsystem.registry().handshakes.get_mut(&self.number) {
                handshake.ended = true;
            }
            return;
        };
        queue.place.leave();
        let mut registry = self.subsystem.registry();
        if queue.id == 0 {
            registry.controllers.remove(&queue.controller.id);
            queue.controller.end();
        } else {
            queue.controller.remove_queue(queue.id, &self.notices);
            registry.queues.remove(&self.number);
            registry.lose(&queue);
            self.subsystem.settled.notify_waiters();
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.leave();
        let mut registry = self.subsystem.registry();
        registry.connections.remove(&self.number);
        registry.handshakes.remove(&self.number);
        if !self.connected {
            self.subsystem.counters.refused.fetch_add(1, Relaxed);
        }
    }
}
