//! A connection: one task that reads PDUs, starts commands and writes responses.

mod ages;
mod close;
mod connect;
mod end;
mod execute;
mod ids;
mod job;
mod message;
mod pdus;
mod receive;
mod run;
mod send;
mod sgl;
mod state;
mod transfer;

pub(crate) use state::Connection;

use crate::server::notice::Notice;
use end::End;
use message::Message;
use pdus::Step;
use state::EAGER;
use std::{
    future::{Future, poll_fn},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

/// Bytes of headers and responses that may wait while more PDUs are read.
const SMALL_BOUND: usize = 64 << 10;
/// Bytes of everything that may wait while more commands are started.
const QUEUED_BOUND: usize = 1 << 20;
/// The event that a connection waited for.
enum Woken {
    /// Bytes came or went.
    Moved,
    Notice(Notice),
    Message(Message),
    Tick,
    KeepAlive,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
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
                self.on_message(message);
            }
            while let Ok(notice) = self.notices.try_recv() {
                self.on_notice(notice)?;
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
                Woken::Notice(notice) => self.on_notice(notice)?,
                Woken::Message(message) => self.on_message(message),
                Woken::Tick => self.on_tick()?,
                Woken::KeepAlive => self.on_keep_alive()?,
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Woken, End>> {
        if let Poll::Ready(Some(message)) = self.inbox.poll_recv(cx) {
            return Poll::Ready(Ok(Woken::Message(message)));
        }
        if let Poll::Ready(Some(notice)) = self.notices.poll_recv(cx) {
            return Poll::Ready(Ok(Woken::Notice(notice)));
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

    fn on_message(&mut self, message: Message) {
        match message {
            Message::Begin(begin, permit) => self.on_begin(*begin, permit),
            Message::Done(done) => self.on_done(done),
            Message::Settled(held, settled) => self.on_settled(*held, settled),
        }
    }

    fn on_notice(&mut self, notice: Notice) -> Result<(), End> {
        match notice {
            Notice::NamespaceChanged(nsid) => {
                if let Some(admin) = &mut self.admin {
                    admin.events.namespace_changed(nsid);
                }
                self.tell_events();
            }
            Notice::SpareLow => {
                if let Some(admin) = &mut self.admin {
                    admin.events.spare_low();
                }
                self.tell_events();
            }
            Notice::Drain(unanswered) => {
                self.draining = true;
                self.unanswered = Some(unanswered);
            }
            Notice::Finish => self.closing = true,
            // A connection that ends anyway first sends what remains.
            Notice::Close(_) if self.closing => {}
            Notice::Close(why) => return Err(End::Told(why)),
        }
        Ok(())
    }
}

impl<S> Connection<S> {
    /// Whether another PDU may be read. The bytes to write are bounded, so a host that reads no responses stalls only
    /// itself.
    fn may_start(&self) -> bool {
        self.takes_commands() && self.out.small() < SMALL_BOUND && self.out.queued() < QUEUED_BOUND
    }

    fn takes_commands(&self) -> bool {
        !(self.closing || self.draining && self.queue.as_ref().is_some_and(|queue| queue.id > 0))
    }

    /// Nothing is in progress and nothing remains to write.
    fn all_said(&self) -> bool {
        self.running == 0 && self.out.is_empty()
    }
}
