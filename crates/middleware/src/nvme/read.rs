//! Reading a blob: open one version, fetch it, close it.

use super::{
    NvmeTransport,
    error::{malformed, mapped},
    read_is_gone,
};
use crate::{
    blob::{BlobId, ReadMode, Transferred},
    transport::TransportError,
};
use ciphermill_blockspace::vendor::{
    CloseObject, OPCODE_CLOSE, OPCODE_OPEN, OPCODE_READ, OpenMode, OpenObject, Opened, ReadObject,
};
use ciphermill_nvme::initiator::InitiatorError;
use std::{collections::VecDeque, io::Write, sync::mpsc::Receiver};

/// Bytes that opening fetches at once: most blobs are ciphertexts of a few kilobytes.
const FIRST_BYTES: usize = 64 << 10;

pub(super) fn read(
    transport: &NvmeTransport,
    id: BlobId,
    mode: ReadMode,
    out: &mut dyn Write,
) -> Result<Transferred, TransportError> {
    let connected = transport.controller.reconnects();
    let (opened, first) = open(transport, id, mode)?;
    let session = Session { transport, id, opened, under_way: VecDeque::new() };
    let checksum = session.fetch(&first, out)?;
    if opened.session != 0 && !opened.computed && transport.controller.reconnects() != connected {
        check(transport, id, opened.size, checksum)?;
    }
    Ok(Transferred { size: opened.size, computed: opened.computed })
}

/// Checks that the pieces belong to one version, although they arrived over more than one connection, perhaps from a
/// restarted server. A blob that was replaced meanwhile is also refused: the content of its version is unknown.
fn check(transport: &NvmeTransport, id: BlobId, size: u64, checksum: u32) -> Result<(), TransportError> {
    match transport.entry(id)?.0 {
        Some(entry) if (entry.size, entry.checksum) == (size, checksum) => Ok(()),
        _ => {
            let what = "the connection was lost and the blob replaced while it was read; read it again";
            Err(TransportError::Failed(what.into()))
        }
    }
}

/// Opens; gives the record and the first bytes of the blob, all of them if no session holds the rest.
fn open(transport: &NvmeTransport, id: BlobId, mode: ReadMode) -> Result<(Opened, Vec<u8>), TransportError> {
    let mode = match mode {
        ReadMode::Armed => OpenMode::Armed,
        ReadMode::Compute => OpenMode::Compute,
        ReadMode::Stored => OpenMode::Stored,
    };
    let namespace = transport.namespace.clone();
    let dwords = OpenObject { id: id.register(), mode }.dwords();
    let length = FIRST_BYTES.min(transport.piece);
    let mut data = transport.wait(async move {
        // A computed read must not run twice: the first run may have disarmed the blob.
        let data = match mode {
            OpenMode::Stored => namespace.vendor_read(OPCODE_OPEN, dwords, length).await,
            _ => namespace.vendor_read_once(OPCODE_OPEN, dwords, length).await,
        };
        data.map_err(|error| mapped(id, error))
    })?;
    let opened = Opened::decode(&data).map_err(malformed)?;
    data.drain(..Opened::BYTES);
    // The answer has the length that was asked for; what follows the blob in it is filled up.
    data.truncate(usize::try_from(opened.size).unwrap_or(usize::MAX));
    let given = data.len() as u64;
    if opened.size == 0 || (opened.session == 0 && given != opened.size) {
        return Err(malformed(format!("{given} of {} bytes came with session {}", opened.size, opened.session)));
    }
    Ok((opened, data))
}

/// Where a piece will be.
type Piece = Receiver<Result<Vec<u8>, InitiatorError>>;

/// One version of a blob, held by the device.
struct Session<'a> {
    transport: &'a NvmeTransport,
    id: BlobId,
    opened: Opened,
    /// Pieces on their way, in order, with their lengths.
    under_way: VecDeque<(usize, Piece)>,
}

impl Session<'_> {
    /// Gives the CRC-32C of all bytes.
    fn fetch(mut self, first: &[u8], out: &mut dyn Write) -> Result<u32, TransportError> {
        let mut asked = first.len() as u64;
        let mut checksum = crc32c::crc32c(first);
        self.ask(&mut asked);
        out.write_all(first).map_err(TransportError::Output)?;
        while let Some((length, receiver)) = self.under_way.pop_front() {
            let outcome = receiver.recv().map_err(|_| malformed("a command was lost"))?;
            let piece = outcome.map_err(|error| match error {
                error if read_is_gone(&error) => TransportError::Failed(Box::new(error)),
                error => mapped(self.id, error),
            })?;
            if piece.len() != length {
                return Err(malformed(format!("{} bytes came, {length} were asked for", piece.len())));
            }
            // The next piece comes while this one is put out.
            self.ask(&mut asked);
            checksum = crc32c::crc32c_append(checksum, &piece);
            out.write_all(&piece).map_err(TransportError::Output)?;
        }
        Ok(checksum)
    }

    /// Keeps as many pieces on their way as may be.
    fn ask(&mut self, asked: &mut u64) {
        while self.under_way.len() < self.transport.in_flight && *asked < self.opened.size {
            let left = usize::try_from(self.opened.size - *asked).unwrap_or(usize::MAX);
            let length = left.min(self.transport.piece);
            let dwords = ReadObject { session: self.opened.session, offset: *asked }.dwords();
            let namespace = self.transport.namespace.clone();
            let receiver =
                self.transport.runtime.start(async move { namespace.vendor_read(OPCODE_READ, dwords, length).await });
            self.under_way.push_back((length, receiver));
            *asked += length as u64;
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if self.opened.session == 0 {
            return;
        }
        let namespace = self.transport.namespace.clone();
        let dwords = CloseObject { session: self.opened.session }.dwords();
        // Nobody waits for it; a session that is not closed ends by itself.
        drop(self.transport.runtime.start(async move { namespace.vendor_read(OPCODE_CLOSE, dwords, 0).await }));
    }
}
