//! A controller: the state that its admin queue and its I/O queues share.

use super::{
    config::Offered,
    error_log::ErrorLog,
    hosts::HostRecord,
    notice::{Notice, Notices},
};
use crate::{
    Caller, CommandError, Host,
    fabrics::{Configuration, ControllerStatus},
    identify::ControllerKind,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

/// A controller; it belongs to one host and lives as long as its admin connection.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) id: u16,
    pub(crate) kind: ControllerKind,
    pub(crate) caller: Arc<Caller>,
    /// The namespaces that its host may see. This set never changes.
    pub(crate) namespaces: BTreeMap<u32, Arc<Offered>>,
    /// The counts of its host.
    pub(crate) record: Arc<HostRecord>,
    admin: Notices,
    state: Mutex<State>,
    errors: Mutex<ErrorLog>,
    ready: AtomicBool,
    /// Whether a command came since this was last looked at.
    pub(crate) active: AtomicBool,
    /// Commands that a namespace works on.
    pub(crate) under_way: AtomicU64,
}

#[derive(Debug)]
struct State {
    configuration: Configuration,
    shutdown: bool,
    /// I/O queues that the host may have.
    granted: u16,
    /// How often all I/O queues were ended.
    generation: u64,
    queues: BTreeMap<u16, Notices>,
}

/// Why an I/O queue cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueError {
    /// The controller is not enabled.
    NotReady,
    /// The host may not have so many.
    TooMany,
    /// There is one with this number.
    InUse,
}

impl Controller {
    pub(crate) fn new(
        id: u16,
        kind: ControllerKind,
        caller: Arc<Caller>,
        namespaces: BTreeMap<u32, Arc<Offered>>,
        record: Arc<HostRecord>,
        admin: Notices,
        granted: u16,
    ) -> Self {
        let state = State {
            configuration: Configuration::default(),
            shutdown: false,
            granted,
            generation: 0,
            queues: BTreeMap::new(),
        };
        Self {
            id,
            kind,
            caller,
            namespaces,
            record,
            admin,
            state: Mutex::new(state),
            errors: Mutex::new(ErrorLog::default()),
            ready: AtomicBool::new(false),
            active: AtomicBool::new(false),
            under_way: AtomicU64::new(0),
        }
    }

    /// Its host.
    pub(crate) fn host(&self) -> &Host {
        &self.caller.host
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn errors(&self) -> MutexGuard<'_, ErrorLog> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether commands are taken: enabled, and not shut down.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Relaxed)
    }

    /// The Controller Configuration.
    pub(crate) fn configuration(&self) -> Configuration {
        self.state().configuration
    }

    /// The Controller Status.
    pub(crate) fn status(&self) -> ControllerStatus {
        let state = self.state();
        let ready = if state.configuration.enabled() { ControllerStatus::READY } else { 0 };
        let shutdown = match (state.shutdown, self.under_way.load(Relaxed)) {
            (false, _) => 0,
            (true, 0) => ControllerStatus::SHUTDOWN_COMPLETE,
            // Shutdown occurs.
            (true, _) => 1 << 2,
        };
        ControllerStatus(ready | shutdown)
    }

    /// Whether the host said that it shuts down.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.state().shutdown
    }

    /// Sets the Controller Configuration; whether that resets the controller.
    pub(crate) fn configure(&self, new: Configuration) -> bool {
        let mut state = self.state();
        let reset = state.configuration.enabled() && !new.enabled();
        let enabled = !state.configuration.enabled() && new.enabled();
        state.configuration = new;
        if reset || enabled {
            state.shutdown = false;
        }
        state.shutdown |= new.shutdown() != 0;
        self.ready.store(new.enabled() && !state.shutdown, Relaxed);
        if reset {
            state.generation += 1;
            for queue in std::mem::take(&mut state.queues).into_values() {
                let _ = queue.send(Notice::Close("its controller was reset"));
            }
        }
        reset
    }

    /// Grants I/O queues; `false` if there are some already.
    pub(crate) fn grant(&self, queues: u16) -> bool {
        let mut state = self.state();
        let none = state.queues.is_empty();
        if none {
            state.granted = queues;
        }
        none
    }

    /// I/O queues that the host may have.
    pub(crate) fn granted(&self) -> u16 {
        self.state().granted
    }

    /// How often all I/O queues were ended: a queue of an earlier generation is not one of the controller any more.
    pub(crate) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// A new I/O queue; its generation.
    pub(crate) fn add_queue(&self, queue: u16, notices: Notices) -> Result<u64, QueueError> {
        let mut state = self.state();
        if !state.configuration.enabled() || state.shutdown {
            return Err(QueueError::NotReady);
        }
        if queue > state.granted {
            return Err(QueueError::TooMany);
        }
        if state.queues.contains_key(&queue) {
            return Err(QueueError::InUse);
        }
        state.queues.insert(queue, notices);
        Ok(state.generation)
    }

    /// The I/O queue with this way to it has ended.
    pub(crate) fn remove_queue(&self, queue: u16, notices: &Notices) {
        let mut state = self.state();
        if state.queues.get(&queue).is_some_and(|registered| registered.same_channel(notices)) {
            state.queues.remove(&queue);
        }
    }

    /// The admin connection has ended: so do the others.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        if state.configuration.enabled() && !state.shutdown && self.kind == ControllerKind::Io {
            self.record.unsafe_shutdowns.fetch_add(1, Relaxed);
        }
        self.ready.store(false, Relaxed);
        state.configuration = Configuration::default();
        state.generation += 1;
        for queue in std::mem::take(&mut state.queues).into_values() {
            let _ = queue.send(Notice::Close("its controller has ended"));
        }
    }

    pub(crate) fn tell_admin(&self, notice: Notice) {
        let _ = self.admin.send(notice);
    }

    /// Logs a failed command.
    pub(crate) fn log(&self, queue: u16, command: u16, nsid: u32, error: &CommandError) {
        self.errors().add(queue, command, nsid, error);
    }
}
