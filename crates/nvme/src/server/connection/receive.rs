//! Bytes that came, and the PDU that they belong to.

use crate::{
    command::Command,
    server::{limits::RECEIVE_BYTES, memory::Charge},
};
use bytes::BufMut;
use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Data that miss more bytes than this are read to their place, not through the buffer.
const DIRECT_BYTES: usize = 4096;

/// Where the data of a PDU go.
#[derive(Debug)]
pub(crate) enum Destination {
    /// To the command that they came with.
    Capsule { command: Command, charge: Charge },
    /// To the command that asked for them.
    Transfer { slot: usize },
    /// They quote a PDU of the target that the host found wrong.
    Quote { error: u16, information: u32 },
}

/// A PDU whose data are on their way.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) destination: Destination,
    /// Has room for all data of the command.
    pub(crate) data: Vec<u8>,
    /// Where those of this PDU begin.
    pub(crate) begin: usize,
    /// Bytes that miss.
    pub(crate) missing: usize,
    /// Whether a digest follows.
    pub(crate) digest: bool,
}

/// The receiving side of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    pub(crate) incoming: Option<Incoming>,
    /// Units that came whole.
    pub(crate) units: u64,
}

impl Receiver {
    pub(crate) fn new() -> Self {
        let buffer = vec![0; RECEIVE_BYTES].into_boxed_slice();
        Self { buffer, start: 0, end: 0, incoming: None, units: 0 }
    }

    /// Bytes that came and are not used.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Some of them are used.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Whether a PDU has begun and not ended.
    pub(crate) fn mid_unit(&self) -> bool {
        self.incoming.is_some() || self.start < self.end
    }

    /// Moves received bytes to the data of the PDU; returns it, and whether its digest is right, when it is whole.
    pub(crate) fn fill(&mut self) -> Option<(Incoming, bool)> {
        let available = &self.buffer[self.start..self.end];
        let incoming = self.incoming.as_mut()?;
        let moved = available.len().min(incoming.missing);
        incoming.data.extend_from_slice(&available[..moved]);
        incoming.missing -= moved;
        self.start += moved;
        if incoming.missing > 0 {
            return None;
        }
        let mut right = true;
        if incoming.digest {
            let stored = self.buffer[self.start..self.end].first_chunk::<4>()?;
            let data = incoming.data.get(incoming.begin..).unwrap_or_default();
            right = u32::from_le_bytes(*stored) == crc32c::crc32c(data);
            self.start += 4;
        }
        self.units += 1;
        self.incoming.take().map(|incoming| (incoming, right))
    }

    /// Reads once; the number of bytes, 0 at the end of the stream.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<usize>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if let Some(incoming) = self.incoming.as_mut().filter(|incoming| incoming.missing >= DIRECT_BYTES) {
                let mut limited = (&mut incoming.data).limit(incoming.missing);
                let read = ready!(pin!(stream.read_buf(&mut limited)).poll(cx))?;
                incoming.missing -= read;
                return Poll::Ready(Ok(read));
            }
        } else if self.end == self.buffer.len() {
            // The longest thing that must stand in one piece is a header, far shorter than the buffer.
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let mut buffer = ReadBuf::new(&mut self.buffer[self.end..]);
        ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
        let read = buffer.filled().len();
        self.end += read;
        Poll::Ready(Ok(read))
    }
}
