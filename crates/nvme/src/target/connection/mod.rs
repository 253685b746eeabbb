//! A connection: one task that reads units, starts commands and writes what is ready.

mod ages;
mod connect;
mod end;
mod execute;
mod ids;
mod receive;
mod run;
mod send;
mod sgl;
mod transfer;
mod units;

pub(crate) use connect::Held;
pub(crate) use run::{Begin, Done};

use super::{
    admin::Admin,
    handshake::{Queue, Registration},
    memory::Share,
    subsystem::Subsystem,
};
use crate::pdu::Layout;
use ages::Ages;
use end::End;
use execute::Waiting;
use ids::Ids;
use receive::Receiver;
use send::Out;
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{
        OwnedSemaphorePermit,
        mpsc::{self, UnboundedReceiver, UnboundedSender},
    },
    time::{Instant, Sleep, sleep},
};
use transfer::Transfers;
use units::Step;

/// Bytes of headers and responses that may wait while more units are read.
const SMALL_BOUND: usize = 64 << 10;
/// Bytes of everything that may wait while more commands are started.
const QUEUED_BOUND: usize = 1 << 20;
/// Bytes that are written before more units are looked at: a host that has sent many commands works on the first answers
/// while the others are made.
const EAGER: usize = 32 << 10;
/// Commands before Connect: itself, maybe another try.
const UNCONNECTED_ENTRIES: u16 = 2;

/// What others tell a connection.
#[derive(Debug)]
pub(crate) enum Message {
    /// A command that waited for others of its host may begin.
    Begin(Box<Begin>, OwnedSemaphorePermit),
    /// A namespace answered.
    Done(Done),
    /// Nothing of the host's lost queues is under way any more (or, `false`, for too long): a Connect goes on.
    Settled(Box<Held>, bool),
    /// A namespace changed.
    NamespaceChanged(u32),
    /// Take no more I/O commands; let go of this when those under way are answered. Stay: a host that loses one of its
    /// connections gives up the others, with the answers that are still to come.
    Drain(mpsc::Sender<()>),
    /// End when all is said.
    Finish,
    /// End now; why.
    Close(&'static str),
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
    /// Commands that a namespace works on, or that wait for others of their host.
    running: usize,
    /// Commands of Connect that wait for what is left of lost queues.
    held: usize,
    /// Commands of Connect that were refused.
    refused: u32,
    /// A capsule waits for memory.
    starved: bool,
    /// Whether units wait until something was written.
    eager: bool,
    /// Bytes that wait from which on something is written first.
    write_from: usize,
    /// Its target stops: an I/O queue takes no more commands, an admin queue goes on until all are answered.
    draining: bool,
    /// Held while something is to be answered before the target may close its connections.
    unanswered: Option<mpsc::Sender<()>>,
    /// Ends when all is said.
    closing: bool,
    tick: Pin<Box<Sleep>>,
    ticking: bool,
    keep_alive: Pin<Box<Sleep>>,
    ages: Ages,
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

    /// Serves until the connection ends, and closes it.
    pub(crate) async fn run(mut self) {
        let end = match self.serve().await {
            Ok(()) => End::Finished,
            Err(end) => end,
        };
        self.report(&end);
        // Neither the controller nor what commands hold outlives the decision, however slowly the last words go.
        self.registration.leave();
        if let End::Protocol(fatal) = &end {
            self.out.terminate(fatal.error, fatal.information, &fatal.quote);
        }
        if matches!(end, End::Finished | End::Protocol(_)) {
            self.last_words().await;
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        loop {
            while let Ok(message) = self.inbox.try_recv() {
                self.on_message(message)?;
            }
            self.starved = false;
            self.eager = false;
            while self.may_start() {
                if self.out.queued() >= self.write_from {
                    self.eager = true;
                    break;
                }
                match self.step()? {
                    Step::Went => {}
                    Step::Bytes => break,
                    Step::Memory => {
                        self.starved = true;
                        break;
                    }
                }
            }
            if self.takes_commands() {
                self.admit();
            }
            if self.all_said() {
                self.unanswered = None;
                if self.closing {
                    return Ok(());
                }
            }
            match poll_fn(|cx| self.poll(cx)).await? {
                Woken::Moved => {}
                Woken::Message(message) => self.on_message(message)?,
                Woken::Tick => self.on_tick()?,
                Woken::KeepAlive => self.on_keep_alive()?,
            }
        }
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
        self.write_from = self.out.queued() + EAGER;
        if self.eager {
            return Poll::Ready(Ok(Woken::Moved));
        }
        // What was written may let commands go on, or the connection end.
        if self.may_start() != could_start
            || (self.closing || self.unanswered.is_some()) && self.all_said()
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

    fn on_message(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Begin(begin, permit) => self.on_begin(*begin, permit),
            Message::Done(done) => self.on_done(done),
            Message::Settled(held, settled) => self.on_settled(*held, settled),
            Message::NamespaceChanged(nsid) => {
                if let Some(admin) = &mut self.admin {
                    admin.events.namespace_changed(nsid);
                }
                self.tell_events();
            }
            Message::Drain(unanswered) => {
                self.draining = true;
                self.unanswered = Some(unanswered);
            }
            Message::Finish => self.closing = true,
            // Who ends anyway says first what is to say.
            Message::Close(_) if self.closing => {}
            Message::Close(why) => return Err(End::Told(why)),
        }
        Ok(())
    }
}

impl<S> Connection<S> {
    /// Whether another unit may be looked at. What waits to be written is bounded, so a host that takes no responses
    /// stalls itself and nobody else.
    fn may_start(&self) -> bool {
        self.takes_commands() && self.out.small() < SMALL_BOUND && self.out.queued() < QUEUED_BOUND
    }

    fn takes_commands(&self) -> bool {
        !(self.closing || self.draining && self.queue.as_ref().is_some_and(|queue| queue.id > 0))
    }

    /// Nothing is under way and nothing is left to write.
    fn all_said(&self) -> bool {
        self.running == 0 && self.out.is_empty()
    }
}
