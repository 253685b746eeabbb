//! Tables of connections and controllers.

use super::{
    controller::Controller,
    limits::Limits,
    notice::{Notice, Notices},
    queue::Queue,
};
use crate::Account;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The present connections, queues and controllers. Connection numbers ascend and are never used twice.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    next: u64,
    /// All connections.
    pub(crate) connections: BTreeMap<u64, Notices>,
    /// Those before Connect, the oldest first; also connections that ended without one and are not closed yet.
    pub(crate) handshakes: BTreeMap<u64, Handshake>,
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

/// A connection before Connect.
#[derive(Debug)]
pub(crate) struct Handshake {
    source: Account,
    begun: Instant,
    /// Its Connect was found right and waits for this side.
    pub(crate) waits: bool,
    /// It has ended without a Connect and sends its last PDUs.
    pub(crate) ended: bool,
}

/// The time that a handshake has before a newcomer may take its place.
const HANDSHAKE_TIME: Duration = Duration::from_millis(100);

/// The greatest controller identifier that may be given.
const MAX_CONTROLLER: u16 = 0xffef;

impl Registry {
    /// A new connection from this source; and the connection whose place it takes. `None` when there is no place for it.
    pub(crate) fn open(
        &mut self,
        notices: Notices,
        source: &Account,
        limits: &Limits,
    ) -> Option<(u64, Option<Notices>)> {
        let place = self.place(source, limits)?;
        let number = self.next;
        self.next += 1;
        let pushed = place.and_then(|oldest| {
            self.handshakes.remove(&oldest);
            self.connections.get(&oldest).cloned()
        });
        if self.draining {
            let _ = notices.send(Notice::Finish);
        }
        self.connections.insert(number, notices);
        let handshake = Handshake { source: source.clone(), begun: Instant::now(), waits: false, ended: false };
        self.handshakes.insert(number, handshake);
        Some((number, pushed))
    }

    /// A place before Connect, and the connection that loses it. A source that has its share takes one of its own places;
    /// else, when all are taken, a newcomer takes one of the source with the most. A connection keeps its place while its
    /// Connect waits for this side, and for its first moment.
    fn place(&self, source: &Account, limits: &Limits) -> Option<Option<u64>> {
        let of = |source: &Account| self.handshakes.values().filter(|other| other.source == *source).count();
        let own = of(source);
        let loser = if own >= limits.max_handshakes_per_address {
            source
        } else if self.handshakes.len() >= limits.max_handshakes {
            let most = self.handshakes.values().map(|other| (of(&other.source), &other.source));
            most.max_by_key(|(count, _)| *count).filter(|(count, _)| *count > own).map_or(source, |(_, source)| source)
        } else {
            return Some(None);
        };
        let may_go = |other: &Handshake| other.ended || !other.waits && other.begun.elapsed() >= HANDSHAKE_TIME;
        let oldest = self.handshakes.iter().find(|(_, other)| other.source == *loser && may_go(other));
        oldest.map(|(number, _)| Some(*number))
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
