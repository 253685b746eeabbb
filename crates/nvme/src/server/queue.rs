//! A queue: a connection after its Connect.

use super::{controller::Controller, hosts::Place};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

/// A queue that a connection is. The commands that began on it keep it, and with it the connection's place.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) controller: Arc<Controller>,
    /// 0 is the admin queue.
    pub(crate) id: u16,
    /// Entries.
    pub(crate) entries: u16,
    /// Whether the host follows the head of its submission queue.
    pub(crate) flow_control: bool,
    /// Keep-alive timeout asked for, in milliseconds.
    pub(crate) keep_alive: u32,
    /// Of which generation of the controller's queues it is.
    pub(crate) generation: u64,
    /// Commands that may change blocks and that a namespace works on.
    pub(crate) changes: AtomicU64,
    /// Whether its connection has ended.
    pub(crate) gone: AtomicBool,
    /// The connection's place among those of its host.
    pub(crate) place: Place,
}
