//! The output queue of a connection, written in as few calls as possible.

use crate::{
    buffers,
    command::Completion,
    pdu::{FatalError, Header, Layout, Transfer},
    server::memory::Charge,
};
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncWrite;

/// Slices that one write takes.
const SLICES: usize = 64;
/// Headers and responses that are kept together.
const SMALL_BYTES: usize = 16 << 10;

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    /// Whether it is data, which nothing is appended to; else headers and responses.
    data: bool,
    /// The part of the connection's share that the data use, until they are written.
    _charge: Option<Charge>,
}

/// Units on their way out.
#[derive(Debug, Default)]
pub(crate) struct Out {
    segments: VecDeque<Segment>,
    /// Bytes of the first segment that are written.
    begun: usize,
    small: usize,
    queued: usize,
    /// Bytes ever written.
    pub(crate) written: u64,
    /// How PDUs are laid out.
    pub(crate) layout: Layout,
    spare: Option<Vec<u8>>,
}

impl Out {
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes that wait.
    pub(crate) const fn queued(&self) -> usize {
        self.queued
    }

    /// Those of them that are not data.
    pub(crate) const fn small(&self) -> usize {
        self.small
    }

    /// Appends to the headers at the end.
    fn append(&mut self, write: impl FnOnce(&Layout, &mut Vec<u8>)) {
        let fits = |segment: &Segment| !segment.data && segment.bytes.len() < SMALL_BYTES;
        if !self.segments.back().is_some_and(fits) {
            let bytes = self.spare.take().unwrap_or_default();
            self.segments.push_back(Segment { bytes, data: false, _charge: None });
        }
        if let Some(segment) = self.segments.back_mut() {
            let before = segment.bytes.len();
            write(&self.layout, &mut segment.bytes);
            let added = segment.bytes.len() - before;
            self.small += added;
            self.queued += added;
        }
    }

    /// A header without data.
    pub(crate) fn header(&mut self, header: &Header) {
        self.append(|layout, bytes| header.encode(layout, 0, false, false, bytes));
    }

    /// A completion.
    pub(crate) fn respond(&mut self, completion: Completion) {
        self.header(&Header::Response(completion));
    }

    /// All data of a command; with `success` they stand for its completion too.
    pub(crate) fn data(&mut self, command: u16, data: Vec<u8>, charge: Option<Charge>, success: bool) {
        let header = Transfer { command, tag: 0, offset: 0, length: data.len() as u32 };
        self.append(|layout, bytes| {
            Header::ControllerData(header).encode(layout, data.len(), true, success, bytes);
        });
        let digest = self.layout.digests.data.then(|| crc32c::crc32c(&data).to_le_bytes());
        self.queued += data.len();
        self.segments.push_back(Segment { bytes: data, data: true, _charge: charge });
        if let Some(digest) = digest {
            self.append(|_, bytes| bytes.extend_from_slice(&digest));
        }
    }

    /// The connection ends on an error.
    pub(crate) fn terminate(&mut self, error: FatalError, information: u32, quote: &[u8]) {
        let header = Header::Termination { from_host: false, error: error as u16, information };
        self.append(|layout, bytes| {
            header.encode(layout, quote.len(), false, false, bytes);
            bytes.extend_from_slice(quote);
        });
    }

    /// Writes once.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        let mut skip = self.begun;
        for (slice, segment) in slices.iter_mut().zip(&self.segments) {
            *slice = IoSlice::new(segment.bytes.get(skip..).unwrap_or_default());
            skip = 0;
            count += 1;
        }
        let written = ready!(Pin::new(stream).poll_write_vectored(cx, &slices[..count]))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.advance(written);
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        self.written += written as u64;
        self.queued -= written;
        let mut left = written;
        while let Some(first) = self.segments.front() {
            let rest = first.bytes.len() - self.begun;
            let taken = rest.min(left);
            if !first.data {
                self.small -= taken;
            }
            left -= taken;
            if taken < rest {
                self.begun += taken;
                return;
            }
            self.begun = 0;
            match self.segments.pop_front() {
                Some(Segment { bytes, data: true, .. }) => buffers::give_back(bytes),
                Some(Segment { mut bytes, .. }) => {
                    bytes.clear();
                    self.spare = Some(bytes);
                }
                None => {}
            }
        }
    }
}
