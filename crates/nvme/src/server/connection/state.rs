//! The state of a connection.

use super::{ids::Ids, job::Waiting, message::Message, receive::Receiver, send::Out, transfer::Transfers};
use crate::{
    pdu::Layout,
    server::{
        admin::Admin, handshake::Registration, memory::Share, notice::Notice, queue::Queue, subsystem::Subsystem,
    },
};
use std::{collections::VecDeque, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Sleep, sleep},
};

/// Bytes that are written before more PDUs are read: a host that has sent many commands works on the first responses
/// while the others are made.
pub(super) const EAGER: usize = 32 << 10;
/// Commands before Connect: itself, and possibly another try.
const UNCONNECTED_ENTRIES: u16 = 2;

/// Ticks without progress.
#[derive(Debug, Default)]
pub(super) struct Ages {
    pub(super) handshake: u32,
    pub(super) unit: u32,
    pub(super) units: u64,
    pub(super) response: u32,
    pub(super) written: u64,
    pub(super) transfer: u32,
    pub(super) transferred: u64,
}

#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(super) subsystem: Arc<Subsystem>,
    pub(super) registration: Registration,
    pub(super) stream: S,
    pub(super) local: SocketAddr,
    pub(super) notices: UnboundedReceiver<Notice>,
    pub(super) outbox: UnboundedSender<Message>,
    pub(super) inbox: UnboundedReceiver<Message>,
    pub(super) receiver: Receiver,
    pub(super) out: Out,
    /// How PDUs of the host are laid out.
    pub(super) host_layout: Layout,
    pub(super) initialized: bool,
    pub(super) queue: Option<Arc<Queue>>,
    pub(super) admin: Option<Admin>,
    pub(super) share: Arc<Share>,
    pub(super) ids: Ids,
    pub(super) entries: u16,
    pub(super) head: u16,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) transfers: Transfers,
    /// Commands that a namespace works on, or that wait for others of their host.
    pub(super) running: usize,
    /// Commands of Connect that wait for the remaining commands of lost queues.
    pub(super) held: usize,
    /// Commands of Connect that were refused.
    pub(super) refused: u32,
    /// A capsule waits for memory.
    pub(super) starved: bool,
    /// Whether PDUs wait until something was written.
    pub(super) eager: bool,
    /// Bytes that wait from which on something is written first.
    pub(super) write_from: usize,
    /// Its target stops: an I/O queue takes no more commands, an admin queue goes on until all are answered.
    pub(super) draining: bool,
    /// Held until every command has its response, before the target closes its connections.
    pub(super) unanswered: Option<Sender<()>>,
    /// Ends when all is said.
    pub(super) closing: bool,
    pub(super) tick: Pin<Box<Sleep>>,
    pub(super) ticking: bool,
    pub(super) keep_alive: Pin<Box<Sleep>>,
    pub(super) ages: Ages,
}

impl<S> Connection<S> {
    pub(crate) fn new(
        subsystem: Arc<Subsystem>,
        registration: Registration,
        stream: S,
        local: SocketAddr,
        notices: UnboundedReceiver<Notice>,
    ) -> Self {
        let (outbox, inbox) = unbounded_channel();
        let share = subsystem.pool.share();
        Self {
            subsystem,
            registration,
            stream,
            local,
            notices,
            outbox,
            inbox,
            receiver: Receiver::new(),
            out: Out::default(),
            host_layout: Layout::default(),
            initialized: false,
            queue: None,
            admin: None,
            share,
            ids: Ids::new(),
            entries: UNCONNECTED_ENTRIES,
            head: 0,
            waiting: VecDeque::new(),
            transfers: Transfers::default(),
            running: 0,
            held: 0,
            refused: 0,
            starved: false,
            eager: false,
            write_from: EAGER,
            draining: false,
            unanswered: None,
            closing: false,
            tick: Box::pin(sleep(Duration::ZERO)),
            ticking: false,
            keep_alive: Box::pin(sleep(Duration::ZERO)),
            ages: Ages::default(),
        }
    }
}
