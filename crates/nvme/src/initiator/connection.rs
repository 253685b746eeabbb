//! One connection: a socket, the commands in progress on it, and the loop that serves both ways.

use super::{
    error::{InitiatorError, ProtocolError},
    inbound::{Event, Inbound},
    outbound::{Outbound, Sending},
    queue::Queue,
    request::{Reply, Request},
    slots::{Flight, Slots},
};
use crate::{
    command::Completion,
    pdu::{FatalError, Header, Transfer},
    status::Status,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, Sleep, sleep_until, timeout},
};

/// How often data are asked for again that came with a wrong digest.
const DAMAGED_ATTEMPTS: u32 = 3;
/// Rounds of the loop before other tasks get their turn.
const ROUNDS: usize = 64;
/// How long the last words of a connection may take.
const GOODBYE: Duration = Duration::from_millis(100);

/// Where a connection takes requests from: queues with the lane that is its own, the more urgent first.
pub(super) type Sources<'a> = &'a [(&'a Queue, usize)];

/// A connection after its opening PDUs.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    address: Arc<str>,
    queue_id: u16,
    max_r2t: u32,
    /// How long the answer to a command may come late before the connection counts as dead.
    grace: Duration,
    inbound: Inbound,
    outbound: Outbound,
    slots: Slots,
    /// Requests to send once more, because the response was damaged.
    again: VecDeque<(usize, Request)>,
    /// Commands by source that ended since the last report to the queues.
    finished: [usize; 2],
    timer: Pin<Box<Sleep>>,
    armed: Option<Instant>,
    received: Instant,
}

/// The parts of a connection.
#[derive(Debug)]
pub(super) struct Parts<S> {
    pub(super) stream: S,
    pub(super) address: Arc<str>,
    pub(super) queue_id: u16,
    pub(super) slots: usize,
    pub(super) max_r2t: u32,
    pub(super) grace: Duration,
    pub(super) sending: Sending,
    pub(super) receiving: crate::pdu::Layout,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(parts: Parts<S>) -> Self {
        let now = Instant::now();
        Self {
            stream: parts.stream,
            address: parts.address,
            queue_id: parts.queue_id,
            max_r2t: parts.max_r2t,
            grace: parts.grace,
            inbound: Inbound::new(parts.receiving, parts.queue_id),
            outbound: Outbound::new(parts.sending),
            slots: Slots::new(parts.slots),
            again: VecDeque::new(),
            finished: [0; 2],
            timer: Box::pin(sleep_until(now)),
            armed: None,
            received: now,
        }
    }

    /// The most data of a command capsule, once the controller has reported it.
    pub(super) fn set_in_capsule(&mut self, bytes: usize) {
        self.outbound.set_in_capsule(bytes);
    }

    /// Serves until the connection ends; gives why. Dropped, it can be called again: nothing is lost.
    pub(super) async fn run(&mut self, sources: Sources<'_>) -> InitiatorError {
        let error = poll_fn(|cx| self.poll(cx, sources)).await;
        if let InitiatorError::Protocol { error, .. } = &error {
            // A target that has gone, or does not read, is not waited for long.
            let _ = timeout(GOODBYE, self.terminate(error)).await;
        }
        error
    }

    async fn terminate(&mut self, error: &ProtocolError) {
        let (fatal, information) = match error {
            ProtocolError::Terminated { .. } => return,
            ProtocolError::Unit(error) => error.fatal(),
            ProtocolError::Unexpected { .. } | ProtocolError::UnknownCommand { .. } => (FatalError::SequenceError, 0),
            ProtocolError::TooManyReady { .. } => (FatalError::LimitExceeded, 0),
            ProtocolError::DataLength { .. } => (FatalError::InvalidHeaderField, 16),
            ProtocolError::DataRange { .. } | ProtocolError::ReadyRange { .. } => (FatalError::DataOutOfRange, 0),
            ProtocolError::SuccessBeforeLast { .. } => (FatalError::InvalidHeaderField, 1),
            _ => (FatalError::SequenceError, 0),
        };
        let header = Header::Termination { from_host: true, error: fatal as u16, information };
        let quote = Bytes::copy_from_slice(self.inbound.quote());
        self.outbound.unit(&header, quote, false);
        let _ = poll_fn(|cx| self.outbound.poll_write(cx, &mut self.stream)).await;
    }

    /// Ends it; returns the requests that another connection can send again, each with its source. The rest is answered
    /// with `cause`.
    pub(super) fn into_requests(mut self, cause: &InitiatorError) -> Vec<(usize, Request)> {
        let now = Instant::now();
        let mut requests: Vec<_> = self.again.drain(..).collect();
        for flight in self.slots.drain() {
            let Flight { source, request, quarantined, .. } = flight;
            if quarantined || !request.is_wanted(now) {
                continue;
            }
            if request.repeatable {
                requests.push((source, request));
            } else {
                request.finish(Err(InitiatorError::Interrupted { cause: Box::new(cause.clone()) }));
            }
        }
        requests
    }

    fn poll(&mut self, cx: &mut Context<'_>, sources: Sources<'_>) -> Poll<InitiatorError> {
        let mut idle = false;
        for _ in 0..ROUNDS {
            match self.round(cx, sources) {
                Ok(true) => {}
                Ok(false) => {
                    idle = true;
                    break;
                }
                Err(error) => return Poll::Ready(error),
            }
        }
        for ((queue, lane), finished) in sources.iter().zip(&mut self.finished) {
            if *finished > 0 {
                queue.finished(*lane, std::mem::take(finished));
            }
        }
        if !idle {
            cx.waker().wake_by_ref();
        }
        match self.poll_timer(cx) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(error),
        }
    }

    /// Reads the available bytes, then sends waiting PDUs; returns whether anything moved. If nothing did, the task is
    /// woken by the socket or by a queue.
    fn round(&mut self, cx: &mut Context<'_>, sources: Sources<'_>) -> Result<bool, InitiatorError> {
        let mut done = false;
        match self.inbound.poll_fill(cx, &mut self.stream, &mut self.slots) {
            Poll::Pending => {}
            Poll::Ready(Ok(0)) => {
                return Err(InitiatorError::io(&self.address, std::io::ErrorKind::UnexpectedEof.into()));
            }
            Poll::Ready(Ok(_)) => {
                done = true;
                self.received = Instant::now();
                while let Some(event) = self.inbound.next(&mut self.slots).map_err(|e| self.protocol(e))? {
                    self.event(event).map_err(|e| self.protocol(e))?;
                }
            }
            Poll::Ready(Err(error)) => return Err(InitiatorError::io(&self.address, error)),
        }
        done |= self.gather(cx, sources);
        if self.outbound.has_pending() {
            match self.outbound.poll_write(cx, &mut self.stream) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => done = true,
                Poll::Ready(Err(error)) => return Err(InitiatorError::io(&self.address, error)),
            }
        }
        Ok(done)
    }

    fn protocol(&self, error: ProtocolError) -> InitiatorError {
        InitiatorError::protocol(&self.address, error)
    }

    /// Puts commands and owed data in, until the outbox is full: commands first, so that a small one does not wait for a
    /// large one's data.
    fn gather(&mut self, cx: &Context<'_>, sources: Sources<'_>) -> bool {
        let mut now = None;
        let mut done = false;
        while !self.outbound.is_full() {
            if self.slots.has_free()
                && let Some((source, request)) = self.again.pop_front().or_else(|| next_request(cx, sources))
            {
                done = true;
                self.start(source, request, *now.get_or_insert_with(Instant::now));
            } else if let Some(served) = self.outbound.serve() {
                done = true;
                if let Some(flight) = served.and_then(|id| self.slots.get(id)) {
                    flight.open_requests = flight.open_requests.saturating_sub(1);
                }
            } else {
                break;
            }
        }
        done
    }

    fn start(&mut self, source: usize, request: Request, now: Instant) {
        if !request.is_wanted(now) {
            self.end(source);
            return;
        }
        let (command, room) = (request.command, request.payload.room());
        let out = request.payload.out().cloned();
        match self.slots.insert(source, request, now) {
            Ok(id) => {
                let within = self.outbound.command(command, id, out.as_ref(), room);
                if let Some(flight) = self.slots.get(id) {
                    flight.asked = within;
                }
            }
            Err(request) => self.again.push_back((source, *request)),
        }
    }

    fn end(&mut self, source: usize) {
        if let Some(finished) = self.finished.get_mut(source) {
            *finished += 1;
        }
    }

    fn event(&mut self, event: Event) -> Result<(), ProtocolError> {
        match event {
            Event::Ready(transfer) => self.ready(&transfer),
            Event::Succeeded(id) => self.complete(id, 0, Status::SUCCESS),
            Event::Completed(Completion { id, result, status, .. }) => self.complete(id, result, status),
        }
    }

    fn ready(&mut self, transfer: &Transfer) -> Result<(), ProtocolError> {
        let Transfer { command: id, tag, offset, length } = *transfer;
        let unknown = ProtocolError::UnknownCommand { queue: self.queue_id, id };
        let flight = self.slots.get(id).ok_or(unknown)?;
        let data = flight.request.payload.out().cloned().unwrap_or_default();
        let (asked, room) = (flight.asked, data.len());
        let range = ProtocolError::ReadyRange { id, offset, length, asked, room };
        let (begin, count) = (offset as usize, length as usize);
        let end = begin.checked_add(count).filter(|end| *end <= room).ok_or(range.clone())?;
        // In all no more than there is: what it costs to serve a command is bounded by the command.
        if count == 0 || count > room.saturating_sub(asked) {
            return Err(range);
        }
        if flight.open_requests >= self.max_r2t {
            return Err(ProtocolError::TooManyReady { id, limit: self.max_r2t });
        }
        flight.open_requests += 1;
        flight.asked += count;
        self.outbound.owe(id, tag, begin, data.slice(begin..end));
        Ok(())
    }

    fn complete(&mut self, id: u16, result: u64, status: Status) -> Result<(), ProtocolError> {
        let unknown = ProtocolError::UnknownCommand { queue: self.queue_id, id };
        let flight = self.slots.get(id).ok_or(unknown)?;
        if status.is_success() {
            let room = flight.request.payload.out().map_or(0, Bytes::len);
            if flight.asked < room || flight.open_requests > 0 {
                return Err(ProtocolError::DoneWithoutData { id, asked: flight.asked, room });
            }
        }
        let Some(Flight { source, mut request, data, damaged, quarantined, open_requests, .. }) = self.slots.remove(id)
        else {
            return Ok(());
        };
        if open_requests > 0 {
            self.outbound.forget(id);
        }
        if quarantined {
            tracing::debug!(address = %self.address, queue = self.queue_id, id, %status, "a late answer");
        } else if damaged && status.is_success() {
            request.damaged += 1;
            tracing::warn!(address = %self.address, queue = self.queue_id, id, "data with a wrong digest");
            if request.repeatable && request.damaged < DAMAGED_ATTEMPTS {
                self.again.push_back((source, request));
                return Ok(());
            }
            let attempts = request.damaged;
            request.finish(Err(InitiatorError::DataDigest { attempts }));
        } else {
            let expected = request.payload.exact();
            let place = (self.queue_id, id);
            let outcome = if status.is_success() && expected.is_some_and(|expected| expected != data.len()) {
                let (given, expected) = (data.len(), expected.unwrap_or(0));
                Err(InitiatorError::ShortData { given, expected })
            } else {
                Ok(Reply { status, result, data, place })
            };
            request.finish(outcome);
        }
        self.end(source);
        Ok(())
    }

    /// Fails commands whose deadline has passed. Their identifiers stay taken until the late answer comes; when it does
    /// not come for as long again as [`Parts::grace`], or nothing at all came since the command was sent, the connection is
    /// dead.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Result<(), InitiatorError> {
        while let Some(earliest) = self.slots.earliest() {
            if self.armed.is_none_or(|armed| earliest < armed) {
                self.timer.as_mut().reset(earliest);
                self.armed = Some(earliest);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            self.armed = None;
            let (now, grace, received) = (Instant::now(), self.grace, self.received);
            let (mut dead, address, queue) = (None, &self.address, self.queue_id);
            self.slots.expire(now, |flight| {
                let after = now.duration_since(flight.sent);
                if flight.quarantined || received < flight.sent {
                    dead = Some(after);
                }
                if !flight.quarantined {
                    tracing::warn!(%address, queue, id = flight.id, ?after, "a command was not answered in time");
                    flight.quarantined = true;
                    flight.request.answer(Err(InitiatorError::TimedOut { after }));
                }
                flight.deadline = Some(now + grace);
            });
            if let Some(after) = dead {
                return Err(InitiatorError::TimedOut { after });
            }
        }
        Ok(())
    }
}

fn next_request(cx: &Context<'_>, sources: Sources<'_>) -> Option<(usize, Request)> {
    sources.iter().enumerate().find_map(|(source, (queue, lane))| Some((source, queue.take(*lane, cx)?)))
}
