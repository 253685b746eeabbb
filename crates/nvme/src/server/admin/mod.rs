//! Admin and fabrics commands after Connect.

mod features;
mod identify;
mod logs;

use super::{controller::Controller, events::Events, queue::Queue, subsystem::Subsystem};
use crate::{
    CommandError, Status,
    command::{Command, admin, fabrics},
    fabrics::{Capabilities, Configuration, Property, VERSION, property},
    features::id,
    identify::ControllerKind,
};
use std::{collections::VecDeque, net::SocketAddr, sync::Arc, time::Duration};
use tokio::time::Instant;

/// State of an admin queue that no other queue needs.
#[derive(Debug)]
pub(crate) struct Admin {
    subsystem: Arc<Subsystem>,
    queue: Arc<Queue>,
    local: SocketAddr,
    values: features::Values,
    pub(crate) events: Events,
    /// Keep-alive timeout in milliseconds; 0 for none.
    keep_alive: u32,
    /// When it was last shown that the host lives.
    alive: Instant,
}

/// How a command went, apart from errors.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Dwords 0 and 1 of the completion.
    pub(crate) result: u64,
    /// Data for the host.
    pub(crate) data: Vec<u8>,
    /// The command is answered later.
    pub(crate) held: bool,
    /// Requests for events that end now, because the controller was reset.
    pub(crate) ended: VecDeque<u16>,
}

impl Reply {
    const fn of(result: u64) -> Self {
        Self { result, data: Vec::new(), held: false, ended: VecDeque::new() }
    }

    const fn data(data: Vec<u8>) -> Self {
        Self { result: 0, data, held: false, ended: VecDeque::new() }
    }
}

fn refuse<T>(status: Status, detail: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::new(status.do_not_retry(), detail))
}

impl Admin {
    pub(crate) fn new(subsystem: Arc<Subsystem>, queue: Arc<Queue>, local: SocketAddr) -> Self {
        let keep_alive = queue.keep_alive;
        let (values, events) = Default::default();
        Self { subsystem, queue, local, values, events, keep_alive, alive: Instant::now() }
    }

    fn controller(&self) -> &Controller {
        &self.queue.controller
    }

    /// Bytes of data to the host that a command asks for. More than one command moves is refused.
    pub(crate) fn data_bytes(&self, command: &Command) -> Result<usize, CommandError> {
        let most = self.subsystem.limits().max_transfer_bytes;
        let bytes = match command.opcode {
            admin::IDENTIFY => crate::identify::IDENTIFY_BYTES,
            admin::GET_LOG_PAGE => {
                let length = crate::log::LogRequest::of(command).length;
                usize::try_from(length).unwrap_or(usize::MAX)
            }
            admin::GET_FEATURES if command.dwords[0] as u8 == id::HOST_IDENTIFIER => 16,
            _ => 0,
        };
        if bytes > most {
            return refuse(Status::INVALID_FIELD, format!("one command moves at most {most} bytes, not {bytes}"));
        }
        Ok(bytes)
    }

    /// Runs a command.
    pub(crate) fn run(&mut self, command: &Command) -> Result<Reply, CommandError> {
        self.check_state(command)?;
        if command.flags & 3 != 0 {
            return refuse(Status::INVALID_FIELD, "there are no fused commands");
        }
        let io = self.controller().kind == ControllerKind::Io;
        match command.opcode {
            fabrics::OPCODE => self.fabrics(command),
            admin::IDENTIFY => self.identify(command).map(Reply::data),
            admin::GET_LOG_PAGE => self.log_page(command).map(Reply::data),
            admin::KEEP_ALIVE => {
                self.alive = Instant::now();
                Ok(Reply::default())
            }
            admin::SET_FEATURES => self.set_feature(command).map(Reply::of),
            admin::GET_FEATURES => self.get_feature(command),
            admin::ASYNC_EVENT_REQUEST => match self.events.request(command.id) {
                true => Ok(Reply { held: true, ..Reply::default() }),
                false => refuse(Status::EVENT_REQUEST_LIMIT_EXCEEDED, "4 requests wait already"),
            },
            // Not aborted, which is always allowed.
            admin::ABORT if io => Ok(Reply::of(1)),
            opcode => refuse(Status::INVALID_OPCODE, format!("no admin command has the opcode {opcode:02x}h")),
        }
    }

