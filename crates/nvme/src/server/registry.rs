//! Tables of connections and controllers.

use super::{
    controller::Controller,
    notice::{Notice, Notices},
    queue::Queue,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The present connections, queues and controllers. Connection numbers ascend and are never used twice.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    next: u64,
    /// All connections.
    pub(crate) connections: BTreeMap<u64, Notices>,
    /// Those before Connect, the oldest first; also connections that ended without one and are not closed yet.
    pub(crate) handshakes: BTreeSet<u64>,
    /// Controllers by identifier.
    pub(crate) controllers: BTreeMap<u16, Arc<Controller>>,
    /// I/O queues by their connections.
    pub(crate) queues: BTreeMap<u64, Arc<Queue>>,
    /// I/O queues whose connections are gone while commands that may change blocks were in progress.
    pub(crate) lost: Vec<Arc<Queue>>,
    last_controller: u16,
    /// The target stops: a new connection gets the notice at once.
    pub(crate) draining: bool,
}

/// The greatest controller identifier that may be given.
const MAX_CONTROLLER: u16 = 0xffef;

impl Registry {
    /// A new connection; and the connection that it pushes out, if more than `most` would be before Connect.
    pub(crate) fn open(&mut self, notices: Notices, most: usize) -> (u64, Option<Notices>) {
        let number = self.next;
        self.next += 1;
        let oldest = if self.handshakes.len() >= most { self.handshakes.pop_first() } else { None };
        let pushed = oldest.and_then(|oldest| self.connections.get(&oldest).cloned());
        if self.draining {
            let _ = notices.send(Notice::Finish);
        }
        self.connections.insert(number, notices);
        self.handshakes.insert(number);
        (number, pushed)
    }

    /// An identifier that no controller has. There are more of them than there can be connections, as each controller
    /// has one; without any, `None`.
    pub(crate) fn free_controller(&mut self) -> Option<u16> {
        for _ in 0..MAX_CONTROLLER {
            self.last_controller = if self.last_controller >= MAX_CONTROLLER { 1 } else { self.last_controller + 1 };
            if !self.controllers.contains_key(&self.last_controller) {
                return Some(self.last_controller);
            }
        }
        None
    }
}
