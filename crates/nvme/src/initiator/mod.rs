//! A host in user space: connects to a controller over TCP, and stays connected.
//!
//! [`Controller::connect`] sets up the admin queue and the I/O queues, each on its own connection, which one task
//! serves. [`RemoteNamespace`] reads and writes. [`blocking`] is the same for callers without a runtime, [`discover`] asks
//! a target what it has.
//!
//! - A command has a deadline, which counts from the call. When it passes, the call fails with
//!   [`InitiatorError::TimedOut`]. The command's identifier is not used again before the late response
//!   came. The connection counts as dead, and is made again, in two cases: the late response takes as long as a command
//!   may take, or nothing came on the connection since the command was sent.
//! - A lost connection ends the whole session: all connections are closed, and after a wait made again. Commands that were
//!   in progress, or came meanwhile, are sent again, until their deadline. That is right for reading and writing blocks, which
//!   do the same when they are done twice; a vendor's command is sent again only if the caller says so.
//! - Before anything is sent on a new session, the subsystem, its serial number and the namespaces in use are compared with
//!   the earlier ones. If they differ, all commands fail with [`InitiatorError::Identity`], and the controller stays down.
//! - Every PDU of a target is checked against the request; an error ends the connection with a typed
//!   [`ProtocolError`]. Memory is bounded by the number of commands in progress and their own buffers.

mod admin;
mod attend;
pub mod blocking;
mod call;
mod config;
mod connection;
mod controller;
mod discovery;
mod error;
mod inbound;
mod large;
mod namespace;
mod open;
mod outbound;
mod queue;
mod request;
mod session;
mod shared;
mod slots;
mod supervisor;

pub use config::{InitiatorConfig, Reconnect};
pub use controller::{Controller, ErrorReport};
pub use discovery::discover;
pub use error::{InitiatorError, ProtocolError};
pub use namespace::RemoteNamespace;
