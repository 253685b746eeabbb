//! The target: serves namespaces to hosts over TCP.
//!
//! A [`Subsystem`] holds the namespaces and the state that all connections share. A [`Target`] listens for connections. Each
//! connection is one task: it reads PDUs, starts commands, and writes all ready responses at once. A command that a
//! namespace cannot answer at once runs in a task that is separate, to its end, whatever becomes of its connection.

mod admin;
mod config;
mod connection;
mod controller;
mod error;
mod error_log;
mod events;
mod handshake;
mod hosts;
mod io;
mod limits;
mod memory;
mod metrics;
mod notice;
mod queue;
mod registry;
mod serve;
mod settle;
mod subsystem;
mod throttle;

pub use config::{HostAccess, NamespaceConfig, SubsystemConfig};
pub use error::TargetError;
pub use limits::Limits;
pub use metrics::TargetMetrics;
pub use serve::Target;
pub use subsystem::Subsystem;
