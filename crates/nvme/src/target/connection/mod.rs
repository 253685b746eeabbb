//! A connection: one task that reads units, starts commands and writes what is ready.

mod execute;
mod ids;
mod receive;
mod send;
mod transfer;
mod units;

pub(crate) use execute::{Done, Held};

use super::{
    admin::Admin,
    handshake::{Queue, Registration},
    memory::Share,
    subsystem::Subsystem,
};
use crate::pdu::{FatalError, Layout};
use execute::Waiting;
use ids::Ids;
use receive::Receiver;
use send::Out;
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
    time::{Instant, Sleep, sleep},
};
use transfer::Transfers;
use units::Step;

/// Bytes of headers and responses that may wait while more units are read.
const SMALL_BOUND: usize = 64 << 10;
/// Bytes of everything that may wait while more commands are started.
const QUEUED_BOUND: usize = 1 << 20;
/// Commands before Connect: itself, maybe another try.
const UNCONNECTED_ENTRIES: u16 = 2;
/// How long the last words may take to get to the host.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What others tell a connection.
#[derive(Debug)]
pub(crate) enum Message {
    /// A namespace answered.
    Done(Done),
    /// Nothing of the host's lost queues is under way any more (or, `false`, for too long): a Connect goes on.
    Settled(Box<Held>, bool),
    /// A namespace changed.
    NamespaceChanged(u32),
    /// Take no more commands, answer those under way, and end.
    Drain,
    /// End now; why.
    Close(&'static str),
}

/// The host broke the protocol.
#[derive(Debug)]
struct Fatal {
    error: FatalError,
    information: u32,
    what: String,
    quote: Vec<u8>,
}

/// Why a connection ends.
#[derive(Debug)]
enum End {
    /// The host closed it, or it broke.
    Gone,
    /// All was said.
    Finished,
    Told(&'static str),
    Timeout(&'static str),
    KeepAlive,
    /// The host ended it on an error of ours.
    Terminated,
    Protocol(Fatal),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        tracing::debug!(%error, "connection broke");
        Self::Gone
    }
}

/// What a connection waited for.
enum Woken {
    /// Bytes came or went.
    Moved,
    Message(Message),
    Tick,
    KeepAlive,
}

#[derive(Debug)]
pub(crate) struct Connection<S> {
    subsystem: Arc<Subsystem>,
    registration: Registration,
    stream: S,
    local: SocketAddr,
    outbox: UnboundedSender<Message>,
    inbox: UnboundedReceiver<Message>,
    receiver: Receiver,
    out: Out,
    /// How units of the host are laid out.
    host_layout: Layout,
    initialized: bool,
    queue: Option<Arc<Queue>>,
    admin: Option<Admin>,
    share: Arc<Share>,
    ids: Ids,
    entries: u16,
    head: u16,
    waiting: VecDeque<Waiting>,
    transfers: Transfers,
    /// Commands that a namespace works on.
    running: usize,
    /// Commands of Connect that wait for what is left of lost queues.
    held: usize,
    /// A capsule waits for memory.
    starved: bool,
    /// Ends when all is said.
    closing: bool,
    tick: Pin<Box<Sleep>>,
    ticking: bool,
    keep_alive: Pin<Box<Sleep>>,
    ages: Ages,
}

/// Ticks without progress.
#[derive(Debug, Default)]
struct Ages {
    handshake: u32,
    unit: u32,
    units: u64,
    response: u32,
    written: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(
        subsystem: Arc<Subsystem>,
        registration: Registration,
        stream: S,
        local: SocketAddr,
        outbox: UnboundedSender<Message>,
        inbox: UnboundedReceiver<Message>,
    ) -> Self {
        let share = subsystem.pool.share();
        Self {
            subsystem,
            registration,
            stream,
            local,
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
            starved: false,
            closing: false,
            tick: Box::pin(sleep(Duration::ZERO)),
            ticking: false,
            keep_alive: Box::pin(sleep(Duration::ZERO)),
            ages: Ages::default(),
        }
    }

    /// Serves until the connection ends, and closes it.
    pub(crate) async fn run(mut self) {
        let end = match self.serve().await {
            Ok(()) => End::Finished,
            Err(end) => end,
        };
        self.report(&end);
        let polite = matches!(end, End::Finished | End::Protocol(_));
        if let End::Protocol(fatal) = &end {
            self.out.terminate(fatal.error, fatal.information, &fatal.quote);
        }
        let Self { mut stream, mut out, registration, inbox, receiver, waiting, transfers, .. } = self;
        // Neither the controller nor what commands hold outlives the decision, however slowly the last words go.
        drop((registration, inbox, receiver, waiting, transfers));
        if polite {
            let last_words = async {
                while !out.is_empty() {
                    poll_fn(|cx| out.poll_write(cx, &mut stream)).await?;
                }
                stream.shutdown().await?;
                // Closing with unread bytes resets the connection, and what was said last could be lost.
                let mut rest = [0; 4096];
                while stream.read(&mut rest).await? > 0 {}
                io::Result::Ok(())
            };
            let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
        }
    }

