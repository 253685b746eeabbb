//! The sending side of a connection: headers gathered in one place, data by reference, written many at a time.

use crate::{
    command::{Command, FLAGS_SGL, Sgl},
    pdu::{DIGEST_BYTES, Digests, Header, Layout, Transfer},
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncWrite;

/// Above this number of bytes in the outbox, nothing more is put in: small commands do not queue behind megabytes.
const FULL_BYTES: usize = 256 << 10;
/// Data up to this size are copied next to their header: cheaper than one more piece of a vectored write.
const COPIED_BYTES: usize = 512;
/// Pieces of one vectored write.
const PIECES: usize = 64;
/// The most data of one PDU, whatever more the target would take: PDUs of other commands come between.
const UNIT_BYTES: usize = 128 << 10;

/// The layout of the PDUs of this side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Digests, and the alignment that the target asks for (CPDA).
    pub(super) layout: Layout,
    /// The most data of one H2CData (MAXH2CDATA).
    pub(super) max_data: usize,
    /// The most data in a command capsule.
    pub(super) in_capsule: usize,
}

#[derive(Debug)]
enum Piece {
    /// This number of the gathered bytes.
    Gathered(usize),
    /// Data of a caller.
    Data(Bytes),
}

/// Data that the target asked for and that were not put in yet.
#[derive(Debug)]
struct Owed {
    id: u16,
    tag: u16,
    offset: usize,
    data: Bytes,
}

#[derive(Debug)]
pub(super) struct Outbound {
    sending: Sending,
    gathered: Vec<u8>,
    /// How much of `gathered` was written.
    begin: usize,
    pieces: VecDeque<Piece>,
    pending: usize,
    owed: VecDeque<Owed>,
}

impl Outbound {
    pub(super) const fn new(sending: Sending) -> Self {
        Self { sending, gathered: Vec::new(), begin: 0, pieces: VecDeque::new(), pending: 0, owed: VecDeque::new() }
    }

    pub(super) fn set_in_capsule(&mut self, bytes: usize) {
        self.sending.in_capsule = bytes;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.pending >= FULL_BYTES
    }

    pub(super) const fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Puts in a command; gives how many bytes of `out` went with it: all or none.
    pub(super) fn command(&mut self, mut command: Command, id: u16, out: Option<&Bytes>, room: usize) -> usize {
        command.id = id;
        command.flags = FLAGS_SGL;
        let within = out.filter(|data| !data.is_empty() && data.len() <= self.sending.in_capsule);
        command.sgl = match (within, out) {
            (Some(data), _) => Sgl::in_capsule(data.len() as u32),
            (None, Some(data)) => Sgl::transport(data.len() as u32),
            (None, None) => Sgl::transport(room as u32),
        };
        let data = within.cloned().unwrap_or_default();
        let count = data.len();
        self.unit(&Header::Command(command), data, true);
        count
    }

    /// Notes that the target asked for these data.
    pub(super) fn owe(&mut self, id: u16, tag: u16, offset: usize, data: Bytes) {
        self.owed.push_back(Owed { id, tag, offset, data });
    }

    /// Drops the remaining data of this command.
    pub(super) fn forget(&mut self, id: u16) {
        self.owed.retain(|owed| owed.id != id);
    }

    /// Puts in the next PDU of owed data, taking turns among the commands; gives the command when it was the last PDU
    /// of a request. None when nothing is owed.
    pub(super) fn serve(&mut self) -> Option<Option<u16>> {
        let mut owed = self.owed.pop_front()?;
        let count = owed.data.len().min(self.sending.max_data).min(UNIT_BYTES);
        let data = owed.data.split_to(count);
        let last = owed.data.is_empty();
        let transfer = Transfer { command: owed.id, tag: owed.tag, offset: owed.offset as u32, length: count as u32 };
        self.unit(&Header::HostData(transfer), data, last);
        if last {
            return Some(Some(owed.id));
        }
        owed.offset += count;
        self.owed.push_back(owed);
        Some(None)
    }

    /// Puts in any PDU.
    pub(super) fn unit(&mut self, header: &Header, data: Bytes, last: bool) {
        let from = self.gathered.len();
        header.encode(&self.sending.layout, data.len(), last, false, &mut self.gathered);
        let digest = (self.sending.layout.digests.data && !data.is_empty() && !is_termination(header))
            .then(|| crc32c::crc32c(&data));
        let count = data.len();
        if count <= COPIED_BYTES {
            self.gathered.extend_from_slice(&data);
            self.note_gathered(from);
        } else {
            self.note_gathered(from);
            self.pieces.push_back(Piece::Data(data));
            self.pending += count;
        }
        if let Some(digest) = digest {
            let from = self.gathered.len();
            self.gathered.extend_from_slice(&digest.to_le_bytes());
            debug_assert_eq!(self.gathered.len() - from, DIGEST_BYTES);
            self.note_gathered(from);
        }
    }

    fn note_gathered(&mut self, from: usize) {
        let count = self.gathered.len() - from;
        self.pending += count;
        if let Some(Piece::Gathered(last)) = self.pieces.back_mut() {
            *last += count;
        } else {
            self.pieces.push_back(Piece::Gathered(count));
        }
    }

    /// Writes until all is out.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while self.pending > 0 {
            let written = {
                let mut slices = [IoSlice::new(&[]); PIECES];
                let mut count = 0;
                let mut gathered = self.gathered.get(self.begin..).unwrap_or_default();
                for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                    let bytes: &[u8] = match piece {
                        Piece::Data(data) => data,
                        Piece::Gathered(length) => {
                            let (now, rest) = gathered.split_at_checked(*length).unwrap_or((gathered, &[]));
                            gathered = rest;
                            now
                        }
                    };
                    *slice = IoSlice::new(bytes);
                    count += 1;
                }
                ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &slices[..count]))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.pending = self.pending.saturating_sub(written);
        while written > 0 {
            match self.pieces.front_mut() {
                None => break,
                Some(Piece::Gathered(length)) => {
                    let count = written.min(*length);
                    self.begin += count;
                    *length -= count;
                    written -= count;
                    if *length == 0 {
                        self.pieces.pop_front();
                    }
                }
                Some(Piece::Data(data)) => {
                    let count = written.min(data.len());
                    // A partial write leaves the rest; a whole one must not keep the caller's memory.
                    let _ = data.split_to(count);
                    written -= count;
                    if data.is_empty() {
                        self.pieces.pop_front();
                    }
                }
            }
        }
        if self.begin == self.gathered.len() {
            self.gathered.clear();
            self.begin = 0;
        } else if self.begin >= FULL_BYTES {
            // Never wholly drained: move the rest to the front now and then.
            self.gathered.drain(..self.begin);
            self.begin = 0;
        }
    }
}

const fn is_termination(header: &Header) -> bool {
    matches!(header, Header::Termination { .. })
}

/// The digests as words for logs.
pub(super) const fn digest_words(digests: Digests) -> &'static str {
    match (digests.header, digests.data) {
        (false, false) => "none",
        (true, false) => "header",
        (false, true) => "data",
        (true, true) => "header and data",
    }
}
