//! The receiving side of a connection: PDUs, parsed as their bytes come. Data go from the socket to the command's buffer;
//! data that arrived together with a header are copied once. Memory is bounded: one fixed buffer, and the commands' own.

use super::{error::ProtocolError, slots::Slots};
use crate::{
    command::Completion,
    pdu::{COMMON_BYTES, DIGEST_BYTES, Frame, Header, Layout, MAX_QUOTE_BYTES, PduType, Transfer},
};
use bytes::BufMut;
use std::{
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

const BUFFER_BYTES: usize = 64 << 10;
/// After a PDU with at least this much data, only little is read ahead: the next PDU's data then go straight to their place.
const LARGE_BYTES: usize = 32 << 10;
const LITTLE_BYTES: usize = 512;
/// The bound that is put to a data PDU before it is known which command it is for; that bound is exact.
const UNIT_BYTES: usize = 1 << 30;

/// Something that concerns a command.
#[derive(Debug)]
pub(super) enum Event {
    /// Its completion.
    Completed(Completion),
    /// All data of a PDU are in its buffer, and that was its completion.
    Succeeded(u16),
    /// The target requests some of its data.
    Ready(Transfer),
}

#[derive(Debug)]
enum State {
    /// At the beginning of a PDU.
    Header,
    /// Within the data of a PDU.
    Data { id: u16, left: usize, digest: Option<u32>, succeeded: bool },
    /// All data have arrived, their digest follows.
    Digest { id: u16, digest: u32, succeeded: bool },
}

#[derive(Debug)]
pub(super) struct Inbound {
    layout: Layout,
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    state: State,
    last_large: bool,
    queue: u16,
    /// The header of the PDU that is taken apart, to be quoted if it is wrong.
    quote: [u8; MAX_QUOTE_BYTES],
    quoted: usize,
}

impl Inbound {
    pub(super) fn new(layout: Layout, queue: u16) -> Self {
        Self {
            layout,
            buffer: vec![0; BUFFER_BYTES].into(),
            begin: 0,
            end: 0,
            state: State::Header,
            last_large: false,
            queue,
            quote: [0; MAX_QUOTE_BYTES],
            quoted: 0,
        }
    }

    /// The header of the last PDU.
    pub(super) fn quote(&self) -> &[u8] {
        self.quote.get(..self.quoted).unwrap_or_default()
    }

    fn available(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// The next event among the received bytes; `None` when more must be read.
    pub(super) fn next(&mut self, slots: &mut Slots) -> Result<Option<Event>, ProtocolError> {
        loop {
            match self.state {
                State::Header => {
                    let Some(common) = self.available().first_chunk::<COMMON_BYTES>() else { return Ok(None) };
                    let common = *common;
                    self.note(&common);
                    let frame = Frame::parse(&common, &self.layout, UNIT_BYTES)?;
                    let mut count = COMMON_BYTES + frame.before_data();
                    if matches!(frame.kind, PduType::HostTermination | PduType::ControllerTermination) {
                        // What it quotes is our own.
                        count += frame.data;
                    }
                    let Some(bytes) = self.available().get(..count) else { return Ok(None) };
                    let header = frame.header(bytes);
                    let mut quote = [0; MAX_QUOTE_BYTES];
                    let quoted = frame.header.min(MAX_QUOTE_BYTES);
                    quote[..quoted].copy_from_slice(&bytes[..quoted]);
                    self.note(&quote[..quoted]);
                    let header = header?;
                    self.begin += count;
                    if let Some(event) = self.unit(&frame, &header, slots)? {
                        return Ok(Some(event));
                    }
                }
                State::Data { id, left, digest, succeeded } => {
                    let count = left.min(self.end - self.begin);
                    let flight = slots.get(id).ok_or(ProtocolError::UnknownCommand { queue: self.queue, id })?;
                    let bytes = self.buffer.get(self.begin..self.begin + count).unwrap_or_default();
                    flight.data.extend_from_slice(bytes);
                    let digest = digest.map(|digest| crc32c::crc32c_append(digest, bytes));
                    self.begin += count;
                    if let Some(event) = self.data_came(id, left - count, digest, succeeded) {
                        return Ok(Some(event));
                    }
                    if left > count {
                        return Ok(None);
                    }
                }
                State::Digest { id, digest, succeeded } => {
                    let Some(stored) = self.available().first_chunk::<DIGEST_BYTES>() else { return Ok(None) };
                    let right = u32::from_le_bytes(*stored) == digest;
                    self.begin += DIGEST_BYTES;
                    let flight = slots.get(id).ok_or(ProtocolError::UnknownCommand { queue: self.queue, id })?;
                    flight.damaged |= !right;
                    self.state = State::Header;
                    if succeeded {
                        return Ok(Some(Event::Succeeded(id)));
                    }
                }
            }
        }
    }

    fn note(&mut self, bytes: &[u8]) {
        self.quoted = bytes.len().min(MAX_QUOTE_BYTES);
        self.quote[..self.quoted].copy_from_slice(&bytes[..self.quoted]);
    }

    /// A whole header.
    fn unit(&mut self, frame: &Frame, header: &Header, slots: &mut Slots) -> Result<Option<Event>, ProtocolError> {
        match *header {
            Header::Response(completion) => Ok(Some(Event::Completed(completion))),
            Header::ReadyToTransfer(transfer) => Ok(Some(Event::Ready(transfer))),
            Header::ControllerData(transfer) => self.data_begins(frame, &transfer, slots),
            Header::Termination { from_host: false, error, information } => {
                Err(ProtocolError::Terminated { error, information })
            }
            _ => Err(ProtocolError::Unexpected { kind: frame.kind }),
        }
    }

    fn data_begins(
        &mut self,
        frame: &Frame,
        transfer: &Transfer,
        slots: &mut Slots,
    ) -> Result<Option<Event>, ProtocolError> {
        let Transfer { command: id, offset, length, .. } = *transfer;
        let flight = slots.get(id).ok_or(ProtocolError::UnknownCommand { queue: self.queue, id })?;
        if u32::try_from(frame.data) != Ok(length) {
            return Err(ProtocolError::DataLength { unit: frame.data, header: length });
        }
        let (expected, room) = (flight.data.len(), flight.request.payload.room());
        // In order and without a gap, so that a count says which bytes are there.
        if u32::try_from(expected) != Ok(offset) || frame.data > room.saturating_sub(expected) {
            return Err(ProtocolError::DataRange { id, offset, length, expected, room });
        }
        if frame.is_success() && !frame.is_last() {
            return Err(ProtocolError::SuccessBeforeLast { id });
        }
        self.last_large = frame.data >= LARGE_BYTES;
        let digest = (frame.data_digest > 0).then_some(0);
        let succeeded = frame.is_success();
        if frame.data == 0 {
            return Ok(succeeded.then_some(Event::Succeeded(id)));
        }
        self.state = State::Data { id, left: frame.data, digest, succeeded };
        Ok(None)
    }

    fn data_came(&mut self, id: u16, left: usize, digest: Option<u32>, succeeded: bool) -> Option<Event> {
        self.state = match (left, digest) {
            (0, None) => State::Header,
            (0, Some(digest)) => State::Digest { id, digest, succeeded },
            _ => State::Data { id, left, digest, succeeded },
        };
        (left == 0 && digest.is_none() && succeeded).then_some(Event::Succeeded(id))
    }

    /// Reads once from the socket; gives how many bytes came, 0 at its end.
    pub(super) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut (impl AsyncRead + Unpin),
        slots: &mut Slots,
    ) -> Poll<io::Result<usize>> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if let State::Data { id, left, digest, succeeded } = self.state
                && left > LITTLE_BYTES
                && let Some(flight) = slots.get(id)
            {
                let before = flight.data.len();
                // The rest fits into the capacity that was reserved for the command.
                let count = {
                    let mut target = (&mut flight.data).limit(left);
                    ready!(pin!(stream.read_buf(&mut target)).poll(cx))?
                };
                let bytes = flight.data.get(before..).unwrap_or_default();
                let digest = digest.map(|digest| crc32c::crc32c_append(digest, bytes));
                self.state = State::Data { id, left: left - count, digest, succeeded };
                return Poll::Ready(Ok(count));
            }
        } else if self.begin > 0 && self.buffer.len() - self.end < LITTLE_BYTES {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let most = if self.last_large { LITTLE_BYTES } else { BUFFER_BYTES };
        let end = self.buffer.len().min(self.end + most);
        let mut target = ReadBuf::new(self.buffer.get_mut(self.end..end).unwrap_or_default());
        ready!(Pin::new(stream).poll_read(cx, &mut target))?;
        let count = target.filled().len();
        self.end += count;
        Poll::Ready(Ok(count))
    }
}