    fn report(&self, end: &End) {
        let counters = &self.subsystem.counters;
        let host = self.queue.as_ref().map_or("", |queue| &queue.controller.host.nqn);
        match end {
            End::Gone | End::Finished | End::Terminated => tracing::debug!(host, ?end, "connection ended"),
            End::Told(why) => tracing::info!(host, why, "connection ended"),
            End::Timeout(what) => {
                counters.timeouts.fetch_add(1, Relaxed);
                tracing::info!(host, what, "connection ended: the host was too slow");
            }
            End::KeepAlive => {
                counters.keep_alive_expiries.fetch_add(1, Relaxed);
                tracing::warn!(host, "controller ended: no sign of life within the keep-alive timeout");
            }
            End::Protocol(fatal) => {
                counters.protocol_errors.fetch_add(1, Relaxed);
                // Whoever has no queue may be anybody, and could fill the log.
                match self.queue {
                    Some(_) => tracing::info!(host, error = ?fatal.error, what = fatal.what, "protocol error"),
                    None => tracing::debug!(error = ?fatal.error, what = fatal.what, "protocol error before Connect"),
                }
            }
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        loop {
            while let Ok(message) = self.inbox.try_recv() {
                self.on_message(message)?;
            }
            self.starved = false;
            while self.may_start() {
                match self.step()? {
                    Step::Went => {}
                    Step::Bytes => break,
                    Step::Memory => {
                        self.starved = true;
                        break;
                    }
                }
            }
            if !self.closing {
                self.admit();
            }
            if self.closing && self.running == 0 && self.out.is_empty() {
                return Ok(());
            }
            match poll_fn(|cx| self.poll(cx)).await? {
                Woken::Moved => {}
                Woken::Message(message) => self.on_message(message)?,
                Woken::Tick => self.on_tick()?,
                Woken::KeepAlive => self.on_keep_alive()?,
            }
        }
    }

    /// Whether another unit may be looked at. What waits to be written is bounded, so a host that takes no responses
    /// stalls itself and nobody else.
    fn may_start(&self) -> bool {
        !self.closing && self.out.small() < SMALL_BOUND && self.out.queued() < QUEUED_BOUND
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Woken, End>> {
        if let Poll::Ready(Some(message)) = self.inbox.poll_recv(cx) {
            return Poll::Ready(Ok(Woken::Message(message)));
        }
        let could_start = self.may_start();
        let mut wrote = false;
        while !self.out.is_empty() {
            match self.out.poll_write(cx, &mut self.stream) {
                Poll::Ready(Ok(())) => wrote = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => break,
            }
        }
        // What was written may let commands go on, or the connection end.
        if self.may_start() != could_start
            || self.closing && self.running == 0 && self.out.is_empty()
            || wrote && (self.starved || !self.waiting.is_empty())
        {
            return Poll::Ready(Ok(Woken::Moved));
        }
        if self.may_start() && !self.starved {
            match self.receiver.poll_read(cx, &mut self.stream) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(End::Gone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Woken::Moved)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => {}
            }
        }
        if self.admin.is_some() && self.keep_alive.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(Woken::KeepAlive));
        }
        if !self.ticking && self.has_deadlines() {
            self.ticking = true;
            let next = Instant::now() + self.subsystem.limits().tick();
            self.tick.as_mut().reset(next);
        }
        if self.ticking && self.tick.as_mut().poll(cx).is_ready() {
            self.ticking = false;
            return Poll::Ready(Ok(Woken::Tick));
        }
        Poll::Pending
    }

    fn has_deadlines(&self) -> bool {
        self.queue.is_none() || self.receiver.mid_unit() || !self.out.is_empty() || !self.transfers.is_empty()
    }

    fn on_message(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Done(done) => self.on_done(done),
            Message::Settled(held, settled) => self.on_settled(*held, settled),
            Message::NamespaceChanged(nsid) => {
                if let Some(admin) = &mut self.admin {
                    admin.events.namespace_changed(nsid);
                }
                self.tell_events();
            }
            Message::Drain => self.closing = true,
            // Who ends anyway says first what is to say.
            Message::Close(_) if self.closing => {}
            Message::Close(why) => return Err(End::Told(why)),
        }
        Ok(())
    }

    fn on_tick(&mut self) -> Result<(), End> {
        let limits = self.subsystem.limits();
        let late = |age: u32, most: Duration| limits.tick() * age >= most;
        let ages = &mut self.ages;
        // A Connect that waits for this side is not late.
        if self.queue.is_none() && self.held == 0 {
            ages.handshake += 1;
            if late(ages.handshake, limits.handshake_timeout) {
                return Err(End::Timeout("Connect"));
            }
        }
        // A unit that waits for this side is not late.
        let waits = self.receiver.mid_unit() && !self.starved && !self.closing && self.out.is_empty();
        ages.unit = if waits && ages.units == self.receiver.units { ages.unit + 1 } else { 0 };
        ages.units = self.receiver.units;
        if late(ages.unit, limits.pdu_timeout) {
            return Err(End::Timeout("a unit"));
        }
        ages.response = if !self.out.is_empty() && ages.written == self.out.written { ages.response + 1 } else { 0 };
        ages.written = self.out.written;
        if late(ages.response, limits.response_timeout) {
            return Err(End::Timeout("taking responses"));
        }
        if late(self.transfers.age(), limits.transfer_timeout) {
            return Err(End::Timeout("the data of a command"));
        }
        Ok(())
    }

    fn on_keep_alive(&mut self) -> Result<(), End> {
        let Some(admin) = &mut self.admin else { return Ok(()) };
        if admin.keep_alive_expired(Instant::now()) {
            return Err(End::KeepAlive);
        }
        let deadline = admin.keep_alive_deadline();
        self.keep_alive.as_mut().reset(deadline);
        Ok(())
    }
}