    /// Before the controller is enabled and after its shutdown, only fabrics commands and Keep Alive go.
    fn check_state(&self, command: &Command) -> Result<(), CommandError> {
        if self.controller().is_ready() || matches!(command.opcode, fabrics::OPCODE | admin::KEEP_ALIVE) {
            return Ok(());
        }
        let what = if self.controller().is_shut_down() { "shut down" } else { "not enabled" };
        Err(CommandError::new(Status::COMMAND_SEQUENCE_ERROR, format!("the controller is {what}")))
    }

    fn fabrics(&mut self, command: &Command) -> Result<Reply, CommandError> {
        match command.fabrics_type() {
            fabrics::PROPERTY_GET | fabrics::PROPERTY_SET => {
                let Some(property) = Property::of(command) else {
                    return refuse(Status::INVALID_FIELD, "a property has 4 or 8 bytes");
                };
                match property.value {
                    Some(value) => self.set_property(&property, value),
                    None => self.get_property(&property),
                }
            }
            fabrics::DISCONNECT => refuse(Status::INVALID_QUEUE_TYPE, "only I/O queues are disconnected"),
            kind => refuse(Status::INVALID_OPCODE, format!("no fabrics command here has the type {kind:02x}h")),
        }
    }

    fn get_property(&self, given: &Property) -> Result<Reply, CommandError> {
        let depth = self.subsystem.limits().queue_depth;
        // Enabling and disabling take no time; the timeout is the least that can be said.
        let capabilities = Capabilities { max_queue: depth - 1, timeout: 1 };
        let value = match (given.offset, given.wide) {
            (property::CAPABILITIES, true) => capabilities.bits(),
            (property::VERSION, false) => u64::from(VERSION),
            (property::CONFIGURATION, false) => u64::from(self.controller().configuration().0),
            (property::STATUS, false) => u64::from(self.controller().status().0),
            (offset, wide) => return no_property(offset, wide),
        };
        Ok(Reply::of(value))
    }

    fn set_property(&mut self, given: &Property, value: u64) -> Result<Reply, CommandError> {
        if (given.offset, given.wide) != (property::CONFIGURATION, false) {
            return no_property(given.offset, given.wide);
        }
        let new = Configuration(value as u32);
        if new.enabled() && !self.controller().configuration().enabled() {
            if new.command_set() != 0 || new.page_size() != 0 || new.arbitration() != 0 {
                return refuse(Status::INVALID_FIELD, "the command set is NVM, pages have 4,096 bytes, round robin");
            }
            let sizes = (new.submission_entry(), new.completion_entry());
            if self.controller().kind == ControllerKind::Io && sizes != (6, 4) {
                return refuse(Status::INVALID_FIELD, "queue entries have 64 and 16 bytes");
            }
        }
        let mut reply = Reply::default();
        if self.controller().configure(new) {
            if self.queue.place.shares.may_log() {
                tracing::info!(controller = self.controller().id, "controller reset");
            }
            self.values = features::Values::default();
            self.controller().grant(self.subsystem.limits().max_queues);
            reply.ended = self.events.reset();
        }
        Ok(reply)
    }

    /// When to look whether the host lives.
    pub(crate) fn keep_alive_deadline(&self) -> Instant {
        self.alive + self.keep_alive_time()
    }

    /// Whether the host has not shown in time that it lives.
    pub(crate) fn keep_alive_expired(&mut self, now: Instant) -> bool {
        // Without a timeout, any command shows it.
        let active = self.controller().active.swap(false, std::sync::atomic::Ordering::Relaxed);
        if self.keep_alive == 0 && active {
            self.alive = now;
        }
        now >= self.keep_alive_deadline()
    }

    fn keep_alive_time(&self) -> Duration {
        let limits = self.subsystem.limits();
        match (self.keep_alive, self.controller().kind) {
            (0, ControllerKind::Io) => limits.max_keep_alive,
            // The specification's time for hosts that discover and stay.
            (0, ControllerKind::Discovery) => limits.max_keep_alive.min(Duration::from_secs(120)),
            // Whole seconds, the granularity that Identify tells.
            (milliseconds, _) => Duration::from_secs(u64::from(milliseconds).div_ceil(1000)),
        }
    }
}

fn no_property<T>(offset: u32, wide: bool) -> Result<T, CommandError> {
    let bytes = if wide { 8 } else { 4 };
    refuse(Status::INVALID_FIELD, format!("no property of {bytes} bytes is at {offset:#x} for this"))
}
